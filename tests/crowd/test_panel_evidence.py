"""Judges that pass the test for replacing people with few people, or few common tasks, behind it."""

import numpy as np
import pandas as pd
import pytest

from rectifact import evaluate
from rectifact.crowd.evaluation import Evaluation
from rectifact.crowd.replacement import MAY, RESERVED


def found_by(n_people: int, n_common: int, seed: int = 3) -> Evaluation:
    """Judges as good as people, who answered the first tasks."""
    rng = np.random.default_rng(seed)
    truth = rng.random(300) < 0.5
    table = pd.DataFrame({"task": np.arange(300)})
    for name in ("gpt", "claude", "llama"):
        table[name] = np.where(rng.random(300) < 0.95, truth, ~truth).astype(int)
    for person in range(n_people):
        said = np.where(rng.random(300) < 0.9, truth, ~truth).astype(float)
        table[f"person {person}"] = np.where(np.arange(300) < n_common, said, np.nan)
    people = [f"person {person}" for person in range(n_people)]
    return evaluate(table, people=people, positive=1, wide=True)


@pytest.mark.filterwarnings("ignore:.* tie were left out")
def test_two_people_are_a_reservation_with_the_number_that_is_enough() -> None:
    found = found_by(2, 300)
    assert set(found.replacement.judges["decision"]) == {RESERVED}
    assert found.replacement.judges["reservation"].str.contains("2 people only, where 3 would be enough").all()
    assert "may replace people" not in " ".join(found.decision()).replace("no judge may replace people", "")
    assert "compared with 2 people only, where 3 would be enough" in " ".join(found.decision())
    assert any("Let 1 more person answer" in step.remedy for step in found.next_steps())


def test_few_common_tasks_are_a_reservation_with_the_number_that_is_enough() -> None:
    found = found_by(3, 32)
    assert MAY not in set(found.replacement.judges["decision"])
    assert "compared on 32 tasks per person only, where about 50 would be enough" in " ".join(found.decision())
    assert any("answer about 50 tasks that another person answers too" in step.remedy for step in found.next_steps())


def test_three_people_with_many_tasks_are_enough() -> None:
    found = found_by(3, 300)
    assert MAY in set(found.replacement.judges["decision"])
    assert not found.replacement.judges["reservation"].str.contains("only, where").any()


def test_the_table_of_workers_has_the_biases_of_the_text() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(300) < 0.5
    table = pd.DataFrame({"task": np.arange(300)})
    for name in ("gpt", "claude", "lax"):
        right = rng.random(300) < 0.85
        table[name] = np.where(right | (name == "lax") & ~truth & (rng.random(300) < 0.7), truth, ~truth).astype(int)
    table["lax"] = np.where(rng.random(300) < 0.3, 1, table["lax"])
    found = evaluate(table, gold=dict(enumerate(truth[:60].astype(int))), positive=1, wide=True)
    shown, measured = found.workers().set_index("worker"), found.biases.table.set_index("worker")
    assert shown["bias_1"].to_dict() == measured["bias"].to_dict()
    assert set(shown["bias_by"]) == {"gold labels"}
    assert "bias_0" not in shown
