"""Options of rectifact parts alone: how many parts, where results go, and how the fit works."""

from pathlib import Path
from typing import Annotated, Literal

import typer

FIT = "How parts are fitted"

Data = Annotated[
    Path,
    typer.Argument(
        help="Matrix with samples in rows, triples or texts: a table (.csv, .tsv, .xlsx, .jsonl, .parquet), .npz, "
        ".npy, .mtx, .h5ad, a 10x folder, a .txt file with one document per line, a folder of .txt, .md or .rst "
        "files, or - for the standard input. Or a folder of files that hold the rows of one matrix, which Dask "
        "reads in chunks: all .npy, all .npz (scipy.sparse.save_npz) or all .parquet."
    ),
]
Numbers = Annotated[
    str,
    typer.Option(
        "--parts",
        "--topics",
        "-k",
        metavar="NUMBER",
        help="How many parts or topics: a number, a range to choose from such as 2-30, or auto to choose.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Save a table of the parts here, one row per feature: .csv, .tsv, .parquet, .jsonl, or - for the standard "
        "output. Or parts, weights and names, with the background, and with stability and bands if they are measured: "
        ".npz. For a matrix in chunks, use --weights for the weights. With --model, there are weights alone.",
    ),
]
Features = Annotated[
    Path | None,
    typer.Option(
        "--features",
        "--words",
        help="Write the top features of each part (the peaks of spectra), or words of each topic, here, one per row, "
        "with the stability of the part and the band of the value if they are measured. Whole parts are in the .npz "
        "file of -o.",
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(
        help="Write one row per sample here, one column per part, in the units of the data: .csv, .tsv, .parquet, "
        ".jsonl. For texts, the share of each topic in each document, the largest topic, and how sure it is: its "
        "share and the residual. For a matrix in chunks, a name without an extension creates a new folder of "
        "Parquet files, written in parallel."
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        metavar="NAMES",
        help="Columns of a table of texts that --weights has, too, as they are written there, such as date,country.",
    ),
]
Shares = Annotated[
    bool,
    typer.Option(
        "--shares",
        help="Write --weights as the share of each part in its sample, so that each row adds up to 1, as for texts.",
    ),
]
Known = Annotated[
    Path | None,
    typer.Option(
        "--model",
        help="Do not look for new parts: find out how much of the parts of a model that --save wrote is in these "
        "samples or texts, and write --weights.",
    ),
]
Top = Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of features or words shown for each part.")]
Text = Annotated[
    bool,
    typer.Option(
        "--text",
        help="Read each line of a file as a document, whatever its name.",
        rich_help_panel="How the data is read",
    ),
]
Missing = Annotated[
    bool,
    typer.Option(
        "--missing",
        help="Treat empty cells, NaN and pairs that triples do not list as missing.",
        rich_help_panel="How the data is read",
    ),
]
Method = Annotated[
    Literal["and", "purification"],
    typer.Option(metavar="NAME", help="Algorithm: and, or purification.", rich_help_panel=FIT),
]
Init = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Where to start: auto, ica, spa, anchor, nndsvd, or a matrix file with one part per row.",
        rich_help_panel=FIT,
    ),
]
Refine = Annotated[
    Literal["auto", "nonnegative", "poisson", "none"] | None,
    typer.Option(
        metavar="NAME",
        help="Fit non-negative parts from those of AND, by least squares (nonnegative), by Poisson likelihood "
        "(poisson), by what suits the data (auto), or not at all (none). Texts are refined by least squares.",
        rich_help_panel=FIT,
    ),
]
Normalize = Annotated[
    Literal["auto", "l1", "l2", "none"] | None,
    typer.Option(
        metavar="NAME",
        help="Norm that samples are divided by in the fit: auto, l1, l2 or none.",
        rich_help_panel=FIT,
    ),
]
NoiseFloor = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help="Keep thresholds above this many standard deviations of the noise.",
        rich_help_panel=FIT,
    ),
]
Background = Annotated[
    bool,
    typer.Option(
        "--background",
        help="Estimate what every sample has, such as an offset, separately from the parts.",
        rich_help_panel=FIT,
    ),
]
Decode = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How weights are found: auto, relu, nnls or poisson; with purification, shifted or linear.",
        rich_help_panel=FIT,
    ),
]
Bootstrap = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help="Fit this many resamples of the samples, such as 20, for bands that hold nine tenths of their parts, and "
        "measure stability.",
    ),
]
