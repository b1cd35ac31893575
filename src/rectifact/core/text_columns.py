"""What to do about columns of text in a frame, where numbers are expected."""

from typing import Any

YES = {"yes", "y", "true", "ja", "j", "oui", "si", "sí", "sì", "sim"}
NO = {"no", "n", "false", "nein", "nej", "nee", "non", "não"}
"""Words for 1 and for 0, in lower case."""


def remedy_for_text(X: Any) -> str:
    """How to encode answers of yes and no in a frame of pandas, or to name its rows by the first column, if it can.

    Examples
    --------
    >>> import pandas as pd
    >>> remedy_for_text(pd.DataFrame({"owns": ["yes", "no", ""] * 2, "n": [1, 2, 3] * 2}))
    "'owns' holds yes and no: use X.replace({'': float('nan'), 'no': 0, 'yes': 1}).astype(float)."
    >>> remedy_for_text(pd.DataFrame({"who": ["ann", "bob"], "n": [1, 2]}))
    "If 'who' names the rows, use X.set_index('who'); otherwise drop or encode such columns."
    """
    plain = "Drop such columns, or encode them first."
    if not hasattr(X, "set_index") or not len(X.columns) or not X.columns.is_unique:
        return plain
    texts = [name for name in X.columns if getattr(X[name].dtype, "kind", "O") == "O"]
    if texts[:1] == [X.columns[0]] and X[texts[0]].is_unique:
        return f"If {texts[0]!r} names the rows, use X.set_index({texts[0]!r}); otherwise drop or encode such columns."
    found = {name: sorted(map(str, X[name].dropna().unique())) for name in texts}
    every = sorted({cell for cells in found.values() for cell in cells})
    values = {cell: "float('nan')" if not cell.strip() else "1" if cell.casefold() in YES else "0" for cell in every}
    if not found or len(every) > len(YES | NO) or not {cell.casefold().strip() for cell in every} <= YES | NO | {""}:
        return plain
    each = ", ".join(f"{cell!r}: {value}" for cell, value in values.items())
    return f"{texts[0]!r} holds yes and no: use X.replace({{{each}}}).astype(float)."
