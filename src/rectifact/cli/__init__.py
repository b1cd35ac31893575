"""The command line: data to files or stdout, messages to stderr; exit 0 done, 1 a check failed, 2 bad input."""

import os
import sys
from typing import Annotated

import typer

from rectifact import __version__
from rectifact.cli.bench import bench
from rectifact.cli.cluster import cluster
from rectifact.cli.demo import datasets, demo
from rectifact.cli.embed import embed
from rectifact.cli.labels import labels
from rectifact.cli.parts import parts
from rectifact.cli.report import report
from rectifact.cli.terminal import say, speak_utf8
from rectifact.cli.wording import on_command_line
from rectifact.core.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Recover the truth behind non-negative data.",
    epilog="To see it all: rectifact demo. Your own answers: rectifact labels answers.csv -o truth.csv --report "
    "report.html. Each command has its own --help.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rectifact {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Recover the truth behind non-negative data."""


for command in (labels, parts, embed, cluster, report, demo, datasets, bench):
    app.command()(command)


def main() -> None:
    """Run the command line; a mistake of the user is one sentence and exit code 2, anything else a traceback."""
    speak_utf8()
    try:
        app()
    except InputError as error:
        say(f"rectifact: {on_command_line(error.on_command_line({}), ''.join(sys.argv[1:2]))}")
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == 130:  # typer has caught Ctrl-C
            further = " Repeat the command with --resume to go on." if "--checkpoint" in sys.argv else ""
            say(f"rectifact: interrupted; no file was left half-written.{further}")
        raise
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
