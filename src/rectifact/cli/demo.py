"""rectifact demo: all four families on bundled and generated data."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table
from sklearn.datasets import load_digits

from rectifact.cli.terminal import progress, show
from rectifact.crowd import DawidSkene
from rectifact.datasets import load_crowd, make_block_model, make_topics
from rectifact.graph import SymNMF
from rectifact.io.files import check_writable
from rectifact.latent import NMD
from rectifact.metrics import cluster_accuracy, part_errors, root_mean_squared_error
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF

if TYPE_CHECKING:
    from rectifact.report.blocks import Report

Shown = tuple[str, str, str, SavedModel]
"""Family, what was given, what was found, and the model with its data."""


def demo(
    out: Annotated[Path, typer.Option("--output", "-o", "--report", help="Report to write: .html.")] = Path(
        "report.html"
    ),
) -> None:
    """Run all four families of methods on bundled and generated data, in about a minute, and write a report."""
    check_writable(out)
    shown: list[Shown] = []
    with warnings.catch_warnings(action="ignore"):
        for what, show_one in (("labels", _labels), ("parts", _parts), ("embed", _embed), ("cluster", _cluster)):
            with progress(f"rectifact {what}"):
                shown.append(show_one())
        _write_report(shown, out)
    table = Table("command", "given", "found", title="What rectifact finds", title_justify="left", show_lines=True)
    for family, given, found, _ in shown:
        table.add_row(f"rectifact {family}", given, found)
    show(table)
    show(f"The report: [bold]{escape(str(out))}[/bold]. It opens in any browser, offline.")
    show("Your own answers: [bold]rectifact labels answers.csv -o truth.csv --report report.html[/bold]")


def _write_report(shown: list[Shown], out: Path) -> None:
    from rectifact.report import report_of, write_report

    with progress("writing the report"):
        reports = [_explained(report_of(saved), given, found) for _, given, found, saved in shown]
        write_report(reports, out, title="rectifact demo")


def _explained(report: "Report", given: str, found: str) -> "Report":
    """The report, which says first what the data are and what was found in them."""
    return replace(report, words=f"{_sentence(given)} {report.words}", main=[f"Found: {found}.", *report.main])


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _labels() -> Shown:
    """Five anaesthetists who graded 45 patients (Dawid and Skene, 1979)."""
    answers = load_crowd("anaesthetists").answers
    model = DawidSkene().fit(answers)
    unanimous = (answers.groupby("task")["label"].nunique() == 1).sum()
    best = model.worker_report().sort_values("information").iloc[-1]
    sure = (model.probas_.max(axis=1) > 0.99).sum()
    given = "5 anaesthetists graded 45 patients before an operation, real data from 1979; nobody knows the truth"
    found = (
        f"the grade of every patient, {sure} of 45 with more than 99 % confidence, though all readings agree on "
        f"only {unanimous}; doctor {best.worker:.0f} is the most informative, and right in {best.accuracy:.0%} of cases"
    )
    return "labels", given, found, SavedModel(model)


def _parts() -> Shown:
    mixtures = make_topics("neg-dir", n_samples=2000, n_features=60, n_topics=6)
    model = ANDNMF(6, random_state=0).fit(mixtures.X)
    errors = part_errors(model.components_, mixtures.components)
    given = "2000 generated mixtures of 6 parts of both signs, with random weights"
    found = f"all 6 parts, the worst with a relative error of {errors.max():.0e}"
    return "parts", given, found, SavedModel(model, X=mixtures.X)


def _embed() -> Shown:
    digits = load_digits()
    X = digits.data[:800] / 16
    model = NMD(16, max_iter=100).fit(X)
    error = root_mean_squared_error(model.inverse_transform(model.embedding_), X)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    svd = root_mean_squared_error(((U[:, :16] * s[:16]) @ Vt[:16]).clip(0, 1), X)
    given = "800 handwritten digits from scikit-learn, 64 pixels each"
    found = f"16 dimensions that explain them with an error of {error:.3f} per pixel; truncated SVD leaves {svd:.3f}"
    names = np.array([f"{i + 1}: a {digit}" for i, digit in enumerate(digits.target[:800])])
    groups = {"digit": digits.target[:800]}
    return "embed", given, found, SavedModel(model, X, samples=names, image_shape=(8, 8), groups=groups)


def _cluster() -> Shown:
    graph = make_block_model(600, 5, degree=18, mixing=0.3)
    model = SymNMF(5, affinity="precomputed", random_state=0).fit(graph.adjacency)
    accuracy = cluster_accuracy(graph.labels, model.labels_)
    given = "a generated graph of 600 nodes in 5 communities, with three edges in ten at random"
    return "cluster", given, f"the community of {accuracy:.1%} of the nodes", SavedModel(model)
