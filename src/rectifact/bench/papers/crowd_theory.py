"""What Ibrahim and Fu (2021) prove, measured: identifiability, imputation, convergence of the rotation."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from rectifact.bench import Rows
from rectifact.bench.measure import at_hand
from rectifact.core.linalg import procrustes
from rectifact.core.monitor import Monitor
from rectifact.core.rectify import Constant, Geometric, Schedule, relu
from rectifact.crowd import DawidSkene
from rectifact.crowd.advice.conditions import SCATTERED, scatter
from rectifact.crowd.cooccurrence import Cooccurrences
from rectifact.crowd.em import Floats
from rectifact.crowd.imputation import completed, robust, smallest_singular_values
from rectifact.crowd.rotation import factor_of, model_of, rotate
from rectifact.datasets import load_crowd, make_crowd
from rectifact.metrics import confusion_mse


def _crowd(n_workers: int, n_specialists: int, seed: int, accuracy: tuple[float, float] = (0.5, 0.8)) -> Any:
    """Priors and confusions of a planted crowd with three classes."""
    options: dict[str, Any] = {"prior": [0.5, 0.3, 0.2], "labels_per_task": 1, "n_specialists": n_specialists}
    crowd = make_crowd(10, n_workers, 3, accuracy=accuracy, random_state=seed, **options)
    return crowd.prior, crowd.confusions


def figure_1(quick: bool) -> Rows:
    """The simplex of three classes: the hull of the rows of a matrix, and the circle that it should cover.

    The rows are three numbers in all orders; those of the first matrix belong to annotators who never give a label
    where a certain other class is true, and so satisfy the condition without being right always.
    """
    rows: Rows = []
    for numbers in ((0.8, 0.2, 0.0), (0.6, 0.3, 0.1)):
        Z = np.array(list(permutations(numbers)))
        data = "satisfied" if scatter(Z) > SCATTERED else f"violated, covers {scatter(Z):.2f} of the radius"
        points = _in_plane(Z)
        hull = points[[*(vertices := ConvexHull(points).vertices), vertices[0]]]
        angles = np.linspace(0, 2 * np.pi, 41 if quick else 121)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(6)
        corners = _in_plane(np.eye(3)[[0, 1, 2, 0]])
        for line, path in {"simplex": corners, "circle of Definition 1": circle, "hull of the rows": hull}.items():
            rows += [{"data": data, "method": line, "x": x, "y": y} for x, y in path.tolist()]
    return rows


def _in_plane(Z: Floats) -> Floats:
    """Rows that sum to 1, around the centre of the simplex."""
    basis = np.array([[1, -1, 0], [-1, -1, 2]]) / np.sqrt([[2], [6]])
    return (Z / Z.sum(axis=1, keepdims=True) - 1 / 3) @ basis.T


def proposition_1(quick: bool) -> Rows:
    """Exact co-occurrences, rotated from random starts: what the run with the lowest loss finds."""
    rows: Rows = []
    for n in (0, 3) if quick else (0, 1, 2, 3, 6):
        covered, errors, losses = [], [], []
        for seed in range(3 if quick else 20):
            priors, confusions = _crowd(10, n, seed)
            H = factor_of(priors, confusions)
            found, loss = _best_rotation(H, seed, starts=5 if quick else 20)
            covered.append(scatter(H.reshape(-1, 3)))
            errors.append(confusion_mse(model_of(found, np.ones(10))[1], confusions))
            losses.append(loss)
        figures = {"covered": float(np.mean(covered)), "1000 MSE": 1000 * float(np.mean(errors))}
        rows.append({"data": f"{n} specialists", **figures, "worst 1000 MSE": 1000 * max(errors), "loss": max(losses)})
    return rows


def _best_rotation(H: Floats, seed: int, starts: int) -> tuple[Floats, float]:
    """The factor with the least ``||H - U Q||`` among rotations of an exact root from random starts."""
    rng, stacked = np.random.default_rng(seed), H.reshape(-1, 3)
    U, found = stacked @ _orthogonal(rng), []
    for _ in range(starts):
        scale = 0.5 * float(np.sqrt((U**2).sum(axis=1).mean()))
        monitor = Monitor(max_iter=1000, tol=0)
        G = rotate(U, _orthogonal(rng), np.ones(len(U)), schedule=Geometric(scale, 1 / 0.9), monitor=monitor)
        found.append((monitor.history[-1]["loss"], G.reshape(H.shape)))
    loss, best = min(found, key=lambda pair: pair[0])
    return best, float(loss)


def _orthogonal(rng: np.random.Generator, k: int = 3) -> Floats:
    return np.asarray(np.linalg.qr(rng.standard_normal((k, k)))[0])


def _sampled(blocks: Floats, shared: int, rng: np.random.Generator) -> Floats:
    """Co-occurrences estimated from so many tasks (equation 3)."""
    k = blocks.shape[1]
    flat = blocks.reshape(len(blocks), k * k)
    return (rng.multinomial(shared, flat / flat.sum(axis=1, keepdims=True)) / shared).reshape(blocks.shape)


def _pairs(H: Floats, observed: Any, shared: int, rng: np.random.Generator) -> Cooccurrences:
    """Sampled co-occurrences of the observed pairs (m < j), in both directions."""
    one, other = np.nonzero(np.triu(observed, 1))
    blocks = _sampled(H[one] @ H[other].swapaxes(1, 2), shared, rng)
    first, second = np.concatenate([one, other]), np.concatenate([other, one])
    both = np.concatenate([blocks, blocks.swapaxes(1, 2)])
    order = np.lexsort((second, first))
    return Cooccurrences(first[order], second[order], both[order], np.full(len(first), float(shared)), len(H))


SHARED = (50, 200, 800, 3200, 12_800)


def theorem_1(quick: bool) -> Rows:
    """Error of the co-occurrence of workers 0 and 1, who never meet, through the designated workers 2 and 3.

    Medians over the crowds whose designated workers correlate on every contrast of classes; ``imputed`` is their share.
    """
    rows: Rows = []
    n_crowds = 40 if quick else 200
    observed = np.ones((4, 4), dtype=bool)
    observed[0, 1] = observed[1, 0] = False
    for data, accuracy in {"good workers": (0.8, 0.9), "poor workers": (0.5, 0.6)}.items():
        for shared in SHARED:
            errors, bounds = [], []
            for seed in range(n_crowds):
                H = factor_of(*_crowd(4, 0, seed, accuracy))
                pairs = _pairs(H, observed, shared, np.random.default_rng(seed))
                X = completed(pairs, np.array([2, 3])).reshape(4, 3, 4, 3)
                if X[0, :, 1].any():
                    errors.append(np.linalg.norm(X[0, :, 1] - H[0] @ H[1].T))
                    bounds.append(_first_bound(H, shared))
            figures = {"error": float(np.median(errors)), "bound, up to a constant": float(np.median(bounds))}
            figures["imputed"] = len(errors) / n_crowds
            rows.append({"data": data, "method": "designated", "tasks shared": shared, **figures})
    return rows


def _first_bound(H: Floats, shared: int) -> float:
    """Theorem 1's bound at 95 % confidence, with 1 for its constant."""
    k = H.shape[1]
    confusions = H / H.sum(axis=1, keepdims=True)
    least = smallest_singular_values(np.stack([H[m] @ H[j].T for m in range(4) for j in range(m)])).min()
    return float(k**2 * np.linalg.cond(confusions).max() ** 3 * np.sqrt(np.log(20)) / (least**2 * np.sqrt(shared)))


