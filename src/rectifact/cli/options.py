"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Report = Annotated[Path | None, typer.Option("--report", help="Write a report here: .html.")]
Save = Annotated[Path | None, typer.Option("--save", help="Save the fitted model here, for rectifact report: .rfx.")]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON summary to standard output, for scripts.")]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", help="Folder in which the fit saves its state while it runs.")
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue the fit saved in the --checkpoint folder, or start one if there is none."),
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
        "part of the data; -k auto does so anyway.",
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
    ),
]
LocalCluster = Annotated[
    int | None,
    typer.Option(
        "--local-cluster", help="For partitioned or chunked data: number of Dask processes to start on this machine."
    ),
]
