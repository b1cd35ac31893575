"""All rows of a table of texts, so that outputs keep the place of those without text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class AllRows:
    """The rows of a table, of which some are documents.

    Attributes
    ----------
    names : array of str
    documents : sequence of int
        Places of the documents among the rows.
    beside : dict of str to list
        Other columns of the table, as they are written there, by name.
    """

    names: NDArray[Any]
    documents: Sequence[int]
    beside: dict[str, list[str]] = field(default_factory=dict)

    def spread(self, W: Any) -> NDArray[Any]:
        """One row of an array for each row of the table, with zeros where it has no text.

        Examples
        --------
        >>> AllRows(np.array(["a", "b"]), [1]).spread(np.array([[0.5, 0.5]]))
        array([[0. , 0. ],
               [0.5, 0.5]])
        """
        whole = np.zeros((len(self.names), *np.shape(W)[1:]), dtype=np.asarray(W).dtype)
        whole[list(self.documents)] = W
        return whole

    def put(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of documents with a row for each row of the table that was read, and its columns beside the names.

        Shares and numbers of words are 0 where there is no text, and what is not known is missing.

        Examples
        --------
        >>> table = pd.DataFrame({"id": ["b"], "topic1": [1.0], "words": [3], "residual": [0.5], "clear": [True]})
        >>> AllRows(np.array(["a", "b"]), [1], {"date": ["May", "June"]}).put(table)
          id  date  topic1  words  residual  clear
        0  a   May     0.0      0       NaN  False
        1  b  June     1.0      3       0.5   True
        >>> AllRows(np.array(["a", "b"]), [1]).put(pd.DataFrame({"id": ["b"], "language": ["german"]}))
          id language
        0  a      NaN
        1  b   german
        """
        first, *others = table.columns
        whole = {first: self.names, **self.beside}
        for name in others:
            values = table[name]
            unknown = values.isna().any() or name in {"largest_topic", "known_words", "residual"}
            unknown |= not pd.api.types.is_numeric_dtype(values)  # texts, such as a language
            placed = values.set_axis(list(self.documents)).reindex(range(len(self.names)))
            whole[name] = placed if unknown else pd.Series(self.spread(values.to_numpy()))
        return pd.DataFrame(whole)
