"""Files as they should be, of every format, and ways to damage them."""

import bz2
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp

WORDS = ("rain", "wind", "sea", "farm", "corn", "hay", "storm", "ship", "the", "and", "price", "market")
STRANGE = (
    *(
        "",
        " ",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e400",
        "-1",
        "1e-320",
        "0",
        "-0",
        "1,5",
        "1.234,5",
        "12 %",
        "TRUE",
        "null",
    ),
    *(
        '"',
        '"unclosed',
        "'",
        "\\",
        "a\tb",
        "a\x00b",
        "\ufeff",
        "\u202eabc",
        "é",
        "𝟙",
        "=1+1",
        "<script>",
        "x" * 5000,
        "9" * 400,
    ),
)


@dataclass(frozen=True)
class Seed:
    """A sound file: its name, its bytes, and the commands that read it."""

    name: str
    content: bytes
    commands: tuple[str, ...]


def seeds() -> list[Seed]:
    """Sound files of every format."""
    rng = np.random.default_rng(0)
    answers = pd.DataFrame(
        {
            "task": [f"t{i}" for i in range(15) for _ in range(4)],
            "worker": [f"w{j}" for _ in range(15) for j in range(4)],
            "label": rng.choice(["yes", "no"], 60),
        }
    )
    counts = rng.poisson(rng.gamma(0.5, 2, (12, 8))).astype(float)
    table = pd.DataFrame(counts, columns=[f"f{j}" for j in range(8)]).rename_axis("id")
    triples = table.rename_axis(columns="item").stack().rename("rating").reset_index().query("rating > 0")
    edges = pd.DataFrame(
        [(f"n{i}", f"n{j}", 1.0 + (i + j) % 3) for i in range(12) for j in range(i) if (i % 3 == j % 3)]
    )
    edges.columns = pd.Index(["source", "target", "weight"])
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(20)]
    records = answers.to_dict("records")
    ring = sp.coo_array((np.ones(12), (np.arange(12), (np.arange(12) + 3) % 12)), shape=(12, 12))
    graph = ring + ring.T
    crowd, matrix, text = ("labels", "agree"), ("parts", "embed"), ("parts-text",)
    return [
        Seed("answers.csv", answers.to_csv(index=False).encode(), crowd),
        Seed("answers.tsv", answers.to_csv(index=False, sep="\t").encode(), crowd),
        Seed("answers.csv.gz", gzip.compress(answers.to_csv(index=False).encode()), crowd),
        Seed("answers.jsonl", "\n".join(map(json.dumps, records)).encode(), crowd),
        Seed("answers.json", json.dumps(records).encode(), crowd),
        Seed("answers.parquet", _written(answers.to_parquet), crowd),
        Seed(
            "wide.csv",
            answers.pivot(index="task", columns="worker", values="label").to_csv().encode(),
            ("labels-wide",),
        ),
        Seed("counts.csv", table.to_csv().encode(), (*matrix, "cluster")),
        Seed("counts.csv.bz2", bz2.compress(table.to_csv().encode()), matrix),
        Seed("counts.parquet", _written(table.reset_index().to_parquet), matrix),
        Seed("counts.npy", _written(lambda file: np.save(file, counts)), matrix),
        Seed("counts.npz", _written(lambda file: sp.save_npz(file, sp.csr_array(counts))), matrix),
        Seed("dense.npz", _written(lambda file: np.savez(file, X=counts)), matrix),
        Seed("counts.mtx", _written(lambda file: scipy.io.mmwrite(file, sp.coo_array(counts))), matrix),
        Seed("ratings.csv", triples.to_csv(index=False).encode(), ("embed-triples",)),
        Seed("edges.csv", edges.to_csv(index=False).encode(), ("cluster-graph",)),
        Seed("edges.parquet", _written(edges.to_parquet), ("cluster-graph",)),
        Seed("graph.npz", _written(lambda file: sp.save_npz(file, sp.csr_array(graph))), ("cluster-graph",)),
        Seed("graph.mtx", _written(lambda file: scipy.io.mmwrite(file, graph)), ("cluster-graph",)),
        Seed("graph.gml", _gml(edges).encode(), ("cluster-graph",)),
        Seed("texts.txt", "\n".join(texts).encode(), text),
        Seed("texts.csv", pd.DataFrame({"id": range(20), "text": texts}).to_csv(index=False).encode(), text),
        Seed("texts.jsonl", "\n".join(json.dumps({"text": text}) for text in texts).encode(), text),
    ]


