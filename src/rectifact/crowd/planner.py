"""What a fitted model advises to buy: which answers next, and how many it takes."""

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import FitWarning, InputError
from rectifact.core.validation import check_at_least, check_positive
from rectifact.crowd.advice.budget import (
    LEAST_GAIN,
    WELL_KNOWN,
    WORTHWHILE,
    Market,
    buy,
    candidates,
    expected_error,
    like_the_crowd,
    market_of,
)
from rectifact.crowd.advice.foresight import Needed, check_target, foresee, needed, sample
from rectifact.crowd.advice.planning import plan_labels, plan_pairs, worth_asking
from rectifact.crowd.data.prices import can_be_asked, prices_of, read_costs
from rectifact.crowd.em import CrowdModel
from rectifact.crowd.fitted import FittedModel, predicted


class Planner(FittedModel):
    """Methods of a fitted model that plan."""

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
            Number of rows, at most: fewer if fewer answers are expected to help.
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
        there are any: what is promised is only as good as the confidence. Tasks with a true label are not asked about,
        nor those where an answer is not expected to help (by 0.005 of a wrong label, if there is no target), so that
        there may be fewer rows than ``n``; where nobody is left to ask, a warning says so. After
        ``calibrate(gold)``, a table ``workers`` can name tasks with a true label all the same, so that they go on
        telling how far the confidence can be believed. Buy a part of the plan, fit again, and ask for the next part:
        answers that have come in tell where more are needed. Where ``diagnose()`` says that workers are hardly known,
        they are taken to be like the whole crowd, and the error can be far from what is expected.

        Examples
        --------
        >>> from rectifact import DawidSkene
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
            return worth_asking(plan_labels(self.tasks_, self.workers_, answers.answered(), model, n))
        if goal == "identify" and in_money:
            raise InputError("goal='identify' takes no costs, budget, target_error or workers.", "Leave them out.")
        if goal == "identify":
            return plan_pairs(self.workers_, answers.answered(), self._model, n)
        raise InputError(f"goal={goal!r} is unknown: choose 'labels' or 'identify'.")

    def _purchase(self, n: int, costs: Any, budget: Any, target_error: Any, workers: Any) -> pd.DataFrame:
        check_positive(budget=budget, target_error=target_error)
        check_target(target_error, "target_error")
        probas, n_tasks = self._open_probas(workers), len(self.tasks_)
        some, error = candidates(probas, n), expected_error(probas)
        market = self._market(some, costs, workers)
        _mention_nobody(market)
        money = np.inf if budget is None else float(budget)
        excess = np.inf if target_error is None else n_tasks * (error - target_error)
        least = WORTHWHILE if target_error is None else LEAST_GAIN
        plan = buy(probas[some], market, n=n, budget=money, excess=excess, least=least)
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

    def _open_probas(self, workers: Any) -> Any:
        """Probabilities of the labels, which are certain where there is a true label, so that nobody is asked there.

        A table that says who can be asked about which task may ask for such tasks: then their answers decide.
        """
        if not hasattr(self, "calibration_") or not isinstance(workers, pd.DataFrame):
            return self.probas_
        return predicted(self._answers.matrix().data, self._calibrated, *self._model.judging)

    def _market(self, some: NDArray[np.int64], costs: Any, workers: Any) -> Market:
        """Who can be asked about some tasks, and at which price."""
        answers, n_workers = self._in_memory("A plan"), len(self.workers_)
        prices = prices_of(None if costs is None else read_costs(costs, answers.columns), self.workers_)
        named = can_be_asked(workers, self.tasks_[some], self.workers_)
        _refuse_nobody(named, prices)
        asked = named & np.isfinite(prices)
        worth, kin = self._fitting.independent(n_workers), self._kin(n_workers)
        model = self._known_workers(answers)
        return market_of(answers.answered()[some], asked, model, costs=prices, independence=worth, kin=kin)

    def _known_workers(self, answers: Any) -> CrowdModel:
        """The model, but with workers who are like the others as long as the fit hardly knows them.

        A fit that takes one worker for the truth would ask that worker again and again, or stop, and never find out.
        """
        if self._fitting.foretold >= WELL_KNOWN:
            return self._model
        sums = self._problem(answers).sums(self.probas_)
        priors = sums.classes / sums.classes.sum()
        return replace(self._model, confusions=like_the_crowd(sums.counts), priors=priors)

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
        >>> from rectifact import DawidSkene
        >>> from rectifact.datasets import make_crowd
        >>> model = DawidSkene().fit(make_crowd(300, 12, 2, labels_per_task=3).answers)
        >>> needed = model.labels_needed(0.05)
        >>> needed.curve.columns.tolist(), bool(needed.curve["error"].iloc[-1] <= 0.05)
        (['answers', 'cost', 'error'], True)
        """
        check_is_fitted(self)
        check_positive(target=target)
        check_target(target, "target")
        self._in_memory("labels_needed()")
        some, n_tasks = sample(len(self.tasks_)), len(self.tasks_)
        curve = foresee(self._open_probas(workers)[some], self._market(some, costs, workers), target=target)
        return needed(curve.assign(answers=n_tasks * curve["answers"], cost=n_tasks * curve["cost"]), target)


def _mention_nobody(market: Market) -> None:
    """Say what to do where a plan is empty because nobody can be asked."""
    if market.open.any():
        return
    what = "Those who may be asked have answered every task in doubt, or a copy of them has, so that the plan is empty."
    remedy = "Let others answer the tasks with the lowest confidence, and {} again with their answers."
    warnings.warn(FitWarning(what, remedy.format("fit"), command=remedy.format("run this")), stacklevel=4)


def _refuse_nobody(may_be_asked: NDArray[np.bool_], prices: NDArray[np.float64]) -> None:
    """Refuse a plan for nobody at all: nobody is named, or nobody of those has a price."""
    if (may_be_asked & np.isfinite(prices)).any():
        return
    if may_be_asked.any():
        what, remedy = "None of those who may be asked has a price.", "Add one of them to {}."
        raise InputError(what, remedy.format("costs"), command=remedy.format("the --costs file"))
    raise InputError("workers names nobody who could be asked about a task in doubt.", "Name other workers, or tasks.")
