import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from rectifact.core.errors import InputError
from rectifact.datasets import (
    MissingDataset,
    catalogue,
    load_crowd,
    load_email,
    load_images,
    load_judges,
    load_lastfm,
    load_stl10,
    load_tdt2,
    load_uci,
)

CROWDS = {  # tasks, workers, classes, answers, tasks with a known truth
    "adult": (11040, 825, 4, 92721, 333),
    "bluebird": (108, 39, 2, 4212, 108),
    "dog": (807, 109, 4, 8070, 807),
    "face": (584, 27, 4, 5242, 584),
    "fact": (42624, 57, 3, 216725, 576),
    "polarity": (4999, 203, 2, 27746, 4999),
    "product": (8315, 176, 2, 24945, 8315),
    "rte": (800, 164, 2, 8000, 800),
    "trec": (19033, 762, 2, 88385, 2275),
    "weather": (300, 461, 5, 1720, 300),
    "zencrowd-us": (2040, 74, 2, 12190, 2040),
}


@pytest.mark.parametrize("name", CROWDS)
def test_published_crowds(name, load_or_skip):
    crowd = load_or_skip(load_crowd, name)
    sizes = (*crowd.answers[["task", "worker", "label"]].nunique(), len(crowd.answers), len(crowd.truth))
    assert sizes == CROWDS[name]


JUDGES = {  # tasks, judges, classes, answers, tasks with a truth, tasks whose truth no judge could have answered
    "advice": (880, 6, 5, 5280, 803, 40),
    "framing": (2552, 6, 2, 15312, 2549, 1),
    "relevance33": (4423, 33, 4, 145956, 4423, 0),
    "stars": (711, 6, 5, 4266, 619, 0),
    "summaries": (6400, 6, 5, 38400, 5680, 0),
}


@pytest.mark.parametrize("name", JUDGES)
def test_published_panels_of_judges(name, load_or_skip):
    panel = load_or_skip(load_judges, name)
    sizes = (*panel.answers[["task", "worker", "label"]].nunique(), len(panel.answers), len(panel.truth))
    assert (*sizes, (~panel.truth.isin(panel.answers["label"])).sum()) == JUDGES[name]
    assert panel.truth.index.is_unique
    assert panel.truth.index.isin(panel.answers["task"]).all()


def test_the_truth_of_a_panel_is_what_most_people_say(nowhere):
    folder = nowhere / "data" / "judges"
    folder.mkdir(parents=True)
    (folder / "stars.labels.csv").write_text("task,worker,label\na,j,1\nb,j,2\nc,j,2\n")
    people = {"a": "1 1 2", "b": "3 1", "c": "7", "d": "2 5 2 5 5"}
    lines = [f"{task},{i},{label}" for task, labels in people.items() for i, label in enumerate(labels.split())]
    (folder / "stars.humans.csv").write_text("\n".join(["task,worker,label", *lines[::-1]]))
    panel = load_judges("stars")
    assert panel.truth.to_dict() == {"a": 1, "c": 7, "d": 5}  # people tie on b
    assert panel.answers["label"].tolist() == [1, 2, 2]
    mean = load_judges("stars", truth="mean").truth
    assert mean.round(2).to_dict() == {"a": 1.33, "b": 2.0, "c": 7.0, "d": 3.8}
    with pytest.raises(InputError, match="'advice' have no mean"):
        load_judges("advice", truth="mean")


def test_dog_as_in_paper_1(load_or_skip):
    answers = load_or_skip(load_crowd, "dog", workers=52).answers
    assert (len(answers), answers["worker"].nunique(), answers["task"].nunique()) == (7354, 52, 807)


def test_the_bundled_table_is_dawid_and_skenes():
    answers = load_crowd("anaesthetists").answers
    assert answers.groupby("worker").size().to_dict() == {1: 135, 2: 45, 3: 45, 4: 45, 5: 45}
    assert sorted(answers["label"].unique()) == [1, 2, 3, 4]


@pytest.mark.parametrize(("name", "shape"), [("orl", (400, 10304)), ("coil20", (1440, 1024)), ("mnist", (70000, 784))])
def test_images(name, shape, load_or_skip):
    images = load_or_skip(load_images, name)
    assert images.X.shape == shape
    assert images.y.shape == shape[:1]
    assert np.prod(images.image_shape) == shape[1]


def test_mnist_in_parts(load_or_skip):
    every, test = load_or_skip(load_images, "mnist"), load_or_skip(load_images, "mnist", subset="test")
    assert np.array_equal(every.X[60000:], test.X)


