"""Grades written as text, such as 4/5, 4 out of 5 and four stars, read as the numbers that they stand for."""

import re
import warnings
from collections.abc import Sequence
from typing import Any

from rectifact.core.errors import FitWarning
from rectifact.crowd.data.marks import bare
from rectifact.crowd.data.names import NAMED, listed, object_array, plain

OF = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:/|out of|of)\s*(\d+)\s*(?:stars?|points?)?\s*", re.IGNORECASE)
NUMBER_OF_STARS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*stars?\s*", re.IGNORECASE)
STARS = re.compile(r"\s*((?:[★⭐🌟]\ufe0f?\s*)+)((?:☆\s*)*)")
FEWEST = 2
"""Grades of this form below which it may be the name of a class."""


def grade_of(text: Any) -> tuple[str, int | None] | None:
    """The grade that a text stands for and the highest one, None where it is not said; None for other texts.

    Examples
    --------
    >>> grade_of("4/5"), grade_of("4.5 out of 5"), grade_of("★★★☆☆"), grade_of("3 stars"), grade_of("pass")
    (('4', 5), ('4.5', 5), ('3', 5), ('3', None), None)
    >>> grade_of("**4/5**")
    ('4', 5)
    """
    if not isinstance(text, str):
        return None
    of, number, stars = (form.fullmatch(bare(text)) for form in (OF, NUMBER_OF_STARS, STARS))
    if of is not None:
        return (of[1], int(of[2])) if float(of[1]) <= int(of[2]) else None
    if number is not None:
        return number[1], None
    if stars is None:
        return None
    filled, empty = (sum(mark in "★⭐🌟☆" for mark in part) for part in stars.groups())
    return str(filled), filled + empty if empty else None


def plain_grades(names: Sequence[Any]) -> list[Any]:
    """Classes, with grades as the numbers that they stand for, and a warning that says so.

    Grades on different scales stay as they are, which the warning says as well.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     plain_grades(["4/5", "5 out of 5", "3", "N/A"]), plain_grades(["4/5", "8/10"]), plain_grades(["24/7", "no"])
    (['4', '5', '3', 'N/A'], ['4/5', '8/10'], ['24/7', 'no'])
    """
    found = {plain(name): grade_of(name) for name in names}
    known = {name: grade for name, grade in found.items() if grade is not None}
    if len(known) < FEWEST:
        return list(names)
    shown = listed(object_array(list(known)[:NAMED]))
    tops = {top for _, top in known.values() if top is not None}
    if len(tops) > 1:
        what = f"Grades are on different scales, such as {shown}, and each is a class of its own."
        warnings.warn(FitWarning(what, "Write all of them on one scale, as numbers."), stacklevel=4)
        return list(names)
    first = next(iter(known))
    what = f"Grades written as text are read as numbers, such as {first!r} as {known[first][0]!r}."
    warnings.warn(FitWarning(what), stacklevel=4)
    return [known[plain(name)][0] if plain(name) in known else name for name in names]
