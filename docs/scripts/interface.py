"""The interface of rectifact as JSON, and the differences between two versions, for the notes on a release.

``PYTHONPATH=old/src python docs/scripts/interface.py old.json`` writes the public names, their parameters with defaults
and the options of all commands of the tree in ``old``. ``python docs/scripts/interface.py old.json new.json`` prints
what is gone and what has another default.
"""

import inspect
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

PUBLIC = ("", "crowd", "parts", "latent", "graph", "selection", "datasets", "metrics", "report", "parts.documents")


def parameters(function: Any) -> dict[str, str]:
    """Names and defaults, "required" where there is none."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: "required" if p.default is p.empty else repr(p.default) for p in found if p.name != "self"}


def names() -> dict[str, dict[str, str]]:
    """Functions, classes and methods by their full names."""
    found: dict[str, dict[str, str]] = {}
    for part in PUBLIC:
        try:
            module = import_module(f"rectifact.{part}".rstrip("."))
        except ModuleNotFoundError:  # in an older version
            continue
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", own):
            thing, full = getattr(module, name), f"{module.__name__}.{name}"
            if callable(thing) and not name.startswith("_"):
                found[full] = parameters(thing)
            if inspect.isclass(thing):
                methods = {method: getattr(thing, method) for method in dir(thing) if not method.startswith("_")}
                found |= {f"{full}.{method}": parameters(it) for method, it in methods.items() if callable(it)}
    return found


def options() -> dict[str, str]:
    """The default of every option, by command and name."""
    found: dict[str, str] = {}

    def note(command: Any, path: str) -> None:
        for parameter in command.params:
            default = "required" if parameter.required else repr(parameter.default)
            found.update({f"{path} {name}".strip(): default for name in [*parameter.opts, *parameter.secondary_opts]})
        for name, child in getattr(command, "commands", {}).items():
            note(child, name)

    try:
        commands = import_module("rectifact.cli.commands")
        note(import_module("typer.main").get_command(commands.app), "")
        for name in commands.SUMMARIES:
            note(commands.load(name), name)
    except ModuleNotFoundError:  # version 0.1.0
        note(import_module("typer.main").get_command(import_module("rectifact.cli").app), "")
    return found


def modules() -> list[str]:
    """All modules of the package."""
    return [found.name for found in pkgutil.walk_packages(import_module("rectifact").__path__, "rectifact.")]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What is gone and what has another default, a line each."""
    lines = [f"gone: module {name}" for name in old["modules"] if name not in new["modules"]]
    for name, before in old["names"].items():
        after = new["names"].get(name)
        if after is None:
            lines.append(f"gone: {name}")
            continue
        lines += [f"gone: {name}({parameter}=)" for parameter in before if parameter not in after]
        both = [parameter for parameter in before if parameter in after]
        lines += [f"{name}({p}=): {before[p]} -> {after[p]}" for p in both if before[p] != after[p]]
    for name, default in old["options"].items():
        if name not in new["options"]:
            lines.append(f"gone: {name}")
        elif default != new["options"][name]:
            lines.append(f"{name}: {default} -> {new['options'][name]}")
    return lines


if __name__ == "__main__":
    first, *second = (Path(name) for name in sys.argv[1:])
    if second:
        print(*differences(json.loads(first.read_text()), json.loads(second[0].read_text())), sep="\n")
    else:
        first.write_text(json.dumps({"modules": modules(), "names": names(), "options": options()}, indent=1))
