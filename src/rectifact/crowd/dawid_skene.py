"""The estimator DawidSkene: reads answers with ``data``, fits with ``starts`` and ``fitting``, reports with ``advice``.

The file has over 350 lines because more than a third of them document parameters, attributes and tables.
"""

import warnings
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import FitWarning, InputError, count
from rectifact.core.estimator import Iterative
from rectifact.core.findings import Finding, findings_table
from rectifact.core.monitor import Monitor, monitor_of, set_fit_report
from rectifact.core.plots import ConvergencePlot
from rectifact.core.threads import small_loop
from rectifact.core.validation import (
    RUN_CONSTRAINTS,
    Interval,
    StrOptions,
    check_at_least,
    check_generator,
    check_positive,
    fit_context,
)
from rectifact.crowd.advice.budget import Market, buy, candidates, expected_error, market_of
from rectifact.crowd.advice.calibration import temperature, tempered
from rectifact.crowd.advice.conditions import conditions
from rectifact.crowd.advice.diagnosis import diagnose, diagnose_workers
from rectifact.crowd.advice.foresight import Needed, foresee, needed, sample
from rectifact.crowd.advice.gold import LEAST_BY_CLASS, LEAST_GOLD, learn_from_gold, learn_grades
from rectifact.crowd.advice.held_out import HeldOut, held_out_answers, judged_unseen
from rectifact.crowd.advice.planning import plan_labels, plan_pairs
from rectifact.crowd.advice.workers import doubts, worker_table
from rectifact.crowd.base import Aggregator
from rectifact.crowd.data.answers import Answers, merge_answers
from rectifact.crowd.data.groups import group_numbers, read_groups
from rectifact.crowd.data.names import of_classes
from rectifact.crowd.data.partitions import LazyAnswers, is_lazy_data, merge_lazy, read_more_lazy
from rectifact.crowd.data.prices import can_be_asked, prices_of, read_costs
from rectifact.crowd.data.read import read_gold, read_more
from rectifact.crowd.dependence import design_effects, same_source
from rectifact.crowd.device import check_device
from rectifact.crowd.em import CrowdModel, judged, log_likelihood
from rectifact.crowd.fitting import TRIAL_TOL, Fitting, Problem, best_start, count_copies_once, decide, unrefined
from rectifact.crowd.starts import METHODS, Start, check_pairs, identify
from rectifact.io.checkpoint import open_checkpoint

MOST_CONFUSION_CELLS = 1 << 27
"""Cells of all confusion matrices together: 1 GiB, and a fit holds about five such arrays."""

UPDATE_ITERATIONS = 5
"""Rounds over the tasks that got new answers."""


