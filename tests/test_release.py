"""What a release promises: one version, one list of dependencies, and an sdist that has what its tests need."""

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import rectifact

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text()


def test_the_recipe_has_the_version_and_the_dependencies_of_the_package() -> None:
    assert f"version: {rectifact.__version__}\n" in RECIPE
    run = RECIPE.partition("\n  run:\n")[2].partition("\n\n")[0]
    listed = [line.strip("- ").replace(" >=", ">=") for line in run.splitlines()]
    needed = [f"python{PROJECT['project']['requires-python']}", *PROJECT["project"]["dependencies"]]
    assert listed == needed


def test_the_changelog_has_a_section_for_the_version() -> None:
    version = re.match(r"[\d.]+\d", rectifact.__version__)[0]
    assert re.search(rf"^## {re.escape(version)}( |$)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_all_that_the_sdist_includes_is_there() -> None:
    for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert pattern.startswith("/"), f"{pattern} would also match inside folders"
        assert list(ROOT.glob(pattern[1:])), pattern


@pytest.mark.parametrize("workflow", ["ci", "release"])
def test_the_workflows_run_every_python_that_is_promised_with_pinned_actions(workflow: str) -> None:
    path = ROOT / ".github" / "workflows" / f"{workflow}.yml"
    if not path.exists():
        pytest.skip("the sdist has no workflows")
    text = path.read_text()
    prefix = "Programming Language :: Python :: "
    promised = [re.fullmatch(rf"{prefix}(3\.\d+)", line) for line in PROJECT["project"]["classifiers"]]
    assert f"python: {[found[1] for found in promised if found]}".replace("'", '"') in text
    for action in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action


def interface() -> Any:
    spec = importlib.util.spec_from_file_location("interface", ROOT / "docs" / "scripts" / "interface.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_interface_knows_names_methods_and_options() -> None:
    script = interface()
    names, options = script.names(), script.options()
    assert names["rectifact.NMD"]["max_iter"] == "1000"
    assert names["rectifact.SymNMF.fit"]["source"] == "None"
    assert options["cluster -k"] == options["cluster --clusters"] == "'auto'"
    assert options["rate --positive"]
    assert "rectifact.io.files" in script.modules()


def test_differences_between_interfaces() -> None:
    old = {
        "modules": ["a", "b"],
        "names": {"f": {"x": "1", "y": "2"}, "g": {}},
        "options": {"c -k": "8", "c -o": "None"},
    }
    new = {"modules": ["a"], "names": {"f": {"x": "3", "z": "4"}}, "options": {"c -k": "'auto'"}}
    assert interface().differences(old, new) == [
        "gone: module b",
        "gone: f(y=)",
        "f(x=): 1 -> 3",
        "gone: g",
        "c -k: 8 -> 'auto'",
        "gone: c -o",
    ]


def test_modules_that_moved_are_where_the_notes_say() -> None:
    table = (ROOT / "docs" / "migration.rst").read_text().partition("\nModules\n")[2].partition("\nSaved models")[0]
    rows = [row.split("\n     - ") for row in table.split("\n   * - ")[2:]]
    assert len(rows) > 10
    for before, now in rows:
        family = re.search(r"``(rectifact(\.\w+)+)``", now)
        named = re.findall(r"``([\w.]+)``", now)
        modules = [
            name if name.startswith("rectifact.") else f"{family[1].rpartition('.')[0]}.{name}" for name in named
        ]
        if "same names" in now:
            short = [name.rpartition(".")[2] for name in re.findall(r"``([\w.]+)``", before)]
            modules = [f"{family[1]}.{name}" for name in short]
        for name in modules:
            assert importlib.util.find_spec(name), name
