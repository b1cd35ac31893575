"""Parts of mixtures: AND and Purification, starts, inverses, and the text they are used on."""

from rectifact.parts.and_nmf_estimator import ANDNMF
from rectifact.parts.purification_estimator import PurificationNMF

__all__ = ["ANDNMF", "PurificationNMF"]
