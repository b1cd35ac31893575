"""Numbers of parts: why one was chosen, and what to do where none is stable."""

from dataclasses import replace

from rectifact.cli.how_many import Found
from rectifact.parts.how_many import RECURS
from rectifact.parts.terms import Terms
from rectifact.selection import Selection
from rectifact.selection.choice import most_stable
from rectifact.selection.points import NOTHING

ABOVE = "The most stable number"
"""How the sentence of a reason begins that names larger numbers."""


def in_terms(found: Found, terms: Terms, n_samples: int) -> Found:
    """What was found, with the reason for the choice in the words of the data."""
    if found.selection is None:
        return found
    reason, measure = terms.put(found.selection.reason), terms.put(found.selection.measure)
    if number := _unconfirmed(found.selection):
        reason = (
            f"{NOTHING}: {number} is the smallest number of {terms.part}s that predicts as well as any, but they do "
            f"not recur in both halves of the {n_samples} {terms.sample}s{_measured(found.selection, number)}, which "
            "may be too few to confirm them."
        )
        if found.selection.best > 1:
            reason += f" {found.selection.best} is the smallest number that was asked for."
    elif ABOVE in reason:
        reason += f" To see more {terms.part}s, try {_options(_larger(found.selection))}."
    return replace(found, selection=replace(found.selection, reason=reason, measure=measure))


def _larger(selection: Selection) -> list[tuple[int, float]]:
    """The most stable numbers above the one that was chosen, with their stability."""
    known = selection.table.dropna(subset=["stability"])
    return most_stable(dict(zip(known["k"].tolist(), known["stability"].tolist(), strict=True)), selection.best)


def _options(numbers: list[tuple[int, float]]) -> str:
    return " or ".join(f"-k {k}" for k, _ in numbers)


def _measured(selection: Selection, number: int) -> str:
    """The mean stability of this many, in brackets, if it was measured."""
    known = selection.table.loc[selection.table["k"] == number, "stability"].dropna()
    return "" if known.empty else f" (mean stability {known.iloc[0]:.2f}, and {RECURS:g} is asked for)"


def _unconfirmed(selection: Selection) -> int:
    """The smallest number that predicts as well as any, where a lower one was taken as it does not recur; else 0."""
    table = selection.table.dropna(subset=["score", "standard_error"])
    if not selection.reason.startswith(NOTHING) or table.empty:
        return 0
    as_good = table.loc[table["score"].max() - table["score"] <= table["standard_error"], "k"]
    return 0 if (as_good <= selection.best).any() else int(as_good.min())


def all_the_same(selection: Selection, terms: Terms) -> str:
    """What to do where no number of parts is stable: look at those that come closest, whatever predicts best."""
    larger = _larger(selection)
    if not larger:
        return f"Do not read much into the {terms.part}s."
    listed = " and ".join(f"{value:.2f}" for _, value in larger)
    look = f"Look at {_options(larger)}, the most stable above {selection.best} (mean stability {listed})"
    return f"{look}, or add {terms.sample}s." if _unconfirmed(selection) else f"{look}, but do not read much into them."
