"""Recover the truth behind non-negative data: decode linearly, rectify, update."""

from rectifact.core.errors import InputError
from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
from rectifact.graph import SymNMF, SymNMFNet, similarity_graph
from rectifact.latent import NMD, LogisticPCA
from rectifact.models import load_model, save_model
from rectifact.parts import ANDNMF, PurificationNMF

__version__ = "0.1.0"

__all__ = [
    "ANDNMF",
    "KOS",
    "NMD",
    "DawidSkene",
    "EigenRatio",
    "GhoshSVD",
    "InputError",
    "LogisticPCA",
    "MajorityVote",
    "MinimaxEntropy",
    "PurificationNMF",
    "SymNMF",
    "SymNMFNet",
    "__version__",
    "load_model",
    "save_model",
    "similarity_graph",
]
