"""Tables as commands need them: texts whose fields have fields, as in JSON Lines, and yes and no as numbers."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from rectifact.io.columns import Purpose
from rectifact.io.frames import Frame, plain_texts
from rectifact.io.whole_names import with_whole_identifiers
from rectifact.io.yes_no import read_yes_no


def flattened(frame: Frame) -> Frame:
    """A table with a column for each field of a field, called after both, as ``content.body``; lists become text.

    Examples
    --------
    >>> from pathlib import Path
    >>> table = pa.table({"id": [7], "content": [{"title": "Help", "body": {"text": "It is broken."}}]})
    >>> flattened(Frame(Path("x.jsonl"), table, lambda name: ["007"])).table.column_names
    ['id', 'content.title', 'content.body.text']
    """
    table = frame.table
    if not any(pa.types.is_nested(kind) for kind in table.schema.types):
        return frame
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = plain_texts(table.column(i).to_pylist())
            table = table.set_column(i, field.name, pa.array([text or None for text in texts], pa.string()))

    def text(name: str) -> list[str]:
        own = name in frame.table.column_names
        return frame.text(name) if own else plain_texts(table.column(name).to_pylist())

    return replace(frame, table=table, text=text)


PREPARED: dict[Purpose, Callable[[Frame], Frame]] = {
    "parts": lambda frame: with_whole_identifiers(flattened(frame)),
    "embed": lambda frame: with_whole_identifiers(read_yes_no(frame)),
    "cluster": with_whole_identifiers,
}
"""What is done with a table before its kind is found; nodes of a graph may have fields only by mistake."""
