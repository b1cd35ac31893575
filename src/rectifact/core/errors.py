"""Errors and warnings for users: what is wrong and what to do, in the words of Python or of the command line."""

import re
from collections.abc import Mapping

LONG_WORD, LONG_TEXT = 300, 1500
"""Letters of a word, and of a text, beyond which the middle is left out: names and cells may be whole documents."""


def shortened(text: str) -> str:
    """A text for people, without the middle of long words and of a long text; in time linear in its length.

    Examples
    --------
    >>> shortened(f"There is no column {'x' * 9999!r}.")
    "There is no column 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxx'."
    """
    text = re.sub(rf"\S{{{LONG_WORD},}}", lambda found: f"{found[0][:52]}...{found[0][-20:]}", text)
    return text if len(text) <= LONG_TEXT else f"{text[: LONG_TEXT - 505]} ... {text[-500:]}"


class Message(Exception):
    """One thing to tell a user: what is wrong, and what to do about it.

    Parameters
    ----------
    what : str
        What is wrong and what was found, as one sentence.
    remedy : str, default ""
        What to do, in the words of Python.
    option : str or tuple of str, default ()
        Parameters that either sentence mentions; the command line puts its own options in their place. A name that is
        an English word too ends in ``=``, and is then replaced only where it has a value: ``option="link="``.
    command : str or None, default None
        The remedy in the words of the command line, where more than the names differ.
    """

    def __init__(
        self, what: str, remedy: str = "", *, option: str | tuple[str, ...] = (), command: str | None = None
    ) -> None:
        super().__init__(shortened(what), shortened(remedy))
        self.what, self.remedy = shortened(what), shortened(remedy)
        self.command = None if command is None else shortened(command)
        self.options = (option,) if isinstance(option, str) else option

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()

    def on_command_line(self, names: Mapping[str, str]) -> str:
        """The message with options of the command line in place of Python's parameters.

        Parameters
        ----------
        names : mapping of str to str
            The option for each parameter; a parameter that is not in it stays as it is.

        Returns
        -------
        str

        Examples
        --------
        >>> error = InputError("n_components=9 is more than X has rows.", "Lower n_components.", option="n_components")
        >>> str(error)
        'n_components=9 is more than X has rows. Lower n_components.'
        >>> error.on_command_line({"n_components": "-k"})
        '-k 9 is more than X has rows. Lower -k.'
        """
        text = f"{self.what} {self.remedy if self.command is None else self.command}".strip()
        for option in self.options:
            name = option.removesuffix("=")
            if name in names:
                text = _replaced(text, name, names[name], needs_value=option != name)
        return text


def _replaced(text: str, name: str, option: str, needs_value: bool) -> str:
    """``name=value`` and ``name`` as the option, but not within a longer word, a path or quotes; True is left out."""
    value = r"(?P<equals>=)(?P<true>True\b)?(?:'(?P<quoted>[^\s']+)')?"
    bare = "" if needs_value else r"|(?!['\"=(]|\.?\w)"

    def put(found: re.Match[str]) -> str:
        return f"{option} {found['quoted'] or ''}" if found["equals"] and not found["true"] else option

    return re.sub(rf"(?<![\w./'\"-]){re.escape(name)}(?:{value}{bare})", put, text)


class InputError(Message, ValueError):
    """The data or a parameter cannot be used as it is; the message says what was found and what to do."""


class InputTypeError(InputError, TypeError):
    """The data has a type that cannot be used; a TypeError too, as scikit-learn users expect."""


class ClusterError(Message, RuntimeError):
    """A Dask cluster failed while it computed. What was saved in a checkpoint is still there."""


def missing_extra(what: str, package: str, extra: str, otherwise: str = "") -> InputError:
    """The error for a package that is not installed; the only place that says how to install one.

    Parameters
    ----------
    what : str
        What needs it, as the subject of a sentence in the singular, or with its verb if it ends in ``need``.
    package : str
        Its name, or several.
    extra : str
        The extra of rectifact that installs it.
    otherwise : str, default ""
        Another way out, as the end of a sentence.

    Examples
    --------
    >>> print(missing_extra("Reading an Excel workbook", "openpyxl", "excel"))
    Reading an Excel workbook needs openpyxl. Install it from a clone of rectifact: pip install '.[excel]'.
    """
    verb = "" if what.endswith(" need") else " needs"
    it = "them" if " and " in package else "it"
    way_out = f"; {otherwise}" if otherwise else ""
    return InputError(f"{what}{verb} {package}.", f"Install {it} from a clone of rectifact: {install(extra)}{way_out}.")


def install(extra: str) -> str:
    """The command that installs an extra; rectifact is not on a package index yet, so it works from a clone.

    Examples
    --------
    >>> install("dask")
    "pip install '.[dask]'"
    """
    return f"pip install '.[{extra}]'"


class FitWarning(Message, UserWarning):
    """A fit went through, but its result may not be what the user expects."""


def count(number: int, noun: str) -> str:
    """A number of things, for a sentence.

    Examples
    --------
    >>> count(1, "iteration"), count(300, "entry"), count(0, "class")
    ('1 iteration', '300 entries', '0 classes')
    """
    ends = {"ry": f"{noun[:-1]}ies", "s": f"{noun}es", "x": f"{noun}es", "ch": f"{noun}es"}
    plural = next((form for end, form in ends.items() if noun.endswith(end)), f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"