def theorem_2(quick: bool) -> Rows:
    """Mean error of all co-occurrences after robust imputation, and with all weights 1, without and with outliers."""
    rows: Rows = []
    n_workers = 20
    possible = n_workers * (n_workers - 1) / 2
    for share, spoiled in ((0.3, 0.0), (0.6, 0.0), (0.6, 0.1)):
        for shared in SHARED[::2] if quick else SHARED:
            errors: dict[str, list[float]] = {"robust": [], "w = 1": []}
            for seed in range(2 if quick else 10):
                rng = np.random.default_rng(seed)
                H = factor_of(*_crowd(n_workers, 6, seed))
                observed = rng.random((n_workers, n_workers)) < share
                pairs = _spoil(_pairs(H, observed, shared, rng), spoiled, rng)
                start = H + 0.1 * rng.random(H.shape)
                for method, error in _robust_errors(pairs, H, start):
                    errors[method].append(error)
            n_observed = share * possible
            first = np.sqrt(n_workers * 9 * np.log(n_workers) / n_observed)
            second = (1 / n_observed + 1 / possible) * n_observed * (1 + np.sqrt(n_workers)) / np.sqrt(shared)
            data = f"{share:.0%} observed" + (f", {spoiled:.0%} of them wrong" if spoiled else "")
            terms = {"first term": float(first), "second term": float(second)}
            rows += [
                {"data": data, "method": method, "tasks shared": shared, "error": float(np.mean(found)), **terms}
                for method, found in errors.items()
            ]
    return rows


