"""rectifact embed --model: new samples in the dimensions of a saved model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rectifact.cli.embed_checks import check_codes, check_negative, without_codes
from rectifact.cli.embed_fill import Filling, write_filled
from rectifact.cli.embed_outputs import (
    compared_with_means,
    listed,
    nothing_known,
    suggested,
    worse_columns,
)
from rectifact.cli.embed_values import as_values, by, divided
from rectifact.cli.outcome import Outcome
from rectifact.cli.reading import READING, Reading
from rectifact.cli.tables import as_json, save_arrays, write_samples, write_table
from rectifact.cli.terminal import say, show_plain
from rectifact.core.errors import InputError, count
from rectifact.graph.spelling import would_be_known
from rectifact.io.matrices import NamedMatrix, numbered
from rectifact.io.partitions import holds_chunks
from rectifact.latent import NMD, LogisticPCA
from rectifact.latent.filling import dense_with_gaps
from rectifact.latent.scales import USUAL, outside
from rectifact.models import SavedModel, load_saved

USED = ("data", "known", "out", "missing", "coordinates", "recommend", "similar", "fill", "as_json", *READING)
"""Parameters of the command that have an effect with ``--model``; gaps are those of the fit."""


@dataclass(frozen=True)
class Places:
    """Where embed writes its tables, and how many recommendations and neighbours.

    Attributes
    ----------
    out : Path
    coordinates : {"positions", "embedding"} or None
        What a table holds; None takes positions where the model has them.
    recommend, similar : int or None
    suggestions : Path or None
        For recommendations.
    alike : dict of str to Path
        For neighbours of ``rows`` and ``columns``.
    fill : Path or None
    """

    out: Path
    coordinates: str | None = None
    recommend: int | None = None
    similar: int | None = None
    suggestions: Path | None = None
    alike: dict[str, Path] = field(default_factory=dict)
    fill: Path | None = None

    @property
    def own(self) -> bool:
        """Whether the embedding is asked for."""
        return self.coordinates == "embedding"


def apply_saved(path: Path, source: Reading, data: Path, places: Places, outcome: Outcome) -> None:
    """Write coordinates of new samples and, as far as asked for, recommendations, neighbours and filled cells."""
    if holds_chunks(data):
        raise InputError("--model needs a matrix in memory, and this one is in chunks.", "Name one file.")
    saved = load_saved(path)
    model = saved.model
    if not isinstance(model, NMD | LogisticPCA):
        kind = type(model).__name__
        raise InputError(f"{str(path)!r} holds {kind}, not an embedding.", "Name a file that embed --save wrote.")
    gaps, notes = model.missing is not None, saved.notes or {}
    if places.fill is not None and not gaps:
        raise InputError(f"{str(path)!r} was fitted without --missing, and fills nothing in.", "Leave --fill out.")
    if notes.get("scale") == "standard" and saved.spreads is None:
        raise InputError(f"{str(path)!r} does not have the spreads of its columns.", "Fit and save it again.")
    found = source_of(source, gaps).read(data, "embed", usual_triples=_triples_of(notes))
    matrix, unknown, absent = matched(_spelt_as_known(found.matrix, saved, source.ignore_case), saved, path)
    matrix = by(without_codes(matrix, check_codes(source.missing_values)), _shift_of(notes))
    check_negative(matrix)
    matrix = divided(as_values(matrix, notes.get("values", "raw")), saved.spreads)
    samples, features = numbered(matrix.rows, matrix.X.shape[0]), numbered(saved.features, matrix.X.shape[1])
    _write(saved, matrix, places, (samples, features), notes.get("values", "raw"))
    empty = nothing_known(matrix.X, gaps)
    say(
        f"{count(len(samples), 'sample')} placed in the {count(len(model.components_), 'dimension')} of {str(path)!r}, "
        "which stay as they are."
    )
    again = 0 if saved.samples is None or matrix.rows is None else int(np.isin(samples, saved.samples).sum())
    beyond = [] if saved.X is None or sp.issparse(matrix.X) else _beyond(matrix.X, saved, features)
    for note in [*beyond, *_notes(samples[empty], again, places)]:
        say(f"Note: {note}")
    if outcome.as_json:
        summary = {"samples": len(samples), "dimensions": len(model.components_), "columns_left_out": unknown}
        summary |= {"columns_not_given": absent, "samples_without_columns": int(empty.sum()), "known_samples": again}
        show_plain(as_json(summary))


def source_of(source: Reading, gaps: bool) -> Reading:
    """Pairs that triples do not list, empty cells and empty columns count as they did in the fit."""
    return replace(source, missing=gaps, empty=gaps)


def _spelt_as_known(matrix: Any, saved: SavedModel, ignore_case: bool) -> Any:
    """Triples whose columns are called as those of the model if they differ only in capitals or spaces; or a note."""
    if not matrix.triples or saved.features is None:
        return matrix
    alike = dict(would_be_known(matrix.columns, saved.features))
    if alike and not ignore_case:
        (given, known), are = next(iter(alike.items())), "is" if len(alike) == 1 else "are"
        which = f"{count(len(alike), 'column')}, such as {given!r} for {known!r}, {are}"
        say(f"Note: {which} known to the model in another spelling; to ignore capitals and spaces, add --ignore-case.")
    if not alike or not ignore_case:
        return matrix
    return replace(matrix, columns=np.array([alike.get(str(name), str(name)) for name in matrix.columns]))


def _triples_of(notes: Mapping[str, str]) -> tuple[str, ...]:
    """Columns of the triples that the model was fitted to, if it was; a made-up file may hold anything."""
    try:
        names = json.loads(notes.get("triples", "[]"))
    except ValueError:
        return ()
    usual = isinstance(names, list) and len(names) in (2, 3) and all(isinstance(name, str) for name in names)
    return tuple(names) if usual else ()


def _shift_of(notes: Mapping[str, str]) -> float:
    """What was added to each value of the fit; a made-up file may hold anything."""
    try:
        shift = float(notes.get("shift", "0"))
    except ValueError:
        return 0.0
    return shift if np.isfinite(shift) else 0.0


def matched(matrix: Any, saved: SavedModel, path: Path) -> tuple[NamedMatrix, int, int]:
    """The samples with the columns of the model, by name; how many it does not know, and how many are not given.

    A column that is not given is missing, or 0 in a sparse matrix; a table of numbers must have all of them.
    """
    n_features = saved.model.components_.shape[1]
    wanted = None if saved.features is None else [str(name) for name in saved.features]
    if matrix.columns is None or wanted is None or len(set(wanted)) < len(wanted):
        if matrix.X.shape[1] != n_features:
            raise InputError(
                f"The model has {count(n_features, 'column')}, and the data has {matrix.X.shape[1]} without names that "
                "could be matched.",
                "Give samples with the columns of the model.",
            )
        return matrix, 0, 0
    given = {str(name): j for j, name in enumerate(matrix.columns)}
    common = [j for j, name in enumerate(wanted) if name in given]
    unknown = [name for name in given if name not in set(wanted)]
    absent = [name for name in wanted if name not in given]
    if not common:
        raise InputError(
            f"The data has none of the {count(n_features, 'column')} of {str(path)!r}, such as {wanted[0]!r}; it has "
            f"{listed(unknown)}.",
            "Give samples with the columns of the model; --triples says which column of a table names them.",
        )
    gaps = saved.model.missing is not None
    if absent and not gaps and not sp.issparse(matrix.X):
        raise InputError(
            f"{count(len(absent), 'column')} of the model {'is' if len(absent) == 1 else 'are'} not in the data: "
            f"{listed(absent)}.",
            "Add them, with 0 where there is nothing.",
        )
    if unknown:
        say(f"{count(len(unknown), 'column')} that the model does not know left out: {listed(unknown)}.")
    if absent:
        as_what = "missing" if gaps else "0"
        of = f"{len(absent):,} of the {n_features:,} columns of the model"
        say(f"{of} {'is' if len(absent) == 1 else 'are'} not in the data, and taken as {as_what}.")
    if (
        empty := []
        if sp.issparse(matrix.X)
        else [wanted[j] for j in common if np.isnan(matrix.X[:, given[wanted[j]]]).all()]
    ):
        have = "1 column of the data has" if len(empty) == 1 else f"{len(empty):,} columns of the data have"
        say(f"{have} no value, and {'is' if len(empty) == 1 else 'are'} taken as missing: {listed(empty)}.")
    taken = [given[wanted[j]] for j in common]
    X, returned = (
        None if each is None else _placed(each, taken, common, n_features) for each in (matrix.X, matrix.returned)
    )
    return replace(matrix, X=X, returned=returned, columns=np.asarray(saved.features)), len(unknown), len(absent)


def _placed(X: Any, taken: list[int], places: list[int], n_features: int) -> Any:
    """Some columns of X at other places; the others are 0 in a sparse matrix, and else missing."""
    if sp.issparse(X):
        found = sp.coo_array(sp.csc_array(X)[:, taken])
        rows, columns = found.coords
        return sp.csr_array((found.data, (rows, np.asarray(places)[columns])), shape=(X.shape[0], n_features))
    full = np.full((X.shape[0], n_features), np.nan)
    full[:, places] = np.asarray(X)[:, taken]
    return full


def _notes(empty: Any, again: int, places: Places) -> list[str]:
    """What to know about samples of which nothing is known, and about those of the fit."""
    notes = []
    if len(empty):
        gets = f" and {'gets' if len(empty) == 1 else 'get'} what is popular" if places.recommend else ""
        such = "1 sample has" if len(empty) == 1 else f"{len(empty):,} samples have"
        one = "It is" if len(empty) == 1 else "They are"
        named = listed(empty)
        notes.append(f"{such} nothing in the columns of the model: {named}. {one} placed at the mean{gets}.")
    if again:
        such = "1 sample has" if again == 1 else f"{again:,} samples have"
        notes.append(f"{such} the name of one that the model was fitted to; here, only the values in this file count.")
    return notes


def _beyond(X: Any, saved: SavedModel, features: Any) -> list[str]:
    """Values of new samples that the fit did not have: any outside a closed scale, and many of amounts."""
    new = np.asarray(X, dtype=float)
    found = outside(new, saved.X)
    closed = np.isfinite(getattr(saved.model, "_ranges", np.full((2, 1), np.inf))[1])
    n, known = int(found.sum()), int(np.sum(new > 0))
    if not n or (not (found & closed).any() and n < USUAL * known):
        return []
    most = int(found.sum(axis=0).argmax())
    own, before = new[:, most], dense_with_gaps(saved.X[:, [most]])
    logs = np.expm1 if (saved.notes or {}).get("values") == "log" else np.asarray
    unit = 1.0 if saved.spreads is None else saved.spreads[most]
    shift = _shift_of(saved.notes or {})
    ends = [f"{float(logs(end(each) * unit) - shift):.4g}" for each in (own, before) for end in (np.nanmin, np.nanmax)]
    where = f"most in {str(features[most])!r}, with {ends[0]} to {ends[1]} here and {ends[2]} to {ends[3]} in the fit"
    lie = f"{n:,} of {known:,} values {'lies' if n == 1 else 'lie'} outside the range of the values of the fit"
    return [f"{lie}, {where}. Check that they are in the same unit."]


def _write(saved: SavedModel, matrix: NamedMatrix, places: Places, names: tuple[Any, Any], values: str) -> None:
    model, (samples, features) = saved.model, names
    if places.out.suffix.lower() == ".npz":
        arrays = {"embedding": model.transform(matrix.X), "positions": model.positions(matrix.X)}
        save_arrays(places.out, arrays | {"samples": samples, "features": features})
    elif (places.coordinates or ("positions" if hasattr(model, "embedding_") else "embedding")) == "embedding":
        write_samples(model.transform(matrix.X), samples, "dimension", places.out, matrix.row_title)
    else:
        write_samples(model.positions(matrix.X), samples, "position", places.out, matrix.row_title)
    if places.suggestions is not None:
        write_table(suggested(model, matrix, places.recommend, samples, features), places.suggestions)
    if "rows" in places.alike:
        numbers = np.arange(len(model.embedding_))
        table = model.similar(matrix.X, places.similar, axis="rows", X=saved.X, samples=numbers)
        known = numbered(saved.samples, len(numbers))
        table["item"], table["neighbour"] = samples[table["item"]], known[table["neighbour"]]
        title = matrix.row_title
        write_table(table.rename(columns={"item": title}) if title not in table else table, places.alike["rows"])
    if places.fill is not None:
        compared = None if saved.X is None else compared_with_means(model, saved)
        write_filled(Filling(matrix, names, values, saved.spreads, saved.X), model, compared, places.fill)
        for note in [] if compared is None else worse_columns(compared, matrix, fill=True, scaled=True):
            say(f"Note: {note}")
