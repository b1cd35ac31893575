"""Draws the pictures of the guide to parts: endmembers and abundance maps of Jasper Ridge, signatures of 21 genomes.

Needs matplotlib and the two sets (``rectifact datasets`` says where they go); writes to docs/images.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("agg")
import matplotlib.pyplot as plt

from rectifact import ANDNMF
from rectifact.datasets import load_breast21, load_jasper

FOLDER = Path(__file__).parents[1] / "images"
NAMES = ("tree", "water", "soil", "road")


def jasper() -> None:
    """Published and found spectra, and a map of each part."""
    data = load_jasper()
    model = ANDNMF(4, random_state=0).fit(data.X)
    weights = model.transform(data.X)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (data.components, model.components_)]
    partner = (unit[0] @ unit[1].T).argmax(axis=1)
    figure, axes = plt.subplots(3, 4, figsize=(9, 6), layout="constrained")
    for i, j in enumerate(partner):
        angle = np.degrees(np.arccos(min(unit[0][i] @ unit[1][j], 1)))
        axes[0, i].plot(unit[0][i], color="0.6", label="published")
        axes[0, i].plot(unit[1][j], color="C0", label="found")
        axes[0, i].set_title(f"{i + 1}: {angle:.1f} degrees", fontsize=9)
        share = weights[:, j] / np.quantile(weights[:, j], 0.99)
        for row, values in ((1, share), (2, data.weights[:, i])):
            axes[row, i].imshow(values.reshape(100, 100).T, vmin=0, vmax=1, cmap="magma")
            axes[row, i].set(xticks=[], yticks=[])
        axes[0, i].set(xticks=[], yticks=[])
    axes[0, 0].legend(fontsize=7)
    axes[1, 0].set_ylabel("found")
    axes[2, 0].set_ylabel("published")
    figure.savefig(FOLDER / "parts_jasper.png", dpi=80)


def signatures() -> None:
    """Each part as bars over the 96 kinds of mutation, one colour for each substitution."""
    counts = load_breast21()
    model = ANDNMF(4, random_state=0).fit(counts)
    kinds = [name[2:5] for name in counts.columns]
    order = np.argsort(kinds, kind="stable")
    colours = {kind: f"C{i}" for i, kind in enumerate(sorted(set(kinds)))}
    figure, axes = plt.subplots(4, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for i, axis in enumerate(axes):
        axis.bar(range(96), model.components_[i, order], color=[colours[kinds[j]] for j in order])
        axis.set_ylabel(f"part {i + 1}")
        axis.set_xlim(-1, 96)
    places = [np.flatnonzero([kinds[j] == kind for j in order]).mean() for kind in colours]
    axes[-1].set_xticks(places, list(colours))
    figure.savefig(FOLDER / "parts_signatures.png", dpi=80)


if __name__ == "__main__":
    jasper()
    signatures()
