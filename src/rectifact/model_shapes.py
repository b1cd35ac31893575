"""What a saved model must hold: types and shapes of its attributes, checked before anything is made of them.

A file from elsewhere may hold anything. Each attribute has a kind and, if it is an array, names of its axes; an axis
of one name has one length in the whole model. ``?`` means that it may be None. Attributes that are not listed are only
read by code that checks them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

ARRAYS: dict[str, str] = {"float": "fiu", "finite": "fiu", "share": "f", "int": "iu", "name": "iufbUSOMmT"}
"""Kinds of arrays, and the types of numpy that they may have; ``finite`` ones hold neither NaN nor infinity, and
``share`` ones numbers from 0 to 1."""

ENDING = {"n_iter_": "count", "converged_": "flag", "stop_reason_": "text", "history_": "history", "resolved_": "dict"}
CROWD = ENDING | {
    "_named": "dict",
    "_answers": "Answers",
    "tasks_": "name tasks",
    "workers_": "name workers",
    "classes_": "name classes",
    "probas_": "share tasks classes",
    "labels_": "name tasks",
}
PARTS = ENDING | {
    "n_features_in_": "count",
    "components_": "finite parts features",
    "thresholds_": "finite parts",
    "reconstruction_err_": "number",
}
LATENT = ENDING | {
    "n_features_in_": "count",
    "components_": "finite parts features",
    "embedding_": "finite rows parts",
    "_ranges": "float two features",
    "_tops": "float three features",
}
GRAPH = ENDING | {
    "n_features_in_": "count",
    "components_": "finite nodes clusters",
    "membership_": "finite nodes clusters",
    "nodes_": "name nodes",
    "degrees_": "finite nodes",
    "component_labels_": "int nodes <nodes",
    "labels_": "int nodes <clusters",
    "affinity_matrix_": "graph nodes nodes",
    **dict.fromkeys(("relative_error_", "objective_", "projected_gradient_", "stationarity_"), "number"),
    **dict.fromkeys(("modularity_", "coverage_"), "number"),
}
SHAPES: dict[str, dict[str, str]] = {
    "DawidSkene": CROWD
    | {
        "_gold": "pair?",
        "_fitting": "Fitting",
        "_model": "CrowdModel",
        "priors_": "share classes",
        "confusions_": "share workers classes classes",
        "log_likelihood_": "number",
        "n_effective_": "number",
        "expected_grades_": "float tasks",
        "grade_intervals_": "name tasks two",
        "calibration_": "GoldCalibration",
    },
    **dict.fromkeys(("MajorityVote", "KOS", "GhoshSVD", "EigenRatio"), CROWD),
    "MinimaxEntropy": CROWD | {"confusions_": "share workers classes classes"},
    "ANDNMF": PARTS | {"_stream": "Stream?"},
    "PurificationNMF": PARTS | {"_state": "Purifier", "_n_seen": "count"},
    "NMD": LATENT | {"_unit": "number", "_prior": "Gaussian?", "scale_": "number"},
    "LogisticPCA": LATENT | {"_prior": "Gaussian?"},
    "SymNMF": GRAPH,
    "SymNMFNet": GRAPH | {"lambda_": "number", "diagnostics_": "dict"},
    "Answers": {
        "tasks": "name tasks",
        "workers": "name workers",
        "classes": "name classes",
        "task": "int answers <tasks",
        "worker": "int answers <workers",
        "label": "int answers <classes",
        "columns": "dict",
        "weight": "float? answers",
        "gold": "pair?",
        "source": "dict",
        "task_parts": "dict",
    },
    "CrowdModel": {
        "priors": "share classes",
        "confusions": "share workers classes classes",
        "posteriors": "share tasks classes",
        "counts": "finite workers classes classes",
        "log_priors": "float states",
        "log_confusions": "float workers classes states",
        "log_likelihood": "number",
        "objective": "number",
        "vote_weights": "float? workers",
        "retreat": "number",
        "ordinal": "flag",
    },
    "Fitting": {
        "model": "text",
        "smoothing": "number",
        "strength": "Strength",
        **dict.fromkeys(("vote_weights", "weights", "independence"), "float? workers"),
        "families": "int? workers",
        "n_subtypes": "count",
        "dispersion": "number",
        "retreat": "number",
        "ordinal": "flag",
    },
    "Strength": {"matrix": "number", "accuracy": "number"},
    "GoldCalibration": {"n_gold": "count", "held_out": "float gold classes", "truth": "name gold", "error": "number"},
    "GoldMap": {"power": "number", "shift": "float classes"},
    "MixedMap": {"maps": "tuple", "shares": "float maps", "decides": "count"},
    "Gaussian": {"mean": "finite parts", "covariance": "finite parts parts"},
    "Stream": {
        "H": "finite found features",  # fewer than parts, where the data has a lower rank
        "WtX": "finite found features",
        "WtW": "finite found found",
        "largest": "finite found",
        "threshold": "Threshold",
        "stage": "count",
        "power": "number",
    },
    "Threshold": {"noise": "number", "multiple": "number", "unit": "text"},
    "Constant": {"value": "number"},
    "Geometric": {"start": "number", "decay": "number", "floor": "number"},
    "Purifier": {"H": "finite parts features", "thresholds": "finite parts", "gain": "number", "n_steps": "count"},
}
"""Attributes of each class, with kind and axes."""

RESOLVED: dict[str, str] = {
    **dict.fromkeys(("link", "identify", "solver", "start"), "text"),
    **dict.fromkeys(("errors", "objectives"), "numbers"),
    **dict.fromkeys(("dispersion", "retreat", "shrinkage", "prior_matrix", "prior_accuracy", "noise"), "number?"),
    "columns": "dict",
    "families": "tuple",
}
"""What a fit decided: kinds of the entries of ``resolved_`` that are listed."""

NEEDED = {"NMD": ("link",), "DawidSkene": ("identify", "dispersion", "retreat"), "SymNMF": ("solver",)}
"""Entries that ``resolved_`` must have."""

ROUNDING = 1e-6

LARGEST = 2.0**63
"""Whole numbers that numpy does not hold are not numbers of ours."""

SCALARS: dict[str, Callable[[Any], bool]] = {
    "number": lambda value: isinstance(value, float | np.floating) or _is_number(value),  # infinite ones too
    "numbers": lambda value: isinstance(value, Mapping) and all(map(_is_number, value.values())),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "flag": lambda value: isinstance(value, bool | np.bool_),
    "text": lambda value: isinstance(value, str),
    "history": lambda value: isinstance(value, list) and all(map(_is_row, value)),
    "dict": lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value),
    "tuple": lambda value: isinstance(value, tuple | list),
    "pair": lambda value: _is_pair(value),
}


OPTIONAL = {"expected_grades_", "grade_intervals_", "calibration_", "embedding_", "n_effective_", "_ranges", "_tops"}
"""Attributes that a fitted model need not have."""


def _is_number(value: Any) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return False
    size: Any = abs(value)
    return bool(size < LARGEST)


def _is_row(row: Any) -> bool:
    """Whether it is a row of a history: an iteration and numbers."""
    numbers = isinstance(row, Mapping) and all(SCALARS["number"](value) for value in row.values())
    return numbers and SCALARS["count"](row.get("iter")) and {"loss", "seconds"} <= row.keys()


def check_loaded(saved: Any) -> None:
    """Refuse a model that is not what its class needs, and names beside it that are not lists of names."""
    check_shapes(saved.model)
    for name in ("features", "samples", "texts"):
        if getattr(saved, name) is not None:
            _check(name, np.asarray(getattr(saved, name)), f"name {name}", {})


def check_saved(saved: Any) -> None:
    """Refuse data beside a model that does not fit it; see :func:`check_shapes`."""
    check_shapes(saved.model)
    lengths: dict[str, int] = {}
    n_features = getattr(saved.model, "n_features_in_", None)
    if n_features is not None:
        lengths["features"] = int(n_features)
    if saved.X is not None:
        _check("X", saved.X, "matrix samples features", lengths)
        if np.dtype(saved.X.dtype).kind not in "fiub":
            raise ValueError(f"its X holds values of type {saved.X.dtype}")
    for name, axis in (("features", "features"), ("samples", "samples"), ("texts", "samples")):
        if getattr(saved, name) is not None:
            _check(name, np.asarray(getattr(saved, name)), f"name {axis}", lengths)
    if saved.spreads is not None:
        _check("spreads", saved.spreads, "finite features", lengths)
    if saved.notes is not None:
        _check("notes", saved.notes, "dict", lengths)
        for name, note in saved.notes.items():
            _check(f"note {name!r}", note, "text", lengths)
    if saved.groups is not None:
        _check("groups", saved.groups, "dict", lengths)
        for name, values in saved.groups.items():
            _check(f"column {name!r}", np.asarray(values), "name samples", lengths)


def check_shapes(model: Any) -> None:
    """Refuse a model whose attributes are not what its class needs.

    Raises
    ------
    ValueError
        With the name of the attribute.

    Examples
    --------
    >>> from rectifact import NMD
    >>> model = NMD(1).fit([[1.0, 0.0], [2.0, 1.0], [0.5, 0.0]])
    >>> check_shapes(model)
    >>> model.components_ = model.components_[:, :1]
    >>> check_shapes(model)
    Traceback (most recent call last):
    ValueError: its components_ should have 2 features, and has 1
    """
    lengths: dict[str, int] = {"two": 2, "three": 3}
    if hasattr(model, "n_features_in_") and isinstance(model.n_features_in_, Integral):
        lengths["features"] = int(model.n_features_in_)
    for part in _objects(model):
        if isinstance(part, BaseEstimator):
            _check_parameters(part)
        for name, what in SHAPES.get(type(part).__name__, {}).items():
            if hasattr(part, name):
                _check(name, getattr(part, name), what, lengths)
            elif name not in OPTIONAL:
                raise ValueError(f"its {type(part).__name__} has no {name}")
    _check_resolved(model)
    if hasattr(model, "classes_"):
        _check_labels(model.labels_, model.classes_)


def _check_labels(labels: Any, classes: Any) -> None:
    if labels.dtype.kind != classes.dtype.kind or not np.isin(labels, classes).all():
        raise ValueError("its labels_ are not all among its classes")


def _check_resolved(model: Any) -> None:
    """What a fit decided, as far as others read it."""
    resolved = getattr(model, "resolved_", {})
    for name in NEEDED.get(type(model).__name__, ()):
        if name not in resolved:
            raise ValueError(f"its resolved_ lacks {name!r}")
    for name, what in RESOLVED.items():
        if name in resolved:
            _check(f"resolved_[{name!r}]", resolved[name], what, {})


def _objects(model: Any) -> Iterable[Any]:
    """The model and all objects of listed classes in it, the inner ones first."""
    for value in _values(model):
        if type(value).__name__ in SHAPES:
            yield from _objects(value)
        elif isinstance(value, tuple):
            for part in value:
                if type(part).__name__ in SHAPES:
                    yield from _objects(part)
    yield model


def _values(model: Any) -> Iterable[Any]:
    """Attributes of an estimator, or fields of a record."""
    if isinstance(model, BaseEstimator):
        return list(vars(model).values())
    names = [field.name for field in fields(model)] if is_dataclass(model) else model._fields
    return [getattr(model, name) for name in names]


def _is_pair(value: Any) -> bool:
    """Two lists of one length, such as tasks and their gold labels."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    return all(isinstance(one, np.ndarray) and one.ndim == 1 for one in value) and len(value[0]) == len(value[1])


