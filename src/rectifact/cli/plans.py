"""What to label next and whom to ask, for the commands that plan: checks, the table, and how many answers it takes."""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rectifact.cli.outcome import say_warnings
from rectifact.cli.tables import check_table_name, named_as_read, write_table
from rectifact.cli.terminal import STDOUT, say
from rectifact.core.errors import FitWarning, InputError, count
from rectifact.core.validation import check_positive
from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.audit import LEAST_GOLD, Audit
from rectifact.crowd.advice.budget import expected_error
from rectifact.crowd.advice.foresight import Needed, check_target
from rectifact.crowd.advice.planning import LEAST_GAIN
from rectifact.crowd.data.names import split_names
from rectifact.crowd.data.prices import can_be_asked

MOST_PLANNED = 1000  # rows of a plan, the most useful first
MOST_OF_IT, LEAST_ROWS = 0.8, 5  # of the gain, in a plan of so many rows
MOST_BOUGHT = 20_000  # answers of a plan in money


@dataclass(frozen=True)
class Planning:
    """Options of a plan; ``ask`` are names with commas."""

    path: Path | None
    costs: Path | None = None
    budget: float | None = None
    target: float | None = None
    ask: str | None = None

    def check(self) -> None:
        """Refuse, before the work, what could not be planned or written."""
        check_positive(budget=self.budget, target=self.target)
        check_target(self.target, "target")
        if self.path is None and (self.budget is not None or self.ask is not None):
            option = "--budget" if self.budget is not None else "--ask"
            raise InputError(f"{option} is for a plan.", "Name its file: --plan plan.csv.")
        if self.path == STDOUT:
            raise InputError(
                "Only the labels can go to the standard output.", "Name a file for --workers and for --plan."
            )
        if self.path is not None:
            check_table_name(self.path)

    def asked(self, default: Sequence[Any] | None = None) -> list[Any] | None:
        """Who may be asked: those named, or else ``default``, unless there are prices."""
        if self.ask is not None:
            return split_names(self.ask)
        return None if default is None or self.costs is not None else list(default)

    def check_names(self, model: DawidSkene) -> None:
        """Refuse workers who gave no answers, before anything is written."""
        if self.path is not None and self.ask is not None:
            can_be_asked(self.asked(), model.tasks_[:0], model.workers_)

    def basis(self, model: DawidSkene, audit: Audit | None, gold: Any) -> DawidSkene:
        """The model that a plan goes by: calibrated by gold labels where these do not bear out its confidence."""
        asked = any(value is not None for value in (self.path, self.costs, self.target))
        if not asked or audit is None or not audit.is_too_sure or hasattr(model, "calibration_"):
            return model
        short = "The gold labels do not bear out the confidence of the labels, so that the plan promises too much."
        if audit.is_contradicted:
            warnings.warn(FitWarning(short, "Do not go by it before the gold labels are checked."), stacklevel=2)
            return model
        if audit.n_gold < LEAST_GOLD:
            remedy = f"Give at least {LEAST_GOLD} gold labels, better 100, with --calibrate."
            warnings.warn(FitWarning(short, remedy), stacklevel=2)
            return model
        what = (
            "The gold labels do not bear out the confidence of the labels, so planning goes by lower confidence, which "
            "they have calibrated."
        )
        warnings.warn(FitWarning(what, "For such confidence beside the labels too, add --calibrate."), stacklevel=2)
        with warnings.catch_warnings(action="ignore"):  # of few gold labels, which change no label here
            return copy(model).calibrate(gold)

    def needed(self, model: DawidSkene, default: Sequence[Any] | None = None) -> Needed | None:
        """Answers needed for the target or, for the report alone, for half the error; None if nothing asks for it."""
        if self.target is None and self.costs is None:
            return None
        wanted = max(expected_error(model.probas_) / 2, 1e-6) if self.target is None else self.target
        return model.labels_needed(wanted, costs=self.costs, workers=self.asked(default))

    def table(self, model: DawidSkene, default: Sequence[Any] | None = None) -> pd.DataFrame | None:
        """The plan, where one was asked for or prices are given; without either, None."""
        if self.path is None and self.costs is None:
            return None
        if not self._buys(default):
            return model.next_labels(min(len(model.tasks_), MOST_PLANNED))
        options: dict[str, Any] = {"costs": self.costs, "budget": self.budget, "target_error": self.target}
        return model.next_labels(self._most, workers=self.asked(default), **options)

    def _buys(self, default: Sequence[Any] | None) -> bool:
        """Whether answers are planned one by one."""
        return any(value is not None for value in (self.costs, self.budget, self.target, self.asked(default)))

    @property
    def _most(self) -> int:
        return MOST_PLANNED if self.budget is None and self.target is None else MOST_BOUGHT

    def write(
        self,
        model: DawidSkene,
        default: Sequence[Any] | None = None,
        *,
        shown: bool = False,
        audit: Audit | None = None,
    ) -> pd.DataFrame | None:
        """Write the plan, if one was asked for, and say what it promises; ``shown`` in a report, it is returned.

        The ``audit`` is that of gold labels by which the model may be calibrated.
        """
        with warnings.catch_warnings(record=True, action="always") as caught:
            table = None if self.path is None and not shown else self.table(model, default)
        say_warnings(caught, "labels")
        if self.path is None or table is None:
            return table
        named = model._answers.columns, model._answers.task_parts
        if self._buys(default):
            write_table(named_as_read(table, *named), self.path)
            if not caught:  # else it promises nothing
                self._promise(table, model, audit)
            return table
        asked = table.assign(workers=table["workers"].map(lambda names: "; ".join(map(str, names))))
        write_table(named_as_read(asked, *named), self.path)
        say(
            f"The plan has {len(table)} of {len(model.tasks_)} tasks: those where one more answer is expected to "
            f"provide {LEAST_GAIN} bits or more, up to a limit of {MOST_PLANNED} tasks."
        )
        if len(table) and not table["workers"].map(len).any():
            say("Every worker has answered every task of the plan: let somebody new answer these tasks.")
        return table

    def _promise(self, bought: pd.DataFrame, model: DawidSkene, audit: Audit | None) -> None:
        error, spent, after = expected_error(model.probas_), 0.0, expected_error(model.probas_)
        if len(bought):
            spent, after = bought["spent"].iloc[-1], bought["error"].iloc[-1]
            error = bought["error"].iloc[0] + bought["gain"].iloc[0] / len(model.tasks_)
        money = (
            f"buys {count(len(bought), 'answer')} for {spent:,.2f}"
            if self.costs is not None
            else (f"asks for {count(len(bought), 'answer')}")
        )
        basis = _basis_words(model, audit)
        promise = f"after which {after:.1%} of the labels are expected to be wrong ({error:.1%} now{basis})"
        say(f"The plan {money}, {promise}.{most_gained(bought)}")
        missed = self.target is not None and after > self.target
        limited = self.budget is not None or self.target is not None
        if len(bought) < self._most and (missed or not limited):
            say("Further answers from these workers are hardly expected to change any labels, so the plan ends here.")


