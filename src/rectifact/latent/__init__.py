"""Latent dimensions of sparse data: NMD and logistic PCA."""

from rectifact.latent.estimators import NMD

__all__ = ["NMD"]
