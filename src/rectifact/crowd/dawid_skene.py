"""Dawid-Skene with scikit-learn's manners."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import InputError
from rectifact.core.monitor import Callback, Monitor, monitor_of, set_fit_report
from rectifact.core.validation import (
    RUN_CONSTRAINTS,
    Interval,
    StrOptions,
    check_at_least,
    check_generator,
    fit_context,
)
from rectifact.crowd.advice.calibration import temperature, tempered
from rectifact.crowd.advice.diagnosis import diagnose
from rectifact.crowd.advice.planning import plan_labels, plan_pairs
from rectifact.crowd.advice.workers import worker_table
from rectifact.crowd.base import Aggregator
from rectifact.crowd.blocks import BlockPosteriors
from rectifact.crowd.data.answers import Answers, merge_answers, with_classes
from rectifact.crowd.data.partitions import LazyAnswers, is_lazy_data, likeliest, merge_lazy, read_lazy, read_more_lazy
from rectifact.crowd.data.read import Gold, match_gold, read_answers, read_gold, read_more
from rectifact.crowd.device import check_device
from rectifact.crowd.em import CrowdModel, e_step, log_e_step, vote_shares
from rectifact.crowd.fitting import Fitting, Problem, best_start, unrefined
from rectifact.crowd.starts import METHODS, Start, identify
from rectifact.crowd.variational import dispersion
from rectifact.io.checkpoint import open_checkpoint

__all__ = ["DawidSkene"]

MOST_CONFUSION_CELLS = 1 << 27
"""Cells of all confusion matrices together, 1 GiB, of which a fit holds about five."""

UPDATE_ITERATIONS = 5
"""Rounds over the tasks that got new answers."""


class DawidSkene(Aggregator):
    """True labels and a confusion matrix for every annotator, by the model of Dawid and Skene (1979).

    Each task has one true class, drawn from ``priors_``. Given it, annotators answer independently, each by
    a confusion matrix of his own: ``confusions_[m, k, c]`` is the probability that worker m answers class k
    where class c is true.

    Parameters
    ----------
    identify : where the fit begins.

        - ``"majority"``: the shares of the votes;
        - ``"robust"``, ``"designated"``: co-occurrences of workers, imputed and rotated to the non-negative orthant
          (Ibrahim and Fu 2021); ``"none-imputed"``: the same without imputation;
        - ``"multispa"``, ``"cnmf"``, ``"spectral"``: other moment methods, for comparison;
        - ``"auto"``: from the majority and from ``"robust"``, and the better objective is kept.
    refine : ``"em"`` climbs the likelihood from there, None does not
    model : ``"full"``, one confusion matrix per annotator, by EM; ``"one-coin"``, one accuracy per annotator, by EM;
        ``"auto"``, a confusion matrix per annotator by variational Bayes, which also measures whether answers
        to one task are independent, and leans on the vote as far as they are not (``resolved_`` says how far)
    n_classes : number of classes where nobody chose some of them; only for labels that are whole numbers,
        else name them with ``read_answers(data, classes=[...])``
    smoothing : pseudo-count added to each cell of each confusion matrix; 0 is maximum likelihood. Not used by
        ``model="auto"``, which has a prior of its own.
    pair_weights : in robust imputation, whether pairs of workers weigh by the ``"count"`` of answers behind them,
        or all the same (``"equal"``), as published
    missing : what stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`
    device : where the fit runs, ``"cpu"`` or ``"cuda"``, there in single precision: answers are coded on the host and
        copied once, results come back to the host
    max_iter, tol : stop when the objective changes by less than ``tol`` times its first value
    random_state : for ``identify="spectral"``; everything else is deterministic
    verbose : whether to log progress (``logging.basicConfig(level="INFO")`` shows it)
    callbacks : called with each row of the history; a true value stops the run
    checkpoint : folder in which ``fit`` saves its state while it runs, made where it is missing; None saves nothing
    resume : whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins

    Attributes
    ----------
    labels_, probas_ : arrays in the order of ``tasks_``; columns of ``probas_`` in the order of ``classes_``.
        A tie goes to the class that comes first in ``classes_``.
    priors_ : array (n_classes,)
    confusions_ : array (n_workers, n_classes observed, n_classes true)
    log_likelihood_ : of all answers, in nats
    tasks_, workers_, classes_ : arrays
    n_iter_, converged_, stop_reason_, history_ : how the fit went
    resolved_ : what was chosen: ``identify`` and the ``objectives`` of the starts, the ``columns`` read, and with
        ``model="auto"`` the ``dispersion`` of the answers and the ``trust`` that follows

    Examples
    --------
    >>> from rectifact.datasets import load_crowd
    >>> model = DawidSkene("majority", model="full", smoothing=0).fit(load_crowd("anaesthetists").answers)
    >>> model.priors_.round(2)
    array([0.4 , 0.42, 0.11, 0.07])
    """

    _parameter_constraints: dict[str, Any] = {
        "identify": [StrOptions({"auto", *METHODS})],
        "refine": [StrOptions({"em"}), None],
        "model": [StrOptions({"auto", "full", "one-coin"})],
        "n_classes": [Interval(Integral, 2, None, closed="left"), None],
        "smoothing": [Interval(Real, 0, 1e9, closed="left")],
        "pair_weights": [StrOptions({"count", "equal"})],
        "missing": "no_validation",
        "device": [str],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        identify: str = "auto",
        refine: Literal["em"] | None = "em",
        model: Literal["auto", "full", "one-coin"] = "auto",
        n_classes: int | None = None,
        smoothing: float = 0.1,
        *,
        pair_weights: Literal["count", "equal"] = "count",
        missing: Any = "auto",
        device: str = "cpu",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.identify = identify
        self.refine = refine
        self.model = model
        self.n_classes = n_classes
        self.smoothing = smoothing
        self.pair_weights = pair_weights
        self.missing = missing
        self.device = device
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.resume = resume

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, data: Any, y: None = None, *, gold: Any = None, weights: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        data : whatever :func:`rectifact.crowd.read_answers` takes; or answers in parts, fitted with dask where they
            lie: a dask dataframe with one answer per row, a folder of Parquet files, or a list of such files. What is
            known by task, ``tasks_``, ``labels_``, ``probas_`` and ``result()``, then stays with dask.
        y : ignored
        gold : labels that are certain: a dict or Series by task, a table or file with task and label, whose columns
            are called like those of the answers, or by a usual name; the label also ``truth`` or ``gold``
        weights : array (n_answers,), how much each answer counts, in the order of a table's rows that have a label
        """
        check_device(self.device)
        answers = self._read(data)
        if weights is not None:
            answers = answers.weighted(weights)
        _check_size(len(answers.workers), len(answers.classes))
        self._gold = None if gold is None else read_gold(gold, answers.columns)
        if isinstance(answers, LazyAnswers):
            answers = answers.with_gold(self._gold)
        problem = replace(_problem(answers, self._gold), device=self.device)
        fitting, resolved = Fitting(self.model, self.smoothing), {"columns": answers.columns}
        checkpoint = open_checkpoint(self, *answers.codes, *(self._gold or ()))
        starts, monitor = self._starts(problem), monitor_of(self, monotone=True, checkpoint=checkpoint)
        if self.refine is None:
            monitor.stop_reason = "not_refined"
            models = {method: unrefined(problem, start, self.smoothing) for method, start in starts.items()}
            best = max(models, key=lambda method: models[method].objective)
            start, fitted = starts[best], models[best]
        else:
            start = next(iter(starts.values()))
            if len(starts) > 1 or self.model == "auto":
                start, fitting, measured = best_start(
                    problem, fitting, starts, max_iter=self.max_iter, tol=self.tol, checkpoint=checkpoint
                )
                resolved |= measured
            fitted = fitting.run(problem, start.posteriors, monitor=monitor)
        self._fitting, self.resolved_ = fitting, resolved | {"identify": start.method}
        self._set_model(answers, fitted)
        set_fit_report(self, monitor)
        return self

    def _read(self, data: Any) -> Any:
        """Answers in memory, or in blocks."""
        if not is_lazy_data(data):
            return with_classes(read_answers(data, missing=self.missing), self.n_classes)
        if self.device != "cpu":
            raise InputError(
                f"device={self.device!r} is for answers in memory; those in parts are fitted on device='cpu'."
            )
        if self.identify == "spectral":
            raise InputError("identify='spectral' is for answers in memory; use 'auto', which takes them in parts too.")
        return read_lazy(data, missing=self.missing, n_classes=self.n_classes)

    def _starts(self, problem: Problem) -> dict[str, Start]:
        """Every start that ``identify`` asks for, by the method that was used in the end."""
        rng, by_count, auto = check_generator(self.random_state), self.pair_weights == "count", self.identify == "auto"
        starts = [
            identify(name, problem.B, problem.votes, gold=problem.gold, weigh_by_count=by_count, lean=auto, rng=rng)
            for name in (("majority", "robust") if auto else (self.identify,))
        ]
        return {start.method: start for start in starts}

    def _set_model(self, answers: Answers | LazyAnswers, fitted: CrowdModel) -> None:
        self.__dict__.pop("temperature_", None)  # of an earlier calibration
        self._model = fitted
        self._set_result(answers, fitted.posteriors)
        self.priors_, self.confusions_ = fitted.priors, fitted.confusions
        self.log_likelihood_ = fitted.log_likelihood

    def predict_proba(self, data: Any) -> Any:
        """Class probabilities of new tasks answered by known workers, in order of the tasks' appearance.

        Of answers in parts a dask dataframe, with a column for each class and the tasks as its index.
        """
        check_is_fitted(self)
        if is_lazy_data(data):
            known = {"missing": self.missing, "workers": self.workers_}
            lazy = read_more_lazy(data, self.classes_, **known, new=False)
            rule = self._model.log_priors, self._model.log_confusions
            return lazy.predictions(BlockPosteriors(lazy.B, (rule,)), getattr(self, "temperature_", None))
        answers = read_more(data, self.classes_, missing=self.missing, workers=self.workers_)
        posteriors, _ = log_e_step(answers.one_hot(), self._model.log_priors, self._model.log_confusions)
        return tempered(posteriors, self.temperature_) if hasattr(self, "temperature_") else posteriors

    def predict(self, data: Any) -> Any:
        """Labels of new tasks answered by known workers, in order of the tasks' appearance.

        Of answers in parts a dask series with the tasks as its index.
        """
        probas = self.predict_proba(data)
        if is_lazy_data(data):
            return likeliest(probas, self.classes_)
        return self.classes_[probas.argmax(axis=1)]

    def partial_fit(self, data: Any, y: None = None) -> Self:
        """Take in more answers, to old or new tasks, by old or new workers, for a fraction of a fit's cost.

        The tasks that got answers are judged anew, with what the others have taught held fixed. The start, the
        trust in the answers and the classes stay as they were; ``fit`` all answers again now and then, and
        ``calibrate`` again if you had.
        """
        if not hasattr(self, "_model"):
            return self.fit(data)
        if isinstance(self._answers, LazyAnswers):
            return self._partial_fit_lazy(self._answers, data)
        more = read_more(data, self.classes_, missing=self.missing)
        answers, touched = merge_answers(self._answers, more)
        _check_size(len(answers.workers), len(answers.classes))
        problem = _problem(answers, self._gold)  # a task of known class may have come in
        posteriors = np.concatenate([self._model.posteriors, problem.votes[len(self.tasks_) :]])
        background = self._fitting.background(problem, posteriors, without=touched)
        part, monitor = problem.of_tasks(touched), Monitor(max_iter=UPDATE_ITERATIONS, tol=self.tol)
        local = self._fitting.run(part, part.votes, monitor=monitor, background=background)
        posteriors[touched] = local.posteriors
        _, likelihood = e_step(problem.B, local.priors, local.confusions, problem.gold)
        self._set_model(answers, replace(local, posteriors=posteriors, log_likelihood=likelihood))
        return self

    def _partial_fit_lazy(self, old: LazyAnswers, data: Any) -> Self:
        """The same with answers in blocks: old tasks keep the rule that judged them, touched ones get a new one."""
        known = {"missing": self.missing, "workers": self.workers_}
        more = read_more_lazy(data, self.classes_, **known, new=True, n_blocks=len(old.B.blocks))
        _check_size(len(more.workers), len(self.classes_))
        rules = self._model.posteriors.rules
        answers = merge_lazy(old, more, len(rules)).with_gold(self._gold)
        background = BlockPosteriors(answers.B, rules).background(self._fitting.trust)
        part, monitor = _problem(answers.touched(), None), Monitor(max_iter=UPDATE_ITERATIONS, tol=self.tol)
        local = self._fitting.run(part, part.votes, monitor=monitor, background=background)
        _, likelihood = e_step(answers.B, local.priors, local.confusions)
        posteriors = BlockPosteriors(answers.B, (*rules, *local.posteriors.rules))
        self._set_model(answers, replace(local, posteriors=posteriors, log_likelihood=likelihood))
        return self

    def _in_memory(self, what: str) -> Answers:
        """The answers, unless they are in blocks, where ``what`` cannot be had."""
        check_is_fitted(self)
        if isinstance(self._answers, LazyAnswers):
            raise InputError(f"{what} needs all answers in memory. Fit a sample of the tasks in a table for it.")
        return self._answers

    def worker_report(self) -> pd.DataFrame:
        """Table by worker.

        Returns
        -------
        DataFrame
            ``worker``, ``answers``; ``accuracy``, the probability of a right answer to a new task, with the
            bounds ``accuracy_low`` and ``accuracy_high`` of a 90 % interval from the posterior of the confusion
            matrix (given the labels found: their own doubt is not in it); ``information``, bits that one answer
            tells; ``spammer``, 1 if the answers do not depend on the class and 0 if they are always right;
            ``bias_<class>``, how much oftener the worker says the class than it is there.
        """
        check_is_fitted(self)
        answers = self._answers
        if isinstance(answers, LazyAnswers):
            return worker_table(self.workers_, self.classes_, answers.given, self._model)
        given = np.bincount(answers.worker, minlength=len(self.workers_)).astype(float)
        return worker_table(self.workers_, self.classes_, given, self._model)

    def next_labels(self, n: int = 10, *, goal: Literal["labels", "identify"] = "labels") -> pd.DataFrame:
        """What to label next.

        Parameters
        ----------
        n : rows wanted
        goal : ``"labels"``, the tasks where one more answer is expected to tell most, and whom to ask;
            ``"identify"``, pairs of workers who should answer the same tasks, so that the model can be identified
            from co-occurrences at all
        """
        self._in_memory("next_labels()")
        check_at_least(1, n=n)
        if goal == "labels":
            model = replace(self._model, posteriors=self.probas_)
            return plan_labels(self.tasks_, self.workers_, self._answered(), model, n)
        if goal == "identify":
            return plan_pairs(self.workers_, self._answered(), self._model, n)
        raise InputError(f"goal={goal!r} is unknown; choose 'labels' or 'identify'.")

    def diagnose(self) -> pd.DataFrame:
        """What could be wrong with the answers: a table of severity, finding, detail and remedy, worst first."""
        return diagnose(
            self._in_memory("diagnose()").one_hot(),
            self._answered(),
            (self.workers_, self.classes_),
            self._model,
            kind=self._fitting.model,
            calibrated=hasattr(self, "temperature_"),
        )

    def calibrate(self) -> Self:
        """Make ``probas_`` less sure where they are too sure, without any truth; labels stay the same.

        The power they are raised to, ``temperature_``, is the smaller of two: what predicts left-out answers
        best from the others' answers, and what the dependence of answers to one task calls for.
        """
        B = self._in_memory("calibrate()").one_hot()
        allowed = 1 / (max(dispersion(B, self._model), 1.0) * self._fitting.trust)
        self.temperature_ = min(temperature(B, self._model), allowed, 1.0)
        self._set_probas(tempered(self._model.posteriors, self.temperature_))
        return self


def _check_size(n_workers: int, n_classes: int) -> None:
    if n_workers * n_classes**2 > MOST_CONFUSION_CELLS:
        raise InputError(
            f"{n_classes} classes for each of {n_workers} workers are too many to learn. Merge rare labels, for "
            "example into 'other', or use MajorityVote."
        )


def _problem(answers: Answers | LazyAnswers, gold: Gold | None) -> Problem:
    if isinstance(answers, LazyAnswers):
        return Problem(answers.B, BlockPosteriors(answers.B), None)  # blocks know their gold labels
    known = None if gold is None else match_gold(gold, answers)
    return Problem(answers.one_hot(), vote_shares(answers.votes(), known), known)
