"""Reports say what the model found, and show whatever the data holds as text."""

import json
import re
from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

import rectifact
from rectifact import (
    ANDNMF,
    KOS,
    NMD,
    DawidSkene,
    EigenRatio,
    GhoshSVD,
    InputError,
    LogisticPCA,
    MajorityVote,
    MinimaxEntropy,
    SymNMF,
    SymNMFNet,
    similarity_graph,
)
from rectifact.core.findings import SEVERITIES
from rectifact.crowd import read_answers
from rectifact.datasets import load_crowd, make_block_model, make_crowd, make_dots, make_topics
from rectifact.latent.filling import compare_with_means
from rectifact.metrics import npmi_coherence
from rectifact.models import SavedModel
from rectifact.parts.documents import count_words
from rectifact.parts.terms import TOPICS
from rectifact.parts.topics import residual_norms
from rectifact.report import embedding, render, report_of, write_report
from rectifact.report.blocks import (
    Card,
    Cards,
    Chart,
    Column,
    Facts,
    Findings,
    Images,
    Matrices,
    Report,
    Section,
    Table,
)
from rectifact.report.calibration import agreement_chart, reliability_chart
from rectifact.report.charts import convergence, sample_map
from rectifact.report.clusters import _hubs_in_turn
from rectifact.report.drawing import draw
from rectifact.report.how_many import how_many
from rectifact.report.html import check_report_possible
from rectifact.report.likeness import likeness
from rectifact.report.marks import Line, Points
from rectifact.report.members import cluster_name
from rectifact.report.trust import accuracy_chart
from rectifact.selection import Selection, assess, select

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def crowd():
    return DawidSkene().fit(load_crowd("anaesthetists").answers)


def blocks_of(report, kind):
    return [block for section in report.sections for block in section.blocks if isinstance(block, kind)]


def facts_of(report):
    return {name: value for block in blocks_of(report, Facts) for name, value, _ in block.items}


def test_a_worker_is_shown_as_they_answered_wherever_they_are_shown(tmp_path):
    """Among workers who take all classes for each other alike, one who nearly always gives the first."""
    rng = np.random.default_rng(4)
    truth, rows = rng.choice(4, 300, p=[0.3, 0.3, 0.25, 0.15]), []
    for worker in range(12):
        tasks = rng.choice(300, 110, replace=False)
        wrong = (truth[tasks] + rng.integers(1, 4, 110)) % 4
        label = np.where(rng.random(110) < 0.8, truth[tasks], wrong)
        if worker == 7:
            label = rng.choice(4, 110, p=[0.7, 0.1, 0.1, 0.1])
        rows.append(pd.DataFrame({"task": tasks, "worker": worker, "label": label}))
    answers = pd.concat(rows)
    rectifact.save_model(DawidSkene().fit(answers), tmp_path / "m.rfx")
    model = rectifact.load_model(tmp_path / "m.rfx")
    his = answers[answers["worker"] == 7]
    over = (his["label"] == 0).mean() - (truth[his["task"]] == 0).mean()
    table, report = model.worker_report().set_index("worker"), report_of(model)
    workers, biases, *_ = blocks_of(report, Table)
    shown = next(row for row in workers.rows if row[0] == "7")[
        [column.name for column in workers.columns].index("bias 0")
    ]
    beside = next(row for row in biases.rows if row[0] == "7" and row[1] == "0")
    assert abs(table.loc[7, "bias_0"] - over) < 0.05
    bias = next(value for value in beside if isinstance(value, float))
    assert_allclose([shown, bias / 100], table.loc[7, "bias_0"], atol=1e-3)
    (matrices,) = blocks_of(report, Matrices)
    matrix = np.array(next(rows for name, _, rows in matrices.items if name == "7"))
    assert (matrix[:, 0] > 0.5).all()  # whichever class is true
    assert any(step.startswith("Leave out \u20687\u2069, or ask them less often") for step in report.steps)


def test_labels_say_what_the_model_found(crowd):
    report = report_of(crowd)
    workers, biases, tasks, plan = blocks_of(report, Table)
    assert [row[0] for row in biases.rows[: len(crowd.workers_)]] == [str(worker) for worker in crowd.workers_]
    assert facts_of(report)["tasks"] == "45"
    assert [row[0] for row in tasks.rows[:2]] == ["3", "7"]  # the most uncertain
    ranked = crowd.worker_report().sort_values("information", ascending=False)
    assert [row[0] for row in workers.rows] == [str(worker) for worker in ranked["worker"]]
    given = load_crowd("anaesthetists").answers.query("task == 3")["label"].value_counts()
    assert tasks.rows[0][-1] == ", ".join(f"{label} ({n}×)" for label, n in given.items())
    (matrices,) = blocks_of(report, Matrices)
    assert matrices.items[0][0] == str(crowd.workers_[0])  # doctor 1 is the most informative
    assert_allclose(matrices.items[0][2], crowd.confusions_[0].T, atol=0.1)
    assert plan.rows[0][0] == str(crowd.next_labels(1)["task"][0])


def test_one_answer_is_not_answers():
    answers = load_crowd("anaesthetists").answers
    one_more = pd.concat([answers, pd.DataFrame({"task": [1], "worker": [6], "label": [1]})])
    (matrices,) = blocks_of(report_of(DawidSkene().fit(one_more)), Matrices)
    assert sorted(caption for _, caption, _ in matrices.items) == ["1 answer", "135 answers"] + ["45 answers"] * 4


@pytest.mark.parametrize("kind", [MajorityVote, MinimaxEntropy, KOS, GhoshSVD, EigenRatio])
def test_every_aggregator_has_a_report(kind):
    answers = make_crowd(60, n_workers=8, n_classes=2).answers
    titles = [section.title for section in report_of(kind().fit(answers)).sections]
    assert titles == ["Overview", "Workers", "Tasks", "Worker graph"]


def test_weights_are_not_counts(crowd):
    answers = read_answers(load_crowd("anaesthetists").answers)
    weighted = DawidSkene().fit(answers.weighted(np.full(len(answers), 0.1)))
    for name in ("answers per task", "unanimous"):
        assert facts_of(report_of(weighted))[name] == facts_of(report_of(crowd))[name]
    silent = MajorityVote().fit(answers.weighted(np.where(answers.worker == 0, 0.0, 1.0)))  # agreement is not defined
    page = render([report_of(silent)], "weights")
    assert "NaN" not in "".join(re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, flags=re.S))


def test_left_out_answers_agree_as_often_as_the_model_expects():
    """On answers that were drawn from the model."""
    model = DawidSkene(model="full").fit(make_crowd(3000, n_workers=20, n_classes=3, labels_per_task=3).answers)
    (chart,) = agreement_chart(model)
    observed, expected = (mark.y for mark in chart.marks if isinstance(mark, Line))
    assert_allclose(observed, expected, atol=0.05)
    assert agreement_chart(DawidSkene().fit(make_crowd(50, 5, 2, labels_per_task=1).answers)) == []


