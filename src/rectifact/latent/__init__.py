"""Latent dimensions of sparse data: NMD and logistic PCA."""

from rectifact.latent.held_out import hide_entries
from rectifact.latent.logistic_pca_estimator import LogisticPCA
from rectifact.latent.nmd_estimator import NMD

__all__ = ["NMD", "LogisticPCA", "hide_entries"]
