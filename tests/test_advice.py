"""What errors, findings, help texts and guides advise exists: options, parameters, methods and names in the package."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rectifact
from rectifact import DawidSkene, InputError, MajorityVote, MinimaxEntropy
from rectifact.cli.commands import SUMMARIES, load
from rectifact.crowd import read_answers
from rectifact.crowd.data.partitions import read_lazy

ROOT = Path(rectifact.__file__).parent
GUIDES = [Path(__file__).parents[1] / "README.md", *sorted((Path(__file__).parents[1] / "docs").glob("*.rst"))]
COMMANDS = {
    "crowd": ["labels", "agree", "rate", "evaluate"],
    "parts": ["parts"],
    "latent": ["embed"],
    "graph": ["cluster"],
}
"""Commands in which a message of a family can appear."""

OTHER_TOOLS = {"pip", "make", "pytest", "git", "python", "dask"}
"""Commands of others, whose options are not ours."""

OPTION = re.compile(r"(?<![\w(-])--[a-z][a-z0-9-]*")
VALUE = re.compile(r"(?<![\w.\-/\"'(=])([a-z][a-z0-9_]*)=(?=[\w'\"\[{.<…-]|$)")
NAME = re.compile(r"rectifact(?:\.[A-Za-z_]\w*)+")
CALL = re.compile(r"``([A-Za-z_][\w.]*)\(([^`]*)\)``|`([A-Za-z_][\w.]*)\(([^`]*)\)`")


@cache
def options_of(command: str) -> frozenset[str]:
    found = load(command)
    return frozenset(name for option in found.params for name in (*option.opts, *option.secondary_opts))


def all_options(*commands: str) -> set[str]:
    return set().union(*(options_of(command) for command in commands or SUMMARIES), {"--help", "--version"})


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string of a module that is not a docstring, with dots for what is filled in."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    skipped = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    }
    pieces = {id(piece) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for piece in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped | pieces:
            yield node.lineno, node.value


def modules() -> list[Path]:
    """Modules whose strings are sentences for users; one draws pictures, and the benchmarks are for developers."""
    rest = (path for path in sorted(ROOT.rglob("*.py")) if "bench" not in path.relative_to(ROOT).parts)
    return [path for path in rest if path != ROOT / "report" / "svg.py"]


def unknown_options(path: Path) -> list[str]:
    """Options in the strings of a module that the commands in which they appear do not have."""
    family, name = path.relative_to(ROOT).parts[0], path.stem
    commands = COMMANDS.get(family, [])
    if family == "cli" and name in SUMMARIES:
        commands = [name]
    found = []
    for line, text in sentences(path):
        of_others = set(re.findall(r"rectifact ([a-z]+) [^;]*?--", text)) & SUMMARIES.keys()
        if any(re.search(rf"\b{tool} ", text) for tool in OTHER_TOOLS):
            continue
        known = all_options(*commands, *of_others) if commands else all_options()
        found += [f"{path}:{line}: {option}" for option in OPTION.findall(text) if option not in known]
    return found


def test_options_that_messages_name_exist_in_their_command() -> None:
    assert len(modules()) > 100
    assert [wrong for path in modules() for wrong in unknown_options(path)] == []


def parameters(callable_: Any) -> set[str]:
    try:
        return set(inspect.signature(callable_).parameters)
    except (TypeError, ValueError):
        return set()


FOR_USERS = (
    "anndata",
    "crowd",
    "datasets",
    "graph",
    "latent",
    "metrics",
    "models",
    "parts",
    "parts.documents",
    "report",
)
FOR_USERS += ("selection",)
"""Modules whose names in ``__all__``, or public ones where there is none, are for users."""


@cache
def public() -> dict[str, list[Any]]:
    """Every function, class and method for users, by its name and by ``Class.method``."""
    found: dict[str, list[Any]] = {}
    documented = re.findall(r"^   (rectifact\.[\w.]+)$", (GUIDES[0].parent / "docs" / "api.rst").read_text(), re.M)
    homes = [rectifact, *(importlib.import_module(f"rectifact.{name}") for name in FOR_USERS)]
    named = {name: resolved(name) for name in documented}
    for home in homes:
        names = getattr(home, "__all__", None) or [name for name in vars(home) if not name.startswith("_")]
        named |= {f"{home.__name__}.{name}": getattr(home, name) for name in names}
    for path, value in named.items():
        if not callable(value) or not (value.__module__ or "").startswith("rectifact"):
            continue
        name = path.rpartition(".")[2]
        found.setdefault(name, []).append(value)
        methods = inspect.getmembers(value, inspect.isfunction) if inspect.isclass(value) else []
        for method, function in methods:
            if not method.startswith("_"):
                found.setdefault(method, []).append(function)
                found.setdefault(f"{name}.{method}", []).append(function)
    return found


@cache
def parameters_of(*layers: str) -> frozenset[str]:
    """Parameters of everything public in these parts of the package; in all of it without any."""
    found: set[str] = set()
    for values in public().values():
        for value in values:
            home = value.__module__.split(".")
            if not layers or home[0] != "rectifact" or home[1] in layers:
                found |= parameters(value)
    return frozenset(found)


def unknown_parameters(path: Path) -> list[str]:
    layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
    known = parameters_of(layer, "selection") if layer in COMMANDS else parameters_of()
    found = []
    for line, text in sentences(path):
        if " " in text and "<" not in text:  # a sentence, and not markup
            found += [f"{path}:{line}: {name}=" for name in VALUE.findall(text) if name not in known]
    return found


def test_parameters_that_messages_name_exist() -> None:
    assert [wrong for path in modules() for wrong in unknown_parameters(path)] == []


def resolved(name: str) -> Any:
    """What a name in the package stands for; None if there is nothing."""
    value: Any = rectifact
    path = "rectifact"
    for part in name.split(".")[1:]:
        path += f".{part}"
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        try:
            value = importlib.import_module(path)
        except ImportError:
            return None
    return value


def test_names_in_the_package_exist() -> None:
    texts = [(path, path.read_text()) for path in [*GUIDES, *modules()] if path.name != "migration.rst"]
    skipped = re.compile(r"rectifact\.(cli|bench|kernels|csv|html|rfx|git|readthedocs|io|dev|log)\b")
    wrong = [
        f"{path.name}: {name}"
        for path, text in texts
        for name in NAME.findall(text)
        if not skipped.match(name) and resolved(name) is None
    ]
    assert wrong == []


def console_lines(text: str) -> Iterator[str]:
    """Commands in a guide, each on one line."""
    for line in text.replace("\\\n", " ").splitlines():
        found = re.match(r"\s*(?:\$ )?(rectifact [a-z].*)", line)
        if found:
            yield found[1].partition("  #")[0]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_commands_in_guides_have_their_options(path: Path) -> None:
    wrong = []
    for line in console_lines(path.read_text()):
        words = line.split()
        if words[1] in SUMMARIES:
            known = options_of(words[1]) | {"--help"}
            wrong += [
                f"{line}: {word}"
                for word in words
                if word.startswith("-") and word != "-" and word.split("=")[0] not in known
            ]
    assert wrong == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_options_in_the_prose_of_guides_exist(path: Path) -> None:
    quoted = [a or b for a, b in re.findall(r"``([^`]+)``|`([^`]+)`", path.read_text())]
    ours = [text for text in quoted if not any(re.search(rf"\b{tool} ", text) for tool in OTHER_TOOLS)]
    assert [text for text in ours for option in OPTION.findall(text) if option not in all_options()] == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_calls_in_the_prose_of_guides_exist_with_their_parameters(path: Path) -> None:
    """``SymNMF(normalize=)`` has the parameter; so has one of the methods called ``fit`` for ``fit(gold=)``."""
    wrong = []
    for found in CALL.findall(path.read_text()):
        name, arguments = found[:2] if found[0] else found[2:]
        values = public().get(".".join(name.split(".")[-2:])) or public().get(name.split(".")[-1])
        if values is None:
            if re.fullmatch(r"model\.\w*[a-z]", name) or (name.startswith("rectifact.") and resolved(name) is None):
                wrong.append(name)
            continue
        named = re.findall(r"(?:^|[(,]\s*)([a-z_]+)=", arguments)
        if named and not any({*named} <= parameters(value) or _takes_anything(value) for value in values):
            wrong.append(f"{name}({arguments})")
    assert wrong == []


def _takes_anything(value: Any) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(value).parameters.values())


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_attributes_in_guides_exist(path: Path) -> None:
    set_somewhere = "".join(module.read_text() for module in modules())
    named = re.findall(r"(?<![\w:.])`{1,2}((?!index_add_)[a-z][a-z_]*_)`{1,2}(?!_)", path.read_text())
    assert [name for name in named if not re.search(rf"\.{name}\b", set_somewhere)] == []


@pytest.mark.parametrize(
    "call",
    [
        read_answers,
        read_lazy,
        *(kind().fit for kind in (DawidSkene, MajorityVote, MinimaxEntropy)),
        rectifact.agreement,
        rectifact.alternative_annotator_test,
        rectifact.evaluate,
        rectifact.rate,
    ],
    ids=lambda call: call.__qualname__,
)
def test_columns_can_be_named_where_an_error_asks_for_it(call: Any) -> None:
    table = pd.DataFrame({"q": [1, 1, 2, 2], "who": [*"abab"], "said": [0, 1, 1, 1]})
    if call is read_lazy:
        table = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=1)
    needed = {"gold": {1: 0}, "positive": 0, "humans": table}
    needed = {name: needed[name] for name in needed.keys() & parameters(call)}
    with pytest.raises(InputError) as caught:
        call(table, **needed)
    named = VALUE.findall(str(caught.value))
    assert set(named) <= parameters(call), str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('say("Leave out --nonsense.")', "--nonsense"),
        ('raise InputError(f"k={k} is wrong.", "Give nonsense=3, or less.")', "nonsense="),
    ],
)
def test_wrong_advice_is_seen(line: str, message: str, tmp_path: Path, monkeypatch: Any) -> None:
    module = tmp_path / "parts" / "module.py"
    module.parent.mkdir()
    module.write_text(line)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert message in "".join([*unknown_options(module), *unknown_parameters(module)])
