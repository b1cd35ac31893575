"""rectifact.anndata on planted data: in memory, backed by a file, and backed by Dask."""

import doctest
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import rectifact.anndata
from rectifact import ANDNMF, NMD, InputError, SymNMF
from rectifact.datasets import make_block_model
from rectifact.metrics import cluster_accuracy, part_errors

PROGRAMMES = np.kron(np.eye(3), np.linspace(1, 2, 8)) + 0.05
WEIGHTS = np.random.default_rng(0).gamma(1.0, 4.0, (150, 3)) * (np.random.default_rng(1).random((150, 3)) < 0.5)
COUNTS = np.random.default_rng(2).poisson(WEIGHTS @ PROGRAMMES + 0.02).astype(np.float32)
GRAPH = make_block_model(150, 3, degree=20, mixing=0.1)


def test_a_missing_package_is_one_sentence(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"^rectifact\.anndata needs anndata\. Install it from a clone"):
        rectifact.anndata.parts(None)


@pytest.fixture
def anndata() -> Any:
    return pytest.importorskip("anndata")


FORMS = ["dense", "csr", "layer", "backed dense", "backed csr", "backed csc", "dask", "dask csr"]


@pytest.fixture(params=FORMS)
def cells(request: Any, anndata: Any, tmp_path: Path, monkeypatch: Any) -> tuple[Any, dict[str, Any]]:
    """The same counts in different forms, and the options to read them with."""
    form, X = request.param, COUNTS
    if "csr" in form or "csc" in form:
        X = sp.csr_matrix(X) if "csr" in form else sp.csc_matrix(X)
    if "dask" in form:
        X = pytest.importorskip("dask.array").from_array(X if "csr" in form else COUNTS, chunks=(50, 8))
    names = {"obs": pd.DataFrame(index=pd.Index([f"cell{i}" for i in range(150)], dtype=object))}
    names |= {"var": pd.DataFrame(index=pd.Index([f"gene{i}" for i in range(24)], dtype=object))}
    adata = anndata.AnnData(None if form == "layer" else X, shape=(150, 24) if form == "layer" else None, **names)
    if form == "layer":
        adata.layers["counts"] = X
        return adata, {"layer": "counts"}
    if "backed" in form:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        monkeypatch.setattr(rectifact.anndata, "BLOCK", 50 * 24 * 4)  # three blocks
        adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    return adata, {}


def test_parts(cells: tuple[Any, dict[str, Any]]) -> None:
    adata, options = cells
    assert rectifact.anndata.parts(adata, 3, **options) is None
    assert type(adata.obsm["X_parts"]) is np.ndarray
    assert adata.obsm["X_parts"].shape == (150, 3)
    assert part_errors(adata.varm["parts"].T, PROGRAMMES).max() < 0.15
    expected = ANDNMF(3, random_state=0).fit(COUNTS)
    assert_allclose(
        np.sort(adata.obsm["X_parts"].sum(axis=0)), np.sort(expected.transform(COUNTS).sum(axis=0)), rtol=0.1
    )
    facts = adata.uns["parts"]
    assert facts["params"]["n_components"] == 3
    assert facts["version"] == rectifact.__version__


@pytest.mark.parametrize("cells", ["csr", "backed csr", "dask"], indirect=True)
def test_embed(cells: tuple[Any, dict[str, Any]]) -> None:
    adata, options = cells
    rectifact.anndata.embed(adata, 3, **options, prior="rows", tol=1e-3)
    model = NMD(3, prior="rows", random_state=0, tol=1e-3).fit(COUNTS)
    found = adata.obsm["X_nmd"] @ adata.varm["nmd"].T
    assert_allclose(found, model.embedding_ @ model.components_, atol=0.02 * COUNTS.max())
    assert adata.uns["nmd"]["scale"] > 0
    if not (adata.isbacked or hasattr(adata.X, "dask")):
        assert_allclose(adata.obsm["X_nmd_positions"], model.positions(COUNTS), atol=0.02 * COUNTS.max())


def test_results_can_be_saved(anndata: Any, tmp_path: Path) -> None:
    adata = anndata.AnnData(COUNTS)
    adata.obs_names, adata.var_names = (
        pd.Index(list(map(str, names)), dtype=object) for names in (range(150), range(24))
    )
    adata.obsp["connectivities"] = sp.csr_matrix(np.ones((150, 150)))
    rectifact.anndata.parts(adata, [2, 3, 4])
    rectifact.anndata.embed(adata, 2, tol=0.1)
    rectifact.anndata.cluster(adata, 1, use_rep="X_parts", key_added="groups")
    adata.obs["groups"] = adata.obs["groups"].cat.rename_categories(pd.Index(["0"], dtype=object))
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns["parts"]["params"]["n_components"] == 3
    assert "3" in again.uns["parts"]["reason"]
    assert_array_equal(again.obsm["X_parts"], adata.obsm["X_parts"])


