"""A Poisson fit where the likelihood is highest, and what it says about weights near zero.

The evidence prefers parts that lie close around the samples, as where samples reach the borders of the simplex between
the parts. Counts around weights that are rarely near zero stay away from those borders, and parts that close in on them
are wrong; the likelihood then knows better.
"""

from rectifact.core.arrays import Array, namespace
from rectifact.core.monitor import Monitor
from rectifact.core.operand import Operand
from rectifact.kernels import poisson_information
from rectifact.parts.fitting import REFINE_TOL
from rectifact.parts.noise import NoiseLaw
from rectifact.parts.refinement import FAINT, Refined, poisson_fit, refine
from rectifact.parts.samples import left_over

SWEEPS, TOL = 3, 1e-7
"""Times as many sweeps as another refinement that this one may take, and the smallest fall of its loss in one sweep."""

BETTER = 1e-3
"""Share by which the loss of another start must be lower to be taken."""

ZEROS = 3.0
"""How many times as many weights must be within :data:`FAINT` standard errors of zero as beyond, within twice as many,
for the former to be zeros: weights that are only small are spread over both."""


def most_likely(
    X: Operand, found: Refined, start: Array | None, *, n_iter: int, missing: bool = False
) -> tuple[bool, Refined]:
    """The fit that a Poisson fit ends in, or the one from least squares after ``start`` if that is more likely.

    Returns whether it is the latter, and the fit.
    """
    n_iter = SWEEPS * n_iter
    best = poisson_fit(X, found.W, found.H, monitor=Monitor(n_iter, tol=TOL), missing=missing)
    if start is None:
        return False, best
    near = refine("nonnegative", X, start, monitor=Monitor(n_iter, tol=REFINE_TOL), missing=missing)
    other = poisson_fit(X, near.W, near.H, monitor=Monitor(n_iter, tol=TOL), missing=missing)
    return (True, other) if other.loss < (1 - BETTER) * best.loss else (False, best)


def has_zeros(X: Operand, found: Refined, law: NoiseLaw) -> bool:
    """Whether weights that noise cannot tell from zero are zeros, and not just the smallest of many small ones."""
    left, total = X.total(left_over, found.H, along=(found.W,))
    variance = float(left) / float(total) * X.shape[1] / law.dimensions
    near, beyond = X.total(_near_zero, found.H, variance, along=(found.W,))
    return float(near) >= ZEROS * float(beyond)


def _near_zero(rows: Array, W: Array, H: Array, variance: float) -> tuple[Array, Array]:
    """How many weights are within so many standard errors of zero, and within twice as many but not within those."""
    xp, squares = namespace(H), W**2 * poisson_information(rows, W, H) / variance
    near, beyond = squares < FAINT**2, squares < (2 * FAINT) ** 2
    return xp.sum(xp.astype(near, H.dtype)), xp.sum(xp.astype(beyond & ~near, H.dtype))
