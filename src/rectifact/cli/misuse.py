"""What is wrong with the words of a command: unknown options, missing values, values that are none of the choices."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import typer

UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises where the words of a command are wrong; it may come from click, or from a copy of it."""


def told(error: Any, command: str, commands: Iterable[str] = ()) -> str:
    """One line about a misuse of a command, in the form of all other errors.

    Examples
    --------
    >>> told(typer.BadParameter("Value error, 'lg' is not one of 'log'.", param_hint="--weighting"), "parts")
    "Invalid value for --weighting: 'lg' is not one of 'log'. See rectifact parts --help."
    """
    where = f"rectifact {command} --help".replace("  ", " ")
    possible = list(getattr(error, "possibilities", None) or ())
    if possible and hasattr(error, "option_name"):
        return f"There is no option {error.option_name}. Did you mean {_either(sorted(possible))}?"
    if hasattr(error, "option_name") and type(error).__name__ == "NoSuchOption":
        return f"There is no option {error.option_name}. See {where}."
    text = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    text = re.sub(r"^Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)$", r"Unexpected argument: \1", text)
    text = re.sub(r": Input should be a valid (\w+)(,.*)?$", r": it should be a valid \1", text)
    text = re.sub(r": Input should be ", ": it should be ", text)
    text = re.sub(r"^Option '(\S+)' requires an argument$", r"\1 needs a value", text)
    if unknown := re.match(r"^No such command '(.*?)'", text):
        near = get_close_matches(unknown[1], list(commands))
        return f"There is no command {unknown[1]!r}. {f'Did you mean {_either(near)}?' if near else f'See {where}.'}"
    return f"{text}. See {where}."


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
