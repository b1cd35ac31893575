"""Experiments of Li, Kong and Lin (2022): Tables 1 to 4, Figures 4.1 to 4.5, Theorem 1 and Proposition 1."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from rectifact.bench import Rows
from rectifact.bench.graph import PublishedGraph, published_graph
from rectifact.bench.measure import at_hand, timed
from rectifact.bench.papers import Curves, Experiment, drawing, paper
from rectifact.core.monitor import Monitor
from rectifact.graph import SymNMF, SymNMFNet, net
from rectifact.graph.similarities import check_similarities
from rectifact.graph.solvers import newton, objective
from rectifact.graph.tensors import to_torch
from rectifact.metrics import cluster_accuracy, nmi, purity, sparse_factor

IMAGES = ("ORL", "COIL-20", "MNIST1", "MNIST2")
SETTINGS: dict[str, Any] = {"net": "repaired", "net, as printed": "paper"}


def _graphs(names: tuple[str, ...]) -> Iterator[tuple[str, PublishedGraph]]:
    return at_hand({name: partial(published_graph, name) for name in names})


def _model(method: Any, k: int, seed: int, **options: Any) -> Any:
    """A solver from one random start, as the paper compares them."""
    common: dict[str, Any] = {"affinity": "precomputed", "init": "random", "n_init": 1, "random_state": seed}
    if method in SETTINGS:
        return SymNMFNet(k, settings=SETTINGS[method], device="cpu", **common | options)
    return SymNMF(k, solver=method, **common | options)


def _fitted(model: Any, X: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # some stop at their limit: the rows say how far they came
        return model.fit(X)


def _printed(table: str, data: str, method: str) -> Any:
    return paper("symnmf-net").printed[table].get(data, {}).get(method)


def _methods(quick: bool, *more: str) -> tuple[str, ...]:
    return ("hals", "net") if quick else ("anls", "hals", *more, *SETTINGS)


def table_1(quick: bool) -> Rows:
    """Relative error of the best of several random starts, next to the least that the eigenvalues of X allow."""
    rows: Rows = []
    for name, graph in _graphs(("ORL",) if quick else ("ORL", "COIL-20")):
        for method in _methods(quick):
            models = [_fitted(_model(method, graph.n_classes, seed), graph.X) for seed in range(1 if quick else 10)]
            best = min(models, key=lambda model: model.objective_)
            figures = {"relative error": best.relative_error_}
            figures["printed relative error"] = _printed("table 1", name, method)
            rows.append({"data": name, "method": method, **figures, "bound": best.eigenvalue_bound()})
    return rows


def _clustering(
    table: str, names: tuple[str, ...], methods: tuple[str, ...], scores: dict[str, Any], starts: int
) -> Rows:
    """Scores of the start with the lowest objective, and their mean over all starts."""
    rows: Rows = []
    for name, graph in _graphs(names):
        for method in methods:
            rate = {"learning_rate": 0.3} if name == "TDT2" and method == "net, as printed" else {}
            _fitted(_model(method, graph.n_classes, 0, max_iter=2), graph.X)  # compiles
            make = [_model(method, graph.n_classes, seed, **rate) for seed in range(starts)]
            models, seconds = timed(lambda make=make, X=graph.X: [_fitted(model, X) for model in make])
            best = min(models, key=lambda model: model.objective_)
            row: dict[str, Any] = {"data": name, "method": method}
            printed = _printed(table, name, method)
            for score, of in scores.items():
                row[score] = of(graph.y, best.labels_)
                row[f"mean {score}"] = float(np.mean([of(graph.y, model.labels_) for model in models]))
                row[f"printed {score}"] = printed.get(score) if isinstance(printed, dict) else printed
            rows.append(row | {"relative error": best.relative_error_, "seconds": seconds / starts})
        if table == "table 2":
            rows.append(_from_the_truth(name, graph))
    return rows


def _from_the_truth(name: str, graph: PublishedGraph) -> dict[str, Any]:
    """Where Newton's method ends that starts from the true clusters: a minimum with their accuracy, if there is one."""
    U = np.eye(graph.n_classes)[np.unique(graph.y, return_inverse=True)[1]]
    U *= np.sqrt(graph.X.sum() / (U.sum(axis=0) ** 2).sum())
    S = check_similarities(graph.X)
    found = newton(S, U, S.squared, monitor=Monitor(500, tol=1e-5))
    error = float(objective(S.squared, found, S @ found))
    return {
        "data": name,
        "method": "newton, from the truth",
        "accuracy": cluster_accuracy(graph.y, found.argmax(axis=1)),
        "relative error": error,
    }


def table_2(quick: bool) -> Rows:
    """Accuracy on four sets of images."""
    methods = _methods(quick, "admm", "newton", "pgd")
    return _clustering(
        "table 2", IMAGES[:1] if quick else IMAGES, methods, {"accuracy": cluster_accuracy}, 1 if quick else 5
    )