def test_the_reliability_diagram_shows_confidence_and_truth():
    """Confidences that are right as often as they say lie on the diagonal, within their intervals."""
    crowd = make_crowd(3000, 30, 2, labels_per_task=3, accuracy=(0.55, 0.8), random_state=3)
    model = DawidSkene().fit(crowd.answers)
    assert reliability_chart(model) == []
    (chart,) = reliability_chart(model.calibrate(gold=crowd.truth.sample(1000, random_state=0)))
    (points,) = (mark for mark in chart.marks if isinstance(mark, Points))
    confidence, right = points.x, points.y
    assert len(confidence) == 10
    low, high = right - points.low, points.high - right
    assert np.mean((right - 2 * low < confidence) & (confidence < right + 2 * high)) >= 0.9
    assert "1000 gold labels: mean confidence" in chart.words
    with_gold = DawidSkene().fit(crowd.answers, gold=crowd.truth.sample(100, random_state=0))
    assert "100 gold labels" in reliability_chart(with_gold)[0].words


def test_uninformative_workers_are_named():
    crowd = make_crowd(400, n_workers=10, n_classes=3, n_spammers=2)
    report = report_of(DawidSkene().fit(crowd.answers))
    spammers = {str(name) for name in DawidSkene().fit(crowd.answers).worker_report().query("information < 0.1").worker}
    (found,) = blocks_of(report, Findings)
    (detail,) = [detail for _, finding, detail, _ in found.items if finding.endswith("carry almost no information")]
    assert len(spammers) >= 1
    assert all(name in detail for name in spammers)


def test_findings_of_the_model_are_those_of_the_report():
    model = DawidSkene().fit(make_crowd(200, 10, 3, labels_per_task=1).answers)
    (found,) = blocks_of(report_of(model), Findings)
    assert [item[:3] for item in found.items] == [
        row[:3] for row in model.diagnose().itertuples(index=False, name=None)
    ]
    assert "in Python next_labels" in found.items[0][3]  # in the words of the command line
    assert "No task was answered twice" in report_of(model).warnings()[0][1][2]  # the worst comes first
    assert found.items[0][0] == "problem"


def test_the_agreement_chart_counts_answers_by_their_weights():
    answers = read_answers(make_crowd(300, 12, 3, labels_per_task=4).answers)
    model = DawidSkene(model="full").fit(answers.weighted(np.random.default_rng(0).integers(1, 3, len(answers))))
    left_out = model._held_out()
    agree = left_out.label == left_out.posteriors.argmax(axis=1)
    assert set(left_out.weight) == {1, 2}
    assert f"{np.average(agree, weights=left_out.weight):.1%} agree" in agreement_chart(model)[0].words


@pytest.mark.parametrize("severity", SEVERITIES)
def test_each_severity_has_its_class(severity):
    section = Section("Diagnosis", "", [Findings([(severity, "odd answers", "Some.", "Look.")])])
    page = render([Report("Labels", "", [section])], "findings")
    assert f'<div class="finding {severity}">' in page
    assert f".finding.{severity} {{" in page


def test_an_unknown_severity_fails():
    with pytest.raises(ValueError, match="error"):
        Findings([("note", "a", "b", "c"), ("error", "a", "b", "c")])


def test_parts_explain_themselves():
    mixtures = make_topics("dir", n_samples=300, n_features=36, n_topics=4)
    model = ANDNMF(4, random_state=0).fit(mixtures.X)
    bare = report_of(model)
    full = report_of(SavedModel(model, X=mixtures.X, features=[f"w{i}" for i in range(36)], image_shape=(6, 6)))
    assert [section.title for section in bare.sections] == ["Parts", "Convergence"]
    assert [section.title for section in full.sections] == ["Parts", "Weights", "Residuals", "Diagnosis", "Convergence"]
    assert blocks_of(full, Table)[0].rows[0][1].startswith(f"w{np.argmax(np.abs(model.components_[0]))} (")
    assert len(blocks_of(full, Images)[0].items) == 4


TEXTS = ["the ship sails the wide sea", "a ship and a storm at sea", "sea wind fills the sail of a ship"] * 4
TEXTS += ["the cow eats green grass", "grass for the cow and the horse", "a horse and a cow on the farm"] * 4


@pytest.fixture(scope="module")
def topics():
    corpus = count_words(TEXTS, min_df=1, weighting="log")
    model = ANDNMF(2, random_state=0).fit(corpus.X)
    return SavedModel(model, X=corpus.X, features=corpus.columns, texts=np.array(corpus.texts)), corpus


def test_topics_have_words_examples_shares_and_coherence(topics):
    saved, corpus = topics
    report = report_of(saved)
    assert report.title == "Topics"
    (cards,) = blocks_of(report, Cards)
    sea = next(card for card in cards.items if card.bars[0][0] in {"sea", "ship"})
    land = next(card for card in cards.items if card is not sea)
    assert {name for name, _ in sea.bars[:2]} == {"sea", "ship"}
    assert "cow" in {name for name, _ in land.bars[:2]}
    for card in cards.items:
        values = [value for _, value in card.bars]
        assert min(values) > 0  # no negative words
        assert values == sorted(values, reverse=True)
        assert sum(values) <= 1 + 1e-9
        assert re.search(r"of the corpus, clearly the largest topic in \d+ documents?, coherence ", card.caption)
    assert all("sea" in text or "ship" in text for _, text in sea.texts)
    assert all("cow" in text or "horse" in text for _, text in land.texts)
    W, H = saved.model.transform(corpus.X), saved.model.components_
    share = W.sum(axis=0) * H.sum(axis=1)
    table = next(block for block in blocks_of(report, Table) if block.title == "Largest words")
    assert_allclose([row[2] for row in table.rows], share / share.sum(), rtol=1e-6)
    assert_allclose([row[4] for row in table.rows], npmi_coherence(H, corpus.X), atol=1e-3)
    assert [column.name for column in table.columns] == ["topic", "largest words", "share", "documents", "coherence"]


def test_the_report_on_topics_speaks_of_topics(topics):
    saved, _ = topics
    page = render([report_of(saved)], "topics")
    body = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", page)
    assert not re.search(r"\b([Pp]arts?|samples?|features?|n_components|lambda)\b|=True|ANDNMF", body)


def test_parts_along_wavelengths_are_lines():
    rng = np.random.default_rng(0)
    X = (rng.random((50, 2)) < 0.5) * rng.random((50, 2)) @ rng.random((2, 12)) + 0.01 * rng.random((50, 12))
    model = ANDNMF(2, random_state=0).fit(X)
    waves = [f"{400 + 10 * i} nm" for i in range(12)]
    drawn = blocks_of(report_of(SavedModel(model, X=X, features=waves)), Chart)[0]
    assert (drawn.title, drawn.x.title) == ("Parts along the features", "nm")
    named = blocks_of(report_of(SavedModel(model, X=X, features=[f"w{i}" for i in range(12)])), Chart)
    assert "Parts along the features" not in [chart.title for chart in named]


