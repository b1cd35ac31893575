"""How large a trial is, and where its table goes."""

import json
import os
import platform
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

LONG = os.environ.get("RECTIFACT_TRIAL") == "long"
TABLE = os.environ.get("RECTIFACT_TRIAL_TABLE")
rows: list[dict[str, object]] = []


@pytest.fixture
def size() -> Callable[[int, int], int]:
    """The number of cases of the short and of the long form."""
    return lambda short, long: long if LONG else short


@pytest.fixture
def tally() -> Callable[[str, int, list[str]], None]:
    """Note how many cases of a row failed, and fail with the first of them if there are any."""

    def note(row: str, tried: int, failures: list[str]) -> None:
        rows.append({"row": row, "tried": tried, "failed": len(failures)})
        shown = "\n\n".join(failures[:5])
        assert not failures, f"{len(failures)} of {tried} cases failed:\n{shown}"

    return note


def pytest_sessionfinish() -> None:
    if TABLE and rows:
        about = {"date": date.today().isoformat(), "machine": platform.platform(), "python": platform.python_version()}
        Path(TABLE).write_text(
            json.dumps({**about, "rows": sorted(rows, key=lambda row: str(row["row"]))}, indent=1) + "\n"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a trial only in a process of its own: cases are forked, and threads of other tests do not survive that."""
    if os.environ.get("RECTIFACT_TRIAL") not in ("short", "long"):
        for item in items:
            if "trial" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="make trial-short, or make trial"))
