"""How many parts, dimensions or clusters: ``-k`` as a number, a range or auto, and how far each can be trusted."""

import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from rectifact.cli.terminal import is_shown, progress, say, say_table
from rectifact.core.errors import InputError, count
from rectifact.core.monitor import Row, Step, watching
from rectifact.parts.base import PartsTransformer
from rectifact.selection import Assessment, Selection, assess, select
from rectifact.selection.choice import MOST

COLUMNS = {
    "score": ("score", ".5g"),
    "±": ("standard_error", ".1g"),
    "stability": ("stability", ".2f"),
    "seconds": ("seconds", ".2f"),
}
"""Columns of the table on the terminal, with the names and formats of their values."""

MOST_ROWS = 15
"""Rows of the table on the terminal: the choice, the best score, those with a stability, and the nearest others."""

ROUNDING = 1e-12
"""Size below which a score is a rounding error."""

FIRST_LINE, LATER = 10.0, 3.0
"""Seconds after which a search says that it goes on, and by what factor later than the last line the next one comes."""

STILL = "the first run is still going"
"""What a search says before a run has ended."""

BANDS = (
    "Bands: they hold nine tenths of the parts of resampled samples, with this number of parts. They show how far a "
    "part depends on which samples there are; they hold fewer of the true parts."
)
"""What is said about bands."""

FEW_RESAMPLES = 19
"""Resamples below which even their whole range holds less than nine tenths of further ones."""

SHORTEST = 0.005
"""Seconds below which a number was judged along with others."""


def check_numbers(text: str) -> int | range | str:
    """What ``-k`` says: a number, a range of numbers to choose from, or ``"auto"``.

    Examples
    --------
    >>> check_numbers("8"), check_numbers("2-30"), check_numbers("auto")
    (8, range(2, 31), 'auto')
    """
    if text == "auto":
        return text
    found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text.strip())
    if re.fullmatch(r"-\d+", text.strip()):
        raise InputError(f"-k {text} is below 1.", "Give 1 or more.")
    if found is None:
        raise InputError(f"-k {text!r} is neither a number, nor a range such as 2-30, nor auto.", "Give one of them.")
    low, high = int(found[1]), int(found[2] or found[1])
    if low < 1:
        raise InputError(f"-k {text} begins below 1.", "Give 1 or more.")
    if high < low:
        raise InputError(f"-k {text} ends before it begins.", f"Give {high}-{low}.")
    return range(low, min(high, max(low, MOST)) + 1) if found[2] else low


def first_of(numbers: int | range | str) -> int:
    """A number to make the estimator with; that of a range or of auto is chosen later."""
    return numbers if isinstance(numbers, int) else 1


