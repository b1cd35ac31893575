"""Safe access to files: writes them whole or not at all, and turns failures into an :class:`InputError`."""

import errno
import os
import platform
import shutil
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TextIO
from zipfile import BadZipFile
from zlib import crc32

from rectifact.core.errors import InputError
from rectifact.io.broken_lines import broken_line

UNFINISHED = ".rectifact."
"""How the names of temporary files begin."""

MOST_SAID = 400
"""Characters kept of a reader's message, which may quote the file."""


def real_path(path: Path) -> Path:
    """The file that a name leads to, through symbolic links; refuses links that lead back to themselves.

    Examples
    --------
    >>> real_path(Path("/tmp/../nowhere.csv")).name
    'nowhere.csv'
    """
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            what = f"{str(path)!r} is a symbolic link that leads back to itself."
            raise InputError(what, "Name the file that it should lead to.") from error
    return Path(os.path.realpath(path))


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written to, before the work that fills it."""
    with _writing(path):
        target = real_path(path)
        if path.is_dir():
            raise InputError(f"Cannot write to {str(path)!r}: it is a folder.", "Name a file in it.")
        if not path.parent.is_dir():
            raise InputError(
                f"Cannot write to {str(path)!r}: there is no folder {str(path.parent)!r}.", "Create it first."
            )
        if _is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        with suppress(FileNotFoundError):
            path.lstat()  # a name that is too long
        probe = _temporary(target)  # permissions do not show everything
        try:
            probe.touch()
        finally:
            probe.unlink(missing_ok=True)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside ``path`` and rename it at the end; on any error nothing is left.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder) / "out.txt"
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    check_writable(path)
    with _writing(path):
        if _is_special(path):
            yield path
            return
        target = real_path(path)  # through a symbolic link, not over it
        temporary = _temporary(target)
        try:
            yield temporary
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def text_to(path: Path) -> Iterator[TextIO]:
    """Open a file to write text; an interrupt does not wait for a pipe whose reader has stopped reading.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with text_to(Path(folder) / "out.txt") as file:
    ...         _ = file.write("whole")
    ...     (Path(folder) / "out.txt").read_text()
    'whole'
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        try:
            yield file
            file.flush()
        except KeyboardInterrupt:
            if _is_special(path):  # closing it would wait until the rest is read
                os.set_blocking(file.fileno(), False)
                with suppress(OSError):
                    file.close()
            raise


def _temporary(target: Path) -> Path:
    """A name beside the target that no other thread uses; what killed processes left in the folder is removed."""
    _clean(target.parent)
    return target.with_name(f"{UNFINISHED}{_here()}.{os.getpid()}.{threading.get_ident()}.tmp")


@cache
def _clean(folder: Path) -> None:
    """Remove temporary files of processes of this machine that are no longer running, once for each folder."""
    with suppress(OSError):
        for left in folder.glob(f"{UNFINISHED}{_here()}.*.tmp"):
            number = left.name.removeprefix(f"{UNFINISHED}{_here()}.").partition(".")[0]
            if number.isdecimal() and not _runs(int(number)):
                left.unlink(missing_ok=True)


@cache
def _here() -> str:
    """A mark of this machine, and of the container, in which numbers of processes mean the same."""
    numbers = Path("/proc/self/ns/pid")
    return f"{crc32(f'{platform.node()} {numbers.readlink() if numbers.exists() else 0}'.encode()):08x}"


def _runs(process: int) -> bool:
    if os.name == "nt":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # it belongs to someone else
    return True


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, which cannot be replaced by a file."""
    return path.exists() and not path.is_file()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"Cannot write to {str(path)!r}: {reason}.", "Choose another place.") from error


@contextmanager
def reading(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever a reader raises into an :class:`InputError` that names the file and what it should be.

    Examples
    --------
    >>> from pathlib import Path
    >>> with reading(Path("nowhere.csv"), "a CSV file"):
    ...     Path("nowhere.csv").read_text()
    Traceback (most recent call last):
    rectifact.core.errors.InputError: There is no file 'nowhere.csv'. Check the name and the folder.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"There is no file {str(path)!r}.", "Check the name and the folder.") from error
    except IsADirectoryError as error:
        raise InputError(f"{str(path)!r} is a folder.", "Name a file in it.") from error
    except InputError:
        raise
    except UnicodeError as error:
        raise _not_utf8(path, expected) from error
    except MemoryError as error:
        raise InputError(
            f"{str(path)!r} does not fit into memory.", "Check the sizes in its header, or give a part of it."
        ) from error
    except (OSError, ValueError, KeyError, EOFError, RecursionError, BadZipFile, zlib.error) as error:
        if getattr(error, "errno", None) == errno.ELOOP:
            real_path(path)  # says it
        reason = " ".join(str(error)[:MOST_SAID].split()).rstrip(".")
        if "invalid UTF8" in reason:  # as pyarrow says it
            raise _not_utf8(path, expected) from error
        if isinstance(error, BadZipFile):
            what = f"Cannot read {str(path)!r} as {expected}: it is damaged, or not such a file."
            raise InputError(what, "Check that it is the right file, and copy or save it again.") from error
        if broken := broken_line(path, reason, expected):
            raise broken from error
        raise InputError(f"Cannot read {str(path)!r} as {expected}: {reason}.") from error


def _not_utf8(path: Path, expected: str) -> InputError:
    if not str(path).isascii() and any("\ud800" <= letter <= "\udfff" for letter in str(path)):
        return InputError(f"The name of the file {str(path)!r} is not UTF-8 text.", "Rename it.")
    excel = ", in Excel as 'CSV UTF-8'" if expected in {"CSV", "TSV"} else ""
    return InputError(f"Cannot read {str(path)!r} as {expected}: it is not UTF-8 text.", f"Save it as UTF-8{excel}.")


def natural(path: Path) -> list[tuple[int, str]]:
    """A key to sort files by, so that ``part.2`` comes before ``part.10``, as Dask numbers its files.

    Examples
    --------
    >>> [path.name for path in sorted([Path("part.10"), Path("part.2")], key=natural)]
    ['part.2', 'part.10']
    """
    words = "".join(letter if letter.isdecimal() else f" {letter} " for letter in path.name).split()
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in words]
