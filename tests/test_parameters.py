"""Every parameter of every estimator reaches the algorithm.

Each parameter is changed once. The changed model must read it while it works, and the outcome must differ from that of
the unchanged model. A parameter without an entry in ``CHANGES`` fails too.
"""

import inspect
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rectifact
from rectifact import (
    ANDNMF,
    KOS,
    NMD,
    DawidSkene,
    EigenRatio,
    GhoshSVD,
    InputError,
    LogisticPCA,
    MajorityVote,
    MinimaxEntropy,
    PurificationNMF,
    SymNMF,
    SymNMFNet,
)
from rectifact.datasets import load_crowd, make_block_model, make_crowd, make_topics

pytestmark = pytest.mark.filterwarnings("ignore")  # short runs do not converge, and say so

ESTIMATORS = [kind for name in rectifact.__all__ if hasattr(kind := getattr(rectifact, name), "fit")]
UNUSED = {(MinimaxEntropy, "random_state"), (LogisticPCA, "random_state")}  # documented: nothing is drawn at random
WITHOUT_EFFECT_ON_RESULTS = ("n_jobs", "device", "verbose", "callbacks", "checkpoint", "resume")


class Change:
    """A value for one parameter, and the other parameters and the data that make a difference visible."""

    def __init__(self, value: Any, *, data: Any = None, **others: Any) -> None:
        self.value, self.data, self.others = value, data, others


def graded() -> pd.DataFrame:
    return load_crowd("anaesthetists").answers


def binary() -> pd.DataFrame:
    return make_crowd(60, n_workers=8, n_classes=2, labels_per_task=4, n_spammers=2, seed=1).answers


def matrix_of_answers() -> np.ndarray:
    """Tasks by workers. By default -1 means that there is no answer; ``missing=0`` makes it a class."""
    return np.random.default_rng(0).choice([-1, 0, 1], size=(30, 5), p=[0.3, 0.4, 0.3])


def mixtures() -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal((200, 20))
    return make_topics(n_samples=200, n_features=20, n_topics=3).X + 1e-3 * noise


def counts() -> np.ndarray:
    return np.random.default_rng(0).poisson(0.7, size=(40, 12)).astype(float)


def bits() -> np.ndarray:
    return (counts() > 0).astype(float)


def points() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([rng.standard_normal((20, 3)) + 2.5 * axis for axis in np.eye(3)]) + 1


def graph() -> sp.csr_array:
    return make_block_model(60, 3, degree=8, mixing=0.5).adjacency


def noisy_graph() -> sp.csr_array:
    return make_block_model(300, 8, degree=8, mixing=0.6).adjacency


def weighted() -> sp.csr_array:
    found, weights = graph(), np.random.default_rng(0).lognormal(0, 2, (60, 60))
    return sp.csr_array(found * (weights + weights.T))


def apart() -> np.ndarray:
    return np.where(np.arange(60)[:, None] < 9, 50.0, 0.0) + points()


