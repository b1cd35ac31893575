"""Options of rectifact parts that say which words of texts count, and how."""

from collections.abc import Sequence
from typing import Annotated

import typer

from rectifact.core.errors import count
from rectifact.parts.vocabulary import Weighting

PANEL = "Words of texts"
MOST_NAMED = 5

Weight = Annotated[
    Weighting,
    typer.Option(
        metavar="NAME",
        rich_help_panel=PANEL,
        help="How words of texts count: by the logarithm of their number and their rarity (log), by number and rarity "
        "(tfidf), or by number alone (counts).",
    ),
]
Tfidf = Annotated[bool, typer.Option("--tfidf", help="As --weighting tfidf.", hidden=True)]
StopWords = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        rich_help_panel=PANEL,
        help="Drop words such as 'the': those of a language (english, german, french, spanish, italian, portuguese, "
        "dutch, swedish, or a code such as de; several as in german,english), those in a text file, or none.",
    ),
]
AllWords = Annotated[
    bool,
    typer.Option("--all-words", help="Keep all words, as --stop-words none does.", rich_help_panel=PANEL),
]
Ngrams = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="NUMBER",
        rich_help_panel=PANEL,
        help="Longest run of words that counts as one: 2 for 'new york' beside its words.",
    ),
]
MinDf = Annotated[
    float,
    typer.Option(
        "--min-df",
        "--min-documents",
        metavar="NUMBER",
        rich_help_panel=PANEL,
        help="Drop words that occur in fewer documents than this; below 1 it is a share of them.",
    ),
]
MaxDf = Annotated[
    float,
    typer.Option(
        "--max-df",
        "--max-share",
        metavar="NUMBER",
        rich_help_panel=PANEL,
        help="Drop words that occur in a larger share of the documents than this; above 1 it is a number of them.",
    ),
]
MaxWords = Annotated[
    int,
    typer.Option(
        min=1, metavar="NUMBER", rich_help_panel=PANEL, help="Keep at most this many words, the most frequent."
    ),
]

KeepMarkup = Annotated[
    bool,
    typer.Option(
        "--keep-markup",
        rich_help_panel=PANEL,
        help="Count the words of HTML tags, entities and web addresses, which are left out otherwise.",
    ),
]


def names_of(stop_words: str, all_words: bool) -> str | None:
    """What was given as stop words, or None to keep all words."""
    return None if all_words or stop_words == "none" else stop_words


def markup_left_out(number: int) -> str:
    """One sentence about markup in so many documents.

    Examples
    --------
    >>> markup_left_out(12)
    'HTML tags, entities and web addresses left out of 12 documents.'
    """
    return f"HTML tags, entities and web addresses left out of {count(number, 'document')}."


def common_left_out(words: Sequence[str], max_df: float) -> str:
    """One sentence about words, the most frequent first, that occur in too many documents to count.

    Examples
    --------
    >>> common_left_out(["said", "week"], 0.5)
    '2 words in more than 50% of the documents are left out: said, week; --max-df 1 keeps them.'
    """
    limit = f"{100 * max_df:g}% of the documents" if max_df <= 1 else f"{max_df:g} documents"
    listed = ", ".join(words[:MOST_NAMED]) + (", ..." if len(words) > MOST_NAMED else "")
    are, them = ("is", "it") if len(words) == 1 else ("are", "them")
    return f"{count(len(words), 'word')} in more than {limit} {are} left out: {listed}; --max-df 1 keeps {them}."
