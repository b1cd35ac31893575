"""The five papers, item by item: where each is in the code, and the experiment that repeats it.

Each paper has two files here: ``<paper>.json`` lists its numbered items and the figures that it prints, and
``<paper>.py`` has its experiments, ``EXPERIMENTS`` by name.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from rectifact.bench import Rows
from rectifact.core.validation import check_option

PAPERS = ("crowd", "and", "purification", "nmd", "symnmf-net")
MODULES = {name: {"and": "and_nmf"}.get(name, name.replace("-", "_")) for name in PAPERS}


@dataclass(frozen=True)
class Curves:
    """How the rows of a figure are drawn: one panel for each value of ``panel``, one line for each of ``line``.

    The columns in ``more`` are drawn like ``y``, in panels of their own; a ``square`` figure has no axes.
    """

    x: str
    y: str
    panel: str = "data"
    line: str = "method"
    log_x: bool = False
    log_y: bool = False
    more: tuple[str, ...] = ()
    square: bool = False


@dataclass(frozen=True)
class Experiment:
    """What repeats a table, a figure or a theorem.

    Parameters
    ----------
    measure : callable
        ``measure(quick)`` gives rows; a quick one takes a minute or two.
    curves : Curves or None, default None
        How curves are drawn.
    pictures : callable or None, default None
        ``pictures(title, rows)`` gives the charts of what is not a curve.
    """

    measure: Callable[[bool], Rows]
    curves: Curves | None = None
    pictures: Callable[[str, Rows], Sequence[Any]] | None = None

    @property
    def has_picture(self) -> bool:
        """Whether the rows can be drawn."""
        return self.curves is not None or self.pictures is not None


@dataclass(frozen=True)
class Item:
    """A numbered item of a paper, such as ``"Equation 4"`` or ``"Table 2"``.

    Parameters
    ----------
    name : str
    about : str
        What it says, in our words.
    code : sequence of str
        Dotted names of what implements it.
    experiment : str or None, default None
        Name of the experiment that repeats or measures it.
    reason : str, default ""
        Why there is no experiment, or why its figures differ from those printed.
    """

    name: str
    about: str
    code: tuple[str, ...] = ()
    experiment: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper, all its items, and the figures that it prints, by experiment."""

    name: str
    title: str
    reference: str
    items: tuple[Item, ...]
    printed: dict[str, Any] = field(default_factory=dict)

    @property
    def experiments(self) -> dict[str, Experiment]:
        """What can be measured, by name."""
        return import_module(f"rectifact.bench.papers.{MODULES[self.name]}").EXPERIMENTS


@cache
def paper(name: str) -> Paper:
    """One of the five papers.

    Parameters
    ----------
    name : {"crowd", "and", "purification", "nmd", "symnmf-net"}

    Examples
    --------
    >>> paper("symnmf-net").items[3].name
    'Equation 4'
    """
    check_option("paper", name, PAPERS)
    stored = json.loads((files(__name__) / f"{MODULES[name]}.json").read_text(encoding="utf-8"))
    items = tuple(Item(**item | {"code": tuple(item.get("code", ()))}) for item in stored.pop("items"))
    return Paper(name, items=items, **stored)
