"""Triples with returns, and pairs whose values come again, in the order of time where a column says it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rectifact.core.errors import InputError
from rectifact.io.columns import Options
from rectifact.io.inputs import Request, read_input

SALES = pd.DataFrame(
    [
        ("ann", "tea", 5),
        ("ann", "tea", -2),
        ("ann", "milk", 1),
        ("bob", "tea", -3),
        ("bob", "milk", 4),
        ("cy", "tea", 2),
    ],
    columns=["user", "item", "quantity"],
)


@pytest.fixture
def read(tmp_path):
    def read(table, **options):
        table.to_csv(tmp_path / "t.csv", index=False)
        found = read_input(tmp_path / "t.csv", "embed", Request(Options(**options)))
        X = found.matrix.X.toarray()
        return pd.DataFrame(X, found.matrix.rows, found.matrix.columns), found.said

    return read


def test_returns_are_subtracted_down_to_zero(read):
    X, said = read(SALES, returns="net")
    assert X.loc["ann"].to_dict() == {"tea": 3, "milk": 1}
    assert X.loc["bob"].to_dict() == {"tea": 0, "milk": 4}
    assert "2 rows with a negative 'quantity' subtracted, and 1 pair with more returned than sold set to 0" in said


def test_returns_are_left_out(read):
    X, said = read(SALES, returns="drop")
    assert X.loc["ann"].to_dict() == {"tea": 5, "milk": 1}
    assert X.loc["bob"].to_dict() == {"tea": 0, "milk": 4}
    assert "2 rows with a negative 'quantity' left out" in said


@pytest.mark.parametrize("name", ["quantity", "amount"])
def test_negative_values_are_asked_about_before_anything_else(read, name):
    with pytest.raises(InputError) as refused:
        read(SALES.rename(columns={"quantity": name}))
    assert f"2 rows with a negative {name!r}" in str(refused.value)
    assert "--returns net" in str(refused.value)
    X, _ = read(SALES.rename(columns={"quantity": name}), returns="net")  # the remedy works
    assert X.to_numpy().min() == 0


def test_returns_that_sales_outweigh_are_told(read):
    X, said = read(SALES[SALES["user"] != "bob"])
    assert X.loc["ann", "tea"] == 3
    assert "added up where a pair is repeated, 1 row with a negative 'quantity' among them" in said
    assert "(--returns drop leaves it out)" in said
    assert "(" not in read(SALES[SALES["user"] != "bob"], returns="drop")[1]


@pytest.mark.parametrize("name", ["quantity", "Menge", "Anzahl", "quantité", "cantidad"])
@pytest.mark.parametrize("purpose", ["embed", "parts"])
def test_counts_are_added_up_in_other_languages_too_and_returns_told_by_every_command(name, purpose, tmp_path):
    table = SALES[SALES["user"] != "bob"].rename(columns={"quantity": name})
    table.to_csv(tmp_path / "t.csv", index=False)
    found = read_input(tmp_path / "t.csv", purpose, Request(Options()))
    assert f"added up where a pair is repeated, 1 row with a negative {name!r} among them" in found.said
    assert ("--returns drop" in found.said) == (purpose == "embed")


def test_options_for_triples_are_refused_elsewhere(read):
    with pytest.raises(InputError, match="net adds up"):
        read(SALES, returns="net", repeats="last")
    numbers = pd.DataFrame(np.random.default_rng(0).random((9, 4)), columns=list("abcd"))
    for option in ({"repeats": "last"}, {"returns": "net"}):
        with pytest.raises(InputError, match="is for triples"):
            read(numbers, **option)


DATES = {
    "iso": ["2024-03-01", "2024-02-01", "2024-01-15", "2024-01-01"],
    "month first": ["3/1/2024 9:05", "2/1/2024 10:00", "1/15/2024 8:00", "1/1/2024 23:59"],
    "day first": ["1/3/2024", "1/2/2024", "15/1/2024", "1/1/2024"],
    "with dots": ["1.3.24", "1.2.24", "2.1.24", "1.1.24"],
    "seconds": [1709251200, 1706745600, 1705276800, 1704067200],
}


@pytest.mark.parametrize("when", DATES.values(), ids=DATES)
def test_the_last_rating_is_that_of_the_latest_date(read, when):
    table = pd.DataFrame(
        {"user": ["a", "a", "b", "b"], "item": ["x", "x", "y", "x"], "rating": [5, 1, 2, 3], "date": when}
    )
    X, said = read(table, repeats="last")
    assert X.loc["a", "x"] == 5
    assert X.columns.tolist() == ["x", "y"]
    assert "the last of them by 'date' where a pair is repeated" in said
    assert "not used" not in said
    assert read(table, repeats="first")[0].loc["a", "x"] == 1


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "the last of them in the file where a pair is repeated:"),
        ({"date": ["3/1/2024", "2/1/2024"]}, "in the file where a pair is repeated (the times in 'date' cannot be put"),
        ({"month": [12, 1]}, "(the times in 'month' cannot be put in order)"),
        ({"date": ["2024-03-01", "2024-02-01"], "order time": ["2024-03-01", "2024-02-01"]}, "both say when)"),
    ],
)
def test_without_one_order_in_time_that_of_the_file_counts(read, columns, said):
    table = pd.DataFrame({"user": ["a", "a"], "item": ["x", "x"], "rating": [5, 1]} | columns)
    table = pd.concat([table, table.assign(user="b")])
    X, told = read(table, repeats="last", triples=("user", "item", "rating"))
    assert X.loc["a", "x"] == 1
    assert said in told


@pytest.mark.parametrize("returns", ["net", "drop"])
def test_what_was_returned_is_known(tmp_path, returns):
    pd.concat([SALES, pd.DataFrame([("ann", "ham", 2), ("ann", "ham", -2)], columns=SALES.columns)]).to_csv(
        tmp_path / "t.csv", index=False
    )
    request = Request(Options(returns=returns))
    matrix = read_input(tmp_path / "t.csv", "embed", request).matrix
    rows, columns = matrix.returned.nonzero()
    found = set(zip(matrix.rows[rows].tolist(), matrix.columns[columns].tolist(), strict=True))
    assert found == {("ann", "tea"), ("ann", "ham"), ("bob", "tea")}
    turned = read_input(tmp_path / "t.csv", "embed", replace(request, transpose=True)).matrix
    assert np.array_equal(turned.returned.toarray(), matrix.returned.toarray().T)


def test_names_that_differ_only_in_capitals_are_told_and_made_one(read):
    sold = SALES.assign(quantity=1, item=["Milk", "tea", "milk ", "TEA", "milk", "tea"])
    X, said = read(sold)
    assert X.columns.tolist() == ["Milk", "tea", "milk", "TEA"]
    assert "4 names, such as 'TEA' and 'tea', differ only in capitals or spaces: to make such names one, add" in said
    X, said = read(sold, ignore_case=True)
    assert X.loc["ann"].to_dict() == {"milk": 2, "tea": 1}  # called as most rows have it
    assert "capitals and spaces of 'item' ignored: 4 names before, 2 names after" in said
    with pytest.raises(InputError, match="--repeats last"):  # two ratings of one film
        read(sold.rename(columns={"quantity": "rating"}), ignore_case=True)
    _, said = read(SALES, ignore_case=True, returns="net")
    assert "no names differ only in capitals or spaces" in said


def test_capitals_are_ignored_in_triples_alone(tmp_path):
    pd.DataFrame({"a": [0.5, 1.5], "b": [2.0, 3.0], "c": [1.0, 1.0]}).to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "t.npy", np.eye(3))
    for name in ("t.csv", "t.npy"):
        with pytest.raises(InputError, match="--ignore-case is for t"):
            read_input(tmp_path / name, "embed", Request(Options(ignore_case=True)))
