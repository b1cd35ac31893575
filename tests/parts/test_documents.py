import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from rectifact import ANDNMF
from rectifact.core.errors import FitWarning, InputError, InputTypeError
from rectifact.parts.documents import count_known, count_words, read_documents
from rectifact.parts.features import stray_features
from rectifact.parts.languages import other_language
from rectifact.parts.stop_words import stop_words_of
from rectifact.parts.topics import topic_table

SEA = ["ships sail the sea", "the sea has waves", "waves rock ships"]
LAND = ["roads cross the land", "land bears trees", "trees shade roads"]


@pytest.mark.parametrize(
    "content", ["one\ntwo two\n\n  \n three\n", "one\r\ntwo two\r\n\r\n  \r\n three", "one\rtwo two\r\r\rthree"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_every_line_is_a_document_named_by_its_number(tmp_path, content, encoding):
    (tmp_path / "x.txt").write_bytes(content.encode(encoding))
    with pytest.warns(FitWarning, match=r"^2 lines without text left out\.$"):
        documents, names = read_documents(tmp_path / "x.txt")
    assert documents == ["one", "two two", "three"]
    assert names.tolist() == ["1", "2", "5"]


def test_only_line_ends_separate_documents(tmp_path):
    lines = ["=cmd()", "שלום עולם", "数据 été", "a\x0bb\x0cc\x85d\u2028e", '"quoted, text"\tand more']
    (tmp_path / "odd").write_text("\n".join(lines), encoding="utf-8")
    documents, names = read_documents(tmp_path / "odd")
    assert documents == lines
    assert names.tolist() == ["1", "2", "3", "4", "5"]


def test_a_folder_has_one_document_per_text_file(tmp_path):
    texts = {"b.txt": "bee\nline", "a/z.txt": "deep", "a/שלום.TXT": "peace", "a.txt": "ay", "a/=cmd().txt": "odd"}
    texts |= {"notes.md": "# a note", "guide.rst": "a guide"}
    for name, text in {**texts, "a/x.txt.bak": "no", "txt": "no", ".hidden.txt": "no", "page.html": "no"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(("\ufeff" + text).encode())
    (tmp_path / "folder.txt").mkdir()
    documents, names = read_documents(tmp_path)
    assert names.tolist() == ["a.txt", "a/=cmd().txt", "a/z.txt", "a/שלום.TXT", "b.txt", "guide.rst", "notes.md"]
    assert documents == [texts[name] for name in names]


def test_empty_files_of_a_folder_are_left_out(tmp_path):
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(InputError, match="are all empty"):
        read_documents(tmp_path)
    (tmp_path / "full.txt").write_text("a text")
    with pytest.warns(FitWarning, match=r"1 file without text left out: 'empty\.txt'"):
        documents, names = read_documents(tmp_path)
    assert documents == ["a text"]
    assert names.tolist() == ["full.txt"]


def test_one_unreadable_file_of_a_folder_is_left_out_and_named(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF")
    (tmp_path / "good.txt").write_text("tea")
    with pytest.warns(FitWarning, match=r"1 file left out: '.*bad.txt' is not UTF-8 text, see its line 1"):
        documents, names = read_documents(tmp_path)
    assert (documents, names.tolist()) == (["tea"], ["good.txt"])


@pytest.mark.parametrize("weighting", ["counts", "tfidf", "log"])
def test_known_words_are_counted_as_in_their_corpus(weighting):
    texts = ["New York is big", "new york, New Jersey", "old york and a new ship", "the ship sails"]
    corpus = count_words(texts, min_df=1, max_df=1.0, ngrams=2, weighting=weighting)
    again = count_known(texts, corpus.vocabulary)
    assert_allclose(again.X.toarray(), corpus.X.toarray())
    assert again.columns.tolist() == corpus.columns.tolist()
    other = count_known(["An unknown word in New York", "nothing here"], corpus.vocabulary).X
    assert set(corpus.columns[other[[0]].indices]) >= {"new", "york", "new york"}
    assert other[[1]].nnz == 0


def test_markup_does_not_count_in_a_corpus_and_in_further_documents():
    marked = [f'<p class="intro">{text}</p><br>&nbsp;http://shop.example.com/x?y=1' for text in [*SEA, *LAND]]
    plain, cleaned = count_words([*SEA, *LAND], max_df=1.0), count_words(marked, max_df=1.0)
    assert cleaned.columns.tolist() == plain.columns.tolist()
    assert_array_equal(cleaned.X.toarray(), plain.X.toarray())
    assert (plain.marked, cleaned.marked) == (0, 6)
    assert "<" not in "".join(cleaned.texts)
    kept = count_words(marked, max_df=1.0, keep_markup=True)
    assert {"br", "nbsp", "http", "shop", "class"} <= set(kept.columns)
    further = count_known(["ships &amp; waves <br> www.example.org/land"], plain.vocabulary)
    assert further.marked == 1
    assert_array_equal(further.known, [1.0])
    assert_array_equal(plain.columns[further.X.toarray()[0] > 0], ["ships", "waves"])
    assert count_known(["land<br>"], replace(kept.vocabulary)).X.sum() == 2  # as it was fitted
    earlier = replace(plain.vocabulary, without_markup=False)  # of a model saved before
    assert "land" in earlier.words[count_known(["www.example.org/land"], earlier).X.toarray()[0] > 0]


def test_a_damaged_vocabulary_is_refused():
    corpus = count_words(["red car", "red tree", "car tree"], max_df=1.0, weighting="log")
    with pytest.raises(InputError, match="vocabulary of the model is damaged"):
        count_known(["red"], replace(corpus.vocabulary, words=np.array(["red", "red", "car"])))


def test_a_byte_order_mark_shows_the_encoding(tmp_path):
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (tmp_path / "x.txt").write_bytes("één\r\ntwee".encode(encoding))
        assert read_documents(tmp_path / "x.txt")[0] == ["één", "twee"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"one\ntwo\ncaf\xe9 \x02\n", 3),  # no text has such a byte
        ("one é\ntwo é\n".encode() + "café\n".encode("latin-1"), 3),  # damaged UTF-8
        (b"PK\x03\x04\xe9", 1),
        ("one\ntwo".encode("utf-16-le"), 1),
        (b"\xef\xbb\xbfone\ntwo\x00", 2),
    ],
)
def test_what_is_not_text_is_refused_with_the_line(tmp_path, content, line):
    (tmp_path / "x.txt").write_bytes(content)
    for path in (tmp_path / "x.txt", tmp_path):
        with pytest.raises(InputError, match=rf"x.txt' is not UTF-8 text, see its line {line}. Save it as plain text"):
            read_documents(path)


def test_text_that_is_not_utf8_is_read_as_that_of_windows_and_said(tmp_path):
    lines = ["The café’s “terrace”", "naïve – 5 €", "«CAFÉ»"]
    (tmp_path / "a.txt").write_bytes("\r\n".join(lines).encode("cp1252") + b"\r\n\x81 undefined")
    with pytest.warns(FitWarning, match=r"'.*a.txt' is not UTF-8; read as Windows-1252 \(cp1252\). If .* save it as"):
        assert read_documents(tmp_path / "a.txt")[0] == [*lines, "\N{REPLACEMENT CHARACTER} undefined"]
    (tmp_path / "b.txt").write_bytes("thé".encode("latin-1"))
    (tmp_path / "c.txt").write_text("thé", encoding="utf-8")
    with pytest.warns(FitWarning, match=r"2 files, the first '.*a.txt', are not UTF-8; read as .* save them as"):
        assert read_documents(tmp_path)[0][1:] == ["thé", "thé"]


def test_places_without_documents(tmp_path):
    with pytest.raises(InputError, match=r"There is no file '.*nowhere.txt'"):
        read_documents(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match=r"The folder '.*' has no .txt, .md or .rst file. Save each document as one"):
        read_documents(tmp_path)
    for content in ("", "\n \n\t\n"):
        (tmp_path / "x.txt").write_text(content)
        with pytest.raises(InputError, match=r"x.txt' holds no document: every line is blank"):
            read_documents(tmp_path / "x.txt")


def test_counts_are_those_of_a_plain_loop():
    counted = count_words(SEA + LAND + SEA, min_df=2, stop_words=None)
    texts = [text.split() for text in SEA + LAND + SEA]
    kept = sorted({word for text in texts for word in text if 2 <= sum(word in other for other in texts) <= 4})
    assert "the" not in kept  # in five of nine documents
    assert len(kept) > 8
    assert counted.columns.tolist() == kept
    assert counted.columns.dtype.kind == "U"
    assert counted.rows is None
    assert isinstance(counted.X, sp.csr_array)
    assert counted.X.dtype == np.float64
    assert counted.X.has_canonical_format
    assert_array_equal(counted.X.toarray(), [[text.count(word) for word in kept] for text in texts])


def test_tfidf_weights_rare_words_more_and_scales_documents():
    documents = ["sea sea ship", "sea wind", "wind road"] * 2
    counted = count_words(documents, max_df=1)
    weighed = count_words(documents, max_df=1, weighting="tfidf")
    assert isinstance(weighed.X, sp.csr_array)
    assert weighed.columns.tolist() == counted.columns.tolist() == ["road", "sea", "ship", "wind"]
    share = (counted.X.toarray() > 0).sum(0)
    expected = counted.X.toarray() * (np.log(7 / (1 + share)) + 1)
    assert_allclose(weighed.X.toarray(), expected / np.linalg.norm(expected, axis=1, keepdims=True))
    damped = count_words(documents, max_df=1, weighting="log").X.toarray()
    counts = counted.X.toarray()
    logs = np.where(counts > 0, 1 + np.log(np.where(counts > 0, counts, 1)), 0) * (np.log(7 / (1 + share)) + 1)
    assert_allclose(damped, logs / np.linalg.norm(logs, axis=1, keepdims=True))


def test_options_leave_words_out():
    documents = ["the cat sat", "the cat ran", "the dog ran far", "a bird"]
    everything = {"min_df": 1, "max_df": 1.0, "stop_words": None}
    words = {
        name: count_words(documents, **everything | option).columns.tolist()
        for name, option in {
            "all": {},
            "common": {"min_df": 2},
            "rare": {"max_df": 0.5},
            "telling": {"stop_words": "english"},
            "most": {"max_words": 1},
        }.items()
    }
    assert words == {
        "all": ["bird", "cat", "dog", "far", "ran", "sat", "the"],
        "common": ["cat", "ran", "the"],
        "rare": ["bird", "cat", "dog", "far", "ran", "sat"],
        "telling": ["bird", "cat", "dog", "far", "ran", "sat"],
        "most": ["the"],
    }


def test_a_share_of_one_is_all_documents_and_not_one():
    assert count_words(["sea"] * 4, max_df=1).columns.tolist() == ["sea"]


def test_tiny_corpora_keep_words_of_one_document():
    three, four = ["red car", "green car", "blue tree"], ["red car", "green car", "blue tree", "tree"]
    assert count_words(three, max_df=1).columns.tolist() == ["blue", "car", "green", "red", "tree"]
    assert count_words(four, max_df=1).columns.tolist() == ["car", "tree"]
    with pytest.raises(InputError, match="No word of the 4 documents is left"):
        count_words(four, max_df=1, min_df=3)  # what was asked for is not changed in silence


def test_one_document_is_too_few():
    with pytest.raises(InputError, match="only one document"):
        count_words(["red car"], max_df=1)


def test_words_of_all_scripts_are_counted_and_pasted_data_is_not():
    long = "x" * 100
    documents = [f"Été שלום Σίσυφος I {long} {long}y", f"ÉTÉ שלום ΣΊΣΥΦΟΣ I {long} {long}y"]
    assert set(count_words(documents, max_df=1).columns) == {"été", "שלום", "σίσυφος", long}


RELAX = "No word of the {} documents is left to count"


@pytest.mark.parametrize(
    ("documents", "options", "sentence"),
    [
        (["red sea", "blue sky", "big tree", "old road"], {}, "Relax one option: min_df=1."),
        (["sea", "sea"], {}, "Relax one option: max_df=1."),
        (["sea"] * 4, {}, "Relax one option: max_df=1."),
        (["the", "and", "the", "of"], {}, "Relax one option: stop_words=None."),
        (["ab", "cd", "ab cd", "ab cd"], {"stop_words": None}, "Relax one option: max_df=1."),
        (["ab", "ab", "ab", "cd"], {}, "Relax one option: min_df=1 or max_df=1."),
        (["the of", "the to"], {"max_df": 0.4}, "Relax the options together: max_df=1, stop_words=None."),
    ],
)
def test_when_no_word_is_left_the_option_to_relax_is_named(documents, options, sentence):
    for weighting in ("counts", "tfidf", "log"):
        with pytest.raises(InputError, match=re.escape(f"{RELAX.format(len(documents))}. {sentence}") + "$"):
            count_words(documents, weighting=weighting, **options)


def test_the_option_to_relax_has_its_name_on_the_command_line():
    with pytest.raises(InputError) as caught:
        count_words(["the of", "the to"], max_df=0.4)
    sentence = "Relax the options together: --max-df 1, --all-words."
    assert caught.value.on_command_line({"max_df": "--max-df"}) == f"{RELAX.format(2)}. {sentence}"


@pytest.mark.parametrize("documents", [["", " "], ["a b c", "- ! ?"], ["x" * 200] * 4])
def test_documents_without_words(documents):
    with pytest.raises(InputError, match=rf"{RELAX.format(len(documents))}: they hold no word of 2 to 100 letters"):
        count_words(documents)


@pytest.mark.parametrize(
    ("documents", "options", "sentence"),
    [
        ([], {}, "There is no document whose words could be counted"),
        ("one text", {}, "documents is a list of texts; got a single text"),
        (["one", None], {}, "documents is a list of texts; number 2 is missing. Leave it out"),
        (SEA, {"min_df": 0}, "min_df=0 must be a number of documents, at least 1"),
        (SEA, {"min_df": 1.5}, "min_df=1.5 must be a number of documents"),
        (SEA, {"max_words": 0}, "max_words=0 must be a whole number of at least 1"),
        (SEA, {"ngrams": 0}, "ngrams=0 must be a whole number of at least 1"),
        (SEA, {"max_df": 0}, "max_df=0 must be a share of the documents, above 0"),
        (SEA, {"max_df": 1.5}, "max_df=1.5 must be a share of the documents"),
        (SEA, {"max_df": float("nan")}, "max_df=nan must be a share of the documents"),
        (SEA, {"stop_words": "klingon"}, "stop_words='klingon' is neither a language (english, german, french,"),
        (SEA, {"stop_words": "nowhere.txt"}, "There is no file 'nowhere.txt'"),
    ],
)
def test_wrong_arguments_are_one_sentence(documents, options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        count_words(documents, **options)


def test_limits_are_numbers_or_shares_of_documents():
    documents = ["sea ship", "sea wind", "sea road", "ship mast"] * 5
    for few, many in ((6, 14), (0.3, 0.7), (6.0, 14.0)):
        assert count_words(documents, min_df=few, max_df=many).columns.tolist() == ["ship"]


def test_runs_of_words():
    counted = count_words(["New York is big", "new york, New Jersey"] * 2, max_df=1, ngrams=2)
    assert counted.columns.tolist() == [
        "big",
        "jersey",
        "new",
        "new jersey",
        "new york",
        "york",
        "york big",
        "york new",
    ]
    assert counted.X.toarray()[1, counted.columns.tolist().index("new york")] == 1


def test_stop_words_of_several_languages_and_of_another_one():
    both = stop_words_of("german, english")
    assert both == stop_words_of("de") | stop_words_of("english")
    with pytest.raises(InputError, match="'klingon' is neither a language"):
        stop_words_of("german,klingon")
    german = ["Das Boot ist auf der See, und die Wellen sind nicht hoch."] * 3
    found = other_language(german, "english")[0]
    assert "are stop words of German that are not left out" in found.detail
    assert found.remedy == "Give stop_words='german', or 'german,english' if texts are in both."
    assert not other_language(german, "german,english")
    assert not other_language(german, None)
    english = ["It was a dark night on the sea, so we did not see him in the boat, or as far as an hour over it."]
    assert not other_language(english, "english")
    spanish = ["Los perros de la casa no están en el campo, pero se fueron con los gatos a la ciudad."]
    assert not other_language(spanish, "spanish")


def test_a_topic_of_another_language_is_found_by_the_words_that_lead_it():
    """A few English pages are not many words of a French corpus, but they make a topic of their own."""
    french = ["Le paquet est dans le fichier de configuration, et la commande ne change pas les options."] * 20
    tops = [["paquet", "fichier"], ["the", "to", "of", "is", "and", "group"]]
    assert not other_language(french, "french")
    found = other_language(french, "french", tops)[0]
    assert found.detail == "Topic 2 is led by words of English that are not left out: the, to, of, is, and."
    assert found.command == "Give --stop-words english,french."
    assert not other_language(french, "french,english", tops)
    assert not other_language(french, "french", [["the", "cat", "of", "dog", "is"]])


def test_texts_in_two_languages_need_both_lists():
    mixed = ["Das Boot ist auf der See, und die Wellen sind nicht hoch. The boat is on the sea, and it is not high."]
    assert other_language(mixed, "german")[0].command == "Give --stop-words english,german."


def test_languages_without_a_list_and_scripts_without_spaces():
    polish = ["Każda strona podręcznika zawiera krótki opis, który może być wyświetlony przez użytkownika, że się"]
    assert other_language(polish, "english")[0].finding == "a language without a list of stop words"
    assert "a text file" in other_language(polish, "english")[0].command
    assert not other_language(polish, None)
    japanese = ["各マニュアルページには短い要約文が含まれています。 apropos はその要約内にある keyword を検索します。"]
    for name in ("english", None):
        assert other_language(japanese, name)[0].finding == "a script without spaces between words"
    assert not other_language(["Æon naïve café, the straße and the garçon", "façade of the señor"], "english")


def test_a_number_of_documents_is_relaxed_to_a_share():
    with pytest.raises(InputError, match=r"Relax one option: max_df=1\.0, a share of all documents"):
        count_words(["red car", "red car", "red car", "red car"], max_df=2)


def test_one_stop_word_does_not_make_a_language():
    assert not other_language(["red apple", "green pear", "red pear", "blue sky", "blue sea"], "english")


def test_features_that_stray_among_wavelengths():
    waves = [f"{400 + i} nm" for i in range(30)]
    found = stray_features(["pH", "a,b", *waves], ["operator"])[0]
    assert "'pH', 'a,b' are not named by a number, as the other 30 features are" in found.detail
    assert "--drop 'operator,pH,\"a,b\"'" in found.command
    for names in (waves, ["pH", *waves[:9]], [*"abcd", *waves], ["sea", "boat"]):
        assert not stray_features(names)


def test_stop_words_of_languages_and_files(tmp_path):
    texts = {
        "german": ("das Meer und der Wind", ["meer", "wind"]),
        "french": ("la mer et le vent", ["mer", "vent"]),
        "spanish": ("el mar y los vientos", ["mar", "vientos"]),
        "italian": ("il mare e gli alberi", ["alberi", "mare"]),
        "portuguese": ("o mar e os ventos", ["mar", "ventos"]),
        "dutch": ("de zee en het schip", ["schip", "zee"]),
        "swedish": ("och havet som vinden", ["havet", "vinden"]),
    }
    for language, (text, words) in texts.items():
        assert count_words([text] * 4, max_df=1, stop_words=language).columns.tolist() == words
    (tmp_path / "words.txt").write_text("Sea\nship mast")
    found = count_words(["sea ship wind"] * 4, max_df=1, stop_words=str(tmp_path / "words.txt"))
    assert found.columns.tolist() == ["wind"]


def test_a_table_and_gaps_are_refused_in_plain_words():
    frame = pd.DataFrame({"id": [1, 2], "body": ["a text", None]})
    with pytest.raises(InputTypeError, match="got a table with the columns 'id', 'body'"):
        count_words(frame)
    with pytest.raises(InputTypeError, match=r"number 2 is missing.*dropna"):
        count_words(frame["body"])


def test_a_corpus_is_shown_in_one_line():
    corpus = count_words(["red apple", "green apple", "red car"], weighting="log")
    assert repr(corpus) == f"Corpus(3 documents by {corpus.X.shape[1]} words, weighting='log')"


def test_a_table_of_topics():
    rng = np.random.default_rng(0)
    themes = ["bank money loan credit", "goal team match coach"]
    kinds = rng.choice(2, size=60, p=[0.7, 0.3])
    texts = [" ".join(rng.choice(themes[i].split(), 9)) for i in kinds]
    texts += [texts[0]] * 5
    corpus = count_words(texts, max_df=1.0)
    model = ANDNMF(2, refine="nonnegative", random_state=0).fit(corpus.X)
    table = topic_table(model, corpus, n_words=4, n_examples=2)
    assert table.columns.tolist() == ["topic", "share", "documents", "coherence", "words", "examples"]
    assert table["topic"].tolist() == [1, 2]
    assert table["share"].sum() == pytest.approx(1)
    larger = table.loc[table["share"].idxmax()]
    assert set(larger["words"]) == set(themes[0].split())
    assert len(larger["examples"]) == len(set(larger["examples"])) == 2
    assert all(text in texts and set(text.split()) <= set(larger["words"]) for text in larger["examples"])
    model.stability_ = np.ones(2)
    assert "stability" in topic_table(model, corpus)
    with pytest.raises(InputTypeError, match="takes a Corpus"):
        topic_table(model, corpus.X)


def test_the_beginnings_of_documents_are_kept():
    long = "sea  ship\n" * 500
    assert count_words([long, "sea"], max_df=1).texts == [("sea ship " * 100)[:300], "sea"]


def test_lines_that_stand_for_no_text_are_left_out_as_in_tables_and_said(run, tmp_path):
    lines = ["one tea", "N/A", "two cups", "", "-", "tea two"]
    (tmp_path / "x.txt").write_text("\n".join([*lines, "", ""]))
    said = run("parts", tmp_path / "x.txt", "-k", 1, "--max-df", 1, "--min-df", 1).err
    assert "3 documents, one per line. 3 lines without text left out, 2 of them with 'N/A' or the like." in said
