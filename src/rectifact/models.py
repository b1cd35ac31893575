"""Fitted models in files: arrays and JSON, no pickle, so that a file from elsewhere can be opened without fear."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rectifact.core.archive import read_archive, write_archive
from rectifact.core.rectify import Constant, Geometric
from rectifact.core.validation import InputError
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
from rectifact.crowd.answers import Answers
from rectifact.crowd.em import CrowdModel
from rectifact.crowd.fitting import Fitting
from rectifact.graph import SymNMF, SymNMFNet
from rectifact.latent import NMD, LogisticPCA
from rectifact.parts import ANDNMF, PurificationNMF
from rectifact.parts.and_estimator import Stream
from rectifact.parts.and_nmf import Threshold
from rectifact.parts.purification import Purifier

__all__ = ["SavedModel", "load_model", "load_saved", "save_model"]

ESTIMATORS: tuple[type, ...] = (
    *(DawidSkene, MajorityVote, MinimaxEntropy, KOS, GhoshSVD, EigenRatio),
    *(ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF, SymNMFNet),
)
INSIDE: tuple[type, ...] = (Answers, CrowdModel, Fitting, Stream, Threshold, Purifier, Constant, Geometric)
FORGOTTEN = ("callbacks", "regularizer")
"""Parameters that may hold functions, which are not saved."""


@dataclass(frozen=True)
class SavedModel:
    """A fitted model and what it was fitted on, as far as it was saved.

    Attributes
    ----------
    model : fitted estimator
    X : data, or None
    features, samples : names of its columns and rows, or None
    image_shape : height and width where rows are images, or None
    """

    model: Any
    X: Any = None
    features: Any = None
    samples: Any = None
    image_shape: tuple[int, int] | None = None


CLASSES: dict[str, type] = {kind.__name__: kind for kind in (*ESTIMATORS, *INSIDE, SavedModel)}


def save_model(
    model: Any,
    path: str | Path,
    *,
    X: Any = None,
    features: Any = None,
    samples: Any = None,
    image_shape: tuple[int, int] | None = None,
) -> None:
    """Save a fitted model in one file, by convention ``.rfx``.

    Functions (callbacks, a regularizer of your own) are left out. With ``X`` and names, ``rectifact report`` can also
    show samples, residuals and reconstructions.

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
        raise InputError(f"{type(model).__name__} is no estimator of rectifact, and cannot be saved.")
    check_is_fitted(model)
    write_archive(Path(path), SavedModel(_bare(model), X, features, samples, image_shape), CLASSES)


def load_model(path: str | Path) -> Any:
    """The fitted model in a file that :func:`save_model` wrote."""
    return load_saved(path).model


def load_saved(path: str | Path) -> SavedModel:
    """The fitted model with what else was saved beside it."""
    saved = read_archive(Path(path), CLASSES)
    if not isinstance(saved, SavedModel) or type(saved.model) not in ESTIMATORS:
        raise InputError(f"{str(path)!r} holds no model. Save one with save_model or --save.")
    return saved


def _bare(model: BaseEstimator) -> BaseEstimator:
    """A copy of the model without functions."""
    copy = object.__new__(type(model))
    copy.__dict__.update(vars(model))
    for name in FORGOTTEN:
        if hasattr(copy, name) and not isinstance(getattr(copy, name), str):
            setattr(copy, name, None)
    return copy
