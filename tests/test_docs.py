"""The script of the documentation says the same, whichever way it runs."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "scripts" / "four_ways.py"


def said(way: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, SCRIPT, way], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def on_a_laptop(tmp_path_factory: Any) -> str:
    return said("laptop", tmp_path_factory.mktemp("laptop"))


@pytest.mark.parametrize(("way", "library"), [("dask", "dask"), ("resumed", "numpy"), ("gpu", "torch")])
def test_one_script_four_ways(way: str, library: str, on_a_laptop: str, tmp_path: Path) -> None:
    if way == "dask":
        pytest.importorskip("distributed")
    if way == "gpu" and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("no CUDA device")
    result = said(way, tmp_path)
    assert result.startswith(library)
    error = float(re.search(r"error (\S+)", result).group(1))
    assert error < 1e-2
    if way != "gpu":  # where precision is single
        assert result.partition("weights")[2] == on_a_laptop.partition("weights")[2]
    if way == "resumed":
        assert (tmp_path / "four_ways_state" / "fit.json").exists()
        assert said(way, tmp_path) == result
