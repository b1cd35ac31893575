"""What all aggregators share: answers in, labels with their probabilities and tables out."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputError
from rectifact.core.findings import Finding
from rectifact.core.plots import plot
from rectifact.core.sparse import with_entries
from rectifact.core.validation import fit_context
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.partitions import LazyAnswers, is_lazy_data, read_lazy
from rectifact.crowd.data.read import read_answers, read_more
from rectifact.crowd.data.sources import refuse_source
from rectifact.crowd.em import expected_sums

LEAST_PROBABILITY = 1e-12
"""An answer that the model rules out costs no more than this."""


class Aggregator(BaseEstimator):
    """Answers in, posteriors and labels out."""

    tasks_: NDArray[Any]
    workers_: NDArray[Any]
    classes_: NDArray[Any]
    probas_: NDArray[np.float64]
    labels_: NDArray[Any]
    _answers: Any
    _once: ClassVar[dict[str, Any]] = {"_named": {}}  # version 0.1 kept no names of columns

    def _read_answers(self, data: Any, named: dict[str, Any], n_classes: int | None = None) -> Any:
        """Answers in memory, or partitioned; what their columns are called is kept for answers that come later."""
        given = {name: value for name, value in named.items() if value}
        options: dict[str, Any] = {"missing": self.missing, "n_classes": n_classes}
        if is_lazy_data(data):
            wrong = [name for name in ("wide", "format", "field") if name in given]
            if wrong:
                what = f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} for answers in memory."
                raise InputError(what, "Leave it out for partitioned answers, or give one file.")
            answers: Any = read_lazy(data, **options, **given)
        else:
            answers = read_answers(data, **options, **given)
        self._named = {name: value for name, value in given.items() if name not in ("format", "field")}
        return answers

    def _set_result(self, answers: Answers | LazyAnswers, posteriors: Any) -> None:
        self.tasks_, self.workers_, self.classes_ = answers.tasks, answers.workers, answers.classes
        self._answers = answers
        self._set_probas(posteriors)

    def _set_probas(self, posteriors: Any) -> None:
        self.probas_, self.labels_ = posteriors, self._answers.labels(posteriors)

    def _set_closed_form(self, answers: Answers | LazyAnswers) -> None:
        self.n_iter_, self.converged_, self.stop_reason_ = 0, True, "closed_form"
        self.history_: list[dict[str, float]] = []
        self.resolved_: dict[str, Any] = {"columns": answers.columns}

    def fit_predict(self, data: Any, y: None = None, **options: Any) -> NDArray[Any]:
        """Fit, and return the label of each task in the order of ``tasks_``; ``options`` are those of ``fit``."""
        return self.fit(data, y, **options).labels_

    def result(self, *, probabilities: bool = False) -> Any:
        """Table by task: label, confidence (its probability), entropy (in bits) and number of answers.

        A pandas table; after a fit to partitioned answers, a Dask dataframe whose rows are in another order. With
        ``probabilities``, for answers in memory, also a column ``probability_<class>`` for each class.
        """
        check_is_fitted(self)
        return self._with_probabilities(self._answers.result(self.probas_), probabilities)

    def _with_probabilities(self, table: Any, wanted: bool) -> Any:
        if not wanted:
            return table
        if isinstance(self._answers, LazyAnswers):
            raise InputError(
                "Probabilities of each class are for answers in memory.", "Use predict_proba for partitioned answers."
            )
        more = {f"probability_{name}": self.probas_[:, k] for k, name in enumerate(self.classes_.tolist())}
        return table.assign(**more)

    def worker_report(self) -> pd.DataFrame:
        """Table by worker: answers given, and agreement, the expected share of them that are right.

        Right is judged by ``probas_``, to which the worker's own answers contributed.
        """
        check_is_fitted(self)
        given = self._answers.given
        with np.errstate(invalid="ignore"):
            agreement = self._answers.matrix().total(_expected_right, along=(self.probas_,)) / given
        return pd.DataFrame({"worker": self.workers_, "answers": given, "agreement": agreement})

    def plot_labels(self) -> Any:
        """Chart of how often each label was found, as in the report.

        .. versionadded:: 0.2
        """
        return plot(self, "labels")

    def plot_confidence(self) -> Any:
        """Chart of the confidence of the labels.

        .. versionadded:: 0.2
        """
        return plot(self, "confidence")

    def plot_workers(self) -> Any:
        """Chart of the accuracy of each worker, with intervals.

        .. versionadded:: 0.2
        """
        return plot(self, "workers")

    def plot_agreement(self) -> Any:
        """Chart of pairs of workers who agree more, or less, than the model expects.

        .. versionadded:: 0.2
        """
        return plot(self, "agreement")

    def _answer_score(self, data: Any, priors: Any, confusions: Any) -> float:
        """Log-probability of answers in nats per answer; ``priors`` are those of tasks that are not in the fit."""
        answers = read_more(data, self.classes_, missing=self.missing, names=self._named)
        place = pd.Index(self.tasks_).get_indexer(pd.Index(answers.tasks))
        known = (place >= 0) & ("task" in answers.columns)  # the tasks of a matrix are numbers that mean nothing
        shares = np.where(known[:, None], self.probas_[place], priors)
        expected = np.concatenate([confusions, confusions.mean(axis=0, keepdims=True)])
        worker = pd.Index(self.workers_).get_indexer(pd.Index(answers.workers))[answers.worker]  # -1 is the mean
        likelihoods = np.log(np.maximum(shares, LEAST_PROBABILITY))
        np.add.at(likelihoods, answers.task, np.log(np.maximum(expected[worker, answers.label], LEAST_PROBABILITY)))
        return float(logsumexp(likelihoods, axis=1).sum() / len(answers))

    def _findings(self) -> list[Finding]:
        """What could be wrong, the worst first."""
        return []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _expected_right(rows: Any, probas: Any) -> Any:
    """Expected number of right answers by each worker, whatever the answers weigh."""
    return np.einsum("mkk->m", expected_sums(with_entries(rows, np.ones(rows.nnz)), probas).counts)


def refuse_weights(estimator: Aggregator, answers: Answers) -> None:
    """Refuse weighted answers for an aggregator that counts all alike."""
    if answers.weight is not None:
        raise InputError(
            f"{type(estimator).__name__} counts all answers alike.", "Use DawidSkene or MajorityVote for weights."
        )


class ClosedForm(Aggregator):
    """An aggregator without iterations: answers to posteriors in one function."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {"missing": "no_validation"}
    _takes_weights = False
    _takes_partitions = False

    def __init__(self, *, missing: Any = "auto") -> None:
        self.missing = missing

    def _posteriors(self, answers: Any) -> Any:
        raise TypeError(f"{type(self).__name__} is abstract; use a subclass.")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        data: Any,
        y: None = None,
        *,
        task: str | Sequence[str] | None = None,
        worker: str | None = None,
        label: str | None = None,
        wide: bool = False,
        format: str | None = None,  # noqa: A002
        field: str | None = None,
    ) -> Self:
        """Aggregate.

        Parameters
        ----------
        data : table, path or matrix
            Whatever :func:`rectifact.crowd.read_answers` takes.
        y : None
            Ignored.
        task, worker, label : str, default None
            Names of the columns, where they do not have usual names.

            .. versionadded:: 0.2
        wide : bool, default False
            Whether a table has one column per worker.

            .. versionadded:: 0.2
        format, field : str, default None
            What a file holds, and which question to read, as in :func:`rectifact.crowd.read_answers`.

            .. versionadded:: 0.2

        Returns
        -------
        self
        """
        if is_lazy_data(data) and not self._takes_partitions:
            refuse_source(data)
        named = {"task": task, "worker": worker, "label": label, "wide": wide, "format": format, "field": field}
        answers = self._read_answers(data, named)
        if not self._takes_weights:
            refuse_weights(self, answers)
        self._set_result(answers, self._posteriors(answers))
        self._set_closed_form(answers)
        return self
