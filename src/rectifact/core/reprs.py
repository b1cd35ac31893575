"""Short representations: a line that says what is there, not all of it."""

from collections.abc import Mapping
from copy import copy
from dataclasses import fields
from typing import Any, TypeVar

from rectifact.core.errors import count

MOST_ITEMS = 6
"""Items of a list that are shown."""

MOST_LETTERS = 120
"""Letters of a text that are shown."""

Kind = TypeVar("Kind", bound=type)


class Shown:
    """Something that is shown as the given text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def short(value: Any) -> str:
    """A value in a few words: arrays by their shape, tables by their size, lists by their first items.

    Examples
    --------
    >>> import numpy as np
    >>> short(np.ones((3, 2))), short(0.123456789), short(list(range(100)))
    ('<array of shape (3, 2)>', '0.1235', '[0, 1, 2, ..., 100 items]')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        columns = getattr(value, "columns", None)
        if columns is not None and len(shape) == 2:
            return f"<table of {count(shape[0], 'row')}: {_items([str(name) for name in columns], '{}')}>"
        kind = "sparse array" if hasattr(value, "nnz") else "array"
        return f"<{kind} of shape {tuple(shape)}>"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str) and len(value) > MOST_LETTERS:
        return repr(f"{value[: MOST_LETTERS - 3]}...")
    if isinstance(value, Mapping):
        return _items([f"{key!r}: {short(item)}" for key, item in value.items()], "{{{}}}")
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return _items([short(item) for item in value], "[{}]" if isinstance(value, list) else "({})")
    return repr(value)


def short_repr(kind: Kind) -> Kind:
    """Class decorator: show the fields of a dataclass in a few words each."""

    def __repr__(self: Any) -> str:
        shown = (f"{field.name}={short(getattr(self, field.name))}" for field in fields(kind) if field.repr)
        return f"{kind.__name__}({', '.join(shown)})"

    kind.__repr__ = __repr__  # type: ignore[assignment]
    return kind


def without_arrays(estimator: Any) -> Any:
    """A copy of an estimator to be shown, with the shapes of arrays in their place."""
    shown = copy(estimator)
    for name, value in estimator.get_params(deep=False).items():
        if getattr(value, "shape", ()):
            setattr(shown, name, Shown(short(value)))
    return shown


def _items(texts: list[str], form: str) -> str:
    if len(texts) > MOST_ITEMS:
        texts = [*texts[:3], "...", f"{len(texts)} items"]
    return form.format(", ".join(texts))
