"""From rows of a table to triples with one value for each pair: returns, and pairs that come again."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact.core.errors import InputError, count
from rectifact.io.columns import WORDS, Options, Plan, View, word
from rectifact.io.matrices import NamedMatrix
from rectifact.io.times import find_times


class Settled(NamedTuple):
    """Triples with one value for each pair, a plan that uses a column of times if they go by it, and what to say.

    ``returned`` has the rows with a negative value, if there are any.
    """

    table: pd.DataFrame
    plan: Plan
    said: tuple[str, ...] = ()
    returned: pd.DataFrame | None = None


def settled(view: View, plan: Plan, table: pd.DataFrame, missing: bool = False) -> Settled:
    """Rows of pairs, with or without values, as triples, by what ``--returns`` and ``--repeats`` say.

    Where pairs that are not listed are missing, values are ratings, and may be negative.
    """
    if 2 not in table:
        return Settled(table, plan, ("added up where a pair is repeated",) * bool(table.duplicated([0, 1]).any()))
    if missing and view.options.returns is None:
        return _one_for_each(view, plan, table)
    done, negative = _settled(view, plan, table), table[2] < 0
    return done._replace(returned=table[negative]) if negative.any() else done


def _settled(view: View, plan: Plan, table: pd.DataFrame) -> Settled:
    """Triples whose values are as ``--returns`` and ``--repeats`` say."""
    if view.options.returns is not None:
        return (_without_returns if view.options.returns == "drop" else _net)(view, plan, table)
    n_negative, refused = int((table[2] < 0).sum()), view.purpose == "embed"
    if refused and n_negative and _asks(view, plan):  # one question less: --returns net adds up
        raise _negative(view, plan, n_negative)
    done = _one_for_each(view, plan, table)
    if refused and n_negative and (done.table[2] < 0).any():
        raise _negative(view, plan, n_negative)
    if not n_negative or not done.said:
        return done
    drop = f" (--returns drop leaves {'it' if n_negative == 1 else 'them'} out)" * (view.purpose == "embed")
    return done._replace(said=(*done.said, f"{_rows(n_negative, plan)} among them{drop}"))


def negatives_set_to_0(path: Path, returns: str | None, stored: tuple[NamedMatrix, str]) -> tuple[NamedMatrix, str]:
    """A matrix without negative values, and what it is with how many they were, as ``--returns drop`` asks for."""
    matrix, what = stored
    if returns is None:
        return stored
    if returns == "net":
        raise InputError(
            f"--returns net is for triples, and {str(path)!r} has one cell for each pair.",
            "Use --returns drop to set its negative values to 0.",
        )
    X: Any = matrix.X.copy() if sp.issparse(matrix.X) else np.asarray(matrix.X)
    returned = sp.csr_array(X < 0, dtype=float)
    if sp.issparse(X):
        X.data = np.maximum(X.data, 0)
        X.eliminate_zeros()
    else:
        X = np.maximum(X, 0)  # NaN stays
    said = f"{what}, with {count(returned.nnz, 'negative value')} set to 0"
    return replace(matrix, X=X, returned=returned), said


def refuse_options_of_triples(path: Path, options: Options, what: str) -> None:
    """Refuse what is said about pairs where there are none."""
    given = {"--repeats": options.repeats, "--ignore-case": options.ignore_case, "--drop-unnamed": options.drop_unnamed}
    for name, value in given.items():
        if value:
            remedy = "Leave it out, or name the columns of triples with --triples."
            raise InputError(f"{name} is for triples, and {str(path)!r} is {what}.", remedy)


def _without_returns(view: View, plan: Plan, table: pd.DataFrame) -> Settled:
    """Triples without rows that have a negative value."""
    negative = table[2] < 0
    done = _one_for_each(view, plan, table[~negative])
    return done._replace(said=(*done.said, f"{_rows(int(negative.sum()), plan)} left out"))


def _net(view: View, plan: Plan, table: pd.DataFrame) -> Settled:
    """Triples whose negative values are subtracted from the others of the same pair, down to 0."""
    if view.options.repeats not in {None, "sum"}:
        raise InputError(
            f"--returns net adds up the values of a pair, and --repeats {view.options.repeats} does not.",
            "Leave out --repeats, or use --returns drop.",
        )
    n_negative, found = int((table[2] < 0).sum()), once(table, "sum")
    below = found[2] < 0
    more = f", and {count(int(below.sum()), 'pair')} with more returned than sold set to 0" if below.any() else ""
    found[2] = found[2].clip(lower=0.0)
    added = ("added up where a pair is repeated",) * bool(len(found) < len(table))
    return Settled(found, plan, (*added, f"{_rows(n_negative, plan)} subtracted{more}"))


def _rows(n: int, plan: Plan) -> str:
    return f"{count(n, 'row')} with a negative {plan.columns[2]!r}"


def _negative(view: View, plan: Plan, n_negative: int) -> InputError:
    """What to do about negative values: they may be returns, or a scale that goes below 0."""
    has = f"{view.where} has {_rows(n_negative, plan)}, where nothing may be below 0"
    return InputError(
        f"{has}.",
        "If these are returns, use --returns net to subtract them from what was sold, or --returns drop to leave them "
        "out; if they are ratings on a scale that goes below 0, add --missing.",
    )


def _asks(view: View, plan: Plan) -> bool:
    """Whether nobody has said what values of one pair are to become; counts are added up."""
    return view.options.repeats is None and word(plan.columns[2]) not in WORDS["count"]


def _one_for_each(view: View, plan: Plan, table: pd.DataFrame) -> Settled:
    """One value for each pair, and how it came about where a pair has several."""
    n_twice, repeats = int(table.duplicated([0, 1]).sum()), view.options.repeats
    if not n_twice:
        return Settled(table, plan)
    if _asks(view, plan):
        raise InputError(
            f"{view.where} has {count(n_twice, 'value')} for pairs of {plan.columns[0]!r} and "
            f"{plan.columns[1]!r} that have one already.",
            "Say which counts: --repeats last, first, mean or sum.",
        )
    if repeats in {"first", "last"}:
        return _by_time(view, plan, table, str(repeats))
    how = "the mean of them" if repeats == "mean" else "added up"
    return Settled(once(table, repeats or "sum"), plan, (f"{how} where a pair is repeated",))


def _by_time(view: View, plan: Plan, table: pd.DataFrame, repeats: str) -> Settled:
    """The first or last value of each pair in time, where one column says when, and else in the file."""
    when = find_times(view, plan.unused)
    if when.column is None:
        why = f" ({when.why_not})" if when.why_not else ""
        said = f"the {repeats} of them in the file where a pair is repeated{why}"
        return Settled(once(table, repeats), plan, (said,))
    ordered = table.loc[when.times.loc[table.index].sort_values(kind="stable").index]
    kept = once(ordered, repeats).sort_index()  # rows and columns stay in the order of the file
    plan = replace(plan, unused=tuple(name for name in plan.unused if name != when.column))
    return Settled(kept, plan, (f"the {repeats} of them by {when.column!r} where a pair is repeated",))


def once(table: pd.DataFrame, repeats: str) -> pd.DataFrame:
    """Triples with one value for each pair: that of its first or last row, or the mean or sum of all.

    Examples
    --------
    >>> import pandas as pd
    >>> once(pd.DataFrame({0: ["a", "a", "b"], 1: ["x", "x", "x"], 2: [1.0, 3.0, 5.0]}), "mean")[2].tolist()
    [2.0, 5.0]
    """
    if repeats in {"first", "last"}:
        return table.drop_duplicates([0, 1], keep="first" if repeats == "first" else "last")
    return table.groupby([0, 1], sort=False)[2].agg(repeats).reset_index()
