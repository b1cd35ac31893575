"""Topics of a list of texts, found as ``rectifact parts`` finds them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rectifact.core.arrays import Array
from rectifact.core.errors import InputError, count
from rectifact.core.findings import Finding, findings_table
from rectifact.io.all_rows import AllRows
from rectifact.io.matrices import numbered
from rectifact.io.text import says_something
from rectifact.models import SavedModel, load_saved, save_model
from rectifact.parts import ANDNMF
from rectifact.parts.base import are_few, renumber
from rectifact.parts.corpus_findings import corpus_findings
from rectifact.parts.document_table import document_table
from rectifact.parts.documents import Corpus, count_known, count_words
from rectifact.parts.set_aside import Aside, set_aside
from rectifact.parts.stop_words import languages_left_out
from rectifact.parts.terms import TOPICS, check_possible
from rectifact.parts.topics import about_documents, document_shares, topic_table
from rectifact.parts.vocabulary import Weighting
from rectifact.parts.word_limits import USUAL_MIN_DF
from rectifact.selection import Selection, assess, select


@dataclass(frozen=True, eq=False, repr=False)
class Topics:
    """The topics of a corpus, which :func:`find_topics` returns; :func:`rectifact.write_report` takes it.

    .. versionadded:: 0.2

    Attributes
    ----------
    model : ANDNMF
        Fitted to the documents that were not set aside. Topics are numbered by their share of the corpus.
    corpus : Corpus
        The words of all documents: texts that are empty, or say nothing but ``"."`` or the like, are not among them.
    ids : array of shape (n_documents,)
    aside : Aside
        Which documents were not used to find topics, and why.
    selection : Selection or None
        How the number of topics was chosen, if it was not given.
    """

    model: ANDNMF
    corpus: Corpus
    ids: NDArray[Any]
    aside: Aside
    selection: Selection | None = None

    def __repr__(self) -> str:
        """Sizes of the corpus and number of topics, and what deserves a warning."""
        sizes = f"Topics({TOPICS.sizes(self.corpus.X.shape, len(self.model.components_))})"
        warned = [found for found in self.findings if found.severity != "note"]
        return "\n".join([sizes, *(f"{one.severity}: {one.finding}. {one.detail} {one.remedy}" for one in warned)])

    @cached_property
    def findings(self) -> list[Finding]:
        """The rows of :meth:`diagnose` as objects."""
        stopped = None if self.corpus.vocabulary is None else languages_left_out(self.corpus.vocabulary.stop_words)
        given = self.selection is None
        found = corpus_findings(self.model, self.corpus, self.aside, self.ids, stop_words=stopped, given=given)
        return [*found, *self._without_text()]

    def diagnose(self) -> pd.DataFrame:
        """What could be wrong with the topics, or is odd about the texts, and what to do about it, the worst first.

        These are the findings that the command prints and that the report shows; printed, topics show those that
        deserve a warning.

        Returns
        -------
        DataFrame
            Columns severity (problem, warning or note), finding, detail and remedy.
        """
        return findings_table(self.findings)

    def _without_text(self) -> list[Finding]:
        rows = self.corpus.all_rows
        if rows is None:
            return []
        empty, n = len(rows.names) - len(rows.documents), count(len(rows.names), "text")
        first = rows.names[min(set(range(len(rows.names))) - set(rows.documents))]
        what = f"{empty} of {n} {'is' if empty == 1 else 'are'} missing, empty or say nothing but '.' or the like"
        what += f", such as that of {str(first)!r}; {'it was' if empty == 1 else 'they were'} not counted."
        remedy = f"Nothing to do: {'it has' if empty == 1 else 'they have'} no topic in the table of documents."
        return [Finding("note", "texts without words", what, remedy)]

    def table(self, *, n_words: int = 10, n_examples: int = 3) -> pd.DataFrame:
        """One row per topic, as :func:`rectifact.parts.topics.topic_table` returns it.

        It has the share of each topic, its documents, coherence, stability where it is known, words and examples.
        """
        return topic_table(self.model, self.corpus, n_words=n_words, n_examples=n_examples)

    def documents(self, texts: Sequence[str] | None = None, *, ids: Sequence[Any] | None = None) -> pd.DataFrame:
        """One row per text that was given, or of further ``texts``, as the command's ``--weights`` writes it.

        Parameters
        ----------
        texts : list of str, optional
            Further documents, whose words are counted as those of the corpus.
        ids : sequence of shape (n_documents,), optional
            Their names; numbers from 1 by default.

        Returns
        -------
        DataFrame
            ``document``; ``largest_topic``, missing where a document has none, and ``largest_share``; for further
            documents ``known_words``, the share of their words that the corpus had; the share of each topic, which add
            up to 1; the number of different ``words`` that count; ``residual``, what the topics leave, from 0 to 1; the
            ``language`` if some are in another one than most; and ``clear``, whether it is clearly about its largest
            topic.
        """
        if texts is None and ids is not None:
            raise InputError("ids are the names of further texts, which are not given.", "Give texts, or leave it out.")
        corpus = self.corpus if texts is None else self._counted(texts)
        names = self.ids if texts is None else _names(ids, corpus.X.shape[0])
        W = np.asarray(self.model.transform(corpus.X))
        about = about_documents(self.model, corpus.X, W) | (self.aside.columns if texts is None else {})
        table = document_table(document_shares(W, self.model.components_), about, names, known=corpus.known)
        return table if corpus.all_rows is None else corpus.all_rows.put(table)

    def transform(self, texts: Sequence[str]) -> NDArray[Any]:
        """Weights of the topics in further texts, as ``transform`` of the model returns them for counted words."""
        return np.asarray(self.model.transform(self._counted(texts).X))

    def saved(self) -> SavedModel:
        """The model with all that its report shows."""
        corpus, texts = self.corpus, np.array(self.corpus.texts, dtype=np.str_)
        known: dict[str, Any] = {"texts": texts, "vocabulary": corpus.vocabulary, "selection": self.selection}
        return SavedModel(self.model, corpus.X, corpus.columns, self.ids.astype(str), **known)

    def save(self, path: str | Path) -> None:
        """Save the model with the vocabulary and the beginnings of the texts, as the command's ``--save`` does."""
        save_model(**vars(self.saved()), path=path)

    def _counted(self, texts: Sequence[str]) -> Corpus:
        vocabulary: Any = self.corpus.vocabulary
        return count_known(texts, vocabulary)


