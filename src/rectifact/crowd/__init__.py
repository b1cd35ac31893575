"""True labels and annotator quality from the answers of many noisy annotators."""

from rectifact.crowd.estimators import DawidSkene, MajorityVote
from rectifact.crowd.labels import Answers, read_answers

__all__ = ["Answers", "DawidSkene", "MajorityVote", "read_answers"]
