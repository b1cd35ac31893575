"""What parts, samples and features are called: for texts, topics, documents and words."""

import re
from dataclasses import dataclass
from typing import Any

from rectifact.core.errors import count


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
