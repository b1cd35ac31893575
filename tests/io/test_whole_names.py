"""Identifiers written as 12000.0, as pandas does once their column has had a gap: they are names as 12000 is."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rectifact import NMD, DawidSkene, SymNMF
from rectifact.core.errors import FitWarning, InputError
from rectifact.io.columns import Options
from rectifact.io.inputs import Request, read_input

NAMES = np.array([12000.0, 12007.0, 12003.0, 12011.0] * 10) + 20 * np.arange(40)


def table(name, ids=NAMES):
    counts = np.random.default_rng(0).poisson(2.0, (len(ids), 6))
    return pd.DataFrame(counts, columns=[f"P{j}" for j in range(6)]).assign(**{name: ids})[
        [name, *(f"P{j}" for j in range(6))]
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("purpose", ["embed", "parts", "cluster"])
@pytest.mark.parametrize("name", ["customer_id", "id", "CustomerID", "customer"])
def test_whole_numbers_with_a_point_name_the_rows(tmp_path, ending, purpose, name):
    path = tmp_path / f"t.{ending}"
    data = table(name)
    data.to_csv(path, index=False) if ending == "csv" else data.to_parquet(path, index=False)
    matrix = read_input(path, purpose, Request(Options())).matrix
    assert matrix.rows.tolist() == [f"{each:.0f}" for each in NAMES]
    assert matrix.X.shape == (40, 6)
    assert matrix.row_title == name


def test_consecutive_ones_name_the_rows_too(tmp_path):
    table("user_id", np.arange(1001.0, 1041)).to_csv(tmp_path / "t.csv", index=False)
    assert read_input(tmp_path / "t.csv", "embed", Request(Options())).matrix.rows[:2].tolist() == ["1001", "1002"]


def test_measurements_stay_what_they_are(tmp_path):
    """Fractions under the name of an identifier, whole numbers under that of a measurement, and wavelengths."""
    table("uv_index", NAMES / 1000).to_csv(tmp_path / "t.csv", index=False)
    assert read_input(tmp_path / "t.csv", "embed", Request(Options())).matrix.X.shape == (40, 7)
    whole = table("P9").astype(float)
    whole["no"] = whole["P1"]  # a word that was counted
    whole.drop(columns="P9").to_csv(tmp_path / "t.csv", index=False)
    for purpose in ("embed", "parts", "cluster"):
        assert read_input(tmp_path / "t.csv", purpose, Request(Options())).matrix.X.shape == (40, 7)
    table("wavelength", np.arange(400.0, 440)).to_csv(tmp_path / "t.csv", index=False)
    assert read_input(tmp_path / "t.csv", "parts", Request(Options())).matrix.rows[0] == "400.0"


def test_a_first_column_of_other_names_asks(tmp_path):
    table("Kunde", NAMES).to_csv(tmp_path / "t.csv", index=False)
    for purpose in ("embed", "parts", "cluster"):
        with pytest.raises(InputError, match="--id-column Kunde if it names them"):
            read_input(tmp_path / "t.csv", purpose, Request(Options()))
    matrix = read_input(tmp_path / "t.csv", "embed", Request(options=Options(id_column="Kunde"))).matrix
    assert matrix.rows[0] == "12000"


def sales():
    rng = np.random.default_rng(0)
    pairs = pd.DataFrame(
        {"CustomerID": NAMES[rng.integers(0, 40, 300)], "StockCode": rng.integers(100, 112, 300) * 1.0}
    )
    return pairs.drop_duplicates().assign(Quantity=1, InvoiceNo=lambda t: np.arange(len(t)) // 2, UnitPrice=2.5)


def test_users_and_items_of_triples_have_no_point(tmp_path):
    data = sales()
    data.loc[0, "CustomerID"] = np.nan  # as a gap makes pandas write them
    data.to_csv(tmp_path / "t.csv", index=False)
    for options in (Options(), Options(triples=("CustomerID", "StockCode", "Quantity"))):
        found = read_input(tmp_path / "t.csv", "embed", Request(options=options)).matrix
        assert {*found.rows} == {f"{each:.0f}" for each in data["CustomerID"].dropna()}
        assert found.columns[0].isdecimal()
        assert found.triples == ("CustomerID", "StockCode", "Quantity")


def test_nodes_of_edges_are_those_of_whole_numbers(tmp_path):
    pairs = pd.DataFrame({"source": [1.0, 2.0, 3.0, 4.0], "target": ["2", "3", "4", "Ann"]})
    pairs.to_csv(tmp_path / "t.csv", index=False)
    source, target = read_input(tmp_path / "t.csv", "cluster", Request(Options())).edges
    assert source.tolist() == ["1", "2", "3", "4"]
    assert target.tolist() == ["2", "3", "4", "Ann"]


@pytest.mark.parametrize(("here", "there"), [(1.0, 1), (1, 1.0), (1.0, 1.0)])
def test_known_groups_are_matched_however_numbers_are_written(run, tmp_path, here, there):
    data = table("customer_id")
    data["customer_id"] = data["customer_id"].astype(type(here))
    data.to_csv(tmp_path / "t.csv", index=False)
    known = pd.DataFrame({"customer_id": NAMES[::-1].astype(type(there)), "kind": ["a", "b"] * 20})
    known.to_csv(tmp_path / "known.csv", index=False)
    known.to_parquet(tmp_path / "known.parquet", index=False)
    for name in ("known.csv", "known.parquet"):
        given = "embed", tmp_path / "t.csv", "-k", 2, "-o", tmp_path / "o.csv", "--report", tmp_path / "r.html"
        said = run(*given, "--colour-by", f"{tmp_path / name}:kind").err
        assert "40 of 40 samples" in " ".join(said.split())


def test_tasks_and_workers_have_no_point(tmp_path):
    answers = pd.DataFrame({"task": NAMES.repeat(3), "worker": np.tile([1.0, 2.0, 3.0], 40)})
    answers["label"] = np.random.default_rng(0).choice(["yes", "no"], 120)
    answers.to_csv(tmp_path / "a.csv", index=False)
    for data, kind in ((answers, int), (tmp_path / "a.csv", str)):
        model = DawidSkene().fit(data)
        assert model.tasks_.tolist() == [kind(int(each)) for each in NAMES]
        assert {*model.workers_} == {*map(kind, (1, 2, 3))}
    half = answers.assign(task=answers["task"] + 0.5)
    assert DawidSkene().fit(half).tasks_[0] == 12000.5


def test_a_frame_with_identifiers_as_a_column_warns():
    for ids in (NAMES, NAMES.astype(int)):
        with pytest.warns(FitWarning, match=r"Use X\.set_index\('customer_id'\)"):
            NMD(2, random_state=0).fit(table("customer_id", ids))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        SymNMF(2, affinity="knn").fit(table("customer_id"))
    assert any("'customer_id' of X has a whole number of its own" in str(each.message) for each in said)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        NMD(2, random_state=0).fit(table("customer_id").set_index("customer_id"))


def test_a_frame_of_triples_is_refused_with_users_as_floats():
    with pytest.raises(InputError, match="pivot_table"):
        NMD(2).fit(sales()[["CustomerID", "StockCode", "Quantity"]])
