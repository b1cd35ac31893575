"""Saves and loads fitted models, as arrays and JSON; nothing is pickled, so files from elsewhere are safe to open."""

from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputError
from rectifact.core.estimator import are_names
from rectifact.core.operand import is_chunked
from rectifact.core.rectify import Constant, Geometric
from rectifact.core.reprs import short_repr
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
from rectifact.crowd.advice.gold import GoldCalibration, GoldMap, GradeMap, MixedMap
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.em import CrowdModel
from rectifact.crowd.fitting import Fitting
from rectifact.crowd.pooled import Strength
from rectifact.graph import SymNMF, SymNMFNet
from rectifact.io.archive import no_model, read_archive, write_archive
from rectifact.io.files import reading
from rectifact.latent import NMD, LogisticPCA
from rectifact.latent.priors import Gaussian
from rectifact.model_shapes import check_loaded
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.and_nmf import Threshold
from rectifact.parts.and_nmf_estimator import Stream
from rectifact.parts.purification import Purifier
from rectifact.parts.vocabulary import Vocabulary
from rectifact.selection import Selection

ESTIMATORS: tuple[type, ...] = (
    *(DawidSkene, MajorityVote, MinimaxEntropy, KOS, GhoshSVD, EigenRatio),
    *(ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF, SymNMFNet),
)
INSIDE: tuple[type, ...] = (
    Answers,
    CrowdModel,
    Fitting,
    Strength,
    GoldCalibration,
    GoldMap,
    MixedMap,
    GradeMap,
    Gaussian,
    Stream,
    Threshold,
    Purifier,
    Vocabulary,
    Constant,
    Geometric,
)
FORGOTTEN = ("callbacks", "regularizer", "random_state")
"""Parameters that may hold functions or random generators, which are not saved; names and seeds are."""

ADDRESSES = {"checkpoint": None, "resume": False}
"""Parameters that name a place on this machine, and what is saved in their place."""


TABLE = ("k", "score", "standard_error", "stability", "seconds")
"""Columns of the table of a selection."""


@short_repr
@dataclass(frozen=True)
class SavedModel:
    """A fitted model and, as far as they were saved, the data it was fitted on.

    Attributes
    ----------
    model : fitted estimator
    X : array or sparse array of shape (n_samples, n_features), or None
    features : array of str of shape (n_features,), or None
        Names of the columns of ``X``.
    samples : array of str of shape (n_samples,), or None
        Names of the rows of ``X``.
    image_shape : tuple of int, or None
        Height and width, if the samples are images.
    selection : Selection, or None
        How the number of parts, dimensions or clusters was chosen.
    texts : array of str of shape (n_samples,), or None
        Beginnings of the documents, if the samples are texts.
    groups : dict of str to array of shape (n_samples,), or None
        Columns by which a map of the samples is coloured.
    vocabulary : Vocabulary, or None
        How words were counted, if the samples are texts, for :func:`rectifact.parts.documents.count_known`.
    notes : dict of str to str, or None
        What the report should say: about an embedding ``values``, what was done to the values before the fit, such as
        ``log``, and ``recommendations``, how good they are; about clusters ``groups``, how known
        groups were matched, ``names`` of nodes that may be the same, and ``distances``, the file that held them. For
        new samples of an embedding ``triples``, the columns of the table of triples that it was fitted to, as a JSON
        list.
    spreads : array of shape (n_features,), or None
        What the columns of the data were divided by before the fit, for new samples.
    """

    model: Any
    X: Any = None
    features: Any = None
    samples: Any = None
    image_shape: tuple[int, int] | None = None
    selection: Selection | None = field(default=None, metadata={"since": "0.2"})
    texts: Any = field(default=None, metadata={"since": "0.2"})
    groups: dict[str, Any] | None = field(default=None, metadata={"since": "0.2"})
    vocabulary: Vocabulary | None = field(default=None, metadata={"since": "0.2"})
    notes: dict[str, str] | None = field(default=None, metadata={"since": "0.2"})
    spreads: Any = field(default=None, metadata={"since": "0.2"})


CLASSES: dict[str, type] = {kind.__name__: kind for kind in (*ESTIMATORS, *INSIDE, SavedModel)}


def save_model(
    model: Any,
    path: str | Path,
    *,
    X: Any = None,
    features: Any = None,
    samples: Any = None,
    image_shape: tuple[int, int] | None = None,
    selection: Selection | None = None,
    texts: Any = None,
    groups: dict[str, Any] | None = None,
    vocabulary: Vocabulary | None = None,
    notes: dict[str, str] | None = None,
    spreads: Any = None,
) -> None:
    """Save a fitted model in one file, by convention ``.rfx``.

    Functions (callbacks, your own regularizer) and random generators are left out, and so are an embedding and an
    ``X`` that are Dask arrays. Dates are read back as pandas Timestamps. With ``X`` and names, ``rectifact report`` can
    also show samples, residuals and reconstructions.

    Parameters
    ----------
    model : fitted estimator
    path : str or Path
    X : array or sparse array of shape (n_samples, n_features), optional
        The data that the model was fitted on.
    features : array of str of shape (n_features,), optional
    samples : array of str of shape (n_samples,), optional
    image_shape : tuple of int, optional
        Height and width, if the samples are images.
    selection : Selection, optional
        How the number of parts, dimensions or clusters was chosen, for the report.
    texts : array of str of shape (n_samples,), optional
        Beginnings of the documents, if the samples are texts; the report shows examples of each topic.
    groups : dict of str to array of shape (n_samples,), optional
        Columns by which the report colours a map of the samples.
    vocabulary : Vocabulary, optional
        That of a :class:`rectifact.parts.documents.Corpus`, so that topics of further texts can be found.
    notes : dict of str to str, optional
        What the report should say, as in :class:`SavedModel`.
    spreads : array of shape (n_features,), optional
        What the columns of the data were divided by before the fit, so that new samples can be divided by it, too.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rectifact import DawidSkene, load_model, save_model
    >>> from rectifact.datasets import load_crowd
    >>> model = DawidSkene().fit(load_crowd("anaesthetists").answers)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.rfx")
    ...     again = load_model(f"{folder}/model.rfx")
    >>> bool((again.labels_ == model.labels_).all())
    True
    """
    if type(model) not in ESTIMATORS:
        raise InputError(f"{type(model).__name__} is not an estimator of rectifact, and cannot be saved.")
    check_is_fitted(model)
    if is_chunked(getattr(model, "probas_", None)):
        raise InputError(
            "The labels of this model are a Dask array, and cannot be saved in one file.",
            "Write model.result() to Parquet and keep model.worker_report(), or fit answers in one table.",
        )
    X = None if is_chunked(X) else _as_array(X)
    choice: Any = None if selection is None else _choice(selection)
    groups = None if groups is None else {name: _as_array(values) for name, values in groups.items()}
    names = _as_array(features), _as_array(samples)
    more = _as_array(texts), groups, vocabulary, notes, spreads
    saved = SavedModel(_bare(model), X, *names, image_shape, choice, *more)
    _check_image_shape(saved)
    write_archive(Path(path), saved, CLASSES)


