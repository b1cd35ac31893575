"""Helpers for the reports: names of samples and features, counts as text, and data as plain arrays on the host."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rectifact.core.arrays import names_of_rows, to_host
from rectifact.models import SavedModel
from rectifact.parts.features import FEWEST_PLACES, PLACE
from rectifact.parts.peaks import are_curves, peaks

NEGLIGIBLE = 1e-6
"""Share of the largest coefficient below which others are not shown."""

LONGEST_BAR = 40
"""Letters of a name beside a bar."""


def count(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "part"), count(1200, "sample")
    ('1 part', '1,200 samples')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def shortened(text: str, most: int) -> str:
    """Text with its end cut off where it is longer than ``most`` letters.

    Examples
    --------
    >>> shortened("a long name", 6), shortened("short", 6)
    ('a long…', 'short')
    """
    return text if len(text) <= most else text[:most] + "…"


def middle_cut(text: str) -> str:
    """Text with its middle cut out where it is too long for the name of a bar: ends tell names apart.

    Examples
    --------
    >>> middle_cut("Gardener item 03"), middle_cut("a very long name of a product, in the size of 100 ml")
    ('Gardener item 03', 'a very long name of…the size of 100 ml')
    """
    return text if len(text) <= LONGEST_BAR else f"{text[: LONGEST_BAR // 2 - 1]}…{text[-(LONGEST_BAR // 2 - 2) :]}"


def isolated(name: Any) -> str:
    """A name inside a sentence, kept apart from the direction of writing of the rest."""
    return f"\u2068{name}\u2069"


def sample_names(saved: SavedModel, n: int) -> NDArray[Any]:
    """The names saved with the model, those of the frame it was fitted to or of its data, or numbers from 1."""
    given = saved.samples if saved.samples is not None else names_of_rows(saved.X)
    return _or_numbers(getattr(saved.model, "sample_names_", None) if given is None else given, n)


def feature_names(saved: SavedModel) -> NDArray[Any]:
    """The names saved with the model, or those it was fitted with, or numbers from 1."""
    own = getattr(saved.model, "feature_names_in_", getattr(saved.model, "_features", None))
    given = saved.features if saved.features is not None else own
    return _or_numbers(given, saved.model.components_.shape[1], "feature ")


def along_axis(names: Any) -> NDArray[np.float64] | None:
    """Numbers in the names of features, if they rise or fall from each to the next as wavelengths do; else None.

    Examples
    --------
    >>> along_axis([f"{i}.5 nm" for i in range(400, 420)])[:2]
    array([400.5, 401.5])
    >>> along_axis(["red", "green"] * 5)
    """
    found = [PLACE.fullmatch(str(name).strip()) for name in names]
    if len(found) < FEWEST_PLACES or not all(found):
        return None
    values = np.array([float(match[1]) for match in found if match is not None])
    steps = np.diff(values)
    return values if (steps > 0).all() or (steps < 0).all() else None


def unit_along(names: Any) -> str:
    """The unit after the numbers in the names of features, if all have the same; else an empty text.

    Examples
    --------
    >>> unit_along(["400 nm", "402 nm"]), unit_along(["400", "402"]), unit_along(["1 s", "2 min"])
    ('nm', '', '')
    """
    units = {match[2] for match in map(PLACE.fullmatch, (str(name).strip() for name in names)) if match is not None}
    return units.pop() or "" if len(units) == 1 else ""


def largest_features(saved: SavedModel, most: int, *, signed: bool) -> list[list[tuple[str, float]]]:
    """For each component, the features with the largest coefficients, by size if both signs mean something.

    Of curves along an axis, such as spectra, those are neighbours, which say the same: the peaks are taken.
    """
    names = feature_names(saved)
    return [
        [(str(names[j]), float(row[j])) for j in top]
        for row, top in zip(saved.model.components_, _largest(saved, most, signed), strict=True)
    ]


def listed_features(saved: SavedModel, most: int, form: str, *, signed: bool) -> list[str]:
    """The same as text, with the values in the format ``form``.

    Bands are in the same brackets where they are known: (0.123; 0.11 to 0.14).
    """
    components, names = np.asarray(saved.model.components_, dtype=float), feature_names(saved)
    bands = getattr(saved.model, "bands_", None)

    def value(i: int, j: int) -> str:
        band = "" if bands is None else f"; {bands[0][i, j]:.2g} to {bands[1][i, j]:.2g}"
        return f"{names[j]} ({components[i, j]:{form}}{band})"

    return [", ".join(value(i, j) for j in top) for i, top in enumerate(_largest(saved, most, signed))]


def leading_features(sizes: NDArray[Any], names: Any, most: int) -> list[list[int]]:
    """For each row of ``sizes``, the numbers of its largest entries, or of its peaks if rows are curves along an axis.

    Entries that are negligible beside the largest one are left out.

    Examples
    --------
    >>> leading_features(np.array([[1.0, 0, 3, 2]]), ["a", "b", "c", "d"], 2)
    [[2, 3]]
    >>> axis = np.arange(400, 500)
    >>> leading_features(np.exp(-(((axis - 440) / 9.0) ** 2))[None], axis, 2)
    [[40]]
    """
    if are_along_axis(sizes, names):
        order = [peaks(row)[:most] for row in sizes]
    else:
        order = np.argsort(-sizes, axis=1, kind="stable")[:, :most].tolist()
    return [[j for j in top if row[j] > NEGLIGIBLE * row[top[0]]] for row, top in zip(sizes, order, strict=True)]


def are_along_axis(rows: NDArray[Any], names: Any) -> bool:
    """Whether rows are curves, and the names of the features numbers along an axis."""
    return along_axis(names) is not None and are_curves(rows)


def _largest(saved: SavedModel, most: int, signed: bool) -> list[list[int]]:
    """For each component, the numbers of the features to show."""
    components = np.asarray(saved.model.components_, dtype=float)
    return leading_features(np.abs(components) if signed else components, feature_names(saved), most)


def _or_numbers(names: Any, n: int, noun: str = "") -> NDArray[Any]:
    if names is None or len(names) != n:
        return np.array([f"{noun}{i + 1}" for i in range(n)], dtype=object)
    return np.asarray([str(name) for name in names], dtype=object)


def as_floats(X: Any) -> Any:
    """Any data as a dense or CSR array in double precision, which sums of squares need."""
    return sp.csr_array(X, dtype=float) if sp.issparse(X) else np.asarray(to_host(X), dtype=float)
