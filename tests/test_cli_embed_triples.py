"""rectifact embed on triples: goods that were returned, and names that differ only in spelling."""

import json

import numpy as np
import pandas as pd
import pytest

from rectifact import NMD
from rectifact.core.errors import FitWarning, InputError
from rectifact.latent.scales import scale_with_zero


def words(said):
    return " ".join(said.err.split())


@pytest.fixture
def sales():
    """What 80 customers of four kinds have bought, and some have brought back."""
    rng, rows = np.random.default_rng(0), []
    for i in range(80):
        for j in range(12):
            if rng.random() < (0.8 if j // 3 == i % 4 else 0.05):
                sold = int(rng.integers(1, 5))
                rows += [(f"c{i}", f"good {j}", sold)] + [(f"c{i}", f"good {j}", -sold)] * (rng.random() < 0.2)
    return pd.DataFrame(rows, columns=["customer", "item", "quantity"])


def recommended(path):
    return set(pd.read_csv(path)[["customer", "item"]].itertuples(index=False, name=None))


def test_goods_that_came_back_are_not_recommended(sales, run, tmp_path):
    back = set(sales.loc[sales["quantity"] < 0, ["customer", "item"]].itertuples(index=False, name=None))
    sales.to_csv(tmp_path / "s.csv", index=False)
    wanted = ("-k", 4, "-o", tmp_path / "e.csv", "--recommend", 3, "--returns", "net")
    said = run("embed", tmp_path / "s.csv", *wanted, "--save", tmp_path / "m.rfx")
    assert f"What a sample has returned is not recommended to it: {len(back)} pairs." in words(said)
    assert not recommended(tmp_path / "e.recommend.csv") & back
    sales[::-1].to_csv(tmp_path / "new.csv", index=False)  # columns in another order than those of the model
    run("embed", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", *wanted[2:])
    assert not recommended(tmp_path / "e.recommend.csv") & back


def test_what_is_excluded_is_not_recommended():
    X = np.kron(np.eye(2), np.ones((6, 3)))
    X[0, 1] = X[6, 4] = 0
    model = NMD(1, prior="factors").fit(X)
    assert model.recommend(X[[0]], 1)["feature"].tolist() == [1]
    assert 1 not in model.recommend(X[[0]], 5, exclude=np.arange(6)[None] == 1)["feature"].tolist()
    with pytest.raises(InputError, match="mask of the shape of X"):
        model.recommend(X, exclude=np.ones((2, 2)))


def test_a_model_knows_columns_in_another_spelling(sales, run, tmp_path):
    sales = sales[sales["quantity"] > 0]
    sales.to_csv(tmp_path / "s.csv", index=False)
    common = ("-o", tmp_path / "e.csv")
    run("embed", tmp_path / "s.csv", "-k", 2, *common, "--save", tmp_path / "m.rfx")
    new = sales.assign(item=sales["item"].where(sales["item"] != "good 3", " GOOD  3"))
    new.to_csv(tmp_path / "new.csv", index=False)
    given = ("embed", tmp_path / "new.csv", "--model", tmp_path / "m.rfx", *common)
    said = words(run(*given))
    assert "1 column, such as 'GOOD 3' for 'good 3', is known to the model in another spelling" in said
    assert "that the model does not know" in said
    said = words(run(*given, "--ignore-case"))
    assert "another spelling" not in said
    assert "that the model does not know" not in said


@pytest.mark.parametrize(
    ("long", "less", "read"),
    [
        (False, 3, "ratings on a scale, -2 to 2; 3 is added"),
        (True, 3, "ratings on a scale, -2 to 2; 3 is added"),
        (True, 1, "0 is read as an answer on a scale, as others are, up to 4; 1 is added"),
    ],
)
def test_ratings_from_0_or_below_are_fitted_and_written_as_ratings_above_it(run, tmp_path, long, less, read):
    """From -2 to 2, or 0 to 4, and from 1 to 5: everything that is written differs by 3, or 1, whichever is given."""
    rng = np.random.default_rng(0)
    stars = np.clip(
        np.round(3 + rng.normal(size=(120, 2)) @ rng.normal(size=(2, 12)) + 0.3 * rng.normal(size=(120, 12))), 1, 5
    )
    stars[rng.random(stars.shape) < 0.2] = np.nan
    table, found = pd.DataFrame(stars, columns=[f"f{j}" for j in range(12)]), []
    table.insert(0, "user", [f"u{i}" for i in range(120)])
    for shift in (0, less):
        folder = tmp_path / str(shift)
        folder.mkdir()
        own = table.set_index("user") - shift
        own = (
            own.reset_index().melt("user", var_name="film", value_name="rating").dropna() if long else own.reset_index()
        )
        own.to_csv(folder / "x.csv", index=False)
        files = "--missing", "-o", folder / "o.csv", "--recommend", 2, "--fill", folder / "full.csv"
        said = run("embed", folder / "x.csv", "-k", 2, *files, "--save", folder / "m.rfx", "--json")
        assert (read in words(said)) == bool(shift)
        new = "-o", folder / "new.csv", "--recommend", 2, "--fill", folder / "new.full.csv"
        run("embed", folder / "x.csv", "--model", folder / "m.rfx", *new)
        found.append((folder, json.loads(said.out)["recommendations"]))
    (plain, above), (signed, below) = found
    for name in ("full.csv", "full.intervals.csv", "o.recommend.csv", "new.full.csv", "new.recommend.csv"):
        one, other = (pd.read_csv(folder / name) for folder in (plain, signed))
        values = [column for column in one.select_dtypes("number").columns if column != "rank"]
        pd.testing.assert_frame_equal(one[values] - less, other[values], atol=1e-6)
        pd.testing.assert_frame_equal(one.drop(columns=values), other.drop(columns=values))
    assert below["model"] == pytest.approx(above["model"] - less)
    pd.testing.assert_frame_equal(pd.read_csv(plain / "o.csv"), pd.read_csv(signed / "o.csv"))


def test_a_value_far_below_all_others_is_not_a_rating(run, tmp_path):
    stars = np.tile([1.0, 2, 3, 4, 5, 4, 3, 2], (30, 1))
    stars[3, 4], stars[5, 5] = -50, np.nan
    pd.DataFrame(stars, columns=list("abcdefgh")).to_csv(tmp_path / "x.csv", index=False)
    said = run("embed", tmp_path / "x.csv", "--missing", "-k", 1, "-o", tmp_path / "o.csv", expect=2).err
    assert "1 value of the data is negative" in said


def test_no_is_an_answer_and_not_at_most_0(run, tmp_path):
    """Yes and no beside answers from 1 to 5 are filled in as often as they are said."""
    rng = np.random.default_rng(11)
    latent = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 12)) + 0.5 * rng.normal(size=(300, 12))
    truth = np.hstack([latent[:, :5] > 0, np.clip(np.round(3 + 0.7 * latent[:, 5:]), 1, 5)])
    gaps = rng.random(truth.shape) < 0.2
    table = pd.DataFrame(truth, columns=[f"q{j}" for j in range(12)]).astype(object)
    table.iloc[:, :5] = np.where(truth[:, :5] > 0, "yes", "no")
    table.mask(gaps).to_csv(tmp_path / "x.csv", index=False)
    said = run(
        "embed", tmp_path / "x.csv", "--missing", "-k", 2, "-o", tmp_path / "o.csv", "--fill", tmp_path / "f.csv"
    )
    assert "up to 5; 1.25 is added for the fit" in words(said)
    filled = pd.read_csv(tmp_path / "f.csv").iloc[:, 1:].to_numpy()
    assert filled[:, :5][gaps[:, :5]].mean() == pytest.approx(truth[:, :5][gaps[:, :5]].mean(), abs=0.03)
    assert np.array_equal(filled[~gaps], truth[~gaps])


