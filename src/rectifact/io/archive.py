"""Python objects in one file of JSON and arrays, a .zip that numpy and any JSON reader can open; nothing is pickled.

Numbers, text, dates, lists, dicts, numpy arrays, scipy CSR arrays and objects of classes that the reader names
beforehand can be stored. Reading makes objects of those classes only, with the fields they have, and runs no code that
the file chooses. Anything else in a file is reported as an :class:`InputError`.
"""

import dataclasses
import inspect
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from rectifact.core.arrays import is_array, to_host
from rectifact.core.device_csr import canonical_csr, is_native_sparse
from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, reading

FORMAT = 1
ROOT = "model.json"
MOST_NESTED = 20
KIND = "_"
"""Key that shows what a JSON object stands for."""

MOST_BYTES = 64 * 2**30
"""Limit for all arrays of a file together, unpacked."""

MOST_PACKED = 1040
"""Bytes that one byte of a file may unpack to. Zeros, and so dense data that is nearly empty, really reach 1030; the
format, deflate, cannot exceed 1032. A member that claims more is lying about its size."""

MOST_TREE, TREE_PACKED = 16 * 2**20, 100
"""Bytes of JSON that any file may hold, and those that one byte may unpack to beyond that: Python needs twenty times as
much memory for the lists in it. Names and labels pack less well."""

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Other compression methods, which have no such bound, are never written."""

TEXTS: dict[str, Callable[[str], Any]] = {
    "float": float,
    "date": pd.Timestamp,
    "duration": pd.Timedelta,
    "decimal": Decimal,
}
"""Values that are stored as text, and the functions that read them."""


def write_archive(path: Path, value: Any, classes: Mapping[str, type], *, compress: bool = True) -> None:
    """Write ``value`` whole or not at all; objects are stored by the name that ``classes`` gives their class."""
    arrays: dict[str, Any] = {}
    names = {kind: name for name, kind in classes.items()}
    tree = json.dumps({"format": FORMAT, "value": _encode(value, arrays, names, "value")})
    if len(tree) + sum(array.nbytes for array in arrays.values()) > MOST_BYTES:
        raise InputError(f"There are more than {MOST_BYTES / 2**30:.0f} GiB to save.", "Leave the data out.")
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", method) as archive:
        archive.writestr(ROOT, tree, zipfile.ZIP_STORED if _packs_too_well(tree) else method)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_archive(path: Path, classes: Mapping[str, type], *, what: str = "a model saved by rectifact") -> Any:
    """What :func:`write_archive` wrote; objects of other classes are refused. Errors call the file ``what``."""
    with reading(path, what), _telling_damage(), zipfile.ZipFile(path) as archive:
        if ROOT not in archive.namelist():
            raise no_model(path)
        _check_sizes(archive, path.stat().st_size)
        root = json.loads(archive.read(ROOT))
        if not isinstance(root, dict) or root.get("format") != FORMAT:
            raise InputError(f"{str(path)!r} is from another version of rectifact.", "Fit and save the model again.")
        return _Decoder(archive, classes).decode(root["value"])


def _packs_too_well(tree: str) -> bool:
    """Whether a file with this JSON, compressed, would be refused: it may be very repetitive."""
    return len(tree) > MOST_TREE and len(tree) > TREE_PACKED * len(zlib.compress(tree.encode()))


def no_model(path: Path) -> InputError:
    """The error for a file that does not hold a model."""
    remedies = {"remedy": "Save one with save_model.", "command": "Save one with --save."}
    return InputError(f"{str(path)!r} does not hold a model.", **remedies)


@contextmanager
def _telling_damage() -> Iterator[None]:
    """Raise one ValueError, whatever a reader raises on a file that is damaged or made up."""
    try:
        yield
    except (OSError, ValueError, zipfile.BadZipFile):
        raise
    except MemoryError as error:
        raise ValueError("it does not fit into memory") from error
    except Exception as error:
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from error


def _check_sizes(archive: zipfile.ZipFile, on_disk: int) -> None:
    """Refuse, before anything is unpacked, a file that claims more than it can hold."""
    members = archive.infolist()
    if any(member.compress_type not in METHODS for member in members):
        raise ValueError("it is compressed in another way")
    too_much = any(member.file_size > MOST_PACKED * (member.compress_size + 1) for member in members)
    if too_much or sum(member.compress_size for member in members) > on_disk:
        raise ValueError("it claims to hold more than it can")
    tree = archive.getinfo(ROOT)
    if tree.file_size > max(MOST_TREE, TREE_PACKED * tree.compress_size):
        raise ValueError(
            f"its {ROOT} of {tree.compress_size} bytes unpacks to {tree.file_size}, far more than names do"
        )
    if sum(member.file_size for member in members) > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES / 2**30:.0f} GiB")


def _encode(value: Any, arrays: dict[str, Any], names: Mapping[type, str], where: str) -> Any:
    def encode(part: Any, place: str = "") -> Any:
        return _encode(part, arrays, names, where + place)

    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else {KIND: "float", "text": str(float(value))}
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, np.datetime64 | date):
        return {KIND: "date", "text": pd.Timestamp(value).isoformat()}
    if isinstance(value, np.timedelta64 | timedelta):
        return {KIND: "duration", "text": pd.Timedelta(value).isoformat()}
    if isinstance(value, Decimal):
        return {KIND: "decimal", "text": str(value)}
    if type(value) in names:
        fields = {key: encode(part, f".{key}") for key, part in stored_fields(value).items()}
        return {KIND: "object", "class": names[type(value)], "fields": fields}
    if isinstance(value, tuple | list):
        parts = [encode(part, f"[{i}]") for i, part in enumerate(value)]
        return parts if isinstance(value, list) else {KIND: "tuple", "parts": parts}
    if isinstance(value, Mapping):
        return {KIND: "dict", "pairs": [[encode(part) for part in pair] for pair in value.items()]}
    if is_native_sparse(value):
        value = to_host(canonical_csr(value, value.dtype))
    if sp.issparse(value):
        csr = sp.csr_array(value)
        stored = {name: _array(getattr(csr, name), arrays) for name in ("data", "indices", "indptr")}
        return {KIND: "csr", "shape": list(csr.shape), **stored}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OT":
        parts = [encode(part, f"[{i}]") for i, part in enumerate(value.ravel().tolist())]
        return {KIND: "objects", "shape": list(value.shape), "values": parts}
    if is_array(value):
        return {KIND: "array", "name": _array(to_host(value), arrays)}
    what = f"{where} is of type {type(value).__name__}, which cannot be saved."
    raise InputError(what, "Convert it to text, or leave it out.")


def stored_fields(value: Any) -> dict[str, Any]:
    """Attributes of an estimator, or fields of a dataclass."""
    if isinstance(value, BaseEstimator):
        return vars(value)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _array(array: Any, arrays: dict[str, Any]) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name


class _Decoder:
    """Values from the tree of an archive; each array is read at most once, so that memory is bounded."""

    def __init__(self, archive: zipfile.ZipFile, classes: Mapping[str, type]) -> None:
        self.archive = archive
        self.classes = classes
        self.unread = set(archive.namelist())

    def decode(self, tree: Any, depth: int = 0) -> Any:
        if depth > MOST_NESTED:
            raise ValueError("it is nested too deeply")

        def decode(part: Any) -> Any:
            return self.decode(part, depth + 1)

        if isinstance(tree, list):
            return [decode(part) for part in tree]
        if not isinstance(tree, dict):
            return tree
        kind = tree.get(KIND)
        if kind in TEXTS:
            return TEXTS[kind](_checked(tree["text"], str, "text"))
        if kind == "tuple":
            return tuple(decode(_checked(tree["parts"], list, "list")))
        if kind == "dict":
            return {decode(key): decode(part) for key, part in tree["pairs"]}
        if kind == "array":
            return self._read(tree["name"])
        if kind == "objects":
            made = np.empty(len(tree["values"]), dtype=object)
            made[:] = decode(_checked(tree["values"], list, "list"))
            return made.reshape(tree["shape"])
        if kind == "csr":
            parts = tuple(self._read(tree[name]) for name in ("data", "indices", "indptr"))
            matrix = sp.csr_array(parts, shape=tuple(tree["shape"]))
            matrix.check_format(full_check=True)
            return matrix
        if kind == "object" and tree["class"] in self.classes:
            fields = {name: decode(part) for name, part in tree["fields"].items()}
            return _make(self.classes[tree["class"]], fields)
        raise ValueError(f"it holds an unknown kind of value, {kind!r}")

    def _read(self, name: str) -> Any:
        """An array of the size of its member: numpy would allocate whatever the header claims."""
        member = f"{_checked(name, str, 'text')}.npy"
        self.unread.remove(member)
        with self.archive.open(member) as file:
            shape, dtype = array_header(file, member)
            size = self.archive.getinfo(member).file_size - file.tell()
            if not dtype.hasobject and (not dtype.itemsize or math.prod(shape) * dtype.itemsize != size):
                raise ValueError(f"{member} holds {size} bytes, which do not make a {dtype} array of shape {shape}")
        with self.archive.open(member) as file:  # opened again: seeking back may switch off the checksum
            return np.lib.format.read_array(file, allow_pickle=False)


def array_header(file: Any, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array in an archive, whose numbers are not read."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{member} has another version of numpy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _make(kind: type, fields: dict[str, Any]) -> Any:
    """An object with these fields.

    A record has all of its own fields and no others, but those that say ``since`` in their metadata may be missing, as
    older files do not have them. An estimator has all its parameters, and fitted attributes that hide none of its
    methods and properties; what a file of an older version lacks is in its class, as ``_once``.
    """
    data = not issubclass(kind, BaseEstimator)
    own = dataclasses.fields(kind) if data else ()
    later = {field.name: _default(field) for field in own if "since" in field.metadata}
    fields = getattr(kind, "_once", {}) | later | fields
    needed = {field.name for field in own} if data else set(inspect.signature(kind).parameters)
    extra = {name for name in fields.keys() - needed if data or hasattr(kind, name)}
    if wrong := sorted((needed - fields.keys()) | extra):
        names = ", ".join(wrong)
        raise ValueError(f"its {kind.__name__} is of another version and lacks, or has, {names}; fit and save it again")
    made: Any = object.__new__(kind)
    made.__dict__.update(fields)
    return made


def _checked(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} expected, not {type(value).__name__}")
    return value
