"""The plot_ methods of the estimators are the charts of the report."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rectifact import ANDNMF, NMD, DawidSkene, InputError, MajorityVote, SymNMF
from rectifact.datasets import make_block_model, make_crowd, make_dots, make_topics
from rectifact.report import Chart, report_of
from rectifact.report.blocks import Table
from rectifact.report.plots import CHARTS

X = make_topics(n_samples=100, n_features=12, n_topics=3, noise=0.1).X
ANSWERS = make_crowd(60, 5, 3, random_state=0).answers


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    graph = make_block_model(60, 3, degree=15, mixing=0.1).adjacency
    return {
        "crowd": DawidSkene().fit(ANSWERS),
        "parts": ANDNMF(3, random_state=0).fit(X),
        "latent": NMD(3).fit(make_dots(size=6, grid=8).X),
        "graph": SymNMF(3, affinity="precomputed").fit(graph),
    }


def test_names_of_a_frame_are_on_the_map_and_in_the_tables(rng: np.random.Generator) -> None:
    names = [f"album {i}" for i in range(12)]
    frame = pd.DataFrame(1.0 * (rng.random((12, 6)) < 0.4), index=names)
    model = NMD(2).fit(frame)
    kinds = pd.Series(["jazz"] * 6 + ["folk"] * 6, index=names, name="Genre")
    for groups in ({"Genre": kinds.to_numpy()}, kinds, {"Genre": kinds[::-1]}, {"Genre": kinds.reset_index(drop=True)}):
        chart = model.plot_map(frame, groups)
        labels = {label for mark in chart.marks for label in mark.labels}
        assert labels == {f"{name}: {kind}" for name, kind in kinds.items()}
        assert "coloured by Genre" in repr(chart)
        assert len(repr(chart)) < 200
    (near,) = (b for b in report_of(model).sections[2].blocks if isinstance(b, Table) and b.title == "Nearest samples")
    assert [row[0] for row in near.rows] == names
    with pytest.raises(InputError, match="not a column of values"):
        model.plot_map(frame, frame)


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("crowd", ["labels", "confidence", "workers", "agreement", "convergence"]),
        ("parts", ["part", "weights", "residuals", "convergence"]),
        ("latent", ["map", "convergence"]),
        ("graph", ["network", "sizes", "memberships", "similarities", "convergence"]),
    ],
)
def test_every_plot_is_a_chart_that_a_notebook_shows(models: dict[str, Any], family: str, names: list[str]) -> None:
    model = models[family]
    there = sorted(name.removeprefix("plot_") for name in dir(model) if name.startswith("plot_"))
    assert there == sorted(names)
    for name in names:
        chart = getattr(model, f"plot_{name}")(*([X] if name in ("weights", "residuals") else []))
        assert isinstance(chart, Chart), name
        assert "<svg" in chart._repr_html_()
        assert name in CHARTS or name in ("part", "convergence")


def test_a_plot_is_the_chart_of_the_report(models: dict[str, Any]) -> None:
    in_report = [block for section in report_of(models["graph"]).sections for block in section.blocks]
    titles = [block.title for block in in_report if isinstance(block, Chart)]
    assert models["graph"].plot_network().title in titles


def test_the_largest_features_of_a_part(models: dict[str, Any]) -> None:
    chart = models["parts"].plot_part(1, 4, features=[f"word{j}" for j in range(12)])
    largest = np.argsort(-models["parts"].components_[0])[:4]
    assert all(f"word{j}" in chart.svg() for j in largest)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda models: models["parts"].plot_part(9), "part=9 must be between 1 and 3"),
        (lambda models: models["parts"].plot_part(1, features=["a"]), "1 names for 12 features"),
        (lambda models: MajorityVote().fit(ANSWERS).plot_workers(), "no chart of workers"),
    ],
)
def test_what_cannot_be_plotted(models: dict[str, Any], call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(models)