@dataclass(frozen=True)
class Found:
    """A fitted model, how its number was chosen, and how far it can be trusted, as far as that was asked for."""

    model: Any
    selection: Selection | None = None
    trust: Assessment | None = None

    @property
    def stability(self) -> NDArray[Any] | None:
        """One figure per part, dimension or cluster."""
        return getattr(self.model, "stability_", None)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Stability and bands, for an archive of arrays."""
        known = {"stability": self.stability, "stability_range": getattr(self.model, "stability_range_", None)}
        if self.trust is not None:
            known |= {"lower": self.trust.lower, "upper": self.trust.upper}
        return {name: array for name, array in known.items() if array is not None}

    @property
    def summary(self) -> dict[str, Any]:
        """The same and the choice in plain values, for ``--json``."""
        known: dict[str, Any] = {}
        if self.stability is not None:
            known["stability"] = [round(float(value), 4) for value in self.stability]
        if self.selection is not None:
            table = self.selection.table.astype(object).where(self.selection.table.notna(), None)
            known["selection"] = {"table": table.to_dict("records"), "best": self.selection.best}
            known["selection"] |= {"reason": self.selection.reason, "sure": self.selection.sure}
            known["selection"] |= {"measure": self.selection.measure}
        return known

    def with_names(self, columns: Sequence[Any] | None) -> "Found":
        """The same with the names of columns in the reason."""
        return self if self.selection is None else replace(self, selection=self.selection.with_names(columns))

    def say_choice(self) -> None:
        """Show the numbers that were tried, and why one was chosen."""
        if self.selection is not None:
            say_table(choice_table(self.selection))
            say(self.selection.reason)

    def say_stability(self, what: str, meaning: str = "", *, mean: bool = False) -> None:
        """Show the stability of each, if it is known, and what it means; with the mean that tables and reports have."""
        if self.stability is not None and len(self.stability) > 1:
            ranges = getattr(self.model, "stability_range_", None)
            shown = [f"{value:.2f}" for value in self.stability]
            if ranges is not None:
                spans = [[f"{end:.2f}" for end in ends] for ends in np.transpose(ranges)]
                shown = [
                    value if low == high else f"{value} ({low} to {high})"
                    for value, (low, high) in zip(shown, spans, strict=True)
                ]
            shown[-1] += f"; mean {np.mean(self.stability):.2f}" if mean else ""
            say(f"Stability of the {what}{f' ({meaning})' if meaning else ''}: {', '.join(shown)}.")


@dataclass
class Patience:
    """Lines about a search that takes long, where no bar shows it: one after ten seconds, then ever more rarely.

    Examples
    --------
    >>> seconds = iter([0.0, 5.0, 12.0, 25.0, 40.0])
    >>> patience = Patience(clock=lambda: next(seconds), tell=print)
    >>> for _ in range(4):
    ...     patience.see(Step(1, None, {}, 100, True))
    Choosing the number (-k) takes many fits; a number, as in -k 10, takes one. 2 runs in 12 s so far.
    Choosing the number (-k): 4 runs in 40 s so far.
    >>> seconds = iter([0.0, 163.0])
    >>> Patience(clock=lambda: next(seconds), tell=print, lines=1).see(Step(1, None, {}, 100, False))
    Choosing the number (-k): the first run is still going after 163 s.
    """

    clock: Callable[[], float] = perf_counter
    tell: Callable[[str], None] = say
    begun: float = -1.0
    due: float = FIRST_LINE
    runs: int = 0
    lines: int = 0

    def __post_init__(self) -> None:
        self.begun = self.clock()

    def see(self, step: Step) -> None:
        """Take in what a run reports."""
        self.runs += step.ended
        spent = self.clock() - self.begun
        if spent < self.due or is_shown():
            return
        told = f"{count(self.runs, 'run')} in {spent:.0f} s so far" if self.runs else f"{STILL} after {spent:.0f} s"
        first = "Choosing the number (-k) takes many fits; a number, as in -k 10, takes one."
        self.tell(f"Choosing the number (-k): {told}." if self.lines else f"{first} {told[:1].upper()}{told[1:]}.")
        self.due, self.lines = LATER * spent, self.lines + 1


def fit_chosen(model: Any, X: Any, numbers: int | range | str, seed: int = 0) -> Found:
    """Fit the model, with the number given or with the best one, within :func:`rectifact.cli.outcome.fitting`."""
    if isinstance(numbers, int):
        return Found(model.fit(X))
    warned = warnings.catch_warnings(record=True, action="always")
    with _one_interrupt_ends_the_search() as tried, watching(Patience().see), warned as caught:
        callbacks = [*(model.callbacks or ()), tried.append]
        selection = select(model, X, numbers, random_state=seed, callbacks=callbacks)
    for warning in caught:  # the reason says the same
        if str(getattr(warning.message, "what", warning.message)) not in selection.reason:
            warnings.warn(warning.message, stacklevel=2)
    return Found(selection.estimator, selection)


def with_trust(found: Found, X: Any, *, stability: bool, bootstrap: int = 0, seed: int = 0) -> Found:
    """Measure how far each part, dimension or cluster can be trusted, if that was asked for and is not known."""
    if not bootstrap and (not stability or found.stability is not None):
        return found
    with progress(f"fitting {count(bootstrap, 'resample')}" if bootstrap else "measuring stability"):
        trust = assess(found.model, X, bootstrap=bootstrap, random_state=seed)
    if trust.lower is not None:
        held = (bootstrap - 1) / (bootstrap + 1)
        say(BANDS if bootstrap >= FEW_RESAMPLES else BANDS.replace("nine tenths", f"about {held:.0%}"))
    return Found(found.model, found.selection, trust)


def _without_noise(value: float) -> float:
    """A value, or 0 for what rounding leaves of it."""
    return 0.0 if abs(value) < ROUNDING else value


def choice_table(selection: Selection) -> Table:
    """The numbers that matter most, with the choice marked, for people."""
    table = selection.table.reset_index(drop=True)
    told = [title for title, (column, _) in COLUMNS.items() if table[column].notna().any()]
    if not (table["seconds"] >= SHORTEST).any():
        told = [title for title in told if title != "seconds"]
    shown = Table("k", *told, title="How many?", title_justify="left")
    for own in shown.columns:
        own.justify = "right"
    for row in _rows_shown(table, selection.best):
        k, values = (
            table["k"].iloc[row],
            [(table[name].iloc[row], style) for name, style in (COLUMNS[title] for title in told)],
        )
        mark = "> " if k == selection.best else ""
        cells = [f"{_without_noise(value):{style}}" if np.isfinite(value) else "" for value, style in values]
        shown.add_row(f"{mark}{k}", *cells, style="bold" if mark else None)
    left_out = len(table) - min(len(table), MOST_ROWS)
    notes = [f"Score: {selection.measure}."] if "score" in told else []
    if "±" in told:
        notes.append("±: uncertainty of the difference from the highest score; within it, scores cannot be told apart.")
        if np.diff(table["k"]).max(initial=1) > 1:
            notes.append("Numbers between these and far from the best were not tried.")
    if isinstance(selection.estimator, PartsTransformer) and table["stability"].notna().sum() > 1:
        notes.append("Stability: by one split into halves, so about that of -k, for numbers that were soon ruled out.")
    shown.caption = " ".join(notes) + (f" {left_out} more not shown." if left_out else "")
    shown.caption_justify = "left"
    return shown


def _rows_shown(table: Any, best: int) -> list[int]:
    """Rows for the terminal: the choice, the highest score, those whose stability is known, then the nearest."""
    highest = [int(table["score"].argmax())] if table["score"].notna().any() else []  # one group of points has no score
    first = [int(np.flatnonzero(table["k"] == best)[0]), *highest]
    first += np.flatnonzero(table["stability"].notna()).tolist()
    nearest = np.argsort(np.abs(table["k"].to_numpy() - best), kind="stable").tolist()
    return sorted(list(dict.fromkeys([*first, *nearest]))[:MOST_ROWS])


@contextmanager
def _one_interrupt_ends_the_search() -> Iterator[list[Row]]:
    """Say on Ctrl-C that the best number so far is taken; the next one ends the command. Gives the list of trials."""
    tried: list[Row] = []
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield tried
        return

    def end(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if any(row["k"] > 1 for row in tried):
            say(
                "The search ends here, with the best number so far; a whole search may choose another. Press Ctrl-C "
                "again to stop altogether."
            )
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end)
    try:
        yield tried
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
