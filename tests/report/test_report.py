"""Reports: what they say is what the model found, and whatever the data holds stays text."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import ANDNMF, NMD, DawidSkene, InputError, MajorityVote, SymNMF
from rectifact.datasets import load_crowd, make_block_model, make_crowd, make_dots, make_topics
from rectifact.models import SavedModel
from rectifact.report import render, report_of, write_report
from rectifact.report.blocks import Chart, Facts, Images, Matrices, Table
from rectifact.report.html import check_report_possible
from rectifact.report.parts import _residuals

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
pytest.importorskip("jinja2")
pytest.importorskip("plotly")


@pytest.fixture(scope="module")
def crowd():
    return DawidSkene().fit(load_crowd("anaesthetists").answers)


def blocks_of(report, kind):
    return [block for section in report.sections for block in section.blocks if isinstance(block, kind)]


def facts_of(report):
    return {name: value for block in blocks_of(report, Facts) for name, value, _ in block.items}


def test_labels_say_what_the_model_found(crowd):
    report = report_of(crowd)
    workers, tasks, plan = blocks_of(report, Table)
    assert facts_of(report)["tasks"] == "45"
    assert [row[0] for row in tasks.rows[:2]] == ["38", "3"]  # in most doubt
    ranked = crowd.worker_report().sort_values("information", ascending=False)
    assert [row[0] for row in workers.rows] == [str(worker) for worker in ranked["worker"]]
    given = load_crowd("anaesthetists").answers.query("task == 38")["label"].value_counts()
    assert tasks.rows[0][-1] == ", ".join(f"{label} × {n}" for label, n in given.items())
    (matrices,) = blocks_of(report, Matrices)
    assert_allclose(matrices.items[0][2], crowd.confusions_[0].T, atol=1e-4)  # doctor 1 tells most
    assert plan.rows[0][0] == str(crowd.next_labels(1)["task"][0])


def test_every_aggregator_has_a_report(crowd):
    titles = [section.title for section in report_of(MajorityVote().fit(load_crowd("anaesthetists").answers)).sections]
    assert titles == ["Overview", "Workers", "Tasks", "Worker graph"]


def test_parts_explain_themselves():
    mixtures = make_topics("dir", n_samples=300, n_features=36, n_topics=4)
    model = ANDNMF(4, random_state=0).fit(mixtures.X)
    bare = report_of(model)
    full = report_of(SavedModel(model, X=mixtures.X, features=[f"w{i}" for i in range(36)], image_shape=(6, 6)))
    assert [section.title for section in bare.sections] == ["Parts", "Convergence"]
    assert [section.title for section in full.sections] == ["Parts", "Weights", "Residuals", "Convergence"]
    assert blocks_of(full, Table)[0].rows[0][1].startswith(f"w{np.argmax(np.abs(model.components_[0]))} (")
    assert len(blocks_of(full, Images)[0].items) == 4


def test_residuals_without_the_product(rng):
    X, W, H = rng.random((20, 7)), rng.random((20, 3)), rng.standard_normal((3, 7))
    assert_allclose(_residuals(X, W, H), np.linalg.norm(X - W @ H, axis=1))


def test_embedding_beside_svd():
    X = make_dots(size=16, grid=8).X
    model = NMD(5, max_iter=60).fit(X)
    report = report_of(SavedModel(model, X=X, image_shape=(16, 16)))
    found = facts_of(report)
    error = np.sqrt(np.mean((model.inverse_transform(model.embedding_) - X.toarray()) ** 2))
    assert_allclose(float(found["RMSE"]), error, rtol=1e-3)
    assert float(found["RMSE"]) < float(found["RMSE of SVD"])
    assert [len(block.items) for block in blocks_of(report, Images)] == [10, 10, 10]
    assert report_of(model).sections[0].title == "Map"


def test_clusters_and_their_bound():
    graph = make_block_model(150, 3, degree=20, mixing=0.1)
    model = SymNMF(3, affinity="precomputed", random_state=0).fit(graph.adjacency)
    report = report_of(SavedModel(model, samples=[f"n{i}" for i in range(150)]))
    found = facts_of(report)
    assert float(found["bound"]) <= float(found["relative error"])
    same = model.labels_[:, None] == model.labels_[None]
    dense = graph.adjacency.toarray()
    assert found["weight inside clusters"] == f"{dense[same].sum() / dense.sum():.1%}"
    grid = next(block for block in blocks_of(report, Chart) if "Similarities" in block.title).data[0]["z"]
    assert_allclose(np.sum(np.square(np.array(grid, dtype=float))), dense.sum(), rtol=1e-3)


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


def test_nothing_is_fetched(odd_page):
    assert "default-src 'none'" in odd_page
    ours = re.sub(r"<script>.*?</script>", "", odd_page, flags=re.S)  # without plotly itself
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", ours)


def test_a_hundred_thousand_tasks_fit(tmp_path):
    answers = make_crowd(n_tasks=100_000, n_workers=500, n_classes=3, labels_per_task=3).answers
    answers["task"] = "a rather long name of a task, number " + answers["task"].astype(str)
    model = DawidSkene("majority", model="full", max_iter=5).fit(answers)
    write_report(report_of(model), tmp_path / "big.html")
    assert (tmp_path / "big.html").stat().st_size < 10_000_000


def test_mistakes_get_a_sentence(tmp_path):
    with pytest.raises(InputError, match=r"should end in \.html"):
        check_report_possible(tmp_path / "report.pdf")
    with pytest.raises(InputError, match="no estimator of rectifact"):
        report_of(object())
    with pytest.raises(InputError, match="there is no folder"):
        write_report([], tmp_path / "none" / "report.html")
