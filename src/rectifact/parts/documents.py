"""Texts as a matrix: read documents from files and count their words."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from rectifact.core.errors import FitWarning, InputError, InputTypeError, count
from rectifact.core.validation import check_at_least, check_option
from rectifact.io.all_rows import AllRows
from rectifact.io.files import reading
from rectifact.io.matrices import NamedMatrix
from rectifact.io.text import NO_TEXT, WINDOWS, decoded, encoding_of, open_bytes, warn_of_windows
from rectifact.parts.markup import without_markup
from rectifact.parts.stop_words import stop_words_of
from rectifact.parts.vocabulary import WORD, Vocabulary, Weighting
from rectifact.parts.word_limits import USUAL_MIN_DF, as_number, limits

PLAIN_TEXT = {".txt", ".text", ".md", ".markdown", ".rst"}
"""Endings of the files of a folder that are documents."""

BEGINNING = 300
"""Letters of each document that are kept, for the report."""


@dataclass(frozen=True, repr=False)
class Corpus(NamedMatrix):
    """Documents by words, with the beginnings of the documents, and what counts the words of others in the same way.

    Attributes
    ----------
    texts : sequence of str
    vocabulary : Vocabulary or None
    known : array of shape (n_documents,), or None
        Of further documents, the share of their words that the vocabulary has.
    common : sequence of str
        Words that were left out because they occur in too many documents, the most frequent first.
    marked : int
        Documents in which HTML tags, entities or web addresses were left out.
    documents : sequence of str
        The whole texts whose words were counted.
    all_rows : AllRows or None
        The rows of the table that they were read from.
    """

    texts: Sequence[str] = ()
    vocabulary: Vocabulary | None = None
    known: NDArray[np.float64] | None = None
    common: Sequence[str] = ()
    marked: int = 0
    documents: Sequence[str] = ()
    all_rows: AllRows | None = None

    def __repr__(self) -> str:
        """Sizes, and how words are weighted."""
        weighting = "" if self.vocabulary is None else f", weighting={self.vocabulary.weighting!r}"
        return f"Corpus({count(self.X.shape[0], 'document')} by {count(self.X.shape[1], 'word')}{weighting})"


def read_documents(path: Path) -> tuple[list[str], NDArray[np.str_]]:
    r"""Read documents from a text file, one per line, or from a folder, one per ``.txt``, ``.md`` or ``.rst`` file.

    Parameters
    ----------
    path : Path
        A file in UTF-8 or with a byte order mark, or a folder, which is searched with its subfolders. Blank lines of a
        file, and lines that hold N/A or the like, are left out with a warning. Text that is not UTF-8 is read as
        Windows-1252, with a warning. A file of the folder that is not text is left out with a warning.

    Returns
    -------
    documents : list of str
    names : array of str
        Line numbers, counted from 1, or the paths of the files within the folder, sorted.

    Raises
    ------
    InputError
        If there is no document, or nothing is text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.txt"
    ...     _ = path.write_text("A good book.\nA dull one.\n")
    ...     read_documents(path)
    (['A good book.', 'A dull one.'], array(['1', '2'], dtype='<U1'))
    """
    if path.is_dir():
        return _read_folder(path)
    text, encoding = _read_text(path)
    if encoding == WINDOWS:
        warn_of_windows(path)
    lines = [line.strip() for line in text.rstrip().split("\n")]
    numbers = [i for i, line in enumerate(lines) if line and line.casefold() not in NO_TEXT]
    if not numbers:
        raise InputError(f"{str(path)!r} holds no document: every line is blank.", "Write one document per line.")
    stand_ins = [line for line in lines if line and line.casefold() in NO_TEXT]
    such = f", {len(stand_ins)} of them with {stand_ins[0]!r} or the like" if stand_ins else ""
    if without := len(lines) - len(numbers):
        warnings.warn(FitWarning(f"{count(without, 'line')} without text left out{such}.", ""), stacklevel=2)
    return [lines[i] for i in numbers], np.array([str(i + 1) for i in numbers])


def is_document(path: Path) -> bool:
    """Whether a file of a folder is read as a document, by its ending; hidden files are not."""
    return path.suffix.lower() in PLAIN_TEXT and not path.name.startswith(".")


def _read_folder(folder: Path) -> tuple[list[str], NDArray[np.str_]]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if is_document(path)}
    texts: dict[str, str] = {}
    wrong: list[InputError] = []
    windows: list[Path] = []
    for name in sorted(name for name, path in files.items() if path.is_file()):
        try:
            texts[name], encoding = _read_text(files[name])
            windows += [files[name]] * (encoding == WINDOWS)
        except InputError as error:
            wrong.append(error)
    if not texts:
        raise (
            wrong[0]
            if wrong
            else InputError(f"The folder {str(folder)!r} has no .txt, .md or .rst file.", "Save each document as one.")
        )
    empty = [name for name, text in texts.items() if not text.strip()]
    if len(empty) == len(texts):
        raise InputError(f"The texts in {str(folder)!r} are all empty.", "Name another folder.")
    if empty:
        what = f"{count(len(empty), 'file')} without text left out: {empty[0]!r}."
        warnings.warn(FitWarning(what, ""), stacklevel=3)
        texts = {name: text for name, text in texts.items() if text.strip()}
    if windows:
        warn_of_windows(windows[0], len(windows))
    if wrong:
        what = f"{count(len(wrong), 'file')} left out: {wrong[0].what}"
        warnings.warn(FitWarning(what, wrong[0].remedy), stacklevel=3)
    return list(texts.values()), np.array([name.encode("utf-8", "replace").decode() for name in texts])  # valid text


def _read_text(path: Path) -> tuple[str, str]:
    """Text of a file, with lines that end in a newline alone, whichever system wrote it, and its encoding."""
    with reading(path, "text"), open_bytes(path) as file:
        content = file.read()
    try:
        encoding = encoding_of(content)
        return decoded(content, encoding), encoding
    except UnicodeError as error:  # UTF-16 without a byte order mark can pass as UTF-8, with zeros
        fault = error.start if isinstance(error, UnicodeDecodeError) else content.find(b"\0")
        line = content.count(b"\n", 0, fault) + 1
        what = f"{str(path)!r} is not UTF-8 text, see its line {line}."
        raise InputError(what, "Save it as plain text in UTF-8.") from error


def count_words(
    documents: Sequence[str],
    *,
    min_df: float = USUAL_MIN_DF,
    max_df: float = 0.5,
    max_words: int = 20_000,
    stop_words: str | None = "english",
    ngrams: int = 1,
    weighting: Weighting = "counts",
    keep_markup: bool = False,
) -> Corpus:
    """Count the words of documents.

    A word has 2 to 100 letters or digits of any script; upper and lower case are the same.

    Parameters
    ----------
    documents : list of str
    min_df : int or float, default 2
        Words in fewer documents are left out; below 1 it is a share of the documents. The default keeps all words of
        fewer than four documents.
    max_df : float or int, default 0.5
        Words in a larger share of the documents are left out, since they do not tell documents apart; above 1 it is a
        number of documents.
    max_words : int, default 20000
        Number of words to keep, the most frequent ones.
    stop_words : str or None, default "english"
        Which words to leave out: those of a language (english, german, french, spanish, italian, portuguese, dutch or
        swedish, or their codes, such as "de"), or those in a text file, by its path; several are separated by commas.
        None keeps all.
    ngrams : int, default 1
        Longest run of words that counts as one, such as 2 for "new york" beside "new" and "york".
    weighting : {"counts", "tfidf", "log"}, default "counts"
        ``"tfidf"`` weights each count by the rarity of its word, and scales each document to length 1; ``"log"`` does
        so with one plus the logarithm of each count, so that a word which fills one document does not fill a topic.
    keep_markup : bool, default False
        Whether to count the words of HTML tags, entities and web addresses, which would make topics of their own.

    Returns
    -------
    Corpus
        Documents by words, a ``csr_array``; ``columns`` are the words in alphabetical order, ``texts`` are the
        beginnings of the documents, and ``vocabulary`` is for :func:`count_known`.

    Raises
    ------
    InputError
        If no word is left; it says which option to relax.

    Examples
    --------
    >>> counted = count_words(["red apple", "green apple tree", "red car", "grey car"], max_df=0.6)
    >>> counted.columns.tolist()
    ['apple', 'car', 'red']
    >>> counted.X.toarray()
    array([[1., 0., 1.],
           [1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 0.]])
    """
    documents, marked = _plain(_checked(documents), not keep_markup)
    check_at_least(1, max_words=max_words, ngrams=ngrams)
    check_option("weighting", weighting, get_args(Weighting))
    fewest, most = limits(min_df, max_df, len(documents))
    left_out = stop_words_of(stop_words)
    options: dict[str, Any] = {"min_df": fewest, "max_df": most, "stop_words": sorted(left_out) if left_out else None}
    options["ngram_range"] = 1, ngrams
    options |= {"max_features": max_words, "token_pattern": WORD, "dtype": np.float64}
    vectorizer = CountVectorizer(**options | {"min_df": 1, "max_df": 1.0, "max_features": None})
    try:
        counts = vectorizer.fit_transform(documents)
    except ValueError as error:
        raise _no_word_left(documents, options) from error
    occurring = np.asarray((counts > 0).sum(axis=0)).ravel()
    common = occurring > as_number(most, len(documents))
    kept = _most_frequent((occurring >= as_number(fewest, len(documents))) & ~common, counts, max_words)
    if not kept.any():
        raise _no_word_left(documents, options)
    X, rarity = counts[:, kept], None
    if weighting != "counts":
        transformer = TfidfTransformer(sublinear_tf=weighting == "log")
        X = transformer.fit_transform(X)
        rarity = transformer.idf_
    X = sp.csr_array(X)
    X.sort_indices()
    found = vectorizer.get_feature_names_out()
    words, stopped = np.array(found[kept], dtype=np.str_), np.array(sorted(left_out or ()), dtype=np.str_)
    seen = "\n".join(word for word in found[~kept] if " " not in word)
    vocabulary = Vocabulary(words, weighting, rarity, ngrams, stopped, seen, without_markup=not keep_markup)
    left = found[common][np.argsort(-occurring[common], kind="stable")].tolist()
    told: dict[str, Any] = {"texts": beginnings(documents), "documents": documents, "common": left, "marked": marked}
    return Corpus(X, columns=words, vocabulary=vocabulary, **told)


def _plain(documents: list[str], wanted: bool) -> tuple[list[str], int]:
    """Documents without markup, if that is wanted, and how many had any."""
    plain = [without_markup(text) for text in documents] if wanted else documents
    return plain, sum(one != other for one, other in zip(plain, documents, strict=True))


def _most_frequent(kept: NDArray[Any], counts: Any, most: int) -> NDArray[Any]:
    """At most so many of the words that are kept, the most frequent ones."""
    if kept.sum() <= most:
        return kept
    total = np.where(kept, np.asarray(counts.sum(axis=0)).ravel(), -1)
    return np.isin(np.arange(len(kept)), np.argsort(-total, kind="stable")[:most])


def count_known(documents: Sequence[str], vocabulary: Vocabulary) -> Corpus:
    """Count the words of further documents as those of an earlier corpus, for ``transform`` of the model fitted to it.

    .. versionadded:: 0.2

    Parameters
    ----------
    documents : list of str
    vocabulary : Vocabulary
        That of the earlier corpus, or of :func:`rectifact.models.load_saved`.

    Returns
    -------
    Corpus
        Documents by the words of the vocabulary; other words do not count. ``known`` is the share of the words of each
        document that do.

    Examples
    --------
    >>> first = count_words(["red apple", "green apple tree", "red car", "grey car"], max_df=0.6)
    >>> count_known(["a car, a red car, a boat"], first.vocabulary).X.toarray()
    array([[0., 2., 1.]])
    """
    documents, marked = _plain(_checked(documents, fewest=1), vocabulary.without_markup)
    X, known, words = vocabulary.count(documents), vocabulary.known_shares(documents), vocabulary.words
    return Corpus(X, columns=words, texts=beginnings(documents), vocabulary=vocabulary, known=known, marked=marked)


def beginnings(documents: Sequence[str]) -> list[str]:
    """The first letters of each document, on one line."""
    return [" ".join(text[: 2 * BEGINNING].split())[:BEGINNING] for text in documents]


def _checked(documents: Sequence[str], fewest: int = 2) -> list[str]:
    if isinstance(documents, str):
        raise InputTypeError("documents is a list of texts; got a single text.", "Split it, for example by lines.")
    if hasattr(documents, "columns"):
        names = ", ".join(repr(str(name)) for name in list(documents.columns)[:5])
        what = f"documents is a list of texts; got a table with the columns {names}."
        raise InputTypeError(what, "Give one of them, such as table['text'].")
    texts = list(documents)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            if text is None or text != text:  # NaN is not equal to itself
                what = f"documents is a list of texts; number {i + 1} is missing."
                raise InputTypeError(what, "Leave it out, as documents.dropna() does for a column of pandas.")
            raise InputTypeError(f"documents is a list of texts; number {i + 1} is of type {kind}.", "Leave it out.")
    if not texts:
        raise InputError("There is no document whose words could be counted.", "Check the file or the filter.")
    what = "There is only one document, and topics show in how documents differ."
    if len(texts) < fewest:
        raise InputError(what, "Give one document per line, or a folder of texts.")
    return texts


def _no_word_left(documents: Sequence[str], options: dict[str, Any]) -> InputError:
    """Error that says which option to relax, found by trying."""
    relaxed: dict[str, Any] = {"min_df": 1, "max_df": 1.0, "stop_words": None}
    share = "max_df=1.0, a share of all documents" if options["max_df"] > 1 else "max_df=1"
    names = {"min_df": "min_df=1", "max_df": share, "stop_words": "stop_words=None"}
    what = f"No word of the {len(documents)} documents is left to count"
    if not _has_words(documents, options | relaxed):
        return InputError(f"{what}: they hold no word of 2 to 100 letters.", "Check that they are texts.")
    changed = [name for name in relaxed if options[name] != relaxed[name]]
    helpful = [names[name] for name in changed if _has_words(documents, options | {name: relaxed[name]})]
    remedy = f"Relax one option: {' or '.join(helpful)}."
    if not helpful:
        remedy = f"Relax the options together: {', '.join(names[name] for name in changed)}."
    command = remedy.replace("stop_words=None", "--all-words")
    return InputError(f"{what}.", remedy, option=("min_df", "max_df"), command=command)


def _has_words(documents: Sequence[str], options: dict[str, Any]) -> bool:
    try:
        CountVectorizer(**options).fit(documents)
    except ValueError:
        return False
    return True
