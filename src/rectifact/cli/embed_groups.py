"""Where rectifact embed has placed the samples, as a table, and how to get groups of them as a column."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.cli.how_many import Found
from rectifact.cli.light_rows import COLUMN, about_light, values_of
from rectifact.cli.tables import samples_table, save_arrays, write_samples, write_table


def groups_by(out: Path, title: str, n_values: NDArray[Any] | None = None) -> str:
    """The command that finds groups among the positions of a table; its columns have one unit, and are not scaled.

    ``n_values`` says how many values each sample has, where some have few.

    Examples
    --------
    >>> groups_by(Path("cells.csv"), "cell")
    'For groups of samples as a column: rectifact cluster cells.csv --id-column cell --scale none -o cells.groups.csv'
    >>> groups_by(Path("cells.npz"), "cell")
    'For groups of samples as a column, write the positions to a table, such as cells.csv: embed then says how.'
    """
    if out.suffix.lower() == ".npz":
        table = out.with_suffix(".csv")
        return (
            f"For groups of samples as a column, write the positions to a table, such as {table}: embed then says how."
        )
    named, target = ["--id-column", title, "--scale", "none", "-o"], out.with_name(f"{out.stem}.groups.csv")
    command = shlex.join(["rectifact", "cluster", str(out), *named, str(target)])
    return f"{about_light(n_values)}For groups of samples as a column: {command}"


def write_coordinates(chosen: Found, matrix: Any, out: Path, names: Any, *, own: bool) -> NDArray[Any] | None:
    """A table of positions, or of the embedding if that is asked for with ``own``; or all arrays.

    Returns how many values each sample has, where the table of positions says it.
    """
    model, (samples, features) = chosen.model, names
    if out.suffix.lower() == ".npz":
        arrays = {"embedding": model.embedding_, "components": model.components_, "scale": np.array(model.scale_)}
        arrays |= {"positions": model.positions(matrix.X), "samples": samples, "features": features}
        arrays |= {"shift": np.array(matrix.shift)} if getattr(matrix, "shift", 0) else {}
        save_arrays(out, arrays | {"link": np.array(model.resolved_["link"])} | chosen.arrays)
        return None
    if own:
        write_samples(model.embedding_, samples, "dimension", out, matrix.row_title)
        return None
    n_values = None if model.missing is not None else values_of(matrix.X)
    table = samples_table(model.positions(matrix.X), samples, "position", matrix.row_title)
    write_table(table if n_values is None else table.assign(**{COLUMN: n_values}), out)
    return n_values