@dataclass(eq=False, repr=False)
class DawidSkene(ConvergencePlot, Aggregator, Iterative):
    """True labels and a confusion matrix for every worker, by the model of Dawid and Skene (1979).

    Each task has one true class, drawn from ``priors_``. Given it, workers answer independently, each according to
    their own confusion matrix: ``confusions_[m, k, c]`` is the probability that worker m answers class k where class
    c is true.

    Parameters
    ----------
    identify : str, default "auto"
        Where the fit begins.

        - ``"majority"``: the shares of the votes;
        - ``"robust"``, ``"designated"``: co-occurrences of workers, imputed (equations 9-11 or 7-8 of Ibrahim and Fu
          2021) and rotated to the non-negative orthant; ``"none-imputed"``: the same without imputation;
        - ``"pair-free"``: as ``"robust"``, but by plain least squares, in time linear in the answers;
        - ``"multispa"``, ``"cnmf"``, ``"spectral"``: other moment methods, for comparison;
        - ``"auto"``: from ``"majority"`` and from ``"pair-free"``, and the better objective is kept.
    refine : {"em", None}, default "em"
        ``"em"`` climbs the likelihood from there, None does not.
    model : {"auto", "full", "one-coin"}, default "auto"
        ``"full"``, one confusion matrix per worker, by EM; ``"one-coin"``, one accuracy per worker, by EM;
        ``"auto"``, a confusion matrix per worker with priors that the whole crowd teaches, which also measures
        whether answers to one task are independent: where they are not, it counts copies of a worker once, lets each
        class have subtypes, weighs workers by their independence, and leans on the vote (``resolved_`` says how far).
    n_classes : int, default None
        Number of classes where nobody chose some of them; only for labels that are whole numbers,
        else name them with ``read_answers(data, classes=[...])``.
    smoothing : float, default 0.1
        Pseudo-count added to each cell of each confusion matrix; 0 is maximum likelihood. Not used by
        ``model="auto"``, which has a prior of its own.
    pair_weights : {"count", "equal"}, default "count"
        In robust imputation, whether pairs of workers weigh by the ``"count"`` of answers behind them,
        or all the same (``"equal"``), as published.
    designated : sequence, default None
        For ``identify="designated"``, the workers through whom the co-occurrences of others are imputed: two or more
        who share tasks with everybody. By default, all workers serve as far as they can.

        .. versionadded:: 0.2
    missing : any, default "auto"
        What stands for no answer in a matrix, see :func:`rectifact.crowd.read_answers`.
    device : str, default "cpu"
        Where the fit runs, ``"cpu"`` or ``"cuda"``, the latter in single precision: answers are coded on the host and
        copied once, results come back to the host.
    ordinal : bool, default False
        Whether the classes are grades in order, by number, or as ``read_answers(data, classes=[...])`` lists them.
        Workers are then expected to miss by little more often than by much, which is learnt from the whole crowd; the
        label is the median of the posterior, which has the least expected distance from the true grade; and there are
        the expected grade and an interval. Only for ``model="auto"`` with ``refine="em"``.

        .. versionadded:: 0.2
    max_iter : int, default 500
        Most iterations.
    tol : float, default 1e-6
        Stop when the objective changes by less than ``tol`` times its first value.
    random_state : int, Generator or None, default None
        For ``identify="spectral"``; everything else is deterministic.
    verbose : bool, default False
        Whether to log progress (``logging.basicConfig(level="INFO")`` shows it).
    callbacks : sequence of callables, default None
        Called with each row of the history; a true value stops the run.
    checkpoint : path, default None
        Folder in which ``fit`` saves its state while it runs; it is created if needed. None saves nothing.
    resume : bool, default False
        Whether to go on with the interrupted fit in that folder, of the same data and parameters; where there is
        none, the fit begins.

    Attributes
    ----------
    labels_ : array of shape (n_tasks,)
        In the order of ``tasks_``. A tie goes to the class that comes first in ``classes_``. With ``ordinal``, the
        median grade.
    probas_ : array of shape (n_tasks, n_classes)
        In the order of ``tasks_``, with columns in the order of ``classes_``.
    expected_grades_ : array of shape (n_tasks,)
        With ``ordinal``: the mean of the classes, weighted by ``probas_``. Classes that are not numbers, or not listed
        in order, count as 1, 2, 3 and so on.

        .. versionadded:: 0.2
    grade_intervals_ : array of shape (n_tasks, 2)
        With ``ordinal``: the lowest and the highest class of an interval that holds the true grade with a probability
        of at least 90 %, at most 5 % on either side.

        .. versionadded:: 0.2
    priors_ : array of shape (n_classes,)
    confusions_ : array of shape (n_workers, n_classes observed, n_classes true)
    log_likelihood_ : float
        Of all answers, in nats.
    tasks_, workers_, classes_ : array
    n_iter_ : int
    converged_ : bool
    stop_reason_ : str
    history_ : list of dict
    n_effective_ : float
        Number of independent answers that the answers to a task are worth, on average.

        .. versionadded:: 0.2
    resolved_ : dict
        What was chosen: ``identify`` and the ``objectives`` of the starts, and the ``columns`` read. With
        ``model="auto"`` also the ``dispersion`` of the answers, the number of ``subtypes`` of a class (1 or 2), the
        weight of the vote in the probabilities (``retreat``), the strength of the priors in answers
        (``prior_matrix``, ``prior_accuracy``), and the ``families`` of workers whose answers count once.

    Examples
    --------
    >>> from rectifact.datasets import load_crowd
    >>> model = DawidSkene("majority", model="full", smoothing=0).fit(load_crowd("anaesthetists").answers)
    >>> model.priors_.round(2)
    array([0.4 , 0.42, 0.11, 0.07])
    """

    identify: str = "auto"
    refine: Literal["em"] | None = "em"
    model: Literal["auto", "full", "one-coin"] = "auto"
    n_classes: int | None = None
    smoothing: float = 0.1
    _: KW_ONLY
    pair_weights: Literal["count", "equal"] = "count"
    designated: Any = None
    missing: Any = "auto"
    device: str = "cpu"
    ordinal: bool = False
    max_iter: int = 500
    tol: float = 1e-6

    _once: ClassVar[dict[str, Any]] = {**Aggregator._once, "ordinal": False, "designated": None}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "identify": [StrOptions({"auto", *METHODS})],
        "refine": [StrOptions({"em"}), None],
        "model": [StrOptions({"auto", "full", "one-coin"})],
        "n_classes": [Interval(Integral, 2, None, closed="left"), None],
        "smoothing": [Interval(Real, 0, 1e9, closed="left")],
        "pair_weights": [StrOptions({"count", "equal"})],
        "designated": ["array-like", None],
        "missing": "no_validation",
        "device": [str],
        "ordinal": ["boolean"],
        **RUN_CONSTRAINTS,
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        data: Any,
        y: None = None,
        *,
        gold: Any = None,
        weights: ArrayLike | None = None,
        groups: Any = None,
        task: str | None = None,
        worker: str | None = None,
        label: str | None = None,
        wide: bool = False,
        format: str | None = None,  # noqa: A002
        field: str | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        data : table, path, matrix or partitioned table
            Whatever :func:`rectifact.crowd.read_answers` takes; or partitioned answers, fitted with Dask where they
            are: a Dask dataframe with one answer per row, a folder of Parquet files, or a list of such files. What has
            a row per task, ``tasks_``, ``labels_``, ``probas_`` and ``result()``, then stays with Dask.
        y : None
            Ignored.
        gold : dict, Series, table or path, default None
            Labels that are certain, by task; a table or file has task and label, in columns that are called like those
            of the answers, or by a usual name; the label also ``truth`` or ``gold``. Without it, the ground truths of
            a Label Studio export are used, if ``data`` is one that has some.
        weights : array of shape (n_answers,), default None
            How much each answer counts, in the order of a table's rows that have a label.
        groups : dict, Series, table or path, default None
            The family of a worker, by worker, for workers who may err alike: judges that run the same model, for
            example; a table or file has columns worker and group. They count together as far as their errors agree.
            Only for ``model="auto"``, which finds copies of a worker by itself.

            .. versionadded:: 0.2
        task, worker, label : str, default None
            Names of the columns, where they do not have usual names; ``predict`` and ``partial_fit`` expect the same.

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

        Examples
        --------
        >>> from rectifact.datasets import make_crowd
        >>> votes = make_crowd(50, 5, 2).answers.set_axis(["question", "who", "choice"], axis=1)
        >>> len(DawidSkene().fit(votes, task="question", worker="who", label="choice").labels_)
        50
        """
        check_device(self.device)
        self._check_ordinal()
        named = {"task": task, "worker": worker, "label": label, "wide": wide, "format": format, "field": field}
        answers = self._read(data, named)
        if weights is not None:
            answers = answers.weighted(weights)
        _check_size(len(answers.workers), len(answers.classes))
        self._gold = answers.gold if gold is None else read_gold(gold, answers.columns)
        problem = replace(self._problem(answers, device=self.device), groups=self._groups(groups, answers))
        self._gold = of_classes(self._gold, answers.classes)
        checkpoint = open_checkpoint(self, *answers.codes, *(self._gold or ()), *_present(problem.groups))
        with self._few_threads(answers):
            return self._fit(answers, problem, checkpoint)

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

    def _few_threads(self, answers: Any) -> Any:
        """Products with the answers of a small crowd are small: threads would wait for each other."""
        return nullcontext() if isinstance(answers, LazyAnswers) else small_loop(len(answers) * len(answers.classes))

    def _fit(self, answers: Any, problem: Problem, checkpoint: Any) -> Self:
        fitting = Fitting(self.model, self.smoothing, ordinal=self.ordinal)
        resolved = {"columns": answers.columns}
        if self.model == "auto" and self.refine is not None:
            problem, fitting = count_copies_once(problem, fitting)
        starts = self._starts(problem, self._designated(answers))
        monitor = monitor_of(self, monotone=self.model != "auto", checkpoint=checkpoint)

        def trial(name: str) -> Monitor:
            saved = None if checkpoint is None else checkpoint.run(name)
            return Monitor(max_iter=self.max_iter, tol=max(self.tol, TRIAL_TOL), saved=saved)

        if self.refine is None:
            monitor.skip("not_refined")
            models = {method: unrefined(problem, start, self.smoothing) for method, start in starts.items()}
            best = max(models, key=lambda method: models[method].objective)
            fitted = models[best]
        else:
            best, sums = next(iter(starts)), next(iter(starts.values())).sums
            if len(starts) > 1:
                best, sums, resolved["objectives"] = best_start(problem, fitting, starts, monitors=trial)
            if self.model == "auto":
                fitting, sums = decide(problem, fitting, starts[best], monitors=trial)
            fitted, fitting = fitting.last_run(problem, sums, monitor=monitor)
        self._fitting, self.resolved_ = fitting, resolved | {"identify": best} | self._decisions(answers, fitting)
        self._set_model(answers, fitted)
        set_fit_report(self, monitor)
        return self

    def _check_ordinal(self) -> None:
        if self.ordinal and (self.model != "auto" or self.refine is None):
            raise InputError(
                "ordinal=True is for model='auto' with refine='em'.", "Leave model and refine as they are by default."
            )

    def _groups(self, groups: Any, answers: Any) -> NDArray[np.int64] | None:
        """Number of the group of each worker, -1 for none."""
        if groups is None:
            return None
        if self.model != "auto":
            raise InputError(f"groups are for model='auto', not for model={self.model!r}.", "Leave one of them out.")
        return group_numbers(read_groups(groups, answers.columns), answers.workers)

    def _decisions(self, answers: Any, fitting: Fitting) -> dict[str, Any]:
        if fitting.model != "auto" or fitting.families is None:
            return {}
        names = [answers.workers[fitting.families == number] for number in np.unique(fitting.families) if number >= 0]
        return {
            "dispersion": fitting.dispersion,
            "subtypes": fitting.n_subtypes,
            "retreat": fitting.retreat,
            "prior_matrix": fitting.strength.matrix,
            "prior_accuracy": fitting.strength.accuracy,
            "families": [members.tolist() for members in names],
        }

    def _read(self, data: Any, named: dict[str, Any]) -> Any:
        """Answers in memory, or partitioned."""
        lazy = is_lazy_data(data)
        if lazy and self.device != "cpu":
            raise InputError(
                f"device={self.device!r} is for answers in memory.", "Fit partitioned answers with device='cpu'."
            )
        if lazy and self.identify == "spectral":
            raise InputError(
                "identify='spectral' is for answers in memory.", "Use identify='auto', which takes partitions too."
            )
        return self._read_answers(data, named, self.n_classes)

    def _problem(self, answers: Any, device: str = "cpu") -> Problem:
        known = answers.known(self._gold)
        return Problem(answers.matrix(), answers.shares(known), known, device)

    def _designated(self, answers: Any) -> NDArray[np.int64] | None:
        """Numbers of the designated workers."""
        if self.designated is None:
            return None
        if self.identify != "designated":
            raise InputError("designated is for identify='designated'.", "Leave one of them out.")
        names = np.unique(np.asarray(self.designated)).tolist()
        places = pd.Index(answers.workers).get_indexer(pd.Index(names))
        if len(places) < 2 or (places < 0).any():
            raise InputError(
                f"designated must name at least two of the workers; got {names}.", "Spell them as in the answers."
            )
        return np.asarray(places, dtype=np.int64)

    def _starts(self, problem: Problem, designated: NDArray[np.int64] | None) -> dict[str, Start]:
        """Every start that ``identify`` asks for, by the method that was used in the end."""
        rng = check_generator(self.random_state)
        options: dict[str, Any] = {"weigh_by_count": self.pair_weights == "count", "designated": designated, "rng": rng}
        starts = [
            identify(name, problem.B, problem.vote_sums, known=problem.known, **options)
            for name in (("majority", "pair-free") if self.identify == "auto" else (self.identify,))
        ]
        return {start.method: start for start in starts}

    def _set_model(self, answers: Answers | LazyAnswers, fitted: CrowdModel) -> None:
        for name in ("temperature_", "calibration_"):  # of an earlier calibration
            self.__dict__.pop(name, None)
        self._model = fitted
        self._set_result(answers, fitted.posteriors)
        self.priors_, self.confusions_ = fitted.priors, fitted.confusions
        self.log_likelihood_ = fitted.log_likelihood
        worth = self._fitting.independent(len(answers.workers)) * answers.given
        self.n_effective_ = float(worth.sum() / len(self.tasks_))

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
        return answers, answers.matrix().map_rows(_predicted, self._calibrated, *self._model.judging, **kept)

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
        _check_size(len(answers.workers), len(answers.classes))
        problem = self._problem(answers)  # a task of known class may have come in
        part, before = problem.where(touched), self._model.posteriors
        background = self._fitting.background(problem, self._model, without=touched)
        monitor = Monitor(max_iter=UPDATE_ITERATIONS, tol=self.tol)
        with self._few_threads(answers):
            local = self._fitting.run(part, self._fitting.start(part), monitor=monitor, background=background)
        (posteriors,) = problem.B.keep(_replaced(problem, touched, before, local.posteriors))
        likelihood = log_likelihood(problem.B, local.priors, local.confusions, problem.known)
        self._set_model(answers, replace(local, posteriors=posteriors, log_likelihood=likelihood))
        return self

    def _merged(self, data: Any) -> tuple[Any, Any]:
        """All answers, and which tasks got some of the new ones."""
        old = self._answers
        if isinstance(old, LazyAnswers):
            return merge_lazy(old, read_more_lazy(data, self, new=True, n_partitions=old.partitions.numblocks[0]))
        return merge_answers(old, read_more(data, self.classes_, missing=self.missing, names=self._named))

    def _in_memory(self, what: str) -> Answers:
        """The answers, unless they are partitioned, so that ``what`` is not available."""
        check_is_fitted(self)
        if isinstance(self._answers, LazyAnswers):
            raise InputError(f"{what} needs all answers in memory.", "Fit a sample of the tasks in a table for it.")
        return self._answers

    def worker_report(self) -> pd.DataFrame:
        """Table by worker.

        Returns
        -------
        DataFrame
            ``worker``; ``answers`` given; ``accuracy``, the probability of a right answer to a new task, with
            ``accuracy_low`` and ``accuracy_high``, a 90 % interval that knows how sure the labels are;
            ``information``, the bits that one answer provides; ``spammer``, 1 if the answers do not depend on the class
            and 0 if they are always right; ``bias_<class>``, how much more often the worker gives the class than it
            occurs; ``independence``, how much an answer counts compared with an independent one, and ``family``, the
            first of the workers who give the same answers, where there are several (both for ``model="auto"``).
        """
        check_is_fitted(self)
        doubt = self._answers.matrix().total(doubts, along=(self._model.posteriors,))
        prior = self._fitting.strength.accuracy if self.model == "auto" else 2 * self.smoothing
        given = self._answers.given.astype(float)
        table = worker_table(self.workers_, self.classes_, given, doubt, prior, self._model)
        worth = self._fitting.independent(len(table))
        return table.assign(independence=worth, family=self._families(len(table)))

    def _families(self, n_workers: int) -> list[str]:
        """Name of the first worker of each worker's family, empty for a worker without one."""
        members = self._fitting.families
        if members is None:
            return [""] * n_workers
        first = {number: str(self.workers_[np.flatnonzero(members == number)[0]]) for number in set(members)}
        return [first[number] if number >= 0 else "" for number in members] + [""] * (n_workers - len(members))

    def next_labels(
        self,
        n: int = 10,
        *,
        goal: Literal["labels", "identify"] = "labels",
        costs: Any = None,
        budget: float | None = None,
        target_error: float | None = None,
        workers: Any = None,
    ) -> pd.DataFrame:
        """What to label next.

        Parameters
        ----------
        n : int, default 10
            Number of rows, at most.
        goal : {"labels", "identify"}, default "labels"
            ``"labels"``, the tasks where one more answer is expected to help most, and whom to ask;
            ``"identify"``, pairs of workers who should answer the same tasks, so that the model can be identified
            from co-occurrences at all.
        costs : dict, Series, table or path, default None
            Price of an answer, by worker; a table or file has columns worker and cost. Those without a price are not
            asked. Without costs, all answers have the price 1.

            .. versionadded:: 0.2
        budget : float, default None
            Most money to spend.

            .. versionadded:: 0.2
        target_error : float, default None
            Share of wrong labels that is good enough: the plan ends where no more are expected.

            .. versionadded:: 0.2
        workers : sequence or DataFrame, default None
            Who can be asked; a DataFrame with columns task and worker says who can be asked about which task.

            .. versionadded:: 0.2

        Returns
        -------
        DataFrame
            Without the last four parameters, ``task``, ``gain``, ``entropy`` and ``workers`` to choose from. With any
            of them, a plan in money, one answer per row, in the order in which to buy: ``task``, ``worker``, ``cost``,
            ``gain``, the wrong labels that the answer is expected to prevent, ``spent`` so far, and ``error``, the
            share of wrong labels to expect then. Of workers who give the same answers, only one is asked about a task.

        Notes
        -----
        Errors are expected from ``probas_``. Call ``calibrate`` first, with true labels of about a hundred tasks if
        there are any: what is promised is only as good as the confidence. After ``calibrate(gold)``, tasks with a true
        label are asked about like all others, so that they go on telling how far the confidence can be believed; give
        ``workers`` as a table without them to save that. Buy a part of the plan, fit again, and ask for the next part:
        answers that have come in tell where more are needed.

        Examples
        --------
        >>> from rectifact.datasets import make_crowd
        >>> model = DawidSkene().fit(make_crowd(300, 6, 2, labels_per_task=2).answers)
        >>> prices = {0: 1.0, 1: 1.0, 2: 0.1, 3: 0.1}
        >>> plan = model.next_labels(1000, costs=prices, budget=20, target_error=0.1)
        >>> set(plan["worker"]) <= set(prices), bool(plan["spent"].iloc[-1] <= 20)
        (True, True)
        """
        answers = self._in_memory("next_labels()")
        check_at_least(1, n=n)
        in_money = any(value is not None for value in (costs, budget, target_error, workers))
        if goal == "labels" and in_money:
            return self._purchase(n, costs, budget, target_error, workers)
        if goal == "labels":
            model = replace(self._model, posteriors=self.probas_)
            return plan_labels(self.tasks_, self.workers_, answers.answered(), model, n)
        if goal == "identify" and in_money:
            raise InputError("goal='identify' takes no costs, budget, target_error or workers.", "Leave them out.")
        if goal == "identify":
            return plan_pairs(self.workers_, answers.answered(), self._model, n)
        raise InputError(f"goal={goal!r} is unknown: choose 'labels' or 'identify'.")

    def _purchase(self, n: int, costs: Any, budget: Any, target_error: Any, workers: Any) -> pd.DataFrame:
        check_positive(budget=budget, target_error=target_error)
        probas, n_tasks = self._open_probas(), len(self.tasks_)
        some, error = candidates(probas, n), expected_error(probas)
        market = self._market(some, costs, workers)
        money = np.inf if budget is None else float(budget)
        excess = np.inf if target_error is None else n_tasks * (error - target_error)
        plan = buy(probas[some], market, n=n, budget=money, excess=excess)
        return pd.DataFrame(
            {
                "task": self.tasks_[some[plan.tasks]],
                "worker": self.workers_[market.workers[plan.workers]],
                "cost": plan.costs,
                "gain": plan.drops,
                "spent": np.cumsum(plan.costs),
                "error": error - np.cumsum(plan.drops) / n_tasks,
            }
        )

    def _open_probas(self) -> Any:
        """Probabilities by the answers alone where true labels calibrate them.

        Tasks with such a label are asked about like all others, else they would no longer tell about these.
        """
        if not hasattr(self, "calibration_"):
            return self.probas_
        return _predicted(self._answers.matrix().data, self._calibrated, *self._model.judging)

    def _market(self, some: NDArray[np.int64], costs: Any, workers: Any) -> Market:
        """Who can be asked about some tasks, and at which price."""
        answers, n_workers = self._in_memory("A plan"), len(self.workers_)
        prices = prices_of(None if costs is None else read_costs(costs, answers.columns), self.workers_)
        asked = can_be_asked(workers, self.tasks_[some], self.workers_) & np.isfinite(prices)
        worth, families = self._fitting.independent(n_workers), self._fitting.families
        kin = np.arange(n_workers)
        if families is not None:
            kin = same_source(families, self._fitting.shares(len(families)), n_workers)
        return market_of(answers.answered()[some], asked, self._model, costs=prices, independence=worth, kin=kin)

    def labels_needed(self, target: float, *, costs: Any = None, workers: Any = None) -> Needed:
        """How many more answers it takes until no more than a share ``target`` of the labels are expected to be wrong.

        Answers to come are simulated with the fitted model, and bought one after the other where they are worth most
        for the money, each knowing those before it.

        .. versionadded:: 0.2

        Parameters
        ----------
        target : float
            Share of wrong labels that is good enough.
        costs, workers : default None
            As in ``next_labels``.

        Returns
        -------
        Needed
            ``answers`` and their ``cost``, None if the workers cannot reach the target; ``curve``, a DataFrame of the
            expected ``error`` against ``answers`` bought and their ``cost``; ``words()``, the result in a sentence.

        Examples
        --------
        >>> from rectifact.datasets import make_crowd
        >>> model = DawidSkene().fit(make_crowd(300, 12, 2, labels_per_task=3).answers)
        >>> needed = model.labels_needed(0.05)
        >>> needed.curve.columns.tolist(), bool(needed.curve["error"].iloc[-1] <= 0.05)
        (['answers', 'cost', 'error'], True)
        """
        check_is_fitted(self)
        check_positive(target=target)
        self._in_memory("labels_needed()")
        some, n_tasks = sample(len(self.tasks_)), len(self.tasks_)
        curve = foresee(self._open_probas()[some], self._market(some, costs, workers), target=target)
        return needed(curve.assign(answers=n_tasks * curve["answers"], cost=n_tasks * curve["cost"]), target)

    def diagnose(self) -> pd.DataFrame:
        """What could be wrong with the answers: a table of severity, finding, detail and remedy, worst first."""
        self._in_memory("diagnose()")
        return findings_table(self._findings())

    def conditions(self) -> pd.DataFrame:
        """Whether co-occurrences of workers identify the model: the conditions of Ibrahim and Fu (2021), measured.

        They matter where ``refine=None`` leaves the model to co-occurrences; EM learns from more than these.

        .. versionadded:: 0.2

        Returns
        -------
        DataFrame
            ``condition``; its ``value``; the value ``wanted``; whether it ``holds``, None where the theory names no
            number; ``about``, what it means. Missing co-occurrences come first, then what bounds the errors of imputed
            ones, then what is asked of the confusion matrices: above all, specialists for every class. What theorems
            promise up to a constant can be compared between sets of answers, but says no error.

        Examples
        --------
        >>> from rectifact.datasets import make_crowd
        >>> crowd = make_crowd(600, 10, 3, labels_per_task=3, assignment="blocks", missing=0.5, n_specialists=3)
        >>> table = DawidSkene().fit(crowd.answers).conditions()
        >>> table[["condition", "value"]].head(2).round(2)  # doctest: +NORMALIZE_WHITESPACE
                                          condition  value
        0    pairs of workers without a common task   0.49
        1  pairs that stay missing after imputation   0.00
        """
        B = self._in_memory("conditions()").matrix()
        check_pairs("conditions()", B)
        return conditions(B, self.priors_, self.confusions_)

    def _findings(self) -> list[Finding]:
        answers = self._answers
        if isinstance(answers, LazyAnswers):
            return diagnose_workers(self.workers_, self._model)
        return diagnose(
            answers,
            self._model,
            effect=self._dispersion(answers.matrix()),
            trusting=self.model != "auto",
            calibrated=self._calibrated is not None,
            identified=None if self.refine else self.resolved_["identify"],
        )

    def _dispersion(self, B: Any) -> float:
        """Design effect of the answers where it is certain that they are not independent, else 1."""
        if self.model == "auto":
            return self._fitting.dispersion if self._fitting.retreat else 1.0
        found = design_effects(B, self._model.posteriors, self._model.confusions, np.ones(len(self.workers_)))
        return found.overall if found.certain else 1.0

    def calibrate(self, gold: Any = None) -> Self:
        """Make ``probas_`` as sure as they should be: by true labels of some tasks, or else by the answers alone.

        Parameters
        ----------
        gold : dict, Series, table or path, default None
            True labels of some tasks, as for ``fit``; about a hundred random tasks are enough. They teach how far the
            probabilities can be believed and, from 30 labels on, which classes the workers prefer or take for others,
            so that labels may change too. The tasks themselves get their true labels. ``calibration_`` says which form
            the calibration has, and the calibration error to expect on other tasks, from labels that were held out.
            With ``ordinal``, they also teach by how much grades are too low or too high. Of labels that ``fit`` was
            given too, each is compared with a fit that was not given it (in five folds).

            .. versionadded:: 0.2

        Notes
        -----
        Without true labels, probabilities are raised to the power ``temperature_``, and labels stay the same. It is the
        smaller of two: what predicts left-out answers best from the others' answers, and what the dependence of answers
        to one task calls for. It is 1 for ``model="auto"`` where that has found dependence: its probabilities lean on
        the vote already.
        """
        answers = self._in_memory("calibrate()")
        if gold is not None:
            return self._calibrate_by(read_gold(gold, answers.columns), answers)
        self.__dict__.pop("calibration_", None)
        effect = 1.0 if self._fitting.retreat else self._dispersion(answers.matrix())
        self.temperature_ = min(temperature(self._held_out()), 1 / effect, 1.0)
        self._set_probas(tempered(self._model.posteriors, self.temperature_))
        return self

    def _judged_gold(self) -> tuple[Any, Any]:
        """Probabilities of the tasks with a gold label as the answers alone give them, and their classes."""
        known = self._answers.known(self._gold)
        if known is None:
            return self.probas_[:0], np.empty(0, dtype=np.int64)
        some = known >= 0
        return _predicted(self._answers.matrix().data, self._calibrated, *self._model.judging)[some], known[some]

    def _held_out(self) -> HeldOut:
        with self._few_threads(self._answers):
            return held_out_answers(self._problem(self._answers), self._fitting, self._model)

    def _calibrate_by(self, gold: Any, answers: Answers) -> Self:
        known = answers.known(gold)
        truth = np.full(len(self.tasks_), -1) if known is None else known
        some = truth >= 0
        n_gold = int(some.sum())
        if n_gold < LEAST_GOLD:
            what = f"{count(n_gold, 'gold label')} are too few to calibrate by, so the answers alone decide."
            warnings.warn(FitWarning(what, f"Give at least {LEAST_GOLD}, better 100."), stacklevel=3)
            return self.calibrate()
        if n_gold < LEAST_BY_CLASS:
            what = f"{count(n_gold, 'gold label')} are too few to calibrate by class, so only the confidence changes."
            warnings.warn(FitWarning(what, f"Give at least {LEAST_BY_CLASS}."), stacklevel=3)
        with self._few_threads(answers):
            posteriors = judged_unseen(self._problem(answers), self._fitting, self._model)
        self.__dict__.pop("temperature_", None)
        self.calibration_ = (learn_grades if self.ordinal else learn_from_gold)(posteriors[some], truth[some])
        probas, fitted = self.calibration_.map(posteriors), answers.known(self._gold)
        for certain in (truth, fitted):
            if certain is not None:
                probas[certain >= 0] = np.eye(len(self.classes_))[certain[certain >= 0]]
        self._set_probas(probas)
        return self


def _present(groups: Any) -> tuple[Any, ...]:
    return () if groups is None else (groups,)


def _predicted(rows: Any, calibrated: Any, *judging: Any) -> Any:
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


def _check_size(n_workers: int, n_classes: int) -> None:
    if n_workers * n_classes**2 > MOST_CONFUSION_CELLS:
        raise InputError(
            f"{n_classes} classes for each of {n_workers} workers are too many to learn.",
            "Merge rare labels, for example into 'other', or use MajorityVote.",
        )
