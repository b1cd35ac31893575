"""Tasks in pairs: two versions that answer the same prompts, compared prompt by prompt."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy import stats

from rectifact import evaluate, load_model, rate, save_model
from rectifact.crowd import DawidSkene, read_answers
from rectifact.crowd.events import Measured
from rectifact.crowd.prediction_powered import deviations
from rectifact.crowd.quantity import Quantity
from rectifact.crowd.rate_tables import Sought, rate_tables

TASK = ["prompt", "version"]


def made(n: int, seed: int, alike: float = 0.9, labelled: int = 40) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Verdicts of three judges on two versions of the same prompts, and gold labels of the first prompts."""
    rng = np.random.default_rng(seed)
    common, tables = rng.normal(size=n), []
    for version in ("v1", "v2"):
        good = np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.normal(size=n) + 0.3 * (version == "v2") > 0
        said = {name: np.where(rng.random(n) < 0.8, good, ~good).astype(int) for name in ("a", "b", "c")}
        tables.append(pd.DataFrame({"prompt": np.arange(n), "version": version, **said, "truth": good.astype(int)}))
    table = pd.concat(tables, ignore_index=True)
    gold = table.loc[table["prompt"] < labelled, [*TASK, "truth"]]
    return table.drop(columns="truth"), gold


def event(truth: NDArray[np.float64], predicted: NDArray[np.float64], step: float | None = None) -> Measured:
    return Measured(truth, None, {}, predicted, predicted, step)


def halves(n: int) -> dict[str, NDArray[np.bool_]]:
    return {"v1": np.arange(2 * n) < n, "v2": np.arange(2 * n) >= n}


def asked(mean: bool = False) -> Sought:
    return Sought(Quantity.mean(1, 5) if mean else Quantity.share(["pass"]), None, deviations(0.95))


def test_a_mean_of_pairs_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    n = 400
    one = rng.normal(3, 1, size=n)
    other = one + rng.normal(0.1, 0.3, size=n)
    truth, nothing = np.concatenate([one, other]), np.zeros(2 * n)
    row = rate_tables(event(truth, nothing, step=0.01), halves(n), np.tile(np.arange(n), 2), asked(True))[1].iloc[0]
    known = stats.ttest_rel(other, one)
    assert_allclose([row["low"], row["high"]], known.confidence_interval(0.95), rtol=1e-3)
    assert_allclose(row["p_value"], known.pvalue, rtol=0.02)


def test_a_share_of_pairs_has_newcombes_interval() -> None:
    # Newcombe (1998), method 10, computed here by his formula: 20 and 20 pairs agree, 12 and 2 differ.
    a, b, c, d = 20, 12, 2, 20
    first = np.repeat([1.0, 0, 1, 0], [a, b, c, d])
    second = np.repeat([1.0, 1, 0, 0], [a, b, c, d])
    n = len(first)
    truth = np.concatenate([first, second])
    row = rate_tables(event(truth, 0 * truth), halves(n), np.tile(np.arange(n), 2), asked())[1].iloc[0]
    phi = (a * d - b * c - n / 2) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    ends = [stats.binomtest(int(x.sum()), n).proportion_ci(0.95, "wilson") for x in (first, second)]
    down, up = second.mean() - ends[1].low, ends[0].high - first.mean()
    gap = second.mean() - first.mean()
    assert_allclose(row["low"], gap - np.sqrt(down**2 + up**2 - 2 * phi * down * up), atol=1e-9)
    assert (row["pairs"], row["labelled_pairs"]) == (n, n)


