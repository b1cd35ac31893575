"""What parts, samples and features are called: for texts, topics, documents and words."""

import re
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from rectifact.core.errors import InputError, count


@dataclass(frozen=True)
class Terms:
    """Words for messages, tables and reports.

    Examples
    --------
    >>> TOPICS.sizes((79, 1887), 8)
    '79 documents, 1887 words, 8 topics'
    """

    part: str = "part"
    sample: str = "sample"
    feature: str = "feature"
    whole: str = "data"

    def sizes(self, shape: Any, n_parts: int) -> str:
        """Samples, features and parts with their numbers, for a sentence."""
        nouns = zip((*shape, n_parts), (self.sample, self.feature, self.part), strict=True)
        return ", ".join(count(number, noun) for number, noun in nouns)

    def put(self, text: str) -> str:
        """A sentence about parts, samples and features in these words.

        Examples
        --------
        >>> TOPICS.put("8 parts of the samples' features recur.")
        "8 topics of the documents' words recur."
        """
        return re.sub(r"\b(part|sample|feature)(?=s?\b)", lambda found: getattr(self, found[1]), text)


PARTS = Terms()
TOPICS = Terms("topic", "document", "word", "corpus")


def check_possible(how_many: Any, shape: Any, terms: Terms) -> None:
    """Refuse more parts than samples or features, of which some would be empty; several numbers are chosen from.

    Examples
    --------
    >>> check_possible(8, (5, 20), TOPICS)
    Traceback (most recent call last):
    rectifact.core.errors.InputError: 8 topics cannot be told apart in 5 documents. Give a number well below 5, or ...
    """
    most, names = min(shape), (terms.sample, terms.feature)
    if isinstance(how_many, Integral) and how_many > most:
        few = count(most, names[int(np.argmin(shape))])
        raise InputError(
            f"{how_many} {terms.part}s cannot be told apart in {few}.",
            f"Give a number well below {most}, or 'auto' to let the data choose.",
            command=f"Give a number well below {most} with -k, or leave it out to let the data choose.",
        )
