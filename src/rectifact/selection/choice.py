"""How many parts, dimensions or communities, chosen from the data."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone

from rectifact.core.errors import FitWarning, InputError
from rectifact.core.reprs import short_repr
from rectifact.core.validation import check_generator, check_option
from rectifact.graph.base import GraphClusterer
from rectifact.graph.edges import edges_named
from rectifact.graph.how_many import GraphTrial
from rectifact.io.checkpoint import RunFile, open_checkpoint
from rectifact.parts.how_many import PartsTrial
from rectifact.selection.communities import ONE, beyond_chance, beyond_hidden_edges, doubts, found_again, why
from rectifact.selection.components import choose_by_component
from rectifact.selection.points import MEASURE, NOTHING, choose_for_points, named_columns
from rectifact.selection.search import Curve, Trial, climb
from rectifact.selection.trust import set_stability, trial_of

MOST = 1000
"""No number from here on is tried by itself."""

NEARLY_AS_STABLE = 0.1
"""Difference of mean stabilities up to which a second number is named beside the most stable one."""


@short_repr
@dataclass(frozen=True)
class Selection:
    """A number, why it was chosen, and the model with it.

    Attributes
    ----------
    table : DataFrame
        One row per number that was tried: ``k``; ``score``, the mean over held-out data, larger is better;
        ``standard_error`` of the difference between this score and the best one; ``stability``, the mean over the
        parts, NaN where it was not measured; and ``seconds``, NaN for parts, whose numbers are judged at once. For
        points, the score of k tells how far the k-th group stands apart, and there are no standard errors.
    best : int
        1 if there is no stable structure, or the smallest number that was asked for.
    reason : str
        One sentence, and another one if it is not ``sure``.
    estimator : estimator
        Fitted to all data with ``best``. Its attribute ``stability_`` has one figure per part, dimension or community.
    measure : str
        What the score is.
    sure : bool
        False where the number may well be too low or too high, as parts hardly stand out from the noise, where the
        scores of other numbers of communities are within their error, or the next larger one within two standard
        errors, and where the data speaks for a number that was not asked for.
    columns : tuple of int
        Places of the columns of points, from 0, that show more groups alone than all columns do.
    """

    table: pd.DataFrame
    best: int
    reason: str
    estimator: Any
    measure: str
    sure: bool = True
    columns: tuple[int, ...] = ()

    def with_names(self, names: Sequence[Any] | None) -> "Selection":
        """The same with the names of columns in the reason, and with advice for the command line."""
        if names is None or not self.columns:
            return self
        reason = self.reason
        for numbered, named in zip(named_columns(self.columns), named_columns(self.columns, names), strict=True):
            reason = reason.replace(numbered, named)
        return replace(self, reason=reason)


def select(
    estimator: Any,
    X: Any,
    ks: Sequence[int] | str = "auto",
    *,
    purpose: Literal["structure", "prediction"] = "structure",
    n_jobs: int | None = None,
    random_state: Any = None,
    callbacks: Sequence[Callable[[dict[str, float]], Any]] = (),
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> Selection:
    """Choose the number of parts, dimensions or communities, and fit the estimator with it.

    Each family is judged by what it has not seen. Parts: features of half of the samples, predicted from their other
    features and from directions of the other half (bi-cross-validation), as long as both halves have the same parts.
    Dimensions: hidden entries. Communities: hidden edges. The smallest number within one standard error of the best
    score is taken. Numbers far from the best are not tried. Clusters of points are counted, without a search: groups
    between which points are rarer than chance explains.

    Parameters
    ----------
    estimator : ANDNMF, PurificationNMF, NMD, LogisticPCA, SymNMF or SymNMFNet
        Its number of components or clusters does not matter. With ``checkpoint``, scores are saved in that folder, and
        with ``resume=True`` they are taken from there.
    X : array, sparse array, Dask array or graph
        What the estimator takes.
    ks : sequence of int or "auto", default "auto"
        Numbers to choose from.
    purpose : {"structure", "prediction"}, default "structure"
        Whether what is found must recur in resampled data, or only has to predict well, as for recommendations.
    n_jobs : int or None, default None
        Numbers to try at the same time; each needs the memory of one fit.
    random_state : int, Generator, RandomState or None, default None
        Seed of what is held out. Communities do not need it: the same edges of the same graph are hidden.
    callbacks : sequence of callables, default ()
        Each is called with ``k``, ``score`` and ``seconds`` of each number that was tried; a true value ends the
        search, as does Ctrl-C: the best number so far is taken.
    source, target, weight : str, default None
        Names of the columns of a table of edges, as in :meth:`rectifact.SymNMF.fit`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from rectifact import ANDNMF
    >>> from rectifact.datasets import make_topics
    >>> from rectifact.selection import select
    >>> X = make_topics(n_samples=400, n_features=60, n_topics=4).X
    >>> found = select(ANDNMF(1), X, random_state=0)
    >>> found.best
    4
    """
    check_option("purpose", purpose, ("structure", "prediction"))
    X = edges_named(X, {"source": source, "target": target, "weight": weight})
    trial = trial_of(estimator, X, check_generator(random_state))
    wanted = _wanted(ks)
    if isinstance(trial, GraphTrial) and trial.of_points:
        return _for_points(estimator, X, trial, _possible(wanted, trial))  # nothing to search
    if isinstance(trial, GraphTrial) and not trial.is_connected:
        options = {"purpose": purpose, "n_jobs": n_jobs, "random_state": random_state, "callbacks": callbacks}
        return _for_components(estimator, X, trial, wanted, options)
    start = trial.start(wanted[0])
    numbers = _possible(wanted, trial)
    saved = _checkpoint(estimator, trial, X)
    stop = _Stop(callbacks)
    curve = Curve(trial, n_jobs, stop, saved)
    ended, compared, weak, settled = "", "", 1, ""
    try:
        best = climb(curve, start, numbers)
        curve.add_free(numbers)
        supported = best = curve.smallest()
        best = trial.recurring(best, numbers) if purpose == "structure" else best
        if isinstance(trial, GraphTrial):
            best, compared = beyond_hidden_edges(curve, best, trial.ordered, numbers)
            best, weak = beyond_chance(curve, best, trial.ordered, numbers)
            curve.try_out(*([best + 1] if best > 1 and best + 1 in numbers else []))  # the first to compare with
            best, settled = found_again(curve, best, trial)
    except (KeyboardInterrupt, _Ended) as stopped:
        if isinstance(stopped, KeyboardInterrupt) and max(curve.scores, default=1) == 1:  # nothing was compared
            raise
        ended, supported = "The search was ended early.", curve.smallest()
        best = supported
        warnings.warn(FitWarning(ended, f"Going on with the best so far, {best}."), stacklevel=2)
    if saved is not None and not ended:
        saved.finish()
    curve.try_out(best)  # what is chosen has a score
    doubt = trial.doubt() if best > 1 else ""
    if isinstance(trial, GraphTrial):
        doubt = doubts(curve, best, trial, weak, bool(settled))
    tried = "" if curve.complete else f"The search stopped after {len(curve.scores)} numbers; others may score higher."
    reason = " ".join(
        filter(None, [ended, settled or compared or _reason(trial, curve, best, supported, weak), tried, doubt])
    )
    sure = not doubt and best in numbers
    if best not in numbers:  # one, which was not asked for
        best = numbers[0]
        reason += f" {best} is the smallest number that was asked for."
        curve.try_out(best)
    model = _fitted(estimator, X, trial.parameter, best)
    set_stability(model, trial)
    if reason.startswith((NOTHING, ONE)):
        warnings.warn(FitWarning(reason, ""), stacklevel=2)
    return Selection(_table(curve, trial, best, model, numbers), best, reason, model, trial.measure, sure)


def _for_points(estimator: Any, X: Any, trial: GraphTrial, numbers: Sequence[int]) -> Selection:
    """The number of groups that stand apart, or the nearest that was asked for."""
    apart = trial.groups_apart()
    found = choose_for_points(apart.scores, numbers, apart.fewest, trial.in_columns(), apart.compact)
    model = _fitted(estimator, X, trial.parameter, found.best)
    set_stability(model, trial)
    if found.reason.startswith(NOTHING):
        warnings.warn(FitWarning(found.reason, ""), stacklevel=3)
    table = found.table
    if found.best > 1:  # one is always the same
        table.loc[table["k"] == found.best, "stability"] = float(np.mean(model.stability_))
    return Selection(table, found.best, found.reason, model, MEASURE, found.sure, found.columns)


def _for_components(
    estimator: Any, X: Any, trial: GraphTrial, wanted: Sequence[int], options: dict[str, Any]
) -> Selection:
    """The number of communities in each component, added up, or the nearest that was asked for."""
    found = choose_by_component(select, estimator, trial, wanted, **options)
    total = sum(found.numbers)
    best = min(wanted, key=lambda k: (abs(k - total), k))
    reason = f"{found.reason} {best} is the nearest number that was asked for." if best != total else found.reason
    model = clone(estimator).set_params(min_component=estimator.min_component or found.least)
    model._numbers = found.numbers if best == total else None
    model = _fitted(model, X, trial.parameter, best)
    vars(model).pop("_numbers", None)  # they are those of this graph and this number, and no part of the model
    set_stability(model, trial)
    if reason.startswith((NOTHING, ONE)):
        warnings.warn(FitWarning(reason, ""), stacklevel=3)
    found.table.loc[found.table["k"] == best, "stability"] = float(np.mean(model.stability_))
    return Selection(found.table, best, reason, model, trial.measure, found.sure and best == total)


class _Ended(Exception):
    """A callback has ended the search."""


@dataclass(frozen=True)
class _Stop:
    callbacks: Sequence[Callable[[dict[str, float]], Any]]

    def __call__(self, row: dict[str, float]) -> None:
        if any([callback(row) for callback in self.callbacks]):
            raise _Ended


def _wanted(ks: Sequence[int] | str) -> Sequence[int]:
    if isinstance(ks, str):
        if ks != "auto":
            raise InputError(f"ks={ks!r} is neither 'auto' nor a sequence of numbers.", option="ks")
        return range(1, MOST)
    numbers = sorted({int(k) for k in ks})
    if not numbers or numbers[0] < 1:
        raise InputError("ks must hold numbers from 1 on.", option="ks")
    return numbers


def _possible(wanted: Sequence[int], trial: Trial) -> list[int]:
    numbers = [k for k in wanted if k <= trial.most]
    if not numbers:
        what = f"The data is too small for {wanted[0]} {trial.what[1]}: at most {trial.most} can be judged."
        raise InputError(what, "Give smaller numbers, or more data.", option="ks")
    return numbers


def _reason(trial: Trial, curve: Curve, best: int, supported: int, weak: int) -> str:
    one, several = trial.what
    if isinstance(trial, GraphTrial) and (best == 1 or curve.within_error(best)):
        return why(curve, best, trial.most, weak > 1)
    larger = _most_stable(trial, best)
    if best == 1 and supported > 1:
        nothing = f"{NOTHING}: {supported} {several} would predict best, but resampled data has other ones."
        return " ".join(filter(None, [nothing, larger]))
    if best == 1 and len(curve.scores) > 1:
        return f"{NOTHING}: more than one {one} does not predict held-out data better."
    if isinstance(trial, PartsTrial) and trial.short and best > 1 and best != supported:
        return f"The mean stability of {best} parts in halves of the samples is {trial.recurrence[best].mean():.2f}."
    if best < supported and isinstance(trial, PartsTrial):
        return " ".join(filter(None, [_agreed(trial, best, supported), larger]))
    if best < supported:
        return f"{best} is the largest number whose {several} {trial.recurs}; {supported} predict better."
    if best > supported:
        than = "as well" if curve.not_worse(best) else "better"
        return f"{best} {several} stand out from the noise and {trial.recurs}; {supported} predict {than}."
    if not curve.within_error(best):
        gain = f"{100 * (1 - trial.negligible):g}% of what the best score, that of {curve.top()}, gains over one {one}"
        kept = f"{best} is the smallest number tried that keeps at least {gain}"
        return f"{kept}: more {several} gain too little to matter."
    last = "; no larger number was tried" if best == max(curve.scores) else ""
    return f"{best} is the smallest number tried whose score on held-out data cannot be told from the best one{last}."


def _agreed(trial: PartsTrial, best: int, supported: int) -> str:
    """Why fewer parts were taken than predict best: what halves of the samples agree on."""
    mean = {k: f"{np.mean(values):.2f}" for k, values in trial.recurrence.items()}
    about = "about " if len(trial.recurrence.get(supported, ())) == 1 else ""  # by the first split alone
    known = ""
    if supported in mean:
        known = f", and {about}{mean[supported]} with {supported}, the fewest that predict as well as any"
    return (
        f"More than {best} parts predict better, but halves of the samples agree best on {best}, counting how many "
        f"there are and how stable: their mean stability is {mean[best]}{known}."
    )


def most_stable(stability: Mapping[int, float], best: int) -> list[tuple[int, float]]:
    """The numbers above the one that was chosen whose parts are found again best, at most two, the best first.

    Examples
    --------
    >>> most_stable({2: 0.71, 3: 0.59, 4: 0.6, 9: 0.36, 49: 0.41}, 2)
    [(4, 0.6), (3, 0.59)]
    """
    above = [(k, float(value)) for k, value in stability.items() if k > best and value > 0]
    above = sorted(above, key=lambda pair: (-pair[1], pair[0]))[:2]
    return [pair for pair in above if pair[1] >= above[0][1] - NEARLY_AS_STABLE]


def _most_stable(trial: Trial, best: int) -> str:
    """A sentence about the numbers of parts that come closest to being stable; dimensions and communities have none."""
    if not isinstance(trial, PartsTrial):
        return ""
    found = most_stable({k: float(np.mean(values)) for k, values in trial.recurrence.items()}, best)
    listed = " and ".join(f"{k} ({value:.2f})" for k, value in found)
    several = f"numbers above {best} are" if len(found) > 1 else f"number above {best} is"
    return f"The most stable {several} {listed}." if found else ""


def _table(curve: Curve, trial: Trial, best: int, model: Any, numbers: Sequence[int]) -> pd.DataFrame:
    """One row per number that was tried and asked for; 1 is always tried, to compare with."""
    top, rows = curve.top(), []
    for k in sorted(set(curve.scores) & set(numbers)):
        stability = trial.recurrence.get(k, np.nan)
        if k == best and not (isinstance(trial, PartsTrial) and k in trial.recurrence):  # that is what decided on parts
            stability = model.stability_
        stability = np.nan if k == 1 and isinstance(trial, GraphTrial) else stability  # one is always the same
        row = {"k": k, "score": float(curve.scores[k].mean()), "standard_error": curve.error(k, top)}
        seconds = np.nan if isinstance(trial, PartsTrial) else curve.seconds[k]  # all of them were judged at once
        rows.append(row | {"stability": float(np.mean(stability)), "seconds": seconds})
    return pd.DataFrame(rows)


def _fitted(estimator: Any, X: Any, parameter: str, best: int) -> Any:
    """The model with the best number; its state has a folder of its own, as a resumed search may choose another."""
    model = clone(estimator).set_params(**{parameter: best})
    if isinstance(model, GraphClusterer) and estimator._numbers is not None:
        model._numbers = estimator._numbers
    if estimator.checkpoint is None:
        return model.fit(X)
    model.set_params(checkpoint=Path(estimator.checkpoint) / f"{parameter}-{best}").fit(X)
    return model.set_params(checkpoint=estimator.checkpoint)


def _checkpoint(estimator: Any, trial: Trial, X: Any) -> RunFile | None:
    if estimator.checkpoint is None:
        return None
    folder = Path(estimator.checkpoint) / "numbers"
    search = clone(estimator).set_params(checkpoint=folder, **{trial.parameter: 1})
    opened = open_checkpoint(search, X)
    return opened.run("scores") if opened is not None else None