def test_negative_values_are_not_words_of_a_topic(topics):
    """Not even where the parts have some, as AND alone may find."""
    saved, _ = topics
    signed = copy(saved.model)
    signed.components_ = saved.model.components_ - 0.5 * saved.model.components_.max()
    (cards,) = blocks_of(report_of(replace(saved, model=signed, X=None)), Cards)
    assert all(value > 0 for card in cards.items for _, value in card.bars)


def test_similar_topics_are_neighbours_in_the_matrix_of_cosines(rng):
    """Four planted pairs that share half of their words, in any order: each is next to its partner."""
    parts = np.kron(np.eye(4), np.array([[1.0, 1, 0], [0, 1, 1]])) + 0.05 * rng.random((8, 12))
    mixed = rng.permutation(8)
    labels = [f"word {i}, other {i}" for i in range(8)]
    (chart,), words = likeness(parts[mixed], labels, TOPICS)
    unit = parts[mixed] / np.linalg.norm(parts[mixed], axis=1, keepdims=True)
    order = [int(number) - 1 for number in chart.x.names]
    assert sorted(order) == list(range(8))
    pairs = (mixed[order] // 2).tolist()
    assert pairs[::2] == pairs[1::2]
    cells = chart.marks[0].values
    assert_allclose(cells[~np.eye(8, dtype=bool)], (unit @ unit.T)[np.ix_(order, order)][~np.eye(8, dtype=bool)])
    assert np.isnan(np.diag(cells)).all()
    i, j = (int(number) - 1 for number in re.findall(r"\d+", words)[:2])
    assert_allclose((unit @ unit.T - np.eye(8)).max(), unit[i] @ unit[j])
    for width in (760, 372):  # every name is there, on a line of its own
        places = re.findall(r'x="[\d.]+" y="([\d.]+)">\u2068\d: ', chart.svg(width))
        assert len(places) == 8
        assert np.diff(np.sort(np.array(places, dtype=float))).min() >= 13


def test_a_matrix_of_many_topics_is_small(rng):
    parts = rng.random((30, 50))
    (chart,), _ = likeness(parts, ["a longer name"] * 30, TOPICS)
    assert len(chart.svg() + chart.svg(372)) < 20_000
    blocks, words = likeness(rng.random((31, 50)), ["name"] * 31, TOPICS)
    assert not blocks
    assert "The table has the most similar topic of each." in words


def test_the_table_of_topics_names_the_most_similar_of_each():
    X = np.kron(np.eye(2), [[3.0, 2, 0], [0, 2, 3]])[np.arange(80) % 4]
    model = ANDNMF(4, refine="nonnegative", random_state=0).fit(X)
    section = report_of(SavedModel(model, X=X, texts=["a b"] * 80), findings=[]).sections[0]
    table = next(block for block in section.blocks if isinstance(block, Table))
    unit = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    between = unit @ unit.T - 2 * np.eye(4)
    assert table.columns[-1].name == "most similar topic"
    assert [row[-1] for row in table.rows] == [f"{row.argmax() + 1} ({row.max():.2f})" for row in between]


def test_the_map_of_an_embedding_separates_what_is_separable():
    """Digits on the map have neighbours of their own kind, where the two widest dimensions mix them up."""
    digits = load_digits()
    X, kind = digits.data[:300] / 16, digits.target[:300]
    model = NMD(12, max_iter=60).fit(X)
    report = report_of(SavedModel(model, X=X, groups={"digit": kind}))
    chart = next(block for block in blocks_of(report, Chart) if block.title == "Map of the samples")
    assert [mark.name for mark in chart.marks] == [str(digit) for digit in range(10)]
    places = np.concatenate([np.column_stack([mark.x, mark.y]) for mark in chart.marks])
    shown = np.repeat(np.arange(10), [len(mark.x) for mark in chart.marks])
    near = NearestNeighbors(n_neighbors=6).fit(places).kneighbors(places, return_distance=False)[:, 1:]
    assert (shown[near] == shown[:, None]).mean() > 0.75
    assert report_of(SavedModel(model, X=X)).sections[0].blocks[0].marks[0].x.shape == (300,)
    with pytest.raises(InputError, match="'digit' has 9 values, but there are 300 samples"):
        report_of(SavedModel(model, groups={"digit": kind[:9]}))


def test_numbers_colour_a_map_in_five_steps():
    values = np.r_[np.arange(99.0), np.nan]
    chart = sample_map("m", np.zeros((100, 2)), np.arange(100).astype(str), ["", ""], "w", values)
    assert [len(mark.x) for mark in chart.marks] == [20, 20, 19, 20, 20, 1]
    assert chart.marks[-1].name == "none"
    shades = [mark.shade for mark in chart.marks[:-1]]
    assert shades == sorted(shades)


def test_dimensions_and_neighbours_have_names(rng):
    A, B = rng.standard_normal((40, 3)), rng.standard_normal((3, 12))
    A[1], B[:, 1] = A[0], B[:, 0]  # twins
    X = np.maximum(A @ B, 0)
    model = NMD(3, max_iter=200).fit(X)
    names = {"samples": [f"<i>{i}</i>" for i in range(40)], "features": [f"item {j}" for j in range(12)]}
    report = report_of(SavedModel(model, X=X, **names))
    (cards,) = blocks_of(report, Cards)
    assert len(cards.items) == 3
    largest = max(cards.items[0].bars, key=lambda pair: abs(pair[1]))[0]
    assert largest == f"item {np.abs(model.components_[0]).argmax()}"
    rows, columns = (block for block in blocks_of(report, Table) if block.title.startswith("Nearest"))
    assert rows.rows[0][1].startswith("<i>1</i> (1.00)")
    assert columns.rows[1][1].startswith("item 0 (")


def test_communities_have_hubs_members_and_overlaps():
    """Two cliques that share a node, which is the hub of one of them and belongs to both."""
    first, second = range(6), [5, *range(6, 11)]
    edges = [(i, j) for clique in (first, second) for i in clique for j in clique if i < j]
    graph = networkx.Graph([(f"n{i}", f"n{j}") for i, j in edges])
    model = SymNMF(2, random_state=0).fit(graph)
    report = report_of(model)
    (cards,) = blocks_of(report, Cards)
    shared = cards.items[model.labels_[list(model.nodes_).index("n5")]]
    assert [card.caption.split(",")[0] for card in cards.items] == ["6 nodes", "5 nodes"]
    assert all(name.startswith("n") for name, _ in shared.bars)
    assert "n0" in cards.items[0].texts[0][1] + cards.items[1].texts[0][1]
    pairs, nodes = blocks_of(report, Table)[2:4]
    assert pairs.rows == [[1, 2, 1, 1]]
    name, verdict, own, share, other, share_there, _, edges, edges_there = nodes.rows[0]
    assert (name, verdict, share, share_there, edges, edges_there) == ("n5", "clear", 0.5, 0.5, 10, 5)
    assert {own, other} == {1, 2}
    found = report_of(SymNMF(2, affinity="precomputed").fit(sp.block_diag([np.ones((9, 9))] * 2)))
    assert "Overlaps" not in [section.title for section in found.sections]


def test_hubs_have_the_weights_of_the_data():
    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        [("a", "b", 9), ("a", "c", 7), ("b", "c", 1), ("d", "e", 4), ("d", "f", 4), ("e", "f", 1)]
    )
    (cards,) = blocks_of(report_of(SymNMF(2, random_state=0).fit(graph)), Cards)
    bars = {name: weight for card in cards.items for name, weight in card.bars}
    assert bars == pytest.approx({"a": 16, "b": 10, "c": 8, "d": 8, "e": 5, "f": 5})


