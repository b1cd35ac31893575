"""rectifact embed --fill: missing cells filled in, and how sure each of them is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rectifact.cli.tables import check_table_name, retitled, write_table
from rectifact.cli.terminal import say
from rectifact.core.errors import InputError, count
from rectifact.io.files import check_writable
from rectifact.io.matrices import NamedMatrix
from rectifact.latent.filling import Comparison, dense_with_gaps, filled_by_means
from rectifact.latent.intervals import COVERAGE, LEAST, cells_of, measured_coverage, n_hardly_checked
from rectifact.latent.scales import limits_of, n_clipped, n_cut


def check_fill(path: Path | None, missing: bool, in_chunks: bool) -> Path | None:
    """Refuse --fill where nothing could be filled in, or written; the place of the intervals beside it."""
    if path is None:
        return None
    if not missing:
        raise InputError("--fill is for missing cells.", "Add --missing, so that empty cells and NaN count as missing.")
    if in_chunks:
        raise InputError("--fill needs a matrix in memory, and this one is in chunks.", "Fill in some of its rows.")
    check_table_name(path)
    beside = _beside(path)
    if beside is not None:
        check_writable(beside)
    return beside


def _beside(path: Path) -> Path | None:
    """Where intervals are written; nowhere beside a device."""
    return None if path.parent == Path("/dev") else path.with_name(f"{path.stem}.intervals{path.suffix}")


@dataclass(frozen=True)
class Filling:
    """Data whose gaps are filled in, in the units of the fit and in those of the file.

    Attributes
    ----------
    matrix : NamedMatrix
        In the units of the fit.
    names : tuple of arrays
        Of rows and columns.
    values : {"raw", "log", "binary"}
        What the fit has taken in place of the values.
    spreads : array or None
        Of the columns, by which they were divided.
    fitted : array, sparse array or None
        For new samples, the data of the fit: they have means and shares of known cells in common with it.
    """

    matrix: NamedMatrix
    names: tuple[Any, Any]
    values: str = "raw"
    spreads: Any = None
    fitted: Any = None

    def in_units(self, full: Any, columns: Any = slice(None)) -> Any:
        """Values of some columns in the units of the file: undone in turn, as logarithms were taken first."""
        full = full if self.spreads is None else full * self.spreads[columns]
        full = np.expm1(full) if self.values == "log" else full
        full = full if self.spreads is None and self.values != "log" else _as_written(full)
        if not self.matrix.shift:
            return full
        return np.round(full - self.matrix.shift, 10) + 0.0  # -9.82, not -9.819999999999999, and 0 without a sign


def _as_written(values: Any) -> Any:
    """Numbers of 14 digits at most where that is what rounding has changed: 3, and not 2.9999999999999996.

    Examples
    --------
    >>> _as_written(np.array([2.9999999999999996, 0.0, np.nan, 0.1234567890123456])).tolist()
    [3.0, 0.0, nan, 0.1234567890123456]
    """
    sizes = np.abs(np.where(np.isfinite(values) & (values != 0), values, 1.0))
    units = 10.0 ** (13 - np.floor(np.log10(sizes)))
    near = np.round(values * units) / units
    return np.where(np.abs(near - values) <= 4 * np.spacing(sizes), near, values)


def write_filled(filling: Filling, model: Any, compared: Comparison | None, path: Path) -> dict[str, Any]:
    """Write the data with its missing cells filled in, and an interval for each of them; returns a summary."""
    full = _filled(filling, model, compared)
    table = pd.DataFrame(filling.in_units(full), columns=[str(name) for name in filling.names[1]])
    table.insert(0, filling.matrix.row_title, filling.names[0], allow_duplicates=True)
    write_table(table, path)
    known, beside = dense_with_gaps(filling.matrix.X), _beside(path)
    if not np.isnan(known).any():
        say(f"Note: No cell is missing, and {str(path)!r} holds the data as it is; zeros count as known.")
        return {}
    if beside is None:
        return {}
    if model.resolved_.get("link") != "relu":
        say("Filled cells hold probabilities, which say themselves how sure they are.")
        return {}
    intervals = None if compared is None else compared.intervals
    if compared is None or compared.hidden is None or intervals is None:
        n = 0 if compared is None else compared.n_hidden
        why = f"{count(n, 'known cell')} could be hidden to check them, and {LEAST} are needed"
        say(f"No intervals for filled cells: {why}.")
        return {}
    fitted = None if filling.fitted is None else dense_with_gaps(filling.fitted, model.missing)
    cells = cells_of(known, np.isnan(known), full, fitted)
    scale = getattr(model, "_ranges", np.tile([[0.0], [np.inf]], (1, known.shape[1])))[:, cells.column]
    ends = [filling.in_units(np.clip(end, *scale), cells.column) for end in intervals.around(cells)]
    own = filling.in_units(cells.predicted, cells.column)
    write_table(_long(filling, np.nonzero(np.isnan(known)), own, ends), beside)
    coverage = measured_coverage(*compared.hidden)
    say(
        f"The intervals of filled cells are designed to hold {COVERAGE:.0%} of the true values, and held "
        f"{coverage:.0%} of {compared.n_hidden:,} hidden ones; they hold fewer where cells are missing because of "
        "their values."
    )
    few = n_hardly_checked(cells, compared.hidden[0])
    if few and fitted is not None:
        of = f"{few:,} of the {len(cells.column):,} filled cells are in rows"
        say(f"Note: {of} with fewer known cells than nearly all that were checked: their intervals may hold fewer.")
    return {"filled": {"interval": COVERAGE, "held": coverage, "n_hidden": compared.n_hidden}}


def _filled(filling: Filling, model: Any, compared: Comparison | None) -> Any:
    """The data with what the model predicts in its gaps, or means where those predict better, within closed scales."""
    known, ranges = dense_with_gaps(filling.matrix.X), getattr(model, "_ranges", None)
    if compared is not None and not compared.better and np.isnan(known).any():
        say(f"Note: {compared.no_better} The cells are filled in by {compared.simplest}.")
        fitted = filling.fitted
        every = known if fitted is None else np.vstack([dense_with_gaps(fitted, model.missing), known])
        full = filled_by_means(every, compared, ranges)[-len(known) :]
    else:
        full = model.fill(filling.matrix.X)
    if ranges is not None and (cut := n_clipped(known, full, ranges)):
        of = f"{cut:,} of the {int(np.isnan(known).sum()):,} filled cells"
        say(f"{of} would lie outside the scale of the known values, and hold its lowest or highest value instead.")
    tops = getattr(model, "_tops", None)
    if tops is not None and (cut := n_cut(known, full, limits_of(known, tops))):
        of = f"{cut:,} of the {int(np.isnan(known).sum()):,} filled cells"
        say(f"Note: {of} would lie far above all that is known of their columns, and hold the most that it supports.")
    return full


def _long(filling: Filling, places: tuple[Any, ...], value: Any, ends: list[Any]) -> pd.DataFrame:
    """One row per filled cell: its row and column, its value, and the ends of its interval."""
    (rows, columns), (samples, features) = places, filling.names
    table = pd.DataFrame({"sample": samples[rows], "feature": features[columns], "value": value})
    table["low"], table["high"] = ends
    return retitled(table, filling.matrix.row_title, filling.matrix.column_title)
