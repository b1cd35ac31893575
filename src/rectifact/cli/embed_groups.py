"""How to get groups of samples as a column, after rectifact embed."""

import shlex
from pathlib import Path


def groups_by(out: Path, title: str) -> str:
    """The command that finds groups among the positions of a table; its columns have one unit, and are not scaled.

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
    return f"For groups of samples as a column: {command}"
