"""Label aggregation with scikit-learn's manners."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rectifact.core.monitor import Callback, monitor_of, set_fit_report
from rectifact.core.validation import InputError, Interval, StrOptions, fit_context
from rectifact.crowd.em import CrowdModel, e_step, em, m_step, vote_shares
from rectifact.crowd.labels import Answers, read_answers, with_classes

__all__ = ["DawidSkene", "MajorityVote"]


MOST_CELLS = 1 << 29
"""Cells of all confusion matrices together, 4 GiB; far more than any set of answers can fill."""


def _check_size(n_workers: int, n_classes: int) -> None:
    if n_workers * n_classes**2 > MOST_CELLS:
        raise InputError(
            f"{n_classes} classes for each of {n_workers} workers are too many to learn. Merge rare labels, for "
            "example into 'other', or use MajorityVote."
        )


class _Aggregator(BaseEstimator):
    """What all aggregators have: answers in, posteriors and labels out."""

    def _set_result(self, answers: Answers, posteriors: NDArray[np.float64]) -> None:
        self.tasks_, self.workers_, self.classes_ = answers.tasks, answers.workers, answers.classes
        self.probas_ = posteriors
        self.labels_ = answers.classes[posteriors.argmax(axis=1)]
        self._answers = answers

    def result(self) -> pd.DataFrame:
        """Table by task: label, confidence (its probability), entropy (in bits) and number of answers."""
        check_is_fitted(self)
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

        Right is judged by the posteriors, to which the worker's own answers contributed.
        """
        check_is_fitted(self)
        answers = self._answers
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


class MajorityVote(_Aggregator):
    """The class that most annotators chose.

    ``probas_`` holds the shares of the votes. In ``labels_`` a tie goes to the class that comes first in
    ``classes_``; :func:`rectifact.metrics.expected_error` counts ties by their share instead.

    Parameters
    ----------
    missing : what stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`

    Attributes
    ----------
    labels_, probas_ : arrays in the order of ``tasks_``; columns of ``probas_`` in the order of ``classes_``
    tasks_, workers_, classes_ : arrays
    n_iter_, converged_, stop_reason_, history_, resolved_ : how the fit went; a vote needs no iterations

    Examples
    --------
    >>> import pandas as pd
    >>> answers = pd.DataFrame({"task": ["a", "a", "a", "b"], "worker": [1, 2, 3, 1], "label": list("xyxy")})
    >>> MajorityVote().fit(answers).labels_.tolist()
    ['x', 'y']
    """

    _parameter_constraints: dict[str, Any] = {"missing": "no_validation"}

    def __init__(self, *, missing: Any = "auto") -> None:
        self.missing = missing

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, data: Any, y: None = None) -> Self:
        """Count the votes; ``data`` is whatever :func:`rectifact.crowd.read_answers` takes."""
        answers = read_answers(data, missing=self.missing)
        self._set_result(answers, vote_shares(answers.votes()))
        self.n_iter_, self.converged_, self.stop_reason_ = 0, True, "closed_form"
        self.history_: list[dict[str, float]] = []
        self.resolved_ = {"columns": answers.columns}
        return self


class DawidSkene(_Aggregator):
    """True labels and a confusion matrix for every annotator, by the model of Dawid and Skene (1979).

    Each task has one true class, drawn from ``priors_``. Given it, annotators answer independently, each by
    a confusion matrix of his own: ``confusions_[m, k, c]`` is the probability that worker m answers class k
    where class c is true.

    Parameters
    ----------
    identify : where the model comes from first: ``"majority"``, the shares of the votes
    refine : ``"em"`` climbs the likelihood from there, None does not
    model : ``"full"``, one confusion matrix per annotator
    n_classes : number of classes where nobody chose some of them; only for labels that are whole numbers,
        else name them with ``read_answers(data, classes=[...])``
    smoothing : pseudo-count added to each cell of each confusion matrix; 0 is maximum likelihood
    missing : what stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`
    max_iter, tol : EM stops when the penalised log-likelihood changes by less than ``tol`` times its first value
    random_state : accepted by all estimators; nothing is drawn at random here yet
    verbose : whether to log progress (``logging.basicConfig(level="INFO")`` shows it)
    callbacks : called with each row of the history; a true value stops EM

    Attributes
    ----------
    labels_, probas_ : arrays in the order of ``tasks_``; columns of ``probas_`` in the order of ``classes_``.
        A tie goes to the class that comes first in ``classes_``.
    priors_ : array (n_classes,)
    confusions_ : array (n_workers, n_classes observed, n_classes true)
    log_likelihood_ : of all answers, in nats
    tasks_, workers_, classes_ : arrays
    n_iter_, converged_, stop_reason_, history_, resolved_ : how the fit went

    Examples
    --------
    >>> from rectifact.datasets import load_crowd
    >>> model = DawidSkene(smoothing=0).fit(load_crowd("anaesthetists").answers)
    >>> model.priors_.round(2)
    array([0.4 , 0.42, 0.11, 0.07])
    """

    _parameter_constraints: dict[str, Any] = {
        "identify": [StrOptions({"majority"})],
        "refine": [StrOptions({"em"}), None],
        "model": [StrOptions({"full"})],
        "n_classes": [Interval(Integral, 2, None, closed="left"), None],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "missing": "no_validation",
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callbacks": ["array-like", None],
    }

    def __init__(
        self,
        identify: Literal["majority"] = "majority",
        refine: Literal["em"] | None = "em",
        model: Literal["full"] = "full",
        n_classes: int | None = None,
        smoothing: float = 0.1,
        *,
        missing: Any = "auto",
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.identify = identify
        self.refine = refine
        self.model = model
        self.n_classes = n_classes
        self.smoothing = smoothing
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, data: Any, y: None = None) -> Self:
        """Fit the model; ``data`` is whatever :func:`rectifact.crowd.read_answers` takes."""
        answers = with_classes(read_answers(data, missing=self.missing), self.n_classes)
        _check_size(len(answers.workers), len(answers.classes))
        B, start = answers.one_hot(), vote_shares(answers.votes())
        monitor = monitor_of(self, monotone=True)
        if self.refine == "em":
            fitted = em(B, start, smoothing=self.smoothing, monitor=monitor)
        else:
            priors, confusions = m_step(B, start, self.smoothing)
            posteriors, evidence = e_step(B, priors, confusions)
            fitted = CrowdModel(priors, confusions, posteriors, float(evidence.sum()))
            monitor.stop_reason = "not_refined"
        self._set_result(answers, fitted.posteriors)
        self.priors_, self.confusions_ = fitted.priors, fitted.confusions
        self.log_likelihood_ = fitted.log_likelihood
        self.resolved_ = {"identify": self.identify, "columns": answers.columns}
        set_fit_report(self, monitor)
        return self

    def worker_report(self) -> pd.DataFrame:
        """Table by worker: answers given, agreement with the posteriors, and accuracy under the model.

        Accuracy is the probability that the worker answers a new task right: the diagonal of the confusion
        matrix averaged by the class priors.
        """
        report = super().worker_report()
        report["accuracy"] = np.einsum("mkk,k->m", self.confusions_, self.priors_)
        return report
