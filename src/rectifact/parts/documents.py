"""Texts as a matrix: read documents from files and count their words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from rectifact.core.errors import InputError, InputTypeError
from rectifact.core.validation import check_at_least, check_option
from rectifact.io.files import reading
from rectifact.io.matrices import NamedMatrix
from rectifact.io.text import encoding_of, open_bytes

WORD = r"(?u)\b\w{2,100}\b"  # anything longer is pasted data, not a word


def read_documents(path: Path) -> tuple[list[str], NDArray[np.str_]]:
    r"""Read documents from a text file, one per line, or from a folder, one per ``.txt`` file.

    Parameters
    ----------
    path : Path
        A file in UTF-8 or with a byte order mark, whose blank lines are skipped, or a folder, which is searched with
        its subfolders.

    Returns
    -------
    documents : list of str
    names : array of str
        Line numbers, counted from 1, or the paths of the files within the folder, sorted.

    Raises
    ------
    InputError
        If there is no document, or the file is not UTF-8 text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.txt"
    ...     _ = path.write_text("A good book.\n\nA dull one.\n")
    ...     read_documents(path)
    (['A good book.', 'A dull one.'], array(['1', '3'], dtype='<U1'))
    """
    if path.is_dir():
        return _read_folder(path)
    lines = _read_text(path).split("\n")
    numbers = [i for i, line in enumerate(lines) if line.strip()]
    if not numbers:
        raise InputError(f"{str(path)!r} holds no document: every line is blank.", "Write one document per line.")
    return [lines[i].strip() for i in numbers], np.array([str(i + 1) for i in numbers])


def _read_folder(folder: Path) -> tuple[list[str], NDArray[np.str_]]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix.lower() == ".txt"}
    names = sorted(name for name, path in files.items() if path.is_file())
    if not names:
        raise InputError(f"The folder {str(folder)!r} has no .txt file.", "Save each document as one.")
    printable = [name.encode("utf-8", "replace").decode() for name in names]  # a file name need not be valid text
    return [_read_text(files[name]) for name in names], np.array(printable)


def _read_text(path: Path) -> str:
    """Text of a file, with lines that end in a newline alone, whichever system wrote it."""
    with reading(path, "text"), open_bytes(path) as file:
        content = file.read()
    try:
        text = content.decode(encoding_of(content))
        fault = -1
    except UnicodeError as error:  # UTF-16 without a byte order mark can pass as UTF-8, with zeros
        text, fault = "", error.start if isinstance(error, UnicodeDecodeError) else content.find(b"\0")
    if fault >= 0:
        line = content.count(b"\n", 0, fault) + 1
        raise InputError(f"{str(path)!r} is not UTF-8 text, see its line {line}.", "Save it as plain text in UTF-8.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_words(
    documents: Sequence[str],
    *,
    min_documents: int = 2,
    max_share: float = 0.5,
    max_words: int = 20_000,
    stop_words: Literal["english"] | None = "english",
    tfidf: bool = False,
) -> NamedMatrix:
    """Count the words of documents.

    A word has 2 to 100 letters or digits of any script; upper and lower case are the same.

    Parameters
    ----------
    documents : list of str
    min_documents : int, default 2
        Words in fewer documents are left out. With fewer than twice as many documents all words are kept.
    max_share : float, default 0.5
        Words in a larger share of the documents are left out, since they do not tell documents apart. Above 0 and at
        most 1.
    max_words : int, default 20000
        Number of words to keep, the most frequent ones.
    stop_words : {"english"} or None, default "english"
        Whether to leave out "the", "and", "of", and so on.
    tfidf : bool, default False
        Whether to weight each count by the rarity of its word, and scale each document to length 1.

    Returns
    -------
    NamedMatrix
        Documents by words, a ``csr_array``; ``columns`` are the words in alphabetical order.

    Raises
    ------
    InputError
        If no word is left; it says which option to relax.

    Examples
    --------
    >>> counted = count_words(["red apple", "green apple tree", "red car", "grey car"], max_share=0.6)
    >>> counted.columns.tolist()
    ['apple', 'car', 'red']
    >>> counted.X.toarray()
    array([[1., 0., 1.],
           [1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 0.]])
    """
    documents = _checked(documents)
    check_at_least(1, min_documents=min_documents, max_words=max_words)
    check_option("stop_words", stop_words, ("english", None))
    if not 0 < max_share <= 1:
        what = f"max_share={max_share!r} must be above 0 and at most 1."
        raise InputError(what, "Give a share of the documents, such as 0.5.", option="max_share")
    fewest = min_documents if len(documents) >= 2 * min_documents else 1
    options = {"min_df": fewest, "max_df": float(max_share), "stop_words": stop_words}
    make = TfidfVectorizer if tfidf else CountVectorizer
    vectorizer = make(**options, max_features=max_words, token_pattern=WORD, dtype=np.float64)
    try:
        X = sp.csr_array(vectorizer.fit_transform(documents))
    except ValueError as error:
        raise _no_word_left(documents, options) from error
    X.sort_indices()
    return NamedMatrix(X, columns=np.array(vectorizer.get_feature_names_out(), dtype=np.str_))


def _checked(documents: Sequence[str]) -> list[str]:
    if isinstance(documents, str):
        raise InputTypeError("documents is a list of texts; got a single text.", "Split it, for example by lines.")
    texts = list(documents)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputTypeError(f"documents is a list of texts; number {i + 1} is of type {kind}.", "Leave it out.")
    if not texts:
        raise InputError("There is no document whose words could be counted.", "Check the file or the filter.")
    return texts


def _no_word_left(documents: Sequence[str], options: dict[str, Any]) -> InputError:
    """Error that says which option to relax, found by trying."""
    relaxed: dict[str, Any] = {"min_df": 1, "max_df": 1.0, "stop_words": None}
    names = {"min_df": "min_documents=1", "max_df": "max_share=1", "stop_words": "stop_words=None"}
    what = f"No word of the {len(documents)} documents is left to count"
    if not _has_words(documents, relaxed):
        return InputError(f"{what}: they hold no word of 2 to 100 letters.", "Check that they are texts.")
    changed = [name for name in relaxed if options[name] != relaxed[name]]
    helpful = [names[name] for name in changed if _has_words(documents, options | {name: relaxed[name]})]
    remedy = f"Relax one option: {' or '.join(helpful)}."
    if not helpful:
        remedy = f"Relax the options together: {', '.join(names[name] for name in changed)}."
    command = remedy.replace("stop_words=None", "--all-words")
    return InputError(f"{what}.", remedy, option=("min_documents", "max_share"), command=command)


def _has_words(documents: Sequence[str], options: dict[str, Any]) -> bool:
    try:
        CountVectorizer(**options, token_pattern=WORD).fit(documents)
    except ValueError:
        return False
    return True
