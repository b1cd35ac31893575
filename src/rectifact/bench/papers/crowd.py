"""Experiments of Ibrahim and Fu (2021): Tables 1 to 5, Figure 1, the theorems, and what the text says beside them.

The theorems' experiments are in ``crowd_theory``.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench import Rows
from rectifact.bench.crowd_field import error_percent
from rectifact.bench.crowd_machines import Design, Machines, ask, blocks, independent, machines
from rectifact.bench.crowd_peers import written_here
from rectifact.bench.crowd_tensors import tensor_admm
from rectifact.bench.measure import at_hand, timed
from rectifact.bench.papers import Curves, Experiment, crowd_theory, paper
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy, read_answers
from rectifact.crowd.cooccurrence import Cooccurrences, cooccurrences
from rectifact.crowd.em import e_step, expected_sums
from rectifact.crowd.imputation import reached
from rectifact.crowd.rotation import Rotation
from rectifact.crowd.starts import identify
from rectifact.datasets import CrowdSet, load_crowd, make_crowd
from rectifact.metrics import confusion_mse

Method = Callable[[CrowdSet, Any], pd.DataFrame]
BINARY = ("GhoshSVD", "EigenRatio")
SLOW = ("MinimaxEntropy", "Spectral-D&S", "TensorADMM")
SETS: dict[str, Callable[[], CrowdSet]] = {
    "bluebird": partial(load_crowd, "bluebird"),
    "dog52": partial(load_crowd, "dog", workers=52),
    "rte": partial(load_crowd, "rte"),
    "trec": partial(load_crowd, "trec"),
}


def _probas(fitted: Any) -> pd.DataFrame:
    return pd.DataFrame(fitted.probas_, index=fitted.tasks_, columns=fitted.classes_)


def _fit(make: Callable[[], Any], crowd: CrowdSet, designated: Any) -> pd.DataFrame:
    model = make()
    if designated is not None and getattr(model, "identify", None) == "designated":
        model.set_params(designated=list(designated))
    return _probas(model.fit(crowd.answers))


def _model(identify: str, refine: Any = None, **options: Any) -> Method:
    return partial(_fit, partial(DawidSkene, identify, refine, "full", **options))


def _identified(crowd: CrowdSet, method: str = "robust", **options: Any) -> tuple[Any, Any]:
    """Answers, and the model that co-occurrences alone give, with options that the estimator does not have."""
    answers = read_answers(crowd.answers)
    B = answers.matrix()
    votes = B.total(expected_sums, along=(answers.shares(None),))
    return answers, identify(method, B, votes, rng=np.random.default_rng(0), **options)


def _unweighted(crowd: CrowdSet, designated: Any = None, **options: Any) -> pd.DataFrame:
    """Labels from co-occurrences alone, under the options of ``identify``."""
    answers, start = _identified(crowd, **options)
    posteriors, _, _ = e_step(answers.matrix(), start.priors, start.confusions)
    return pd.DataFrame(posteriors, index=answers.tasks, columns=answers.classes)


METHODS: dict[str, Method] = {
    "RobSymNMF": _model("robust", pair_weights="equal"),
    "RobSymNMF-EM": _model("robust", "em", pair_weights="equal"),
    "RobSymNMF, w = 1": partial(_unweighted, weigh_by_count=False, reweigh=False),
    "RobSymNMF, by counts": _model("robust"),
    "DesSymNMF": _model("designated"),
    "DesSymNMF-EM": _model("designated", "em"),
    "SymNMF, not imputed": _model("none-imputed"),
    "MultiSPA": _model("multispa"),
    "CNMF": _model("cnmf"),
    "TensorADMM": lambda crowd, _: written_here(tensor_admm, crowd.answers),
    "Spectral-D&S": _model("spectral", "em", random_state=0),
    "MV-EM": _model("majority", "em"),
    "MinimaxEntropy": partial(_fit, MinimaxEntropy),
    "KOS": partial(_fit, KOS),
    "GhoshSVD": partial(_fit, GhoshSVD),
    "EigenRatio": partial(_fit, EigenRatio),
    "majority vote": partial(_fit, MajorityVote),
    "our default": partial(_fit, DawidSkene),
}


def _chosen(quick: bool, n_classes: int, without: tuple[str, ...] = ()) -> dict[str, Method]:
    """Methods that can be measured: few if quick, and those for two classes only with two."""
    leave = (*without, *(BINARY if n_classes > 2 else ()), *(SLOW if quick else ()))
    return {name: run for name, run in METHODS.items() if name not in leave}


def _measured(run: Method, crowd: CrowdSet, designated: Any = None) -> tuple[float, float]:
    """Error in percent, and seconds."""
    with warnings.catch_warnings(action="ignore"):  # a method that does not converge shows in its error
        probas, seconds = timed(run, crowd, designated)
    return error_percent(crowd, probas), seconds


def _row(table: str, data: str, method: str, error: float, seconds: float) -> dict[str, Any]:
    printed = paper("crowd").printed[table].get(data, {}).get(method, {})
    figures = {"error %": error, "printed error %": printed.get("error %")}
    return {"data": data, "method": method, **figures, "seconds": seconds, "printed seconds": printed.get("seconds")}


def _everybody(n_tasks: int, n_workers: int, rng: np.random.Generator) -> Any:
    return np.ones((n_tasks, n_workers), dtype=bool), None


def _uci(table: str, name: str, designs: dict[str, Design], quick: bool) -> Rows:
    """Mean errors and times over random partitions of a UCI set."""
    rows: Rows = []
    n_trials = 2 if quick else 20
    for data, trials in at_hand({name: lambda: [machines(name, seed) for seed in range(n_trials)]}):
        n_classes = len(np.unique(trials[0].truth))
        for title, design in designs.items():
            crowds = [ask(trial, design, seed) for seed, trial in enumerate(trials)]
            for method, run in _chosen(quick, n_classes).items():
                found = np.array([_measured(run, *crowd) for crowd in crowds])
                error, seconds = found.mean(axis=0).tolist()
                rows.append(_row(table, f"{data}, {title}", method, error, seconds) | {"sd": float(found[:, 0].std())})
    return rows


PROBABILITIES: dict[str, Design] = {
    "p = 0.3": independent(0.3, 0.3),
    "p in 0.3-0.5": independent(0.3, 0.5, 0.8),
    "p in 0.5-0.7": independent(0.5, 0.7, 0.8),
}
MISSING: dict[str, Design] = {f"{share:.0%} missing": blocks(share) for share in (0.7, 0.5, 0.3)}


def table_1(quick: bool) -> Rows:
    """Machine annotators on Connect-4, each answering a share of the items; no rows without the file."""
    return _uci("table 1", "connect4", PROBABILITIES, quick)


def table_2(quick: bool) -> Rows:
    """The same on credit approval."""
    return _uci("table 2", "credit", PROBABILITIES, quick)


def table_3(quick: bool) -> Rows:
    """Machine annotators on car evaluation, where many pairs of annotators share no item; and where none is missing."""
    return _uci("table 3", "car", MISSING | {"nothing missing": _everybody}, quick)


def _people(table: str, names: tuple[str, ...], quick: bool, without: dict[str, tuple[str, ...]]) -> Rows:
    rows: Rows = []
    for name, crowd in at_hand({name: SETS[name] for name in names}):
        for method, run in _chosen(quick, crowd.answers["label"].nunique(), without.get(name, ())).items():
            rows.append(_row(table, name, method, *_measured(run, crowd)))
    return rows


def table_4(quick: bool) -> Rows:
    """Errors and times on two crowds."""
    return _people("table 4", ("bluebird",) if quick else ("bluebird", "dog52"), quick, {})


def table_5(quick: bool) -> Rows:
    """Errors and times on two larger crowds; the third moments of the second do not fit in memory."""
    return _people("table 5", ("rte",) if quick else ("rte", "trec"), quick, {"trec": ("TensorADMM",)})


def missing_cooccurrences(quick: bool) -> Rows:
    """Share of blocks in equation 6 that are missing, before and after imputation by equations 7 and 8.

    The diagonal counts as missing, as it does in the printed shares of crowds. ``at least`` is how many tasks a pair
    must share to count as observed: the printed shares of two sets are those of a larger number than 1.
    """
    rows: Rows = []
    least = {"dog52": (1, 6), "trec": (1, 2)}
    sets = {name: SETS[name] for name in (("bluebird", "rte") if quick else SETS)}
    for title, design in MISSING.items():
        sets[f"car, {title}"] = lambda design=design: ask(machines("car", 0), design, 0)[0]
    for name, crowd in at_hand(sets):
        answers = read_answers(crowd.answers)
        pairs = cooccurrences(answers.matrix(), len(answers.classes))
        for number in least.get(name, (1,)):
            kept = _with_at_least(pairs, number)
            before, after = 1 - len(kept.first) / kept.n_workers**2, 1 - float(reached(kept).mean())
            printed = paper("crowd").printed["missing co-occurrences"][name]
            row = {"data": name, "at least": number, "missing": before, "printed missing": printed["missing"]}
            rows.append(row | {"imputed": after, "printed imputed": printed["imputed"]})
    return rows


def _with_at_least(pairs: Cooccurrences, number: int) -> Cooccurrences:
    some = pairs.counts >= number
    return Cooccurrences(pairs.first[some], pairs.second[some], pairs.blocks[some], pairs.counts[some], pairs.n_workers)


def _planted(quick: bool) -> Iterator[tuple[str, list[CrowdSet]]]:
    """Crowds with more or fewer specialists, and with more or fewer missing co-occurrences."""
    options: dict[str, Any] = {"n_tasks": 1000 if quick else 5000, "n_workers": 20, "n_classes": 3}
    seeds = range(2 if quick else 10)
    for n in (0, 6) if quick else (0, 3, 6, 12):
        sets = [make_crowd(**options, accuracy=(0.4, 0.8), n_specialists=n, random_state=seed) for seed in seeds]
        yield f"{n} specialists", sets
    for share in (0.7,) if quick else (0.3, 0.5, 0.7, 0.8):
        blocked: dict[str, Any] = {"assignment": "blocks", "missing": share, "labels_per_task": 4, "n_specialists": 6}
        yield f"{share:.0%} missing", [make_crowd(**options | blocked, random_state=seed) for seed in seeds]


SYNTHETIC: dict[str, tuple[str, dict[str, Any]]] = {
    "RobSymNMF": ("robust", {"weigh_by_count": False}),
    "RobSymNMF, w = 1": ("robust", {"weigh_by_count": False, "reweigh": False}),
    "RobSymNMF, by counts": ("robust", {}),
    "DesSymNMF": ("designated", {}),
    "SymNMF, not imputed": ("none-imputed", {}),
    "MultiSPA": ("multispa", {}),
    "CNMF": ("cnmf", {}),
}


def synthetic_data(quick: bool) -> Rows:
    """Mean squared error of the confusion matrices, times 1000, and errors of labels, on planted crowds."""
    rows: Rows = []
    for data, crowds in _planted(quick):
        for method, (name, options) in SYNTHETIC.items():
            scores = []
            for crowd in crowds:
                answers, start = _identified(crowd, name, **options)
                scores.append((_mse(crowd, answers.workers, start.confusions), _start_error(crowd, answers, start)))
            rows.append(_synthetic_row(data, method, scores))
        for method, make in {"MV-EM": partial(DawidSkene, "majority", model="full"), "our default": DawidSkene}.items():
            fits = [(crowd, make().fit(crowd.answers)) for crowd in crowds]
            scores = [
                (_mse(crowd, fit.workers_, fit.confusions_), error_percent(crowd, _probas(fit))) for crowd, fit in fits
            ]
            rows.append(_synthetic_row(data, method, scores))
    return rows


def _synthetic_row(data: str, method: str, scores: list[tuple[float, float]]) -> dict[str, Any]:
    mse, error = np.mean(scores, axis=0).tolist()
    return {"data": data, "method": method, "1000 MSE": 1000 * mse, "error %": error}


def _mse(crowd: CrowdSet, workers: Any, confusions: Any) -> float:
    return confusion_mse(confusions, np.asarray(crowd.confusions)[np.asarray(workers, dtype=int)])


def _start_error(crowd: CrowdSet, answers: Any, start: Any) -> float:
    posteriors, _, _ = e_step(answers.matrix(), start.priors, start.confusions)
    return error_percent(crowd, pd.DataFrame(posteriors, index=answers.tasks, columns=answers.classes))


ROTATIONS = {
    "from the vote, threshold decays": Rotation(),
    "from the identity, threshold decays": Rotation("identity"),
    "from the vote, threshold 0": Rotation(threshold=0.0),
    "from the identity, threshold 0": Rotation("identity", 0.0),
    "from the vote, slow decay": Rotation(decay=0.99, max_iter=1000),
}


def rotation(quick: bool) -> Rows:
    """Errors under other starts and thresholds of the rotation."""
    rows: Rows = []
    sets = {"planted": partial(make_crowd, 1000, 20, 3, n_specialists=6)} | SETS
    del sets["trec"]
    for name, crowd in at_hand({name: load for name, load in sets.items() if not quick or name != "dog52"}):
        for imputed in ("robust", "designated"):
            for title, settings in ROTATIONS.items():
                run = partial(_unweighted, method=imputed, rotation=settings)
                error, seconds = _measured(run, crowd)
                rows.append({"data": name, "method": f"{imputed}, {title}", "error %": error, "seconds": seconds})
    return rows


def layers(quick: bool) -> Rows:
    """Crowd layers, which see the features of the items, next to methods that see the answers alone."""
    from rectifact.bench.crowd_layer import crowd_layer

    rows: Rows = []
    design = PROBABILITIES["p = 0.3"]
    seeds = range(1 if quick else 5)
    for name in ("credit", "car"):
        for data, trials in at_hand({name: lambda name=name: [machines(name, seed) for seed in seeds]}):
            kinds: dict[str, Any] = {f"crowd layer, {kind}": kind for kind in ("MW", "VW-B")}
            crowds = [ask(trial, design, seed)[0] for seed, trial in enumerate(trials)]
            for method, kind in kinds.items():
                nets = [partial(_layer, crowd_layer, trial, kind=kind, seed=seed) for seed, trial in enumerate(trials)]
                rows.append(_mean_row(data, method, [_measured(*pair) for pair in zip(nets, crowds, strict=True)]))
            for method in ("RobSymNMF", "RobSymNMF-EM", "MV-EM", "majority vote", "our default"):
                rows.append(_mean_row(data, method, [_measured(METHODS[method], crowd) for crowd in crowds]))
    return rows


def _layer(net: Any, trial: Machines, crowd: CrowdSet, designated: Any, **options: Any) -> pd.DataFrame:
    return net(trial.X, crowd.answers, **options)


def _mean_row(data: str, method: str, found: list[tuple[float, float]]) -> dict[str, Any]:
    error, seconds = np.mean(found, axis=0).tolist()
    return {"data": data, "method": method, "error %": error, "seconds": seconds}


EXPERIMENTS = {
    "table 1": Experiment(table_1),
    "table 2": Experiment(table_2),
    "table 3": Experiment(table_3),
    "table 4": Experiment(table_4),
    "table 5": Experiment(table_5),
    "figure 1": Experiment(crowd_theory.figure_1, Curves("x", "y")),
    "missing co-occurrences": Experiment(missing_cooccurrences),
    "synthetic data": Experiment(synthetic_data),
    "rotation": Experiment(rotation),
    "crowd layers": Experiment(layers),
    "proposition 1": Experiment(crowd_theory.proposition_1),
    "theorem 1": Experiment(crowd_theory.theorem_1, Curves("tasks shared", "error", log_x=True, log_y=True)),
    "theorem 2": Experiment(crowd_theory.theorem_2, Curves("tasks shared", "error", log_x=True, log_y=True)),
    "theorem 3": Experiment(crowd_theory.theorem_3, Curves("iteration", "error of Q", log_y=True)),
    "conditions": Experiment(crowd_theory.measured_conditions),
}
