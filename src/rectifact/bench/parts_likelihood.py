"""How long a Poisson fit (Kullback-Leibler divergence) takes to the objective that scikit-learn's NMF reaches."""

import tracemalloc
from time import process_time

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF

from rectifact.bench import Extent, Rows
from rectifact.core.monitor import Monitor
from rectifact.datasets import MissingDataset, load_tdt2
from rectifact.parts.refinement import Best, Refined, divergence_terms, poisson_fit

N_ITER = 200  # of scikit-learn


def run_likelihood(extent: Extent, n_parts: int = 30) -> Rows:
    """CPU seconds and iterations to the objective of scikit-learn after 200 iterations, from the same random start.

    The data is TDT2 as counts, all documents and words. Without the peers there is nothing to measure.
    """
    try:
        X = sp.csr_array(load_tdt2().X, dtype=float)
    except MissingDataset:
        return []
    if not extent.peers:
        return []
    rng = np.random.default_rng(0)
    scale = (X.mean() / n_parts) ** 0.5
    W, H = (scale * (0.1 + rng.random(shape)) for shape in ((X.shape[0], n_parts), (n_parts, X.shape[1])))
    poisson_fit(X[:50], W[:50], H, monitor=Monitor(2, tol=0))  # compiles
    _, worst = divergence_terms(X)
    peer = NMF(n_parts, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=N_ITER, tol=0)
    begin = process_time()
    peer.fit_transform(X, W=W.copy(), H=H.copy())
    theirs, objective = process_time() - begin, peer.reconstruction_err_**2 / 2
    goal = Goal(objective / worst)
    begin = process_time()
    poisson_fit(X, W, H, monitor=Monitor(N_ITER, tol=0), best=goal)
    ours = process_time() - begin
    tracemalloc.start()
    poisson_fit(X, W, H, monitor=Monitor(3, tol=0))
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = {"documents": X.shape[0], "words": X.shape[1], "nonzeros": X.nnz, "parts": n_parts}
    rows: Rows = [{"method": f"scikit-learn NMF, mu, {N_ITER} iterations", "iterations": N_ITER, "cpu_seconds": theirs}]
    rows += [{"method": "refine='poisson'", "iterations": goal.n_seen, "cpu_seconds": ours, "megabytes": held / 1e6}]
    figures = (objective, goal.found.loss * worst)
    ratios = (theirs / ours, 1.0)
    return [
        size | row | {"divergence": value, "times_ours": ratio}
        for row, value, ratio in zip(rows, figures, ratios, strict=True)
    ]


class Goal(Best):
    """Stops a fit at a given loss."""

    def __init__(self, loss: float) -> None:
        super().__init__(None, 0)
        self.loss, self.n_seen = loss, 0

    def see(self, fit: Refined) -> None:
        """Look at a further fit."""
        self.found, self.n_seen = fit, self.n_seen + 1

    def behind(self) -> bool:
        """Whether the loss is reached."""
        return bool(self.found.loss <= self.loss)
