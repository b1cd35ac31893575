"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Report = Annotated[Path | None, typer.Option("--report", help="Write a report for people here: .html.")]
Save = Annotated[Path | None, typer.Option("--save", help="Save the fitted model here: .rfx, for rectifact report.")]
Json = Annotated[bool, typer.Option("--json", help="Print a summary for scripts on the standard output, as JSON.")]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", help="Folder in which the fit saves its state while it runs.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue the fit saved in the --checkpoint folder, or start if there is none.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.")]
Image = Annotated[
    str | None, typer.Option("--image", help="Samples are images of this size, such as 28x28; the report shows them.")
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", help="Partitioned data: address of a running Dask scheduler, tcp://127.0.0.1:8786."),
]
LocalCluster = Annotated[
    int | None,
    typer.Option("--local-cluster", help="Partitioned data: number of Dask processes to start on this machine."),
]
