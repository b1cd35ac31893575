"""How SymNMF-Net is trained: as its paper prints it, and repaired."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How a net is trained.

    Parameters
    ----------
    n_blocks : int
        Number of blocks.
    learning_rate : float
        Learning rate of Adam.
    relative : bool
        Whether the rate is meant for graphs of norm 1 and entries of P of root mean square 1/4.
    cosine : bool
        Whether the rate falls to zero along a cosine.
    beta : float
        Weight of the distance of P from its start.
    learn_lambda : bool
        Whether lambda is trained too, and kept above the bound of Proposition 1.
    keep_alive : bool
        Whether entries that the ReLU set to zero still learn where that would raise them, and P stays non-negative.
    epsilon : float or None, default None
        Largest distance of P from the classical step, relative to it (equation 5); None does not bound it.
    """

    n_blocks: int
    learning_rate: float
    relative: bool
    cosine: bool
    beta: float
    learn_lambda: bool
    keep_alive: bool
    epsilon: float | None = None


SETTINGS = {
    "paper": Recipe(10, 0.5, relative=False, cosine=False, beta=5e-6, learn_lambda=True, keep_alive=False),
    "repaired": Recipe(1, 0.1, relative=True, cosine=True, beta=0.0, learn_lambda=False, keep_alive=True),
}
