"""Latent dimensions of sparse data: NMD and logistic PCA."""

from rectifact.latent.held_out import held_out_score, hide_entries
from rectifact.latent.logistic_pca_estimator import LogisticPCA
from rectifact.latent.nmd_estimator import NMD

__all__ = ["NMD", "LogisticPCA", "held_out_score", "hide_entries"]
