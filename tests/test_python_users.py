"""What Python users do without reading much: searches, pipelines, copies, and tables with columns of any name."""

import subprocess
import sys
import warnings
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import rectifact
from rectifact import (
    ANDNMF,
    NMD,
    DawidSkene,
    InputError,
    LogisticPCA,
    MajorityVote,
    MinimaxEntropy,
    PurificationNMF,
    SymNMF,
    SymNMFNet,
    held_out_score,
    write_report,
)
from rectifact.crowd import read_answers
from rectifact.datasets import make_block_model, make_crowd, make_dots, make_topics
from rectifact.metrics import cluster_accuracy
from rectifact.models import SavedModel
from rectifact.selection import select

ESTIMATORS = [kind for name in rectifact.__all__ if hasattr(kind := getattr(rectifact, name), "fit")]
MIXTURES = make_topics(n_samples=300, n_features=24, n_topics=3, noise=0.1).X
BLOCKS = make_block_model(150, 3, degree=20, mixing=0.1).adjacency
ANSWERS = make_crowd(150, 8, 3, labels_per_task=5, random_state=0).answers.sample(frac=1, random_state=0)
NAMED = ANSWERS.rename(columns={"task": "question", "worker": "who", "label": "choice"})
COLUMNS = {"task": "question", "worker": "who", "label": "choice"}


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_can_be_made_without_arguments_and_copied(kind: type) -> None:
    assert repr(clone(kind())) == f"{kind.__name__}()"


def independent() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.random((600, 3)) * (rng.random((600, 3)) < 0.3)) @ rng.random((3, 20))


def points() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(40, 2)) + centre for centre in ([0, 0], [12, 0], [0, 12])])


@pytest.mark.filterwarnings("ignore")  # wrong numbers do not converge, and say so
@pytest.mark.parametrize(
    ("model", "grid", "best", "X"),
    [
        (ANDNMF(random_state=0), {"n_components": [1, 3, 8]}, 3, MIXTURES),
        (PurificationNMF(random_state=0), {"n_components": [1, 3]}, 3, independent()),
        (NMD(max_iter=50), {"n_components": [1, 4]}, 4, make_dots(size=10, grid=10).X),
        (LogisticPCA(max_iter=20), {"n_components": [1, 4]}, 4, make_dots(size=10, grid=10).X),
        (SymNMF(random_state=0), {"n_clusters": [2, 3]}, 3, points()),
        (SymNMF(affinity="precomputed", random_state=0), {"n_clusters": [2, 3, 8]}, 3, BLOCKS),
        (SymNMFNet(device="cpu", max_iter=20, random_state=0), {"n_clusters": [2, 3]}, 3, points()),
        (DawidSkene(), {"model": ["full", "auto"]}, "auto", ANSWERS),
        (MinimaxEntropy(max_iter=20), {"worker_penalty": [1e6, 3.0]}, 3.0, ANSWERS),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_a_grid_search_finds_the_better_setting(model: Any, grid: dict[str, Any], best: Any, X: Any) -> None:
    if isinstance(model, SymNMFNet):
        pytest.importorskip("torch")
    scoring = held_out_score if isinstance(model, NMD | LogisticPCA) else None
    rows = np.random.default_rng(0).permutation(X.shape[0])
    if getattr(model, "affinity", "") == "precomputed":
        X = X[rows][:, rows]
    elif not isinstance(X, pd.DataFrame):
        X = X[rows]
    search = GridSearchCV(model, grid, cv=3, scoring=scoring, error_score="raise").fit(X)
    assert search.best_params_ == {next(iter(grid)): best}


def test_a_pipeline_from_texts_to_parts() -> None:
    texts = ["cats purr and cats sleep", "dogs bark and dogs run", "cats sleep", "dogs run"] * 5
    pipe = make_pipeline(TfidfVectorizer(), ANDNMF(random_state=0)).fit(texts)
    assert pipe.transform(texts).shape == (20, 2)
    assert 0 < pipe.score(texts) <= 1
    assert_array_equal(pipe.get_feature_names_out(), ["part1", "part2"])


def predicted_share(X: Any, H: Any) -> float:
    """The score of parts, one sample and one group of features after the other."""
    left = 0.0
    for x in X:
        for g in range(8):
            inside = np.arange(X.shape[1]) % 8 == g
            left += ((x - nnls(H[:, ~inside].T, x[~inside])[0] @ H)[inside] ** 2).sum()
    return 1 - left / (X**2).sum()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, "dask", "gaps"])
