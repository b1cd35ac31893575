"""Simulated mixtures as instruments see them: spectra, mutation counts, and neurons over a background."""

import numpy as np
from numpy.typing import NDArray

from rectifact.core.validation import check_at_least, check_generator
from rectifact.datasets.generators import Topics
from rectifact.datasets.seeds import RandomState, takes_seed

Floats = NDArray[np.float64]


@takes_seed
def make_spectra(
    n_samples: int = 2000,
    n_features: int = 150,
    n_endmembers: int = 4,
    *,
    snr: float = 30.0,
    purest: float = 0.8,
    random_state: RandomState = 0,
) -> Topics:
    """Pixels that are linear mixtures of smooth spectra, with white noise; no pixel is pure.

    Parameters
    ----------
    n_samples, n_features, n_endmembers : int
        Number of pixels, bands and substances.
    snr : float, default 30
        Signal to noise ratio in dB.
    purest : float, default 0.8
        Largest share of one substance in a pixel; shares are Dirichlet(1/2) below it and sum to one.
    random_state : int, Generator or RandomState, default 0

    Examples
    --------
    >>> pixels = make_spectra(100)
    >>> pixels.X.shape, bool(pixels.weights.max() < 0.8)
    ((100, 150), True)
    """
    check_at_least(1, n_samples=n_samples, n_features=n_features, n_endmembers=n_endmembers)
    rng = check_generator(random_state)
    place = np.linspace(0, 1, n_features)
    parts = np.array([_smooth_spectrum(place, rng) for _ in range(n_endmembers)])
    weights = np.empty((0, n_endmembers))
    while len(weights) < n_samples:
        drawn = rng.dirichlet(np.full(n_endmembers, 0.5), 4 * n_samples)
        weights = np.vstack([weights, drawn[drawn.max(axis=1) < purest]])
    weights = weights[:n_samples]
    X = weights @ parts
    noise = np.sqrt((X**2).mean() / 10 ** (snr / 10))
    return Topics(X + noise * rng.standard_normal(X.shape), weights, parts)


def _smooth_spectrum(place: Floats, rng: np.random.Generator) -> Floats:
    """A sloping line and a few bumps and dips."""
    spectrum = 0.1 + 0.4 * rng.random() + 0.3 * (rng.random() - 0.5) * place
    for _ in range(rng.integers(3, 6)):
        height, centre, width = rng.uniform(-0.3, 0.6), rng.random(), rng.uniform(0.03, 0.2)
        spectrum = spectrum + height * np.exp(-0.5 * ((place - centre) / width) ** 2)
    return np.maximum(spectrum, 0.01)


@takes_seed
def make_signatures(
    n_samples: int = 300,
    n_features: int = 96,
    n_signatures: int = 8,
    *,
    n_flat: int = 2,
    dispersion: float = 0.0,
    random_state: RandomState = 0,
) -> Topics:
    """Counts of mutations: each sample has about half of the signatures, in numbers that differ widely.

    Parameters
    ----------
    n_samples, n_features, n_signatures : int
        Number of genomes, kinds of mutation and signatures.
    n_flat : int, default 2
        Number of signatures without pronounced peaks, which are the hard ones.
    dispersion : float, default 0
        0 draws Poisson counts; above 0 the variance of a count with mean m is ``m + dispersion * m**2``.
    random_state : int, Generator or RandomState, default 0

    Examples
    --------
    >>> counts = make_signatures(50)
    >>> counts.X.shape, bool((counts.X == counts.X.round()).all())
    ((50, 96), True)
    """
    check_at_least(1, n_samples=n_samples, n_features=n_features, n_signatures=n_signatures)
    rng = check_generator(random_state)
    peaked = rng.dirichlet(np.full(n_features, 0.1), n_signatures - n_flat)
    parts = np.vstack([peaked, rng.dirichlet(np.full(n_features, 3.0), n_flat)])
    active = rng.random((n_samples, n_signatures)) < 0.5
    active[~active.any(axis=1), 0] = True
    weights = active * rng.lognormal(5, 1, active.shape)
    means = weights @ parts
    if dispersion:
        means = means * rng.gamma(1 / dispersion, dispersion, means.shape)
    return Topics(rng.poisson(means).astype(float), weights, parts)


@takes_seed
def make_neurons(
    n_samples: int = 2000,
    n_neurons: int = 8,
    *,
    side: int = 20,
    rate: float = 0.15,
    background: float = 1.0,
    random_state: RandomState = 0,
) -> Topics:
    """Frames of a microscope: overlapping neurons that fire and fade, over a constant background, with noise.

    Parameters
    ----------
    n_samples, n_neurons : int
        Number of frames and neurons.
    side : int, default 20
        Height and width of a frame.
    rate : float, default 0.15
        Share of the frames in which a neuron fires.
    background : float, default 1
        Mean of what is present in every frame, next to peaks of about 1 per neuron.
    random_state : int, Generator or RandomState, default 0

    Examples
    --------
    >>> make_neurons(50).X.shape
    (50, 400)
    """
    check_at_least(1, n_samples=n_samples, n_neurons=n_neurons, side=side)
    rng = check_generator(random_state)
    y, x = np.mgrid[:side, :side]
    centres, widths = rng.uniform(2, side - 2, (n_neurons, 2)), rng.uniform(1.5, 2.5, n_neurons)
    discs = [((y - a) ** 2 + (x - b) ** 2) / width**2 for (a, b), width in zip(centres, widths, strict=True)]
    parts = np.exp(-0.5 * np.array(discs)).reshape(n_neurons, -1)
    weights = (rng.random((n_samples, n_neurons)) < rate) * rng.gamma(2.0, 0.5, (n_samples, n_neurons))
    for i in range(1, n_samples):
        weights[i] += 0.7 * weights[i - 1]
    always = background * (1 + 0.5 * np.sin(x.ravel() / 6))
    X = weights @ parts + always
    return Topics(X + 0.1 * rng.standard_normal(X.shape), weights, parts)
