"""What Ibrahim and Fu (2021) tell beside their tables: synthetic data, settings, crowd layers."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rectifact.bench import Rows
from rectifact.bench.crowd_field import error_percent
from rectifact.bench.crowd_machines import Machines, ask, independent, repeated
from rectifact.bench.measure import at_hand
from rectifact.bench.papers import paper
from rectifact.bench.papers.crowd_methods import (
    LEAST_SHARED,
    METHODS,
    SETS,
    identified,
    labels_identified,
    measured,
    probas_of,
)
from rectifact.crowd import DawidSkene
from rectifact.crowd.em import e_step
from rectifact.crowd.rotation import Rotation
from rectifact.datasets import CrowdSet, make_crowd
from rectifact.metrics import confusion_mse


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


REFINED: dict[str, Callable[[], DawidSkene]] = {
    "MV-EM": partial(DawidSkene, "majority", model="full"),
    "our default": DawidSkene,
}


def synthetic_data(quick: bool) -> Rows:
    """Mean squared error of the confusion matrices, times 1000, and errors of labels, on planted crowds."""
    rows: Rows = []
    for data, crowds in _planted(quick):
        for method, (name, options) in SYNTHETIC.items():
            scores = []
            for crowd in crowds:
                answers, start = identified(crowd, name, **options)
                scores.append((_mse(crowd, answers.workers, start.confusions), _start_error(crowd, answers, start)))
            rows.append(_synthetic_row(data, method, scores))
        for method, make in REFINED.items():
            fits = [(crowd, make().fit(crowd.answers)) for crowd in crowds]
            scores = [
                (_mse(crowd, fit.workers_, fit.confusions_), error_percent(crowd, probas_of(fit)))
                for crowd, fit in fits
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
                run = partial(labels_identified, method=imputed, rotation=settings)
                error, seconds = measured(run, crowd)
                rows.append({"data": name, "method": f"{imputed}, {title}", "error %": error, "seconds": seconds})
    return rows


def settings(quick: bool) -> Rows:
    """Errors under settings that the text leaves open, next to the printed ones.

    They are the least confusion probability of a model, and the tasks that a pair must share to count as observed.
    """
    rows: Rows = []
    for name, crowd in at_hand({name: SETS[name] for name in (("bluebird",) if quick else SETS)}):
        printed = paper("crowd").printed["table 4" if name in ("bluebird", "dog52") else "table 5"][name]
        least = LEAST_SHARED.get(name, 1)
        for method, (imputed, options) in SYNTHETIC.items():
            figures: dict[str, Any] = {"least shared": least, "printed error %": printed.get(method, {}).get("error %")}
            for shared in {1, least}:
                for floor in (0.001, 0.03):
                    run = partial(labels_identified, method=imputed, floor=floor, least_shared=shared, **options)
                    title = f"floor {floor:g}" + (", least shared" if shared > 1 else "")
                    figures[title] = measured(run, crowd)[0]
            rows.append({"data": name, "method": method, **figures})
    return rows


def designated_annotators(quick: bool) -> Rows:
    """Error of DesSymNMF, by which two annotators are designated: quantiles over pairs of the busiest."""
    rows: Rows = []
    rng = np.random.default_rng(0)
    for name, crowd in at_hand({name: SETS[name] for name in (("bluebird",) if quick else ("bluebird", "dog52"))}):
        busiest = crowd.answers["worker"].value_counts().index[:20]
        pairs = [rng.choice(busiest, 2, replace=False) for _ in range(20 if quick else 100)]
        errors = [measured(METHODS["DesSymNMF"], crowd, pair)[0] for pair in pairs]
        low, middle, high = np.quantile(errors, (0.05, 0.5, 0.95)).tolist()
        row = {"data": name, "method": "DesSymNMF", "5 %": low, "median": middle, "95 %": high}
        printed = paper("crowd").printed["table 4"][name]["DesSymNMF"]["error %"]
        rows.append(row | {"everybody": measured(METHODS["DesSymNMF"], crowd)[0], "printed error %": printed})
    return rows


def layers(quick: bool) -> Rows:
    """Crowd layers, which see the features of the items, next to methods that see the answers alone."""
    from rectifact.bench.crowd_layer import crowd_layer

    rows: Rows = []
    design = independent(0.3, 0.3)
    for name, trials in at_hand({name: partial(repeated, name, 1 if quick else 5) for name in ("credit", "car")}):
        crowds = [ask(trial, design, seed)[0] for seed, trial in enumerate(trials)]
        for kind in ("MW", "VW-B"):
            nets = [partial(_layer, crowd_layer, trial, kind=kind, seed=seed) for seed, trial in enumerate(trials)]
            found = [measured(net, crowd) for net, crowd in zip(nets, crowds, strict=True)]
            rows.append(_mean_row(name, f"crowd layer, {kind}", found))
        for method in ("RobSymNMF", "RobSymNMF-EM", "MV-EM", "majority vote", "our default"):
            rows.append(_mean_row(name, method, [measured(METHODS[method], crowd) for crowd in crowds]))
    return rows


def _layer(net: Any, trial: Machines, crowd: CrowdSet, designated: Any, **options: Any) -> pd.DataFrame:
    return net(trial.X, crowd.answers, **options)


def _mean_row(data: str, method: str, found: list[tuple[float, float]]) -> dict[str, Any]:
    error, seconds = np.mean(found, axis=0).tolist()
    return {"data": data, "method": method, "error %": error, "seconds": seconds}