def test_the_score_of_parts_is_what_each_group_of_features_is_predicted_to_be(form: Any) -> None:
    X = MIXTURES[:60].clip(0)
    model = ANDNMF(3, random_state=0, missing=np.nan if form == "gaps" else None).fit(X)
    if form == "dask":
        X = pytest.importorskip("dask.array").from_array(X, chunks=(25, -1))
    elif form == "gaps":
        whole, X = ANDNMF(3, random_state=0).fit(X).score(X), X.copy()
        X[0, 0] = np.nan
        assert abs(model.score(X) - whole) < 0.01
        return
    else:
        X = form(X)
    assert_allclose(model.score(X), predicted_share(MIXTURES[:60].clip(0), model.components_), rtol=1e-8)


def test_parts_cannot_be_scored_by_one_feature() -> None:
    with pytest.raises(InputError, match="Give more features"):
        ANDNMF(1).fit(np.ones((5, 1)) * np.arange(1, 6)[:, None]).score(np.ones((5, 1)))


def test_the_score_of_a_graph_is_its_modularity() -> None:
    model = SymNMF(3, affinity="precomputed", random_state=0).fit(BLOCKS)
    labels = model.predict(BLOCKS)
    communities = [set(np.flatnonzero(labels == k)) for k in range(3)]
    expected = networkx.community.modularity(networkx.from_scipy_sparse_array(BLOCKS), communities)
    assert_allclose(model.score(BLOCKS), expected, rtol=1e-10)
    shuffled = BLOCKS.toarray()[:, np.random.default_rng(0).permutation(150)]
    assert model.score(shuffled) < 0.2 < 0.4 < model.score(BLOCKS)
    with pytest.raises(InputError, match="No new node has an edge"):
        model.score(np.zeros((2, 150)))


def answer_score(model: DawidSkene, answers: pd.DataFrame) -> float:
    """The log-probability of answers, one task after the other."""
    total, tasks, workers = 0.0, model.tasks_.tolist(), model.workers_.tolist()
    for task, own in answers.groupby("task"):
        shares = model.probas_[tasks.index(task)] if task in tasks else model.priors_
        each = [model.confusions_[workers.index(w)] if w in workers else model.confusions_.mean(0) for w in own.worker]
        given = [matrix[model.classes_.tolist().index(label)] for matrix, label in zip(each, own.label, strict=True)]
        total += np.log(shares @ np.prod(given, axis=0))
    return total / len(answers)


def test_the_score_of_a_crowd_is_the_probability_of_further_answers() -> None:
    seen, rest = ANSWERS[:500], ANSWERS[500:].copy()
    rest.iloc[0, rest.columns.get_loc("worker")] = 99
    rest.iloc[1, rest.columns.get_loc("task")] = 999
    model = DawidSkene().fit(seen)
    assert_allclose(model.score(rest), answer_score(model, rest), rtol=1e-9)
    assert model.score(rest) > DawidSkene().fit(seen.assign(label=seen["label"].sample(frac=1).to_numpy())).score(rest)


@pytest.mark.parametrize("kind", [DawidSkene, MajorityVote, MinimaxEntropy])
def test_columns_of_any_name_can_be_named(kind: type) -> None:
    assert_array_equal(kind().fit(NAMED, **COLUMNS).labels_, kind().fit(ANSWERS).labels_)
    with pytest.raises(InputError, match=r"Name it: worker='\.\.\.'"):
        kind().fit(NAMED)


