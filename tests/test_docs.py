"""What the documentation and the project files claim."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "scripts" / "four_ways.py"


def said(way: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, SCRIPT, way], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def on_a_laptop(tmp_path_factory: Any) -> str:
    return said("laptop", tmp_path_factory.mktemp("laptop"))


@pytest.mark.parametrize(
    ("way", "library"),
    [
        pytest.param("dask", "dask", marks=pytest.mark.dask),
        ("resumed", "numpy"),
        pytest.param("gpu", "torch", marks=pytest.mark.gpu),
    ],
)
def test_one_script_four_ways(way: str, library: str, on_a_laptop: str, tmp_path: Path) -> None:
    if way == "dask":
        pytest.importorskip("distributed")
    if way == "gpu" and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("no CUDA device")
    result = said(way, tmp_path)
    assert result.startswith(library)
    error = float(re.search(r"error (\S+)", result).group(1))
    assert error < 1e-2
    if way != "gpu":  # in single precision the digits differ
        assert result.partition("weights")[2] == on_a_laptop.partition("weights")[2]
    if way == "resumed":
        assert (tmp_path / "four_ways_state" / "fit.json").exists()
        assert said(way, tmp_path) == result


def test_the_tables_are_those_of_the_stored_results() -> None:
    path = ROOT / "docs" / "scripts" / "tables.py"
    spec = importlib.util.spec_from_file_location("tables", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for file, name, text in script.tables(ROOT):
        assert text in (ROOT / file).read_text(), f"{name} in {file} is not what is stored; run {path.name}"


def test_the_lowest_versions_are_the_lower_bounds() -> None:
    """``make test-lowest`` tests what pyproject.toml promises."""
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *extras["report"], *extras["dask"]]:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement).groups()
        parts, least = pinned[name].split("."), bound.split(".")
        assert parts[: len(least)] == least, requirement
        assert set(parts[len(least) :]) <= {"0"}, requirement


def test_the_pages_of_the_papers_are_those_of_the_stored_results() -> None:
    spec = importlib.util.spec_from_file_location("papers", ROOT / "docs" / "scripts" / "papers.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name in script.PAPERS:
        assert (ROOT / "docs" / "papers" / f"{name}.rst").read_text() == script.page(script.paper(name)), name


def test_the_page_on_reliability_is_that_of_the_stored_trial() -> None:
    spec = importlib.util.spec_from_file_location("reliability", ROOT / "docs" / "scripts" / "reliability.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    stored = json.loads((ROOT / "docs" / "benchmarks" / "trial.json").read_text())
    assert (ROOT / "docs" / "reliability.rst").read_text() == script.page(stored)
    assert {row["row"].partition(",")[0] for row in stored["rows"]} <= set(script.ROWS)


def test_no_command_of_the_documentation_names_one_file_twice() -> None:
    """The commands themselves refuse that: one of the two would be overwritten."""
    commands = []
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.rst")):
        text = page.read_text().replace("\\\n", " ")
        commands += re.findall(r"^ *\$ (rectifact .*)$", text, re.MULTILINE)
        commands += [" ".join(found.split()) for found in re.findall(r"`(rectifact [^`]+)`", text)]
    assert len(commands) > 50
    for command in commands:
        files = re.findall(r"(?<= )[\w/-]+\.(?:csv|jsonl|txt|npz|rfx|html)(?=[ :]|$)", command.split(" #")[0])
        assert len(files) == len(set(files)), command