MISSING = Change(0, data=matrix_of_answers)
LOOP = {"max_iter": 2, "tol": 0.9}
GRAPH = {
    "n_neighbors": 4,
    "metric": "cosine",
    "scale": "standard",
    "affinity": Change("precomputed", data=graph),
    "normalize": False,
    "min_component": Change(5, data=apart),
    "values": Change("log", data=weighted, affinity="precomputed"),
    "reassign": Change(False, data=noisy_graph, affinity="precomputed"),
}
CHANGES: dict[type, dict[str, Any]] = {
    **{kind: {"missing": MISSING} for kind in (MajorityVote, KOS, GhoshSVD, EigenRatio)},
    DawidSkene: {
        "identify": "cnmf",
        "refine": None,
        "model": "full",
        "n_classes": 6,
        "smoothing": Change(2.0, model="full"),
        "designated": Change([0, 1], identify="designated", refine=None, data=binary),
        "pair_weights": Change("equal", identify="robust", refine=None, data=binary),
        "ordinal": True,
        "missing": MISSING,
        "random_state": Change(1, identify="spectral", refine=None, random_state=0),
        **LOOP,
    },
    MinimaxEntropy: {"worker_penalty": 3.0, "task_penalty": 3.0, "missing": MISSING, **LOOP},
    ANDNMF: {
        "n_components": 4,
        "init": "nndsvd",
        "threshold": 0.05,
        "threshold_decay": 2.0,
        "noise_floor": 5.0,
        "normalize": "l2",
        "unit": "absolute",
        "n_inner": 2,
        "step": Change(1e-3, n_inner=2),
        "compress": False,
        "decode": "nnls",
        "refine": None,
        "refine_iter": Change(1, refine="nonnegative"),
        "background": True,
        "missing": np.eye(200, 20) > 0,
        "forgetting": 0.1,
        "random_state": Change(1, max_iter=1),
        **LOOP,
    },
    PurificationNMF: {
        "n_components": 4,
        "init": "nndsvd",
        "threshold": 0.05,
        "step": 0.1,
        "inverse": "min-inf",
        "balance": True,
        "unit": "absolute",
        "gain": 3.0,
        "step_decay": False,
        "decode": "linear",
        "random_state": Change(1, max_iter=1),
        **LOOP,
    },
    NMD: {
        "n_components": 4,
        "link": Change("relu", data=bits),
        "objective": "latent",
        "missing": np.eye(40, 12, dtype=bool),
        "prior": None,
        "n_init": Change(8, n_init=1, prior=None, tol=0),
        "solver": "em",
        "random_state": 1,
        **LOOP,
        "tol": Change(0.9, prior=None, max_iter=30),
    },
    LogisticPCA: {
        "n_components": 4,
        "missing": np.eye(40, 12, dtype=bool),
        "prior": None,
        **LOOP,
        "tol": Change(0.9, prior=None),
    },
    SymNMF: {
        "n_clusters": 4,
        "solver": "hals",
        "init": "random",
        "n_init": Change(4, init="random"),
        "l1": 0.5,
        "random_state": Change(1, init="random"),
        **GRAPH,
        **LOOP,
    },
    SymNMFNet: {
        "n_clusters": 4,
        "n_blocks": 3,
        "settings": "paper",
        "regularizer": "l1",
        "weight": Change(0.5, regularizer="l1"),
        "label_weight": 9.0,
        "init": "random",
        "n_init": Change(4, init="random", random_state=1),
        "learning_rate": 0.5,
        "lam": 5.0,
        "beta": 0.1,
        "epsilon": 0.01,
        "random_state": Change(1, init="random"),
        **GRAPH,
        **LOOP,
    },
}
DATA = {
    **dict.fromkeys((MajorityVote, KOS, GhoshSVD, EigenRatio, MinimaxEntropy), binary),
    DawidSkene: graded,
    **dict.fromkeys((ANDNMF, PurificationNMF), mixtures),
    NMD: counts,
    LogisticPCA: bits,
    **dict.fromkeys((SymNMF, SymNMFNet), points),
}
SMALL: dict[type, dict[str, Any]] = {
    MinimaxEntropy: {"max_iter": 10},
    ANDNMF: {"n_components": 3, "random_state": 0},
    PurificationNMF: {"n_components": 3, "max_iter": 10, "random_state": 0},
    NMD: {"n_components": 3, "max_iter": 10, "random_state": 0},
    LogisticPCA: {"n_components": 3, "max_iter": 10},
    SymNMF: {"n_clusters": 3, "n_init": 2, "max_iter": 10, "random_state": 0},
    SymNMFNet: {"n_clusters": 3, "max_iter": 10, "device": "cpu", "random_state": 0},
}
PAIRS = [(kind, name) for kind in ESTIMATORS for name in inspect.signature(kind).parameters]


def cases(pairs: list[tuple[type, str]]) -> list[Any]:
    return [pytest.param(kind, name, id=f"{kind.__name__}-{name}") for kind, name in pairs]


