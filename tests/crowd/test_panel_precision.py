"""What to do for shorter intervals after an evaluation: whose interval it is, and labels in groups that have few."""

import re

import numpy as np
import pandas as pd
import pytest

from rectifact import evaluate

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

GROUPS = np.repeat(["a", "b", "c"], 150)
TASKS = np.arange(len(GROUPS))


def found_by(seed, n_gold, *, has_people=True, **options):
    """Judges who answered all tasks of three groups, people half of them; and so many gold labels by group."""
    rng = np.random.default_rng(seed)
    truth = rng.random(len(TASKS)) < 0.5

    def said(who, right, some=TASKS):
        words = np.where(rng.random(len(some)) < right, truth[some], ~truth[some])
        return pd.DataFrame({"task": some, "worker": who, "label": words.astype(int), "version": GROUPS[some]})

    judges = pd.concat([said(name, right) for name, right in (("one", 0.9), ("two", 0.85), ("three", 0.8))])
    some = rng.permutation(TASKS)[:225]
    people = pd.concat([said(name, 0.92, some) for name in ("ann", "bob", "cy")]) if has_people else None
    chosen = np.concatenate([rng.permutation(TASKS[g == GROUPS])[:n] for g, n in zip("abc", n_gold, strict=True)])
    gold = {int(task): int(truth[task]) for task in chosen}
    return evaluate(judges, people, gold=gold, positive=1, by="version", **options)


def steps_about(found, words):
    return [step for step in found.next_steps() if words in step.finding]


@pytest.mark.parametrize("seed", range(2))
def test_the_interval_that_could_be_shorter_is_the_one_that_is_named(seed):
    found = found_by(seed, (16, 15, 9))
    tables = {"gold labels": found.rates.differences, "labels of people": found.by_people.differences}
    tables = {whose: table.set_index(["second", "first"]) for whose, table in tables.items()}
    steps = steps_about(found, "minus")
    assert steps
    for step in steps:
        said = r"interval of (\w) minus (\w) by (.+) now reaches ([\d.]+) points"
        second, first, whose, half = re.search(said, step.detail).groups()
        row = tables[whose].loc[(second, first)]
        assert float(half) == round(50 * (row["high"] - row["low"]), 1)
        assert "gold" not in step.remedy or whose == "gold labels"
    alone = found_by(seed, (60, 60, 60), has_people=False)
    assert all(" by " not in step.detail for step in steps_about(alone, "minus"))


@pytest.mark.parametrize("seed", range(2))
def test_groups_with_few_gold_labels_get_some_first(seed):
    found = found_by(seed, (40, 40, 9))
    few = steps_about(found, "few gold labels")
    assert few[0].finding == "few gold labels in c"
    assert few[0].remedy == (
        "Get gold labels of more tasks in c, drawn at random, until it has 10, better 50 (now 9, which alone decide "
        "there)."
    )
    assert found.next_steps().index(few[0]) < min(found.next_steps().index(step) for step in steps_about(found, "pre"))
    width = {n: _width(found_by(seed, (40, 40, n)).rates, "c") for n in (9, 50)}
    assert width[50] < 0.7 * width[9]
    assert "in a and b, drawn at random, until each of them has 10" in (
        steps_about(found_by(seed, (7, 5, 40)), "few gold")[0].remedy
    )


def test_nothing_is_asked_for_where_labels_are_enough_or_missing_altogether():
    assert not steps_about(found_by(0, (20, 20, 10)), "few gold labels")
    assert not steps_about(found_by(0, (30, 30, 0)), "few gold labels")  # another step asks for these
    assert not steps_about(found_by(0, (40, 40, 9), half_width=0.45), "few gold labels")


def _width(rates, group):
    row = rates.rates.set_index("group").loc[group]
    return row["high"] - row["low"]
