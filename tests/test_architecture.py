"""The tree is the architecture: these tests keep it so."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rectifact

ROOT = Path(rectifact.__file__).parent
ORDER = ["core", "io", "kernels", "metrics", "datasets", "families", "models", "report", "bench", "cli"]
FAMILIES = {"crowd", "parts", "latent", "graph"}
EXTRAS = ("torch", "cupy", "dask", "distributed", "jinja2", "plotly", "matplotlib", "crowdkit", "polars", "sphinx")


def rank(layer: str) -> int:
    return ORDER.index("families" if layer in FAMILIES else layer)


def imported_layers(source: str, package: str) -> set[str]:
    """Top-level modules of rectifact that ``source``, a module of ``package``, imports in any spelling."""
    layers = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        layers |= {name.split(".")[1] for name in names if name.startswith("rectifact.")}
    return layers - {"__version__"}


def wrong_imports(path: Path, source: str) -> list[str]:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    layer = parts[1]
    targets = imported_layers(source, ".".join(parts[:-1]))
    return [f"{layer} imports {target}" for target in targets if target != layer and rank(target) >= rank(layer)]


def test_imports_point_down() -> None:
    modules = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    assert len(modules) > 20
    assert {str(path): wrong for path in modules if (wrong := wrong_imports(path, path.read_text()))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from rectifact.crowd import em",
        "import rectifact.crowd.em",
        "from rectifact import crowd",
        "from ..crowd import em",
        "from .. import crowd",
        "def later():\n    from rectifact.crowd.em import m_step",
    ],
)
@pytest.mark.parametrize("layer", ["core", "datasets", "parts"])
def test_an_import_that_points_up_or_across_is_seen(line: str, layer: str) -> None:
    assert wrong_imports(ROOT / layer / "module.py", line) == [f"{layer} imports crowd"]


def test_import_loads_no_extra_and_no_compiler() -> None:
    code = f"import sys, rectifact; print([m for m in {(*EXTRAS, 'numba')!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_has_one_source() -> None:
    from importlib.metadata import version

    assert version("rectifact") == rectifact.__version__
    citation = (ROOT.parents[1] / "CITATION.cff").read_text()
    assert f"version: {rectifact.__version__}\n" in citation
