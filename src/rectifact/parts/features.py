"""Features that are places on an axis, such as wavelengths, and others that stray among them."""

import re
from collections.abc import Sequence
from typing import Any

from rectifact.core.findings import Finding
from rectifact.io.columns import listing
from rectifact.io.other_columns import about_other_columns

STRAY = "features that are not like the others"

PLACE, FEWEST_PLACES = (
    re.compile(r"(-?\d+(?:\.\d+)?)\s*(nm|um|µm|Å|cm-1|cm\^-1|cm⁻¹|1/cm|eV|keV|Hz|kHz|MHz|GHz|ppm|m/z|s|ms|min)?"),
    10,
)
"""A number, with or without a unit, and how many features need one to be places on an axis."""

MOST_STRAY = 0.1
"""Share of the features up to which those without a number stray among the others."""


def stray_features(names: Sequence[str], dropped: Sequence[str] = ()) -> list[Finding]:
    """A finding about the few features that no number names, while it does nearly all others; ``dropped`` are left out.

    Examples
    --------
    >>> print(stray_features(["pH", *(f"{i} nm" for i in range(400, 420))])[0].detail)
    'pH' is not named by a number, as the other 20 features are, such as '400 nm', and still is part of every part.
    """
    stray = [str(name) for name in names if not PLACE.fullmatch(str(name).strip())]
    others = [str(name) for name in names if PLACE.fullmatch(str(name).strip())]
    if not stray or len(others) < FEWEST_PLACES or len(stray) > MOST_STRAY * len(names):
        return []
    listed = ", ".join(map(repr, stray[:5])) + (", ..." if len(stray) > 5 else "")
    verb, it = ("is", "it is") if len(stray) == 1 else ("are", "they are")
    still = f"and still {verb} part of every part"
    what = f"not named by a number, as the other {len(others)} features are, such as {others[0]!r}"
    remedy = f"unless {it} measured as the others are."
    return [
        Finding(
            "warning",
            STRAY,
            f"{listed} {verb} {what}, {still}.",
            f"Leave {'it' if len(stray) == 1 else 'them'} out, {remedy}",
            f"Leave {'it' if len(stray) == 1 else 'them'} out with --drop {listing([*dropped, *stray])}, {remedy}",
        )
    ]


def features_of_another_kind(X: Any, names: Sequence[str], dropped: Sequence[str] = ()) -> list[Finding]:
    """A finding about features such as an age among counts; ``dropped`` are left out already."""
    found, what, command = about_other_columns(X, names, dropped)
    return [Finding("warning", STRAY, what, "Leave such columns out, unless they belong there.", command)] * bool(found)
