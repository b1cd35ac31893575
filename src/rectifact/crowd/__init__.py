"""True labels and annotator quality from the answers of many noisy annotators."""

from rectifact.crowd.aggregators import KOS, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
from rectifact.crowd.answers import Answers
from rectifact.crowd.estimators import DawidSkene
from rectifact.crowd.labels import read_answers
from rectifact.crowd.lazy_answers import LazyAnswers, read_lazy

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