def table_3(quick: bool) -> Rows:
    """NMI and purity on two of them."""
    names = ("ORL",) if quick else ("ORL", "COIL-20")
    return _clustering("table 3", names, _methods(quick), {"nmi": nmi, "purity": purity}, 1 if quick else 10)


def table_4(quick: bool) -> Rows:
    """Accuracy, NMI and purity on news."""
    scores = {"accuracy": cluster_accuracy, "nmi": nmi, "purity": purity}
    return _clustering("table 4", ("TDT2",), ("hals",) if quick else _methods(quick), scores, 1 if quick else 2)


def _followed(method: str, graph: PublishedGraph, score: Callable[[Any], dict[str, float]], **options: Any) -> Rows:
    """Scores of U while a solver runs, by iteration or epoch."""
    rows: Rows = []
    seen: set[int] = set()

    def look(row: Any) -> None:
        if row["iter"] not in seen:  # the last check may come twice
            seen.add(row["iter"])
            rows.append({"iteration": row["iter"], **score(np.asarray(row.U))})

    _fitted(_model(method, graph.n_classes, 0, callbacks=[look], **options), graph.X)
    return rows


def _relative_error(graph: PublishedGraph) -> Callable[[Any], dict[str, float]]:
    squared = float((graph.X.data**2).sum())
    return lambda U: {"relative error": float(objective(squared, U, graph.X @ U))}


def _agreement(graph: PublishedGraph) -> Callable[[Any], dict[str, float]]:
    def score(U: Any) -> dict[str, float]:
        labels = U.argmax(axis=1)
        return {"purity": purity(graph.y, labels), "nmi": nmi(graph.y, labels)}

    return score


def figure_4_1(quick: bool) -> Rows:
    """Relative error by iteration, from the same random start."""
    rows: Rows = []
    for name, graph in _graphs(("ORL",) if quick else ("ORL", "COIL-20")):
        for method in _methods(quick):
            curve = _followed(method, graph, _relative_error(graph), max_iter=100 if quick else 500)
            rows += [{"data": name, "method": method, **row} for row in curve]
    return rows


def figure_4_2(quick: bool) -> Rows:
    """Relative error by epoch of the net as printed, for fixed lambda and for the one that is learnt."""
    rows: Rows = []
    for name, graph in _graphs(("COIL-20",)):
        norm = float(np.sqrt((graph.X.data**2).sum()))
        for share in (0.1, 1.0) if quick else (0.01, 0.1, 0.5, 1.0, 2.0, 10.0):
            fixed = {"lam": share * norm, "max_iter": 100 if quick else 500}
            curve = _followed("net, as printed", graph, _relative_error(graph), **fixed)
            rows += [{"data": name, "lambda": f"{share:g} |X|", **row} for row in curve]
        curve = _followed("net, as printed", graph, _relative_error(graph), max_iter=100 if quick else 500)
        rows += [{"data": name, "lambda": "learnt", **row} for row in curve]
    return rows


def figure_4_3(quick: bool) -> Rows:
    """Sparse factor of U at about the same relative error."""
    rows: Rows = []
    for name, graph in _graphs(("ORL",) if quick else ("ORL", "COIL-20")):
        sparser = {"regularizer": "l1", "weight": 0.003}
        models = {method: _model(method, graph.n_classes, 0) for method in ("anls", "hals", "net")}
        models["net, l1"] = _model("net", graph.n_classes, 0, **sparser)
        if quick:
            del models["anls"]
        for method, model in models.items():
            _fitted(model, graph.X)
            figures = {"sparse factor": sparse_factor(model.components_), "relative error": model.relative_error_}
            rows.append(
                {"data": name, "method": method, **figures, "accuracy": cluster_accuracy(graph.y, model.labels_)}
            )
    return rows


def figure_4_4(quick: bool) -> Rows:
    """Purity and NMI by iteration of the solvers, and by block of a trained net of ten blocks."""
    rows: Rows = []
    for name, graph in _graphs(("ORL",) if quick else ("MNIST1",)):
        score = _agreement(graph)
        for method in ("hals",) if quick else ("anls", "hals"):
            rows += [{"data": name, "method": method, **row} for row in _followed(method, graph, score, max_iter=50)]
        for method in ("net",) if quick else SETTINGS:
            blocks = _trained_blocks(method, graph, epochs=100 if quick else 1000)
            rows += [{"data": name, "method": method, "iteration": i, **score(U)} for i, U in enumerate(blocks)]
    return rows


def _trained_blocks(method: str, graph: PublishedGraph, epochs: int, n_blocks: int = 10) -> list[Any]:
    """What the net is given, and the output of each of its blocks, after training."""
    trained, *_ = _train(graph, SETTINGS[method], epochs, n_blocks)
    return [U.numpy(force=True) for U in trained.forward()[0]]


