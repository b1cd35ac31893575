"""``-k auto``, ``-k 2-30``, ``--stability`` and ``--bootstrap`` of the commands parts, embed and cluster."""

import json
import os
import signal
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rectifact import ANDNMF, InputError, SymNMF, load_model, save_model
from rectifact.cli.how_many import MOST_ROWS, check_numbers, choice_table
from rectifact.datasets import make_block_model, make_topics
from rectifact.graph.how_many import GraphTrial
from rectifact.latent.how_many import LatentTrial
from rectifact.models import load_saved
from rectifact.selection import Selection, assess, select


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Mixtures of 4 parts, a graph of 3 communities, and a matrix of rank 2 behind its zeros."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    np.save(folder / "parts.npy", make_topics(n_samples=240, n_features=12, n_topics=4, noise=0.002).X)
    noise = 0.05 * rng.standard_normal((120, 20))
    np.save(folder / "rank.npy", np.maximum(rng.standard_normal((120, 2)) @ rng.standard_normal((2, 20)) + noise, 0))
    edges = sp.coo_array(sp.triu(make_block_model(90, 3, degree=14, mixing=0.1).adjacency, 1))
    pd.DataFrame({"source": edges.coords[0], "target": edges.coords[1]}).to_csv(folder / "edges.csv", index=False)
    return folder


def summary_of(said):
    """What ``--json`` printed; NaN, which is not JSON, is refused."""
    return json.loads(said.out, parse_constant=pytest.fail)


@pytest.mark.parametrize("command", ["parts", "embed", "cluster"])
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("abc", "-k 'abc' is neither a number, nor a range such as 2-30, nor auto. Give one of them."),
        ("2-", "-k '2-' is neither a number, nor a range such as 2-30, nor auto. Give one of them."),
        ("5-2", "-k 5-2 ends before it begins. Give 2-5."),
        ("0", "-k 0 begins below 1. Give 1 or more."),
        ("-3", "-k -3 is below 1. Give 1 or more."),
        ("0-4", "-k 0-4 begins below 1. Give 1 or more."),
    ],
)
def test_mistakes_are_one_sentence(run, data, tmp_path, command, given, sentence):
    assert run(command, data / "parts.npy", "-k", given, "-o", tmp_path / "o.npz", expect=2).err == (
        f"rectifact: {sentence}\n"
    )


def test_a_range_beyond_all_data_costs_nothing():
    assert check_numbers("2-999999999") == range(2, 1001)
    assert check_numbers("5000-6000") == range(5000, 5001)


def test_parts_without_a_number(run, data, tmp_path):
    out, features, model = tmp_path / "parts.npz", tmp_path / "features.csv", tmp_path / "m.rfx"
    said = run("parts", data / "parts.npy", "-o", out, "--features", features, "--top", 3, "--save", model, "--json")
    found = summary_of(said)
    assert found["parts"] == found["selection"]["best"] == 4
    assert {"k": 4, "stability": found["selection"]["table"][3]["stability"]}.items() <= (
        found["selection"]["table"][3].items()
    )
    assert found["selection"]["table"][0]["stability"] is None
    assert found["selection"]["reason"] in said.err
    assert "> 4 │" in said.err
    assert min(found["stability"]) > 0.9
    with np.load(out) as arrays:
        np.testing.assert_allclose(arrays["stability"], found["stability"], atol=1e-4)
    table = pd.read_csv(features)
    assert list(table.columns) == ["part", "rank", "feature", "value", "stability"]
    np.testing.assert_allclose(table.groupby("part")["stability"].first(), found["stability"], atol=1e-4)
    saved = load_saved(model)
    np.testing.assert_allclose(saved.model.stability_, found["stability"], atol=1e-4)
    assert (saved.selection.best, saved.selection.reason) == (4, found["selection"]["reason"])
    shown = run("parts", data / "parts.npy", "-k", "2-6")
    assert "stability" in shown.out  # in the table of the parts
    assert "4 parts" in shown.err


def test_at_most_fifteen_rows_are_shown():
    k = np.arange(1, 65)
    table = pd.DataFrame({"k": k, "score": k / 64, "standard_error": 0.1, "stability": np.nan, "seconds": 0.0})
    for best, first in ((1, 1), (30, 23), (64, 50)):
        shown = choice_table(Selection(table, best, "", None, "share"))
        cells = list(shown.columns[0].cells)
        assert len(cells) == MOST_ROWS
        assert (cells[0].removeprefix("> "), cells.count(f"> {best}")) == (str(first), 1)
        assert "49 more not shown" in shown.caption
        assert "not tried" not in shown.caption  # all of them were
    some = choice_table(Selection(table[table["k"].isin([1, 2, 4, 9])], 4, "", None, "share"))
    assert "were not tried" in some.caption


