"""The format of a file without a name, such as the standard input, by its first bytes."""

import gzip
import zipfile
from pathlib import Path

from rectifact.io.text import are_numbers, are_records, text_head

MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PAR1": ".parquet",
    b"%%MatrixMarket": ".mtx",
    b"\x89HDF": ".h5ad",
    b"<?xml": ".graphml",
    b"<graphml": ".graphml",
    b"graph": ".gml",
    b"Creator": ".gml",
}


def suffix_of(path: Path) -> str:
    """The ending that the name of a file should have; ``.txt`` for running text.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "input"
    ...     _ = path.write_text('{"text": "Rain in May"}')
    ...     suffix_of(path)
    '.jsonl'
    """
    with path.open("rb") as file:
        start = file.read(1 << 12)
    if start[:2] == b"\x1f\x8b":
        _unpack(path)
        return suffix_of(path)
    if start[:2] == b"PK":
        with zipfile.ZipFile(path) as archive:
            return ".xlsx" if any(name.startswith("xl/") for name in archive.namelist()) else ".npz"
    stripped = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = next((suffix for mark, suffix in MAGIC.items() if stripped.startswith(mark)), None)
    if found is not None:
        return found
    if stripped[:1] == b"{" or stripped[:2] in (b"[{", b'["'):
        return ".jsonl"
    lines = text_head(path)
    separator = are_records(lines)
    if separator == "\t":
        return ".tsv"
    return ".csv" if separator or are_numbers(lines) else ".txt"


def _unpack(path: Path) -> None:
    content = gzip.decompress(path.read_bytes())
    path.write_bytes(content)
