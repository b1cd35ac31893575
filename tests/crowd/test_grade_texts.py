"""Grades written as text: 4/5, 4 out of 5, stars."""

import numpy as np
import pandas as pd
import pytest

from rectifact import rate
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers

FORMS = ["{}/5", "{} out of 5", "{} stars"]


def table_of(form: str) -> tuple[pd.DataFrame, dict[int, str]]:
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 60)
    rows = [
        {"task": t, "worker": w, "label": form.format(int(np.clip(truth[t] + rng.integers(-1, 2), 1, 5)))}
        for t in range(60)
        for w in "abc"
    ]
    return pd.DataFrame(rows), {t: form.format(truth[t]) for t in range(30)}


@pytest.mark.parametrize("form", FORMS)
def test_grades_as_text_are_read_as_numbers(form: str) -> None:
    answers, gold = table_of(form)
    with pytest.warns(FitWarning, match="are read as numbers"):
        assert read_answers(answers).classes.tolist() == list("12345")
    with pytest.warns(FitWarning, match="are read as numbers"):
        found = rate(answers, gold, mean=True)
    known = rate(*table_of("{}"), mean=True)
    pd.testing.assert_frame_equal(found.rates, known.rates)
    with pytest.warns(FitWarning, match="are read as numbers"):
        share = rate(answers, gold, positive=["4", "5"])
    pd.testing.assert_frame_equal(share.rates, rate(*table_of("{}"), positive=["4", "5"]).rates)


def test_stars_are_counted() -> None:
    answers, _ = table_of("{}")
    stars = answers.assign(label=[int(n) * "★" + (5 - int(n)) * "☆" for n in answers["label"]])
    with pytest.warns(FitWarning, match="'★★★★★' as '5'|are read as numbers"):
        assert read_answers(stars).classes.tolist() == list("12345")


def test_different_scales_are_named() -> None:
    answers, _ = table_of("{}/5")
    mixed = pd.concat([answers, answers.assign(worker="d", label="8/10")])
    with pytest.warns(FitWarning, match="on different scales, such as .*one scale"):
        assert "8/10" in read_answers(mixed).classes.tolist()
