"""Experiments about parts: they measure what they say, and see what the papers claim."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rectifact.bench.papers import Curves, Experiment, and_nmf, and_theory, purification, stored
from rectifact.bench.parts import paper_start
from rectifact.bench.results import read_result
from rectifact.cli import bench_paper
from rectifact.core.errors import InputError
from rectifact.core.linalg import pseudo_inverse
from rectifact.core.rectify import Constant, Geometric
from rectifact.datasets import make_topics
from rectifact.metrics import total_correlation_error
from rectifact.parts.and_nmf import Threshold
from rectifact.parts.purification import Purifier, purify

SIZES = {"n_samples": 400, "n_features": 40, "n_topics": 6}


def last(rows, **values):
    return [row for row in rows if all(row[name] == value for name, value in values.items())][-1]


FALLING = Threshold(Geometric(0.1, 1.3))


@pytest.mark.parametrize("run", [partial(and_nmf._and, FALLING, None), partial(and_nmf._compressed, FALLING)])
def test_a_curve_ends_where_the_run_ends(run):
    data = make_topics(**SIZES)
    start = paper_start(data.components)
    rows = and_nmf.followed(run, data, start, 60, 20)
    assert [row["iteration"] for row in rows] == [20, 40, 60]
    assert rows[0]["error"] < total_correlation_error(start, data.components)
    assert rows[-1]["error"] < 1e-6
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)


def test_fresh_samples_and_fixed_ones_take_the_same_stage():
    """With the fixed sample in place of fresh ones, 50 single steps are one stage of 50."""
    data = make_topics(**SIZES)
    start = paper_start(data.components)
    once = and_theory._stage([data.X], start, 0, 0.5, n_inner=and_theory.N_INNER)
    stepwise = and_theory._stage([data.X] * and_theory.N_INNER, start, 0, 0.5, n_inner=1)
    assert_allclose(once, stepwise, atol=1e-12)


def test_the_prescribed_threshold_by_hand():
    truth = np.eye(3)
    H = truth + np.array([[0, 0.2, 0], [0, 0, 0], [0, 0, 0]])
    constants = {"r": 2.0, "lambda": 0.5}
    assert and_theory.prescribed(constants, 3.0, truth, 1.0, 0, H) == pytest.approx((0.5 * 0.2 / 2) ** 0.5)


def test_what_the_paper_says_about_and_is_seen():
    rows = and_theory.theorem_1(True)
    assert last(rows, pairs="correlation 0")["error"] < 1e-12
    assert last(rows, pairs="correlation 0.95")["error"] < 1e-4
    bounds = and_theory.lemma_3(True)
    measured, bound = ([row["distance"] for row in bounds if row["curve"] == name] for name in ("measured", "bound"))
    assert (np.array(measured) <= np.array(bound)).all()
    assert measured[-1] < 0.2 * measured[0]
    holds = {(row["weights"], row["s"]): row["holds"] for row in and_theory.proposition_1(True)}
    assert holds["s-sparse, zero and one", 5]
    assert holds["Dirichlet(1/(s D))", 5]
    assert not holds["Dirichlet(s/D)", 5]


def test_footnote_9():
    data = make_topics("neg-authors", **SIZES)
    start = paper_start(data.components)
    signed = [and_nmf.followed(method, data, start, 20)[-1]["error"] for method, *_ in and_nmf.SIGNED.values()]
    found = and_nmf.followed(partial(and_nmf._and, and_nmf.PUBLISHED, 50), data, start, 150)[-1]["error"]
    assert found < 1e-4 < 0.1 < min(signed)
    constant = Threshold(Constant(0.01), "absolute")
    stuck = and_nmf.followed(partial(and_nmf._and, constant, 50), data, start, 150)[-1]["error"]
    assert stuck > 100 * found


def test_exact_expectations_are_those_of_many_samples():
    n, p, alpha = 4, 0.3, 0.1
    W, probability = purification.all_weights(n, p)
    assert probability.sum() == pytest.approx(1)
    assert_allclose(probability @ W, p)
    rng = np.random.default_rng(0)
    parts, H = rng.random((n, 7)), rng.random((n, 7))
    exact = purification.expected_update(W @ parts, probability, H, alpha)
    X = (rng.random((200_000, n)) < p) @ parts
    state = Purifier(H, np.full(n, alpha), np.array(1.0))
    moved, _ = purify(state, X, eta=1.0, inverse=pseudo_inverse)
    assert_allclose(moved.H, exact, atol=0.02 * np.abs(exact).max())


def test_the_relu_makes_the_difference():
    rows = purification.potentials(True)
    kept = last(rows, decoding="ReLU", curve="a + 4 b")
    lost = last(rows, decoding="no ReLU", curve="a + 4 b")
    assert kept["norm"] < 1e-6 < 0.3 < lost["norm"]
    assert kept["least h"] < 0.02


def test_the_terminal_shows_the_end_of_each_curve(monkeypatch, capsys):
    rows = [{"data": name, "method": "AND", "step": i, "error": i / 7} for name in ("a", "b") for i in range(30)]
    experiment = Experiment(lambda quick: rows, Curves("step", "error"))
    monkeypatch.setattr(bench_paper, "paper", lambda name: SimpleNamespace(experiments={"figure 1": experiment}))
    options = {"--table": None, "--figure": "1", "--item": None}
    bench_paper.bench_paper("and", options, quick=True, outputs=[], plot=None)
    text = "".join(capsys.readouterr())
    assert "the end of each curve" in text
    assert text.count("4.143") == 2
    assert "58 more rows" in text


def test_an_item_that_is_measured_again_replaces_only_itself(monkeypatch, tmp_path):
    """One item after another makes one result, which tells when each was measured; other files are refused."""
    values = iter([1.0, 2.0, 3.0])
    experiments = {f"figure {i}": Experiment(lambda quick: [{"error": next(values)}]) for i in (1, 2)}
    monkeypatch.setattr(bench_paper, "paper", lambda name: SimpleNamespace(experiments=experiments))
    monkeypatch.setattr(stored, "paper", bench_paper.paper)
    path = tmp_path / "and.json"
    for figure, quick in (("2", False), ("1", True), ("2", True)):
        chosen = {"--table": None, "--figure": figure, "--item": None}
        bench_paper.bench_paper("and", chosen, quick=quick, outputs=[path], plot=None)
    result = read_result(path)
    assert result["tables"] == {"and": {"figure 1": [{"error": 2.0}], "figure 2": [{"error": 3.0}]}}
    assert {title: run["quick"] for title, run in result["runs"]["and"].items()} == {"figure 2": True, "figure 1": True}
    assert all(run["seconds"] >= 0 and run["date"] and run["cpu"] for run in result["runs"]["and"].values())
    path.write_text("[1]")
    with pytest.raises(InputError, match="environment and tables"):
        bench_paper.bench_paper("and", chosen, quick=True, outputs=[path], plot=None)
    assert path.read_text() == "[1]"