def test_points_have_means_in_their_units():
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 2
    table = pd.DataFrame(
        {"noise": rng.normal(50, 1, 120), "age": 30.0 + 20 * kind + rng.normal(0, 2, 120), "euro": 9000.0 + 9000 * kind}
    )
    table["euro"] += rng.normal(0, 300, 120)
    model = SymNMF(2, scale="standard", random_state=0).fit(table)
    report = report_of(model)
    means = next(block for block in blocks_of(report, Table) if block.title == "Means by cluster")
    rows = {row[0]: row[1:] for row in means.rows}
    assert means.rows[-1][0] == "noise"
    for name in table:
        expected = [table[name].mean(), *(table[name][model.labels_ == k].mean() for k in range(2))]
        assert_allclose(rows[name], expected, rtol=1e-3)
    assert {"age and euro", "euro and age"} & {chart.title for chart in blocks_of(report, Chart)}
    assert "under Columns" in " ".join(report.steps)


@pytest.mark.parametrize("family", ["labels", "parts", "embed", "cluster"])
def test_the_first_screen_says_what_matters_and_what_to_do(family, crowd, rng):
    X = rng.random((60, 8))
    model = {
        "labels": lambda: crowd,
        "parts": lambda: SavedModel(ANDNMF(3, random_state=0).fit(X), X=X),
        "embed": lambda: SavedModel(NMD(3, max_iter=20).fit(X), X=X),
        "cluster": lambda: SymNMF(2, n_neighbors=5, random_state=0).fit(X),
    }[family]()
    report = report_of(model)
    assert 2 <= len(report.main) <= 3
    assert 2 <= len(report.steps) <= 4
    page = render([report], family)
    first = page.index('<ul class="main">')
    assert first < page.index("What to do next") < page.index("<section")
    assert len(page) < 2_000_000


@pytest.mark.filterwarnings("ignore")
def test_divisions_are_compared_before_clusters_are_named():
    miserables = networkx.les_miserables_graph()
    found = select(SymNMF(1, random_state=0), miserables)
    assert "Compare the division with -k 7" in found.reason
    steps = report_of(found).steps
    assert steps[0] == "Compare the division with -k 7 and -k 6, and keep the one that you can explain."
    assert steps[1].startswith("Name the clusters")
    steps = report_of(SymNMF(3, random_state=0).fit(miserables)).steps
    assert steps[0].startswith("Compare with -k 6 --stability")
    edges = sp.coo_array(sp.triu(make_block_model(200, 5, degree=12, mixing=0.2, random_state=5).adjacency, 1))
    half = sp.coo_array((np.random.default_rng(5).lognormal(0, 2.5, edges.nnz), edges.coords), shape=edges.shape)
    steps = report_of(SymNMF(5, affinity="precomputed", random_state=0).fit(sp.csr_array(half + half.T))).steps
    assert steps[0].startswith("Compare with logarithms of the weights: --values log")
    sure = report_of(select(SymNMF(1, random_state=0), networkx.ring_of_cliques(4, 8))).steps
    assert sure[0].startswith("Name the clusters")


def test_the_next_step_fits_what_is_left_to_ask():
    everybody = make_crowd(60, 4, 2, labels_per_task=4, accuracy=(0.6, 0.8)).answers
    many = make_crowd(300, 4, 2, labels_per_task=4, accuracy=(0.6, 0.8)).answers
    some = make_crowd(60, 4, 2, labels_per_task=2, accuracy=(0.75, 0.9))
    asked = " ".join(report_of(DawidSkene().fit(everybody)).steps)
    assert "Ask somebody new" in asked
    assert "Label 20 tasks yourself, drawn at random" in asked
    assert "Label 100 tasks yourself, and calibrate" in " ".join(report_of(DawidSkene().fit(many)).steps)
    assert "whom to ask" in " ".join(report_of(DawidSkene().fit(some.answers)).steps)
    known = report_of(DawidSkene().fit(some.answers, gold=some.truth))
    assert list(known.steps) == ["Calibrate the confidences by your gold labels: --calibrate."]
    assert known.sections[-1].words == "No task is left where one more answer is expected to help."


def test_warnings_stand_on_the_first_screen_with_problems_first():
    items = [("note", "fine", "", ""), ("warning", "odd", "d", "Use --gold."), ("problem", "bad", "d", "r")]
    report = Report("Labels", "", [Section("Diagnosis", "", [Findings(items)])])
    assert [found[1] for _, found in report.warnings()] == ["bad", "odd"]
    page = render([report], "x")
    assert page.index("Problem: <bdi>bad</bdi>") < page.index("Warning: <bdi>odd</bdi>") < page.index("<section")
    assert "Use <code>--gold</code>." in page


def test_a_report_from_python(tmp_path, topics, crowd):
    saved, _ = topics
    rectifact.write_report(crowd, tmp_path / "labels.html")
    rectifact.write_report([crowd, saved], tmp_path / "both.html", title="Both")
    rectifact.write_report(saved.model, tmp_path / "topics.html", X=saved.X, features=saved.features, texts=saved.texts)
    assert "<h1>rectifact: labels</h1>" in (tmp_path / "labels.html").read_text(encoding="utf-8")
    both = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "<h1>Both</h1>" in both
    assert all(f"<h2>{title}</h2>" in both for title in ("Labels", "Topics"))
    assert "of the corpus" in (tmp_path / "topics.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="X belongs to one fitted estimator"):
        rectifact.write_report([crowd], tmp_path / "x.html", X=saved.X)


def test_a_model_fitted_in_batches_has_a_report(rng):
    model = ANDNMF(3, random_state=0).partial_fit(rng.random((40, 8)))
    assert [section.title for section in report_of(model).sections] == ["Parts"]


def test_a_report_says_how_the_fit_ended(rng):
    X = rng.random((30, 6))
    fits = {
        "stopped at the iteration limit.": NMD(2, max_iter=5, tol=0),
        "stopped: callback.": NMD(2, callbacks=[lambda row: row["iter"] >= 5]),
        "converged.": NMD(2, max_iter=500, tol=1e-2),
    }
    for words, model in fits.items():
        assert report_of(model.fit(X)).sections[-1].blocks[0].words.endswith(f"iterations; {words}")


def test_residuals_without_the_product(rng):
    X, W, H = rng.random((20, 7)), rng.random((20, 3)), rng.standard_normal((3, 7))
    assert_allclose(residual_norms(SimpleNamespace(components_=H), X, W), np.linalg.norm(X - W @ H, axis=1))


def test_whole_numbers_do_not_wrap_around(rng):
    X = rng.integers(0, 255, (100, 8)).astype(np.uint8)
    model = ANDNMF(2, random_state=0).fit(X.astype(float))
    plain, bytes_ = (facts_of(report_of(SavedModel(model, X=data)))["explained"] for data in (X.astype(float), X))
    assert plain == bytes_


def test_errors_count_known_entries_only(rng):
    X = np.maximum(rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20)), 0)
    mask = rng.random(X.shape) < 0.5
    holes = np.where(mask, np.nan, X)
    for missing, data in ((np.nan, holes), (mask, X)):
        model = NMD(3, missing=missing, max_iter=50).fit(data)
        found = model.inverse_transform(model.embedding_)
        error = np.sqrt(np.mean((found - X)[~mask] ** 2))
        assert_allclose(float(facts_of(report_of(SavedModel(model, X=data)))["known entries"]), error, rtol=1e-3)