def _spoil(pairs: Cooccurrences, share: float, rng: np.random.Generator) -> Cooccurrences:
    """Replace a share of the blocks by random ones, the same in both directions."""
    blocks = pairs.blocks.copy()
    place = {(m, j): i for i, (m, j) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))}
    for (m, j), i in place.items():
        if m < j and rng.random() < share:
            blocks[i] = rng.dirichlet(np.ones(blocks[0].size)).reshape(blocks[0].shape)
            blocks[place[j, m]] = blocks[i].T
    return Cooccurrences(pairs.first, pairs.second, blocks, pairs.counts, pairs.n_workers)


def _robust_errors(pairs: Cooccurrences, H: Floats, start: Floats) -> Iterator[tuple[str, float]]:
    m, j = np.triu_indices(len(H), 1)
    for method, reweigh in (("robust", True), ("w = 1", False)):
        monitor = Monitor(max_iter=500, tol=1e-7)
        U = robust(pairs, start, monitor=monitor, weigh_by_count=False, reweigh=reweigh)
        off = U[m] @ U[j].swapaxes(1, 2) - H[m] @ H[j].swapaxes(1, 2)
        yield method, float(np.linalg.norm(off, axis=(1, 2)).mean())


THRESHOLDS: dict[str, Callable[[Floats], Schedule]] = {
    "threshold decays": lambda H: Geometric(0.5 * float(np.sqrt((H**2).sum(axis=1).mean())), 1 / 0.9),
    "constant threshold": lambda H: Constant(0.5 * float(H[H > 0].min())),
    "threshold 0": lambda H: Constant(0.0),
}


def theorem_3(quick: bool) -> Rows:
    """Squared distance of the rotation from the true one, by iteration, for a sparse H with and without noise."""
    rows: Rows = []
    rng = np.random.default_rng(0)
    H = factor_of(*_crowd(20, 20, 0)).reshape(-1, 3)
    truth = _orthogonal(rng)
    near = procrustes(truth + 0.15 * rng.standard_normal((3, 3)), np.eye(3))
    noise = rng.standard_normal(H.shape)
    for data, level in {"no noise": 0.0, "noise of 1 %": 0.01, "noise of 5 %": 0.05}.items():
        U = H @ truth.T + level * np.linalg.norm(H) / np.linalg.norm(noise) * noise
        for method, schedule in THRESHOLDS.items():
            Q, threshold = near, schedule(H)
            for t in range(21 if quick else 101):
                rows.append(
                    {"data": data, "method": method, "iteration": t, "error of Q": float(((Q - truth) ** 2).sum())}
                )
                Q = procrustes(relu(U @ Q, threshold(t)), U)
    return rows


def measured_conditions(quick: bool) -> Rows:
    """All conditions on the crowds of Tables 4 and 5, measured on our fits."""
    names = {"bluebird": {}, "rte": {}} if quick else {"bluebird": {}, "dog": {"workers": 52}, "rte": {}, "trec": {}}
    rows: Rows = []
    for name, crowd in at_hand({name: partial(load_crowd, name, **options) for name, options in names.items()}):
        found = DawidSkene("majority", model="full").fit(crowd.answers).conditions()
        rows += [{"data": name, **row} for row in found[["condition", "value", "wanted", "holds"]].to_dict("records")]
    return rows
