"""Latent dimensions of sparse data: NMD and logistic PCA."""

from rectifact.latent.estimators import NMD
from rectifact.latent.logistic_estimator import LogisticPCA

__all__ = ["NMD", "LogisticPCA"]
