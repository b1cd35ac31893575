"""Documents in another language than most: they are counted, and their topics are said to be of a language."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from parts.test_unexplained import survey
from rectifact.parts.foreign_rows import foreign_documents, languages_of
from rectifact.parts.languages import other_language
from rectifact.parts.near_copies import repeated_phrases
from rectifact.parts.stop_words import stop_words_of

GERMAN = (
    "das Essen war kalt und die Bedienung nicht sehr freundlich",
    "aber der Preis ist gut mit Parkplatz",
)


def mixed(number):
    """500 documents of which so many are in German, at places of their own."""
    rng = np.random.default_rng(0)
    texts = [f"the {text} was of it and this" for text in survey(20)]
    for i in range(number):
        texts[7 * i] = " ".join(rng.choice(" ".join(GERMAN).split(), 10, replace=False))
    return texts


def test_documents_in_another_language_are_told_from_the_others():
    found = languages_of(mixed(50))
    assert set(found[0:350:7]) == {"german"}
    assert (found == "german").sum() == 50


def test_a_few_foreign_documents_and_names_are_not_worth_a_word():
    assert not languages_of(mixed(4)).astype(bool).any()  # fewer than a hundredth
    names = [f"{text}, by van der Berg and de la Cruz" for text in mixed(0)]
    assert not languages_of(names).astype(bool).any()


def test_only_topics_that_are_mostly_theirs_are_named():
    languages, clear = np.array(["german"] * 4 + [""] * 6), np.ones(10, dtype=bool)
    (spread,) = foreign_documents(languages, np.array([0, 1, 0, 1, 0, 0, 0, 1, 1, 1]), clear, np.arange(10))
    assert spread.severity == "note"
    assert "opic" not in spread.detail
    (apart,) = foreign_documents(languages, np.array([2, 2, 1, 1, 0, 0, 0, 0, 0, 1]), clear, np.arange(10))
    assert apart.severity == "warning"
    assert "Topics 2, 3 are mostly about them" in apart.detail


def test_the_command_names_the_language_and_tells_the_rows_apart(run, tmp_path):
    texts = mixed(50)
    texts = texts[:350:7] + texts[350:]  # a quarter of them: so many have topics of their own
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "mixed.csv", index=False)
    weights = tmp_path / "w.csv"
    said = run("parts", tmp_path / "mixed.csv", "-k", 7, "--weights", weights, "--json")
    found = {one["finding"]: one for one in json.loads(said.out)["findings"]}["documents in another language"]
    assert found["severity"] == "warning"
    assert "50 of 200 documents are in German" in found["detail"]
    table = pd.read_csv(weights)
    (topic,) = table.loc[(table["language"] == "german") & table["clear"], "largest_topic"].unique()
    assert f"Topic {topic} is mostly about them" in found["detail"]
    assert "the column language of --weights" in found["remedy"]


def test_another_language_is_not_a_subject_without_a_topic(run, tmp_path):
    rng = np.random.default_rng(0)
    subjects = ("battery charge power cable", "screen bright pixel glass", "delivery late parcel courier")
    words = [rng.choice(subjects[i % 3].split(), 3, replace=False) for i in range(300)]
    texts = [f"{' '.join(chosen)} and the {rng.choice(['shop', 'phone', 'box', 'week'])}" for chosen in words]
    texts += [f"die Lieferung kam nach {i} Tagen und das Paket war nicht in Ordnung" for i in range(12)]
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "mixed.csv", index=False)
    said = run("parts", tmp_path / "mixed.csv", "-k", 3, "--json", "--report", tmp_path / "page.html")
    found = {one["finding"]: one for one in json.loads(said.out)["findings"]}
    assert found["documents in another language"]["severity"] == "warning"
    assert "12 of 312 documents are in German" in found["documents in another language"]["detail"]
    assert "a subject without a topic" not in found
    assert "a subject without a topic" not in (tmp_path / "page.html").read_text()


HEADER = (
    "CAUTION: This email originated from outside the organization. Do not click links or open attachments unless you "
    "recognize the sender and know the content is safe."
)
SUBJECTS = ("rechnung betrag zahlung konto", "paket lieferung sendung bote", "akku kabel gerät software")
COMMON = "ich habe die und der das ist nicht mit von zu auf eine sie wir aber auch noch schon seit dass wenn es"


def mails(seed, length, headed=3):
    """300 German texts of three subjects; every third one begins with lines in English."""
    rng = np.random.default_rng(seed)
    common = re.findall(r"\w+", COMMON)
    texts = []
    for i in range(300):
        own = SUBJECTS[rng.integers(3)].split()
        text = " ".join(rng.choice(own if rng.random() < 0.35 else common) for _ in range(length))
        texts.append(f"{HEADER} {text}" if headed and i % headed == 0 else text)
    return texts


@pytest.mark.parametrize("length", [40, 90, 400])
def test_lines_in_another_language_do_not_change_the_language_of_a_text(run, tmp_path, length):
    pd.DataFrame({"text": mails(length, length)}).to_csv(tmp_path / "mails.csv", index=False)
    weights = tmp_path / "w.csv"
    options = ("-k", 3, "--text-column", "text", "--stop-words", "german", "--weights", weights, "--json")
    said = run("parts", tmp_path / "mails.csv", *options)
    assert "language" not in pd.read_csv(weights)
    found = {one["finding"]: one for one in json.loads(said.out)["findings"]}
    assert "documents in another language" not in found
    (topics,) = {all(any(w["word"] == "the" for w in topic["words"]) for topic in json.loads(said.out)["topics"])}
    if topics:
        assert found["stop words of another language"]["remedy"] == "Give --stop-words english,german."


def test_code_in_a_long_text_does_not_change_its_language():
    english = " ".join(sorted(stop_words_of("english") - stop_words_of("german")))
    manual = f"{' '.join(sorted(stop_words_of('german')))} " * 3 + english  # more different words of English
    assert not languages_of([manual] * 4 + [f"{GERMAN[0]} {GERMAN[1]}"] * 40).astype(bool).any()


def test_a_word_of_another_language_in_every_topic_is_named_only_with_others_of_it():
    texts, leading = mails(0, 90), [["rechnung", "the"], ["the", "paket"]]
    (found,) = other_language(texts, "german", leading)
    assert found.detail.endswith("not left out among its largest: the.")
    assert found.command == "Give --stop-words english,german."
    assert not other_language(texts, "german,english", leading)
    assert not other_language(texts, "german", [["rechnung", "the"], ["paket"]])
    cars = [f"the car of {word} and this was old" for word in survey(20)]  # "car" is a word of French
    assert not other_language(cars, "english", [["car", "old"], ["car", "new"]])


def test_a_remedy_keeps_the_stop_words_that_were_given():
    texts = ["the dog is not in the house and it was in the garden of her mother"] * 20
    assert other_language(texts, "english") == []
    (found,) = other_language(texts, "german")
    assert found.command == "Give --stop-words english,german."
    phrase = [f"tee{i} tasse{i}" + " Gesendet von meinem Telefon" * (i < 9) for i in range(20)]
    (repeated,) = repeated_phrases(phrase, [["tee1", "tasse1"], ["telefon", "gesendet", "meinem"]], "german")
    assert repeated.command.endswith("give --stop-words german,FILE.")