def watched(kind: type) -> type:
    """A subclass that notes which parameters are read, except by ``get_params``, which reads all of them."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            before = set(self.__dict__["read"])
            found = super().get_params(deep)
            self.__dict__["read"] = before
            return found

        def __getattribute__(self, name: str) -> Any:
            own = super().__getattribute__("__dict__")
            if name in own.get("names", ()):
                own["read"].add(name)
            return super().__getattribute__(name)

    Watched.__init__ = kind.__init__  # type: ignore[misc]
    Watched.__name__ = kind.__name__
    return Watched


def work(kind: type, data: Any, **options: Any) -> Any:
    """Fit a model, and use what else it offers; ``read`` then holds the parameters that were read."""
    if kind is SymNMFNet:
        pytest.importorskip("torch")
    model = watched(kind)(**options)
    model.__dict__ |= {"names": frozenset(inspect.signature(kind).parameters), "read": set()}
    X = data()
    if kind is SymNMFNet:
        gold = np.where(np.arange(60) % 4 == 0, np.repeat([0, 1, 2], 20), -1)
        model.fit(X, gold=gold if X.shape[0] == len(gold) else None)
    else:
        model.fit(X)
    if issubclass(kind, ANDNMF | PurificationNMF):
        model.first_ = model.components_
        model.partial_fit(X[::2]).partial_fit(X[1::2])
    if hasattr(kind, "transform"):
        model.transformed_ = model.transform(X)
    model.__dict__["names"] = frozenset()  # what is read from here on does not count
    return model


def outcome(model: Any) -> dict[str, np.ndarray]:
    """Everything that was fitted but ``resolved_``, which may just repeat what was asked for, and times."""
    return {
        name: np.asarray(value.toarray() if sp.issparse(value) else value)
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name not in ("resolved_", "history_")
    }


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(("kind", "name"), cases([pair for pair in PAIRS if pair[1] not in WITHOUT_EFFECT_ON_RESULTS]))
def test_a_changed_parameter_changes_the_outcome(kind: type, name: str) -> None:
    if (kind, name) in UNUSED:
        assert name not in work(kind, DATA[kind], **SMALL[kind]).read
        return
    assert name in CHANGES[kind], f"add a change of {name!r} to the table of {kind.__name__}"
    change = CHANGES[kind][name]
    change = change if isinstance(change, Change) else Change(change)
    options, data = SMALL.get(kind, {}) | change.others, change.data or DATA[kind]
    plain, changed = work(kind, data, **options), work(kind, data, **{**options, name: change.value})
    assert name in changed.read, f"{kind.__name__} never reads {name!r}"
    assert not same(outcome(plain), outcome(changed)), f"{name!r} makes no difference to {kind.__name__}"


@pytest.mark.parametrize(("kind", "name"), cases([pair for pair in PAIRS if pair[1] in WITHOUT_EFFECT_ON_RESULTS]))
def test_other_parameters_do_what_they_say(kind: type, name: str, tmp_path: Path, caplog: Any) -> None:
    rows: list[Any] = []
    folder = tmp_path / "state"
    value, visible = {
        "n_jobs": (1, lambda model: True),
        "device": ("cpu", lambda model: True),
        "verbose": (True, lambda model: caplog.records),
        "callbacks": ([rows.append], lambda model: rows),
        "checkpoint": (folder, lambda model: any(folder.iterdir())),
        "resume": (True, lambda model: True),
    }[name]
    caplog.set_level(logging.INFO, logger="rectifact")
    context = {"resume": {"checkpoint": folder}, "n_jobs": {"inverse": "min-inf"} if kind is PurificationNMF else {}}
    options = SMALL.get(kind, {}) | context.get(name, {})
    model = work(kind, DATA[kind], **{**options, name: value})
    assert name in model.read, f"{kind.__name__} never reads {name!r}"
    assert visible(model), f"{name!r} makes no difference to {kind.__name__}"


@pytest.mark.parametrize("kind", [kind for kind, name in PAIRS if name == "device"])
def test_a_device_that_does_not_exist_is_refused(kind: type) -> None:
    with pytest.raises(InputError, match="moon"):
        work(kind, DATA[kind], **{**SMALL.get(kind, {}), "device": "moon"})
