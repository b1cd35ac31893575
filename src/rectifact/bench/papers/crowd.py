"""Experiments of Ibrahim and Fu (2021): Tables 1 to 5, and missing co-occurrences.

Theorems and Figure 1 are in ``crowd_theory``, the rest in ``crowd_beside``.
"""

from functools import partial
from typing import Any

import numpy as np

from rectifact.bench import Rows
from rectifact.bench.crowd_machines import Design, ask, blocks, independent, machines, repeated
from rectifact.bench.measure import at_hand
from rectifact.bench.papers import Curves, Experiment, crowd_beside, crowd_theory, paper
from rectifact.bench.papers.crowd_methods import LEAST_SHARED, SETS, SLOW, chosen, measured, warmed_up
from rectifact.crowd import read_answers
from rectifact.crowd.cooccurrence import cooccurrences
from rectifact.crowd.imputation import reached
from rectifact.datasets import CrowdSet


def _row(table: str, data: str, method: str, error: float, seconds: float) -> dict[str, Any]:
    printed = paper("crowd").printed[table].get(data, {}).get(method, {})
    figures = {"error %": error, "printed error %": printed.get("error %")}
    return {"data": data, "method": method, **figures, "seconds": seconds, "printed seconds": printed.get("seconds")}


def _everybody(n_tasks: int, n_workers: int, rng: np.random.Generator) -> Any:
    return np.ones((n_tasks, n_workers), dtype=bool), None


def _uci(table: str, name: str, designs: dict[str, Design], quick: bool) -> Rows:
    """Mean errors and times over random partitions of a UCI set."""
    rows: Rows = []
    for data, trials in at_hand({name: partial(repeated, name, 2 if quick else 20)}):
        n_classes = len(np.unique(trials[0].truth))
        methods = warmed_up(chosen(quick, n_classes), n_classes)
        for title, design in designs.items():
            crowds = [ask(trial, design, seed) for seed, trial in enumerate(trials)]
            for method, run in methods.items():
                found = np.array([measured(run, *crowd) for crowd in crowds[: 5 if method in SLOW else None]])
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
        n_classes = crowd.answers["label"].nunique()
        for method, run in warmed_up(chosen(quick, n_classes, without.get(name, ())), n_classes).items():
            rows.append(_row(table, name, method, *measured(run, crowd)))
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
    sets = {name: SETS[name] for name in (("bluebird", "rte") if quick else SETS)}
    sets |= {f"car, {title}": partial(_cars, design) for title, design in MISSING.items()}
    for name, crowd in at_hand(sets):
        answers = read_answers(crowd.answers)
        pairs = cooccurrences(answers.matrix(), len(answers.classes))
        for number in {1, LEAST_SHARED.get(name, 1)}:
            kept = pairs.at_least(number)
            before, after = 1 - len(kept.first) / kept.n_workers**2, 1 - float(reached(kept).mean())
            printed = paper("crowd").printed["missing co-occurrences"][name]
            row = {"data": name, "at least": number, "missing": before, "printed missing": printed["missing"]}
            rows.append(row | {"imputed": after, "printed imputed": printed["imputed"]})
    return rows


def _cars(design: Design) -> CrowdSet:
    return ask(machines("car", 0), design, 0)[0]


EXPERIMENTS = {
    "table 1": Experiment(table_1),
    "table 2": Experiment(table_2),
    "table 3": Experiment(table_3),
    "table 4": Experiment(table_4),
    "table 5": Experiment(table_5),
    "figure 1": Experiment(crowd_theory.figure_1, Curves("x", "y", square=True)),
    "missing co-occurrences": Experiment(missing_cooccurrences),
    "synthetic data": Experiment(crowd_beside.synthetic_data),
    "rotation": Experiment(crowd_beside.rotation),
    "settings": Experiment(crowd_beside.settings),
    "designated annotators": Experiment(crowd_beside.designated_annotators),
    "crowd layers": Experiment(crowd_beside.layers),
    "proposition 1": Experiment(crowd_theory.proposition_1),
    "theorem 1": Experiment(crowd_theory.theorem_1, Curves("tasks shared", "error", log_x=True, log_y=True)),
    "theorem 2": Experiment(crowd_theory.theorem_2, Curves("tasks shared", "error", log_x=True, log_y=True)),
    "theorem 3": Experiment(crowd_theory.theorem_3, Curves("iteration", "error of Q", log_y=True)),
    "conditions": Experiment(crowd_theory.measured_conditions),
}
