"""True labels and the quality of workers, from the answers of many noisy workers."""

from rectifact.crowd.comparisons import KOS, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
from rectifact.crowd.data.answers import Answers
from rectifact.crowd.data.partitions import LazyAnswers, read_lazy
from rectifact.crowd.data.read import read_answers
from rectifact.crowd.dawid_skene import DawidSkene

__all__ = [
    "KOS",
    "Answers",
    "DawidSkene",
    "EigenRatio",
    "GhoshSVD",
    "LazyAnswers",
    "MajorityVote",
    "MinimaxEntropy",
    "read_answers",
    "read_lazy",
]