def test_the_0_of_counts_and_of_zeros_and_ones_is_left_as_it_is():
    rng = np.random.default_rng(0)
    likes = np.where(rng.random((200, 8)) < 0.2, np.nan, rng.random((200, 8)) < 0.5)
    sold = np.where(rng.random((200, 8)) < 0.2, np.nan, rng.poisson(0.7, (200, 8)))
    grades = np.where(rng.random((200, 8)) < 0.2, np.nan, rng.integers(0, 5, (200, 8)))
    assert [scale_with_zero(X) for X in (likes, sold, grades, grades + 1)] == [0, 0, 4, 0]
    with pytest.warns(FitWarning, match="0 seems to be an answer on a scale up to 4.* Add 1 to X"):
        NMD(1, missing=np.nan, tol=1e-2).fit(grades)


@pytest.mark.parametrize("blank", ["", " "])
def test_rows_without_a_customer_are_left_out_and_counted_but_many_only_if_asked(run, tmp_path, blank):
    rows = [(f"c{i}", f"p{j}", 1 + (i * j) % 4) for i in range(20) for j in range(10) if (i + j) % 3]
    pages = {}
    for name, n in {"none": 0, "few": 3, "many": 30}.items():
        lost = [f"{blank},p{j % 10},{j}\n" for j in range(n)]
        (tmp_path / f"{name}.csv").write_text(
            "customer,product,quantity\n" + "".join(lost + [f"{a},{b},{c}\n" for a, b, c in rows])
        )
        given = "embed", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.out.csv", "-k", "2", "--max-iter", "20"
        if n > 10:
            said = run(*given, expect=2).err
            assert "30 rows of" in said
            assert "have no name in the column 'customer'" in said
            given = *given, "--drop-unnamed"
            assert "--drop-unnamed" in said
        said = run(*given).err
        assert ("left out" in said) == (n > 0)
        assert not n or f"{n} rows with no name in the column 'customer' left out" in said
        pages[name] = (tmp_path / f"{name}.out.csv").read_text()
    assert pages["few"] == pages["many"] == pages["none"]


