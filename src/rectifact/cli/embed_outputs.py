"""What rectifact embed writes and shows besides the embedding: neighbours, and how good predictions are."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact.cli.embed_fill import Filling
from rectifact.cli.embed_values import differ_much, ranking_in_units, remedy_of_large, remedy_of_units, without_columns
from rectifact.cli.how_many import Found
from rectifact.cli.tables import retitled
from rectifact.cli.terminal import progress, say
from rectifact.core.errors import count
from rectifact.io.columns import quoted
from rectifact.io.matrices import NamedMatrix, numbered
from rectifact.latent.data import large_values, largest_column, unit_column
from rectifact.latent.filling import Comparison, compare_with_means, unit_of
from rectifact.latent.how_many import RECURS
from rectifact.latent.ranking import compare_with_popularity
from rectifact.latent.scales import stray_values
from rectifact.selection.points import NOTHING

SHOWN = 5
"""Names that a sentence lists."""

MOST_COLUMNS, MANY = 200, 0.2
"""Columns up to which the error of each is told, and share of those checked that must be predicted no better than by
their means to be named, unless their cells are filled in."""


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
    usual = without_columns(matrix, spreads, odd)
    data = _about_data(*usual, values, model) or _about_data(matrix, spreads, values, model)
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


def _about_data(matrix: Any, spreads: Any, values: str, model: Any) -> list[str]:
    """A column or a few values that decide the result, and what to do."""
    if model.resolved_["link"] != "relu":
        return []
    if stray := stray_values(_as_in_the_file(matrix, spreads, values)):
        return [f"{stray} Check whether they are mistakes: they decide much of the result."]
    column, share = unit_column(matrix.X)
    if not share and (found := large_values(matrix.X)):
        return [f"{found} {remedy_of_large(values)}".strip()]
    column, share = (column, share) if share else largest_column(matrix.X)
    name = str(numbered(matrix.columns, matrix.X.shape[1])[column])
    what = f"The column {name!r} holds {share:.0%} of the squares of the data, and decides the result."
    dense = not sp.issparse(matrix.X)
    remedy = remedy_of_units(matrix, column, quoted(name), spreads) if dense else remedy_of_large(values)
    return [f"{what} {remedy}".strip()] if share else []


def _as_in_the_file(matrix: Any, spreads: Any, values: str) -> Any:
    """All values in the units of the file, or those that are stored."""
    X = matrix.X.data if sp.issparse(matrix.X) else np.asarray(matrix.X, dtype=float)
    return Filling(matrix, (None, None), values, spreads).in_units(X)


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


def joined_verdict(chosen: Found, matrix: Any, values: str, *, structure: bool) -> Found:
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
    if not share and (values != "raw" or not large_values(X)):
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
