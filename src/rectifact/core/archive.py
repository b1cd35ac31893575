"""Python objects in one file of JSON and arrays, a .zip that numpy and any JSON reader open; nothing is pickled.

Numbers, text, lists, dicts, numpy arrays, scipy CSR arrays and objects of classes that the reader names beforehand can
be stored. Reading makes objects of those classes only, and calls no code of the file's choosing.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp

from rectifact.core.arrays import to_host
from rectifact.core.files import atomic_path, reading
from rectifact.core.validation import InputError

__all__ = ["read_archive", "write_archive"]

FORMAT = 1
ROOT = "model.json"
MOST_NESTED = 20
KIND = "_"
"""Key that marks what a JSON object stands for."""


def write_archive(path: Path, value: Any, classes: Mapping[str, type]) -> None:
    """Write ``value`` whole or not at all; objects are stored by the name that ``classes`` gives their class."""
    arrays: dict[str, Any] = {}
    names = {kind: name for name, kind in classes.items()}
    tree = _encode(value, arrays, names, "value")
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ROOT, json.dumps({"format": FORMAT, "value": tree}))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_archive(path: Path, classes: Mapping[str, type]) -> Any:
    """What :func:`write_archive` wrote; objects of other classes than these are refused."""
    with reading(path, "a model saved by rectifact"), zipfile.ZipFile(path) as archive:
        if ROOT not in archive.namelist():
            raise InputError(f"{str(path)!r} holds no model. Save one with save_model or --save.")
        root = json.loads(archive.read(ROOT))
        if not isinstance(root, dict) or root.get("format") != FORMAT:
            raise InputError(f"{str(path)!r} is of another version of rectifact. Fit and save the model again.")
        return _decode(root["value"], archive, classes, 0)


def _encode(value: Any, arrays: dict[str, Any], names: Mapping[type, str], where: str) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {KIND: "float", "text": str(value)}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays, names, where)
    if type(value) in names:
        fields = {key: _encode(part, arrays, names, f"{where}.{key}") for key, part in vars(value).items()}
        return {KIND: "object", "class": names[type(value)], "fields": fields}
    if isinstance(value, tuple | list):
        parts = [_encode(part, arrays, names, f"{where}[{i}]") for i, part in enumerate(value)]
        return parts if isinstance(value, list) else {KIND: "tuple", "parts": parts}
    if isinstance(value, Mapping):
        pairs = [[_encode(part, arrays, names, where) for part in pair] for pair in value.items()]
        return {KIND: "dict", "pairs": pairs}
    if sp.issparse(value):
        csr = sp.csr_array(value)
        stored = {name: _array(getattr(csr, name), arrays) for name in ("data", "indices", "indptr")}
        return {KIND: "csr", "shape": list(csr.shape), **stored}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {KIND: "objects", "values": [_encode(part, arrays, names, where) for part in value.tolist()]}
    if array_api_compat.is_array_api_obj(value):
        return {KIND: "array", "name": _array(to_host(value), arrays)}
    raise InputError(f"{where} is of type {type(value).__name__}, which cannot be saved. Leave it out.")


def _array(array: Any, arrays: dict[str, Any]) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name


def _decode(tree: Any, archive: zipfile.ZipFile, classes: Mapping[str, type], depth: int) -> Any:
    if depth > MOST_NESTED:
        raise ValueError("it is nested too deeply")

    def decode(part: Any) -> Any:
        return _decode(part, archive, classes, depth + 1)

    if isinstance(tree, list):
        return [decode(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    kind = tree.get(KIND)
    if kind == "float":
        return float(tree["text"])
    if kind == "tuple":
        return tuple(decode(part) for part in tree["parts"])
    if kind == "dict":
        return {decode(key): decode(part) for key, part in tree["pairs"]}
    if kind == "array":
        return _read(archive, tree["name"])
    if kind == "objects":
        made = np.empty(len(tree["values"]), dtype=object)
        made[:] = [decode(part) for part in tree["values"]]
        return made
    if kind == "csr":
        parts = tuple(_read(archive, tree[name]) for name in ("data", "indices", "indptr"))
        matrix = sp.csr_array(parts, shape=tuple(tree["shape"]))
        matrix.check_format(full_check=True)
        return matrix
    if kind == "object" and tree["class"] in classes:
        found: Any = object.__new__(classes[tree["class"]])
        found.__dict__.update({str(name): decode(part) for name, part in tree["fields"].items()})
        return found
    raise ValueError(f"it holds a {kind!r} that is unknown here")


def _read(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as file:
        return np.load(io.BytesIO(file.read()), allow_pickle=False)
