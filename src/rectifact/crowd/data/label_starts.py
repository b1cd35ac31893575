"""Labels that begin with a class and go on as text, such as ``pass - meets the criteria``."""

import re
import warnings
from collections.abc import Collection, Sequence
from typing import Any

from rectifact.core.errors import FitWarning, count
from rectifact.crowd.data.marks import bare
from rectifact.crowd.data.names import NAMED, listed, object_array, plain, unmarked

SEPARATOR = re.compile(r"\s*[:;,.!|。]\s+|\s+[-–|>]+\s+|\s*(?:—|--)\s*|\s*[\r\n]+\s*|\s+(?=[(\[])|(?<=[*\])\"'`])\s+")
"""What may stand between a class and the text behind it: marks and spaces, as in neither A-, C++ nor 4.5."""

LISTED = re.compile(r"\s*(?:[,;/|&+]|\band\b|\bor\b)\s*")
"""What stands between several classes."""


def starts(label: Any) -> list[tuple[str, str]]:
    r"""What a label begins with before a text, without marks and capitals, and that text; the longest first.

    Examples
    --------
    >>> starts("**Pass** - it meets: all")
    [('**pass** - it meets', 'all'), ('pass', 'it meets: all')]
    >>> starts("Verdict: pass. It is."), starts("pass."), starts("4.5"), starts("C++"), starts("24/7")
    ([('pass', 'It is')], [], [], [], [])
    """
    if not isinstance(label, str) or SEPARATOR.search(label.strip()) is None:
        return []
    text = bare(label.strip())
    places = [part.span() for part in SEPARATOR.finditer(text)]
    return [(unmarked(text[:i]), text[j:]) for i, j in reversed(places) if text[:i] and any(map(str.isalpha, text[j:]))]


def start_of(found: Sequence[tuple[str, str]], known: Collection[str]) -> str | None:
    """The class of those ``known`` that a label begins with, if what follows is not a list of classes."""
    for start, rest in found:
        if start in known:
            return None if all(unmarked(part) in known for part in LISTED.split(rest) if part) else start
    return None


def class_texts(names: Sequence[Any], classes: Sequence[Any]) -> dict[Any, Any]:
    """Labels that begin with one of the ``classes`` and go on as text, and that class; the ``classes`` stay.

    Examples
    --------
    >>> class_texts(["pass: good", "pass, fail", "C++", "fail"], ["pass", "fail", "C"])
    {'pass: good': 'pass'}
    """
    known = {unmarked(name): name for name in classes}
    found = {name: start_of(starts(name), known) for name in names if name not in classes}
    return {name: known[start] for name, start in found.items() if start is not None}


def lists_apart(classes: Sequence[str]) -> bool:
    """Whether some classes that a user lists would be one, if they were not listed.

    Examples
    --------
    >>> lists_apart(["pass", "pass - minor flaws"]), lists_apart(["fail", "fail."]), lists_apart(["A", "A-"])
    (True, True, False)
    """
    forms = {unmarked(name) for name in classes}
    return len(forms) < len(classes) or any(start_of(starts(name), forms) is not None for name in classes)


def say_read(read: dict[Any, Any], n_answers: int, stacklevel: int = 5) -> None:
    """Say which labels are read as the class that they begin with."""
    groups: dict[Any, list[Any]] = {}
    for name, to in read.items():
        groups.setdefault(to, []).append(name)
    said = "; ".join(f"{_first(own)} as {plain(to)!r}" for to, own in list(groups.items())[:NAMED])
    more = f"; and {len(groups) - NAMED} more" if len(groups) > NAMED else ""
    what = f"Labels that begin with a class and go on as text are read as that class: {said}{more}"
    remedy = "To keep some apart, list all classes with {}."
    message = f"{what} ({count(n_answers, 'answer')})."
    warnings.warn(
        FitWarning(message, remedy.format("classes"), command=remedy.format("--classes")), stacklevel=stacklevel
    )


def _first(names: Sequence[Any]) -> str:
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return listed(object_array(list(names[:2]))) + more