def test_a_copy_and_some_genes(anndata: Any) -> None:
    adata = anndata.AnnData(COUNTS)
    adata.var["highly_variable"] = np.arange(24) >= 8
    found = rectifact.anndata.parts(adata, 2, mask_var="highly_variable", key_added="programmes", copy=True)
    assert not adata.obsm.keys()
    assert not adata.uns
    assert_array_equal(np.isfinite(found.varm["programmes"]).all(axis=1), np.arange(24) >= 8)
    same = ANDNMF(2, random_state=0).fit_transform(COUNTS[:, 8:])
    assert_allclose(found.obsm["X_programmes"], same, atol=0.01)


@pytest.mark.parametrize("form", ["csr", "dask"])
def test_cluster_takes_the_graph_of_neighbours(anndata: Any, form: str) -> None:
    adata = anndata.AnnData(np.zeros((150, 2), dtype=np.float32))
    graph = sp.csr_matrix(GRAPH.adjacency)
    if form == "dask":
        graph = pytest.importorskip("dask.array").from_array(graph.toarray(), chunks=(60, -1))
    adata.obsp["connectivities"] = graph
    rectifact.anndata.cluster(adata, 3)
    labels = adata.obs["symnmf"]
    assert isinstance(labels.dtype, pd.CategoricalDtype)
    assert list(labels.cat.categories) == ["0", "1", "2"]
    assert labels.value_counts(sort=False).is_monotonic_decreasing
    assert cluster_accuracy(GRAPH.labels, labels.cat.codes.to_numpy()) > 0.95
    assert_array_equal(adata.obsm["X_symnmf"].argmax(axis=1), labels.cat.codes)
    assert adata.uns["symnmf"]["params"]["source"] == "obsp['connectivities']"
    assert adata.uns["symnmf"]["modularity"] > 0.4


def test_cluster_finds_points_where_there_is_no_graph(anndata: Any) -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(40, 2)) + centre for centre in ([0, 0], [12, 0], [0, 12])])
    adata = anndata.AnnData(points.astype(np.float32))
    rectifact.anndata.cluster(adata, 3)
    assert adata.uns["symnmf"]["params"]["source"] == "X"
    adata.obsm["X_pca"] = points[:, :1]
    rectifact.anndata.cluster(adata, 2, key_added="line")
    assert adata.uns["line"]["params"]["source"] == "obsm['X_pca']"
    assert_array_equal(np.unique(adata.obs["line"][:40]), np.unique(adata.obs["line"][80:]))
    adata.uns["near"] = {"connectivities_key": "near_connectivities"}
    adata.obsp["near_connectivities"] = rectifact.similarity_graph(points)
    rectifact.anndata.cluster(adata, 3, neighbors_key="near", key_added="near")
    model = SymNMF(3, affinity="precomputed", random_state=0).fit(adata.obsp["near_connectivities"])
    assert cluster_accuracy(model.labels_, adata.obs["near"].cat.codes.to_numpy()) == 1


def test_cells_without_a_community_have_none(anndata: Any) -> None:
    adata = anndata.AnnData(np.zeros((152, 1), dtype=np.float32))
    adata.obsp["connectivities"] = sp.block_diag([GRAPH.adjacency, sp.csr_matrix((2, 2))], format="csr")
    with pytest.warns(rectifact.core.errors.FitWarning, match="2 without edges"):
        rectifact.anndata.cluster(adata, 3)
    assert adata.obs["symnmf"].isna().sum() == 2


def test_the_examples_run(anndata: Any) -> None:
    assert doctest.testmod(rectifact.anndata).failed == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: rectifact.anndata.parts(COUNTS, 3), "Make one: anndata.AnnData"),
        (lambda a: rectifact.anndata.parts(a, 3, layer="count"), r"no 'count' in adata.layers, which has \['counts'\]"),
        (lambda a: rectifact.anndata.parts(a, 3, mask_var="hvg"), "no 'hvg' in adata.var"),
        (lambda a: rectifact.anndata.parts(a, 3, mask_var=[True]), "each of 24 genes"),
        (lambda a: rectifact.anndata.parts(a, 3, mask_var=np.zeros(24, dtype=bool)), "leaves no gene"),
        (lambda a: rectifact.anndata.parts(a, 3, n_parts=3), "n_parts is not among the parameters of ANDNMF"),
        (lambda a: rectifact.anndata.embed(a, 3), "Name a layer that is not centred"),
        (lambda a: rectifact.anndata.cluster(a, 3, obsp="near"), "no 'near' in adata.obsp"),
        (lambda a: rectifact.anndata.cluster(a, 3, neighbors_key="near"), "Run sc.pp.neighbors"),
        (lambda a: rectifact.anndata.cluster(a, 3, obsp="a", use_rep="b"), "obsp and use_rep are mutually exclusive"),
    ],
)
def test_errors_say_what_to_do(anndata: Any, call: Any, message: str) -> None:
    adata = anndata.AnnData(COUNTS - 1)
    adata.layers["counts"] = COUNTS
    with pytest.raises(InputError, match=message):
        call(adata)