def load_model(path: str | Path) -> Any:
    """Load a fitted model from a file that :func:`save_model` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    fitted estimator
    """
    saved = load_saved(path)
    _name_features(saved)
    return saved.model


def _name_features(saved: SavedModel) -> None:
    """Let the model know the columns it was fitted to by the command line, so that frames in another order are refused.

    Not those of topics and of files without names, whose samples come as matrices without names.
    """
    model, names = saved.model, saved.features
    if names is None or saved.vocabulary is not None or hasattr(model, "feature_names_in_"):
        return
    distinct = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if distinct and are_names(names, getattr(model, "n_features_in_", -1)):
        model.feature_names_in_ = np.asarray(names, dtype=object)


def load_saved(path: str | Path) -> SavedModel:
    """Load a fitted model together with what else was saved with it."""
    saved = read_archive(Path(path), CLASSES)
    if not isinstance(saved, SavedModel) or type(saved.model) not in ESTIMATORS:
        raise no_model(Path(path))
    if saved.vocabulary is not None and not isinstance(saved.vocabulary, Vocabulary):
        raise no_model(Path(path))
    try:
        check_is_fitted(saved.model)
    except NotFittedError as error:
        raise InputError(f"{str(path)!r} holds a model that is not fitted.", "Fit and save it again.") from error
    with reading(Path(path), "a model saved by rectifact"):
        check_loaded(saved)
    _check_image_shape(saved)
    if hasattr(saved.model, "_named_as_saved"):
        saved.model._named_as_saved(saved.samples, saved.features)
    return saved if saved.selection is None else replace(saved, selection=_selection(saved, Path(path)))


def _choice(selection: Selection) -> dict[str, Any]:
    """A selection as it is stored: without the model, which is there already, and with columns as arrays."""
    table = {name: selection.table[name].to_numpy(dtype=float) for name in TABLE}
    return {"table": table} | {name: getattr(selection, name) for name in ("best", "reason", "measure", "sure")}


def _selection(saved: SavedModel, path: Path) -> Selection:
    """The selection that :func:`_choice` stored; a made-up file may hold anything."""
    stored: Any = saved.selection
    try:
        table = pd.DataFrame({name: np.asarray(stored["table"][name], dtype=float) for name in TABLE})
        table = table.astype({"k": int})
        best, reason, measure = int(stored["best"]), str(stored["reason"]), str(stored["measure"])
        if best not in set(table["k"]):
            raise ValueError("the chosen number is not in the table")
    except (KeyError, TypeError, ValueError) as error:
        raise no_model(path) from error
    return Selection(table, best, reason, saved.model, measure, bool(stored.get("sure", True)))


def _bare(model: BaseEstimator) -> BaseEstimator:
    """A copy of the model without functions and random generators, and without an embedding that is a Dask array."""
    copy = object.__new__(type(model))
    copy.__dict__.update(vars(model))
    for name in FORGOTTEN:
        if hasattr(copy, name) and not isinstance(getattr(copy, name), str | Integral):
            setattr(copy, name, None)
    for name, default in ADDRESSES.items():
        if hasattr(copy, name):
            setattr(copy, name, default)
    if is_chunked(getattr(copy, "embedding_", None)):
        del copy.embedding_
    return copy


def _as_array(values: Any) -> Any:
    """Frames, series and indices as arrays; lists, arrays and sparse matrices unchanged."""
    if sp.issparse(values) or array_api_compat.is_array_api_obj(values) or not hasattr(values, "__array__"):
        return values
    return np.asarray(values)


def _check_image_shape(saved: SavedModel) -> None:
    shape = saved.image_shape
    if shape is None:
        return
    sides = list(shape) if isinstance(shape, tuple | list) else []
    if len(sides) != 2 or not all(isinstance(side, Integral) and side > 0 for side in sides):
        raise InputError(f"image_shape={shape!r} is not a height and a width.", "Give both, such as (28, 28).")
    of_data: tuple[int, ...] = getattr(saved.X, "shape", ())
    n_features = of_data[1] if len(of_data) == 2 else getattr(saved.model, "n_features_in_", None)
    if n_features is not None and shape[0] * shape[1] != n_features:
        raise InputError(
            f"image_shape={tuple(shape)} has {shape[0] * shape[1]} pixels, but a sample has {n_features} features."
        )
