"""NMD of dask arrays: chunks of rows stay on the workers, with the rows of A that belong to them.

What travels in a sweep is B to the workers, and the sums ``A'Z`` and ``A'A`` back, of the size of B. The work of a
chunk is the same function as on one machine.
"""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from rectifact.core.arrays import Array
from rectifact.core.lazy import evaluate, opened, over_chunks, persist, rows, summed, total
from rectifact.core.linalg import MOST_GRAM_FEATURES, merge_roots, root

__all__ = ["embed_chunks", "filled_factors", "lazy_root", "on_chunks", "sweep_chunks"]

ONE_AT_A_TIME = Lock()
"""Newton's method has threads of its own, which threads of dask in the same process must not enter together."""


def on_chunks(function: Callable[..., Any], X: Array, *arguments: Any) -> Array:
    """``function(chunk, *arguments)`` for each chunk, which keeps its shape."""
    return X.map_blocks(function, *arguments, dtype=X.dtype, meta=np.empty((0, 0), dtype=X.dtype))


def sweep_chunks(step: Callable[..., Any], X: Array, A: Array, *small: Any) -> tuple[Array, Array, Array, Array]:
    """A sweep, ``step(X, A, *small)`` by chunk: the new rows of A, which stay, and the sums A'Z, A'A and of the terms.

    All is one submission. Rows of A that a lost worker has taken with it are made again from where they came from.
    """
    boxes = over_chunks(partial(_with_gram, step), X, A, small=small)
    new = rows(boxes, A, A.shape[1], A.dtype)
    new, sums = persist(new, total(boxes.map_blocks(_rest, dtype=object, meta=np.empty((0, 0), dtype=object))))
    products, gram, terms = opened(evaluate(sums)[0])
    return new, products, gram, terms


def _with_gram(step: Callable[..., Any], X: Any, A: Any, *small: Any) -> tuple[Any, ...]:
    new, products, terms = step(X, A, *small)
    return new, products, new.T @ new, terms


def _rest(box: NDArray[Any]) -> NDArray[Any]:
    rest = np.empty((1, 1), dtype=object)
    rest[0, 0] = box.item()[1:]
    return rest


def lazy_root(A: Array) -> NDArray[Any]:
    """Triangular R with ``R'R = A'A``, by QR of the chunks and of what they leave."""
    (R,) = summed(_root, A, combine=_merge)
    return R


def _root(A: NDArray[Any]) -> tuple[NDArray[Any]]:
    return (root(A),)


def _merge(one: Any, other: Any) -> Any:
    return (merge_roots(one[0], other[0]),)


def embed_chunks(embed: Callable[..., Any], X: Array, B: Array, *small: Any) -> tuple[Array, Array]:
    """Lazy embedding and log-likelihoods of the rows, ``embed(X, B, *small)`` by chunk."""
    boxes = over_chunks(partial(_alone, embed), X, small=(B, *small))
    return rows(boxes, X, B.shape[0], B.dtype), rows(boxes, X, None, np.float64, place=1)


def _alone(embed: Callable[..., Any], *arguments: Any) -> Any:
    with ONE_AT_A_TIME:
        return embed(*arguments)


def filled_factors(
    fill: Callable[..., sp.csr_array], X: Array, below: float, rank: int, seed: int
) -> tuple[Array, NDArray[Any]]:
    """Leading factors A, lazy and kept, and B of the matrix ``fill(X) + below``, which is never made dense.

    With few features through the Gram matrix in one computation, else one computation for each step of Lanczos.
    """
    d = X.shape[1]
    if d <= MOST_GRAM_FEATURES:
        gram, sums = summed(partial(_filled_gram, fill), X)
        shift = below * np.add.outer(sums, sums) + below**2 * X.shape[0]
        values, vectors = np.linalg.eigh(gram + shift)
    else:
        product = partial(_filled_product, fill, below)
        operator = LinearOperator((d, d), matvec=lambda v: summed(product, X, v.ravel())[0], dtype=np.float64)
        values, vectors = eigsh(operator, k=rank, v0=np.random.default_rng(seed).standard_normal(d), tol=1e-10)
    order = np.argsort(-values)[:rank]
    scale, V = np.maximum(values[order], 0) ** 0.25, vectors[:, order]
    inverse = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1), 0)
    boxes = over_chunks(partial(_filled_rows, fill, below), X, small=(V * inverse, X.dtype))
    (A,) = persist(rows(boxes, X, rank, X.dtype))
    return A, np.ascontiguousarray((V * scale).T, dtype=X.dtype)


def _filled_gram(fill: Callable[..., sp.csr_array], X: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    S = fill(X)
    return (S.T @ S).toarray(), np.asarray(S.sum(axis=0)).ravel()


def _filled_product(
    fill: Callable[..., sp.csr_array], below: float, X: sp.csr_array, v: NDArray[Any]
) -> tuple[NDArray[Any]]:
    S = fill(X)
    u = S @ v + below * v.sum()
    return (S.T @ u + below * u.sum(),)


def _filled_rows(
    fill: Callable[..., sp.csr_array], below: float, X: sp.csr_array, M: NDArray[Any], dtype: Any
) -> tuple[NDArray[Any]]:
    return (np.ascontiguousarray(fill(X) @ M + below * M.sum(axis=0), dtype=dtype),)
