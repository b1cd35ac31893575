"""The command line: data goes to files or stdout, messages to stderr.

Exit codes: 0 done; 1 a benchmark check failed, the reader of the output or the Dask cluster went away, or an unexpected
error; 2 bad input; 130 interrupted. This module imports next to nothing, so that an interrupt finds :func:`main`
running.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["ending_at_once", "main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it with one sentence and exit code 130, imports included."""
    try:
        with ending_at_once():
            from rectifact.cli.commands import run
        run()
    except (KeyboardInterrupt, SystemExit) as stop:  # typer turns the first into the second
        if getattr(stop, "code", 130) != 130:
            raise
        _say_interrupted()
        sys.exit(130)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the process at once on Ctrl-C: imports have nothing to save, and may swallow a KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, as in a background job
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    _say_interrupted()
    os._exit(130)


def _say_interrupted() -> None:
    further = " Repeat the command with --resume to continue." if "--checkpoint" in sys.argv else ""
    with suppress(OSError):  # stderr may be closed
        os.write(2, f"rectifact: interrupted; no file was left half-written.{further}\n".encode())
