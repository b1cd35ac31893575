"""Runs a command or a function in a forked process with limits of time and memory: a case can only harm itself."""

import io
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

SECONDS = 60
"""Seconds of processor time that a case may take; ten times as much may pass, as the cores may be busy."""

PATIENCE = 10
MEMORY = 3 * 2**30
"""Address space that a case may take beyond what the imports need."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended: its exit code (negative for a signal) and what it printed."""

    code: int
    out: str
    err: str

    @property
    def crashed(self) -> bool:
        return self.code not in (0, 2) or "Traceback (most recent call last)" in self.err

    def one_sentence(self) -> bool:
        """Whether an error is short and says no more than it has to; one about an option shows the usage."""
        said = [line for line in self.err.splitlines() if line.startswith(("rectifact: ", "Usage: "))]
        return len(said) == 1 and len(self.err) < 3000


@cache
def warm_up() -> None:
    """Import what the commands need, once, before the forks; nothing is fitted, so that no thread is running then.

    A command that is refused imports what its parser needs only when it runs, most of the time of a small case.
    """
    for name in ("agree", "cluster", "embed", "evaluate", "labels", "parts", "rate", "report"):
        import_module(f"rectifact.cli.{name}")
    for name in ("report.html", "io.matrices", "io.graphs", "selection", "models", "kernels.compiled"):
        import_module(f"rectifact.{name}")
    with suppress(SystemExit), redirect_stderr(io.StringIO()):
        _call(["agree", "/nowhere.csv", "-o", "/nowhere.html"])


def command(arguments: Sequence[Any], folder: Path, **limits: Any) -> Outcome:
    """Run the command line in ``folder``."""
    warm_up()
    return alone(lambda: _call(arguments), folder, **limits)


def _call(arguments: Sequence[Any]) -> None:
    from rectifact import cli

    sys.argv = ["rectifact", *map(str, arguments)]
    cli.main()


def begun(arguments: Sequence[Any], folder: Path) -> int:
    """Start the command line in a forked process, whose number is returned, and do not wait for it."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        _become(lambda: _call(arguments), folder, nowhere, nowhere, MEMORY, SECONDS)
    return child


def alone(work: Callable[[], Any], folder: Path, *, seconds: int = SECONDS, memory: int = MEMORY) -> Outcome:
    """Call ``work`` in a forked process of its own session; a case that takes too long is killed, with its children."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become(work, folder, out.fileno(), err.fileno(), memory, seconds)
        code = _wait(child, PATIENCE * seconds)
        return Outcome(code, _text(out), _text(err))


def _become(work: Callable[[], Any], folder: Path, out: int, err: int, memory: int, seconds: int) -> None:
    """Do the work with its own outputs and limits, and end: the forked process never returns to the test."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = (
            os.fdopen(1, "w", errors="backslashreplace"),
            os.fdopen(2, "w", errors="backslashreplace"),
        )
        os.chdir(folder)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, it is printed, and the process ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int, seconds: int) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read(1_000_000).decode("utf-8", "replace"))