def test_named_columns_are_expected_again(tmp_path: Any) -> None:
    model, plain = DawidSkene().fit(NAMED[:600], **COLUMNS), DawidSkene().fit(ANSWERS[:600])
    rectifact.save_model(model, tmp_path / "model.rfx")
    for fitted in (model, rectifact.load_model(tmp_path / "model.rfx")):
        assert_array_equal(fitted.predict(NAMED), plain.predict(ANSWERS))
        assert fitted.score(NAMED[600:]) == plain.score(ANSWERS[600:])
        assert_array_equal(
            fitted.partial_fit(NAMED[600:]).labels_, clone(plain).fit(ANSWERS[:600]).partial_fit(ANSWERS[600:]).labels_
        )
    with pytest.raises(InputError, match="There is no column 'question'"):
        model.predict(ANSWERS)


def test_a_wide_table_and_what_is_not_a_table() -> None:
    wide = ANSWERS.drop_duplicates(["task", "worker"]).pivot(index="task", columns="worker", values="label")
    wide = wide.reset_index().astype(object)
    model = DawidSkene().fit(wide, wide=True)
    assert len(model.labels_) == 150
    assert_array_equal(model.predict(wide), model.predict_proba(wide).argmax(axis=1))
    for options in (COLUMNS, {"wide": True}, {"label": "choice"}):
        with pytest.raises(InputError, match="for tables; got ndarray"):
            DawidSkene().fit(np.array([[0, 1], [1, 1]]), **options)
    with pytest.raises(InputError, match="are for files"):
        DawidSkene().fit(ANSWERS, field="sentiment")


def test_edges_in_columns_of_any_name() -> None:
    half = sp.triu(BLOCKS).tocoo()
    edges = pd.DataFrame({"source": half.row, "target": half.col, "weight": half.data})
    text = edges.assign(source="n" + edges["source"].astype(str).str.zfill(3))
    text["target"] = "n" + text["target"].astype(str).str.zfill(3)
    expected = SymNMF(3, affinity="precomputed", random_state=0).fit(BLOCKS).labels_
    for table, options in [
        (edges, {}),
        (edges.set_axis(["u", "v", "w"], axis=1), {"source": "u", "target": "v", "weight": "w"}),
        (edges.set_axis(["u", "v", "w"], axis=1), {"affinity": "precomputed"}),
        (text.set_axis(["u", "v", "w"], axis=1), {}),
        (text[["source", "target"]].assign(kind="friend", since=2001), {}),
    ]:
        model = SymNMF(3, random_state=0, affinity=options.pop("affinity", "knn")).fit(table, **options)
        order = [int(str(node).lstrip("n")) for node in model.nodes_]  # the order in which edges name them
        assert cluster_accuracy(expected[order], model.labels_) == 1


@pytest.mark.parametrize("first", ["Date Sent", "Minutes"])
def test_columns_that_name_each_others_nodes_are_suggested(first: str) -> None:
    people = [f"{name}@x.org" for name in "abcdef"]
    frame = pd.DataFrame([(a, b) for a in people for b in people if a < b], columns=["From (e-mail)", "To (e-mail)"])
    frame["Date Sent"] = [f"{day} May" for day in range(len(frame))]
    frame["Minutes"] = 3.5
    frame = frame[[first, *(name for name in frame if name != first)]]
    wanted = "give source='From \\(e-mail\\)', target='To \\(e-mail\\)', and weight='Minutes' as well if it says"
    with pytest.raises(InputError, match=wanted):
        SymNMF(2).fit(frame)
    model = SymNMF(2).fit(frame, source="From (e-mail)", target="To (e-mail)", weight="Minutes")
    assert sorted(model.nodes_) == people


