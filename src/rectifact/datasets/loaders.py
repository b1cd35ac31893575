"""Loaders for published sets. One is bundled and one comes with scikit-learn; the others are read from your files.

Files are looked for under ``$RECTIFACT_DATA`` and then in your cache folder. Nothing is downloaded.
"""

import os
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from rectifact.core.errors import InputError
from rectifact.core.validation import check_at_least, check_option
from rectifact.datasets.crowds import CrowdSet
from rectifact.datasets.generators import LabelledMatrix, Topics
from rectifact.datasets.graphs import Graph
from rectifact.io.files import reading

CROWDS = (
    "adult",
    "bluebird",
    "dog",
    "face",
    "fact",
    "polarity",
    "product",
    "rte",
    "trec",
    "weather",
    "zencrowd-us",
)
JUDGES = ("advice", "framing", "relevance33", "stars", "summaries")
GRADED = ("relevance33", "stars", "summaries")
IMAGES = {"orl": (112, 92), "coil20": (32, 32), "mnist": (28, 28)}
STL10 = "the binary files of STL-10, as published"
UCI = {"car": "car.csv", "connect4": "connect-4.data", "credit": "credit.data"}


class MissingDataset(InputError):
    """A published set is not on this machine; the message says which file goes where."""


def catalogue() -> pd.DataFrame:
    """Every set by name, the file that holds it, and where the file was found (empty if it was not).

    Examples
    --------
    >>> catalogue().query("set == 'anaesthetists'")["found"].item()
    'bundled'
    """
    wanted = {name: f"crowd/{name}.labels.csv" for name in CROWDS}
    wanted |= {name: f"judges/{name}.labels.csv" for name in JUDGES}
    wanted |= {name: f"images/{name}.npz" for name in IMAGES}
    wanted |= {"stl10": "images/stl10/train_X.bin"}
    wanted |= {"jasper": "spectra/jasper.npz", "breast21": "counts/breast21.csv"}
    wanted |= {"tdt2": "text/tdt2.npz", "lastfm": "counts/lastfm.csv"}
    wanted |= {"email": "graphs/email.edges.csv"}
    wanted |= {name: f"uci/{file}" for name, file in UCI.items()}
    rows = [("anaesthetists", "", "bundled"), ("digits", "", "scikit-learn")]
    for name, relative in sorted(wanted.items()):
        found = next((folder for folder in data_folders() if (folder / relative).is_file()), "")
        rows.append((name, relative, str(found)))
    return pd.DataFrame(rows, columns=["set", "file", "found"])


def load_crowd(name: str, *, workers: int | Literal["all"] = "all") -> CrowdSet:
    """Answers of a published crowd, and the truth where it is known.

    Parameters
    ----------
    name : str
        ``"anaesthetists"``, Table 1 of Dawid and Skene (1979), 45 patients graded by 5 observers, the first of whom
        graded everyone three times, is bundled. The others are read from your files: adult, bluebird, dog, face,
        fact, polarity, product, rte, trec, weather, zencrowd-us.
    workers : int or "all", default "all"
        Keep only this many workers, those with the most answers. ``load_crowd("dog", workers=52)`` is the set that
        Ibrahim and Fu (2021) call Dog.

    Returns
    -------
    CrowdSet

    Examples
    --------
    >>> crowd = load_crowd("anaesthetists")
    >>> len(crowd.answers), crowd.answers["worker"].nunique()
    (315, 5)
    """
    if workers != "all":
        check_at_least(1, workers=workers)
    if name == "anaesthetists":
        with as_file(files("rectifact.datasets") / "files" / "anaesthetists.csv") as path:
            return CrowdSet(_busiest(pd.read_csv(path), workers), pd.Series(dtype="int64", name="label"))
    check_option("name", name, ("anaesthetists", *CROWDS))
    answers = _read_answers(f"crowd/{name}.labels.csv")
    return CrowdSet(_busiest(answers, workers), _read_truth(f"crowd/{name}.truth.csv"))


def load_judges(name: str, *, truth: Literal["most frequent", "mean"] = "most frequent") -> CrowdSet:
    """Answers of a panel of LLM judges, and what people say.

    Parameters
    ----------
    name : {"advice", "framing", "relevance33", "stars", "summaries"}
        All are read from your files. ``"relevance33"`` has 33 judges who grade the relevance of documents from 0 to 3,
        and the grade of one person as the truth. The others have six judges, and several people for each task.
    truth : {"most frequent", "mean"}, default "most frequent"
        What the truth is where there are several people: their most frequent answer, or the mean of their grades, for
        ``"stars"`` and ``"summaries"``.

    Returns
    -------
    CrowdSet
        Tasks on which people tie for the most frequent answer have no truth.
        People may use classes that no judge uses.

    Examples
    --------
    >>> panel = load_judges("stars")  # doctest: +SKIP
    >>> panel.answers["worker"].nunique(), len(panel.truth)  # doctest: +SKIP
    (6, 619)
    """
    check_option("name", name, JUDGES)
    check_option("truth", truth, ("most frequent", "mean"))
    if truth == "mean" and name not in GRADED:
        raise InputError(f"The answers of {name!r} have no mean: they are not grades.", "Use truth='most frequent'.")
    answers = _read_answers(f"judges/{name}.labels.csv")
    if name == "relevance33":
        return CrowdSet(answers, _read_truth("judges/relevance33.truth.csv"))
    people = _read_answers(f"judges/{name}.humans.csv")
    return CrowdSet(answers, people.groupby("task")["label"].mean() if truth == "mean" else _consensus(people))