def _written(write: Callable[[Any], Any]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _gml(edges: pd.DataFrame) -> str:
    nodes = sorted(set(edges["source"]) | set(edges["target"]))
    numbers = {name: i for i, name in enumerate(nodes)}
    listed = "".join(f'  node [ id {i} label "{name}" ]\n' for name, i in numbers.items())
    linked = "".join(
        f"  edge [ source {numbers[a]} target {numbers[b]} weight {w} ]\n" for a, b, w in edges.itertuples(index=False)
    )
    return f"graph [\n{listed}{linked}]\n"


TEXTUAL = (".csv", ".tsv", ".json", ".jsonl", ".mtx", ".gml", ".txt")


def damaged(seed: Seed, rng: np.random.Generator) -> bytes:
    """The file after one to three damages, of its bytes or, if it is text, of its lines and cells."""
    content = seed.content
    for _ in range(rng.integers(1, 4)):
        ways = [*BYTES, *(LINES if seed.name.endswith(TEXTUAL) else ())]
        content = ways[rng.integers(len(ways))](content, rng)
    if seed.name.endswith(".csv.gz") and rng.random() < 0.5:  # the table is damaged, not its compression
        content = gzip.compress(damaged(Seed("a.csv", gzip.decompress(seed.content), ()), rng))
    return content


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 9)):
        if changed:
            changed[rng.integers(len(changed))] = rng.integers(256)
    return bytes(changed)


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content) + 1)]


