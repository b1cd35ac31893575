"""Topics and images with a known truth, drawn as in the papers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from rectifact.core.errors import InputError
from rectifact.core.reprs import short_repr
from rectifact.core.validation import check_at_least, check_generator, check_option
from rectifact.datasets.seeds import RandomState, takes_seed

TopicKind = Literal["dir", "ctm", "ctm-authors", "groups", "binary", "independent", "neg", "neg-dir", "neg-authors"]


@short_repr
@dataclass(frozen=True)
class LabelledMatrix:
    """Samples in rows and their labels.

    Attributes
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Labels.
    image_shape : tuple of int, or None
        Height and width, if the samples are images.
    """

    X: Any
    y: NDArray[Any]
    image_shape: tuple[int, int] | None = None


@short_repr
@dataclass(frozen=True)
class Topics:
    """Mixtures ``X = weights @ components (+ noise)`` and what they are made of.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
    weights : array of shape (n_samples, n_topics)
    components : array of shape (n_topics, n_features)
    """

    X: NDArray[np.float64]
    weights: NDArray[np.float64]
    components: NDArray[np.float64]


@takes_seed
def make_topics(
    kind: TopicKind = "dir",
    *,
    n_samples: int = 5000,
    n_features: int = 1000,
    n_topics: int = 100,
    components: ArrayLike | None = None,
    noise: float = 0.0,
    sparsity: float | None = None,
    order: float = np.inf,
    correlation: float = 0.0,
    random_state: RandomState = 0,
) -> Topics:
    """Mixtures of parts as in section 7 of Li and Liang (ICML 2017).

    Parameters
    ----------
    kind : {"dir", "ctm", "ctm-authors", "groups", "binary", "independent", "neg", "neg-dir", "neg-authors"}
        Where weights and parts come from, ``"dir"`` by default.

        - ``"dir"``: weights from a Dirichlet distribution with parameters 0.05;
        - ``"ctm"``: logistic normal weights, as in the correlated topic model: logarithms with standard deviation 3,
          each correlated 0.9 with a random mixture of ten factors that all parts share;
        - ``"ctm-authors"``: what the program of the paper's authors draws under that name: logarithms ``C @ C @ g``
          with standard normal C and g, both drawn again for every sample. Their standard deviation is ``n_topics``, so
          nearly every sample consists of one part, and the weights are not correlated beyond that;
        - ``"groups"``: the same with one of ten factors for each part and correlation 0.9 between the parts of one
          factor, which always come together: harder than anything in the paper;
        - ``"binary"``: ``sparsity`` parts of each sample, chosen at random, have the weight one, all others zero
          (Proposition 1);
        - ``"independent"``: each part is there with probability ``sparsity / n_topics``, whatever the others do, with
          the weight one, as in section 5 of Li, Liang and Risteski (NIPS 2016);
        - ``"neg"``: weights as for ``"ctm"``, parts uniform on [-0.5, 0.5); ``"neg-dir"`` and ``"neg-authors"``: such
          parts, with the weights of ``"dir"`` and ``"ctm-authors"``.
    n_samples : int, default 5000
    n_features : int, default 1000
    n_topics : int, default 100
    components : array of shape (n_topics, n_features), default None
        Parts to mix instead of random ones; their shape replaces the two sizes.
    noise : float, default 0
        Level gamma; every entry gets normal noise of standard deviation gamma / sqrt(n_features).
    sparsity : float or None, default None
        Expected number of parts in a sample for ``"binary"`` and ``"independent"``, the sum of the Dirichlet parameters
        for ``"dir"`` and ``"neg-dir"``; None is ``0.05 * n_topics``, and at least one part for ``"binary"``.
    order : float, default infinity
        For ``"binary"`` and ``"independent"``: a part that is there has a weight below w with probability ``w**order``
        (Definition 3). Infinity makes all weights one; 1 makes them uniform.
    correlation : float, default 0
        For ``"independent"``: correlation between the presences of parts 1 and 2, 3 and 4, and so on.
    random_state : int, Generator, RandomState or None, default 0
        Random seed or generator.

    Returns
    -------
    Topics

    Examples
    --------
    >>> topics = make_topics("ctm", n_samples=50, n_features=30, n_topics=4)
    >>> topics.X.shape, bool((topics.weights >= 0).all())
    ((50, 30), True)
    """
    check_option("kind", kind, get_args(TopicKind))
    check_at_least(1, n_samples=n_samples, n_features=n_features, n_topics=n_topics)
    rng = check_generator(random_state)
    if components is not None:
        parts = np.array(components, dtype=float)
        if parts.ndim != 2:
            raise InputError(f"components must have the shape (n_topics, n_features); got {parts.shape}.")
    elif kind.startswith("neg"):
        parts = rng.uniform(-0.5, 0.5, size=(n_topics, n_features))
    else:
        parts = rng.dirichlet(np.full(n_features, 0.1), size=n_topics)
    n_topics, n_features = parts.shape
    if kind.endswith("dir"):
        parameter = 0.05 if sparsity is None else _checked_sparsity(sparsity, np.inf) / n_topics
        weights = rng.dirichlet(np.full(n_topics, parameter), size=n_samples)
    elif kind in ("binary", "independent"):
        n_present = max(0.05 * n_topics, 1.0) if sparsity is None else _checked_sparsity(sparsity, n_topics)
        present = _presences(kind == "binary", n_samples, n_topics, n_present, correlation, rng)
        weights = present * _strengths(present.shape, order, rng)
    elif kind.endswith("authors"):
        weights = _authors_weights(n_samples, n_topics, rng)
    else:
        weights = _correlated_weights(n_samples, n_topics, kind == "groups", rng)
    X = weights @ parts
    if noise:
        X += noise / np.sqrt(n_features) * rng.standard_normal(X.shape)
    return Topics(X, weights, parts)


def _checked_sparsity(value: float, most: float) -> float:
    if not 0 < value <= most:
        limit = "" if np.isinf(most) else f" and at most the {most} parts"
        raise InputError(f"sparsity={value} must be above 0{limit}.", option="sparsity")
    return value


def _presences(
    exact: bool, n_samples: int, n_topics: int, n_present: float, correlation: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """1 where a part is in a sample: exactly ``n_present`` of each sample, or each part for itself or its neighbour."""
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation={correlation} must be between 0 and 1.", option="correlation")
    if exact:
        count = int(n_present)
        if count < 1:
            raise InputError("Samples need at least one part.", "Raise sparsity to 1.", option="sparsity")
        chosen = np.argpartition(rng.random((n_samples, n_topics)), count - 1, axis=1)[:, :count]
        listed = np.zeros((n_samples, n_topics))
        np.put_along_axis(listed, chosen, 1.0, axis=1)
        return listed
    present = np.asarray(rng.random((n_samples, n_topics)) < n_present / n_topics, dtype=float)
    if correlation:
        second = present[:, 1::2]
        copied = rng.random(second.shape) < correlation
        present[:, 1::2] = np.where(copied, present[:, : 2 * second.shape[1] : 2], second)
    return present


def _strengths(shape: tuple[int, ...], order: float, rng: np.random.Generator) -> NDArray[np.float64] | float:
    """Weights of parts that are there: below w with probability ``w**order``."""
    if not order > 0:
        raise InputError(f"order={order} must be above 0.", "Use infinity for weights of one.", option="order")
    return 1.0 if np.isinf(order) else rng.random(shape) ** (1 / order)


def _authors_weights(n_samples: int, n_topics: int, rng: np.random.Generator) -> NDArray[np.float64]:
    logs = np.empty((n_samples, n_topics))
    for sample in logs:
        C = rng.standard_normal((n_topics, n_topics))
        sample[:] = C @ (C @ rng.standard_normal(n_topics))
    return softmax(logs, axis=1)


def _correlated_weights(n_samples: int, n_topics: int, grouped: bool, rng: np.random.Generator) -> NDArray[np.float64]:
    """Logistic normal weights whose logarithms share ten factors; loadings have length 0.9, in groups sqrt(0.9)."""
    n_factors = 10
    if grouped:
        loadings = np.sqrt(0.9) * np.eye(n_factors)[np.arange(n_topics) % n_factors]
    else:
        directions = rng.standard_normal((n_topics, n_factors))
        loadings = 0.9 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    own = np.sqrt(1 - (loadings**2).sum(axis=1)) * rng.standard_normal((n_samples, n_topics))
    return softmax(3 * (rng.standard_normal((n_samples, n_factors)) @ loadings.T + own), axis=1)


def make_dots(*, size: int = 64, grid: int = 32, radius: float = 3.8) -> LabelledMatrix:
    """Binary images of one disc that wraps around the borders, one image for every centre on a grid.

    No matrix of small rank fits them, unless it is followed by a threshold: the textbook case for NMD (Saul 2022,
    section 5.1). Labels number the centres.

    Parameters
    ----------
    size : int, default 64
        Height and width of an image.
    grid : int, default 32
        Number of centres in each direction.
    radius : float, default 3.8
        Radius of the disc, in pixels.

    Returns
    -------
    LabelledMatrix

    Examples
    --------
    >>> dots = make_dots()
    >>> dots.X.shape, int(dots.X.sum(axis=1).max())
    ((1024, 4096), 45)
    """
    check_at_least(1, size=size, grid=grid)
    pixel = np.arange(size)
    offset = np.abs(pixel - (np.arange(grid) * size / grid)[:, None])
    squared = np.minimum(offset, size - offset) ** 2  # (grid, size): distance around the border
    images = squared[:, None, :, None] + squared[None, :, None, :] <= radius**2
    X = sp.csr_array(images.reshape(grid * grid, size * size), dtype=float)
    return LabelledMatrix(X, np.arange(grid * grid), (size, size))


@takes_seed
def make_sprites(n_samples: int = 3812, *, size: int = 64, random_state: RandomState = 0) -> LabelledMatrix:
    """Binary images of a square, an oval or a heart (labels 0, 1, 2) in any place, at any angle and in six sizes.

    Sizes are scaled so that 4.8 % of the pixels are set on average; centres are uniform on the middle half.

    Parameters
    ----------
    n_samples : int, default 3812
    size : int, default 64
        Height and width of an image.
    random_state : int, Generator, RandomState or None, default 0
        Random seed or generator.

    Returns
    -------
    LabelledMatrix

    Examples
    --------
    >>> sprites = make_sprites(300)
    >>> sprites.X.shape, bool(0.045 < sprites.X.mean() < 0.051)
    ((300, 4096), True)
    """
    check_at_least(1, n_samples=n_samples, size=size)
    rng = check_generator(random_state)
    shapes: tuple[Callable[[Any, Any], Any], ...] = (
        lambda u, v: np.maximum(np.abs(u), np.abs(v)) <= 0.85,
        lambda u, v: u**2 / 1.2 + v**2 / 0.6 <= 1,
        lambda u, v: (u**2 + v**2 - 1) ** 3 <= u**2 * v**3,
    )
    fine = np.linspace(-1.5, 1.5, 601)
    areas = [np.mean(shape(*np.meshgrid(fine, fine))) * 9 for shape in shapes]
    relative_sizes = np.linspace(0.5, 1, 6)
    unit = np.sqrt(0.048 * size**2 / np.mean(areas) / np.mean(relative_sizes**2))

    labels = np.arange(n_samples) % len(shapes)
    scales = unit * rng.choice(relative_sizes, size=n_samples)
    angles = rng.uniform(0, 2 * np.pi, size=n_samples)
    centres = rng.uniform(size / 4, 3 * size / 4, size=(n_samples, 2))
    y, x = np.mgrid[:size, :size] + 0.5
    rows = []
    for label, scale, angle, (cx, cy) in zip(labels, scales, angles, centres, strict=True):
        dx, dy = (x - cx) / scale, (y - cy) / scale
        u, v = np.cos(angle) * dx + np.sin(angle) * dy, np.cos(angle) * dy - np.sin(angle) * dx
        rows.append(np.flatnonzero(shapes[label](u, v)))
    indptr = np.cumsum([0, *map(len, rows)])
    X = sp.csr_array((np.ones(indptr[-1]), np.concatenate(rows), indptr), shape=(n_samples, size**2))
    return LabelledMatrix(X, labels, (size, size))
