"""Checkpoints: the state of each run in a file, written at the checks of its monitor and read to resume it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import Array, is_array, to_like
from rectifact.core.errors import InputError
from rectifact.core.operand import is_chunked
from rectifact.io.archive import read_archive, stored_fields, write_archive
from rectifact.io.files import atomic_path, reading

DESCRIPTION = "fit.json"
SUFFIX = ".state.zip"
UNFINISHED = ".rectifact.*"
"""What a process leaves behind if it is killed while it writes."""

SHARE = 0.05
"""Limit of the share of the run time that goes into saving."""

FREE = ("max_iter", "tol", "random_state", "verbose", "callbacks", "n_jobs", "checkpoint", "resume")
"""Parameters that may change when a fit is resumed."""


@dataclass
class RunFile:
    """The file of one run: iterations so far, history and the state of its loop.

    Parameters
    ----------
    path : Path
    resume : bool, default False
        Whether to continue from what the file holds.
    """

    path: Path
    resume: bool = False
    _last: float = field(default=-np.inf, init=False, repr=False)
    _cost: float = field(default=0.0, init=False, repr=False)

    def read(self, like: Any) -> dict[str, Any] | None:
        """What was saved last, with its state in the form of ``like``; None if there is nothing to resume."""
        if not self.resume or not self.path.exists():
            return None
        saved = read_archive(self.path, {}, what="the state of a fit")
        if not isinstance(saved, dict) or saved.keys() != {"n_iter", "stalls", "history", "state"}:
            raise InputError(
                f"{str(self.path)!r} does not hold the state of a fit.",
                "Delete it, or fit without resume.",
                option="resume",
            )
        return saved | {"state": restored(saved["state"], like)}

    def write(self, n_iter: int, stalls: int, history: list[dict[str, float]], state: Any, at_once: bool) -> None:
        """Replace the file; at most 5 % of the run time goes into saving."""
        begun = perf_counter()
        if not at_once and begun - self._last < self._cost / SHARE:
            return
        content = {"n_iter": n_iter, "stalls": stalls, "history": history, "state": _plain(state)}
        write_archive(self.path, content, {}, compress=False)
        self._last = perf_counter()
        self._cost = self._last - begun

    def finish(self) -> None:
        """Record that the fit has ended, so that another one can start in this folder."""
        description = _read_description(self.path.parent)
        if description is not None:  # the folder may have been cleared
            _write_description(self.path.parent, description | {"finished": True})


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which the runs of one fit are saved, each in a file of its own."""

    folder: Path
    resume: bool

    def run(self, name: str = "run") -> RunFile:
        """The file of the run with this name, which has letters, digits and spaces only."""
        return RunFile(self.folder / f"{name.replace(' ', '-')}{SUFFIX}", self.resume)


def open_checkpoint(estimator: Any, *data: Any) -> Checkpoint | None:
    """Prepare the folder ``estimator.checkpoint`` for a fit of ``data``.

    To resume, the folder must hold a fit of the same estimator, parameters and data. If it is empty, the fit starts
    from the beginning, so that one command line serves the first attempt and all others. Arrays on a device and Dask
    arrays are compared by shape and type only.

    Parameters
    ----------
    estimator : estimator
        Its parameters ``checkpoint`` and ``resume`` say where to save, and whether to continue.
    data : arrays
        What the fit depends on.

    Returns
    -------
    Checkpoint or None
        None if ``estimator.checkpoint`` is None.
    """
    if estimator.checkpoint is None:
        if estimator.resume:
            raise InputError(
                "resume=True needs a checkpoint to continue from.",
                "Give checkpoint='folder' too.",
                option=("resume", "checkpoint="),
            )
        return None
    folder, identity = Path(estimator.checkpoint), _identity(estimator, data)
    before = _read_description(folder)
    if before is not None and estimator.resume:
        _check_same(before["fit"], identity, folder)
        _clear(folder, UNFINISHED)
        _write_description(folder, before | {"finished": False})
        return Checkpoint(folder, resume=True)
    if before is not None and not before["finished"]:
        raise InputError(
            f"{str(folder)!r} holds a fit that was interrupted.",
            "Give resume=True to continue it, or delete the folder.",
            option="resume",
        )
    with _naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder, f"*{SUFFIX}")
        _clear(folder, UNFINISHED)
    _write_description(folder, {"fit": identity, "finished": False})
    return Checkpoint(folder, resume=estimator.resume)


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Report a folder that the file system refuses as an :class:`InputError`."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a ValueError if the name holds a null character
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot save to the folder {str(folder)!r}: {reason}.", "Choose another.") from error


