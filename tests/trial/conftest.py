"""How large a trial is, and where its table goes."""

import json
import os
import platform
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

LONG = os.environ.get("RECTIFACT_TRIAL") == "long"
TABLE = os.environ.get("RECTIFACT_TRIAL_TABLE")
EVERY = 5
"""Cases after which the table is written: a trial that is stopped loses no more, and the next one goes on there."""


class Row:
    """The cases of one row of the table, by their seeds: those that the table has are repeated only if they failed.

    Parameters
    ----------
    name : str
        What is tried.
    cases : int
        Their number.
    piece : int, default 0
        Which of several rows of one name it is; the page adds them up.
    """

    def __init__(self, name: str, cases: int, piece: int = 0) -> None:
        self.name, self.cases, self.piece = name, cases, piece
        known = next((row for row in read()["rows"] if (row["row"], row["piece"]) == (name, piece)), {})
        self.tried, self.failures = int(known.get("tried", 0)), dict(known.get("failures", []))
        self.case = 0

    def __iter__(self) -> Iterator[int]:
        for case in (*self.failures, *range(self.tried, self.cases)):
            self.case = case
            self.failures.pop(case, None)
            yield case
            self.tried = max(self.tried, case + 1)
            if self.tried % EVERY == 0:
                self.write()

    def failed(self, text: str) -> None:
        """Note that the present case failed, and how."""
        self.failures[self.case] = text[:3000]

    def check(self) -> None:
        """Write the row, and fail with the first failures if there are any."""
        self.write()
        shown = "\n\n".join(list(self.failures.values())[:5])
        assert not self.failures, f"{len(self.failures)} of {self.tried} cases failed:\n{shown}"

    def write(self) -> None:
        """Put the row into the table, if there is one."""
        if TABLE is None:
            return
        others = [row for row in read()["rows"] if (row["row"], row["piece"]) != (self.name, self.piece)]
        mine = {"row": self.name, "piece": self.piece, "tried": self.tried, "failed": len(self.failures)}
        mine |= {"asked": self.cases, "failures": list(self.failures.items())}
        rows = sorted([*others, mine], key=lambda row: (row["row"], row["piece"]))
        new = Path(f"{TABLE}.new")
        new.write_text(json.dumps(about() | {"rows": rows}, indent=1) + "\n")
        new.replace(TABLE)


def read() -> dict[str, Any]:
    """The table as it is so far."""
    empty: dict[str, Any] = {"rows": []}
    return json.loads(Path(TABLE).read_text()) if TABLE and Path(TABLE).exists() else empty


def about() -> dict[str, Any]:
    """When and where this runs, and with which versions."""
    import numpy
    import scipy
    import sklearn

    import rectifact

    versions = {package.__name__: package.__version__ for package in (rectifact, numpy, scipy, sklearn)}
    machine = {"date": date.today().isoformat(), "machine": platform.platform(), "cores": os.cpu_count()}
    return machine | {"python": platform.python_version(), "versions": versions}


@pytest.fixture
def trial() -> Callable[..., Row]:
    """A row of so many cases in the short form, and so many in the long one."""
    return lambda name, short, long, piece=0: Row(name, long if LONG else short, piece)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a trial only in a process of its own: cases are forked, and threads of other tests do not survive that."""
    if os.environ.get("RECTIFACT_TRIAL") not in ("short", "long"):
        for item in items:
            if "trial" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="make trial-short, or make trial"))
