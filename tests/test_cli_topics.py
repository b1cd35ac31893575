"""rectifact parts on texts: one numbering, shares, warnings in every output, and models that are used again."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rectifact import load_model
from rectifact.cli import how_many
from rectifact.models import load_saved
from rectifact.parts.document_table import topics_of_documents
from rectifact.parts.documents import count_known
from rectifact.parts.unexplained import hardly_explained

THEMES = ["bank money loan credit rate", "ball goal team match coach", "star planet orbit moon comet"]
JARGON = r"(?i)\b(parts?|samples?|features?|n_components|n_features)\b|=True|lambda"


@pytest.fixture
def news(tmp_path):
    """Texts on three themes; the second is the most common, and the first the rarest."""
    rng = np.random.default_rng(0)
    themes = rng.choice(3, size=120, p=[0.2, 0.5, 0.3])
    texts = [" ".join(rng.choice(THEMES[i].split(), size=15)) for i in themes]
    table = pd.DataFrame({"id": [f"n{i}" for i in range(120)], "text": texts, "theme": themes})
    table.to_csv(tmp_path / "news.csv", index=False)
    return tmp_path / "news.csv"


@pytest.fixture
def chatter(tmp_path):
    """Texts on the same themes in which most words are drawn at random: more topics than themes are there by chance."""
    rng = np.random.default_rng(0)
    letters = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrs"]
    texts = [" ".join([*rng.choice(THEMES[i % 3].split(), size=5), *rng.choice(letters, size=15)]) for i in range(120)]
    pd.DataFrame({"id": [f"n{i}" for i in range(120)], "text": texts}).to_csv(tmp_path / "chatter.csv", index=False)
    return tmp_path / "chatter.csv"


def test_topics_have_one_number_in_every_output(run, news, tmp_path):
    files = {name: tmp_path / name for name in ("t.npz", "words.csv", "weights.csv", "m.rfx", "r.html")}
    said = run(
        *("parts", news, "-k", 3, "--text-column", "text", "-o", files["t.npz"], "--words", files["words.csv"]),
        *("--weights", files["weights.csv"], "--save", files["m.rfx"], "--report", files["r.html"]),
    )
    rows = [re.findall(r"[a-z]+|[0-9.]+%?", line) for line in said.out.splitlines() if "%" in line]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    shares = [float(row[1].rstrip("%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    themes = [next(i for i, theme in enumerate(THEMES) if row[-1] in theme) for row in rows]
    assert themes == [1, 2, 0]
    summary = json.loads(run("parts", news, "-k", 3, "--text-column", "text", "--json").out)
    words = pd.read_csv(files["words.csv"])
    for i, topic in enumerate(summary["topics"]):
        assert topic["topic"] == i + 1
        assert topic["share"] == pytest.approx(shares[i] / 100, abs=6e-4)
        assert 0.5 < topic["coherence"] <= 1
        told = [word["word"] for word in topic["words"]]
        assert told == words.loc[words["topic"] == i + 1, "word"].tolist()
        assert set(told[:3]) <= set(THEMES[themes[i]].split())
    weights, truth = pd.read_csv(files["weights.csv"]), pd.read_csv(news)
    assert_allclose(weights.filter(regex="^topic").sum(axis=1), 1, atol=1e-5)
    assert weights["id"].tolist() == truth["id"].tolist()
    assert np.mean([themes[i - 1] for i in weights["largest_topic"]] == truth["theme"]) > 0.95
    assert_allclose(np.load(files["t.npz"])["components"], load_model(files["m.rfx"]).components_)
    page = files["r.html"].read_text()
    assert "topic 1" in page
    said = re.sub(r"\S+/\S+", "", said.err)
    assert not re.search(JARGON, said.replace("components, features, weights, samples, stability", "")), said


def test_warnings_are_the_same_on_the_terminal_in_json_and_in_the_report(run, chatter, tmp_path):
    said = run("parts", chatter, "-k", 8, "--text-column", "text", "--json", "--report", tmp_path / "r.html")
    warned = [found for found in json.loads(said.out)["findings"] if found["severity"] != "note"]
    assert "topics that two halves do not share" in [found["finding"] for found in warned]
    page = (tmp_path / "r.html").read_text()
    for found in warned:
        assert f"{found['severity']}: {found['finding']}. {found['detail']} {found['remedy']}" in said.err
        assert found["detail"] in page
        assert not re.search(JARGON, " ".join(found.values()))


def test_stability_that_the_warning_knows_is_shown_with_each_topic(run, chatter, tmp_path):
    fit = ("parts", chatter, "-k", 8, "--text-column", "text", "--report", tmp_path / "r.html")
    shown, page = run(*fit), (tmp_path / "r.html").read_text()
    assert "by split" in shown.out
    topics = json.loads(run(*fit, "--json").out)["topics"]
    for topic in topics:
        assert f"stability {topic['stability']:.2f}" in page
    unstable = [f"{topic['topic']} ({topic['stability']:.2f}" for topic in topics if topic["stability"] < 0.6]
    assert unstable
    assert all(one in shown.err for one in unstable)
    assert "are found again in resampled data: --stability" not in page


def test_markup_makes_no_topic_of_its_own(run, news, tmp_path):
    table = pd.read_csv(news)
    table.loc[::2, "text"] += " <br>&nbsp;<br> http://shop.example.com/x"
    table.to_csv(tmp_path / "marked.csv", index=False)
    fit = ("parts", tmp_path / "marked.csv", "-k", 4, "--text-column", "text", "--top", 30, "--json")
    said = run(*fit, "--save", tmp_path / "m.rfx")
    left_out = f"HTML tags, entities and web addresses left out of {len(table.loc[::2])} documents"
    assert f"{left_out}; --keep-markup keeps them." in said.err

    def words(said):
        return {word["word"] for topic in json.loads(said.out)["topics"] for word in topic["words"]}

    markup = {"br", "nbsp", "http", "shop", "example", "com"}
    assert not markup & words(said)
    assert markup & words(run(*fit, "--keep-markup", "--max-df", 1))
    weights = ("--model", tmp_path / "m.rfx", "--weights")
    assert f"{left_out}." in run("parts", tmp_path / "marked.csv", *weights, tmp_path / "marked_weights.csv").err
    assert "HTML" not in run("parts", news, *weights, tmp_path / "plain_weights.csv").err
    assert (tmp_path / "marked_weights.csv").read_text() == (tmp_path / "plain_weights.csv").read_text()


def test_new_documents_need_a_new_model_for_more_topics():
    (new,), (fitted,) = (hardly_explained(np.ones(3), new=new) for new in (True, False))
    assert "-k" not in new.command
    assert "a new model with more topics" in new.command
    assert "more topics may help (-k)" in fitted.command


def test_few_documents_do_not_confirm_topics_that_predict_best(run, tmp_path):
    rng = np.random.default_rng(1)
    themes = [[f"{letter}{i}" * 3 for i in range(25)] for letter in "abcdef"]
    common = [f"common{i}" for i in range(30)]
    texts = [" ".join([*rng.choice(themes[i % 6], 8), *rng.choice(common, 6)]) for i in range(72)]
    (tmp_path / "few.txt").write_text("\n".join(texts))
    said = run("parts", tmp_path / "few.txt", "--json")
    summary = json.loads(said.out)
    assert summary["parts"] == 1
    warned = [found for found in summary["findings"] if found["severity"] == "warning"]
    assert [found["finding"] for found in warned] == ["no stable structure"]
    smallest = r"[567] is the smallest number of topics that predicts as well as any, but they do not recur in both "
    assert re.match(f"{smallest}halves of the 72 documents", warned[0]["detail"])
    table = pd.DataFrame(summary["selection"]["table"]).query("k > 1").dropna(subset="stability")
    most = table.loc[table["stability"].astype(float).idxmax()]
    assert most["k"] in (5, 6, 7)  # as planted, and never one that predicts well and is not stable
    look = f"Look at -k {most['k']:.0f}, the most stable above 1 (mean stability {most['stability']:.2f}), or add"
    assert warned[0]["remedy"] == f"{look} documents."


def test_where_few_topics_are_stable_the_most_stable_larger_numbers_are_named(run, tmp_path):
    """Two subjects with six themes each, of ten documents: the subjects recur, and twelve more than others."""
    rng = np.random.default_rng(0)
    subjects = [[f"{letter}{i}" * 3 for i in range(20)] for letter in "xy"]
    themes = [[f"{letter}{i}" * 3 for i in range(25)] for letter in "abcdefghijkl"]
    texts = [" ".join([*rng.choice(subjects[i % 2], 9), *rng.choice(themes[i % 12], 7)]) for i in range(120)]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    said = run("parts", tmp_path / "texts.txt", "--json", "--report", tmp_path / "r.html")
    choice = json.loads(said.out)["selection"]
    assert choice["best"] == 2
    stability = {row["k"]: row["stability"] for row in choice["table"] if row["stability"] and row["k"] > 2}
    first, second = sorted(stability, key=stability.get)[:-3:-1]
    assert first in (11, 12)
    assert choice["reason"].startswith("More than 2 topics predict better, but halves of the documents agree best on 2")
    named = (
        f"The most stable numbers above 2 are {first} ({stability[first]:.2f}) and {second} ({stability[second]:.2f})."
    )
    for shown in (said.err, re.sub("<[^>]*>", "", (tmp_path / "r.html").read_text())):  # options are marked on a page
        assert named in shown
        assert f"To see more topics, try -k {first} or -k {second}." in shown


def test_a_saved_model_weighs_its_topics_in_new_texts(run, news, tmp_path):
    model = tmp_path / "m.rfx"
    run("parts", news, "-k", 3, "--text-column", "text", "--save", model, "--weights", tmp_path / "old.csv")
    said = run("parts", news, "--text-column", "text", "--model", model, "--weights", tmp_path / "again.csv")
    old, again = (pd.read_csv(tmp_path / name) for name in ("old.csv", "again.csv"))
    assert (again.pop("known_words") == 1).all()
    pd.testing.assert_frame_equal(old, again, atol=1e-5)
    assert (
        "knows 100% of the words of a text on average, not counting those that were left out; 15 of its 15 words occur"
        in said.err
    )
    (tmp_path / "new.txt").write_text("the bank and its money\nthe team of the match\nnothing known\n")
    lines = run("parts", tmp_path / "new.txt", "--model", model).out.splitlines()
    assert lines[0] == "document,largest_topic,largest_share,known_words,topic1,topic2,topic3,words,residual,clear"
    assert [line.split(",")[1] for line in lines[1:]] == ["3", "1", ""]
    saved = load_saved(model)
    W = saved.model.transform(count_known(["a goal for the team"], saved.vocabulary).X)
    assert W.argmax() == 0
    summary = json.loads(
        run("parts", tmp_path / "new.txt", "--model", model, "--json", "--report", tmp_path / "n.html").out
    )
    assert summary["documents"] == 3
    assert summary["without_topics"] == 1
    assert "the bank and its money" in (tmp_path / "n.html").read_text()


def test_weights_tell_how_sure_the_topics_of_a_document_are(run, tmp_path):
    """A document of one known word fits perfectly or not at all; figures are those of the matrix of words."""
    texts = [
        "bank money loan rate",
        "bank money rate",
        "goal team match",
        "team goal goal",
        "money loan team match",
    ] * 8
    texts.append("unheard")
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    files = "--weights", tmp_path / "w.csv", "--save", tmp_path / "m.rfx"
    run("parts", tmp_path / "texts.txt", "-k", 2, "--max-df", 1, *files)
    table, saved = pd.read_csv(tmp_path / "w.csv"), load_saved(tmp_path / "m.rfx")
    X = saved.X.toarray()
    left = X - saved.model.transform(saved.X) @ saved.model.components_
    assert table["words"].tolist() == (X > 0).sum(axis=1).tolist()
    assert_allclose(table["residual"][:-1], np.linalg.norm(left, axis=1)[:-1], atol=1e-4)  # of rows of length 1
    assert np.isnan(table["residual"].iloc[-1])
    assert table["words"].iloc[-1] == 0
    assert_allclose(table["largest_share"], table.filter(regex="^topic").max(axis=1))


def test_documents_that_the_topics_hardly_explain_are_counted_everywhere(run, news, tmp_path):
    """Short texts whose words have nothing to do with the topics get a largest topic as well, by a stray word."""
    rng, page, weights, model = np.random.default_rng(0), tmp_path / "r.html", tmp_path / "w.csv", tmp_path / "m.rfx"
    others = [f"word{i}" for i in range(400)]
    texts = pd.read_csv(news)["text"].tolist()
    texts += [" ".join([*rng.choice(others, 6), rng.choice(THEMES[i % 3].split())]) for i in range(80)]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    files = "--weights", weights, "--report", page, "--save", model
    said = run("parts", tmp_path / "texts.txt", "-k", 3, "--json", *files)
    table, summary = pd.read_csv(weights), json.loads(said.out)
    hardly = table["residual"] >= 0.99
    assert hardly[:120].sum() == 0
    assert hardly[120:].sum() > 40
    sentence = f"{hardly.sum()} of 200 documents are hardly explained by the topics"
    again = run("parts", tmp_path / "texts.txt", "--model", model, "--weights", tmp_path / "again.csv").err
    run("report", model, "-o", tmp_path / "later.html")
    details = " ".join(found["detail"] for found in summary["findings"] if found["severity"] == "warning")
    for shown in (said.err, details, page.read_text(), (tmp_path / "later.html").read_text(), again):
        assert sentence in shown
    assert "more topics may help (-k)" in said.err
    assert "a new model with more topics, fitted without --model" in again
    assert "(-k)" not in again  # which is refused there
    clear = table[~hardly & (table["largest_share"] >= 0.4)]["largest_topic"].value_counts()
    assert [topic["documents"] for topic in summary["topics"]] == [clear[i] for i in (1, 2, 3)]
    assert "hardly explained" not in run("parts", news, "-k", 3, "--text-column", "text").err


def test_a_subject_without_a_topic_is_named_everywhere(run, tmp_path):
    """Twelve of 150 answers are about parking, and too few to be explained by three topics."""
    rng, page, model = np.random.default_rng(0), tmp_path / "r.html", tmp_path / "m.rfx"
    themes = [*(theme.split() for theme in THEMES), ["parking", "car", "garage", "spaces", "ticket"]]
    texts = [" ".join(rng.choice(themes[i % 3 if i < 138 else 3], size=6)) for i in range(150)]
    (tmp_path / "survey.txt").write_text("\n".join(texts))
    said = run("parts", tmp_path / "survey.txt", "-k", 3, "--json", "--report", page, "--save", model)
    (found,) = [one for one in json.loads(said.out)["findings"] if one["finding"] == "a subject without a topic"]
    assert "12 of 150 documents are hardly explained" in found["detail"]
    assert set(found["detail"].rstrip(".").split("topic: ")[1].split(", ")) == set(themes[3])
    assert found["remedy"].startswith("Give -k 4, which has a topic for ")
    run("report", model, "-o", tmp_path / "later.html")
    for shown in (said.err, page.read_text(), (tmp_path / "later.html").read_text()):
        assert found["detail"] in shown
    again = run("parts", tmp_path / "survey.txt", "--model", model, "--weights", tmp_path / "w.csv").err
    assert found["detail"] in again
    assert "Fit a new model, without --model, to texts that have this subject." in again
    assert "without a topic" not in run("parts", tmp_path / "survey.txt", "-k", 4).err


def test_words_of_a_signature_that_made_a_topic_can_be_left_out(run, news, tmp_path):
    table = pd.read_csv(news)
    table.loc[::4, "text"] += "\n--\nAnna Schmidt, Head of Customer Care, Harbour Street"
    table.to_csv(tmp_path / "mails.csv", index=False)
    page, fit = tmp_path / "r.html", ("parts", tmp_path / "mails.csv", "--text-column", "text", "-k", 4)
    said = run(*fit, "--json", "--report", page)
    (found,) = [one for one in json.loads(said.out)["findings"] if "repeat" in one["finding"]]
    assert "'anna schmidt head of customer care harbour street' (30 documents)" in found["detail"]
    assert found["finding"] in said.err
    assert found["finding"] in page.read_text()
    words = tmp_path / "signature.txt"
    words.write_text("anna schmidt head customer care harbour street".replace(" ", "\n"))
    again = run(*fit, "--stop-words", f"english,{words}")
    assert "repeat" not in again.err
    assert "schmidt" not in again.out


def test_low_coherence_of_titles_is_no_reason_to_warn(run, news, tmp_path):
    """Words of one subject rarely share a title, and a topic looked as if it had no subject."""
    rng, page = np.random.default_rng(0), tmp_path / "r.html"
    subjects = [[f"{name}{i}" for i in range(60)] for name in ("bank", "ball", "star")]
    texts = [" ".join(rng.choice(subjects[i % 3], 4)) for i in range(300)]
    (tmp_path / "titles.txt").write_text("\n".join(texts))
    said = run("parts", tmp_path / "titles.txt", "-k", 3, "--report", page).err
    assert "a low or negative coherence does not by itself mean that a topic is bad" in said
    assert "a low or negative coherence does not by itself mean that a topic is bad" in page.read_text()
    assert "without a subject" not in said
    assert "negative coherence" not in run("parts", news, "-k", 3, "--text-column", "text").err


def test_quiet_prints_no_topics_where_files_have_them(run, news, tmp_path):
    chosen = "parts", news, "-k", 3, "--text-column", "text"
    said = run("-q", *chosen, "--weights", tmp_path / "w.csv")
    assert (said.out, said.err) == ("", "")
    assert "bank" in run("-q", *chosen).out


def test_a_column_of_short_texts_may_be_read_as_texts(run, tmp_path):
    (tmp_path / "short.csv").write_text("id,text\n1,der\n2,the and\n3,a\n")
    assert "Read it as texts with --text-column text" in run("parts", tmp_path / "short.csv", expect=2).err


def test_new_texts_with_a_new_subject_are_found(run, news, tmp_path):
    model, weights, page = tmp_path / "m.rfx", tmp_path / "w.csv", tmp_path / "new.html"
    run("parts", news, "-k", 3, "--text-column", "text", "--save", model)
    new = pd.DataFrame({"id": ["old", "garden", "nothing"], "text": ["bank loan rate", "tulips seeds soil ball", "2"]})
    new.to_csv(tmp_path / "new.csv", index=False)
    said = run("parts", tmp_path / "new.csv", "--text-column", "text", *("--model", model, "--weights", weights))
    table = pd.read_csv(weights)
    assert_allclose(table["known_words"], [1, 0.25, np.nan])
    assert "less than half of the words of one document of 3, 'garden'" in said.err
    assert "1 document with no word but those that the fit left out is not among them." in said.err
    run("parts", tmp_path / "new.csv", "--text-column", "text", *("--model", model, "--report", page))
    text = page.read_text()
    assert "3 topics in 3 new documents" in text
    assert "those of the model m.rfx" in text
    assert "documents with few known words" in text
    assert "-k auto" not in text
    assert "1 document without known words is at its end" in text
    summary = json.loads(run("parts", tmp_path / "new.csv", "--text-column", "text", "--model", model, "--json").out)
    assert summary["known_words"] == [1.0, 0.25, None]
    assert "1 of 3 documents is clearly about a topic of the model, and 2 not" in said.err
    assert (summary["clear_documents"], table["clear"].tolist()) == (1, [True, False, False])
    expected = ["documents with few known words", "documents without a topic"]  # the third has no known word
    assert [found["finding"] for found in summary["findings"]] == expected
    assert summary["without_topics"] == 1


def test_a_saved_model_remembers_the_column_of_texts(run, news, tmp_path):
    table = pd.read_csv(news)
    table["title"] = "some words of " + table["text"].str[:20]
    table.to_csv(tmp_path / "both.csv", index=False)
    run("parts", tmp_path / "both.csv", "-k", 3, "--text-column", "text", "--save", tmp_path / "m.rfx")
    apply = "--model", tmp_path / "m.rfx", "--weights", tmp_path / "w.csv"
    assert "120 documents from 'text'" in run("parts", tmp_path / "both.csv", *apply).err
    assert "120 documents from 'title'" in run("parts", tmp_path / "both.csv", "--text-column", "title", *apply).err
    table.rename(columns={"text": "body"})[["id", "body"]].to_csv(tmp_path / "other.csv", index=False)
    assert "120 documents from 'body'" in run("parts", tmp_path / "other.csv", *apply).err


def test_words_that_the_fit_left_out_are_not_unknown(run, news, tmp_path):
    """Every document has "said" and "week" several times, and some have words that no other one has."""
    texts = pd.read_csv(news)["text"]
    texts = [f"said week said week said {text[:12]} once{i} again{i}" for i, text in enumerate(texts)]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    (tmp_path / "new.txt").write_text("said week bank tulips\nonce3 week money")
    model, weights = tmp_path / "m.rfx", tmp_path / "w.csv"
    said = run("parts", tmp_path / "texts.txt", "-k", 3, "--save", model).err
    assert "2 words in more than 50% of the documents are left out: said, week; --max-df 1 keeps them." in said
    assert "left out" not in run("parts", tmp_path / "texts.txt", "-k", 3, "--max-df", 1).err
    said = run("parts", tmp_path / "texts.txt", "--model", model, "--weights", weights).err
    assert "knows 100% of the words" in said
    assert "few known words" not in said
    assert (pd.read_csv(weights)["known_words"] == 1).all()
    run("parts", tmp_path / "new.txt", "--model", model, "--weights", weights)
    assert pd.read_csv(weights)["known_words"].tolist() == [0.5, 1]


def test_documents_with_the_same_text_are_counted_and_shown_once(run, news, tmp_path):
    table = pd.read_csv(news)
    copies = pd.concat([table, table.iloc[[3] * 40]], ignore_index=True)
    copies["id"] = [f"n{i}" for i in range(len(copies))]
    copies.to_csv(tmp_path / "copies.csv", index=False)
    page = tmp_path / "r.html"
    said = run("parts", tmp_path / "copies.csv", "--text-column", "text", "-k", 3, "--report", page).err
    assert "41 of 160 documents have the same text as another one, 41 of them that of 'n3'" in said
    assert page.read_text().count(table["text"][3]) <= 2  # on one card, and in its title
    assert "same text" not in run("parts", news, "--text-column", "text", "-k", 3).err


def test_a_saved_model_weighs_its_parts_in_new_samples_by_name(run, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame((rng.random((60, 3)) < 0.5) * rng.random((60, 3)) @ rng.random((3, 6)), columns=list("abcdef"))
    X.to_csv(tmp_path / "x.csv", index=False)
    X[list("fedcba")].assign(g=1.0).to_csv(tmp_path / "turned.csv", index=False)
    model = tmp_path / "m.rfx"
    run("parts", tmp_path / "x.csv", "-k", 3, "--save", model, "--weights", tmp_path / "w.csv")
    said = run("parts", tmp_path / "turned.csv", "--model", model, "--weights", tmp_path / "again.csv")
    assert "1 column that the model does not have left out" in said.err
    assert_allclose(pd.read_csv(tmp_path / "w.csv"), pd.read_csv(tmp_path / "again.csv"), atol=1e-6)
    run("parts", tmp_path / "x.csv", "--model", model, "--shares", "--weights", tmp_path / "s.csv")
    shares = pd.read_csv(tmp_path / "s.csv").filter(regex="^part").sum(axis=1)
    assert_allclose(shares[shares > 0], 1)
    X[list("abcde")].to_csv(tmp_path / "short.csv", index=False)
    mistakes = {
        "1 column of the model is not in the data: 'f'": ("short.csv", "--model", model),
        "-k is for finding parts": ("x.csv", "--model", model, "-k", 2),
        "--save is for finding parts": ("x.csv", "--model", model, "--save", tmp_path / "n.rfx"),
        "was not fitted to texts": ("new.txt", "--model", model),
    }
    (tmp_path / "new.txt").write_text("some running text\nand more of it\n")
    for message, (name, *options) in mistakes.items():
        said = run("parts", tmp_path / name, *options, expect=2).err
        assert message in said
        assert said.splitlines()[-1].startswith("rectifact: ")


@pytest.mark.parametrize(
    "option",
    ["--method and", "--stop-words none", "--min-df 3", "--tfidf", "--seed 1", "--top 5", "--resume", "--image 3x5"],
)
def test_options_that_a_saved_model_would_ignore_are_refused(run, news, tmp_path, option):
    model = tmp_path / "m.rfx"
    run("parts", news, "--text-column", "text", "-k", 3, "--save", model)
    said = run("parts", news, "--text-column", "text", "--model", model, *option.split(), expect=2).err
    assert f"{option.split()[0]} is for finding parts, and --model has them. Leave one of them out." in said


def test_documents_are_counted_by_their_largest_topic(run, news, tmp_path):
    page, table = tmp_path / "r.html", tmp_path / "documents.csv"
    options = ("parts", news, "--text-column", "text", "-k", 3, "--weights", table, "--report", page)
    summary = json.loads(run(*options, "--json").out)
    counted = pd.read_csv(table)["largest_topic"].value_counts()
    for topic in summary["topics"]:
        assert topic["documents"] == counted[topic["topic"]]
        assert f"clearly the largest topic in {topic['documents']} documents" in page.read_text()
    said = run(*options).out
    assert "documents" in said.splitlines()[2]
    assert "Documents: those in which it is clearly the largest topic" in said


def test_more_topics_than_documents_are_refused(run, news):
    said = run("parts", news, "-k", 200, "--text-column", "text", expect=2).err
    assert "200 topics cannot be told apart in 15 words. Give a number well below 15 with -k" in said


def test_one_table_goes_to_the_standard_output(run, news):
    said = run("parts", news, "-k", 3, "--text-column", "text", "--weights", "-")
    assert said.out.startswith("id,largest_topic,largest_share,topic1")
    assert said.out.count("\n") == 121
    assert "largest words" in said.err
    twice = ("parts", news, "-k", 3, "--text-column", "text", "--weights", "-", "--json")
    assert "The standard output takes one of" in run(*twice, expect=2).err


def test_names_that_occur_twice_are_kept_and_mentioned(run, news, tmp_path):
    table = pd.read_csv(news)
    table.loc[[3, 4], "id"] = "twice"
    table.to_csv(tmp_path / "again.csv", index=False)
    said = run("parts", tmp_path / "again.csv", "-k", 3, "--weights", tmp_path / "w.csv")
    assert "1 name of documents used more than once, as 'twice', and kept" in said.err
    assert pd.read_csv(tmp_path / "w.csv")["id"].tolist() == table["id"].tolist()


def test_a_first_column_with_a_few_repeated_names_names_the_documents(run, news, tmp_path):
    table = pd.read_csv(news).rename(columns={"id": "Ticket No."})
    pd.concat([table, table.iloc[[5]]]).to_csv(tmp_path / "tickets.csv", index=False)
    said = run("parts", tmp_path / "tickets.csv", "-k", 3).err
    assert "named by 'Ticket No.'; 1 name of documents used more than once, as 'n5', and kept" in said


def test_all_columns_of_text_are_named_at_once(run, tmp_path, rng):
    table = pd.DataFrame(rng.random((20, 4)), columns=list("abcd"))
    table.insert(0, "probe", [f"p{i}" for i in range(20)])
    table.insert(1, "measured", "01.03.2025 x")
    table.insert(3, "who is it", "AK")
    table.to_csv(tmp_path / "x.csv", index=False)
    said = run("parts", tmp_path / "x.csv", "-k", 2, expect=2).err
    assert "'who is it' does not hold numbers either" in said
    assert "--drop 'measured,who is it'" in said
    run("parts", tmp_path / "x.csv", "-k", 2, "--drop", "measured,who is it")


def test_a_survey_with_several_numbers_is_told_how_to_read_its_answers(run, tmp_path):
    answers = ["pay more please", "the hours are long", "buy faster laptops"]
    table = pd.DataFrame(
        {"Respondent": np.arange(1000, 1060), "Department": ["HR", "IT"] * 30, "Score": [1, 2, 5] * 20}
    )
    table["What should we improve?"] = [f"{answers[i % 3]} {i % 7}" for i in range(60)]
    table.to_csv(tmp_path / "survey.csv", index=False)
    said = run("parts", tmp_path / "survey.csv", "-k", 3, expect=2).err
    assert "has texts in 'What should we improve?', and 2 columns of numbers" in said
    assert "--text-column 'What should we improve?'" in said
    run("parts", tmp_path / "survey.csv", "-k", 3, "--text-column", "What should we improve?")


def test_folders_of_other_files_and_languages(run, news, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for i, text in enumerate(pd.read_csv(news)["text"][:40]):
        (folder / f"{i}.md").write_text(f"nicht {text}")
    (folder / "bad.md").write_bytes(b"caf\xe9\x00")
    said = run("parts", folder, "-k", 3, "--stop-words", "de", "--json")
    assert "40 documents, one per .md file. 1 file left out: " in said.err
    assert json.loads(said.out)["features"] == 15
    assert "stop_words='xx'" not in run("parts", folder, "-k", 3, "--stop-words", "xx", expect=2).err


def test_the_choice_is_on_the_first_screen(run, news, tmp_path):
    said = run("parts", news, "--text-column", "text", "--save", tmp_path / "m.rfx", "--report", tmp_path / "r.html")
    reason = load_saved(tmp_path / "m.rfx").selection.reason
    assert reason in said.err
    page = (tmp_path / "r.html").read_text()
    assert page.index(reason) < page.index("Topics, with the largest words of each")
    assert "seconds" not in said.err
    rng = np.random.default_rng(1)
    noise = [" ".join(rng.choice([f"word{i}" for i in range(200)], size=12)) for _ in range(80)]
    (tmp_path / "noise.txt").write_text("\n".join(noise))
    said = run("parts", tmp_path / "noise.txt", "--json", "--report", tmp_path / "r.html")
    assert "no stable structure" in [found["finding"] for found in json.loads(said.out)["findings"]]
    page = (tmp_path / "r.html").read_text()
    assert page.index("No stable structure") < page.index("Topics, with the largest words of each")


def test_a_document_without_a_topic_has_no_largest_one():
    table = topics_of_documents(np.array([[0.25, 0.75], [0.0, 0.0]]), ["a", "b"], "id")
    assert table["largest_topic"].isna().tolist() == [False, True]


def template(i):
    colour = ["red", "blue", "green", "grey"][i % 4]
    return f"The {colour} parcel {i} that I ordered on day {i % 28} has not arrived yet today"


def test_a_search_that_takes_long_says_so_and_near_copies_come_first(run, tmp_path, monkeypatch):
    (tmp_path / "t.txt").write_text("\n".join(template(i) for i in range(60)))
    assert "Choosing the number" not in run("parts", tmp_path / "t.txt", "--text").err
    monkeypatch.setattr(how_many, "Patience", partial(how_many.Patience, due=0.0))
    said = run("parts", tmp_path / "t.txt", "--text", "--json")
    assert said.err.count("warning: documents with nearly the same text") == 1
    assert 0 < said.err.index("nearly the same text") < said.err.index("Choosing the number (-k)")
    assert sum(one["finding"] == "documents with nearly the same text" for one in json.loads(said.out)["findings"]) == 1
    assert "Choosing the number" not in run("parts", tmp_path / "t.txt", "--text", "-k", 2).err


def test_an_id_and_one_column_of_short_titles_are_texts(run, tmp_path):
    rng = np.random.default_rng(0)
    titles = [" ".join(rng.choice(THEMES[i % 3].split(), rng.integers(1, 4), replace=False)) for i in range(90)]
    file = tmp_path / "titles.csv"
    pd.DataFrame({"id": range(1, 91), "subject": titles}).to_csv(file, index=False)
    assert "Read as texts: 90 documents from 'subject', named by 'id'" in run("parts", file, "-k", 3).err
    pd.DataFrame({"id": range(1, 91), "subject": [title.split()[0] for title in titles]}).to_csv(file, index=False)
    said = run("parts", file, "-k", 3, expect=2).err
    assert "Read it as texts with --text-column subject." in said
    assert "--drop" not in said