def _train(
    graph: PublishedGraph, settings: str, epochs: int, n_blocks: int, **changes: Any
) -> tuple[net.Net, torch.Tensor, float]:
    """A trained net from a random start, its graph as a tensor, and the squared norm of that."""
    recipe = replace(net.SETTINGS[settings], **changes)
    squared = float((graph.X.data**2).sum())
    X = to_torch(graph.X, "cpu", torch.float64)
    rng = np.random.default_rng(0)
    U0 = torch.from_numpy(rng.random((graph.X.shape[0], graph.n_classes)))
    U0 *= (float((U0 * (X @ U0)).sum()) / float(((U0.T @ U0) ** 2).sum())) ** 0.5  # the best multiple of it
    rate = recipe.learning_rate
    if recipe.relative:
        rate *= 4 * (1 / graph.X.shape[0]) ** 0.5  # the graph's largest eigenvalue is 1
    ready = net.start(X, U0, squared**0.5, n_blocks)
    monitor = Monitor(epochs, tol=0, check_every=epochs)
    net.train(X, squared, ready, recipe, rate, terms=(), monitor=monitor)
    return ready, X, squared


def figure_4_5(quick: bool) -> Rows:
    """Purity and NMI by iteration of the solvers and by epoch of the net."""
    rows: Rows = []
    for name, graph in _graphs(("ORL",) if quick else ("MNIST2",)):
        for method in _methods(quick):
            curve = _followed(method, graph, _agreement(graph), max_iter=100 if quick else 500)
            rows += [{"data": name, "method": method, **row} for row in curve]
    return rows


def theorem_1(quick: bool) -> Rows:
    """How far blocks of a trained net are from the classical iteration, and how far Theorem 1 lets them be.

    The supremum of Definition 1 is taken over the classical outputs and 20 random matrices on the sphere around each.
    """
    rows: Rows = []
    for name, graph in _graphs(("ORL",)):
        for epsilon in (0.1,) if quick else (0.01, 0.1, 1.0):
            trained, X, squared = _train(graph, "paper", 50 if quick else 300, 10, epsilon=epsilon)
            facts = net.stability(X, squared, trained, 1.0, float(torch.linalg.matrix_norm(X.to_dense(), 2)))
            farthest = max(_distances(trained, epsilon))
            figures = {"epsilon": epsilon, "lambda": facts.lam, "least lambda": facts.least_lambda}
            figures |= {"measured distance": farthest, "allowed distance": facts.C * epsilon}
            rows.append({"data": name, **figures, "holds": farthest <= facts.C * epsilon})
    return rows


@torch.no_grad()
def _distances(trained: net.Net, epsilon: float, draws: int = 20) -> Iterator[float]:
    """Distances between a block's output near a classical one, and the next classical output."""
    generator = torch.Generator().manual_seed(0)
    eye = torch.eye(trained.U0.shape[1], dtype=trained.U0.dtype)
    for P, near, target in zip(trained.P, trained.classical[:-1], trained.classical[1:], strict=True):
        for draw in range(draws + 1):
            apart = torch.randn(near.shape, generator=generator, dtype=near.dtype)
            U = near + (epsilon / torch.linalg.matrix_norm(apart, 2)) * apart if draw else near
            block = torch.relu(P @ torch.linalg.inv(U.T @ U + trained.lam * eye))
            yield float((block - target).norm())


def proposition_1(quick: bool) -> Rows:
    """Where solvers of the split objective converge, the projected gradient of the symmetric one vanishes as well."""
    rows: Rows = []
    for name, graph in _graphs(("ORL",) if quick else ("ORL", "COIL-20")):
        for method in ("hals",) if quick else ("hals", "anls"):
            model = _fitted(_model(method, graph.n_classes, 0, max_iter=5000, tol=1e-6), graph.X)
            figures = {"projected gradient": model.projected_gradient_, "relative to 4 X U": model.stationarity_}
            rows.append({"data": name, "method": method, **figures, "iterations": model.n_iter_})
    return rows


ITERATIONS = Curves("iteration", "relative error")
AGREEMENT = Curves("iteration", "purity", more=("nmi",))
EXPERIMENTS = {
    "table 1": Experiment(table_1),
    "table 2": Experiment(table_2),
    "table 3": Experiment(table_3),
    "table 4": Experiment(table_4),
    "figure 4.1": Experiment(figure_4_1, ITERATIONS),
    "figure 4.2": Experiment(figure_4_2, Curves("iteration", "relative error", line="lambda", log_y=True)),
    "figure 4.3": Experiment(figure_4_3, pictures=partial(drawing.bars_by_data, y="sparse factor")),
    "figure 4.4": Experiment(figure_4_4, AGREEMENT),
    "figure 4.5": Experiment(figure_4_5, AGREEMENT),
    "theorem 1": Experiment(theorem_1),
    "proposition 1": Experiment(proposition_1),
}
