"""The commands by name. Each is a module of this package, which is imported when the command is called."""

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from itertools import pairwise
from math import isfinite
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rectifact import __version__
from rectifact.cli import ending_at_once
from rectifact.cli.misuse import UsageError, told
from rectifact.core.errors import ClusterError, FitWarning, InputError

SUMMARIES = {
    "evaluate": "From verdicts of judges and people to a decision: rates, agreement, who may replace whom, labels.",
    "labels": "Turn the answers of many workers into one label per task, and learn how good each worker is.",
    "agree": "Measure how well workers agree, and judges with people, and test whether judges may replace people.",
    "rate": "Estimate the share of a class or the mean grade, by group, from judges and a few human labels.",
    "parts": "Find the parts that samples are mixtures of, such as topics in texts or substances in spectra.",
    "embed": "Describe sparse non-negative or binary data with a few dimensions: a map, neighbours, recommendations.",
    "cluster": "Find communities in a graph, or clusters of points, and how strongly each node or point belongs "
    "to each.",
    "report": "Write the report for a saved model: one HTML file that opens offline.",
    "demo": "Run all four families of methods on bundled and generated data, in about a minute, and write a report.",
    "datasets": "List the data sets with known ground truth, and the folders searched for their files.",
    "bench": "Measure errors and times on the published data sets, and show them next to the papers' figures.",
}
"""First lines of the help of each command, so that the commands can be listed without being imported."""


Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say what is being done: iterations, loss, threads and device.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Leave out progress, notes and warnings; errors and results, such as a decision, are still shown.",
    ),
]


def set_level(verbose: bool, quiet: bool) -> None:
    """What ``-v`` and ``-q`` do, before or after the name of the command."""
    from rectifact.cli import terminal

    wanted = {terminal.VERBOSE: verbose, terminal.QUIET: quiet}
    for level, given in wanted.items():
        if given and terminal.level() == -level:
            raise InputError("-v and -q are mutually exclusive.", "Leave one of them out.")
        if given:
            terminal.set_level(level)


def check_finite(options: dict[str, Any]) -> None:
    """Refuse an infinite value; options of numbers are called like their parameters."""
    for name, value in options.items():
        if isinstance(value, float) and not isfinite(value):
            raise InputError(f"--{name.replace('_', '-')} {value} is not a finite number.", "Give a finite one.")


def with_level(function: Any) -> Any:
    """A command with the options that every command has."""

    @wraps(function)
    def command(*, verbose: bool, quiet: bool, **options: Any) -> None:
        set_level(verbose, quiet)
        check_finite(options)
        function(**options)

    own, more = signature(function), {"verbose": Verbose, "quiet": Quiet}
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for name, kind in more.items()]
    command.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
    command.__annotations__ = function.__annotations__ | more
    return command


class Commands(TyperGroup):
    """Commands that are listed by their summaries and imported when they are called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        loaded = command and load(str(name))
        if loaded is not None:
            check_values(loaded, rest)
        return name, loaded, rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what is wrong with an option is said without the terms of the library that checks it."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if isinstance(said := getattr(error, "message", None), str):
                vars(error)["message"] = said.removeprefix("Value error, ")
            raise


def check_values(command: Any, words: list[str]) -> None:
    """Refuse an option where the value of another belongs, as in ``--graph -k 4``, which would name a file ``-k``."""
    options = {word: option for option in command.params if option.param_type_name == "option" for word in option.opts}
    for word, following in pairwise(words):
        if word in options and following in options and not options[word].is_flag:
            raise InputError(
                f"{word} needs a value, and the option {following} follows it.", f"Write the value right after {word}."
            )


def load(name: str) -> Any:
    """Import a command and make it ready to be invoked."""
    with ending_at_once():
        function = getattr(import_module(f"rectifact.cli.{name}"), name)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(with_level(function))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Recover the truth behind non-negative data.",
    epilog="To see everything at work: rectifact demo. For your own answers: rectifact labels answers.csv -o truth.csv "
    "--report report.html. Each command has its own --help.",
)
for command, summary in SUMMARIES.items():
    app.command(command, help=summary)(lambda: None)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rectifact {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Recover the truth behind non-negative data."""
    from rectifact.cli import terminal

    terminal.set_level(terminal.NORMAL)
    set_level(verbose, quiet)


def run() -> None:
    """Run one command; bad input is one sentence and exit code 2, any other error a traceback.

    A cluster that fails is one sentence too, with exit code 1: the same command may succeed when it is repeated.
    """
    _write_utf8()
    try:
        with _warnings_as_notes():
            code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except typer.Abort:
        sys.exit(1)
    except UsageError as error:
        sys.exit(_say_misuse(error))
    except (InputError, ClusterError) as error:
        from rectifact.cli.terminal import complain, in_options

        complain(f"rectifact: {in_options(error, _command())}")
        sys.exit(2 if isinstance(error, InputError) else 1)
    except MemoryError as error:
        from rectifact.cli.terminal import complain

        asked = " ".join(str(error).split()).partition(" for an array")[0]
        why = f" ({asked[0].lower()}{asked[1:]})" if asked else ""
        complain(f"rectifact: There is not enough memory{why}. Give fewer rows or columns, or use a larger machine.")
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        from rectifact.cli.terminal import drop_output

        drop_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        from rectifact.cli.terminal import complain

        complain(f"rectifact: A file name is too long: {str(error.filename)!r}. Give a shorter one.")
        sys.exit(2)


def _say_misuse(error: Any) -> int:
    """Say what is wrong with the words of the command; the help where there are none. Returns the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        from rectifact.cli.terminal import complain

        complain(f"rectifact: {told(error, _command(), SUMMARIES)}")
    return int(error.exit_code)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Say warnings of ours that a command does not collect itself, such as one about a file of gold labels, once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, FitWarning):
            usual(message, category, *place, **more)
        elif str(message) not in said:
            from rectifact.cli.terminal import in_options, say

            said.add(str(message))
            say(f"Note: {in_options(message, _command())}")

    with warnings.catch_warnings():
        usual, warnings.showwarning = warnings.showwarning, show
        warnings.filterwarnings("always", category=FitWarning)
        yield


def _command() -> str:
    return next((word for word in sys.argv[1:] if word in SUMMARIES), "")


def _write_utf8() -> None:
    """Write UTF-8 whatever the locale, so that every name can be printed."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)  # closed, it is None
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
