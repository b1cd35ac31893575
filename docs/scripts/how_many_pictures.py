"""Draws the picture of the page "How many?": three curves, each with the number that was chosen.

Needs matplotlib; writes to docs/images.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_digits

from rectifact import ANDNMF, NMD, SymNMF
from rectifact.datasets import make_block_model, make_signatures
from rectifact.selection import select

FOLDER = Path(__file__).parents[1] / "images"
SETS = {
    "parts: 8 Poisson signatures": (ANDNMF(1, random_state=0), make_signatures().X, range(1, 21)),
    "dimensions: digits": (NMD(1, random_state=0), load_digits().data, "auto"),
    "communities: 12 blocks": (
        SymNMF(1, affinity="precomputed"),
        make_block_model(1000, 12, mixing=0.4).adjacency,
        "auto",
    ),
}


def curves() -> None:
    """Score with its standard error, and stability where it was measured."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    for axis, (name, (estimator, X, ks)) in zip(axes, SETS.items(), strict=True):
        found = select(estimator, X, ks, random_state=0)
        table = found.table[found.table["k"] > 1]
        axis.errorbar(table["k"], table["score"], table["standard_error"], marker="o", ms=3, lw=1, color="C0")
        axis.axvline(found.best, color="C1", lw=1, ls="--")
        axis.set_title(f"{name}\nchosen: {found.best}", fontsize=9)
        axis.set_xlabel("k")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_ylabel("score on held-out data")
    figure.savefig(FOLDER / "how_many.png", dpi=80)


if __name__ == "__main__":
    curves()
