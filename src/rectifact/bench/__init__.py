"""The papers' tables and the peers, measured in one run."""

from dataclasses import dataclass
from typing import Any

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


@dataclass(frozen=True)
class Extent:
    """How much to measure."""

    peers: bool
    large: bool
    quick: bool