def _clear(folder: Path, pattern: str) -> None:
    for old in folder.glob(pattern):
        old.unlink(missing_ok=True)  # another process may have been faster


def restored(saved: Any, like: Any) -> Any:
    """A saved state in the form of ``like``: dataclasses and tuples of its types, arrays of its library and device."""
    if is_dataclass(like) and not isinstance(like, type):
        return replace(like, **{name: restored(saved[name], part) for name, part in stored_fields(like).items()})
    if isinstance(like, tuple) and isinstance(saved, list | tuple):
        parts = [restored(part, other) for part, other in zip(saved, like, strict=True)]
        return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
    if is_chunked(like):
        import dask.array as da

        return da.from_array(saved, chunks=like.chunks)
    return to_like(np.asarray(saved), like) if is_array(like) and saved is not None else saved


def _plain(state: Any) -> Any:
    """Dataclasses as dicts of their fields, which hold arrays, numbers, tuples and further dataclasses."""
    if is_dataclass(state) and not isinstance(state, type):
        return {name: _plain(part) for name, part in stored_fields(state).items()}
    return tuple(_plain(part) for part in state) if isinstance(state, tuple) else state


def _identity(estimator: Any, data: tuple[Any, ...]) -> dict[str, Any]:
    """What must not change when a fit is resumed, in types that JSON has."""
    parameters = {k: v for k, v in estimator.get_params(deep=False).items() if k not in FREE}
    described = {"estimator": type(estimator).__name__} | {k: _description(v) for k, v in parameters.items()}
    return described | {"data": [_description(part) for part in data]}


def _description(value: Array) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value if value == value else "nan"
    if sp.issparse(value):
        return [list(value.shape), *(_checksum(part) for part in (value.data, value.indices, value.indptr))]
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        return [list(array.shape), _checksum(array)]
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [list(value.shape), str(value.dtype)]
    return getattr(value, "__name__", type(value).__name__)


def _checksum(array: Any) -> str:
    content: Any = np.ascontiguousarray(array).reshape(-1)
    content = str(content.tolist()).encode() if array.dtype.hasobject else content.view(np.uint8)
    return f"{array.dtype} {crc32(content):08x}"


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    for name, value in now.items():
        if before.get(name) != value:
            what = f"{name}={before.get(name)!r}, not {value!r}" if name != "data" else "other data"
            raise InputError(
                f"{str(folder)!r} holds a fit with {what}.",
                "Resume it with the same data and parameters, or give another checkpoint.",
                option=name,
            )


def _read_description(folder: Path) -> dict[str, Any] | None:
    path = folder / DESCRIPTION
    with _naming(folder):
        if folder.exists() and not folder.is_dir():
            raise InputError(
                f"checkpoint={str(folder)!r} is a file.",
                "Name a folder; it is created if it does not exist.",
                option="checkpoint=",
            )
        if not path.exists():
            return None
    with reading(path, "the description of a fit"):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not isinstance(found.get("fit"), dict) or "finished" not in found:
            raise ValueError("it does not describe a fit")
    return found


def _write_description(folder: Path, description: dict[str, Any]) -> None:
    with atomic_path(folder / DESCRIPTION) as temporary:
        temporary.write_text(json.dumps(description, indent=1), encoding="utf-8")