def _check_parameters(model: BaseEstimator) -> None:
    try:
        model._validate_params()
    except InvalidParameterError as error:
        raise ValueError(f"one of its parameters is not possible: {error}") from error


def _check(name: str, value: Any, what: str, lengths: dict[str, int]) -> None:
    kind, *axes = what.split()
    if kind.endswith("?") and value is None:
        return
    kind = kind.removesuffix("?")
    if kind in SCALARS:
        fits = SCALARS[kind](value)
    elif kind == "name" and isinstance(value, list):  # names of a graph's nodes may be of any kind
        fits, value = True, np.empty(len(value))
    elif kind in ARRAYS:
        fits = isinstance(value, np.ndarray) and value.dtype.kind in ARRAYS[kind]
        if fits and kind == "finite" and not np.isfinite(value).all():
            raise ValueError(f"its {name} holds values that are not finite")
        if (
            fits
            and kind == "share"
            and not (value.min(initial=0) >= -ROUNDING and value.max(initial=0) <= 1 + ROUNDING)
        ):
            raise ValueError(f"its {name} holds values that are not between 0 and 1")
    elif kind in ("matrix", "graph"):
        fits = sp.issparse(value) or isinstance(value, np.ndarray)
        weights = value.data if sp.issparse(value) else value
        fits = fits and (kind == "matrix" or weights.dtype.kind in ARRAYS["finite"])
        if fits and kind == "graph" and not np.isfinite(weights).all():
            raise ValueError(f"its {name} holds values that are not finite")
    else:
        fits = type(value).__name__ == kind
    if not fits:
        raise ValueError(f"its {name} is of another type: {type(value).__name__}")
    if axes:
        _check_axes(name, value, axes, lengths)


def _check_axes(name: str, value: Any, axes: list[str], lengths: dict[str, int]) -> None:
    below = [axis.removeprefix("<") for axis in axes if axis.startswith("<")]
    axes = [axis for axis in axes if not axis.startswith("<")]
    if value.ndim != len(axes):
        raise ValueError(f"its {name} has {value.ndim} axes instead of {len(axes)}")
    for axis, length in zip(axes, value.shape, strict=True):
        if lengths.setdefault(axis, length) != length:
            raise ValueError(f"its {name} should have {lengths[axis]} {axis}, and has {length}")
    for axis in below:
        if value.size and not (value.min() >= -1 and value.max() < lengths.get(axis, np.inf)):
            raise ValueError(f"its {name} numbers {axis} that it does not have")
