"""What all aggregators share: answers in, labels with their probabilities and tables out."""

from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputError
from rectifact.core.validation import fit_context
from rectifact.crowd.blocks import BlockPosteriors
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.partitions import LazyAnswers, is_lazy_data, read_lazy
from rectifact.crowd.data.read import read_answers
from rectifact.crowd.em import expected_counts

__all__ = ["Aggregator", "ClosedForm", "refuse_weights"]


class Aggregator(BaseEstimator):
    """Answers in, posteriors and labels out."""

    tasks_: NDArray[Any]
    workers_: NDArray[Any]
    classes_: NDArray[Any]
    probas_: NDArray[np.float64]
    labels_: NDArray[Any]
    _answers: Any

    def _set_result(self, answers: Answers | LazyAnswers, posteriors: Any) -> None:
        self.tasks_, self.workers_, self.classes_ = answers.tasks, answers.workers, answers.classes
        self._answers = answers
        self._set_probas(posteriors)

    def _set_probas(self, posteriors: Any) -> None:
        if isinstance(self._answers, LazyAnswers):
            self._posteriors_in_blocks = posteriors
            self.probas_, self.labels_ = self._answers.probas(posteriors), self._answers.labels(posteriors)
            return
        self.probas_ = posteriors
        self.labels_ = self.classes_[posteriors.argmax(axis=1)]

    def _set_closed_form(self, answers: Answers | LazyAnswers) -> None:
        self.n_iter_, self.converged_, self.stop_reason_ = 0, True, "closed_form"
        self.history_: list[dict[str, float]] = []
        self.resolved_: dict[str, Any] = {"columns": answers.columns}

    def _answered(self) -> sp.csr_array:
        """Number of answers of each worker to each task."""
        ones, index = np.ones(len(self._answers)), (self._answers.task, self._answers.worker)
        return sp.csr_array((ones, index), shape=(len(self.tasks_), len(self.workers_)))

    def fit_predict(self, data: Any, y: None = None, **options: Any) -> NDArray[Any]:
        """Fit, and return the label of each task in the order of ``tasks_``."""
        return self.fit(data, y, **options).labels_

    def result(self) -> Any:
        """Table by task: label, confidence (its probability), entropy (in bits) and number of answers.

        A pandas table; after a fit to answers in parts, a dask dataframe of as many rows, in another order.
        """
        check_is_fitted(self)
        if isinstance(self._answers, LazyAnswers):
            return self._answers.result(self._posteriors_in_blocks)
        return pd.DataFrame(
            {
                "task": self.tasks_,
                "label": self.labels_,
                "confidence": self.probas_.max(axis=1),
                "entropy": entr(self.probas_).sum(axis=1) / np.log(2),
                "answers": np.bincount(self._answers.task, minlength=len(self.tasks_)),
            }
        )

    def worker_report(self) -> pd.DataFrame:
        """Table by worker: answers given, and agreement, the expected share of them that are right.

        Right is judged by ``probas_``, to which the worker's own answers contributed.
        """
        check_is_fitted(self)
        answers = self._answers
        if isinstance(answers, LazyAnswers):
            counts = expected_counts(answers.B, self._posteriors_in_blocks)
            given, agreement = answers.given.astype(int), np.einsum("mkk->m", counts)
        else:
            given = np.bincount(answers.worker, minlength=len(self.workers_))
            right = self.probas_[answers.task, answers.label]
            agreement = np.bincount(answers.worker, weights=right, minlength=len(self.workers_))
        with np.errstate(invalid="ignore"):
            return pd.DataFrame({"worker": self.workers_, "answers": given, "agreement": agreement / given})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def refuse_weights(estimator: Aggregator, answers: Answers) -> None:
    """Refuse weighted answers for an aggregator that counts all alike."""
    if answers.weight is not None:
        name = type(estimator).__name__
        raise InputError(f"{name} counts all answers alike. Use DawidSkene or MajorityVote for weights.")


class ClosedForm(Aggregator):
    """An aggregator without iterations: answers to posteriors in one function."""

    _parameter_constraints: dict[str, Any] = {"missing": "no_validation"}
    _takes_weights = False
    _takes_blocks = False

    def __init__(self, *, missing: Any = "auto") -> None:
        self.missing = missing

    def _posteriors(self, answers: Answers) -> NDArray[np.float64]:
        raise TypeError(f"{type(self).__name__} is no aggregator by itself.")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, data: Any, y: None = None) -> Self:
        """Aggregate; ``data`` is whatever :func:`rectifact.crowd.read_answers` takes."""
        if self._takes_blocks and is_lazy_data(data):
            lazy = read_lazy(data, missing=self.missing)
            self._set_result(lazy, BlockPosteriors(lazy.B))
            self._set_closed_form(lazy)
            return self
        answers = read_answers(data, missing=self.missing)
        if not self._takes_weights:
            refuse_weights(self, answers)
        self._set_result(answers, self._posteriors(answers))
        self._set_closed_form(answers)
        return self
