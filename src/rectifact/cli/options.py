"""Options that several commands share."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from rectifact.core.errors import InputError

LARGE = "Long runs and large data"

Report = Annotated[Path | None, typer.Option("--report", help="Write a report here: .html.")]
Save = Annotated[Path | None, typer.Option("--save", help="Save the fitted model here, for rectifact report: .rfx.")]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON summary to standard output, for scripts.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Folder in which the fit saves its state while it runs.", rich_help_panel=LARGE),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the fit saved in the --checkpoint folder, or start one if there is none.",
        rich_help_panel=LARGE,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="What the file of answers holds, where it is not recognised: csv, tsv, parquet, label-studio, prodigy, "
        "argilla, inspect, datasets or records.",
    ),
]
Field = Annotated[
    str | None,
    typer.Option(
        "--field",
        metavar="NAME",
        help="Which question to read from an export that has several: a control tag of Label Studio, a question of "
        "Argilla, a key of Inspect's scores.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.")]
Stability = Annotated[
    bool,
    typer.Option(
        "--stability",
        help="Measure how far each is found again in resampled data, 1 if it is the same, at the cost of two fits of "
        "part of the data; -k auto does so anyway, and so does parts for texts, where that takes seconds.",
    ),
]
Image = Annotated[
    str | None,
    typer.Option(
        "--image", help="Height and width, such as 28x28, if samples are images; the report then shows images."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="For partitioned or chunked data: address of a running Dask scheduler, such as tcp://127.0.0.1:8786.",
        rich_help_panel=LARGE,
    ),
]
LocalCluster = Annotated[
    int | None,
    typer.Option(
        "--local-cluster",
        help="For partitioned or chunked data: number of Dask processes to start on this machine.",
        rich_help_panel=LARGE,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="Name of the column with the task; of several, such as prompt,version, if each combination is a task.",
    ),
]
Worker = Annotated[str | None, typer.Option("--worker", help="Name of the column with the worker.")]
Label = Annotated[str | None, typer.Option("--label", help="Name of the column with the label.")]
Wide = Annotated[bool, typer.Option("--wide", help="The table has one row per task and one column per worker.")]
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop", metavar="NAMES", help="With --wide: columns of a table to leave out, such as turns,latency."
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="A,B,C",
        help="Values that mean no answer, besides an empty cell, separated by commas: N/A,error. auto: -1 with --wide, "
        "and rare failures such as N/A, unless answers or gold labels confirm them as a class; nan: nothing else.",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,C",
        help="All classes in order, separated by commas, with quotes around one that has a comma; for grades that are "
        "not numbers, and for gold labels that nobody else gave.",
    ),
]
Confidence = Annotated[float, typer.Option("--confidence", help="Probability of the intervals.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN|FILE",
        help="Groups of tasks to compare, such as versions: a column of ANSWERS, or a file with columns task and "
        "group.",
    ),
]
HalfWidth = Annotated[
    float | None,
    typer.Option(
        "--half-width", help="Say how many more labels from people would shorten intervals to this on either side."
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon",
        help="With people: allowance for their cost. Recommended: 0.2 for experts, 0.15 for trained people, 0.1 for "
        "crowd workers.",
    ),
]
People = Annotated[
    str | None,
    typer.Option(
        "--people",
        metavar="NAMES|COLUMN",
        help="Which of the workers in ANSWERS are people: their names, with commas between them and quotes around a "
        "name that has one, as in CSV ('\"Smith, Ann\",Bob'), or a column that says human for them.",
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text-column", metavar="COLUMN", help="Column of ANSWERS with the text of the task, to show in the report."
    ),
]
Plan = Annotated[
    Path | None,
    typer.Option("--plan", help="Write a plan here: what to label next and whom to ask, for at most 1000 tasks."),
]
Ask = Annotated[
    str | None,
    typer.Option(
        "--ask",
        metavar="NAMES",
        help="The only workers that --plan may ask, with commas between them, and quotes around a name that has one.",
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        help="File with columns worker and cost, the price of one answer: --plan then says which answers to buy "
        "from whom. Workers without a price are not asked.",
    ),
]
Budget = Annotated[float | None, typer.Option("--budget", help="Most money that --plan may spend; see --costs.")]
Target = Annotated[
    float | None,
    typer.Option(
        "--target",
        help="Share of wrong labels that is good enough, such as 0.05: --plan ends where no more are expected, and "
        "you are told how many answers that takes.",
    ),
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add the probability of each class to the labels.")
]


def check_known(context: typer.Context, used: Collection[str], found: str, placed: str) -> None:
    """Refuse a report and a model, which ``--model`` has, and options of a fit; ``placed`` is what is new."""
    if context.params["report"] is not None or context.params["save"] is not None:
        raise InputError(
            f"--report and --save are for {found} that were found, and --model only places new {placed}.",
            "Leave them out; rectifact report model.rfx writes the report of the model.",
        )
    refuse_with_model(context, used, found)


def refuse_with_model(context: typer.Context, used: Collection[str], what: str) -> None:
    """Refuse what was given for a fit, which ``--model`` has done before: it would be ignored.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    used : collection of str
        Parameters of the command that have an effect with ``--model``; those of all commands have one.
    what : str
        What the model has, in the plural.
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        given = source is not None and source.name == "COMMANDLINE"
        if given and parameter.name not in (*used, "verbose", "quiet"):
            said = f"{_spelled(parameter)} is for finding {what}, and --model has them."
            raise InputError(said, "Leave one of them out.")


def _spelled(parameter: Any) -> str:
    """An option as users write it: by its letter, if it has one."""
    return str(min(parameter.opts, key=lambda name: name.startswith("--")))
