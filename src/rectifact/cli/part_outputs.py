"""What rectifact parts shows and writes: parts or topics with their shares, and the weights of the samples."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from rectifact.cli.reading import names_in
from rectifact.cli.tables import retitled, save_arrays, write_samples, write_table
from rectifact.core.arrays import Array
from rectifact.core.errors import InputError
from rectifact.core.findings import Finding
from rectifact.core.operand import operand
from rectifact.io.all_rows import AllRows
from rectifact.parts.document_table import document_table
from rectifact.parts.documents import Corpus
from rectifact.parts.terms import TOPICS, Terms
from rectifact.parts.topics import (
    CLEAR_SHARE,
    HARDLY,
    clear_documents,
    document_shares,
    documents_by_topic,
    have_no_topic,
)
from rectifact.report.names import are_along_axis, leading_features

OWN_COLUMNS = re.compile(r"topic\d+|largest_topic|largest_share|known_words|words|residual|language|clear")
"""Columns of --weights."""


@dataclass(frozen=True, eq=False)
class Shown:
    """Parts as people see them, numbered from 1.

    Attributes
    ----------
    components : array of shape (n_parts, n_features)
    W : array or Dask array of shape (n_samples, n_parts)
    names, samples : array of str
        Names of features and samples; of a matrix in chunks, those of each chunk.
    terms : Terms
    top : int
        Number of features that are shown of each part.
    signed : bool
        Whether negative values mean something.
    measured : dict of str to array
        Stability and bands, where they are known.
    coherence : array of shape (n_parts,), or None
    known : array of shape (n_samples,), or None
        Share of the words of each document that a saved model knows.
    about : mapping of str to array of shape (n_samples,)
        What else is known about each document, by the name of its column.
    rows : AllRows or None
        Rows of the table that documents were read from, of which some may have no text.
    """

    components: NDArray[Any]
    W: Array
    names: NDArray[Any]
    samples: Any
    terms: Terms
    top: int
    signed: bool
    measured: dict[str, Any]
    coherence: NDArray[Any] | None
    known: NDArray[Any] | None = None
    about: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    rows: AllRows | None = None

    @property
    def share(self) -> NDArray[Any]:
        """Share of each part in all that the parts explain."""
        sums = np.asarray(operand(self.W).total(_column_sums), dtype=float)
        size = sums * np.abs(self.components).sum(axis=1)
        return np.asarray(size / max(size.sum(), 1e-300))

    @property
    def documents(self) -> NDArray[Any] | None:
        """Documents of which each topic is clearly the largest; None for parts, whose sizes cannot be compared."""
        return documents_by_topic(self.shares(), self.about["residual"]) if self.terms == TOPICS else None

    @property
    def clear(self) -> NDArray[Any]:
        """Whether each document is clearly about its largest topic."""
        return clear_documents(self.shares(), self.about["residual"], self.known)

    @property
    def without(self) -> NDArray[np.bool_]:
        """Which documents have no topic, or samples no part."""
        if self.terms == TOPICS:
            return have_no_topic(self.about["residual"])
        return np.asarray(self.shares().sum(axis=1) <= 0)

    @property
    def sizes(self) -> NDArray[Any]:
        """What counts as large: absolute values where negative ones mean something."""
        return np.abs(self.components) if self.signed else self.components

    def largest(self) -> pd.DataFrame:
        """A table of part, rank, feature and value, at most ``top`` rows per part, with the bands that are known.

        Of curves along an axis, such as spectra, it has the peaks.
        """
        tops = leading_features(self.sizes, self.names, self.top)
        part = np.repeat(np.arange(len(tops)), [len(top) for top in tops])
        chosen = np.concatenate([np.asarray(top, dtype=int) for top in tops])
        value = "weight" if self.terms == TOPICS else "value"
        table = pd.DataFrame(
            {
                self.terms.part: part + 1,
                "rank": [rank + 1 for top in tops for rank in range(len(top))],
                self.terms.feature: self.names[chosen],
                value: self.components[part, chosen],
            }
        )
        for name in ("lower", "upper"):
            if name in self.measured:
                table[name] = self.measured[name][part, chosen]
        if "stability" in self.measured:
            table["stability"] = self.measured["stability"][part]
        return table

    def leading(self) -> list[list[str]]:
        """The ten largest features of each part."""
        table = replace(self, top=10).largest()
        parts, names = table[self.terms.part], table[self.terms.feature].astype(str)
        return [names[parts == i + 1].tolist() for i in range(len(self.components))]

    def summary(self) -> list[dict[str, Any]]:
        """One record per part with its share, figures and largest features, for ``--json``."""
        table, share, documents = self.largest(), self.share, self.documents
        columns = [self.terms.feature, table.columns[3]]
        records = []
        for i in range(len(self.components)):
            own = table.loc[table[self.terms.part] == i + 1, columns]
            record: dict[str, Any] = {self.terms.part: i + 1, "share": round(float(share[i]), 6)}
            record |= {} if documents is None else {"documents": int(documents[i])}
            if self.coherence is not None:
                record["coherence"] = round(float(self.coherence[i]), 4)
            if "stability" in self.measured:
                record["stability"] = round(float(self.measured["stability"][i]), 4)
            if "stability_range" in self.measured:
                record["stability_range"] = [round(float(end), 4) for end in self.measured["stability_range"][i]]
            record[f"{self.terms.feature}s"] = [
                {columns[0]: str(name), columns[1]: float(f"{value:.6g}")} for name, value in own.to_numpy()
            ]
            records.append(record)
        return records

    def table(self) -> Table:
        """The parts for people: share, coherence and stability if they are known, and the largest features."""
        known = {"coherence": self.coherence, "stability": self.measured.get("stability")}
        ends = self.measured.get("stability_range")
        spans = None if ends is None else [f"{low:.2f} to {high:.2f}" for low, high in ends]
        figures = {name: values for name, values in known.items() if values is not None}
        texts, largest, share, documents = self.terms == TOPICS, self.largest(), self.share, self.documents
        peaks = not texts and are_along_axis(self.sizes, self.names)
        last = "largest words" if texts else "peaks (values)" if peaks else f"top {self.terms.feature}s (values)"
        title = f"{self.terms.part.capitalize()}s"
        titles = [*figures, "by split"] if spans is not None else list(figures)
        titles = ["documents", *titles] if texts else titles
        table = Table(self.terms.part, "share", *titles, last, title=title, title_justify="left")
        each = (
            f" Documents: those in which it is clearly the largest topic, with a share of at least {CLEAR_SHARE:g} and "
            f"a residual below {HARDLY:g}; --weights lists all documents."
        )
        each = each if texts else ""
        table.caption = f"Share: of all that the {self.terms.part}s explain of the {self.terms.whole}.{each}"
        if spans is not None:
            table.caption += (
                f" Stability: 1 if halves of the {self.terms.sample}s, fitted apart, have the same {self.terms.part}, "
                "0 if one of them does not have it; the mean and the range of several splits into halves."
            )
        table.caption_justify = "left"
        for column in table.columns[:-1]:
            column.justify = "right"
        for i in np.flatnonzero(np.abs(self.components).max(axis=1) > 0).tolist():
            own = largest[largest[self.terms.part] == i + 1]
            pairs = zip(own[self.terms.feature], own.iloc[:, 3], strict=True)
            text = ", ".join(str(name) if texts else f"{name} ({value:.2g})" for name, value in pairs)
            printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
            counted = [] if documents is None else [str(documents[i])]
            cells = (
                counted
                + [f"{values[i]:.2f}" for values in figures.values()]
                + ([spans[i]] if spans is not None else [])
            )
            table.add_row(str(i + 1), f"{share[i]:.1%}", *cells, escape(printable))
        return table

    def write_largest(self, path: Path, row_title: str, column_title: str) -> None:
        """Write the largest features; features are called as in the file, words are words."""
        table = self.largest()
        write_table(table if self.terms == TOPICS else retitled(table, row_title, column_title), path)

    def write_parts(self, path: Path, column_title: str, more: Mapping[str, Any]) -> None:
        """Write the parts as a table, one row per feature; or the parts and ``more`` as arrays."""
        if path.suffix.lower() == ".npz":
            save_arrays(path, {"components": self.components, "features": self.names} | dict(more))
            return
        title = self.terms.feature if self.terms == TOPICS else column_title
        write_samples(self.components.T, self.names, self.terms.part, path, title)

    def write_weights(self, path: Path, title: str, as_shares: bool = False) -> None:
        """Write one row per sample: its weights or shares; for texts the share of each topic and the largest one.

        See :func:`rectifact.parts.document_table.document_table`.
        """
        if self.terms == TOPICS:
            title = "document" if title == "sample" else title
            table = document_table(self.shares(), self.about, self.samples, title, self.known)
            write_table(table if self.rows is None else self.rows.put(table), path)
        else:
            write_samples(self.shares() if as_shares else self.W, self.samples, self.terms.part, path, title)

    def arrays(self) -> dict[str, Any]:
        """Weights and names of the samples, for -o; rows without text have weights of zero."""
        if self.rows is None:
            return {"weights": self.W, "samples": self.samples}
        return {"weights": self.rows.spread(self.W), "samples": self.rows.names}

    def shares(self) -> NDArray[Any]:
        """Share of each part in each sample; each row sums to 1, or to 0 where a sample has no part."""
        return document_shares(self.W, self.components)


def rows_of(matrix: Any) -> AllRows | None:
    """Rows of the table that documents were read from, if they were."""
    return matrix.all_rows if isinstance(matrix, Corpus) else None


def check_kept(names: str | None, writes_weights: bool) -> None:
    """Refuse columns to keep that --weights could not have."""
    if names and not writes_weights:
        raise InputError("--keep adds columns to --weights, which is not given.", "Give --weights FILE as well.")
    for name in names_in(names):
        if OWN_COLUMNS.fullmatch(name):
            raise InputError(f"--keep {name!r} is the name of a column that --weights has.", "Rename it in your table.")


def listed(findings: list[Finding]) -> list[dict[str, str]]:
    """Findings as plain values, for ``--json``."""
    return [
        {"severity": f.severity, "finding": f.finding, "detail": f.detail, "remedy": f.command or f.remedy}
        for f in findings
    ]


def _column_sums(rows: Array) -> Array:
    return rows.sum(axis=0)
