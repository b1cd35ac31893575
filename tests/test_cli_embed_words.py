"""What rectifact embed says about its figures: which is better, of what, and in which unit."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact.latent.filling import Comparison


@pytest.fixture
def orders(tmp_path):
    """Counts of three kinds of customers, mostly zeros."""
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    X = rng.poisson(np.where(np.arange(15)[None, :] % 3 == kinds[:, None], 4.0, 0.1))
    path = tmp_path / "orders.csv"
    pd.DataFrame(X, columns=[f"p{j:02d}" for j in range(15)]).to_csv(path, index=False)
    return path


def test_errors_and_scores_say_which_is_better_and_of_what(run, orders, tmp_path):
    said = " ".join(run("embed", orders, "-k", "2-4", "-o", tmp_path / "e.csv").err.split())
    assert "log-likelihood of a hidden entry, higher is better" in said
    assert "RMSE (lower is better) of" in said
    assert "known entries that were hidden from a second fit, 6" in said
    assert "% of them zeros: " in said


@pytest.mark.parametrize(("zeros", "said"), [(0.997, ", over 99% of them zeros"), (0.5, ", 50% of"), (0.05, "fit: ")])
def test_the_share_of_zeros_is_not_rounded_to_all(zeros, said):
    assert said in Comparison(0.1, 0.3, 0.2, 100, zeros=zeros).sentence


def test_errors_have_the_unit_of_logarithms_that_were_scaled(run, orders, tmp_path):
    options = ("--values", "log", "--scale", "standard", "-k", 2, "-o", tmp_path / "e.csv")
    said = " ".join(run("embed", orders, *options).err.split())
    assert "These are errors of log(1 + value) divided by the spread of the column." in said


def test_rare_kinds_are_mentioned_where_samples_are_compared(run, orders, tmp_path):
    common = ("embed", orders, "-k", "2-4", "-o", tmp_path / "e.csv", "--recommend", 2)
    assert "Kinds of samples that are rare" not in run(*common).err
    assert "Kinds of samples that are rare" in run(*common, "--similar", 2).err


def test_filled_cells_that_are_cut_are_counted_and_the_error_is_that_of_the_file(run, tmp_path):
    rng = np.random.default_rng(3)
    full = np.rint(np.clip(3 + 2 * rng.standard_normal((150, 2)) @ rng.standard_normal((2, 20)), 1, 5))
    gaps = rng.random(full.shape) < 0.3
    table = pd.DataFrame(np.where(gaps, np.nan, full), index=[f"u{i}" for i in range(150)]).add_prefix("f")
    table.to_csv(tmp_path / "stars.csv", index_label="user")
    said = run(
        "embed", tmp_path / "stars.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    )
    found = pd.read_csv(tmp_path / "f.csv").to_numpy()[:, 1:].astype(float)
    cut = np.isin(found[gaps], [1.0, 5.0]).sum()
    assert f"{cut} of the {gaps.sum()} filled cells would lie outside the scale of the known values" in said.err
    error = float(re.search(r"([\d.]+) by the model", said.err)[1])
    assert error == pytest.approx(np.sqrt(np.mean((found[gaps] - full[gaps]) ** 2)), rel=0.15)


def test_filled_amounts_are_not_cut(run, tmp_path):
    rng = np.random.default_rng(5)
    full = rng.gamma(1.2, size=(120, 2)) @ rng.gamma(2.0, size=(2, 12))
    gaps = rng.random(full.shape) < 0.3
    table = pd.DataFrame(np.where(gaps, np.nan, full), index=[f"c{i}" for i in range(120)]).add_prefix("p")
    table.to_csv(tmp_path / "spend.csv", index_label="customer")
    said = run(
        "embed", tmp_path / "spend.csv", "-k", 2, "--missing", "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    )
    found = pd.read_csv(tmp_path / "f.csv").to_numpy()[:, 1:].astype(float)
    above = gaps & (full > table.max().to_numpy())
    assert above.sum() >= 2
    np.testing.assert_allclose(found[above], full[above], rtol=0.1)
    assert "outside the scale" not in said.err


@pytest.mark.parametrize(("prior", "cut"), [("auto", False), ("rows", True)])
def test_filled_counts_do_not_run_away_and_cut_ones_are_counted(prior, cut, run, tmp_path):
    rng = np.random.default_rng(13)
    habitats, means = rng.choice(4, 180, p=[0.4, 0.3, 0.2, 0.1]), rng.gamma(0.4, 6, (4, 45))
    means = means[habitats] * rng.gamma(3, 1 / 3, (180, 1)) * rng.gamma(4, 0.25, (180, 45))
    full = rng.poisson(means).astype(float)
    gaps = rng.random(full.shape) < 0.12
    table = pd.DataFrame(np.where(gaps, np.nan, full), index=[f"S{i:03d}" for i in range(180)]).add_prefix("sp_")
    table.to_csv(tmp_path / "species.csv", index_label="site_id")
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    said = run("embed", tmp_path / "species.csv", "-k", 3, "--missing", "--values", "log", "--prior", prior, *files).err
    found = pd.read_csv(tmp_path / "f.csv").to_numpy()[:, 1:].astype(float)
    assert found[gaps].max() < 2 * np.nanmax(table)  # 1.4e12 before
    assert ("would lie far above all that is known of their columns" in said) == cut
    error = float(re.search(r"([\d.]+) by the model", said)[1])
    assert error == pytest.approx(np.sqrt(np.mean((np.log1p(found) - np.log1p(full))[gaps] ** 2)), rel=0.15)


def test_what_a_file_without_gaps_is_filled_with_is_said(run, tmp_path):
    sp.save_npz(tmp_path / "X.npz", sp.random_array((40, 12), density=0.4, rng=np.random.default_rng(0), format="csr"))
    files = "-o", tmp_path / "e.csv", "--fill", tmp_path / "f.csv"
    said = " ".join(run("embed", tmp_path / "X.npz", "-k", 1, "--missing", *files).err.split())
    assert "Note: No cell is missing, and" in said
    assert "holds the data as it is; zeros count as known." in said
    assert not (tmp_path / "f.intervals.csv").exists()


def test_a_matrix_has_no_column_to_colour_by(run, tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((30, 8)))
    more = "--colour-by", "type", "--report", tmp_path / "r.html"
    said = run("embed", tmp_path / "X.npy", "-k", 1, "-o", tmp_path / "e.csv", *more, expect=2).err
    assert "is not a table. Name a table with that column, as in known.csv:type" in " ".join(said.split())


def test_triples_with_long_titles_and_numbered_readers_are_named(run, tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(30) for j in range(20) if rng.random() < 0.5]
    table = pd.DataFrame(pairs, columns=["Reader No.", "Book title"])
    table["Book title"] = [f"The book of {j} tales" for j in table["Book title"]]
    table["Sterne"] = rng.integers(1, 6, len(table)) / 2
    table.assign(gelesen="1.2.2024").to_csv(tmp_path / "b.csv", index=False)
    said = " ".join(run("embed", tmp_path / "b.csv", "-o", tmp_path / "e.csv", expect=2).err.split())
    assert "use --triples 'Reader No.,Book title,Sterne'" in said
    run("embed", tmp_path / "b.csv", "-k", 1, "-o", tmp_path / "e.csv", "--triples", "Reader No.,Book title,Sterne")


def test_a_letter_is_not_a_no(run, tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).random((12, 4)), columns=list("abcd"))
    read = "'yes' read as 1 and 'no' read as 0 in 'region'"
    for cells, what, code in ((["N", "S", "E"], "holds text", 2), (["no", "yes", "no"], read, 0)):
        X.assign(region=cells * 4).to_csv(tmp_path / "X.csv", index=False)
        said = run("embed", tmp_path / "X.csv", "-k", 1, "-o", tmp_path / "e.csv", expect=code).err
        assert what in " ".join(said.split())


def test_names_with_transpose_are_those_of_the_file(run, tmp_path):
    """Of 5 genes in rows and 3 cells in columns."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((5, 3)))
    (tmp_path / "cells.txt").write_text("a\nb\nc\n")
    given = "embed", tmp_path / "x.npy", "--transpose", "-k", 1, "-o", tmp_path / "o.csv"
    said = run(*given, "--rows", tmp_path / "cells.txt", expect=2).err
    assert "has 3 lines, and the matrix has 5 rows before --transpose. --rows names the rows of the file: give" in said
    run(*given, "--columns", tmp_path / "cells.txt")
    assert (tmp_path / "o.csv").read_text().splitlines()[1].startswith("a,")
