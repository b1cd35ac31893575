"""Labels without what judges write around them: quotes, brackets, asterisks, a full stop, ``Verdict:``."""

import re

PAIRS = ("**", "__", "'", "`", "*", "_", "‘’", "«»", "[]", "{}", "()", "<>")
"""Marks that stand on both sides of a label: two of a kind, or an opening and a closing one."""

QUOTES = '"“”'
"""Marks that are no part of a label, also if one of two is missing, as where a leading word is cut off."""

ENDS = ".!,;:。"
"""Marks that may end a label; a plus, a minus or a hash is part of one, as in C++ and A-."""

LEAD = re.compile(
    r"""[*_"'`\s]*((my|the|final|overall)\s+)*
    (verdict|answer|label|rating|score|grade|judge?ment|decision|result|classification)
    (\s+is)?[*_"'`\s]*[:=][*_"'`\s]*""",
    re.VERBOSE | re.IGNORECASE,
)
"""What may introduce a label."""

NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


def bare(text: str) -> str:
    r"""A label without marks around it; what consists of marks stays as it is.

    Examples
    --------
    >>> bare("pass."), bare("**pass**"), bare("[[a]]"), bare('{"verdict": "pass"}'), bare("verdict: -1")
    ('pass', 'pass', 'a', 'pass', '-1')
    >>> bare("a-"), bare("c++"), bare("a*"), bare("(1)"), bare("**"), bare("-1"), bare("4.5")
    ('a-', 'c++', 'a*', '(1)', '**', '-1', '4.5')
    """
    if text[:1].isalnum() and text[-1:].isalnum() and ":" not in text and "=" not in text:
        return text
    left, before = text, ""
    while left != before:
        before = left
        for marks in () if left[:1].isalnum() else PAIRS:
            left = _inside(left, marks)
        left = left.strip(QUOTES).rstrip(ENDS).strip()
        led = LEAD.match(left)
        left = left if led is None else left[led.end() :].strip()
    return left if any(letter.isalnum() for letter in left) else text


def _inside(text: str, marks: str) -> str:
    """What stands between two marks; a number in parentheses may be negative."""
    start, end = (marks, marks) if len(marks) == 1 or marks[0] == marks[1] else (marks[0], marks[1])
    if len(text) <= len(start) + len(end) or not (text.startswith(start) and text.endswith(end)):
        return text
    inner = text[len(start) : -len(end)].strip()
    return text if not inner or (marks == "()" and NUMBER.fullmatch(inner)) else inner
