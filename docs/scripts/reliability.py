"""Write the page on reliability from the stored table of a trial.

Run it from the root of the repository after ``make trial``, which writes ``docs/benchmarks/trial.json``.
"""

import json
from pathlib import Path
from textwrap import fill
from typing import Any

DOCS = Path(__file__).parents[1]
ROWS = {
    "damaged files": (
        "Damaged files of every format, with options drawn at random",
        "A result, or one sentence and exit code 2 with nothing written",
        10_000,
    ),
    "degenerate data": (
        "Every estimator on matrices, graphs and crowds that are empty, constant, tiny, extreme or of an odd type",
        "Finite results or an ``InputError``; no warnings from other libraries",
        3_000,
    ),
    "forged models": (
        "Saved models with one change each",
        "The report is written, or one sentence says that the file is damaged",
        2_000,
    ),
    "kills": (
        "Commands killed (SIGKILL) at a random moment, then resumed",
        "Outputs whole or absent, the resumed result equal bit for bit, no temporary file left",
        100,
    ),
    "interrupts": (
        "Commands interrupted (SIGINT) at a random moment from start-up to shutdown",
        "One line and exit code 130, or done; outputs whole or absent",
        100,
    ),
    "injection in a browser": (
        "Names, labels and texts that would run as scripts, in reports opened in Chromium",
        "None runs, nothing is requested, no error on the page",
        136,
    ),
    "forks and threads": (
        "Fits in forked processes, in joblib's multiprocessing and in threads, after a fit with threads",
        "The result of a separate process, up to rounding",
        60,
    ),
    "Dask workers killed": (
        "Workers of a Dask cluster killed at a random iteration of a fit",
        "The result of a fit that loses none",
        30,
    ),
    "Dask schedulers killed": (
        "Schedulers of a Dask cluster killed during a fit",
        "One sentence, and a checkpoint from which the fit can be resumed",
        6,
    ),
}
"""What each row tries, what counts as success, and how many cases a long trial has."""


def page(stored: dict[str, Any]) -> str:
    """The page for a stored table."""
    versions = ", ".join(f"{name} {version}" for name, version in stored["versions"].items())
    where = f"{stored['machine']}, Python {stored['python']}"
    lines = [
        ".. Written by docs/scripts/reliability.py from benchmarks/trial.json; change those instead.",
        "",
        "Reliability",
        "===========",
        "",
        fill(ABOUT, 118),
        "",
        fill(f"Measured on {stored['date']}: {stored['cores']} cores, {where}, {versions}.", 118),
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 34 30 12 12 12",
        "",
        "   * - What is tried",
        "     - What counts as success",
        "     - Cases run",
        "     - In a long trial",
        "     - Failed",
    ]
    for name, tried, asked, failed in added_up(stored["rows"]):
        what, success, _ = ROWS[name]
        lines += [f"   * - {what}", f"     - {success}", f"     - {tried:,}", f"     - {asked:,}", f"     - {failed:,}"]
    lines += ["", *_unfinished(stored["rows"]), *_failures(stored["rows"]), *HOW]
    return "\n".join(lines) + "\n"


def added_up(rows: list[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    """Cases run, cases of a long trial and failures of each kind; a kind may have several rows."""
    found = []
    for name in ROWS:
        mine = [row for row in rows if row["row"].partition(",")[0] == name]
        if mine:
            tried, failed = (sum(row[key] for row in mine) for key in ("tried", "failed"))
            found.append((name, tried, ROWS[name][2], failed))
    return found


def _unfinished(rows: list[dict[str, Any]]) -> list[str]:
    short = [name for name, tried, asked, _ in added_up(rows) if tried < asked]
    missing = [name for name in ROWS if name not in {name for name, *_ in added_up(rows)}]
    said = ""
    if short:
        said += (
            f"The trial was stopped before its end: {', '.join(short)} did not reach all cases. Started again with the "
        )
        said += "same table, it resumes where it stopped. "
    if missing:
        said += f"Not run yet: {', '.join(missing)}."
    return [fill(said, 118), ""] if said else []


def _failures(rows: list[dict[str, Any]]) -> list[str]:
    failures = [(row["row"], text) for row in rows for _, text in row["failures"]]
    if not failures:
        return []
    listed = [f"* {name}: ``{text.splitlines()[0][:150].replace('`', '')}``" for name, text in failures]
    return ["Failures", "--------", "", *listed, ""]


ABOUT = (
    "Files are damaged, models come from strangers, and jobs are killed. ``make trial`` tries the whole tool on "
    "thousands of such cases, generated at random from seeds, and ``make trial-short``, which takes a few minutes, "
    "runs some of them in continuous integration. Cases are numbered from 0, and the number is "
    "the seed: a failure prints it, so that you can repeat the case. A trial that was stopped resumes where it was, "
    "and repeats the cases that failed."
)
PROMISES = (
    "Files are written whole or not at all, and the next command removes what a killed one left.",
    "Bad input gives one sentence and exit code 2; an interrupt gives one line and exit code 130, but for the first "
    "one while a number is chosen: it ends the search with the best number so far, and the command succeeds and says "
    "so. In ``--json``, ``selection.reason`` then begins with ``The search was ended early.`` Long quotations in "
    "messages are shortened.",
    "A header does not decide how much memory is used: arrays are as large as their files, and sparse matrices whose "
    "rows are nearly all missing are refused, as are model files whose JSON unpacks to far more than names do.",
    "Nothing is unpickled. Types and shapes of a saved model are checked before anything is built from them.",
    "Numbers so large or small that their squares cannot be computed are refused, and the message says what to divide "
    "them by.",
    "Fits work in forked processes, such as those of ``multiprocessing`` and of joblib's backend of that name. "
    "Compiled loops have one thread there, as the threads of GNU OpenMP do not survive a fork. Start new processes "
    "instead (``spawn``, ``forkserver``, joblib's default ``loky``) where a fit should use several.",
)
HOW = ["What is guaranteed", "------------------", ""]
HOW += [fill(promise, 118, initial_indent="* ", subsequent_indent="  ") for promise in PROMISES]


if __name__ == "__main__":
    stored = json.loads((DOCS / "benchmarks" / "trial.json").read_text())
    (DOCS / "reliability.rst").write_text(page(stored))
