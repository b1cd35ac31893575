"""What rectifact embed writes and shows besides the embedding: neighbours, and how good predictions are."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact.cli.embed_values import above_zero, differ_much, ranking_in_units, remedy_of_units, without_columns
from rectifact.cli.how_many import Found
from rectifact.cli.reading import names_in
from rectifact.cli.tables import retitled
from rectifact.cli.terminal import progress, say
from rectifact.core.errors import InputError, count
from rectifact.io.columns import quoted
from rectifact.io.matrices import NamedMatrix, numbered
from rectifact.io.other_columns import about_other_columns
from rectifact.io.stray_texts import codes_in
from rectifact.latent.data import large_values, largest_column, unit_column
from rectifact.latent.filling import Comparison, compare_with_means, unit_of
from rectifact.latent.how_many import RECURS
from rectifact.latent.ranking import compare_with_popularity
from rectifact.latent.scales import missing_codes, stray_values
from rectifact.selection.points import NOTHING

SHOWN = 5
"""Names that a sentence lists."""

MOST_COLUMNS, MANY = 200, 0.2
"""Columns up to which the error of each is told, and share of those checked that must be predicted no better than by
their means to be named, unless their cells are filled in."""

MANY_ZEROS = 0.3
"""Share of the values from which on zeros are what nothing was counted, and not one value among others."""


def check_gaps(matrix: Any, allowed: bool) -> None:
    """Refuse missing values by the names of their row and column, before some rows of them are taken."""
    if not allowed:
        _refuse(matrix, np.isnan, "missing", "Fill it in, or drop the row; --missing takes it as missing.")


def check_negative(matrix: Any) -> None:
    """Refuse negative values by the names of the first row and column; counts, unlike measurements, have a zero."""
    remedy = "Set them to 0 if they are noise, or shift the data."
    found, what, leave_out = about_other_columns(matrix.X, numbered(matrix.columns, matrix.X.shape[1]))
    if found and (np.asarray(matrix.X)[:, found] < 0).any():
        raise InputError(f"{what} Some of their values are negative.", leave_out)
    if are_counts(matrix.X):
        remedy = "Negative counts may be returns: --returns drop sets them to 0."
    _refuse(matrix, lambda values: values < 0, "negative", remedy)


def are_counts(X: Any) -> bool:
    """Whether all values are whole numbers, many of them 0.

    Examples
    --------
    >>> are_counts(np.array([[2, 0, 0], [-1, 0, 5]])), are_counts(np.array([[-3, 2], [1, -1]]))
    (True, False)
    """
    values = np.asarray(X.data if sp.issparse(X) else X, dtype=float)
    known = values[~np.isnan(values)]
    many = sp.issparse(X) or np.mean(known == 0) >= MANY_ZEROS if known.size else False
    return bool(many and (known == np.round(known)).all())


def check_codes(text: str | None) -> tuple[float, ...] | None:
    """Numbers that mean a missing value; None if they are to be looked for, and nothing if there are none."""
    if text is None:
        return None
    return codes_in(names_in(text))[0]


def without_codes(matrix: Any, codes: tuple[float, ...] | None) -> Any:
    """The matrix with NaN for these numbers, and a line that says how many there were."""
    if not codes:
        return matrix
    X: Any = matrix.X.copy() if sp.issparse(matrix.X) else np.array(matrix.X, dtype=float)
    values = X.data if sp.issparse(X) else X
    coded = np.isin(values, codes)
    values[coded] = np.nan
    say(f"{count(int(coded.sum()), 'cell')} with {' or '.join(f'{code:g}' for code in codes)} read as missing.")
    return replace(matrix, X=X)


def check_entries(
    matrix: Any, codes: tuple[float, ...] | None = (), values: str = "raw", *, gaps: bool, in_chunks: bool
) -> Any:
    """The matrix with codes of missing values as NaN; refuses what cannot be embedded, in chunks when it is computed.

    That is a single row or column, negative values, codes of missing values, and missing ones unless there may be gaps.
    """
    if in_chunks:
        return matrix
    _check_shape(matrix.X)
    _refuse(matrix, np.isinf, "infinite", "Correct it, or leave its cell empty and add --missing.")
    check_gaps(matrix, gaps)
    if codes is None:
        _refuse_codes(matrix.X)
    matrix = without_codes(matrix, codes)
    matrix = above_zero(matrix, values) if gaps else matrix
    check_negative(matrix)
    if values == "raw" and sp.issparse(matrix.X) and not gaps and (found := large_values(matrix.X)):
        say(f"{found} With --values log, all values count.")  # before a long fit, and with a remedy after it
    return matrix


def _check_shape(X: Any) -> None:
    """Refuse a single row or column: dimensions are what several have in common."""
    for n, noun in zip(X.shape, ("row", "column"), strict=True):
        if n < 2:
            raise InputError(
                f"The data has only {n} {noun}, and dimensions are what several {noun}s have in common.",
                f"Give data with more {noun}s.",
            )


def _refuse_codes(X: Any) -> None:
    """Refuse values such as 99 that stand for missing ones, by the option that reads them so."""
    said, codes = missing_codes(X)
    if codes and not (codes[0] < 0 and are_counts(X)):  # negative counts may be returns
        named = ",".join(f"{code:g}" for code in codes)
        raise InputError(
            said,
            f"Add --missing-values={named} to read {'it' if len(codes) == 1 else 'them'} as missing, or "
            "--missing-values=none if that is what was measured.",
        )


def _refuse(matrix: Any, test: Any, what: str, remedy: str) -> None:
    """Refuse values that pass the test, by the names of the first row and column."""
    X: Any = sp.coo_array(matrix.X) if sp.issparse(matrix.X) else np.asarray(matrix.X, dtype=float)
    bad = test(X.data if sp.issparse(X) else X)
    if not bad.any():
        return
    row, column = (axis[bad][0] for axis in X.coords) if sp.issparse(X) else np.argwhere(bad)[0]
    names = ((matrix.rows, "row", row), (matrix.columns, "column", column))
    places = [f"{axis} {str(own[i])!r}" if own is not None else f"{axis} {i + 1}" for own, axis, i in names]
    raise InputError(
        f"{count(int(bad.sum()), 'value')} of the data {'is' if bad.sum() == 1 else 'are'} {what}, the first in "
        f"{places[0]}, {places[1]}.",
        remedy,
    )


def check_for_chunks(coordinates: str | None, values: str, scale: str) -> None:
    """Refuse what needs the whole matrix, which is in chunks."""
    if coordinates == "positions":
        raise InputError(
            "Positions need a matrix in memory, and this one is in chunks.", "Use --coordinates embedding."
        )
    if values != "raw":
        raise InputError(f"--values {values} needs a matrix in memory.", "Write chunks with values of that kind.")
    if scale != "none":
        raise InputError(f"--scale {scale} needs a matrix in memory.", "Divide the columns before you write chunks.")


@dataclass(frozen=True)
class Judgement:
    """What to know before the result is used: sentences with a remedy each, and how good predictions are."""

    warnings: list[str]
    summary: dict[str, Any]
    notes: dict[str, str]


def compared_with_means(model: Any, matrix: Any) -> Comparison | None:
    """How well the model predicts what was hidden from a second fit, next to means."""
    with progress("checking predictions"):
        return compare_with_means(model, matrix.X)


def judge(
    model: Any,
    matrix: Any,
    values: str,
    recommend: int | None,
    compared: Comparison | None,
    spreads: Any = None,
    others: tuple[list[int], str, str] = ([], "", ""),
    *,
    fill: bool = False,
) -> Judgement:
    """Say and return how well the model predicts what was hidden, and what to know about the data."""
    with progress("checking predictions"):
        found = compare_with_popularity(model, matrix.X, recommend) if recommend else None
    found = ranking_in_units(found, matrix.shift)
    (odd, *about), notes = others, {"values": values}
    data = _about_data(*without_columns(matrix, spreads, odd), model) or _about_data(matrix, spreads, model)
    warnings = [*[" ".join(about)] * bool(odd), *data, *_unknown(matrix, model), *_unstable(model)]
    notes |= {"shift": repr(matrix.shift)} if matrix.shift else {}
    notes |= {} if spreads is None else {"scale": "standard"}
    notes |= {"triples": json.dumps(matrix.triples)} if matrix.triples else {}
    summary: dict[str, Any] = {}
    if compared is not None:
        summary["hidden"] = compared.figures | _by_name(compared, matrix, spreads, gaps=model.missing is not None)
        unit = unit_of(notes)
        say(f"{compared.sentence}{f' These are errors{unit}.' if unit else ''}")
        doubt = [] if compared.better else [f"{compared.no_better} Do not take its predictions for values."]
        if model.missing is not None:
            warnings += worse_columns(compared, matrix, fill=fill, scaled=spreads is not None)
        warnings = [*doubt, *warnings]
    if found is not None:
        say(found.sentence)
        summary["recommendations"], notes["recommendations"] = asdict(found), found.sentence
        warnings += [found.advice] if found.advice else []
        notes["recommendations"] += f" {found.advice}" if found.advice else ""
    for warning in warnings:
        say(f"Note: {warning}")
    return Judgement(warnings, summary, notes)


def _by_name(compared: Comparison, matrix: Any, spreads: Any, *, gaps: bool) -> dict[str, Any]:
    """Columns predicted worse or no better than by their means, and the errors of each, unless they are many."""
    names = numbered(matrix.columns, matrix.X.shape[1])
    kinds = ("worse_columns", "no_better_columns") if gaps else ()
    worse: dict[str, Any] = {kind: [str(names[j]) for j in getattr(compared, kind)] for kind in kinds}
    if not gaps or len(compared.by_column) > MOST_COLUMNS:
        return worse
    units = np.ones(len(names)) if spreads is None else spreads
    found = {}
    for name, unit, (n, ours, mean) in zip(names, units.tolist(), compared.by_column, strict=True):
        found[str(name)] = {"n_hidden": n, "model": unit * ours if n else None, "mean": unit * mean if n else None}
    return worse | {"by_column": found}


def worse_columns(compared: Comparison, matrix: Any, *, fill: bool, scaled: bool) -> list[str]:
    """Columns that a model, which is better altogether, predicts worse than their means, or maybe no better.

    These are told apart by chance; they are named if they are many, or to be filled. Where the model is not better
    altogether, cells are filled in by means.
    """
    worse, no_better, n_checked = compared.worse_columns, compared.no_better_columns, len(compared.checked_columns)
    if not compared.better or not no_better or not (fill or len(no_better) >= MANY * n_checked):
        return []
    names, of = numbered(matrix.columns, matrix.X.shape[1]), f"of {count(n_checked, 'column')} that could be checked"
    unsure, said = [j for j in no_better if j not in worse], []
    if worse:
        verb, rely = "is" if len(worse) == 1 else "are", " Do not rely on what is filled in there." * fill
        said.append(
            f"{len(worse):,} {of} {verb} predicted worse than by the mean of the column: {listed(names[worse])}."
        )
        said[0] += rely
    if unsure:
        may = " What is filled in there may be no better." * fill
        said.append(
            f"For {len(unsure):,} {of}, hidden entries do not show that the model predicts better than the mean of the "
            f"column: {listed(names[unsure])}.{may}"
        )
    if not scaled and not sp.issparse(matrix.X) and differ_much(matrix.X):
        said[-1] += " Use --scale standard if columns are in different units."
    return said


def _unstable(model: Any) -> list[str]:
    """Dimensions that halves of the samples do not share, if that is known and more than one was found."""
    stability = getattr(model, "stability_", ())
    lost = [f"{i + 1} ({value:.2f})" for i, value in enumerate(stability) if value < RECURS]
    if not lost or len(stability) < 2:
        return []
    what = f"Dimension {lost[0]} is" if len(lost) == 1 else f"Dimensions {', '.join(lost[:-1])} and {lost[-1]} are"
    return [f"{what} not found again in halves of the samples. Do not interpret {'it' if len(lost) == 1 else 'them'}."]


def _about_data(matrix: Any, spreads: Any, model: Any) -> list[str]:
    """A column or a few values that decide the result, and what to do."""
    if model.resolved_["link"] != "relu":
        return []
    if stray := stray_values(matrix.X):
        return [f"{stray} Check whether they are mistakes: they decide much of the result."]
    column, share = unit_column(matrix.X)
    if not share and (found := large_values(matrix.X)):
        return [f"{found} Use --values log, or --values binary to count only what is present."]
    column, share = (column, share) if share else largest_column(matrix.X)
    name = str(numbered(matrix.columns, matrix.X.shape[1])[column])
    what = f"The column {name!r} holds {share:.0%} of the squares of the data, and decides the result."
    remedy = "Use --values log, or --values binary to count only what is present."
    remedy = remedy if sp.issparse(matrix.X) else remedy_of_units(matrix, column, quoted(name), spreads)
    return [f"{what} {remedy}"] if share else []


def nothing_known(X: Any, gaps: bool) -> Any:
    """Which samples have no known value, or no positive one where none are missing."""
    if sp.issparse(X):
        return np.diff(sp.csr_array(X).indptr) == 0 if gaps else sp.csr_array(X > 0).sum(axis=1) == 0
    return np.isnan(X).all(axis=1) if gaps else ~(np.asarray(X) > 0).any(axis=1)


def listed(names: Any) -> str:
    """A few names, in quotes."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(str(name)) for name in names[:SHOWN]) + more


