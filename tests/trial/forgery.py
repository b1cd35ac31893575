"""Single changes to saved models: of the tree, of the arrays, of the file."""

import copy
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

OTHERS = (
    None,
    True,
    -1,
    10**30,
    0.5,
    "",
    "text",
    [],
    {},
    [1, 2],
    {"_": "tuple", "parts": []},
    {"_": "float", "text": "nan"},
)
"""Values that stand in for another one."""


def read(content: bytes) -> tuple[Any, dict[str, bytes]]:
    """The tree of a saved model, and its arrays."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def written(tree: Any, members: dict[str, bytes]) -> bytes:
    """A file with this tree and these arrays."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(tree))
        for name, member in members.items():
            archive.writestr(name, member)
    return file.getvalue()


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all values of a tree; of long lists only the first few."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree[:3]) if isinstance(tree, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def forged(content: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """A saved model with one change, and what was changed."""
    tree, members = read(content)
    if members and rng.random() < 0.4:
        name = sorted(members)[rng.integers(len(members))]
        array = np.load(io.BytesIO(members[name]))
        how = CHANGES[rng.integers(len(CHANGES))]
        file = io.BytesIO()
        np.save(file, how(array))
        return f"{name}: {how.__name__}", written(tree, members | {name: file.getvalue()})
    path = [*places(tree["value"])][1:]
    where = path[rng.integers(len(path))]
    tree = copy.deepcopy(tree)
    parent = tree["value"]
    for key in where[:-1]:
        parent = parent[key]
    if rng.random() < 0.2 and isinstance(parent, dict):
        del parent[where[-1]]
        return f"without {where}", written(tree, members)
    parent[where[-1]] = OTHERS[rng.integers(len(OTHERS))]
    return f"{where} = {parent[where[-1]]!r}", written(tree, members)


def shorter(array: Any) -> Any:
    return array[:-1] if array.ndim else array


def longer(array: Any) -> Any:
    return np.concatenate([array, array]) if array.ndim else array


def flat(array: Any) -> Any:
    return array.ravel()


def deeper(array: Any) -> Any:
    return array[None]


def empty(array: Any) -> Any:
    return np.zeros(0, dtype=array.dtype)


def as_text(array: Any) -> Any:
    return array.astype(str)


def as_bool(array: Any) -> Any:
    return np.ones(array.shape, dtype=bool)


def as_complex(array: Any) -> Any:
    return np.ones(array.shape, dtype=complex)


def not_numbers(array: Any) -> Any:
    return np.full(array.shape, np.nan)


def far_away(array: Any) -> Any:
    return np.full(array.shape, 10**9, dtype=array.dtype if array.dtype.kind in "iu" else float)


CHANGES = (shorter, longer, flat, deeper, empty, as_text, as_bool, as_complex, not_numbers, far_away)