def test_data_other_than_the_fitted_is_refused(rng, monkeypatch):
    model = NMD(2, max_iter=5).fit(rng.random((30, 6)))
    with pytest.raises(InputError, match="Give the data that it was fitted to"):
        report_of(SavedModel(model, X=rng.random((20, 6))))
    frame = pd.DataFrame(rng.random((30, 6)))
    assert report_of(SavedModel(NMD(2, max_iter=5).fit(frame), X=frame)).sections[3].title == "Quality"
    monkeypatch.setattr(embedding, "MOST_ENTRIES", 18)  # three rows are compared, fewer than there are dimensions
    report = report_of(SavedModel(NMD(5, max_iter=5).fit(frame), X=frame))
    assert "known entries" in facts_of(report)
    assert "hidden entries" not in facts_of(report)


def test_embedding_beside_svd():
    X = make_dots(size=16, grid=8).X
    model = NMD(5, max_iter=60).fit(X)
    report = report_of(SavedModel(model, X=X, image_shape=(16, 16)))
    found = facts_of(report)
    error = np.sqrt(np.mean((model.inverse_transform(model.embedding_) - X.toarray()) ** 2))
    assert_allclose(float(found["known entries"]), error, rtol=1e-3)
    assert float(found["hidden entries"]) < float(found["by truncated SVD"])
    (chart,) = (block for block in blocks_of(report, Chart) if block.title.startswith("Error of hidden"))
    assert found["hidden entries"] == f"{chart.marks[0].y[-1]:.4g}"  # one statement, wherever it is made
    less = 1 - float(found["hidden entries"]) / float(found["by truncated SVD"])
    assert f"{less:.0%} less than by truncated SVD" in report.main[1]
    assert [len(block.items) for block in blocks_of(report, Images)] == [5, 10, 10, 10]
    assert report_of(model).sections[0].title == "Map"
    assert found["prior"] == "factors"
    bare = LogisticPCA(2, prior=None, max_iter=5).fit(X)
    assert facts_of(report_of(SavedModel(bare, X=X)))["prior"] == "none"


def test_svd_of_hidden_entries_is_a_fair_peer(rng):
    """On a matrix of rank 1 it fills in what was hidden."""
    X = rng.random((40, 1)) @ rng.random((1, 12))
    seen = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    assert_allclose(embedding._imputed(seen, 1), X, atol=0.02)


def test_one_dimension_and_large_values(rng):
    X = rng.poisson(0.5, (60, 12)).astype(float)
    X[0, 0] = 500.0
    report = report_of(SavedModel(NMD(1, max_iter=20).fit(X), X=X))
    assert report.main[0] == "1 dimension stands for the 12 features of 60 samples."
    ((_, warning),) = report.warnings()
    assert warning[1] == "a few large values"
    assert "--values log" in warning[3]
    X = np.c_[1.0 * (rng.random((60, 12)) < 0.3), rng.integers(1960, 2024, 60)]
    report = report_of(SavedModel(NMD(1, max_iter=20).fit(X), X=X, features=[*"abcdefghijkl", "Year"]))
    assert "Year holds 100% of the squares" in next(item[2] for _, item in report.warnings() if "column" in item[1])


def test_predictions_that_are_no_better_than_means_are_said_to_be(rng):
    X = rng.poisson(rng.gamma(1, 1, 20), (120, 20)).astype(float)  # columns differ, and nothing else
    model = NMD(8, prior=None, max_iter=60).fit(X)
    saved = SavedModel(model, X=X, notes={"values": "log", "recommendations": "Some are found."})
    report = report_of(saved)
    found = facts_of(report)
    compared = compare_with_means(saved.model, X)
    by, error = compared.plain
    assert not compared.better
    assert found["hidden entries"] == f"{compared.model:.4g}"  # one statement, wherever it is made
    assert found[f"by {by.removeprefix('the ')}"] == f"{error:.4g}"
    assert f"by {by}." in report.main[1]
    assert "(RMSE of log(1 + value))" in report.main[1]
    ((_, warning),) = report.warnings()
    assert warning[2] == compared.no_better
    words = next(section.words for section in report.sections if section.title == "Quality")
    assert "fitted to logarithms of 1 plus each value; errors are in these units. Some are found." in words


def test_clusters_and_their_bound():
    graph = make_block_model(150, 3, degree=20, mixing=0.1)
    model = SymNMF(3, affinity="precomputed", random_state=0).fit(graph.adjacency)
    report = report_of(SavedModel(model, samples=[f"n{i}" for i in range(150)]))
    found = facts_of(report)
    assert float(found["bound"]) <= float(found["relative error"])
    same = model.labels_[:, None] == model.labels_[None]
    dense = graph.adjacency.toarray()
    assert found["weight inside clusters"] == f"{dense[same].sum() / dense.sum():.1%}"
    chart = next(block for block in blocks_of(report, Chart) if "Similarities" in block.title)
    grid = chart.marks[0].values
    assert_allclose(np.sum(np.square(grid)), model.affinity_matrix_.sum(), rtol=1e-3)
    (table,) = (block for block in blocks_of(report, Table) if "Quality" in block.title)
    assert_allclose([row[4] for row in table.rows], model.cluster_report()["modularity"], atol=1e-6)
    assert chart.x.hidden  # cells hold several nodes, so their numbers would mislead


