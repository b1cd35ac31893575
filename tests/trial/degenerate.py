"""Matrices, graphs and crowds that are too small, too large, empty, constant, or of an odd type."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

SHAPES = ((0, 0), (0, 5), (5, 0), (1, 1), (1, 6), (6, 1), (2, 2), (3, 7), (12, 5), (30, 20))
VALUES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Any]] = {
    "zero": lambda rng, shape: np.zeros(shape),
    "one": lambda rng, shape: np.ones(shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "counts": lambda rng, shape: rng.poisson(1.0, shape).astype(float),
    "binary": lambda rng, shape: (rng.random(shape) < 0.3).astype(float),
    "signed": lambda rng, shape: rng.standard_normal(shape),
    "tiny": lambda rng, shape: rng.random(shape) * 1e-320,
    "small": lambda rng, shape: rng.random(shape) * 1e-200,
    "large": lambda rng, shape: rng.random(shape) * 1e155,
    "largest": lambda rng, shape: np.full(shape, np.finfo(float).max),
    "scales": lambda rng, shape: 10.0 ** rng.uniform(-300, 300, shape),
    "one cell": lambda rng, shape: _one(rng, shape, 1.0),
    "one nan": lambda rng, shape: _one(rng, shape, np.nan),
    "one inf": lambda rng, shape: _one(rng, shape, np.inf),
    "equal rows": lambda rng, shape: np.repeat(rng.random((1, shape[1])), shape[0], axis=0),
    "rank one": lambda rng, shape: np.outer(rng.random(shape[0]), rng.random(shape[1])),
}


def _one(rng: np.random.Generator, shape: tuple[int, int], value: float) -> Any:
    X = np.zeros(shape) if value == 1 else rng.random(shape)
    if X.size:
        X.flat[rng.integers(X.size)] = value
    return X


TYPES: dict[str, Callable[[Any], Any]] = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype("float32"),
    "float16": lambda X: X.astype("float16"),
    "int": lambda X: np.nan_to_num(X, nan=0, posinf=9, neginf=-9).clip(-1e9, 1e9).astype(int),
    "bool": lambda X: X > 0.5,
    "object": lambda X: X.astype(object),
    "text": lambda X: X.astype(str),
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "csr": sp.csr_array,
    "coo": sp.coo_matrix,
    "csc32": lambda X: sp.csc_array(X.astype("float32")),
    "fortran": np.asfortranarray,
    "three axes": lambda X: X[None],
    "one axis": lambda X: X.ravel(),
}


def matrix(rng: np.random.Generator) -> tuple[str, Any]:
    """A degenerate matrix, and what it is."""
    shape, value, kind = (things[rng.integers(len(things))] for things in (SHAPES, [*VALUES], [*TYPES]))
    with np.errstate(all="ignore"):
        return f"{value} {shape} as {kind}", TYPES[kind](VALUES[value](rng, shape))


def graph(rng: np.random.Generator) -> tuple[str, Any]:
    """A degenerate similarity matrix, most often symmetric."""
    n, value, kind = (
        things[rng.integers(len(things))]
        for things in ((0, 1, 2, 3, 8, 25), [*VALUES], ["float64", "csr", "float32", "list"])
    )
    with np.errstate(all="ignore"):
        S = VALUES[value](rng, (n, n))
        S = S if rng.random() < 0.1 else np.maximum(S, S.T)
        return f"{value} ({n}, {n}) as {kind}", TYPES[kind](S)


def crowd(rng: np.random.Generator) -> tuple[str, Any]:
    """A small crowd with odd names, repeated answers, weights, single classes or lonely workers."""
    n, tasks, workers, labels = (int(rng.integers(0, most)) for most in (30, 8, 6, 5))
    names = [
        [*range(9)],
        list("abcdefghi"),
        ["", " ", "nan", "None", "0", "0.0", "<b>", "é", "a" * 300],
        [0.5, np.nan, 1, 2, 3, 4, 5, 6, 7],
    ]
    of = [names[i] for i in rng.integers(len(names), size=3)]
    table = pd.DataFrame(
        {
            role: [of[i][rng.integers(most + 1)] for _ in range(n)]
            for i, (role, most) in enumerate((("task", tasks), ("worker", workers), ("label", labels)))
        }
    )
    if rng.random() < 0.3:
        table["weight"] = rng.choice([0.0, 1e-300, 1.0, 1e300], n) if rng.random() < 0.5 else rng.random(n)
    return f"{n} answers of {workers + 1} workers on {tasks + 1} tasks, {labels + 1} labels", table
