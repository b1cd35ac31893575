"""Chooses the report for a model by its family."""

from collections.abc import Mapping
from typing import Any

from rectifact.core.errors import InputError
from rectifact.crowd.advice.audit import Audit
from rectifact.crowd.advice.foresight import Needed
from rectifact.crowd.base import Aggregator
from rectifact.graph import SymNMF, SymNMFNet
from rectifact.latent import NMD, LogisticPCA
from rectifact.models import SavedModel
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.report.blocks import Report
from rectifact.report.clusters import clusters_report
from rectifact.report.embedding import embedding_report
from rectifact.report.labels import labels_report
from rectifact.report.parts import parts_report


def report_of(
    model: Any, *, needed: Needed | None = None, audit: Audit | None = None, texts: Mapping[Any, Any] | None = None
) -> Report:
    """Report on a fitted model.

    Parameters
    ----------
    model : estimator or SavedModel
        A fitted estimator, or a :class:`rectifact.models.SavedModel` that has its data and names as well.

    needed : Needed, default None
        Answers that are needed, from :meth:`rectifact.DawidSkene.labels_needed`, to show in the report on labels
        instead of those that would halve the error, all at the same price.
    audit : Audit, default None
        How often labels are right that have seen no gold label, for the report on labels.
    texts : mapping, default None
        Text by task, for the report on labels.

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
    saved = model if isinstance(model, SavedModel) else SavedModel(model)
    if isinstance(saved.model, Aggregator):
        return labels_report(saved.model, needed, audit=audit, texts=texts)
    if isinstance(saved.model, ANDNMF | PurificationNMF):
        return parts_report(saved)
    if isinstance(saved.model, NMD | LogisticPCA):
        return embedding_report(saved)
    if isinstance(saved.model, SymNMF | SymNMFNet):
        return clusters_report(saved)
    raise InputError(
        f"{type(saved.model).__name__} is not an estimator of rectifact, so there is no report on it.",
        "Give a fitted estimator of rectifact.",
    )
