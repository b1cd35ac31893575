"""How far a fitted model can be believed: its workers, findings and conditions, and calibration."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from rectifact.core.errors import FitWarning, count
from rectifact.core.estimator import quiet_copy
from rectifact.core.findings import Finding, findings_table
from rectifact.crowd.advice.calibration import temperature, tempered
from rectifact.crowd.advice.conditions import conditions
from rectifact.crowd.advice.diagnosis import diagnose, diagnose_workers
from rectifact.crowd.advice.gold import LEAST_BY_CLASS, LEAST_GOLD, learn_from_gold, learn_grades
from rectifact.crowd.advice.held_out import HeldOut, held_out_answers, judged_unseen
from rectifact.crowd.advice.support import NOT_INDEPENDENT, sure_grades, unknown_workers
from rectifact.crowd.advice.workers import doubts, expected_matrices, swings, worker_table
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.partitions import LazyAnswers
from rectifact.crowd.data.read import read_gold
from rectifact.crowd.dependence import design_effects
from rectifact.crowd.em import Sums, expected_sums
from rectifact.crowd.fitted import FittedModel, predicted
from rectifact.crowd.grades import chosen
from rectifact.crowd.starts import check_pairs

MOST_REFITTED = 200_000
"""Answers that are fitted once more for a finding."""


class Reviewer(FittedModel):
    """Methods of a fitted model that judge it."""

    def worker_report(self) -> pd.DataFrame:
        """Table by worker.

        Returns
        -------
        DataFrame
            ``worker``; ``answers`` given; ``accuracy``, the share of the answers that are expected to be right, with
            ``accuracy_low`` and ``accuracy_high``, a 90 % interval that knows how sure the labels are;
            ``information``, the bits that one answer provides; ``spammer``, 1 if the answers do not depend on the class
            and 0 if they are always right; ``bias_<class>``, how much more often the worker gives the class than it
            occurs in the tasks that they answered; ``independence``, how much an answer counts compared with an
            independent one, and ``family``, the first of the workers who give the same answers, where there are several
            (both for ``model="auto"``).
        """
        check_is_fitted(self)
        doubt = self._answers.matrix().total(doubts, along=(self._model.posteriors,))
        prior = self._fitting.strength.accuracy if self.model == "auto" else 2 * self.smoothing
        given = self._answers.given.astype(float)
        counts = self._expected_answers()
        swing = (
            None if self._fitting.identified else self._answers.matrix().total(swings, along=(self._model.posteriors,))
        )
        table = worker_table(self.workers_, self.classes_, given, counts, doubt, prior, self._model, swing)
        worth = self._fitting.independent(len(table))
        return table.assign(independence=worth, family=self._families(len(table)))

    def _expected_answers(self) -> Any:
        """Answers by worker, label and true class, weighed by the posteriors."""
        return Sums(*self._answers.matrix().total(expected_sums, along=(self._model.posteriors,))).counts

    def _shown_matrices(self) -> Any:
        """Confusion matrices for people to read, by worker, label and true class, as the answers show them."""
        return expected_matrices(self._expected_answers(), self._model.confusions)

    def _families(self, n_workers: int) -> list[str]:
        """Name of the first worker of each worker's family, empty for a worker without one."""
        members = self._fitting.families
        if members is None:
            return [""] * n_workers
        first = {number: str(self.workers_[np.flatnonzero(members == number)[0]]) for number in set(members)}
        return [first[number] if number >= 0 else "" for number in members] + [""] * (n_workers - len(members))

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
        >>> from rectifact import DawidSkene
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

    def _findings(self, has_gold: bool = False) -> list[Finding]:
        answers = self._answers
        if isinstance(answers, LazyAnswers):
            return [
                *unknown_workers(self._fitting.leaning, self._fitting.identified),
                *diagnose_workers(self.workers_, self._model),
            ]
        found = diagnose(
            answers,
            self._model,
            effect=self._dispersion(answers.matrix()),
            leaning=self._fitting.leaning,
            told_apart=self._fitting.identified,
            trusting=self.model != "auto",
            calibrated=self._calibrated is not None,
            identified=None if self.refine else self.resolved_["identify"],
            kin=self._kin(len(self.workers_)),
            changes=self._changes if self.model == "auto" and len(answers) <= MOST_REFITTED else None,
            has_gold=has_gold or self._gold is not None,
        )
        if not self.ordinal or self._gold is not None or hasattr(self, "calibration_"):
            return found
        if any(finding.finding == NOT_INDEPENDENT for finding in found):  # confidence allows for that
            return found
        return [*found, *sure_grades(self._mean_confidence())]

    def _mean_confidence(self) -> float:
        """The mean probability of the labels."""
        label = chosen(self.probas_, self.ordinal)
        return float(self.probas_[np.arange(len(label)), label].mean())

    def _changes(self, names: list[Any]) -> int:
        """How many labels change if some workers count as one."""
        other = quiet_copy(self)
        with warnings.catch_warnings(action="ignore"):  # this fit has said it
            other.fit(replace(self._answers, gold=self._gold), groups=dict.fromkeys(names, 0))
        found = self._answers.labels(self._model.posteriors, self.ordinal)
        return int((other.labels_ != found).sum())

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
            return self._calibrate_by(read_gold(gold, answers), answers)
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
        return predicted(self._answers.matrix().data, self._calibrated, *self._model.judging)[some], known[some]

    def _held_out(self) -> HeldOut:
        with self._few_threads(self._answers):
            return held_out_answers(self._problem(self._answers), self._fitting, self._model)

    def _calibrate_by(self, gold: Any, answers: Answers) -> Self:
        known = answers.known(gold)
        truth = np.full(len(self.tasks_), -1) if known is None else known
        some = truth >= 0
        n_gold = int(some.sum())
        if n_gold < LEAST_GOLD:
            labels = f"{count(n_gold, 'gold label')} {'is' if n_gold == 1 else 'are'}"
            what = f"{labels} too few to calibrate by, so the answers alone decide."
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