def find_topics(
    texts: Sequence[str],
    n_topics: int | Sequence[int] | str = "auto",
    *,
    ids: Sequence[Any] | None = None,
    min_df: float = USUAL_MIN_DF,
    max_df: float = 0.5,
    max_words: int = 20_000,
    stop_words: str | None = "english",
    ngrams: int = 1,
    weighting: Weighting = "log",
    keep_markup: bool = False,
    random_state: int = 0,
) -> Topics:
    """Find the topics of texts; the same ones as ``rectifact parts`` finds in a file of them.

    Documents that are too short, repeat another one, or are among a few in another language, do not take part in
    finding topics and their number. They get topics afterwards, or none. Texts that are missing, empty, or say nothing
    but ``"."``, ``"n/a"`` or the like are not counted; they have no topic.

    .. versionadded:: 0.2

    Parameters
    ----------
    texts : list of str
        The documents; a column of a table of pandas, too.
    n_topics : int, sequence of int or "auto", default "auto"
        How many topics: a number, several such as ``range(2, 31)`` to choose from, or ``"auto"`` to choose.
    ids : sequence of shape (n_documents,), optional
        Names of the documents; numbers from 1 by default.
    min_df, max_df, max_words, stop_words, ngrams, weighting, keep_markup
        Which words count, and how, as in :func:`rectifact.parts.documents.count_words`; ``weighting`` is ``"log"`` by
        default.
    random_state : int, default 0
        Seed, the ``--seed`` of the command.

    Returns
    -------
    Topics

    Examples
    --------
    >>> from rectifact import find_topics
    >>> texts = ["red apple pie", "apple pie", "fast car", "car race fast", "fast race", "pie apple"]
    >>> topics = find_topics(texts, 2)
    >>> [sorted(words) for words in topics.table()["words"]]
    [['car', 'fast', 'race'], ['apple', 'pie']]
    >>> topics.documents(["a pie", "a race"])["largest_topic"].tolist()
    [2, 1]
    """
    counting: dict[str, Any] = {"min_df": min_df, "max_df": max_df, "max_words": max_words, "ngrams": ngrams}
    counting |= {"stop_words": stop_words, "weighting": weighting, "keep_markup": keep_markup}
    numbers, given = _numbers(n_topics), texts if isinstance(texts, str) or hasattr(texts, "columns") else list(texts)
    documents, kept = _with_text(given)
    corpus = count_words(documents, **counting)
    names, aside = _names(ids, len(given)), set_aside(corpus)
    if kept is not None:
        corpus, names = replace(corpus, all_rows=AllRows(names, kept)), names[kept]
    X = corpus.X[aside.used]
    check_possible(numbers, X.shape, TOPICS)
    model, selection = suited_to_texts(ANDNMF(1, random_state=random_state)), None
    if isinstance(numbers, int):
        model.set_params(n_components=numbers).fit(X)
    else:
        selection = select(model, X, numbers, random_state=random_state)
        model, told = selection.estimator, TOPICS.put(selection.reason)
        selection = replace(selection, reason=told, measure=TOPICS.put(selection.measure))
    number_by_share(model, model.transform(corpus.X))
    if not hasattr(model, "stability_") and halves_are_cheap(X, model):
        assess(model, X, random_state=random_state)
    return Topics(model, corpus, names, aside, selection)


