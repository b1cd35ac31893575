"""The data behind parts or topics in a report: weights, residuals, shares and coherence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.metrics import npmi_coherence
from rectifact.models import SavedModel
from rectifact.parts.topics import document_shares, documents_by_topic, relative_residuals, residual_norms
from rectifact.report.names import as_floats

FEW_NONZEROS = 0.5
"""Share of nonzeros up to which the coherence of parts says something: in dense data all features occur together."""


@dataclass(frozen=True)
class Fit:
    """The data behind the parts, as given and with gaps filled in; weights, residuals, shares, coherence.

    ``relative`` are residuals by the norms of the samples. ``documents`` are the numbers of samples of which each part
    is clearly the largest.
    """

    given: Any
    X: Any
    W: NDArray[Any]
    residual: NDArray[Any]
    relative: NDArray[Any]
    share: NDArray[Any]
    coherence: NDArray[Any] | None
    documents: NDArray[Any]

    @property
    def explained(self) -> float:
        """Share of the squared norm of the data, without gaps, that the parts explain."""
        squares = np.nansum((self.given.data if sp.issparse(self.given) else self.given) ** 2)
        return float(1 - (self.residual**2).sum() / max(squares, 1e-300))


def fit_of(saved: SavedModel) -> Fit:
    """What the parts make of the data that was saved with them."""
    model, given = saved.model, as_floats(saved.X)
    W, H = np.asarray(model.transform(given), dtype=float), np.asarray(model.components_, dtype=float)
    gaps = getattr(model, "missing", None) is not None
    X = np.where(np.isnan(given), model.inverse_transform(W), given) if gaps else given
    residual, relative = residual_norms(model, X, W), relative_residuals(model, X, W)
    size = W.sum(axis=0) * np.abs(H).sum(axis=1)
    entries = X.nnz if sp.issparse(X) else np.count_nonzero(X)
    sparse = entries <= FEW_NONZEROS * X.shape[0] * X.shape[1] and not is_signed(saved)
    share, coherence = size / max(size.sum(), 1e-300), npmi_coherence(H, X) if sparse else None
    documents = documents_by_topic(document_shares(W, H), relative)
    return Fit(given, X, W, residual, relative, share, coherence, documents)


def is_signed(saved: SavedModel) -> bool:
    """Whether negative coefficients mean something: they do not in counts of words, nor in other non-negative data."""
    if saved.texts is not None:
        return False
    return saved.model.resolved_.get("normalize", "l2") == "l2" and bool(np.min(saved.model.components_) < 0)
