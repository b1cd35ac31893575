"""Documents without a topic: one number, the same in the table, on the terminal, in --json and in the report."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from rectifact import ANDNMF
from rectifact.parts.documents import count_words
from rectifact.parts.without_topic import without_topic

THEMES = ("cat dog bird horse cow", "piano violin cello flute harp", "bread butter cheese jam honey")


def texts_with_all_kinds(seed):
    """Three subjects, and documents of every kind that has no topic."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(THEMES[i % 3].split(), size=8)) for i in range(150)]
    texts += ["zebra", "zebra"]  # a word of its own: too short
    texts += ["the and of", "and so on", "42"]  # no word that counts
    strange = [f"word{chr(97 + j)}" for j in range(20)]
    texts += [f"{' '.join(rng.permutation(strange))} {rng.choice(['', 'cat'])}" for _ in range(4)]
    return [texts[i] for i in rng.permutation(len(texts))]


@pytest.mark.parametrize("seed", range(3))
def test_all_places_have_the_number_of_documents_without_a_topic(run, tmp_path, seed):
    texts = texts_with_all_kinds(seed)
    pd.DataFrame({"id": [f"d{i}" for i in range(len(texts))], "text": texts}).to_csv(tmp_path / "t.csv", index=False)
    weights, page, model = tmp_path / "w.csv", tmp_path / "page.html", tmp_path / "m.rfx"
    files = ("--weights", weights, "--report", page, "--save", model)
    said = run("parts", tmp_path / "t.csv", "-k", 3, "--text-column", "text", *files, "--json")
    table, summary = pd.read_csv(weights), json.loads(said.out)
    none = table["largest_topic"].isna()
    assert none.sum() > (table["words"] == 0).sum() + 2  # all kinds are there
    total = f"{none.sum()} of {len(texts)} documents have no topic"
    empty, brief = (table["words"] == 0).sum(), (none & (table["words"] == 1)).sum()
    assert summary["without_topics"] == none.sum()
    (found,) = [one["detail"] for one in summary["findings"] if one["finding"] == "documents without a topic"]
    assert found.startswith(total)
    rest = none.sum() - empty - brief
    for part in (f"{empty} ha(s|ve) no word that counts", f"{brief} (is|are) too short", f"{rest} ha(s|ve) a residual"):
        assert re.search(rf"\b{part}", found)
    assert found in said.err
    assert found in html.unescape(page.read_text())
    run("report", model, "-o", tmp_path / "again.html")
    assert found in html.unescape((tmp_path / "again.html").read_text())
    again = run("parts", tmp_path / "t.csv", "--model", model, "--text-column", "text", "--json")
    assert json.loads(again.out)["without_topics"] == none.sum()
    assert f"{none.sum()} of them without any" in again.err


def test_a_diagnosis_in_python_counts_them_too():
    corpus = count_words(texts_with_all_kinds(0))
    model = ANDNMF(3, refine="nonnegative", random_state=0).fit(corpus.X)
    found = model.diagnose(corpus.X, halves=False, texts=True).set_index("finding")["detail"]
    assert "documents have no topic" in found["documents without a topic"]
    X = corpus.X[np.diff(corpus.X.indptr) > 1]
    themes = X[np.asarray((X[:, np.isin(corpus.columns, "".join(THEMES).split())] > 0).sum(axis=1)).ravel() > 1]
    apart = ANDNMF(3, refine="nonnegative", random_state=0).fit(themes)
    assert "documents without a topic" not in set(apart.diagnose(themes, halves=False, texts=True)["finding"])


def test_one_document_is_in_the_singular():
    (found,) = without_topic(np.array([4, 4]), np.array([0.99996, 0.5]), np.zeros(2, dtype=bool))
    reason = "1 has a residual of 0.9995 or more, so that the topics explain next to nothing of it."
    assert found.detail == f"1 of 2 documents has no topic: {reason}"
    assert found.command == "Look at it: it has no largest topic in --weights. More topics may cover it (-k)."