def test_a_score_that_is_a_rounding_error_is_shown_as_0():
    columns = {"score": [-2.2204e-16, 0.5], "standard_error": 0.1, "stability": np.nan, "seconds": 0.0}
    shown = choice_table(Selection(pd.DataFrame({"k": [1, 2], **columns}), 2, "", None, "share"))
    assert list(shown.columns[1].cells) == ["0", "0.5"]


def test_points_without_groups_are_one_cluster(run, tmp_path):
    """A table of one row, without a score."""
    points = pd.DataFrame(np.random.default_rng(4).normal(size=(400, 2)), columns=["x", "y"])
    points.to_csv(tmp_path / "points.csv", index=False)
    said = run("cluster", tmp_path / "points.csv", "-o", tmp_path / "o.csv", "--report", tmp_path / "r.html")
    assert "No stable structure" in said.err
    assert set(pd.read_csv(tmp_path / "o.csv")["cluster"]) == {1}


def test_bands_of_parts_with_a_number_given(run, data, tmp_path):
    out, features = tmp_path / "parts.npz", tmp_path / "features.csv"
    files = "-o", out, "--features", features
    said = run("parts", data / "parts.npy", "-k", 4, "--bootstrap", 8, *files, "--json")
    assert "Bands: they hold about 78% of the parts of resampled samples" in " ".join(said.err.split())
    found = summary_of(said)
    assert "selection" not in found
    with np.load(out) as arrays:
        lower, H, upper = arrays["lower"], arrays["components"], arrays["upper"]
    assert (lower <= upper).all()
    assert np.mean((lower - 0.01 <= H) & (upper + 0.01 >= H)) > 0.9
    table = pd.read_csv(features)
    assert list(table.columns) == ["part", "rank", "feature", "value", "lower", "upper", "stability"]
    i, j = table["part"] - 1, table["feature"] - 1
    np.testing.assert_allclose(table[["lower", "upper"]], np.c_[lower[i, j], upper[i, j]])
    assert "stability" not in summary_of(run("parts", data / "parts.npy", "-k", 4, "-o", out, "--json"))


def test_parts_that_are_given_have_their_number(run, data, tmp_path):
    np.save(tmp_path / "start.npy", make_topics(n_samples=240, n_features=12, n_topics=4, noise=0.002).components[:3])
    assert ", 3 parts:" in run("parts", data / "parts.npy", "--init", tmp_path / "start.npy").err


def test_dimensions_from_a_range(run, data, tmp_path):
    out = tmp_path / "e.npz"
    said = run("embed", data / "rank.npy", "-k", "2-5", "-o", out, "--max-iter", 60, "--json")
    found = summary_of(said)
    assert found["dimensions"] == found["selection"]["best"] == 2
    assert max(row["k"] for row in found["selection"]["table"]) <= 5
    what = "Stability of the dimensions (1 if halves of the samples lead to the same)"
    assert f"{what}: 0.9" in said.err or f"{what}: 1.00" in said.err
    with np.load(out) as arrays:
        assert arrays["stability"].shape == (2,)
        assert arrays["embedding"].shape == (120, 2)
    fixed = run("embed", data / "rank.npy", "-k", 2, "-o", out, "--max-iter", 60, "--stability", "--json")
    assert len(summary_of(fixed)["stability"]) == 2


def test_clusters_without_a_number(run, data, tmp_path):
    out = tmp_path / "c.csv"
    said = run("cluster", "--graph", data / "edges.csv", "-o", out, "--bootstrap", 5, "--json")
    found = summary_of(said)
    assert found["clusters"] == found["selection"]["best"] == 3
    table = pd.read_csv(out)
    assert list(table.columns) == [
        *("node", "cluster", "stability", "membership", "next_cluster", "next_membership"),
        *("neighbours", "share_inside", "hub_rank", "bridge_to"),
        *("membership1", "membership2", "membership3", "share1", "share2", "share3"),
    ]
    np.testing.assert_allclose(table["stability"], np.array(found["stability"])[table["cluster"] - 1], atol=1e-4)
    assert found["sizes"] == sorted(found["sizes"], reverse=True)
    memberships = table[["membership1", "membership2", "membership3"]].to_numpy()
    np.testing.assert_allclose(table["membership"], memberships.max(axis=1))
    np.testing.assert_allclose(table["next_membership"], np.sort(memberships, axis=1)[:, 1])
    second = table["next_cluster"].notna().to_numpy()
    assert (
        memberships[second, table["next_cluster"][second].astype(int) - 1] == table["next_membership"][second]
    ).all()
    shares = table[["share1", "share2", "share3"]].to_numpy()
    assert (shares.argmax(axis=1) + 1 == table["cluster"]).mean() > 0.95
    assert set(np.unique(shares * 5).round(6)) <= set(range(6))