def _unknown(matrix: Any, model: Any) -> list[str]:
    """Samples of a fit of which no value is known, or which have nothing but zeros."""
    gaps = model.missing is not None
    empty = numbered(matrix.rows, matrix.X.shape[0])[nothing_known(matrix.X, gaps=gaps)]
    one = len(empty) == 1
    kind = "no known value" if gaps else "no value above 0"
    such = f"{'1 sample has' if one else f'{len(empty):,} samples have'} {kind}: {listed(empty)}."
    placed = "It is placed at the mean, and its" if one else "They are placed at the mean, and their"
    said = f"{placed} neighbours, filled cells and recommendations say nothing."
    if not gaps:
        rest = "Recommendations and neighbours rest on nothing that"
        said = f"{rest} {'it has' if one else 'they have'}; leave out such rows if they were not observed."
    return [f"{such} {said}"] if len(empty) else []


def joined_verdict(chosen: Found, matrix: Any, *, structure: bool) -> Found:
    """The choice, with large values named where it found nothing and they may be why, and with rare kinds."""
    selection, X = chosen.selection, matrix.X
    more = selection is not None and 1 < selection.best < min(X.shape[0] // 2, X.shape[1] - 1) - 3
    if selection is not None and more and structure:
        lost = "Kinds of samples that are rare, or large and much alike, may not show apart"
        rare = f"{lost}: compare with -k {selection.best + 3} where they matter."
        return replace(chosen, selection=replace(selection, reason=f"{selection.reason} {rare}"))
    if selection is None or not selection.reason.startswith(NOTHING):
        return chosen
    column, share = (0, 0.0) if sp.issparse(X) else unit_column(X)
    if not share and not large_values(X):
        return chosen
    name = str(numbered(matrix.columns, X.shape[1])[column])
    why = f"The column {name!r} decides the score: use --scale standard"
    why = why if share else "A few large values decide the score: use --values log"
    reason = f"{selection.reason} {why} before you believe it."
    return replace(chosen, selection=replace(selection, reason=reason))


def suggested(model: Any, matrix: NamedMatrix, n: int | None, samples: Any, features: Any) -> pd.DataFrame:
    """Recommendations in the user's words for rows and columns; what was returned is not recommended again."""
    best = model.recommend(matrix.X, n, samples=samples, features=features, exclude=matrix.returned)
    if matrix.returned is not None and matrix.returned.nnz:
        say(f"What a sample has returned is not recommended to it: {count(matrix.returned.nnz, 'pair')}.")
    best["score"] -= matrix.shift
    return retitled(best, matrix.row_title, matrix.column_title)


def neighbours(model: Any, matrix: NamedMatrix, axis: Any, n: int | None, samples: Any, features: Any) -> pd.DataFrame:
    """The rows or columns most like each of them, by name, in the user's words for them."""
    names = samples if axis == "rows" else features
    numbers = {"samples": np.arange(len(samples)), "features": np.arange(len(features))}  # names may repeat
    table = model.similar(np.arange(len(names)), n, axis=axis, X=matrix.X, **numbers)
    table["item"], table["neighbour"] = names[table["item"]], names[table["neighbour"]]
    title = matrix.row_title if axis == "rows" else matrix.column_title
    return table.rename(columns={"item": title}) if title not in table else table