def _drop(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = sorted(rng.integers(len(content) + 1, size=2))
    return content[:start] + content[min(stop, start + 40) :]


def _insert(content: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(len(content) + 1)
    return content[:place] + rng.bytes(rng.integers(1, 30)) + content[place:]


def _repeat(content: bytes, rng: np.random.Generator) -> bytes:
    return content + content[: rng.integers(len(content) + 1)]


def _other_encoding(content: bytes, rng: np.random.Generator) -> bytes:
    encoding = ("utf-16", "utf-8-sig", "utf-32", "utf-16-le")[rng.integers(4)]
    return content.decode("latin-1").encode(encoding)


def _swap_lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _double_line(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    place = rng.integers(len(lines))
    return b"\n".join(lines[:place] + [lines[place]] * int(rng.integers(2, 5)) + lines[place:])


def _strange_cell(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    for _ in range(rng.integers(1, 4)):
        place = rng.integers(len(lines))
        separator = next((mark for mark in (b"\t", b",", b" ") if mark in lines[place]), b",")
        cells = lines[place].split(separator)
        cells[rng.integers(len(cells))] = STRANGE[rng.integers(len(STRANGE))].encode("utf-8", "surrogatepass")
        lines[place] = separator.join(cells)
    return b"\n".join(lines)


def _strange_header(content: bytes, rng: np.random.Generator) -> bytes:
    first, _, rest = content.partition(b"\n")
    return _strange_cell(first, rng) + b"\n" + rest


def _large_number(content: bytes, rng: np.random.Generator) -> bytes:
    """A number somewhere becomes absurdly large, as in a header that claims 10^8 rows."""
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()]
    if not digits:
        return content
    place = digits[rng.integers(len(digits))]
    return content[:place] + str(10 ** int(rng.integers(3, 30))).encode() + content[place + 1 :]


def _other_separator(content: bytes, rng: np.random.Generator) -> bytes:
    marks = (b",", b";", b"\t", b"|", b"  ", b"\r\n")
    return content.replace(b",", marks[rng.integers(len(marks))])


BYTES = (_flip, _cut, _drop, _insert, _repeat)
LINES = (_other_encoding, _swap_lines, _double_line, _strange_cell, _strange_header, _large_number, _other_separator)


COMMANDS: dict[str, tuple[str, ...]] = {
    "labels": ("labels", "{file}", "-o", "out.csv"),
    "labels-wide": ("labels", "{file}", "--wide", "-o", "out.csv"),
    "agree": ("agree", "{file}", "-o", "out.csv"),
    "parts": ("parts", "{file}", "-k", "2", "-o", "out.npz"),
    "parts-text": ("parts", "{file}", "--text", "-k", "2", "--min-df", "1", "-o", "out.npz"),
    "embed": ("embed", "{file}", "-k", "2", "-o", "out.csv"),
    "embed-triples": ("embed", "{file}", "--triples", "id,item,rating", "-k", "2", "-o", "out.csv"),
    "cluster": ("cluster", "{file}", "-k", "2", "-o", "out.csv"),
    "cluster-graph": ("cluster", "--graph", "{file}", "-k", "2", "-o", "out.csv"),
}
OPTIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "labels": (
        *(("--workers", "workers.csv"), ("--report", "report.html"), ("--save", "model.rfx"), ("--json",), ("--wide",)),
        *(
            ("--model", "one-coin"),
            ("--model", "majority"),
            ("--ordinal",),
            ("--probabilities",),
            ("--plan", "plan.csv"),
        ),
        *(("--task", "task"), ("--task", "nothing"), ("--missing", "nan"), ("--budget", "3"), ("--target", "0.1")),
    ),
    "agree": (("--json",), ("--level", "ordinal"), ("--level", "interval"), ("--report", "report.html"), ("--wide",)),
    "parts": (
        *(
            ("--method", "purification"),
            ("--refine", "none"),
            ("--background",),
            ("--missing",),
            ("--json",),
            ("-k", "auto"),
        ),
        *(
            ("--weights", "weights.csv"),
            ("--features", "top.csv"),
            ("--report", "report.html"),
            ("--save", "model.rfx"),
        ),
        *(("--transpose",), ("--table",), ("--no-header",), ("--header",), ("--image", "2x4"), ("--id-column", "id")),
        *(
            ("--normalize", "none"),
            ("--noise-floor", "0.1"),
            ("--drop", "f1"),
            ("--columns", "f1,f2"),
            ("--text-column", "text"),
        ),
    ),
    "embed": (
        *(
            ("--link", "relu"),
            ("--link", "binary"),
            ("--objective", "latent"),
            ("--missing",),
            ("--json",),
            ("-k", "auto"),
        ),
        *(
            ("--recommend", "2"),
            ("--fill", "fill.csv"),
            ("--report", "report.html"),
            ("--save", "model.rfx"),
            ("--transpose",),
        ),
        *(("--no-header",), ("--table",), ("--max-iter", "3"), ("--id-column", "id"), ("--colour-by", "f1")),
    ),
    "cluster": (
        *(
            ("-k", "auto"),
            ("--metric", "cosine"),
            ("--neighbors", "3"),
            ("--l1", "0.1"),
            ("--no-normalize",),
            ("--json",),
        ),
        *(
            ("--solver", "hals"),
            ("--n-init", "2"),
            ("--report", "report.html"),
            ("--save", "model.rfx"),
            ("--stability",),
        ),
        *(("--min-component", "2"), ("--seed", "3"), ("--l1", "inf"), ("--l1", "nan")),
    ),
}


def arguments(name: str, file: str, rng: np.random.Generator) -> list[str]:
    """A command on a file, with up to two more options."""
    fixed = [file if word == "{file}" else word for word in COMMANDS[name]]
    more = OPTIONS[fixed[0]]
    chosen = rng.choice(len(more), size=rng.integers(0, 3), replace=False)
    return fixed + [word for i in chosen for word in more[i]]


OUTPUTS = (
    "out.csv",
    "out.npz",
    "workers.csv",
    "report.html",
    "model.rfx",
    "plan.csv",
    "weights.csv",
    "top.csv",
    "fill.csv",
)


def left_behind(folder: Path) -> list[str]:
    """Outputs and temporary files in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name in OUTPUTS or path.name.startswith(".rectifact."))