def load_topics(path: str | Path) -> Topics:
    """Load topics that :meth:`Topics.save`, or ``rectifact parts --save``, wrote, to find them in further texts.

    Files hold the beginnings of texts only: which documents were set aside, and what only whole texts show, is not
    known any more.

    .. versionadded:: 0.2

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> texts = ["red apple pie", "apple pie", "fast car", "car race fast", "fast race", "pie apple"]
    >>> with TemporaryDirectory() as folder:
    ...     find_topics(texts, 2).save(Path(folder) / "topics.rfx")
    ...     topics = load_topics(Path(folder) / "topics.rfx")
    >>> topics.documents(["a pie", "a race"])["largest_topic"].tolist()
    [2, 1]
    """
    saved = load_saved(path)
    if saved.vocabulary is None or not isinstance(saved.model, ANDNMF) or saved.X is None or saved.texts is None:
        raise InputError(f"{str(path)!r} does not hold topics of texts.", "Load it with rectifact.load_model.")
    texts, n = [str(text) for text in saved.texts], saved.X.shape[0]
    names: dict[str, Any] = {"rows": saved.samples, "columns": saved.features}
    corpus = Corpus(saved.X, **names, texts=texts, vocabulary=saved.vocabulary, documents=texts)
    none = np.zeros(n, dtype=bool)
    aside = Aside(none, none, none, np.full(n, ""))
    return Topics(saved.model, corpus, numbered(saved.samples, n), aside, saved.selection)


def suited_to_texts(model: ANDNMF) -> ANDNMF:
    """The model as it suits texts: least squares gives more coherent topics than a Poisson likelihood."""
    return model.set_params(refine="nonnegative")


def number_by_share(model: Any, W: Array) -> Array:
    """Number topics by their share of the corpus, and return its weights so; the fit leaves near ties in any order."""
    if not model.resolved_.get("refine") or not isinstance(model.init, str):
        return W
    order = np.argsort(-W.sum(axis=0) * model.components_.sum(axis=1), kind="stable")
    renumber(model, order)
    return W[:, order]


def halves_are_cheap(X: Any, model: Any) -> bool:
    """Whether the diagnosis would fit halves of the samples: what it learns about each part is then shown with it."""
    return are_few(X) and X.shape[0] >= 4 * len(model.components_)


def _numbers(n_topics: Any) -> int | list[int] | str:
    """A number of topics, or several to choose from."""
    if isinstance(n_topics, str) and n_topics == "auto":
        return n_topics
    one = isinstance(n_topics, Integral)
    numbers = [n_topics] if one else list(n_topics) if np.ndim(n_topics) == 1 else []
    if not numbers or not all(isinstance(k, Integral) and int(k) >= 1 for k in numbers):
        what = f"n_topics={n_topics!r} is neither a number from 1 on, nor several such as range(2, 31), nor 'auto'."
        raise InputError(what, "Give one of them.")
    return int(numbers[0]) if one else [int(k) for k in numbers]


def _with_text(texts: Any) -> tuple[Any, list[int] | None]:
    """The texts that say something, and their places; None, and all of them as they are, where all do or none does."""
    kept = [i for i, text in enumerate(texts) if not _is_missing(text) and says_something(text)]
    if not isinstance(texts, list) or len(kept) in (0, len(texts)):
        return texts, None
    return [texts[i] for i in kept], kept


def _is_missing(text: Any) -> bool:
    return text is None or text is pd.NA or (isinstance(text, float) and np.isnan(text))


def _names(ids: Sequence[Any] | None, n: int) -> NDArray[Any]:
    names = np.asarray(numbered(None if ids is None else list(ids), n))
    if names.shape != (n,):
        what = f"There are {count(len(names), 'name')} in ids for {count(n, 'document')}."
        raise InputError(what, "Give one for each document.")
    return names
