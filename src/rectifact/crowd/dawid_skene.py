"""The estimator DawidSkene: its parameters, and the fit, by ``starts`` and ``fitting``; ``fitted`` does the rest."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rectifact.core.errors import InputError
from rectifact.core.estimator import Iterative
from rectifact.core.monitor import Monitor, monitor_of, set_fit_report
from rectifact.core.plots import ConvergencePlot
from rectifact.core.validation import RUN_CONSTRAINTS, Interval, StrOptions, check_generator, fit_context
from rectifact.crowd.base import Aggregator
from rectifact.crowd.data.groups import group_numbers, read_groups
from rectifact.crowd.data.names import of_classes
from rectifact.crowd.data.partitions import is_lazy_data
from rectifact.crowd.data.read import read_gold
from rectifact.crowd.data.spellings import gold_like
from rectifact.crowd.data.unmatched import mention_left_out
from rectifact.crowd.decisions import TRIAL_TOL, best_start, count_copies_once, decide
from rectifact.crowd.device import check_device
from rectifact.crowd.fitted import check_size
from rectifact.crowd.fitting import Fitting, Problem
from rectifact.crowd.planner import Planner
from rectifact.crowd.reviewer import Reviewer
from rectifact.crowd.starts import METHODS, Start, identify, tried, unrefined
from rectifact.io.checkpoint import open_checkpoint


@dataclass(eq=False, repr=False)
class DawidSkene(ConvergencePlot, Planner, Reviewer, Iterative):
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
        - ``"auto"``: from ``"majority"`` and from ``"pair-free"``, and the better objective is kept; with more than 64
          classes from ``"majority"`` alone.
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
        Those that labels are judged by. With ``model="auto"`` they lean on what the whole crowd does, most of all those
        of workers with few answers; ``worker_report()`` and the report show what each worker answered.
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
        task: str | Sequence[str] | None = None,
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
        check_size(len(answers.workers), len(answers.classes))
        self._gold = answers.gold if gold is None else gold_like(read_gold(gold, answers), answers.classes)
        mention_left_out(self._gold, answers.tasks)
        problem = replace(self._problem(answers, device=self.device), groups=self._groups(groups, answers))
        self._gold = of_classes(self._gold, answers.classes)
        checkpoint = open_checkpoint(self, *answers.codes, *(self._gold or ()), *_present(problem.groups))
        with self._few_threads(answers):
            return self._fit(answers, problem, checkpoint)

    def _fit(self, answers: Any, problem: Problem, checkpoint: Any) -> Self:
        fitting = Fitting(self.model, self.smoothing, ordinal=self.ordinal, n_answers=float(answers.given.sum()))
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
            models = {
                method: unrefined(problem.B, problem.known, start, self.smoothing) for method, start in starts.items()
            }
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
            for name in tried(self.identify, len(problem.vote_sums.classes))
        ]
        return {start.method: start for start in starts}


def _present(groups: Any) -> tuple[Any, ...]:
    return () if groups is None else (groups,)
