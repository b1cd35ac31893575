"""Chooses the report for a model by its family, and writes reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from rectifact.core.errors import InputError
from rectifact.core.findings import Finding
from rectifact.crowd.advice.audit import Audit
from rectifact.crowd.advice.foresight import Needed
from rectifact.crowd.base import Aggregator
from rectifact.crowd.evaluation import Evaluation
from rectifact.graph import SymNMF, SymNMFNet
from rectifact.latent import NMD, LogisticPCA
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.report.blocks import Report
from rectifact.report.clusters import clusters_report
from rectifact.report.embedding import embedding_report
from rectifact.report.evaluation import evaluation_reports
from rectifact.report.html import check_report_possible, write_page
from rectifact.report.labels import labels_report
from rectifact.report.opening import labels_opening
from rectifact.report.parts import parts_report
from rectifact.selection import Selection
from rectifact.topics import Topics


def report_of(
    model: Any,
    *,
    needed: Needed | None = None,
    plan: pd.DataFrame | None = None,
    audit: Audit | None = None,
    texts: Mapping[Any, Any] | None = None,
    findings: Sequence[Finding] | None = None,
    source: str | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Report on a fitted model.

    Parameters
    ----------
    model : estimator, Selection, Topics or SavedModel
        A fitted estimator, a choice of :func:`rectifact.selection.select`, which the report shows as well, what
        :func:`rectifact.find_topics` returns, or a
        :class:`rectifact.models.SavedModel` that has its data and names as well.
    needed : Needed, default None
        Answers that are needed, from :meth:`rectifact.DawidSkene.labels_needed`, to show in the report on labels
        instead of those that would halve the error, all at the same price.
    plan : DataFrame, default None
        From :meth:`rectifact.DawidSkene.next_labels` with prices, a budget, a target or workers, to show in the report
        on labels instead of a plan without them.

        .. versionadded:: 0.2
    audit : Audit, default None
        How often labels are right that have seen no gold label, for the report on labels.
    texts : mapping, default None
        Text by task, for the report on labels.
    findings : sequence of Finding, default None
        For the report on parts, a diagnosis that has been made already.
    source : str, default None
        For the report on parts, the name of the saved model, where the samples are not those of its fit.
    notes : sequence of str, default ()
        For the report on labels, what was said when the answers were read.

    Returns
    -------
    Report

    Examples
    --------
    >>> from rectifact import DawidSkene
    >>> from rectifact.datasets import load_crowd
    >>> report = report_of(DawidSkene().fit(load_crowd("anaesthetists").answers))
    >>> [section.title for section in report.sections]
    ['Overview', 'Workers', 'Tasks', 'Calibration', 'Diagnosis', 'Worker graph', 'What to label next']
    """
    if isinstance(model, Topics):
        model, findings = model.saved(), model.findings if findings is None else findings
    model = _with_data(model, {}) if isinstance(model, Selection) else model
    saved = model if isinstance(model, SavedModel) else SavedModel(model)
    if isinstance(saved.model, Aggregator):
        main, steps = labels_opening(saved.model)
        found = labels_report(saved.model, needed, plan=plan, audit=audit, texts=texts, notes=notes)
        return replace(found, main=main, steps=steps)
    if isinstance(saved.model, ANDNMF | PurificationNMF):
        return parts_report(saved, findings, source)
    if isinstance(saved.model, NMD | LogisticPCA):
        return embedding_report(saved)
    if isinstance(saved.model, SymNMF | SymNMFNet):
        return clusters_report(saved)
    raise InputError(
        f"{type(saved.model).__name__} is not an estimator of rectifact, so there is no report on it.",
        "Give a fitted estimator of rectifact.",
    )


def write_report(
    what: Any,
    path: str | Path,
    *,
    X: Any = None,
    features: Any = None,
    samples: Any = None,
    image_shape: tuple[int, int] | None = None,
    texts: Any = None,
    groups: dict[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write the report on a fitted model as one HTML file, which opens offline; a failed write leaves nothing behind.

    Parameters
    ----------
    what : fitted estimator, Selection, Topics, SavedModel, Report, or a list of these; or an Evaluation
        Several in a list become one page. An evaluation comes from :func:`rectifact.evaluate`, a selection from
        :func:`rectifact.selection.select`: the report says how the number was chosen. Topics come from
        :func:`rectifact.find_topics`.
    path : str or Path
        Where to write: ``.html``.
    X : array or sparse array of shape (n_samples, n_features), optional
        The data that the model was fitted to; with it, the report also shows samples, residuals and diagnoses. For
        labels it is not needed.
    features : sequence of str of shape (n_features,), optional
        Names of the columns.
    samples : sequence of str of shape (n_samples,), optional
        Names of the rows.
    image_shape : tuple of int, optional
        Height and width, if the samples are images.
    texts : sequence of str of shape (n_samples,), optional
        The documents or their beginnings, if the samples are texts: parts are then called topics, with examples.
    groups : dict of str to array of shape (n_samples,), optional
        A column that colours the map of the samples, by its name; a Series whose index has the names of the samples is
        matched by them.
    title : str, optional
        Heading of the page.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rectifact import DawidSkene, write_report
    >>> from rectifact.datasets import load_crowd
    >>> model = DawidSkene().fit(load_crowd("anaesthetists").answers)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(model, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").stat().st_size < 500_000
    True
    """
    check_report_possible(Path(path))
    given = {"X": X, "features": features, "samples": samples, "image_shape": image_shape}
    given |= {"texts": texts, "groups": groups}
    given = {name: value for name, value in given.items() if value is not None}
    several = isinstance(what, Sequence)
    if given and (several or isinstance(what, Report | SavedModel | Topics | Evaluation)):
        raise InputError(
            f"{next(iter(given))} belongs to one fitted estimator.", "Leave it out, or wrap each model in a SavedModel."
        )
    if isinstance(what, Evaluation):
        write_page(evaluation_reports(what), path, title=title or "rectifact: evaluation")
        return
    parts = what if several else [what]
    reports = [one if isinstance(one, Report) else report_of(_with_data(one, given)) for one in parts]
    if title is None:
        title = f"rectifact: {reports[0].title.lower()}" if len(reports) == 1 else "rectifact report"
    write_page(reports, path, title=title)


def _with_data(model: Any, given: dict[str, Any]) -> Any:
    if isinstance(model, Selection):
        return SavedModel(model.estimator, selection=model, **given)
    return SavedModel(model, **given) if given else model
