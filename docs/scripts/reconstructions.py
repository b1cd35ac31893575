"""Draws Figure 5.2 of Saul (2022): images as they are, and as NMD and SVD of the same rank reconstruct them.

Needs matplotlib, and MNIST for the digits (``rectifact datasets`` says where it goes); writes to docs/images/papers.
"""

from math import isqrt
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("agg")
import matplotlib.pyplot as plt

from rectifact.bench.papers.nmd import reconstructions

SHOWN = 10
"""Images of each set."""


def main() -> None:
    """Three rows of images for each set."""
    found = list(reconstructions(quick=False))
    figure = plt.figure(figsize=(9, 3 * len(found)), layout="constrained")
    for part, (name, rank, images) in zip(np.atleast_1d(figure.subfigures(len(found), 1)), found, strict=True):
        axes = part.subplots(len(images), SHOWN)
        part.suptitle(f"{name}, rank {rank}", fontsize=10)
        places = np.linspace(0, len(images["images"]) - 1, SHOWN + 2, dtype=int)[1:-1]
        for row, (method, values) in zip(axes, images.items(), strict=True):
            for axis, values_of_one in zip(row, values[places], strict=True):
                side = isqrt(len(values_of_one))
                axis.imshow(values_of_one.reshape(side, -1), cmap="gray", vmin=0, vmax=1)
                axis.set(xticks=[], yticks=[])
            row[0].set_ylabel(method, fontsize=9)
    figure.savefig(Path(__file__).parents[1] / "images" / "papers" / "nmd-figure-5.2.png", dpi=90)


if __name__ == "__main__":
    main()