def test_the_drawn_network():
    """All nodes with their names, edges between them; nodes in no cluster are grey, and said."""
    graph = make_block_model(60, 2, degree=12, mixing=0.1)
    X = sp.csr_array(sp.block_diag([graph.adjacency, np.ones((2, 2))]))
    with pytest.warns(UserWarning, match="label -1"):
        model = SymNMF(2, affinity="precomputed").fit(X)
    names = [f"<b>{i}</b>" for i in range(62)]
    report = report_of(SavedModel(model, samples=names))
    chart = next(block for block in blocks_of(report, Chart) if "graph" in block.title)
    edges, *dots, texts = chart.marks
    assert [mark.name for mark in dots if mark.name] == ["cluster 1", "cluster 2", "no cluster"]  # the legend
    ordinary, *larger = sorted({mark.radius for mark in dots})
    assert [len(mark.x) for mark in dots if mark.radius > ordinary] == [1, 1]  # the hubs
    assert len(larger) == 1
    sizes = np.bincount(model.labels_ + 1)  # the nodes in no cluster first
    assert len(texts.texts) == np.maximum(1, sizes // 5).sum()  # a fifth of each cluster: more names would hide it
    shown = {label: i for i, label in enumerate(label for mark in dots for label in mark.labels)}
    order = [shown[f"{name}: {cluster_name(label)}"] for name, label in zip(names, model.labels_, strict=True)]
    assert f"<title>&lt;b&gt;0&lt;/b&gt;: cluster {model.labels_[0] + 1}</title>" in chart.svg()
    colours = np.concatenate([mark.colours for mark in dots])[order]
    assert colours.tolist() == model.labels_.tolist()
    assert len(edges.ends) == sp.triu(X, 1).nnz
    places = np.concatenate([np.column_stack([mark.x, mark.y]) for mark in dots])[order]
    ends = [np.flatnonzero((places == end).all(axis=1))[0] for end in edges.ends[0]]
    assert X[ends[0], ends[1]] > 0
    middles = [places[:60][model.labels_[:60] == k].mean(axis=0) for k in range(2)]
    nearer = np.linalg.norm(places[:60, None] - middles, axis=2).argmin(axis=1)
    assert (nearer == model.labels_[:60]).mean() > 0.9
    (found,) = (block for block in blocks_of(report, Findings) if block.items)
    assert found.items[0][1] == "2 nodes in no cluster"


def test_the_net_and_its_theory():
    pytest.importorskip("torch")
    graph = make_block_model(60, 2, degree=12, mixing=0.1)
    model = SymNMFNet(2, affinity="precomputed", device="cpu").fit(graph.adjacency)
    found = facts_of(report_of(model))
    assert found["Proposition 1"] == ("holds" if model.diagnostics_["holds"] else "does not hold")


def test_a_large_network_is_sampled(rng):
    n = 3000
    S = similarity_graph(rng.random((n, 2)))
    drawing = draw(S, np.zeros(n, dtype=int), np.ones((n, 1)))
    assert len(drawing.nodes) == len(drawing.places) == 2000
    assert len(drawing.edges) <= 8000
    i, j = drawing.nodes[drawing.edges[0]]
    assert S[i, j] > 0


@pytest.mark.dask
@pytest.mark.parametrize("sparse", [False, True])
def test_clusters_of_a_graph_in_chunks(sparse):
    da = pytest.importorskip("dask.array")
    adjacency = make_block_model(150, 3, degree=20, mixing=0.1).adjacency
    chunks = da.from_array(adjacency.toarray(), chunks=(40, -1))
    chunks = chunks.map_blocks(sp.csr_array, dtype=float, meta=np.empty((0, 0))) if sparse else chunks
    reports = [
        report_of(SymNMF(3, affinity="precomputed", n_init=1, random_state=0).fit(X)) for X in (adjacency, chunks)
    ]
    assert facts_of(reports[0])["weight inside clusters"] == facts_of(reports[1])["weight inside clusters"]
    assert reports[0].words == reports[1].words  # nodes and edges


def test_clusters_of_a_dense_graph_in_another_library():
    torch = pytest.importorskip("torch")
    dense = make_block_model(60, 3, degree=10, mixing=0.1).adjacency.toarray()
    models = [SymNMF(3, affinity="precomputed", n_init=1, random_state=0) for _ in range(2)]
    host, device = (report_of(model.fit(X)) for model, X in zip(models, (dense, torch.from_numpy(dense)), strict=True))
    assert facts_of(host)["weight inside clusters"] == facts_of(device)["weight inside clusters"]
    assert host.words == device.words


def test_names_that_utf8_cannot_hold(tmp_path):
    write_report(Report("w\ud800", "x" * 5000, []), tmp_path / "odd.html", title="t\udfff")
    page = (tmp_path / "odd.html").read_text(encoding="utf-8")
    assert "w?" in page
    assert "x" * 601 not in page


ODD = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    "\u202eright to left",
    "x" * 50_000,
    "a&b\"'",
]


@pytest.fixture(scope="module")
def odd_page():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"task": np.repeat(ODD, 6), "worker": ODD * 6, "label": rng.choice(ODD[:3], 36)})
    return render([report_of(DawidSkene().fit(table))], "<b>odd</b>")


def test_every_text_is_escaped(odd_page):
    assert "<script>alert" not in odd_page
    assert "<img src=x" not in odd_page
    assert "<b>odd</b>" not in odd_page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in odd_page
    assert "x" * 1000 not in odd_page  # long names are cut
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', odd_page, flags=re.S):
        json.loads(data)


def test_dimensions_stand_in_the_order_that_the_report_names():
    X = make_dots(size=12, grid=8).X.toarray() + 0.2  # far from 0, so that spread and size differ
    report = report_of(SavedModel(NMD(4, link="relu", prior=None, max_iter=40).fit(X), X=X))
    section = next(section for section in report.sections if section.title == "Dimensions")
    table = next(block for block in section.blocks if isinstance(block, Table))
    sizes = [row[[column.name for column in table.columns].index("size")] for row in table.rows]
    assert (np.diff(sizes) <= 1e-9).all()  # dimensions of the same size differ by rounding


def test_our_sentences_are_not_cut_and_names_from_right_to_left_move_nothing():
    long = " and ".join(f"version {i} is 15.5 points higher" for i in range(40)) + "."
    arabic = "\u0627\u0644\u0646\u0633\u062e\u0629"
    blocks = [Table("Judges", [Column("judge")], [("A",)], note=long), Findings([("note", "much to say", long, "")])]
    report = Report("Evaluation", "", [Section("Decision", long, blocks)], main=[long, f"{arabic} minus A is (-0.2)."])
    page = render([report], "t")
    assert page.count(long) == 4
    assert f'<bdi dir="ltr">\u2068{arabic}\u2069 minus A' in page


def test_nothing_is_fetched(odd_page):
    assert "default-src 'none'" in odd_page
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", odd_page)
    assert not re.search(
        r"https?:|fetch\(|XMLHttpRequest|sendBeacon|WebSocket|EventSource|import\(|\bon\w+=\"", odd_page
    )
    assert "Plotly" not in odd_page