def test_text_and_tables(load_or_skip):
    assert load_or_skip(load_lastfm).shape == (92834, 3)
    tdt2 = load_or_skip(load_tdt2)
    assert tdt2.X.shape == (9394, 36771)
    assert len(np.unique(tdt2.y)) == 30
    assert load_or_skip(load_uci, "car").shape == (1728, 7)
    credit = load_or_skip(load_uci, "credit")
    assert credit.shape == (690, 16)
    assert credit.isna().to_numpy().sum() == 67
    assert set(credit["label"]) == {"+", "-"}


def test_email(load_or_skip):
    graph = load_or_skip(load_email)
    assert graph.adjacency.shape == (1005, 1005)
    assert (graph.adjacency != graph.adjacency.T).nnz == 0
    assert len(np.unique(graph.labels)) == 42
    half = 2 * (25_571 - 642) + 642  # edges each way, and loops
    assert graph.adjacency.sum() == half
    assert set(graph.adjacency.data) == {1.0, 2.0}
    assert np.bincount(connected_components(graph.adjacency)[1]).max() == 986


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("RECTIFACT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (lambda: load_crowd("rte"), "crowd/rte.labels.csv"),
        (lambda: load_judges("stars"), "judges/stars.labels.csv"),
        (lambda: load_images("orl"), "images/orl.npz"),
        (load_tdt2, "text/tdt2.npz"),
        (load_lastfm, "counts/lastfm.csv"),
        (load_email, "graphs/email.edges.csv"),
        (lambda: load_stl10("edges"), "images/stl10/train_X.bin"),
        (lambda: load_uci("car"), "uci/car.csv"),
    ],
)
def test_a_missing_set_says_which_file_goes_where(nowhere, load, file):
    with pytest.raises(MissingDataset, match="not on this machine") as caught:
        load()
    assert str(nowhere / "data" / file) in str(caught.value)
    assert "RECTIFACT_DATA" in str(caught.value)
    assert (catalogue()["found"] == "").sum() == 27


def test_the_given_folder_comes_before_the_cache(nowhere):
    for folder, label in (("cache/rectifact", 1), ("data", 2)):
        crowd = nowhere / folder / "crowd"
        crowd.mkdir(parents=True)
        (crowd / "rte.labels.csv").write_text(f"task,worker,label\n1,1,{label}\n")
        (crowd / "rte.truth.csv").write_text("task,label\n1,1\n")
        assert load_crowd("rte").answers["label"].tolist() == [label]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"\x80\x04pickle", b"a,b\n1,2\n"])
def test_a_file_that_is_not_what_its_name_says(nowhere, content):
    for relative in ("images/orl.npz", "crowd/rte.labels.csv"):
        path = nowhere / "data" / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"Cannot read .*orl.npz"):
        load_images("orl")
    with pytest.raises(InputError, match=r"Cannot read .*rte.labels.csv"):
        load_crowd("rte")


def test_unknown_names():
    with pytest.raises(InputError, match=r"name='mturk' is unknown.*bluebird"):
        load_crowd("mturk")
    with pytest.raises(InputError, match=r"name='llama' is unknown.*stars"):
        load_judges("llama")
    with pytest.raises(InputError, match="name='cifar' is unknown"):
        load_images("cifar")
    with pytest.raises(InputError, match="name='iris' is unknown"):
        load_uci("iris")


def test_colour_images_become_sparse_descriptions(nowhere):
    folder = nowhere / "data" / "images" / "stl10"
    folder.mkdir(parents=True)
    image = np.zeros((3, 96, 96), dtype=np.uint8)
    image[0, :, 48:] = 255  # red on the right half
    for part in ("train", "test"):
        image.swapaxes(1, 2).tofile(folder / f"{part}_X.bin")  # the files have columns first
        np.array([3], dtype=np.uint8).tofile(folder / f"{part}_y.bin")
    colours = load_stl10("histograms")
    assert colours.X.shape == (2, 4096)
    assert colours.X[0].sum() == 96 * 96
    assert colours.X.toarray()[0, [0, 15 * 256]].tolist() == [96 * 48, 96 * 48]
    assert colours.y.tolist() == [2, 2]
    edges = load_stl10("edges").X.toarray()[1].reshape(96, 96)
    assert set(np.flatnonzero(edges.sum(axis=0))) == {47, 48}
    (folder / "train_X.bin").write_bytes(b"too short")
    with pytest.raises(InputError, match="whole images"):
        load_stl10("edges")
