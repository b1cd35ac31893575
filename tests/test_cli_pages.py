"""Options for what a report shows: words of texts, colours of a map, filled cells, starts and solvers."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact.models import load_saved

SEA = ["das Schiff auf dem weiten Meer", "ein Sturm auf dem Meer und ein Schiff", "der Wind und das Meer"] * 5
LAND = ["die Kuh frisst das Gras", "das Gras und die Kuh auf dem Hof", "ein Pferd und eine Kuh"] * 5


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(SEA + LAND), encoding="utf-8")
    return path


def words_of(run, texts, tmp_path, *options):
    run("parts", texts, "-k", 2, "--features", tmp_path / "words.csv", *options)
    return set(pd.read_csv(tmp_path / "words.csv")["word"])


def test_words_of_texts(run, texts, tmp_path):
    assert "das" not in words_of(run, texts, tmp_path, "--stop-words", "german")
    assert "das" in words_of(run, texts, tmp_path, "--stop-words", "none", "--max-df", 1)
    assert "das" in words_of(run, texts, tmp_path, "--all-words", "--max-share", 1)
    assert "dem meer" in words_of(run, texts, tmp_path, "--stop-words", "none", "--ngrams", 2, "--top", 60)
    (tmp_path / "mine.txt").write_text("meer\nkuh")
    found = words_of(run, texts, tmp_path, "--stop-words", tmp_path / "mine.txt")
    assert not {"meer", "kuh"} & found
    assert "schiff" not in words_of(run, texts, tmp_path, "--min-df", 0.4, "--max-df", 1)
    said = run("parts", texts, "-k", 2, "--stop-words", "klingon", expect=2).err
    assert "--stop-words klingon is neither a language" in said
    assert "--min-df 1.5 must be" in run("parts", texts, "-k", 2, "--min-df", 1.5, expect=2).err


def test_texts_become_topics_in_the_report_and_in_the_saved_model(run, texts, tmp_path):
    files = "--report", tmp_path / "r.html", "--save", tmp_path / "m.rfx"
    run("parts", texts, "-k", 2, "--stop-words", "german", "-o", tmp_path / "p.npz", *files)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h2>Topics</h2>" in page
    assert "ein Sturm auf dem Meer und ein Schiff" in page
    saved = load_saved(tmp_path / "m.rfx")
    assert saved.texts[0] == SEA[0]
    run("report", tmp_path / "m.rfx", "-o", tmp_path / "again.html")
    date = re.compile(r"Created .*? UTC| of texts\.txt")
    assert date.sub("", (tmp_path / "again.html").read_text(encoding="utf-8")) == date.sub("", page)


@pytest.fixture
def matrix(tmp_path, rng):
    X = np.maximum(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 6)), 0).round(3)
    table = pd.DataFrame(X, columns=list("abcdef")).mask(rng.random((30, 6)) < 0.1)
    table.insert(0, "sample", [f"s{i}" for i in range(30)])
    table.to_csv(tmp_path / "X.csv", index=False)
    return tmp_path / "X.csv", table, X


def test_missing_cells_are_filled_in(run, matrix, tmp_path):
    path, table, truth = matrix
    run("embed", path, "-k", 2, "--missing", "-o", tmp_path / "e.npz", "--fill", tmp_path / "full.csv")
    full = pd.read_csv(tmp_path / "full.csv")
    assert full.columns.tolist() == table.columns.tolist()
    assert full["sample"].tolist() == table["sample"].tolist()
    given, found = table.iloc[:, 1:].to_numpy(), full.iloc[:, 1:].to_numpy()
    known = ~np.isnan(given)
    assert np.isnan(given).sum() > 5
    assert_allclose(found[known], given[known])
    arrays = np.load(tmp_path / "e.npz")
    assert_allclose(found[~known], np.maximum(arrays["embedding"] @ arrays["components"], 0)[~known], atol=1e-6)
    assert np.median(np.abs(found - truth)[~known]) < 0.05 * truth.max()
    said = run("embed", path, "-k", 2, "-o", tmp_path / "e.npz", "--fill", tmp_path / "full.csv", expect=2).err
    assert "--fill is for missing cells. Add --missing" in said


def test_pairs_that_triples_do_not_list_are_filled_in(run, matrix, tmp_path):
    _, table, truth = matrix
    listed = table.melt("sample", var_name="item", value_name="rating").dropna()
    listed.to_csv(tmp_path / "ratings.csv", index=False)
    files = "-o", tmp_path / "e.npz", "--fill", tmp_path / "full.csv"
    said = run("embed", tmp_path / "ratings.csv", "--triples", "sample,item,rating", "-k", 2, "--missing", *files).err
    assert "pairs that are not listed count as missing" in said
    full = pd.read_csv(tmp_path / "full.csv").set_index("sample").loc[table["sample"], list("abcdef")].to_numpy()
    known = table.iloc[:, 1:].notna().to_numpy()
    assert_allclose(full[known], truth[known])
    assert np.median(np.abs(full - truth)[~known]) < 0.05 * truth.max()


def test_a_map_is_coloured_by_a_column(run, matrix, tmp_path):
    path, table, _ = matrix
    kinds = ["<b>tree</b>", "rock"] * 15
    pd.DataFrame({"sample": table["sample"], "kind": kinds}).to_csv(tmp_path / "kinds.csv", index=False)
    (tmp_path / "kinds.txt").write_text("\n".join(kinds))
    common = "embed", path, "-k", 2, "--missing", "-o", tmp_path / "e.npz", "--report", tmp_path / "r.html"
    for option, value, name in (
        ("--colour-by", f"{tmp_path / 'kinds.csv'}:kind", "kind"),
        ("--color-by", tmp_path / "kinds.txt", "kinds"),
        ("--colour-by", "a", "a"),
    ):
        run(*common, option, value)
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert f", coloured by {name}." in page
    assert "<b>tree" not in page
    said = run(*common, "--colour-by", f"{tmp_path / 'kinds.csv'}:colour", expect=2).err
    assert "does not name a column" in said
    assert "with one of sample, kind" in said
    pd.DataFrame({"kind": kinds[:5]}).to_csv(tmp_path / "few.csv", index=False)
    assert "has 5 rows, but there are 30 samples" in run(*common, "--colour-by", tmp_path / "few.csv", expect=2).err


def test_numbers_colour_a_map_as_numbers(run, matrix, tmp_path):
    path, table, _ = matrix
    pd.DataFrame({"sample": table["sample"], "depth": np.arange(30) * 7}).to_csv(tmp_path / "d.csv", index=False)
    common = "embed", path, "-k", 2, "--missing", "--max-iter", 5, "-o", tmp_path / "e.npz"
    colours = "--colour-by", f"{tmp_path / 'd.csv'}:depth"
    run(*common, "--save", tmp_path / "m.rfx", *colours)
    assert load_saved(tmp_path / "m.rfx").groups["depth"].tolist() == (np.arange(30.0) * 7).tolist()
    assert "Add --report" in run(*common, *colours).err


def test_gaps_are_named_before_a_number_is_chosen(run, matrix, tmp_path):
    path, table, _ = matrix
    gaps = table.iloc[:, 1:].isna().to_numpy()
    row, column = np.argwhere(gaps)[0]
    said = " ".join(run("embed", path, "-o", tmp_path / "e.csv", expect=2).err.split())
    assert f"{gaps.sum()} values of the data are missing" in said
    assert f"row {str(table['sample'][row])!r}, column {str(table.columns[1 + column])!r}" in said


def test_a_saved_model_knows_the_names(run, matrix, tmp_path):
    path, table, _ = matrix
    run("embed", path, "-k", 2, "--missing", "--max-iter", 5, "-o", tmp_path / "e.npz", "--save", tmp_path / "m.rfx")
    model = load_saved(tmp_path / "m.rfx").model
    assert model.similar(table.columns[2], 1)["item"].tolist() == [table.columns[2]]
    assert model.similar(table["sample"][3], 1, axis="rows")["item"].tolist() == [table["sample"][3]]


def test_filling_in_is_compared_with_means(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.gamma(2, 1, (60, 2)) @ rng.gamma(1, 1, (2, 12))
    X[rng.random(X.shape) < 0.1] = np.nan
    pd.DataFrame(X).add_prefix("item ").to_csv(tmp_path / "X.csv", index=False)
    common = "embed", tmp_path / "X.csv", "-k", 2, "--missing", "-o", tmp_path / "e.npz"
    said = run(*common, "--json", "--report", tmp_path / "r.html")
    hidden = json.loads(said.out)["hidden"]
    assert hidden["model"] < min(hidden["mean"], hidden["means"])
    assert "by the means of rows and columns" in " ".join(said.err.split())
    assert "by means of rows and columns" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_predictions_and_recommendations_are_judged_without_gaps_too(run, tmp_path):
    rng = np.random.default_rng(0)
    kind, of = rng.integers(3, size=(150, 1)), np.arange(30) % 3
    X = 1.0 * (rng.random((150, 30)) < np.where(kind == of, 0.5, 0.05))
    pd.DataFrame(X).add_prefix("item ").to_csv(tmp_path / "X.csv", index=False)
    common = "embed", tmp_path / "X.csv", "-k", 2, "-o", tmp_path / "e.csv", "--json", "--save", tmp_path / "m.rfx"
    said = run(*common, "--recommend", 5, "--report", tmp_path / "r.html")
    found, err = json.loads(said.out), " ".join(said.err.split())
    assert found["hidden"]["model"] < min(found["hidden"]["columns"], found["hidden"]["means"])
    assert found["recommendations"]["model"] > found["recommendations"]["popular"]
    sentence = load_saved(tmp_path / "m.rfx").notes["recommendations"]
    assert sentence in err
    assert sentence in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_times_are_no_values(run, tmp_path):
    rng = np.random.default_rng(0)
    pairs = pd.DataFrame({"who": np.repeat(list("abcdefgh"), 6), "what": [f"w{j}" for j in [*range(6)] * 8]})
    pairs["stars"], pairs["seen"] = rng.integers(1, 6, 48), 1_500_000_000 + 1000 * rng.permutation(48)
    pairs.to_csv(tmp_path / "p.csv", index=False)
    said = " ".join(run("embed", tmp_path / "p.csv", "-k", 1, "-o", tmp_path / "e.csv").err.split())
    assert "'stars' as value" in said
    assert "not used: 'seen'" in said
    pd.concat([pairs, pairs[:2]]).to_csv(tmp_path / "twice.csv", index=False)
    said = " ".join(run("embed", tmp_path / "twice.csv", "-k", 1, "-o", tmp_path / "e.csv", expect=2).err.split())
    assert "Say which counts: --repeats last, first, mean or sum." in said
    more = "--repeats", "last", "--json"
    done = run("embed", tmp_path / "twice.csv", "-k", 1, "-o", tmp_path / "e.csv", *more)
    assert "the last of them by 'seen' where a pair is repeated" in " ".join(done.err.split())


def test_ratings_that_are_empty_are_missing_and_repeated_ones_count_as_asked(run, tmp_path):
    rng = np.random.default_rng(1)
    pairs = pd.DataFrame(
        {"who": np.repeat([f"p{i}" for i in range(12)], 6), "what": [f"w{j}" for j in [*range(6)] * 12]}
    )
    pairs["stars"] = rng.integers(1, 6, len(pairs)).astype(float)
    pairs.loc[[3, 40], "stars"] = np.nan
    again = pairs[:1].assign(stars=pairs["stars"][0] + 2)
    pd.concat([pairs, again]).to_csv(tmp_path / "r.csv", index=False)
    for how, expected in (
        ("first", pairs["stars"][0]),
        ("last", pairs["stars"][0] + 2),
        ("mean", pairs["stars"][0] + 1),
    ):
        files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
        run("embed", tmp_path / "r.csv", "-k", 1, "--missing", "--repeats", how, *files)
        assert pd.read_csv(tmp_path / "f.csv").set_index("who").loc["p0", "w0"] == expected


def test_colours_are_matched_by_the_names_of_samples(run, matrix, tmp_path):
    path, table, _ = matrix
    kinds = pd.DataFrame({"batch": range(30), "barcode": table["sample"], "kind": ["tree", "rock", "sand"] * 10})
    files = "-o", tmp_path / "e.npz", "--save", tmp_path / "m.rfx", "--report", tmp_path / "r.html"
    common = "embed", path, "-k", 2, "--missing", "--max-iter", 5, *files, "--colour-by"

    def coloured(name, expect=0):
        said = run(*common, f"{tmp_path / name}:kind", expect=expect).err
        return said, None if expect else load_saved(tmp_path / "m.rfx").groups["kind"].tolist()

    kinds[::-1].to_csv(tmp_path / "turned.csv", index=False)
    said, found = coloured("turned.csv")
    assert "Colours matched by 'barcode': 30 of 30 samples." in said
    assert found == kinds["kind"].tolist()
    kinds[4:14].set_index("barcode")[::-1].to_parquet(tmp_path / "few.parquet")
    said, found = coloured("few.parquet")
    assert "Colours matched by 'barcode': 10 of 30 samples." in said
    assert found[4:14] == kinds["kind"][4:14].tolist()
    assert pd.isna(found[:4] + found[14:]).all()
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.search(r"<text[^<]*none[^<]*</text>", page)
    assert "<title>s0</title>" in page
    assert "<title>s4: rock</title>" in page
    pd.concat([kinds, kinds[:3].assign(kind="sea")]).to_csv(tmp_path / "twice.csv", index=False)
    assert "'s0' has several rows" in coloured("twice.csv", expect=2)[0]
    kinds.assign(barcode=kinds["barcode"] + "x").to_csv(tmp_path / "others.csv", index=False)
    assert "0 of 30 samples are found in the column" in coloured("others.csv", expect=2)[0]
    kinds[["kind"]][::-1].to_csv(tmp_path / "unnamed.csv", index=False)
    said, found = coloured("unnamed.csv")
    assert "Colours are matched by position: 'unnamed.csv' has no names" in said.replace("\n", " ")
    assert found == kinds["kind"].tolist()[::-1]


def test_starts_and_solvers_of_a_clustering(run, tmp_path, rng):
    np.save(tmp_path / "X.npy", np.concatenate([rng.random((20, 2)), rng.random((20, 2)) + 3]))
    files = "-o", tmp_path / "c.csv", "--save", tmp_path / "m.rfx", "--json"
    said = run("cluster", tmp_path / "X.npy", "-k", 2, "--init", "random", "--n-init", 3, "--solver", "hals", *files)
    assert json.loads(said.out)["clusters"] == 2
    model = load_saved(tmp_path / "m.rfx").model
    assert (model.n_init, model.solver) == (3, "hals")
    assert len(model.resolved_["errors"]) == 3
    assert model.resolved_["solver"] == "hals"


def test_neighbours_and_recommendations_have_the_names_of_the_triples(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "sales.csv"
    rows = [(f"u{i}", f"{'ab'[g]}{j}", 1 + 200 * (i == j == 0)) for i in range(40) for g in (i % 2,) for j in range(8)]
    kept = pd.DataFrame(rows, columns=["user", "item", "plays"])[rng.random(len(rows)) < 0.8]
    kept.to_csv(path, index=False)
    out = ("-o", tmp_path / "e.csv", "--similar", 3, "--recommend", 2, "--json", "-k", 2, "--max-iter", 60)
    said = run("embed", path, *out)
    assert "of their squares: a few values decide the result" in said.err
    assert "of their squares: a few values decide the result" in json.loads(said.out)["warnings"][0]
    said = run("embed", path, *out, "--values", "binary")
    assert json.loads(said.out)["warnings"] == []
    assert json.loads(said.out)["link"] == "binary"
    rows, columns = (pd.read_csv(tmp_path / f"e.similar-{axis}.csv") for axis in ("rows", "columns"))
    assert list(rows.columns) == ["user", "rank", "neighbour", "similarity"]
    same = rows["user"].str[1:].astype(int) % 2 == rows["neighbour"].str[1:].astype(int) % 2
    assert same.mean() > 0.95
    assert (columns["item"].str[0] == columns["neighbour"].str[0]).all()
    best = pd.read_csv(tmp_path / "e.recommend.csv")
    assert list(best.columns) == ["user", "rank", "item", "score"]


def test_logarithms_are_undone_in_filled_cells(run, tmp_path):
    rng = np.random.default_rng(0)
    X = np.exp(rng.random((30, 1)) @ rng.random((1, 6)) * 3) - 1
    table = pd.DataFrame(X, columns=list("abcdef"))
    table.iloc[3, 2] = np.nan
    table.to_csv(tmp_path / "X.csv", index=False)
    fill = ("-k", 1, "--missing", "-o", tmp_path / "e.csv", "--fill", tmp_path / "full.csv", "--values", "log")
    run("embed", tmp_path / "X.csv", *fill)
    found = pd.read_csv(tmp_path / "full.csv")[list("abcdef")].to_numpy()
    assert abs(found - X).max() < 0.2
    assert abs(found - X)[~np.isnan(table)].max() < 1e-9


def test_a_table_of_positions_can_go_to_the_standard_output(run, tmp_path):
    np.savetxt(
        tmp_path / "X.csv", np.random.default_rng(0).random((12, 4)), delimiter=",", header="a,b,c,d", comments=""
    )
    said = run("embed", tmp_path / "X.csv", "-k", 2, "--max-iter", 5, "-o", "-")
    assert said.out.startswith("sample,position1,position2\n1,")
    said = run("embed", tmp_path / "X.csv", "-k", 2, "-o", "-", "--similar", 2, expect=2).err
    assert "--similar writes a file next to the output. Name a file with -o." in said
    assert "or in .npz for all arrays" in run("embed", tmp_path / "X.csv", "-k", 2, "-o", tmp_path / "x", expect=2).err
    (tmp_path / "X.csv").write_text("user,item,rating\n")
    said = run("embed", tmp_path / "X.csv", "-k", 2, "-o", tmp_path / "e.csv", expect=2).err
    assert "X.csv' has a header line and no rows below it." in said


def test_tables_in_different_units_and_ratings_are_told_what_they_need(run, tmp_path):
    rng = np.random.default_rng(0)
    X = np.maximum(4.5 + rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)), 0) * [1000, 1, 2, 1, 3]
    X[rng.random(X.shape) < 0.1] = np.nan
    path = tmp_path / "products.csv"
    pd.DataFrame(X, columns=list("abcde")).to_csv(path, index=False)
    common = ("embed", path, "-k", 3, "--missing", "-o", tmp_path / "e.csv", "--fill", tmp_path / "full.csv", "--json")
    found = json.loads(run(*common).out)
    assert "--scale standard" in found["warnings"][0]
    assert set(found["hidden"]["by_column"]) == set("abcde")
    found = json.loads(run(*common, "--scale", "standard").out)
    full = pd.read_csv(tmp_path / "full.csv")[list("abcde")].to_numpy()
    assert_allclose(full[~np.isnan(X)], X[~np.isnan(X)])
    assert full[:, 0].max() <= np.nanmax(X[:, 0])
    assert found["hidden"]["by_column"]["a"]["model"] < 0.7 * found["hidden"]["by_column"]["a"]["mean"]
    rows = [(f"u{i}", f"i{j}", int(rng.integers(2, 6))) for i in range(30) for j in range(8) if (i + j) % 3]
    pd.DataFrame(rows, columns=["user", "item", "rating"]).to_csv(tmp_path / "r.csv", index=False)
    said = run("embed", tmp_path / "r.csv", "-k", 1, "-o", tmp_path / "e.csv").err
    assert "'rating' looks like ratings: with --missing, they count as unknown" in " ".join(said.split())
    pd.DataFrame(rows, columns=["Kunde", "Titel", "Sterne"]).assign(Tag="2025-01-01", Ort="x").to_csv(path, index=False)
    said = run("embed", path, "-o", tmp_path / "e.csv", "--table", expect=2).err
    assert "use --triples Kunde,Titel,Sterne" in " ".join(said.split())


def test_means_fill_in_where_the_model_does_not_predict(run, tmp_path):
    rng = np.random.default_rng(0)
    X = 10 + rng.random((150, 6))
    X[rng.random(X.shape) < 0.15] = np.nan
    pd.DataFrame(X, columns=list("abcdef")).to_csv(tmp_path / "X.csv", index=False)
    out = ("-o", tmp_path / "e.csv", "--fill", tmp_path / "full.csv")
    said = run("embed", tmp_path / "X.csv", "-k", 5, "--prior", "none", "--missing", *out)  # fits the noise
    assert "The cells are filled in by the mean" in " ".join(said.err.split())
    full = pd.read_csv(tmp_path / "full.csv")[list("abcdef")].to_numpy()
    gaps = np.isnan(X)
    assert np.abs(full[gaps] - 10.5).max() < 0.3