@pytest.mark.parametrize("recurring", [1, 2])
def test_what_is_written_does_not_change_the_number_of_dimensions(run, data, tmp_path, monkeypatch, recurring):
    monkeypatch.setattr(LatentTrial, "recurring", lambda *_: recurring)
    out, further = ("-o", tmp_path / "o.csv"), [("--recommend", 2), ("--fill", tmp_path / "f.csv"), ("--stability",)]
    command = "embed", data / "rank.npy", "-k", "1-3", "--missing", *out, "--json"
    found = [summary_of(run(*command, *more)) for more in [(), *further]]
    assert [one["dimensions"] for one in found] == [recurring] * 4
    assert len({one["selection"]["reason"].partition(" Kinds of samples")[0] for one in found}) == 1


def test_stability_of_dimensions_is_the_same_figure_everywhere(run, data, tmp_path):
    page, command = tmp_path / "r.html", ("embed", data / "rank.npy", "-o", tmp_path / "o.npz", "--json")
    said = run(*command, "-k", "auto", "--report", page)
    found = summary_of(said)
    k = found["dimensions"]
    rows = {row["k"]: row["stability"] for row in found["selection"]["table"]}
    assert [number for number, value in rows.items() if value is not None] == [k]  # others have no fit to all samples
    assert rows[k] == pytest.approx(np.mean(found["stability"]), abs=1e-4)
    assert f"; mean {rows[k]:.2f}." in said.err
    assert f"Mean stability is {rows[k]:.2f};" in page.read_text()
    assert summary_of(run(*command, "-k", k, "--stability"))["stability"] == found["stability"]


def test_nodes_in_no_cluster_have_no_stability(run, data, tmp_path):
    edges = pd.read_csv(data / "edges.csv")
    lonely = pd.DataFrame({"source": [200], "target": [201]})
    pd.concat([edges, lonely]).to_csv(tmp_path / "edges.csv", index=False)
    run("cluster", "--graph", tmp_path / "edges.csv", "-k", 3, "--stability", "-o", tmp_path / "c.csv")
    table = pd.read_csv(tmp_path / "c.csv").set_index("node")
    assert table.loc[[200, 201], "stability"].isna().all()
    assert table.drop([200, 201])["stability"].notna().all()


@pytest.fixture
def interrupted(monkeypatch):
    """Function that sends an interrupt, as Ctrl-C does, when a number is tried for the n-th time."""
    scores = GraphTrial.scores

    def at(*places):
        seen = []

        def counting(self, k):
            seen.append(k)
            if len(seen) in places:
                os.kill(os.getpid(), signal.SIGINT)
            return scores(self, k)

        monkeypatch.setattr(GraphTrial, "scores", counting)

    return at


def test_an_interrupt_goes_on_with_the_best_so_far(run, data, tmp_path, interrupted):
    command = "cluster", "--graph", data / "edges.csv", "--checkpoint", tmp_path / "state", "-o", tmp_path / "c.csv"
    interrupted(3)
    said = run(*command, "--json")
    found = summary_of(said)
    assert "The search ends here, with the best number so far; a whole search may choose another. Press" in said.err
    assert len(found["selection"]["table"]) == 2
    assert found["selection"]["reason"].startswith("The search was ended early.")
    assert said.err.count("ended early") == 1
    interrupted()
    assert "Give --resume" in run(*command, expect=2).err
    again = summary_of(run(*command, "--resume", "--json"))
    assert again["selection"]["best"] == 3
    assert len(again["selection"]["table"]) > 2
    assert summary_of(run(*command, "--json"))["clusters"] == 3  # the search has ended, so another one can begin
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("trials", [0, 1])
def test_an_interrupt_with_nothing_to_go_on_with_ends_the_command(run, data, tmp_path, interrupted, trials):
    """One community alone is not something to go on with: it would replace earlier results."""
    interrupted(1 + trials)
    said = run("cluster", "--graph", data / "edges.csv", "-o", tmp_path / "c.csv", expect=130)
    assert "The search ends here" not in said.err
    assert not (tmp_path / "c.csv").exists()


