"""What estimators have in common: the parameters of a run, copies without output, and what counts as names."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from sklearn.base import BaseEstimator, clone

from rectifact.core.errors import InputError
from rectifact.core.monitor import Callback
from rectifact.core.reprs import without_arrays


@dataclass(eq=False, repr=False, kw_only=True)
class Iterative(BaseEstimator):
    """Base of estimators that iterate.

    Estimators are dataclasses: scikit-learn asks that a constructor stores its parameters and does nothing else, and
    that is what a dataclass makes of its fields.

    Parameters
    ----------
    max_iter : int
        Most iterations.
    tol : float
        When to stop earlier.
    random_state : int, Generator, RandomState or None, default None
        Seed of everything that is drawn at random.
    verbose : bool, default False
        Whether to log progress (``logging.basicConfig(level="INFO")`` shows it).
    callbacks : sequence of callables or None, default None
        Each is called with each row of the history; a true value stops the run.
    checkpoint : path or None, default None
        Folder in which ``fit`` saves its state while it runs.
    resume : bool, default False
        Whether to continue the interrupted fit in that folder.
    """

    max_iter: int = 200
    tol: float = 1e-4
    random_state: Any = None
    verbose: bool | int = False
    callbacks: Sequence[Callback] | None = None
    checkpoint: str | PathLike[str] | None = None
    resume: bool = False

    def _validate_params(self) -> None:
        for name in ("n_components", "n_clusters"):
            if isinstance(getattr(self, name, None), str) and getattr(self, name) == "auto":
                way = f"rectifact.selection.select({type(self).__name__}(), X) chooses one, and has the fitted model."
                raise InputError(f"{name}='auto' is not a number.", way, option=name)
        super()._validate_params()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters that differ from their defaults; arrays by their shapes."""
        return str(BaseEstimator.__repr__(without_arrays(self), N_CHAR_MAX))


def are_names(names: Any, n: int) -> bool:
    """Whether there is one name for each of ``n``, and they do not only count them.

    Examples
    --------
    >>> are_names(["a", "b"], 2), are_names(["1", "2"], 2), are_names(["a"], 2), are_names(None, 2)
    (True, False, False, False)
    """
    return names is not None and len(names) == n and list(map(str, names)) != [str(i + 1) for i in range(n)]


def quiet_copy(estimator: Any, **options: Any) -> Any:
    """An estimator with the same parameters, but for ``options``, for a fit beside its own.

    Such a fit logs nothing, and does not touch the checkpoint and the callbacks of the other.

    Examples
    --------
    >>> from rectifact import NMD
    >>> copy = quiet_copy(NMD(5, verbose=True, checkpoint="state"), n_components=3)
    >>> copy.n_components, copy.verbose, copy.checkpoint
    (3, False, None)
    """
    aside: dict[str, Any] = {"checkpoint": None, "resume": False, "callbacks": None, "verbose": False}
    return clone(estimator).set_params(**aside, **options)