@pytest.mark.parametrize("common", [40, 20])
def test_intervals_of_pairs_cover_and_are_shorter(common: int) -> None:
    """With all prompts in pairs, and with half of them; the rate of all tasks covers, too."""
    n, n_runs = 60, 250
    items = np.concatenate([np.arange(n), np.arange(n) + n - common * n // 40])
    covered, shorter, whole = 0, [], 0
    for seed in range(n_runs):
        rng = np.random.default_rng([seed, 99])
        score = np.sqrt(0.9) * rng.normal(size=items.max() + 1)[items] + np.sqrt(0.1) * rng.normal(size=2 * n)
        good = (score + 0.25 * (np.arange(2 * n) >= n) > 0).astype(float)
        predicted = np.where(rng.random(2 * n) < 0.8, good, 1 - good)
        truth = np.where(np.isin(items, rng.permutation(items.max() + 1)[: items.max() // 2]), good, np.nan)
        (rates, paired), (_, apart) = (
            rate_tables(event(truth, predicted), halves(n), i, asked()) for i in (items, None)
        )
        true = stats.norm.cdf(0.25) - 0.5
        covered += paired["low"][0] <= true <= paired["high"][0]
        whole += rates["low"][0] <= 0.5 + true / 2 <= rates["high"][0]
        shorter.append((paired["high"] - paired["low"])[0] / (apart["high"] - apart["low"])[0])
    assert covered >= 0.93 * n_runs
    assert whole >= 0.92 * n_runs
    assert np.mean(shorter) < (0.8 if common == 40 else 0.93)


def test_pairs_are_found_in_columns_that_name_a_task() -> None:
    table, gold = made(80, 1)
    found = rate(table, gold, positive=1, by="version", task=TASK, wide=True)
    row = found.differences.iloc[0]
    assert (row["pairs"], row["labelled_pairs"]) == (80, 40)
    assert "compared in 80 pairs, 40 of them labelled" in found.difference_words()[0]
    alone = rate(table.assign(id=np.arange(160)).drop(columns="prompt"), _by_number(table, gold), positive=1,
                 by="version", task="id", wide=True)  # fmt: skip
    assert not alone.differences["pairs"][0]
    assert "pairs" not in alone.difference_words()[0]
    assert row["high"] - row["low"] < 0.9 * (alone.differences["high"] - alone.differences["low"])[0]
    assert found.table()["pairs"].tolist()[-1] == 80


def _by_number(table: pd.DataFrame, gold: pd.DataFrame) -> dict[int, int]:
    number = {key: i for i, key in enumerate(zip(table["prompt"], table["version"], strict=True))}
    return {number[row.prompt, row.version]: row.truth for row in gold.itertuples()}


def test_other_groups_have_no_pairs() -> None:
    table, gold = made(40, 2)
    found = rate(table, gold, positive=1, by={f"{p}, {v}": p % 2 for p in range(40) for v in ("v1", "v2")}, task=TASK,
                 wide=True)  # fmt: skip
    assert not found.differences["pairs"][0]


def test_an_evaluation_says_that_it_used_pairs() -> None:
    table, gold = made(60, 3)
    found = evaluate(table, gold=gold, positive=1, by="version", task=TASK, wide=True)
    assert "compared in 60 pairs, 40 of them labelled" in found.decision()[0]


def test_parts_of_a_task_survive_reading_and_saving(tmp_path: Path) -> None:
    table, _ = made(30, 4)
    long = table.melt(TASK, var_name="worker", value_name="label")
    for answers in (read_answers(table, task=TASK, wide=True), read_answers(long, task=TASK)):
        assert answers.task_parts["prompt"]["7, v2"] == 7
    model = DawidSkene().fit(answers)
    save_model(model, tmp_path / "model.rfx")
    assert load_model(tmp_path / "model.rfx")._answers.task_parts == answers.task_parts


def test_all_outputs_have_the_columns_of_a_task(tmp_path: Path, run: Callable[..., Any]) -> None:
    table, gold = made(60, 5)
    table.to_csv(tmp_path / "answers.csv", index=False)
    gold.to_csv(tmp_path / "gold.csv", index=False)
    files = {name: tmp_path / f"{name}.csv" for name in ("labels", "sample", "plan", "again")}
    reading = [
        str(tmp_path / "answers.csv"),
        "--wide",
        "--task",
        "prompt,version",
        "--gold",
        str(tmp_path / "gold.csv"),
    ]
    run("evaluate", *reading, "--positive", "1", "-o", str(files["labels"]), "--sample", str(files["sample"]),
            "--plan", str(files["plan"]))  # fmt: skip
    run("labels", *reading, "-o", str(files["again"]), "--label-studio", str(tmp_path / "studio.json"))
    for path in files.values():
        assert pd.read_csv(path).columns[:2].tolist() == TASK
    assert len(pd.read_csv(files["labels"]).merge(table, on=TASK)) == 120
    assert json.loads((tmp_path / "studio.json").read_text())[0]["data"] == {
        "prompt": "0", "version": "v1", "task": "0, v1"
    }  # fmt: skip