def test_a_hundred_thousand_tasks_fit(tmp_path):
    answers = make_crowd(n_tasks=100_000, n_workers=500, n_classes=3, labels_per_task=3).answers
    answers["task"] = "a rather long name of a task, number " + answers["task"].astype(str)
    model = DawidSkene("majority", model="full", max_iter=5).fit(answers)
    write_report(report_of(model), tmp_path / "big.html")
    assert (tmp_path / "big.html").stat().st_size < 5_000_000


def test_mistakes_are_explained(tmp_path):
    with pytest.raises(InputError, match=r"should end in \.html"):
        check_report_possible(tmp_path / "report.pdf")
    with pytest.raises(InputError, match="not an estimator of rectifact"):
        report_of(object())
    with pytest.raises(InputError, match="there is no folder"):
        write_report([], tmp_path / "none" / "report.html")


def test_how_many_shows_the_curve_the_choice_and_the_reason():
    X = make_topics(n_samples=240, n_features=12, n_topics=4, noise=0.002).X
    found = select(ANDNMF(1, random_state=0), X, random_state=0)
    report = report_of(SavedModel(found.estimator, X, image_shape=(3, 4), selection=found))
    (section,) = [section for section in report.sections if section.title == "How many?"]
    assert section.words == found.reason
    _, curve, ring = section.blocks[0].marks
    assert curve.x.tolist() == found.table["k"].tolist()
    assert_allclose(curve.high - curve.y, found.table["standard_error"], rtol=1e-4)
    assert (ring.x.tolist(), ring.y.tolist()) == ([4], [curve.y[3]])
    table = section.blocks[-1]
    assert [row[0] for row in table.rows if row[-1] == "chosen"] == [4]
    assert found.measure in table.note
    parts, images = blocks_of(report, Table)[0], blocks_of(report, Images)[0]
    assert parts.columns[-1].name == "stability"
    assert_allclose([row[-1] for row in parts.rows], found.estimator.stability_, atol=1e-3)
    assert images.items[0][0] == f"part 1, stability {found.estimator.stability_[0]:.2f}"
    page = render([report], "Parts")
    assert "How many?" in page


def test_bands_stand_next_to_the_values_of_features():
    X = make_topics(n_samples=100, n_features=12, n_topics=2).X
    model = ANDNMF(2, random_state=0).fit(X)
    assert " to " not in blocks_of(report_of(SavedModel(model)), Table)[0].rows[0][1]
    model.bands_ = np.stack([0.5 * model.components_, 2 * model.components_])
    table = blocks_of(report_of(SavedModel(model)), Table)[0]
    j = int(model.components_[0].argmax())
    value = model.components_[0, j]
    assert table.rows[0][1].startswith(f"feature {j + 1} ({value:.3g}; {value / 2:.2g} to {2 * value:.2g}), ")
    assert "band" in table.columns[1].help


def test_stability_stands_next_to_each_dimension_and_cluster():
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((120, 2)) @ rng.standard_normal((2, 20)), 0)
    graph = make_block_model(90, 3, degree=14, mixing=0.1).adjacency
    for model, data in (
        (NMD(2, max_iter=60).fit(X), X),
        (SymNMF(3, affinity="precomputed", random_state=0).fit(graph), graph),
    ):
        tables = blocks_of(report_of(model), Table)
        assert not any(column.name == "stability" for table in tables for column in table.columns)
        assess(model, data, random_state=0)
        (table,) = [table for table in blocks_of(report_of(model), Table) if table.columns[-1].name == "stability"]
        assert_allclose([row[-1] for row in table.rows], model.stability_, atol=1e-3)


def test_a_stability_that_is_known_for_several_numbers_has_its_curve():
    table = pd.DataFrame({"k": [1, 2, 30], "score": [0.0, 2.0, 2.5], "standard_error": [1.0, 0.6, 0.0]})
    table = table.assign(stability=[np.nan, 0.9, 0.4], seconds=1.0)
    (section,) = how_many(Selection(table, 2, "Because.", None, "share"))
    scored, stable, listed = section.blocks
    assert scored.words.startswith("30 has the highest score; 2 is chosen.")
    assert scored.x.log
    assert stable.marks[0].y.tolist() == [0.9, 0.4]
    assert listed.rows[1:] == [[2, 2.0, 0.6, 0.9, 1.0, "chosen"], [30, 2.5, 0.0, 0.4, 1.0, ""]]
    assert np.isnan(listed.rows[0][3])  # shown as a dash


def test_scores_far_below_the_rest_do_not_flatten_the_chart():
    ks = np.arange(1, 7)
    scores = [0.9, 0.98, 0.99, 0.985, -3.0, -40.0]
    table = pd.DataFrame({"k": ks, "score": scores, "standard_error": 0.01, "stability": np.nan, "seconds": 0.0})
    (section,) = how_many(Selection(table, 3, "Because.", None, "share"))
    chart, shown = section.blocks
    (line,) = (mark for mark in chart.marks if isinstance(mark, Line))
    assert line.x.tolist() == [1, 2, 3, 4]
    assert "2 numbers with far lower scores" in chart.words
    assert [row[0] for row in shown.rows] == ks.tolist()


def test_a_selection_has_a_report_of_its_own(tmp_path):
    mixtures = make_topics(n_samples=200, n_features=30, n_topics=3)
    found = select(ANDNMF(1, random_state=0), mixtures.X, range(1, 6), random_state=0)
    titles = [section.title for section in report_of(found).sections]
    assert "How many?" in titles
    write_report(found, tmp_path / "r.html", X=mixtures.X)
    page = (tmp_path / "r.html").read_text()
    assert found.reason in page
    assert "Residuals" in page


def test_the_sentence_on_residuals_follows_the_figures():
    X = np.eye(3)[np.arange(60) % 3]
    model = ANDNMF(3, random_state=0).fit(X)
    for data in (X, X @ np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, -1]]) + 0.5):
        sections = report_of(SavedModel(model, X=data, texts=["a b"] * 60), findings=[]).sections
        section = next(section for section in sections if section.title == "Residuals")
        middle = np.median([row[1] for row in section.blocks[1].rows])
        share = f"{1 - middle**2:.0%}"
        assert (
            f"The median is {middle:.2f}: of such a document, the topics explain {share} of the squares."
            in section.words
        )


def test_the_report_on_one_topic_has_no_filler():
    X = np.eye(3)[np.arange(60) % 3] + 1
    report = report_of(SavedModel(ANDNMF(1, random_state=0).fit(X), X=X, texts=["a b"] * 60), findings=[])
    assert "Topics in documents" not in [section.title for section in report.sections]
    assert "largest topics" not in " ".join(report.main)
    assert "topics on average" not in " ".join(report.main)
    assert "name it" not in " ".join(report.steps)


