"""What is odd about the documents whose topics rectifact parts has found."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectifact.cli.part_outputs import Shown
from rectifact.core.findings import Finding
from rectifact.parts.documents import Corpus
from rectifact.parts.languages import other_language
from rectifact.parts.near_copies import copied
from rectifact.parts.short_documents import about_short
from rectifact.parts.topics import repeated_texts
from rectifact.parts.unexplained import hardly_explained, missing_subject


def odd_documents(
    model: Any, corpus: Corpus, shown: Shown, stop_words: str | None, short: NDArray[np.bool_]
) -> list[Finding]:
    """Findings about a corpus; ``short`` documents were not fitted, and only counted."""
    longer, residual = np.flatnonzero(~short), shown.about["residual"]
    X, texts = corpus.X[longer], [corpus.texts[i] for i in longer]
    subject = missing_subject(model, X, residual[longer], shown.names)
    return [
        *hardly_explained(residual[longer], subject),
        *about_short(short, corpus.texts, residual),
        *repeated_texts(texts, X, np.asarray(shown.samples)[longer]),
        *copied(corpus.documents, shown.leading()),
        *other_language(corpus.texts, stop_words, shown.leading()),
    ]
