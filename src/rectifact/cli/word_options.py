"""Options of rectifact parts that say which words of texts count, and how."""

from typing import Annotated

import typer

from rectifact.parts.documents import Weighting

Weight = Annotated[
    Weighting,
    typer.Option(
        help="How words of texts count: by the logarithm of their number and their rarity (log), by number and rarity "
        "(tfidf), or by number alone (counts)."
    ),
]
Tfidf = Annotated[bool, typer.Option("--tfidf", help="As --weighting tfidf.", hidden=True)]
StopWords = Annotated[
    str,
    typer.Option(
        help="Drop words such as 'the': those of a language (english, german, french, spanish, italian, portuguese, "
        "dutch, swedish), those in a text file, or none."
    ),
]
AllWords = Annotated[bool, typer.Option("--all-words", help="Keep all words, as --stop-words none does.")]
Ngrams = Annotated[
    int, typer.Option(min=1, help="Longest run of words that counts as one: 2 for 'new york' beside its words.")
]
MinDf = Annotated[
    float,
    typer.Option(
        "--min-df",
        "--min-documents",
        help="Drop words that occur in fewer documents than this; below 1 it is a share of them.",
    ),
]
MaxDf = Annotated[
    float,
    typer.Option(
        "--max-df",
        "--max-share",
        help="Drop words that occur in a larger share of the documents than this; above 1 it is a number of them.",
    ),
]
MaxWords = Annotated[int, typer.Option(min=1, help="Keep at most this many words, the most frequent.")]
