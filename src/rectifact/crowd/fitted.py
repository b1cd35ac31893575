"""What a fitted crowd model does with answers: judge new tasks, score left-out answers, and take in more of them."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.core.threads import small_loop
from rectifact.crowd.advice.calibration import tempered
from rectifact.crowd.base import Aggregator
from rectifact.crowd.data.answers import Answers, merge_answers
from rectifact.crowd.data.partitions import LazyAnswers, is_lazy_data, merge_lazy, read_more_lazy
from rectifact.crowd.data.read import read_more
from rectifact.crowd.data.workers import one_name_each
from rectifact.crowd.dependence import same_source
from rectifact.crowd.em import CrowdModel, judged, log_likelihood
from rectifact.crowd.fitting import Fitting, Problem

MOST_CONFUSION_CELLS = 1 << 27
"""Cells of all confusion matrices together: 1 GiB, and a fit holds about five such arrays."""

UPDATE_ITERATIONS = 5
"""Rounds over the tasks that got new answers."""


class FittedModel(Aggregator):
    """A confusion matrix for every worker, and what follows from it."""

    model: str
    smoothing: float
    refine: str | None
    missing: Any
    ordinal: bool
    tol: float
    resolved_: dict[str, Any]
    _gold: Any
    _model: CrowdModel
    _fitting: Fitting

    def result(self, *, probabilities: bool = False) -> Any:
        """Table by task: label, confidence (its probability), entropy (in bits) and number of answers.

        With ``ordinal`` also ``expected``, the expected grade, and ``low`` and ``high``, the ends of a 90 % interval. A
        pandas table; after a fit to partitioned answers, a Dask dataframe whose rows are in another order. With
        ``probabilities``, for answers in memory, also a column ``probability_<class>`` for each class.
        """
        check_is_fitted(self)
        return self._with_probabilities(self._answers.result(self.probas_, self.ordinal), probabilities)

    def _set_probas(self, posteriors: Any) -> None:
        self.probas_, self.labels_ = posteriors, self._answers.labels(posteriors, self.ordinal)
        if self.ordinal:
            self.expected_grades_, self.grade_intervals_ = self._answers.grades(posteriors)
        else:
            for name in ("expected_grades_", "grade_intervals_"):  # of an earlier fit
                self.__dict__.pop(name, None)

    def _set_model(self, answers: Answers | LazyAnswers, fitted: CrowdModel) -> None:
        for name in ("temperature_", "calibration_"):  # of an earlier calibration
            self.__dict__.pop(name, None)
        self._model = fitted
        self._set_result(answers, fitted.posteriors)
        self.priors_, self.confusions_ = fitted.priors, fitted.confusions
        self.log_likelihood_ = fitted.log_likelihood
        worth = self._fitting.independent(len(answers.workers)) * answers.given
        self.n_effective_ = float(worth.sum() / len(self.tasks_))

    def _decisions(self, answers: Any, fitting: Fitting) -> dict[str, Any]:
        if fitting.model != "auto" or fitting.families is None:
            return {}
        names = [answers.workers[fitting.families == number] for number in np.unique(fitting.families) if number >= 0]
        return {
            "dispersion": fitting.dispersion,
            "subtypes": fitting.n_subtypes,
            "retreat": fitting.vote_share,
            "prior_matrix": fitting.strength.matrix,
            "prior_accuracy": fitting.strength.accuracy,
            "families": [members.tolist() for members in names],
        }

    def _kin(self, n_workers: int) -> NDArray[np.int64]:
        """Number of a worker, or of the family in which one tells the same as the other."""
        families = self._fitting.families
        if families is None:
            return np.arange(n_workers)
        return same_source(families, self._fitting.shares(len(families)), n_workers)

    def _few_threads(self, answers: Any) -> Any:
        """Products with the answers of a small crowd are small: threads would wait for each other."""
        return nullcontext() if isinstance(answers, LazyAnswers) else small_loop(len(answers) * len(answers.classes))

    def _problem(self, answers: Any, device: str = "cpu") -> Problem:
        known = answers.known(self._gold)
        return Problem(answers.matrix(), answers.shares(known), known, device)

    def _in_memory(self, what: str) -> Answers:
        """The answers, unless they are partitioned, so that ``what`` is not available."""
        check_is_fitted(self)
        if isinstance(self._answers, LazyAnswers):
            raise InputError(f"{what} needs all answers in memory.", "Fit a sample of the tasks in a table for it.")
        return self._answers

    def predict_proba(self, data: Any) -> Any:
        """Class probabilities of new tasks answered by known workers, in order of the tasks' appearance.

        For partitioned answers a Dask dataframe, with a column for each class and the tasks as its index.
        """
        answers, probas = self._predict(data)
        return answers.by_task(probas)

    def predict(self, data: Any) -> Any:
        """Labels of new tasks answered by known workers, in order of the tasks' appearance.

        For partitioned answers a Dask series with the tasks as its index.
        """
        answers, probas = self._predict(data)
        return answers.by_task(answers.labels(probas, self.ordinal))

    def _predict(self, data: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        answers: Any
        if is_lazy_data(data):
            answers = read_more_lazy(data, self, new=False)
        else:
            options: dict[str, Any] = {"missing": self.missing, "names": self._named}
            answers = read_more(data, self.classes_, workers=self.workers_, **options)
        kept: dict[str, Any] = {"columns": len(self.classes_), "dtype": np.float64}
        return answers, answers.matrix().map_rows(predicted, self._calibrated, *self._model.judging, **kept)

    @property
    def _calibrated(self) -> Any:
        """The map from the model's probabilities to calibrated ones, None if they are not calibrated."""
        if hasattr(self, "calibration_"):
            return self.calibration_.map
        return partial(tempered, power=self.temperature_) if hasattr(self, "temperature_") else None

    def score(self, data: Any, y: None = None) -> float:
        """Log-probability of answers that were left out, in nats per answer; higher is better.

        Answers to a task of the fit are expected by its probabilities, and those to other tasks by the shares of the
        classes; workers who are not known are taken to be like the others on average. Unlike the likelihood of the
        fit, it does not favour models with more parameters: ``GridSearchCV`` can choose between settings by it.

        .. versionadded:: 0.2

        Parameters
        ----------
        data : table, path or matrix
            Further answers, with the columns of those of the fit; those of a matrix are to other tasks.
        y : None
            Ignored.

        Examples
        --------
        >>> from rectifact import DawidSkene
        >>> from rectifact.datasets import make_crowd
        >>> answers = make_crowd(200, 8, 3, labels_per_task=5).answers.sample(frac=1, random_state=0)
        >>> bool(DawidSkene().fit(answers[:800]).score(answers[800:]) > -1.1)  # a guess would be log(1 / 3)
        True
        """
        self._in_memory("score()")
        return self._answer_score(data, self.priors_, self.confusions_)

    def partial_fit(self, data: Any, y: None = None) -> Self:
        """Take in more answers, to old or new tasks, by old or new workers, for a fraction of a fit's cost.

        The tasks that got answers are judged again, with what the others have taught held fixed. The start, the
        trust in the answers and the classes stay as they were; ``fit`` all answers again now and then, and
        ``calibrate`` again if you had.
        """
        if not hasattr(self, "_model"):
            return self.fit(data)
        answers, touched = self._merged(data)
        check_size(len(answers.workers), len(answers.classes))
        problem = self._problem(answers)  # a task of known class may have come in
        self._fitting = replace(self._fitting, n_answers=float(answers.given.sum()), foretold=np.inf)
        part, before = problem.where(touched), self._model.posteriors
        background = self._fitting.background(problem, self._model, without=touched)
        monitor = Monitor(max_iter=UPDATE_ITERATIONS, tol=self.tol)
        with self._few_threads(answers):
            local = self._fitting.run(part, self._fitting.start(part), monitor=monitor, background=background)
        (posteriors,) = problem.B.keep(_replaced(problem, touched, before, local.posteriors))
        likelihood = log_likelihood(problem.B, local.priors, local.confusions, problem.known)
        model = replace(local, posteriors=posteriors, log_likelihood=likelihood)
        self._fitting = self._fitting.knowing(problem, model)
        self._set_model(answers, self._fitting.trusted(problem, model) if self._fitting.leaning else model)
        return self

    def _merged(self, data: Any) -> tuple[Any, Any]:
        """All answers, and which tasks got some of the new ones."""
        old = self._answers
        if isinstance(old, LazyAnswers):
            return merge_lazy(old, read_more_lazy(data, self, new=True, n_partitions=old.partitions.numblocks[0]))
        more = read_more(data, self.classes_, missing=self.missing, names=self._named)
        merged, touched = merge_answers(old, more)
        return one_name_each(merged), touched  # old workers keep their places: they are the first


def predicted(rows: Any, calibrated: Any, *judging: Any) -> Any:
    """Posteriors of some rows of the answers, calibrated if there is a map for it."""
    posteriors = judged(rows, None, *judging)
    return posteriors if calibrated is None else calibrated(posteriors)


def _replaced(problem: Problem, touched: Any, before: Any, after: Any) -> Any:
    """Posteriors of all tasks: those ``touched`` have new ones, and the others, which were there, their old ones."""
    return problem.B.map_rows(_with_new_rows, along=(touched, before, after), columns=before.shape[1], dtype=np.float64)


def _with_new_rows(rows: Any, touched: Any, before: Any, after: Any) -> Any:
    posteriors = np.empty((len(touched), before.shape[1]))
    posteriors[touched] = after
    posteriors[~touched] = before[~touched[: len(before)]]
    return posteriors


def check_size(n_workers: int, n_classes: int) -> None:
    """Refuse confusion matrices that would not fit into memory."""
    if n_workers * n_classes**2 > MOST_CONFUSION_CELLS:
        raise InputError(
            f"{n_classes} classes for each of {n_workers} workers are too many to learn.",
            "Merge rare labels, for example into 'other', or use MajorityVote.",
        )
