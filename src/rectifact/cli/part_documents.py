"""What is odd about the documents whose topics rectifact parts has found."""

from dataclasses import replace
from typing import Any

from rectifact.cli.part_outputs import Shown, rows_of
from rectifact.cli.terminal import progress, say
from rectifact.core.findings import Finding
from rectifact.parts.documents import Corpus
from rectifact.parts.how_many import MOST
from rectifact.parts.near_copies import near_copies
from rectifact.parts.set_aside import Aside
from rectifact.parts.short_documents import OF_A_WORD
from rectifact.parts.without_topic import WITHOUT_TOPIC


def copies_first(matrix: Any, how_many: int | range | str) -> list[Finding] | None:
    """Say before the search for the number of topics if texts from templates make that meaningless.

    None where nothing was looked for: the number is given, or these are not texts.
    """
    if isinstance(how_many, int) or not isinstance(matrix, Corpus):
        return None
    with progress("comparing texts"):
        found = near_copies(matrix.documents, MOST)
    for finding in found:
        say(finding.on_command_line())
    return found


def with_languages(shown: Shown, matrix: Any, aside: Aside | None) -> Shown:
    """The same with the rows of the table, and the language of each document, if some are not in that of most."""
    shown = replace(shown, rows=rows_of(matrix))
    return shown if aside is None else replace(shown, about={**shown.about, **aside.columns})


def say_findings(findings: list[Finding], said: list[Finding] | None) -> None:
    """All but the notes, and those about documents that were not fitted or have no topic.

    Those that were ``said`` before are not repeated.
    """
    for finding in (one for one in findings if one not in (said or ())):
        if finding.severity != "note" or finding.finding in (WITHOUT_TOPIC, OF_A_WORD):
            say(finding.on_command_line())