def _consensus(answers: pd.DataFrame) -> "pd.Series[Any]":
    """The most frequent answer to each task, without the tasks that have several."""
    votes = answers.groupby(["task", "label"], sort=False).size()
    top = votes[votes == votes.groupby("task").transform("max")].reset_index("label")["label"]
    return top[~top.index.duplicated(keep=False)]


def _read_answers(relative: str) -> pd.DataFrame:
    return _read_csv(relative, "a CSV file with the columns task, worker, label", {"task", "worker", "label"})


def _read_truth(relative: str) -> "pd.Series[Any]":
    truth = _read_csv(relative, "a CSV file with the columns task, label", {"task", "label"})
    return truth.set_index("task")["label"]


def _busiest(answers: pd.DataFrame, workers: int | Literal["all"]) -> pd.DataFrame:
    if workers == "all":
        return answers
    busiest = answers["worker"].value_counts(sort=True).index[:workers]
    return answers[answers["worker"].isin(busiest)].reset_index(drop=True)


def load_images(name: str, *, subset: Literal["all", "train", "test"] = "all") -> LabelledMatrix:
    """Images in rows.

    Parameters
    ----------
    name : {"digits", "orl", "coil20", "mnist"}
        The digits come with scikit-learn; the others are read from your files.
    subset : {"all", "train", "test"}, default "all"
        For mnist, whose 60,000 training images come before its 10,000 test images.

    Returns
    -------
    LabelledMatrix

    Examples
    --------
    >>> digits = load_images("digits")
    >>> digits.X.shape, digits.image_shape
    ((1797, 64), (8, 8))
    """
    check_option("subset", subset, ("all", "train", "test") if name == "mnist" else ("all",))
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return LabelledMatrix(X, y, (8, 8))
    check_option("name", name, ("digits", *IMAGES))
    arrays = _read_npz(
        f"images/{name}.npz", ("X_train", "y_train", "X_test", "y_test") if name == "mnist" else ("X", "y")
    )
    if name == "mnist":
        parts = ("train", "test") if subset == "all" else (subset,)
        arrays = {key: np.concatenate([arrays[f"{key}_{part}"] for part in parts]) for key in ("X", "y")}
    return LabelledMatrix(arrays["X"], arrays["y"], IMAGES[name])


def load_stl10(kind: Literal["histograms", "edges"]) -> LabelledMatrix:
    """Sparse descriptions of the 13,000 labelled colour images of STL-10, as in section 5.1 of Saul (2022).

    Parameters
    ----------
    kind : {"histograms", "edges"}
        ``"histograms"``: counts of 4096 colours, 4 bits for each channel; ``"edges"``: the size of the gradient at
        each of 96 x 96 pixels, over all channels, where it is among the largest 20 % of the image.

    Returns
    -------
    LabelledMatrix
    """
    check_option("kind", kind, ("histograms", "edges"))
    images, labels = [], []
    for part in ("train", "test"):
        pixels = np.fromfile(_find(f"images/stl10/{part}_X.bin", STL10), dtype=np.uint8)
        if pixels.size % (3 * 96 * 96):
            raise InputError(f"{part}_X.bin does not hold whole images of 96 x 96 pixels.", "Unpack it again.")
        images.append(pixels.reshape(-1, 3, 96, 96).swapaxes(2, 3))  # columns come first in the file
        labels.append(np.fromfile(_find(f"images/stl10/{part}_y.bin", STL10), dtype=np.uint8))
    describe = {"histograms": colour_histogram, "edges": edge_map}[kind]
    rows = [sp.csr_array(describe(image)[None]) for part in images for image in part]
    shape = (64, 64) if kind == "histograms" else (96, 96)
    return LabelledMatrix(sp.vstack(rows, format="csr"), np.concatenate(labels) - 1, shape)