def test_a_part_counts_from_a_tenth_of_a_sample(rng):
    H, W = np.eye(4), np.tile([10.0, 0.1, 0.1, 0.1], (40, 1)) * rng.uniform(0.5, 1, (40, 1))
    W[np.arange(40), np.arange(40) % 4] += 20
    model = ANDNMF(4, random_state=0).fit(W @ H + 1e-6)
    saved = SavedModel(model, X=W @ H, texts=["words"] * 40)
    size = model.transform(W @ H) * model.components_.sum(axis=1)
    shares = size / size.sum(axis=1, keepdims=True)
    expected = (shares > 0.1).sum(axis=1).mean()
    assert expected < (shares > 0).sum(axis=1).mean() - 0.5
    said = " ".join(report_of(saved, findings=[]).main)
    assert f"A document has {expected:.1f} topics on average that make up more than 10% of it." in said


def test_topics_that_share_no_words_have_no_matrix_of_cosines():
    apart = ANDNMF(3, random_state=0).fit(np.eye(3)[np.arange(60) % 3])
    section = report_of(SavedModel(apart, X=np.eye(3)[np.arange(60) % 3], texts=["a b"] * 60), findings=[]).sections[0]
    assert not [block for block in section.blocks if isinstance(block, Chart)]
    assert "no two share many words" in section.words


def test_a_document_without_words_is_not_explained_perfectly():
    X = np.eye(3)[np.arange(60) % 3] + 0.1
    model = ANDNMF(3, random_state=0).fit(X)
    X[7] = 0
    sections = report_of(SavedModel(model, X=X, texts=["a b"] * 60), findings=[]).sections
    spread, table = next(section for section in sections if section.title == "Residuals").blocks
    assert "59 values" in spread.words
    assert table.rows[-1][0] == "8"
    assert np.isnan(table.rows[-1][1])
    assert table.rows[-1][2] == "none known"


def page_of(*blocks):
    return render([Report("Report", "About.", [Section("One", "See (--by) and --plan.", list(blocks))])], "Page")


def test_numbers_of_a_column_have_as_many_decimals_as_they_need():
    """The same for all, so that points are below each other; numbers too small for them keep two digits."""
    columns = {
        "already rounded": ([0.47, 0.463, 1.0], ["0.470", "0.463", "1.000"]),
        "points": ([40.0, -8.0, 29.3], ["40.0", "-8.0", "29.3"]),
        "long": ([0.62859, 0.5, 0.0], ["0.629", "0.500", "0.000"]),
        "p-values": ([0.52, 0.0078, 1.731e-13], ["0.52", "0.0078", "1.7e-13"]),
        "large": ([12345.6, 98.7, 0.123], ["12346", "99", "0.12"]),
        "whole": ([3.0, 12.0, 0.0], ["3", "12", "0"]),
    }
    rows = list(zip(*(values for values, _ in columns.values()), strict=True))
    page = page_of(Table("Figures", [Column(name, "number") for name in columns], rows))
    cells = np.array(re.findall(r'<td class="number"[^>]*>([^<]*)</td>', page)).reshape(3, -1)
    assert {name: shown.tolist() for name, shown in zip(columns, cells.T, strict=True)} == {
        name: shown for name, (_, shown) in columns.items()
    }


def test_small_shares_are_not_none():
    page = page_of(Table("Shares", [Column("share", "share")], [[0.0], [0.0003], [0.0006], [0.9997], [1.0]]))
    assert re.findall(r'<td class="share"[^>]*>([^<]*)</td>', page) == [
        "0.0%",
        "&lt; 0.1%",
        "0.1%",
        "&gt; 99.9%",
        "100.0%",
    ]


def test_bars_of_a_card_have_equal_decimals():
    cards = [
        Card("topic", "", [("a", 0.0055), ("b", 0.005)], shares=True),
        Card("part", "", [("a", 0.244), ("b", 0.19), ("c", -0.00961)]),
        Card("cluster", "", [("a", 1234.0), ("b", 5.0)]),
    ]
    found = re.findall(r'class="value">([^<]*)<', page_of(Cards("All", cards)))
    assert found == ["0.55%", "0.50%", "0.244", "0.190", "−0.010", "1,234", "5"]


def test_options_are_code_wherever_they_are_named():
    page = page_of(Table("T", [Column("a")], [["b"]], note="Written by --output."))
    assert [option for option in ("--by", "--plan", "--output") if f"<code>{option}</code>" in page] == [
        *("--by", "--plan", "--output")
    ]


def test_findings_begin_with_the_worst():
    items = [(severity, severity, "", "") for severity in ("note", "warning", "problem", "warning")]
    assert [item[0] for item in Findings(items).items] == ["problem", "warning", "warning", "note"]


def test_a_chart_of_many_workers_says_where_some_are_left_out():
    accuracy = np.linspace(0.9, 0.5, 100)
    table = pd.DataFrame({"worker": range(100), "accuracy": accuracy})
    (chart,) = accuracy_chart(table.assign(accuracy_low=accuracy - 0.05, accuracy_high=accuracy + 0.05))
    assert len(chart.x.names) == 41
    assert chart.x.names[20] == "… 60 more …"
    assert np.isnan(chart.marks[0].y[20])
    assert "The 20 best and the 20 last of 100 are shown" in chart.words


def test_a_loss_has_no_more_digits_than_it_needs():
    def words(*losses):
        history = [{"iter": i + 1, "loss": loss} for i, loss in enumerate(losses)]
        (chart,) = convergence(SimpleNamespace(history_=history, converged_=True))
        return chart.words

    assert words(0.104482, 0.1, 0.01, 0.00596138) == "From 0.104 to 0.00596 in 4 iterations; converged."
    assert words(0.911701, 0.9117, 0.9117, 0.911684) == "From 0.9117 to 0.91168 in 4 iterations; converged."


def test_large_weights_are_written_out_and_a_remedy_is_said_once():
    X = 1000 * make_topics("dir", n_samples=200, n_features=30, n_topics=4).X
    report = report_of(SavedModel(ANDNMF(4, random_state=0).fit(X), X=X))
    (residuals,) = [table for table in blocks_of(report, Table) if table.title == "Samples by residual"]
    assert re.search(r"part \d: [\d,.]+", residuals.rows[0][2])
    assert not any("e+" in row[2] for row in residuals.rows)
    assert not any("On the command line" in item[3] for found in blocks_of(report, Findings) for item in found.items)


def test_a_whole_graph_is_called_whole():
    graph = make_block_model(60, 2, degree=12, random_state=0).adjacency
    (chart,) = [
        chart
        for chart in blocks_of(report_of(SymNMF(2, affinity="precomputed", n_init=2, random_state=0).fit(graph)), Chart)
        if chart.title.startswith("The graph")
    ]
    assert re.fullmatch(r"All 60 nodes and the \d+ edges between nodes are drawn\.", chart.words)


def test_small_clusters_of_a_large_drawing_have_one_name_each():
    cliques = np.kron(np.eye(12), np.ones((7, 7))) - np.eye(84)
    model = SymNMF(12, affinity="precomputed", random_state=0).fit(cliques)
    named = _hubs_in_turn(model, np.arange(84))
    assert sorted(model.labels_[named]) == list(range(12))
