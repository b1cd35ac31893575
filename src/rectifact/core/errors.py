"""What users are told when something is wrong: a message that knows its parts, as an error or as a warning."""

from collections.abc import Mapping

__all__ = ["FitWarning", "InputError", "InputTypeError", "Message"]


class Message(Exception):
    """One thing to tell a user: what is wrong, and what to do about it.

    Parameters
    ----------
    what : str
        What is wrong and what was found, as one sentence.
    remedy : str
        What to do, in the words of Python.
    option : str or tuple of str
        Names of parameters that either sentence mentions; the command line puts its own options in their place.
    command : str or None
        The remedy in the words of the command line, where more than a name differs.
    """

    def __init__(
        self, what: str, remedy: str = "", *, option: str | tuple[str, ...] = (), command: str | None = None
    ) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy, self.command = what, remedy, command
        self.options = (option,) if isinstance(option, str) else option

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()

    def on_command_line(self, names: Mapping[str, str]) -> str:
        """The message with the options in ``names`` in place of Python's parameters.

        Examples
        --------
        >>> error = InputError("n_components=9 is more than X has rows.", "Lower n_components.", option="n_components")
        >>> str(error)
        'n_components=9 is more than X has rows. Lower n_components.'
        >>> error.on_command_line({"n_components": "-k"})
        '-k 9 is more than X has rows. Lower -k.'
        """
        text = f"{self.what} {self.command or self.remedy}".strip()
        for parameter in self.options:
            option = names.get(parameter, parameter)
            text = text.replace(f"{parameter}=", f"{option} ").replace(parameter, option)
        return text


class InputError(Message, ValueError):
    """The data or a parameter cannot be used as it is; the message says what was found and what to do."""


class InputTypeError(InputError, TypeError):
    """The data has a type that cannot be used; a TypeError too, as scikit-learn users expect."""


class FitWarning(Message, UserWarning):
    """A fit went through, but its result may not be what the user expects."""
