"""Which language texts are in, as far as stop words and letters tell it: findings with a remedy."""

import re
from collections import Counter
from collections.abc import Sequence

from rectifact.core.findings import Finding
from rectifact.parts.stop_words import CODES, LANGUAGES, stop_words_of

TELLING, FEWEST, MOST_TEXTS = 0.1, 4, 500
"""Share of the words that stop words of a language must have to tell that texts are in it, and how many different ones;
texts looked at."""

USUAL = "english"
"""What is left out where nobody asked for a language: another one may take its place, but not that of a given list."""

LEADING = 4
"""Stop words among the ten largest words of a topic that make it a topic of a language."""

REPEATED = 0.03
"""Share of the documents in which a word occurs often."""

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïñòóôõöùúûüÿßœª\u00b5º")
"""Letters of the languages that have a list."""

FOREIGN = 0.05
"""Share of the words with other letters that tells a language without a list: names and quotations have less."""

UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which are written without spaces between words."""


def other_language(texts: Sequence[str], name: str | None, leading: Sequence[Sequence[str]] = ()) -> list[Finding]:
    """Findings about words of a language that are not left out; ``leading`` are the largest words of each topic.

    Examples
    --------
    >>> other_language(["Der Hund ist nicht im Haus, und die Katze auch nicht."], "english")[0].command
    'Give --stop-words german, or german,english if texts are in both.'
    >>> other_language(["The dog is not in the house, and neither is the cat."], "english")
    []
    >>> other_language([""], "french", [["dpkg", "paquet"], ["the", "to", "of", "is", "group"]])[0].detail
    'Topic 2 is led by words of English that are not left out: the, to, of, is.'
    """
    split = [re.findall(r"[^\W\d_]{2,}", text.lower()) for text in texts[:MOST_TEXTS]]
    words = Counter(word for own in split for word in own)
    if found := _unspaced(words):
        return found
    if name is None:
        return []
    led = _led_by_stop_words(leading, name) or _in_each_topic(leading, split, name)
    return _many_stop_words(words, name) or led or _no_list(words, name)


def _unspaced(words: Counter[str]) -> list[Finding]:
    letters = sum(len(word) * times for word, times in words.items())
    unspaced = sum(len(UNSPACED.findall(word)) * times for word, times in words.items())
    if unspaced <= TELLING * letters:
        return []
    detail = (
        f"{unspaced / letters:.0%} of the letters belong to a script such as Japanese, Chinese or Thai, which has no "
        "spaces between words, so that whole phrases count as one word."
    )
    remedy = "Separate the words by spaces first, with a program for the language."
    return [Finding("warning", "a script without spaces between words", detail, remedy)]


def _many_stop_words(words: Counter[str], name: str) -> list[Finding]:
    known, total = stop_words_of(name) or frozenset(), max(words.total(), 1)
    lists = {language: stop_words_of(language) or frozenset() for language in LANGUAGES}
    shares = {language: sum(words[word] for word in own - known) / total for language, own in lists.items()}
    language = max(shares, key=lambda one: shares[one])
    if shares[language] < TELLING or sum(words[word] > 0 for word in lists[language] - known) < FEWEST:
        return []
    detail = f"{shares[language]:.0%} of the words are stop words of {language.capitalize()} that are not left out."
    in_both = name != USUAL or sum(words[word] for word in known) / total >= shares[language] / 2
    return [_leave_out(detail, language, name, in_both)]


def _led_by_stop_words(leading: Sequence[Sequence[str]], name: str) -> list[Finding]:
    """A topic that words of another language lead, or several topics that have some of them among their largest."""
    known = stop_words_of(name) or frozenset()
    lists = {language: (stop_words_of(language) or frozenset()) - known for language in LANGUAGES}
    found = [
        (len(own), -i, language, own)
        for i, top in enumerate(leading)
        for language, words in lists.items()
        if len(own := [word for word in top if word in words]) >= LEADING
    ]
    if found:
        _, i, language, own = max(found)
        led = f"Topic {1 - i} is led by words of {language.capitalize()} that are not left out: {', '.join(own)}."
        return [_leave_out(led, language, name, in_both=True)]
    spread = {language: _among(leading, words) for language, words in lists.items()}
    language = max(spread, key=lambda one: len(spread[one]))
    if len(spread[language]) < LEADING:
        return []
    some = ", ".join(spread[language])
    led = f"Topics have words of {language.capitalize()} that are not left out among their largest: {some}."
    return [_leave_out(led, language, name, in_both=True)]


def _in_each_topic(leading: Sequence[Sequence[str]], split: list[list[str]], name: str) -> list[Finding]:
    """A word of another language that every topic has, as where many texts begin with the same lines in it.

    That some documents have several others, too, tells it from a word such as "car", which is one of French.
    """
    known, documents = stop_words_of(name) or frozenset(), Counter(word for own in split for word in set(own))
    for language in LANGUAGES if len(leading) > 1 else ():
        words = (stop_words_of(language) or frozenset()) - known
        in_all = [word for word in leading[0] if word in words and all(word in top for top in leading)]
        often = [word for word in words if documents[word] >= REPEATED * len(split)]
        if in_all and len(often) >= FEWEST:
            led = f"Each topic has words of {language.capitalize()} that are not left out among its largest: "
            return [_leave_out(f"{led}{', '.join(in_all)}.", language, name, in_both=True)]
    return []


def _among(leading: Sequence[Sequence[str]], words: frozenset[str]) -> list[str]:
    """Different words of a list among the largest of all topics."""
    return list(dict.fromkeys(word for top in leading for word in top if word in words))


def _leave_out(detail: str, language: str, name: str, in_both: bool) -> Finding:
    both = f"{language},{name}"
    python, command = f"Give stop_words={both!r}.", f"Give --stop-words {both}."
    if not in_both:
        python = f"Give stop_words={language!r}, or {both!r} if texts are in both."
        command = f"Give --stop-words {language}, or {both} if texts are in both."
    return Finding("warning", "stop words of another language", detail, python, command)


def _no_list(words: Counter[str], name: str) -> list[Finding]:
    """Texts with letters that none of the languages has, unless they have a list of their own."""
    if not all(one.strip().lower() in (*LANGUAGES, *CODES) for one in name.split(",")):
        return []
    foreign = sum(times for word, times in words.items() if not LETTERS.issuperset(word))
    if foreign <= FOREIGN * words.total():
        return []
    detail = (
        f"{foreign / words.total():.0%} of the words have letters of none of the languages whose stop words are known, "
        "so that words such as 'and' may lead topics."
    )
    remedy = "Give stop_words the path of a text file with such words of the language, or lower max_df."
    command = "Give --stop-words a text file with such words of the language, or lower --max-df."
    return [Finding("warning", "a language without a list of stop words", detail, remedy, command)]