def test_the_second_interrupt_ends_the_command(run, data, tmp_path, interrupted, monkeypatch):
    interrupted(3)

    def fit(self, X, y=None):
        os.kill(os.getpid(), signal.SIGINT)

    original = SymNMF.fit
    monkeypatch.setattr(SymNMF, "fit", lambda self, X: original(self, X) if self.callbacks is None else fit(self, X))
    said = run("cluster", "--graph", data / "edges.csv", "-o", tmp_path / "c.csv", expect=130)
    assert "The search ends here" in said.err
    assert not (tmp_path / "c.csv").exists()


def test_a_saved_choice_comes_back_and_older_models_have_none(data, tmp_path):
    X = np.load(data / "parts.npy")
    found = select(ANDNMF(1, random_state=0), X, range(2, 6), random_state=0)
    save_model(found.estimator, tmp_path / "m.rfx", selection=found)
    saved = load_saved(tmp_path / "m.rfx")
    pd.testing.assert_frame_equal(saved.selection.table, found.table)
    assert saved.selection.estimator is saved.model
    np.testing.assert_array_equal(saved.model.stability_, found.estimator.stability_)
    changed(tmp_path / "m.rfx", tmp_path / "old.rfx", lambda fields: fields.pop("selection"))
    assert load_saved(tmp_path / "old.rfx").selection is None
    assert load_model(tmp_path / "old.rfx").n_components == 4
    for crafted in (5, {"_": "dict", "pairs": []}, {"_": "dict", "pairs": [["table", 1]]}):
        changed(tmp_path / "m.rfx", tmp_path / "bad.rfx", lambda fields, value=crafted: fields.update(selection=value))
        with pytest.raises(InputError, match="does not hold a model"):
            load_saved(tmp_path / "bad.rfx")


def changed(source, target, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        tree = json.loads(old.read("model.json"))
        change(tree["value"]["fields"])
        kept = [name for name in old.namelist() if name != "model.json"]
        new.writestr("model.json", json.dumps(tree))
        for name in kept:
            new.writestr(name, old.read(name))


def test_a_new_fit_forgets_the_stability_of_the_last(data):
    X = np.load(data / "parts.npy")
    model = ANDNMF(4, random_state=0).fit(X)
    assess(model, X, random_state=0)
    assert len(model.stability_) == 4
    assert not hasattr(model.set_params(n_components=3).fit(X), "stability_")


def test_an_empty_cell_is_named_by_its_column(run, tmp_path):
    (tmp_path / "p.csv").write_text("id,age,basket\na,1,2\nb,2,\nc,3,4\nd,4,5\n")
    said = run("cluster", tmp_path / "p.csv", "-k", 2, "-o", tmp_path / "o.csv", expect=2).err
    assert "1 cell of the column 'basket' has no number, the first in the row of 'b'." in said
    assert "embed" not in said


@pytest.mark.parametrize("region", [None, "north"])
def test_a_column_of_groups_among_points_can_be_compared_with(run, tmp_path, region):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.vstack([rng.normal(c, 0.5, (20, 2)) for c in (0, 9)]), columns=["age", "basket"])
    table.insert(0, "id", [f"c{i}" for i in range(40)])
    table["segment"] = np.repeat(["new", "loyal"], 20)
    table = table if region is None else table.assign(region=region)
    table.to_csv(tmp_path / "p.csv", index=False)
    given = ("cluster", tmp_path / "p.csv", "-k", 2, "-o", tmp_path / "o.csv")
    said = run(*given, expect=2).err
    drop = "segment" if region is None else "segment,region"
    assert f"--drop {drop}" in said
    assert "To compare the clusters with 'segment', add --truth segment." in said
    assert "accuracy of 100%" in run(*given, "--drop", drop, "--truth", "segment").err
    table.assign(segment=[f"2020-01-{i:02d}" for i in range(1, 21)] * 2).to_csv(tmp_path / "p.csv", index=False)
    assert "--truth" not in run(*given, expect=2).err


def test_nodes_that_are_not_sure_are_in_the_report(run, data, tmp_path):
    page = tmp_path / "r.html"
    run("cluster", data / "edges.csv", "-k", 4, "-o", tmp_path / "o.csv", "--bootstrap", 5, "--report", page)
    assert "Nodes that are not sure" in page.read_text()
    assert "is in no cluster, as when none of its edges is drawn, do not count for it" in page.read_text()
    run("cluster", data / "edges.csv", "-k", 1, "-o", tmp_path / "o.csv", "--report", page)
    assert "are in one cluster." in page.read_text()
    assert "of 1 cluster" not in page.read_text()
