"""Parts, embedding and communities of an AnnData object, in the manner of scanpy's tools.

Each function reads a matrix or a graph from the object and writes its results into it: what belongs to the cells into
``obs`` and ``obsm``, what belongs to the genes into ``varm``, and parameters and figures into ``uns``. Matrices that
are backed by a file or by Dask stay where they are, and are read in blocks of rows. The file has over 350
lines because more than a third of them document the three functions.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact import __version__
from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError, InputTypeError, missing_extra
from rectifact.core.operand import is_chunked, operand
from rectifact.graph import SymNMF
from rectifact.latent import NMD
from rectifact.parts import ANDNMF
from rectifact.selection import select

__all__ = ["cluster", "embed", "parts"]

BLOCK = 64 << 20
"""Bytes of a block of rows of a backed matrix; what has no more is read at once."""

Number = int | Sequence[int] | str


def parts(
    adata: Any,
    n_components: Number = 20,
    *,
    layer: str | None = None,
    mask_var: str | Sequence[bool] | None = None,
    key_added: str = "parts",
    random_state: Any = 0,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Parts, such as gene programmes, and their weights in each cell, by :class:`rectifact.ANDNMF`.

    .. versionadded:: 0.2

    Parameters
    ----------
    adata : AnnData
        Counts or normalised counts, in memory, backed by a file, or backed by Dask.
    n_components : int, sequence of int or "auto", default 20
        Number of parts; several or ``"auto"`` choose one from the data with :func:`rectifact.selection.select`.
    layer : str or None, default None
        Layer to use instead of ``X``.
    mask_var : str, sequence of bool or None, default None
        Which genes to use: a column of ``var`` such as ``"highly_variable"``, or a mask. The parts have NaN for the
        others.
    key_added : str, default "parts"
        Name of the results.
    random_state : int, Generator, RandomState or None, default 0
    copy : bool, default False
        Whether to return a copy with the results, and to leave ``adata`` as it is.
    **options
        Further parameters of :class:`rectifact.ANDNMF`.

    Returns
    -------
    AnnData or None
        The copy, or None. What is added:

        - ``obsm["X_parts"]``: weights of shape (n_obs, n_components);
        - ``varm["parts"]``: parts of shape (n_vars, n_components);
        - ``uns["parts"]``: ``params``, ``version``, ``iterations``, ``converged``, and ``reason`` of the number if it
          was chosen.

    Examples
    --------
    >>> import anndata, rectifact.anndata
    >>> from rectifact.datasets import make_topics
    >>> adata = anndata.AnnData(make_topics(n_samples=200, n_features=30, n_topics=3).X)
    >>> rectifact.anndata.parts(adata, 3)
    >>> adata.obsm["X_parts"].shape, adata.varm["parts"].shape
    ((200, 3), (30, 3))
    """
    adata, X, some = _opened(adata, copy, layer, mask_var)
    params = {"layer": layer, "mask_var": mask_var, "random_state": random_state}
    model, found = _fitted(ANDNMF, "n_components", n_components, X, random_state, options)
    adata.obsm[f"X_{key_added}"] = _gathered(model.transform(X))
    adata.varm[key_added] = _of_all_genes(adata, model.components_, some)
    adata.uns[key_added] = _facts(model, params | options | {"n_components": model.n_components}, found)
    return adata if copy else None