def colour_histogram(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Counts of the 4096 colours that have 4 bits for each channel of an image (3, height, width).

    Examples
    --------
    >>> counts = colour_histogram(np.zeros((3, 2, 2), dtype=np.uint8))
    >>> counts.shape, float(counts[0])
    ((4096,), 4.0)
    """
    red, green, blue = image.reshape(3, -1).astype(int) >> 4
    return np.bincount(256 * red + 16 * green + blue, minlength=4096).astype(float)


def edge_map(image: NDArray[np.uint8], share: float = 0.2) -> NDArray[np.float64]:
    """Size of the gradient over the channels of an image (3, height, width), zero but for the largest ``share``.

    Examples
    --------
    >>> image = np.zeros((3, 10, 10), dtype=np.uint8)
    >>> image[:, :, 5:] = 255
    >>> int(np.count_nonzero(edge_map(image)))
    20
    """
    down, across = np.gradient(image.astype(float), axis=(1, 2))
    size = np.sqrt((down**2 + across**2).sum(axis=0)).ravel()
    least = np.sort(size)[-max(int(share * size.size), 1)]
    return np.where(size >= least, size, 0.0)


def load_tdt2() -> LabelledMatrix:
    """Term counts of the 30 largest categories of TDT2 news, documents in rows, as a sparse array."""
    arrays = _read_npz("text/tdt2.npz", ("data", "indices", "indptr", "shape", "y"))
    X = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    return LabelledMatrix(X, arrays["y"])


def load_lastfm() -> pd.DataFrame:
    """Plays of artists by users of Last.fm (HetRec 2011): columns ``user``, ``artist`` and ``plays``."""
    columns = {"user", "artist", "plays"}
    return _read_csv("counts/lastfm.csv", "a CSV file with the columns user, artist, plays", columns)


def load_email() -> Graph:
    """E-mails inside a research institute (SNAP, email-Eu-core): people who wrote to each other, and departments.

    An edge has the weight 1, or 2 where both wrote; e-mails to oneself are loops of weight 1.
    """
    edges = _read_csv("graphs/email.edges.csv", "a CSV file with the columns source, target", {"source", "target"})
    people = _read_csv(
        "graphs/email.labels.csv", "a CSV file with the columns node, department", {"node", "department"}
    )
    places = pd.Index(people["node"])
    source, target = (places.get_indexer(edges[end]) for end in ("source", "target"))
    half = sp.coo_array((np.where(source == target, 0.5, 1.0), (source, target)), shape=(len(people), len(people)))
    return Graph(sp.csr_array(half + half.T), people["department"].to_numpy())


def load_jasper() -> Topics:
    """Jasper Ridge, 100 by 100 pixels of 198 bands: published spectra of tree, water, soil and road, and abundances."""
    arrays = _read_npz("spectra/jasper.npz", ("X", "endmembers", "abundances"))
    return Topics(arrays["X"].astype(float), arrays["abundances"].astype(float), arrays["endmembers"].astype(float))


def load_breast21() -> pd.DataFrame:
    """Mutation counts of 21 breast cancer genomes: one row per genome, one column for each of 96 kinds of mutation."""
    frame = _read_csv(
        "counts/breast21.csv", "counts with one row per kind of mutation and one column per genome", set()
    )
    names = frame.select_dtypes(exclude="number").astype(str).agg(" ".join, axis=1)
    counts = frame.select_dtypes("number")
    return pd.DataFrame(counts.to_numpy(float).T, index=counts.columns, columns=names if len(names.iloc[0]) else None)


def load_uci(name: str) -> pd.DataFrame:
    """The table of UCI ``"car"`` (evaluation), ``"connect4"`` or ``"credit"`` (approval); ``label`` comes last."""
    check_option("name", name, tuple(UCI))
    if name == "car":
        return _read_csv("uci/car.csv", "the UCI car evaluation table with a header that ends in label", {"label"})
    if name == "connect4":
        squares = [f"{column}{row}" for column in "abcdefg" for row in range(1, 7)]
        expected = "the UCI connect-4 file as published, without a header"
        return _read_csv("uci/connect-4.data", expected, {"label"}, header=None, names=[*squares, "label"])
    columns = [*(f"A{i}" for i in range(1, 16)), "label"]
    expected = "the UCI credit approval file as published, without a header"
    return _read_csv("uci/credit.data", expected, {"label"}, header=None, names=columns, na_values="?")


def data_folders() -> list[Path]:
    """Folders in which files are looked for, in this order."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rectifact"
    given = os.environ.get("RECTIFACT_DATA")
    return [Path(given).expanduser(), cache] if given else [cache]


def _find(relative: str, expected: str) -> Path:
    folders = data_folders()
    for folder in folders:
        if (folder / relative).is_file():
            return folder / relative
    raise MissingDataset(
        "This set is not on this machine.",
        f"Put {expected} at {str(folders[0] / relative)!r}, or set the environment variable RECTIFACT_DATA to the "
        f"folder that holds {relative!r}.",
    )


def _read_csv(relative: str, expected: str, columns: set[str], **options: Any) -> pd.DataFrame:
    path = _find(relative, expected)
    with reading(path, expected):
        frame = pd.read_csv(path, **options)
        if not columns <= set(frame.columns):
            raise ValueError(f"its columns are {list(frame.columns)}")
    return frame


def _read_npz(relative: str, names: tuple[str, ...]) -> dict[str, Any]:
    expected = f"an NPZ file with the arrays {', '.join(names)}"
    path = _find(relative, expected)
    with reading(path, expected), path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return {name: archive[name] for name in names}
