"""Recover the truth behind non-negative data: decode linearly, rectify, update."""

from rectifact.core.validation import InputError
from rectifact.crowd import DawidSkene, MajorityVote

__version__ = "0.1.0"

__all__ = ["DawidSkene", "InputError", "MajorityVote", "__version__"]
