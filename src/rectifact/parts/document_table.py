"""Documents as a table: the topics of each, and how sure they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.parts.topics import clear_documents, have_no_topic


def document_table(
    shares: NDArray[Any],
    about: Mapping[str, NDArray[Any]],
    documents: Any,
    title: str = "document",
    known: NDArray[Any] | None = None,
) -> pd.DataFrame:
    """One row per document: its topics, what else is known ``about`` it, and whether it is clearly about one.

    The share of its largest topic and its residual tell how sure that is, and ``clear`` sums them up. A document of
    which the topics explain nothing has none: a share of next to nothing would be a large one.

    Examples
    --------
    >>> about = {"words": np.array([4, 3]), "residual": np.array([0.7, 0.9999])}
    >>> table = document_table(np.array([[0.25, 0.75], [0.5, 0.5]]), about, ["a", "b"])
    >>> table[["document", "largest_topic", "largest_share", "clear"]]
      document  largest_topic  largest_share  clear
    0        a              2           0.75   True
    1        b           <NA>           0.00  False
    """
    residual = about["residual"]
    shown = np.where(have_no_topic(residual)[:, None], 0, shares)
    table = topics_of_documents(shown.round(6), documents, title, known)
    return table.assign(**about, clear=clear_documents(shares, residual, known))


def topics_of_documents(
    shares: NDArray[Any], documents: Any, title: str, known: NDArray[Any] | None = None
) -> pd.DataFrame:
    """One row per document: name, number and share of its largest topic, share of known words, and of each topic.

    Examples
    --------
    >>> topics_of_documents(np.array([[0.25, 0.75], [0.0, 0.0]]), ["a", "b"], "id")
      id  largest_topic  largest_share  topic1  topic2
    0  a              2           0.75    0.25    0.75
    1  b           <NA>           0.00    0.00    0.00
    """
    table = pd.DataFrame(shares, columns=[f"topic{i + 1}" for i in range(shares.shape[1])])
    largest = pd.array(shares.argmax(axis=1) + 1, dtype="Int64")
    largest[shares.sum(axis=1) <= 0] = pd.NA
    table.insert(0, "sample" if title in table else title, documents)
    table.insert(1, "largest_topic", largest)
    table.insert(2, "largest_share", shares.max(axis=1))
    if known is not None:
        table.insert(3, "known_words", np.round(known, 4))
    return table
