"""Machines as annotators: classifiers trained on a small part of a UCI set label the rest (Ibrahim and Fu 2021).

The paper names two kinds of classifiers, "support vector machines and decision tree"; the others are ours, one for each
kind that statistical toolboxes offer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rectifact.datasets import CrowdSet, load_uci
from rectifact.datasets.crowds import worker_blocks

TESTED = {"connect4": 20_561, "credit": 540, "car": 1352}
"""Items that are labelled, as printed; the training set is as large as the credit and car tables leave."""

TRAINED = 150 / 540
"""Training items for each labelled one: what is left of the credit table, and nearly the printed quarter."""

Design = Callable[[int, int, np.random.Generator], tuple[NDArray[np.bool_], tuple[int, ...] | None]]
"""``design(n_tasks, n_workers, rng)``: who answers what, and the designated workers if there are some."""


def annotators() -> list[Any]:
    """Ten classifiers, from very simple to flexible."""
    return [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(max_leaf_nodes=20, random_state=0),
        DecisionTreeClassifier(max_leaf_nodes=4, random_state=0),
        LinearSVC(random_state=0),
        SVC(),
        SVC(gamma=1.0),
        KNeighborsClassifier(1),
        KNeighborsClassifier(10),
        GaussianNB(),
        LinearDiscriminantAnalysis(),
    ]


@dataclass(frozen=True)
class Machines:
    """What ten classifiers say about each item, and the truth.

    Attributes
    ----------
    X : array of shape (n_items, n_features)
    labels : array of shape (n_items, n_annotators)
    truth : array of shape (n_items,)
    """

    X: NDArray[np.float64]
    labels: NDArray[Any]
    truth: NDArray[Any]


@cache
def _features(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    table = load_uci(name)
    X = table.drop(columns="label")
    numbers = make_column_selector(dtype_include="number")
    words = make_column_selector(dtype_exclude="number")
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)), words),
    )
    features = prepare.fit_transform(X.astype(dict.fromkeys(words(X), object)))
    return np.asarray(features, dtype=float), table["label"].to_numpy()


def machines(name: str, seed: int) -> Machines:
    """Train the annotators on a random part of a set, and let them label another."""
    X, y = _features(name)
    n_tested = TESTED[name]
    n_trained = min(round(TRAINED * n_tested), len(y) - n_tested)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_trained, test_size=n_tested, random_state=seed, stratify=y
    )
    labels = [model.fit(X_train, y_train).predict(X_test) for model in annotators()]
    return Machines(X_test, np.stack(labels, axis=1), y_test)


def repeated(name: str, n_trials: int) -> list[Machines]:
    """So many random partitions of a set."""
    return [machines(name, seed) for seed in range(n_trials)]


def independent(low: float, high: float, designated: float | None = None) -> Design:
    """Each worker answers each task with a probability of their own; two designated workers with another one."""

    def design(n_tasks: int, n_workers: int, rng: np.random.Generator) -> Any:
        shares = rng.uniform(low, high, n_workers)
        chosen = None
        if designated is not None:
            chosen = tuple(rng.choice(n_workers, 2, replace=False).tolist())
            shares[list(chosen)] = designated
        return rng.random((n_tasks, n_workers)) < shares, chosen

    return design


def blocks(missing: float, size: int = 3) -> Design:
    """Items are dealt to sets of workers, so that a share of the co-occurrences is missing."""

    def design(n_tasks: int, n_workers: int, rng: np.random.Generator) -> Any:
        sets = worker_blocks(n_workers, size, missing, rng)
        answered = np.zeros((n_tasks, n_workers), dtype=bool)
        answered[np.arange(n_tasks)[:, None], sets[np.arange(n_tasks) % len(sets)]] = True
        return answered, None

    return design


def ask(machines: Machines, design: Design, seed: int) -> tuple[CrowdSet, tuple[int, ...] | None]:
    """The answers that a design lets through, and the designated workers if there are some."""
    n_tasks, n_workers = machines.labels.shape
    answered, designated = design(n_tasks, n_workers, np.random.default_rng(seed))
    task, worker = np.nonzero(answered)
    table = pd.DataFrame({"task": task, "worker": worker, "label": machines.labels[task, worker]})
    truth = pd.Series(machines.truth, name="label", index=pd.RangeIndex(len(machines.truth), name="task"))
    return CrowdSet(table, truth.loc[np.unique(task)]), designated
