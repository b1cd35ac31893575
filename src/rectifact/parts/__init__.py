"""Parts of mixtures: AND and Purification, starts, inverses, and the text they are used on."""

from rectifact.parts.estimators import ANDNMF
from rectifact.parts.streaming import PurificationNMF

__all__ = ["ANDNMF", "PurificationNMF"]