def _basis_words(model: DawidSkene, audit: Audit | None) -> str:
    """Whether errors are expected by gold labels or, where there are some, by the model alone."""
    if hasattr(model, "calibration_"):
        return ", by the gold labels"
    if audit is None:
        return ""
    enough = audit.n_gold >= LEAST_GOLD and not audit.is_contradicted
    return f", by the model{'; add --calibrate to go by the gold labels' if enough else ''}"


def most_gained(plan: pd.DataFrame) -> str:
    """After how many answers of a plan most of what it gains is there, as a sentence; empty if that takes nearly all.

    Examples
    --------
    >>> most_gained(pd.DataFrame({"gain": [0.5, 0.4, 0.05, 0.03, 0.02]}))
    ' The first 2 answers bring 80% of that gain.'
    """
    gained = plan["gain"].cumsum().to_numpy()
    if len(gained) < LEAST_ROWS or gained[-1] <= 0:
        return ""
    first = int((gained < MOST_OF_IT * gained[-1]).sum()) + 1
    return (
        "" if first > MOST_OF_IT * len(gained) else f" The first {first} answers bring {MOST_OF_IT:.0%} of that gain."
    )


def promised(needed: Needed | None) -> dict[str, Any]:
    """Answers that are needed, for scripts."""
    if needed is None:
        return {}
    return {"needed": {"target": needed.target, "answers": needed.answers, "cost": needed.cost}}
