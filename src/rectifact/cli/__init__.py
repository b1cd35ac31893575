"""The command line: data goes to files or stdout, messages to stderr.

Exit codes: 0 done; 1 a benchmark check failed, the reader of the output or the Dask cluster went away, or an unexpected
error; 2 bad input; 130 interrupted. This module imports next to nothing, so that an interrupt finds :func:`main`
running.
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise

__all__ = ["end_at_once", "ending_at_once", "interrupt_again", "is_program", "main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it with one sentence and exit code 130, imports and shutdown included."""
    if is_program():
        sys.unraisablehook = interrupt_again
    try:
        with ending_at_once():
            from rectifact.cli.commands import run
        run()
    except (KeyboardInterrupt, SystemExit, SystemError) as stop:
        if not _is_interrupt(stop):
            raise
        _say_interrupted()
        if is_program():
            _leave(130)  # threads need not end first, and Python would die of the signal where exec() was interrupted
        sys.exit(130)
    finally:
        if is_program():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is written: what is left is Python's own shutdown


def _is_interrupt(stop: BaseException) -> bool:
    """Whether Ctrl-C is behind ``stop``: typer turns it into an exit, and a compiled function into a SystemError."""
    return KeyboardInterrupt in (type(stop), type(stop.__cause__)) or getattr(stop, "code", None) == 130


def interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Repeat an interrupt that came in a callback from C, as those of the compiler, where Python drops exceptions."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        again = threading.Timer(0.01, _thread.interrupt_main)  # at once, it would come in this callback
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


def is_program() -> bool:
    """Whether this process is the command itself, ``rectifact`` or ``python -m rectifact``."""
    words = sys.orig_argv[1:]
    script = words[0].replace("\\", "/").rpartition("/")[2].partition(".")[0] if words else ""
    return script == "rectifact" or ("-m", "rectifact") in pairwise(words)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the process at once on Ctrl-C: imports have nothing to save, and may swallow a KeyboardInterrupt."""
    if not end_at_once():
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_at_once() -> bool:
    """Let Ctrl-C end the process at once from here on; False where it is ignored, as in a background job."""
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, _end):
        return False
    signal.signal(signal.SIGINT, _end)
    return True


def _end(*_: object) -> None:
    _say_interrupted()
    os._exit(130)


def _leave(code: int) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()  # the standard output would wait for a reader who has stopped reading
    os._exit(code)


def _say_interrupted() -> None:
    further = " Repeat the command with --resume to continue." if "--checkpoint" in sys.argv else ""
    with suppress(OSError):  # stderr may be closed
        os.write(2, f"rectifact: interrupted; no file was left half-written.{further}\n".encode())