def embed(
    adata: Any,
    n_components: Number = 20,
    *,
    layer: str | None = None,
    mask_var: str | Sequence[bool] | None = None,
    key_added: str = "nmd",
    random_state: Any = 0,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Embedding of sparse non-negative data in a few dimensions, by :class:`rectifact.NMD`.

    Positions can be used in place of principal components: ``sc.pp.neighbors(adata, use_rep="X_nmd_positions")``.

    .. versionadded:: 0.2

    Parameters
    ----------
    adata : AnnData
        Counts or normalised counts that are not centred, in memory, backed by a file, or backed by Dask.
    n_components : int, sequence of int or "auto", default 20
        Number of dimensions; several or ``"auto"`` choose one from the data.
    layer, mask_var, random_state, copy
        As in :func:`parts`.
    key_added : str, default "nmd"
        Name of the results.
    **options
        Further parameters of :class:`rectifact.NMD`.

    Returns
    -------
    AnnData or None
        The copy, or None. What is added: ``obsm["X_nmd"]``, the embedding of shape (n_obs, n_components);
        ``obsm["X_nmd_positions"]``, coordinates for distances (:meth:`rectifact.NMD.positions`), if X is in memory;
        ``varm["nmd"]``, the components of shape (n_vars, n_components); and ``uns["nmd"]`` as in :func:`parts`, with
        ``scale`` of the noise.
    """
    adata, X, some = _opened(adata, copy, layer, mask_var)
    params = {"layer": layer, "mask_var": mask_var, "random_state": random_state}
    try:
        model, found = _fitted(NMD, "n_components", n_components, X, random_state, options)
    except InputError as error:
        if "Negative values" not in error.what:
            raise
        raise InputError(error.what, "Name a layer that is not centred, such as layer='counts'.") from error
    adata.obsm[f"X_{key_added}"] = _gathered(model.embedding_)
    if not is_chunked(X):
        adata.obsm[f"X_{key_added}_positions"] = model.positions(X)
    adata.varm[key_added] = _of_all_genes(adata, model.components_, some)
    params |= options | {"n_components": model.n_components}
    adata.uns[key_added] = _facts(model, params, found) | {"scale": float(model.scale_)}
    return adata if copy else None


def cluster(
    adata: Any,
    n_clusters: Number,
    *,
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str = "symnmf",
    random_state: Any = 0,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Communities of the graph of neighbours, and how far each cell belongs to each, by :class:`rectifact.SymNMF`.

    The graph is that of ``sc.pp.neighbors``, as for ``sc.tl.leiden``. Where there is none, or where ``use_rep`` or
    ``layer`` is given, cells are connected with their nearest neighbours first: in ``obsm["X_pca"]`` if it is there,
    and else in ``X``.

    .. versionadded:: 0.2

    Parameters
    ----------
    adata : AnnData
    n_clusters : int, sequence of int or "auto"
        Number of communities; several or ``"auto"`` choose one from the data.
    neighbors_key : str or None, default None
        Name of the result of ``sc.pp.neighbors``; None is ``"neighbors"``.
    obsp : str or None, default None
        A graph in ``obsp`` instead.
    use_rep : str or None, default None
        Points in ``obsm``, or ``"X"``, instead of a graph.
    layer : str or None, default None
        Points in a layer instead of a graph.
    key_added : str, default "symnmf"
        Name of the results.
    random_state, copy
        As in :func:`parts`.
    **options
        Further parameters of :class:`rectifact.SymNMF`.

    Returns
    -------
    AnnData or None
        The copy, or None. What is added:

        - ``obs["symnmf"]``: categories ``"0"``, ``"1"`` and so on, the largest community first; NaN for cells in none;
        - ``obsm["X_symnmf"]``: memberships of shape (n_obs, n_clusters);
        - ``uns["symnmf"]``: as in :func:`parts`, with the ``modularity``.

    Examples
    --------
    >>> import anndata, rectifact.anndata
    >>> from rectifact.datasets import make_block_model
    >>> adata = anndata.AnnData(shape=(200, 0))
    >>> adata.obsp["connectivities"] = make_block_model(200, 3, degree=20, mixing=0.1).adjacency
    >>> rectifact.anndata.cluster(adata, 3)
    >>> list(adata.obs["symnmf"].cat.categories)
    ['0', '1', '2']
    """
    adata = _checked(adata, copy)
    X, source = _graph_or_points(adata, neighbors_key, obsp, use_rep, layer)
    options |= {"affinity": "precomputed" if source.startswith("obsp") else "knn"}
    model, found = _fitted(SymNMF, "n_clusters", n_clusters, X, random_state, options)
    labels, membership = to_host(model.labels_), np.asarray(to_host(model.membership_))
    sizes = np.bincount(labels[labels >= 0], minlength=model.n_clusters)
    order = np.argsort(-sizes, kind="stable")
    place = np.append(np.argsort(order), -1)  # the last is for cells in no community
    names = pd.Index([str(k) for k in range(model.n_clusters)])
    adata.obs[key_added] = pd.Categorical.from_codes(place[labels], categories=names)
    adata.obsm[f"X_{key_added}"] = membership[:, order]
    params = options | {"source": source, "random_state": random_state, "n_clusters": model.n_clusters}
    adata.uns[key_added] = _facts(model, params, found) | {"modularity": float(model.modularity_)}
    return adata if copy else None


def _checked(adata: Any, copy: bool) -> Any:
    """The object to write to."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError(str(missing_extra("rectifact.anndata", "anndata", "anndata"))) from error
    if not isinstance(adata, AnnData):
        what = f"adata must be an AnnData object; got {type(adata).__name__}."
        raise InputTypeError(what, "Make one: anndata.AnnData(X).")
    if copy and adata.isbacked:
        raise InputError("A backed object cannot be copied.", "Leave copy=True out, or use adata.to_memory().")
    return adata.copy() if copy else adata


def _opened(adata: Any, copy: bool, layer: str | None, mask_var: Any) -> tuple[Any, Any, Any]:
    """The object to write to, its matrix as estimators take it, and which genes are in it."""
    adata = _checked(adata, copy)
    some = _genes(adata, mask_var)
    return adata, _rows(_matrix(adata, layer), some), some


def _matrix(adata: Any, layer: str | None) -> Any:
    if layer is not None:
        return _entry(adata, "layers", layer)
    if adata.X is None:
        there = list(adata.layers)
        raise InputError("adata has no X.", f"Name a layer: one of {there}." if there else "Set adata.X first.")
    return adata.X


def _entry(adata: Any, where: str, name: str) -> Any:
    """An entry of ``layers``, ``obsm`` or ``obsp``."""
    there = getattr(adata, where)
    if name not in there:
        raise InputError(f"There is no {name!r} in adata.{where}, which has {list(there)}.", "Check the spelling.")
    return there[name]


def _genes(adata: Any, mask_var: Any) -> Any:
    """Numbers of the genes to use; None for all."""
    if mask_var is None:
        return None
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            what = f"There is no {mask_var!r} in adata.var, which has {list(adata.var)}."
            raise InputError(what, "Check the spelling, or run sc.pp.highly_variable_genes for 'highly_variable'.")
        mask_var = adata.var[mask_var]
    mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        what = f"mask_var must be true or false for each of {adata.n_vars} genes."
        raise InputError(what, "Give a column of var, or an array of bool.")
    if not mask.any():
        raise InputError("mask_var leaves no gene.", "Choose others.")
    return None if mask.all() else np.flatnonzero(mask)


def _rows(X: Any, some: Any) -> Any:
    """The matrix with some of its columns: in memory, or a Dask array of blocks of rows."""
    if is_chunked(X):
        X = X if some is None else X[:, some]
        return X.rechunk({0: "auto", 1: -1}) if X.numblocks[1] > 1 else X
    if getattr(X, "format", "") == "csc" and hasattr(X, "to_memory"):
        X = X.to_memory()  # its rows are spread over the file
    if not _is_backed(X):
        return X if some is None else X[:, some]
    n, d = X.shape
    size = np.dtype(X.dtype).itemsize * n * d
    n_blocks = max(1, -(-size // BLOCK))
    if n_blocks == 1:
        return _block(X, 0, n, some)
    try:
        import dask
        import dask.array as da
    except ImportError as error:
        what = "A backed matrix of this size"
        raise ImportError(str(missing_extra(what, "Dask", "dask", "or use adata.to_memory()"))) from error
    edges = np.linspace(0, n, n_blocks + 1).astype(int)
    width = d if some is None else len(some)
    read = dask.delayed(_block, pure=False, traverse=False)
    blocks = [
        da.from_delayed(read(X, int(first), int(last), some), (int(last - first), width), X.dtype, np.empty((0, 0)))
        for first, last in pairwise(edges)
        if last > first
    ]
    return da.concatenate(blocks)


def _is_backed(X: Any) -> bool:
    """Whether a matrix is in a file: a dense one of h5py or zarr, or a sparse one of anndata."""
    return type(X).__module__.split(".")[0] in ("h5py", "zarr") or hasattr(X, "to_memory")


def _block(X: Any, first: int, last: int, some: Any) -> Any:
    """Rows of a backed matrix, read from its file."""
    if getattr(X, "format", "") == "csr":
        group, shape = X.group, (last - first, X.shape[1])
        places = group["indptr"][first : last + 1]
        entries = slice(int(places[0]), int(places[-1]))
        rows = sp.csr_array((group["data"][entries], group["indices"][entries], places - places[0]), shape=shape)
    else:
        rows = X[first:last]
    return rows if some is None else rows[:, some]


def _graph_or_points(
    adata: Any, neighbors_key: str | None, obsp: str | None, use_rep: str | None, layer: str | None
) -> tuple[Any, str]:
    """A graph or points, and where they are from."""
    graph = {"neighbors_key": neighbors_key, "obsp": obsp}
    given = [name for name, value in (graph | {"use_rep": use_rep, "layer": layer}).items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are mutually exclusive.", "Leave all but one out.")
    if layer is not None:
        return _rows(_matrix(adata, layer), None), f"layers[{layer!r}]"
    if use_rep is not None:
        return (_rows(_matrix(adata, None), None), "X") if use_rep == "X" else _points(adata, use_rep)
    if obsp is None:
        key = "neighbors" if neighbors_key is None else neighbors_key
        obsp = adata.uns.get(key, {}).get("connectivities_key", "connectivities" if neighbors_key is None else None)
        if obsp is None:
            there = [name for name, value in adata.uns.items() if "connectivities_key" in (value or ())]
            what = f"There is no {neighbors_key!r} in adata.uns with a graph of neighbours, which has {there}."
            raise InputError(what, f"Run sc.pp.neighbors(adata, key_added={neighbors_key!r}) first.")
        if obsp not in adata.obsp and neighbors_key is None:
            return _points(adata, "X_pca") if "X_pca" in adata.obsm else (_rows(_matrix(adata, None), None), "X")
    return _entry(adata, "obsp", obsp), f"obsp[{obsp!r}]"


def _points(adata: Any, name: str) -> tuple[Any, str]:
    return np.asarray(_entry(adata, "obsm", name)), f"obsm[{name!r}]"


def _fitted(
    kind: Any, parameter: str, number: Number, X: Any, random_state: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """A fitted model with the number given, or with the best one; and why it is the best."""
    unknown = options.keys() - kind().get_params().keys()
    if unknown:
        what = f"{', '.join(sorted(unknown))} {'is' if len(unknown) == 1 else 'are'} not among the parameters of"
        raise InputTypeError(f"{what} {kind.__name__}.", f"See help(rectifact.{kind.__name__}).")
    model = kind(random_state=random_state, **options)
    if not isinstance(number, str | Sequence | np.ndarray):
        return model.set_params(**{parameter: number}).fit(X), {}
    chosen = select(model, X, number, random_state=random_state)
    return chosen.estimator, {"reason": chosen.reason}


def _gathered(rows: Any) -> Any:
    """A tall result in memory, as numpy array."""
    return np.asarray(to_host(operand(rows).gather(rows)))


def _of_all_genes(adata: Any, components: Any, some: Any) -> Any:
    """Components with one row for each gene, NaN for those that were not used."""
    used = np.asarray(to_host(components)).T
    if some is None:
        return used
    H = np.full((adata.n_vars, used.shape[1]), np.nan, dtype=used.dtype)
    H[some] = used
    return H


def _facts(model: Any, params: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What is written to ``uns``: values that can be saved in a file."""
    plain = {name: value for name, value in params.items() if isinstance(value, str | int | float | bool)}
    run = {"iterations": int(model.n_iter_), "converged": bool(model.converged_)}
    return {"params": plain, "version": __version__} | run | found
