"""What rectifact embed writes and shows besides the embedding: filled cells, and colours of the map."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rectifact.cli.tables import check_table_name
from rectifact.core.arrays import to_host
from rectifact.core.errors import InputError
from rectifact.io.matrices import NamedMatrix, read_names
from rectifact.io.tables import read_table

TABLES = {".csv", ".tsv", ".parquet"}


def check_fill(path: Path | None, missing: bool, in_chunks: bool) -> None:
    """Refuse --fill where nothing could be filled in, or written."""
    if path is None:
        return
    if not missing:
        raise InputError("--fill is for missing cells.", "Add --missing, so that empty cells and NaN count as missing.")
    if in_chunks:
        raise InputError("--fill needs a matrix in memory, and this one is in chunks.", "Fill in some of its rows.")
    check_table_name(path)


def dropped(drop: str | None, colour_by: str | None, data: Path) -> str | None:
    """Columns to leave out, with the one that colours the map if it is in the data."""
    if colour_by is None or Path(colour_by).exists() or data.suffix.lower() not in TABLES:
        return drop
    place, _, column = colour_by.rpartition(":")
    if place and not (Path(place).exists() and Path(place).samefile(data)):
        return drop
    name = f'"{column}"'
    return name if drop is None else f"{drop},{name}"


def filled(matrix: NamedMatrix, model: Any, samples: Any, features: Any) -> pd.DataFrame:
    """The data with what the model predicts in place of its missing cells, one row per sample."""
    X: Any = matrix.X
    known = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    found = np.asarray(to_host(model.inverse_transform(model.embedding_)), dtype=float)
    table = pd.DataFrame(np.where(np.isnan(known), found, known), columns=[str(name) for name in features])
    table.insert(0, matrix.row_title, samples, allow_duplicates=True)
    return table


def read_groups(text: str, data: Path, n_samples: int) -> dict[str, Any]:
    """Values that colour the map, by the name of their column: from a table and column, or one value per line.

    Parameters
    ----------
    text : str
        A column of ``data``, ``table.csv:column``, or the path of a table with one column or of a text file.
    data : Path
        The table that was embedded.
    n_samples : int
        Number of values that there must be.
    """
    place, _, column = (text, "", "") if Path(text).exists() else text.rpartition(":")
    path = Path(place) if place else data
    if path.suffix.lower() not in TABLES:
        return {path.stem: read_names(path, n_samples, "row")}
    table = read_table(path).to_pandas()
    if not column and len(table.columns) == 1:
        column = str(table.columns[0])
    if column not in table:
        known = ", ".join(map(str, table.columns[:8]))
        raise InputError(
            f"--colour-by {text!r} does not name a column of {str(path)!r}.",
            f"Write {path.name}:COLUMN, with one of {known}.",
        )
    if len(table) != n_samples:
        raise InputError(
            f"{str(path)!r} has {len(table):,} rows, but there are {n_samples:,} samples.", "Give one row per sample."
        )
    return {column: table[column].to_numpy()}
