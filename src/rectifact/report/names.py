"""Names of samples and features for people, and images in grey."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import to_host
from rectifact.models import SavedModel

__all__ = ["as_floats", "feature_names", "grey", "sample_names"]


def feature_names(saved: SavedModel, n: int) -> NDArray[Any]:
    """Names that were saved or that the estimator saw, or numbers from 1."""
    given = saved.features if saved.features is not None else getattr(saved.model, "feature_names_in_", None)
    return _or_numbers(given, n)


def sample_names(saved: SavedModel, n: int) -> NDArray[Any]:
    """Names that were saved, or numbers from 1."""
    return _or_numbers(saved.samples, n)


def _or_numbers(names: Any, n: int) -> NDArray[Any]:
    if names is None or len(names) != n:
        return np.arange(1, n + 1).astype(str)
    return np.asarray([str(name) for name in names], dtype=object)


def as_floats(X: Any) -> Any:
    """Data in double precision, a dense or a CSR array, whatever it came as: sums of squares need it."""
    return sp.csr_array(X, dtype=float) if sp.issparse(X) else np.asarray(to_host(X), dtype=float)


def grey(image: NDArray[Any]) -> NDArray[Any]:
    """An image between 0 and 1; one with negative pixels is centred, so that 0 is middle grey."""
    largest = float(np.abs(image).max()) or 1.0
    return image / largest if image.min() >= 0 else 0.5 + 0.5 * image / largest