@pytest.mark.parametrize(
    "money", ["€ {:.2f}", "{:.2f} EUR", "£{:.0f}", "US$ {:,.2f}", "{:.0f} kr", "-{:.2f}€", "{:.1f} %"]
)
@pytest.mark.parametrize("places", [("Kunde", "Artikel", "Betrag"), ("Betrag", "Artikel", "Kunde")])
@pytest.mark.parametrize("seed", [0, 1])
def test_money_is_not_suggested_for_users_or_items(money, places, seed, run, tmp_path):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"Kunde": rng.integers(1, 60, 400), "Artikel": rng.integers(1, 25, 400)})
    table["Betrag"] = [money.format(price) for price in rng.integers(2, 90, 25)[table["Artikel"] - 1] + 0.5]
    table["Kunde"] = [f"{i:06d}" for i in table["Kunde"]]
    table["Artikel"] = [f"Timber article, {i} pcs" for i in table["Artikel"]]
    table = table[list(places)].assign(Menge=rng.geometric(0.6, 400), Datum="2024-05-22")
    table.to_csv(tmp_path / "x.csv", index=False)
    said = words(run("embed", tmp_path / "x.csv", "-o", tmp_path / "e.csv", expect=2))
    assert f"--triples {','.join(name for name in places if name != 'Betrag')},Menge, or " in said
    run(
        "embed",
        tmp_path / "x.csv",
        "-k",
        2,
        "-o",
        tmp_path / "e.csv",
        "--triples",
        "Kunde,Artikel,Menge",
        "--repeats",
        "sum",
    )


def test_customers_are_suggested_for_rows_wherever_their_column_stands(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"Description": rng.integers(1, 25, 400), "Quantity": 1, "CustomerID": rng.integers(1, 60, 400)}
    )
    table["Description"] = [f"Timber article, {i} pcs" for i in table["Description"]]
    table["CustomerID"] = [f"{i:06d}" for i in table["CustomerID"]]
    table.to_csv(tmp_path / "x.csv", index=False)
    said = words(run("embed", tmp_path / "x.csv", "-o", tmp_path / "e.csv", expect=2))
    assert "--triples CustomerID,Description,Quantity" in said