def test_the_package_can_be_run() -> None:
    done = subprocess.run([sys.executable, "-m", "rectifact", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"rectifact {rectifact.__version__}\n"


def records() -> list[Any]:
    crowd = make_crowd(60, 5, 2, random_state=0)
    model = DawidSkene().fit(crowd.answers)
    model.calibrate(dict(zip(model.tasks_[:50].tolist(), model.labels_[:50].tolist(), strict=True)))
    tables = [rectifact.agreement(crowd.answers, n_resamples=20), model.labels_needed(0.01), model.calibration_]
    group = {task: f"version {task % 20}" for task in model.tasks_.tolist()}
    with warnings.catch_warnings(action="ignore"):  # few labels in each group
        tables += [rectifact.rate(crowd.answers, crowd.truth[:40], positive=1, by=by) for by in (None, group)]
    judges, people = (crowd.answers[crowd.answers["worker"].isin(who)] for who in ([0, 1], [2, 3, 4]))
    tables.append(rectifact.alternative_annotator_test(judges, people))
    sets = [crowd, make_topics(n_samples=50, n_features=9, n_topics=2), make_dots(size=8, grid=8)]
    models = [ANDNMF(3, init=np.ones((3, 20))), NMD(missing=np.zeros((100, 20), dtype=bool))]
    chosen = select(SymNMF(affinity="precomputed"), BLOCKS, [2, 3], random_state=0)
    return [*tables, *sets, *models, chosen, read_answers(crowd.answers), SavedModel(model, X=np.ones((99, 99)))]


def test_nothing_shows_all_its_numbers() -> None:
    for record in records():
        text = repr(record)
        assert "\n" not in text
        assert "array(" not in text
        assert len(text) < 500, text
    assert repr(ANDNMF(3, init=np.ones((3, 20)))) == "ANDNMF(init=<array of shape (3, 20)>, n_components=3)"


def test_results_show_their_figures() -> None:
    crowd = make_crowd(120, 5, 2, random_state=0)
    by = {task: "ab"[task % 2] for task in range(120)}
    found = rectifact.rate(crowd.answers, crowd.truth[:60], positive=1, by=by)
    for row in found.rates.to_dict("records"):
        assert f"{row['group']} {row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})" in repr(found)
    assert f"b minus a {100 * found.differences['difference'][0]:+.1f} points" in repr(found)
    agreed = rectifact.agreement(crowd.answers, n_resamples=20)
    alpha = agreed.overall.set_index("coefficient")["value"]["Krippendorff's alpha"]
    assert f"Krippendorff's alpha {alpha:.2f} (" in repr(agreed)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DawidSkene().fit(None), "got NoneType. Reshape your data, or give one of these."),
        (lambda: DawidSkene().fit(ANSWERS, task=3), "There is no column 3 for the task"),
        (lambda: ANDNMF().fit([[1, 2], [3]]), "X is not a matrix: its rows differ in length. Make them equally long."),
        (lambda: held_out_score(ANDNMF(2).fit(MIXTURES), MIXTURES), "Leave scoring out"),
        (lambda: SymNMF(2).fit(pd.DataFrame({"a": [*"xyzx"], "b": [*"yzxx"], "c": 1, "d": 2, "e": 3})), "source='a'"),
        (lambda: SymNMF(2, affinity="precomputed").fit(np.ones((9, 2))), "a DataFrame with the columns source"),
    ],
)
def test_wrong_input_is_one_sentence_that_says_what_to_do(call: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_report_on_a_frame_warns_of_nothing(tmp_path):
    frame = pd.DataFrame(make_topics(n_samples=60, n_features=12, n_topics=2).X, columns=[f"f{i}" for i in range(12)])
    model = ANDNMF(2, random_state=0).fit(frame)
    with warnings.catch_warnings(action="error"):
        write_report(model, tmp_path / "r.html", X=frame)
    assert "f11" in (tmp_path / "r.html").read_text()
