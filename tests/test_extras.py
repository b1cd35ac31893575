"""Packages that are not installed: one sentence with the command that installs them, wherever they are needed."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import rectifact
from rectifact.datasets import make_crowd

ROOT = Path(__file__).parents[1]
HIDE = """
import importlib.machinery, json, sys
hidden, commands = json.loads(sys.argv[1])
find = importlib.machinery.PathFinder.find_spec
def find_others(name, path=None, target=None):
    return None if name.partition(".")[0] in hidden else find(name, path, target)
importlib.machinery.PathFinder.find_spec = staticmethod(find_others)
from rectifact.cli import main
for command in commands:
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as stopped:
        print(stopped.code, flush=True)
"""
HIDDEN = ["anndata", "dask", "distributed", "matplotlib", "networkx", "openpyxl", "torch", "umap"]
COMMANDS = {
    "labels answers": "Reading answers in several files needs Dask. {} '.[dask]'.",
    "labels answers --local-cluster 2": "--scheduler and --local-cluster need Dask. {} '.[dask]'.",
    "labels answers/0.parquet --device cuda": "--device cuda needs torch with Triton. {} '.[torch]'; or use "
    "--device cpu.",
    "parts chunks -k 2": "Reading a matrix in several files needs Dask. {} '.[dask]'.",
    "embed chunks -k 2 -o e.csv": "Reading a matrix in several files needs Dask. {} '.[dask]'.",
    "parts book.xlsx": "Reading an Excel workbook needs openpyxl. {} '.[excel]'; or save it as CSV UTF-8.",
    "parts cells.h5ad": "Reading an AnnData file needs anndata. {} '.[anndata]'.",
    "cluster graph.gml": "Reading a GML file needs networkx. {} '.[graphs]'; or save the edges as CSV.",
    "cluster --graph graph.graphml": "Reading a GraphML file needs networkx. {} '.[graphs]'; or save the edges as CSV.",
    "bench graph": "Measuring graph needs torch. {} '.[torch]'.",
    "bench parts --plot p.png": "Figures need matplotlib. {} '.[bench]'.",
}


@pytest.fixture
def data(tmp_path):
    answers = make_crowd(20, 6, 2).answers
    (tmp_path / "answers").mkdir()
    (tmp_path / "chunks").mkdir()
    for i in range(2):
        answers.to_parquet(tmp_path / "answers" / f"{i}.parquet")
        np.save(tmp_path / "chunks" / f"{i}.npy", np.ones((4, 3)))
    for name in ("book.xlsx", "cells.h5ad", "graph.gml", "graph.graphml"):
        (tmp_path / name).write_text("x")
    return tmp_path


def test_every_missing_package_is_one_sentence_with_its_command(data):
    """In one process, from which the packages are hidden as if they were not installed."""
    asked = json.dumps([HIDDEN, [command.split() for command in COMMANDS]])
    done = subprocess.run([sys.executable, "-c", HIDE, asked], capture_output=True, text=True, check=True, cwd=data)
    assert done.stdout.split() == ["2"] * len(COMMANDS), done.stderr
    for line, (command, expected) in zip(done.stderr.splitlines(), COMMANDS.items(), strict=True):
        said = expected.format("Install it from a clone of rectifact: pip install")
        assert line == f"rectifact: {said}", command


def test_every_extra_that_a_message_names_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set()
    for path in Path(rectifact.__file__).parent.rglob("*.py"):
        assert "pip install" not in path.read_text() or path.name == "errors.py", f"{path} words a command of its own"
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"missing_extra", "install"}:
                place = node.args[2 if node.func.id == "missing_extra" else 0]
                named |= {place.value} if isinstance(place, ast.Constant) else set()
    assert {"dask", "torch", "bench", "excel", "anndata", "graphs"} <= named <= set(extras)
