"""Counts of genes in cells: the folders that 10x Genomics writes, and AnnData files."""

import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.errors import InputError, missing_extra
from rectifact.io.files import reading
from rectifact.io.matrix_market import read_matrix_market
from rectifact.io.text import open_bytes, read_text

Named = tuple[Any, NDArray[np.str_], NDArray[np.str_]]


def holds_10x(folder: Path) -> bool:
    """Whether it is a folder with matrix.mtx, compressed or not."""
    return folder.is_dir() and _member(folder, "matrix.mtx") is not None


def has_barcodes(folder: Path) -> bool:
    """Whether it is a folder that :func:`read_10x` reads, with names of cells and genes."""
    return holds_10x(folder) and all(
        _member(folder, *names) for names in (("barcodes.tsv",), ("features.tsv", "genes.tsv"))
    )


def _member(folder: Path, *names: str) -> Path | None:
    found = [folder / f"{name}{end}" for name in names for end in ("", ".gz")]
    return next((path for path in found if path.is_file()), None)


def read_10x(folder: Path) -> Named:
    """Cells by genes, barcodes and genes, from matrix.mtx, barcodes.tsv and features.tsv (genes.tsv in old files).

    Genes are called by their symbols; where two share one, by symbol and identifier.

    Parameters
    ----------
    folder : Path
        The files may be compressed with gzip.

    Returns
    -------
    X : coo_array of shape (n_cells, n_genes)
    cells, genes : array of str
    """
    paths = [_member(folder, *names) for names in (("matrix.mtx",), ("barcodes.tsv",), ("features.tsv", "genes.tsv"))]
    for path, name in zip(paths, ("matrix.mtx", "barcodes.tsv", "features.tsv"), strict=True):
        if path is None:
            raise InputError(f"The folder {str(folder)!r} has no {name}, nor {name}.gz.", "Copy it there.")
    matrix, barcodes, features = (path for path in paths if path is not None)
    with reading(matrix, "Matrix Market"):
        X = sp.coo_array(read_matrix_market(matrix))
    cells = [row[0] for row in _rows(barcodes)]
    genes = _gene_names(_rows(features))
    if X.shape != (len(genes), len(cells)):
        raise InputError(
            f"The matrix in {str(folder)!r} is {X.shape[0]} by {X.shape[1]}, with {len(genes)} features and "
            f"{len(cells)} barcodes.",
            "Copy all three files from the same run.",
        )
    return X.T, np.array(cells, dtype=np.str_), np.array(genes, dtype=np.str_)


def _rows(path: Path) -> list[list[str]]:
    with reading(path, "TSV"):
        return [line.split("\t") for line in read_text(path).splitlines() if line.strip()]


def _gene_names(rows: list[list[str]]) -> list[str]:
    symbols = [row[1] if len(row) > 1 else row[0] for row in rows]
    times = Counter(symbols)
    pairs = zip(symbols, rows, strict=True)
    return [symbol if times[symbol] == 1 else f"{symbol} ({row[0]})" for symbol, row in pairs]


def read_anndata(path: Path, layer: str | None = None) -> Named:
    """Cells by genes, and their names, from an AnnData file.

    Parameters
    ----------
    path : Path
        ``.h5ad``.
    layer : str or None, default None
        Which layer to take in place of X.

    Returns
    -------
    X : array or sparse matrix of shape (n_obs, n_vars)
    obs_names, var_names : array of str
    """
    if find_spec("anndata") is None:
        raise missing_extra("Reading an AnnData file", "anndata", "anndata")
    with reading(path, "AnnData"), open_bytes(path) as file:
        if file.read(4) != b"\x89HDF":
            raise ValueError("it is not an HDF5 file")
    with reading(path, "AnnData"), warnings.catch_warnings(action="ignore"):  # its own, about pandas and old files
        from anndata import read_h5ad

        data = read_h5ad(path)
        X = data.X if layer is None else data.layers[layer]
    if X is None:
        raise InputError(f"{str(path)!r} has no X, only {', '.join(data.layers) or 'annotations'}.", "Set X first.")
    return X, np.array(data.obs_names, dtype=np.str_), np.array(data.var_names, dtype=np.str_)
