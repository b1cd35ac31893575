"""Files of annotation and evaluation tools give what their table gives; see ``exports/make_exports.py``."""

import bz2
import gzip
import json
import re
import subprocess
import sys
from contextlib import suppress
from functools import reduce
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

from rectifact import DawidSkene, InputError
from rectifact.core.errors import FitWarning
from rectifact.crowd import read_answers
from rectifact.crowd.data.formats import FORMATS, recognise
from rectifact.io.records import json_records, parquet_records

EXPORTS = Path(__file__).parent / "exports"
PEOPLE = ("ann", "bob", "cyd")
ALIASES = {f"00000000-0000-4000-8000-00000000000{i}": name for i, name in enumerate(PEOPLE, start=1)}
ALIASES |= {str(i): name for i, name in enumerate(PEOPLE, start=1)}
FILES = {
    "records.json": "records",
    "records.jsonl": "records",
    "label_studio.json": "label-studio",
    "prodigy.jsonl": "prodigy",
    "argilla.json": "argilla",
    "argilla.parquet": "argilla",
    "lists.parquet": "datasets",
    "lists.jsonl": "datasets",
    "objects.parquet": "datasets",
    "inspect.json": "inspect",
}


def table(name):
    """The answers that are in a file, as a table; Argilla has one suggestion for a question."""
    frame = pd.read_csv(EXPORTS / "answers.csv", dtype=str)
    return frame[frame["worker"] != "judge-b"] if name.startswith("argilla") else frame


def decoded(answers):
    parts = answers.tasks[answers.task], answers.workers[answers.worker], answers.classes[answers.label]
    task, worker, label = ([str(value) for value in part] for part in parts)
    return sorted(zip(task, [ALIASES.get(name, name) for name in worker], label, strict=True))


def gold_of(name):
    return EXPORTS / "gold.csv" if name == "label_studio.json" else None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("forced", [False, True])
def test_a_file_has_the_answers_of_its_table(name, forced):
    answers = read_answers(EXPORTS / name, format=FILES[name] if forced else None)
    assert answers.source["format"] == FILES[name]
    assert decoded(answers) == sorted(map(tuple, table(name).to_numpy()))
    assert answers.classes.tolist() == ["bad", "good", "unclear"]


@pytest.mark.parametrize("name", FILES)
def test_the_command_gives_the_labels_of_its_table(run, tmp_path, name):
    table(name).to_csv(tmp_path / "answers.csv", index=False)
    gold = ["--gold", gold_of(name)] if gold_of(name) else []
    run("labels", tmp_path / "answers.csv", *gold, "-o", tmp_path / "expected.csv")
    said = run("labels", EXPORTS / name, "-o", tmp_path / "found.csv").err
    assert f"Read as {FORMATS[FILES[name]].title}" in said
    expected, found = (
        pd.read_csv(tmp_path / file, dtype={"task": str}).set_index("task") for file in ("expected.csv", "found.csv")
    )
    pd.testing.assert_frame_equal(found.loc[expected.index], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["records.jsonl", "label_studio.json"])
@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".odd", bytes)])
def test_compressed_and_oddly_named(tmp_path, name, suffix, compress):
    (tmp_path / (name + suffix)).write_bytes(compress(b"\xef\xbb\xbf" + (EXPORTS / name).read_bytes()))
    assert decoded(read_answers(tmp_path / (name + suffix))) == decoded(read_answers(EXPORTS / name))


def test_a_list_of_dicts_is_read_like_its_file():
    records = json.loads((EXPORTS / "label_studio.json").read_text())
    assert decoded(read_answers(records)) == decoded(read_answers(EXPORTS / "label_studio.json"))
    with pytest.raises(InputError, match=r"^Record 2 has no 'label'"):
        read_answers([{"task": 1, "worker": 2, "label": 3}, {"task": 1, "worker": 1}])


def test_options_for_files_alone():
    records = json.loads((EXPORTS / "records.json").read_text())
    assert decoded(read_answers(records, format="records")) == decoded(read_answers(EXPORTS / "answers.csv"))
    with pytest.raises(InputError, match="format='csv' is unknown here"):
        read_answers(records, format="csv")
    with pytest.raises(InputError, match="are for files"):
        read_answers(table(""), field="quality")
    wide = [{"task": 1, "ann": "x", "bob": "y"}, {"task": 2, "ann": "x", "bob": "x"}]
    assert decoded(read_answers(wide, wide=True))[0] == ("1", "ann", "x")


def test_the_examples_in_the_guide_are_read():
    guide = (Path(__file__).parents[2] / "docs" / "crowd.rst").read_text()
    blocks = re.findall(r"\(``([a-z-]+)``\):.*?code-block:: json\n\n(.*?)\n\n\S", guide, flags=re.DOTALL)
    assert [name for name, _ in blocks] == ["label-studio", "prodigy", "argilla", "datasets", "inspect", "records"]
    for name, block in blocks:
        found = json.loads(block)
        records = found if isinstance(found, list) else found.get("samples", [found])
        assert recognise(records[0]) == name
        assert pairs(records)[0][2] in ("good", "C")


def test_ground_truth_is_gold_and_models_are_workers(run, tmp_path):
    answers = read_answers(EXPORTS / "label_studio.json")
    gold = pd.read_csv(EXPORTS / "gold.csv", dtype=str)
    assert [list(map(str, part)) for part in answers.gold] == [gold["task"].tolist(), gold["label"].tolist()]
    assert set(answers.workers) == {"1", "2", "3", "judge-a", "judge-b"}  # not the expert who gave the gold labels
    model = DawidSkene().fit(EXPORTS / "label_studio.json")
    known = np.isin(model.tasks_.astype(str), gold["task"])
    assert model.labels_[known].tolist() == gold["label"].tolist()
    assert (model.probas_[known].max(axis=1) == 1).all()
    said = run("labels", EXPORTS / "label_studio.json", "-o", tmp_path / "a.csv").err
    line = "Read as a Label Studio export, question 'quality', without 1 answer that workers skipped. "
    assert line + "6 ground truths in the file are used as gold.\n" in said
    (tmp_path / "gold.csv").write_text("task,label\n1,bad\n2,good\n")
    said = run("labels", EXPORTS / "label_studio.json", "--gold", tmp_path / "gold.csv", "-o", tmp_path / "b.csv").err
    assert line + "6 ground truths in the file are set aside because of --gold.\n" in said
    labels = pd.read_csv(tmp_path / "b.csv").set_index("task")
    assert labels["label"][[1, 2]].tolist() == ["bad", "good"]
    assert (labels["confidence"] == 1).sum() == 2


@pytest.mark.parametrize("name", ["label_studio.json", "plain.json", "prodigy.jsonl"])
def test_gold_from_json(run, tmp_path, name):
    gold = pd.read_csv(EXPORTS / "gold.csv")
    content = {
        "label_studio.json": (EXPORTS / name).read_text() if name == "label_studio.json" else "",
        "plain.json": gold.to_json(orient="records"),
        "prodigy.jsonl": "\n".join(
            json.dumps({"_input_hash": task, "_session_id": "boss", "accept": [label], "answer": "accept"})
            for task, label in gold.itertuples(index=False)
        ),
    }
    (tmp_path / name).write_text(content[name])
    found = DawidSkene().fit(EXPORTS / "answers.csv", gold=tmp_path / name)
    assert found.result().equals(DawidSkene().fit(EXPORTS / "answers.csv", gold=EXPORTS / "gold.csv").result())
    with pytest.raises(InputError, match=r"has several gold labels in .*records_twice"):
        twice = [{"_input_hash": 1, "_session_id": who, "answer": who} for who in ("accept", "reject")]
        (tmp_path / "records_twice.json").write_text(json.dumps(twice))
        DawidSkene().fit(EXPORTS / "answers.csv", gold=tmp_path / "records_twice.json")


def choice(name, label, kind="choices", key="choices"):
    return {"from_name": name, "to_name": "text", "type": kind, "value": {key: label}}


def studio(*results, **more):
    annotations = [{"completed_by": i, "result": result} for i, result in enumerate(results)]
    return {"id": 1, "data": {"text": "x"}, "annotations": annotations} | more


def argilla(responses, **more):
    return {"id": "r1", "fields": {"text": "x"}, "responses": responses} | more


def score(value):
    return {"value": value}


def sample(**scores):
    return {"id": 1, "epoch": 1, "target": "", "scores": scores}


HASHED = {"_input_hash": 1, "_session_id": "ann", "answer": "accept"}
ANN = {"task": 1, "worker": "ann", "label": "x"}
WRONG = {
    "is_list": ([ANN, ["a"]], "Record 2 .* is a list, where an object"),
    "no_worker": ([ANN, {"task": 1, "label": "y"}], "Record 2 .*line 2.* has no 'worker', only"),
    "null_worker": ([ANN, ANN | {"worker": None}], "Record 2 .* has no worker"),
    "nested": ([ANN, ANN | {"label": {"x": 1}}], "Record 2 .* has {'x': 1} as its label"),
    "two_labels": ([ANN, ANN | {"label": ["x", "y"]}], "Record 2 .* has 2 labels in one answer"),
    "mixed": ([ANN, studio([choice("a", ["x"])])], "Record 1 .* has neither 'annotations' nor 'predictions'"),
    "other_columns": ([ANN, {"q": 1, "who": "ann", "says": "x"}], "Record 2 .* has no 'worker'"),
    "surrogate": ([ANN, ANN | {"worker": "\ud800"}], "not valid Unicode"),
    "two_questions": (
        [studio([choice("a", ["x"])], [choice("b", ["x"])])],
        "Record 1 .* answers several questions, 'a', 'b'.*--field",
    ),
    "regions": ([studio([choice("a", ["x"]), choice("a", ["y"])])], "several answers to 'a' in one annotation"),
    "several_choices": ([studio([choice("a", ["x", "y"])])], "has 2 labels in one answer"),
    "no_user": ([studio() | {"annotations": [{"result": []}]}], "annotation without 'completed_by'"),
    "no_id": ([{"data": {}, "annotations": []}], "has no 'id'.* --task"),
    "no_value": ([studio([{"from_name": "a", "type": "choices"}])], "Record 1 .* has no 'value'"),
    "boxes": ([studio([{"type": "rectanglelabels", "value": {}}])], "no answers in .*Its choices, ratings"),
    "two_unnamed": ([studio(predictions=[{"result": []}] * 2)], "several predictions without a 'model_version'"),
    "two_truths": (
        [{"id": 1, "data": {}, "annotations": [{"ground_truth": True, "result": [choice("a", [k])]} for k in "xy"]}],
        "has two gold labels, 'x' and 'y'",
    ),
    "no_session": ([HASHED, {"_input_hash": 1, "answer": "accept"}], "Record 2 .* has no '_session_id'"),
    "kinds": ([HASHED, HASHED | {"accept": ["x"]}], "Record 2 .* is a choice, while the first record is accepted or"),
    "ranking": ([argilla({"q": [{"value": [{"value": "a"}] * 2, "user_id": "u"}]})], "has 2 labels in one answer"),
    "span": ([argilla({"q": [{"value": [{"start": 0}], "user_id": "u"}]})], "has {'start': 0} as its label"),
    "responses": ([argilla({"q": "yes"})], "has 'yes' as 'q', where a list is expected"),
    "lengths": ([{"id": 1, "workers": ["a", "b"], "labels": ["x"]}], "has 2 workers for 1 labels"),
    "nobody": ([{"id": 1, "labels": ["x", "y"]}], "no list of workers.*--worker"),
    "keys": ([sample(a=score({"x": 1, "y": 2}))], "answers several questions, 'x', 'y'"),
    "no_samples": ([{"version": 2, "status": "error", "eval": {}}], "This Inspect log has no samples"),
    "no_score": ([sample(a={"answer": "x"})], "Record 1 .* has no 'value', only"),
    "columns": ([{"task": {"0": 1}, "worker": {"0": 2}, "label": {"0": 1}}], r"has {'0': \d} as its"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("lines", [True, False])
def test_what_is_wrong_is_one_sentence_with_the_number_of_the_record(run, tmp_path, name, lines):
    records, sentence = WRONG[name]
    path = tmp_path / f"{name}.json"
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records, indent=0).replace("\n", " "))
    said = run("labels", path, "-o", tmp_path / "truth.csv", expect=2)
    if not lines:
        sentence = sentence.replace("line 2", "line 1")
    assert pd.Series([said.err]).str.contains(sentence, regex=True).all(), said.err
    assert said.err.startswith("rectifact: ")
    assert said.err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


GOOD = json.dumps(ANN)

JUNK = [None, True, -1, 1.5, float("nan"), "", "x", [], ["x"], ["x", "y"], {}, {"a": 1}, [[1]], [None], [{}], 10**30]


def places(value, path=()):
    """Where the parts of a nested value are."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::rectifact.core.errors.FitWarning")
def test_whatever_is_broken_is_an_error_of_ours(name):
    read, random = parquet_records if name.endswith(".parquet") else json_records, Random(0)
    whole = [record for _, record in read(EXPORTS / name)]
    for _ in range(60):
        records = json.loads(json.dumps(whole[:8]))
        *path, last = random.choice([path for path in places(records) if path])
        inside = reduce(lambda part, key: part[key], path, records)
        if isinstance(inside, dict) and random.random() < 0.3:
            del inside[last]
        else:
            inside[last] = random.choice(JUNK)
        with suppress(InputError):
            assert len(read_answers(records))


MALFORMED = {
    "comma": (GOOD + '\n{"task": 2 "worker": 3}\n', r"record 2 \(line 2\): expecting ',' delimiter"),
    "cut": ("[" + GOOD + ',\n{"task": 2, "wor', r"record 2 \(line 2\): unterminated string"),
    "ends": ("[" + GOOD + ",\n" + GOOD, r"record 2 \(line 2\): the file ends too early"),
    "word": ('[{"task": nul}]', r"record 1 \(line 1\): expecting value"),
    "single": ("[{'task': 1}]", r"record 1 \(line 1\): expecting property name"),
    "first": ('{"task": 1 "worker": 2}', r"record 1 \(line 1\): ',' is expected"),
    "after": ("[" + GOOD + '] {"task": 2}', r"record 1 \(line 1\): an object, or a list of objects, is expected here"),
    "text": ("task,worker,label\n1,2,3\n", r"record 1 \(line 1\): an object, or a list"),
    "newline": (GOOD + '\n{"task": "a\nb"}', r"record 2 \(lines 2 to 3\): invalid control character\."),
    "deep": ("[" * 100_000, r"record 1 \(line 1\): it is nested too deeply"),
    "digits": ('[{"task": ' + "9" * 5000 + "}]", r"record 1 \(line 1\): .*4300"),
    "empty": ("", "There are no records"),
    "none": ("[]", "There are no records"),
    "zip": (b"PK\x03\x04\xe9", "it is not UTF-8 text"),
    "gz": (b"no gzip", "Cannot read"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_json_is_one_sentence(run, tmp_path, name):
    content, sentence = MALFORMED[name]
    path = tmp_path / ("answers.json.gz" if name == "gz" else "answers.json")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = run("labels", path, "-o", tmp_path / "truth.csv", "--format", "records", expect=2).err
    assert pd.Series([said]).str.contains(sentence, regex=True).all(), said
    assert said.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_files_of_windows_are_read_and_said_once(run, tmp_path):
    rows = [{"task": i, "worker": worker, "label": "été" if i % 2 else "thé"} for i in range(4) for worker in "abc"]
    content = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "answers.jsonl").write_bytes(content.encode("cp1252"))
    (tmp_path / "gold.csv").write_bytes("task,label\n1,été\n2,thé\n".encode("cp1252"))
    options = ["--format", "records", "--gold", tmp_path / "gold.csv", "-o", tmp_path / "truth.csv"]
    said = run("labels", tmp_path / "answers.jsonl", *options).err
    for name in ("answers.jsonl", "gold.csv"):
        assert said.count(f"{name}' is not UTF-8; read as Windows-1252 (cp1252).") == 1, said
    assert "FitWarning" not in said
    assert pd.read_csv(tmp_path / "truth.csv")["label"].tolist() == ["thé", "été", "thé", "été"]


def test_options_that_do_not_fit(run, tmp_path):
    assert "--format xml is unknown here. Choose one of csv" in run("labels", "a.json", "--format", "xml", expect=2).err
    assert "Leave out --worker." in run("labels", EXPORTS / "label_studio.json", "--worker", "x", expect=2).err
    said = run("labels", EXPORTS / "label_studio.json", "--field", "tone", expect=2).err
    assert "has no answers to --field tone; it has 'quality'." in said
    assert (
        "Name the column of the labels: --label" in run("labels", EXPORTS / "answers.csv", "--field", "x", expect=2).err
    )
    (tmp_path / "log.eval").write_bytes(b"PK")
    assert "Convert it: inspect log dump log.eval > log.json." in run("labels", tmp_path / "log.eval", expect=2).err
    (tmp_path / "answers.txt").write_text("task,worker,label\n")
    assert "should end in .csv" in run("labels", tmp_path / "answers.txt", expect=2).err


def test_a_format_is_forced(tmp_path):
    (tmp_path / "answers.txt").write_bytes((EXPORTS / "answers.csv").read_bytes())
    assert decoded(read_answers(tmp_path / "answers.txt", format="csv")) == decoded(
        read_answers(EXPORTS / "answers.csv")
    )
    named = {"task": "_input_hash", "worker": "_annotator_id", "label": "_view_id"}
    answers = read_answers(EXPORTS / "prodigy.jsonl", format="records", **(named | {"label": "answer"}))
    assert answers.classes.tolist() == ["accept", "ignore"]


def pairs(records, **options):
    """Answers as (task, worker, label), read from a list of records that need not be enough for a fit."""
    from rectifact.crowd.data.records import from_records

    given = {"form": None, "question": None, "missing": "auto", "classes": None} | options
    answers = from_records([(None, record) for record in records], None, given.pop("names", {}), **given)
    parts = answers.tasks[answers.task], answers.workers[answers.worker], answers.classes[answers.label]
    return list(zip(*(part.tolist() for part in parts), strict=True))


def test_control_tags_of_label_studio():
    both = studio(
        [choice("a", ["x"]), choice("b", 4, "rating", "rating"), choice("c", ["free text"], "textarea", "text")]
    )
    assert pairs([both], question="a") == [(1, 0, "x")]
    assert pairs([both], question="b") == [(1, 0, 4)]
    many = studio([choice(f"q{i}", ["x"]) for i in range(50)])
    assert pairs([many], question="q49") == [(1, 0, "x")]
    assert pairs([studio([choice("c", "left", "pairwise", "selected")])]) == [(1, 0, "left")]
    assert pairs([studio([choice("c", 2.5, "number", "number")])], names={"task": "text"}) == [("x", 0, 2.5)]
    person = {"id": 4, "email": "ann@example.org"}
    annotations = [{"completed_by": person, "result": [choice("a", ["x"])]}]
    assert pairs([studio(annotations=annotations)]) == [(1, "ann@example.org", "x")]
    unnamed = studio([choice("a", ["y"])], predictions=[{"result": [choice("a", ["x"])]}])
    assert pairs([unnamed]) == [(1, "0", "y"), (1, "prediction", "x")]


def test_answers_of_prodigy():
    binary = {"_input_hash": 1, "_task_hash": 11, "_session_id": "s-ann", "label": "SPORT"}
    answers = [binary | {"answer": name} for name in ("accept", "reject", "ignore")]
    assert pairs(answers) == [(11, "s-ann", "accept"), (11, "s-ann", "reject")]
    assert pairs(answers, names={"task": "_input_hash"})[0] == (1, "s-ann", "accept")
    chosen = [binary | {"accept": ["x"], "answer": name} for name in ("accept", "reject")]
    assert pairs(chosen) == [(1, "s-ann", "x")]
    assert pairs([binary | {"answer": "accept"}], names={"label": "label"}) == [(11, "s-ann", "SPORT")]


def test_versions_of_argilla():
    first = {"user_id": "u1", "status": "submitted", "values": {"q": {"value": "yes"}, "p": {"value": 1}}}
    draft = {"user_id": "u2", "status": "draft", "values": {"q": {"value": "no"}}}
    advice = [{"question_name": "q", "value": "no", "agent": "gpt"}]
    old = argilla([first, draft], suggestions=advice)
    assert pairs([old], question="q") == [("r1", "u1", "yes"), ("r1", "gpt", "no")]
    column = [
        {"user_id": "u1", "value": "yes", "status": "submitted"},
        {"user_id": "u2", "value": "no", "status": "draft"},
    ]
    row = {"id": "r1", "text": "x", "q": column, "q-suggestion": "no", "q-suggestion-metadata": {"agent": "gpt"}}
    assert pairs([row]) == [("r1", "u1", "yes"), ("r1", "gpt", "no")]
    nested = argilla({"q": [{"value": ["yes"], "user_id": "u1"}]}, suggestions={"q": {"value": "no", "agent": None}})
    assert pairs([nested], names={"task": "text"}) == [("x", "u1", "yes"), ("x", "suggestion", "no")]


def test_scores_of_inspect():
    values = sample(a=score({"x": 1, "y": 2}), b=score({"x": 3, "y": 4}))
    assert pairs([values], question="y") == [(1, "a", 2), (1, "b", 4)]
    again = [sample(a=score(True)), sample(a=score(False)) | {"epoch": 2}, sample(a=score(1)) | {"id": 2}]
    assert pairs(again) == [("1", "a", "True"), ("1 (epoch 2)", "a", "False"), ("2", "a", "1")]
    assert pairs([sample(a=score("C")) | {"scores": None}, sample(a=score("C"))]) == [(1, "a", "C")]


def test_lists_may_be_empty_and_objects_may_hold_them():
    rows = [{"id": 1, "votes": []}, {"id": 2, "votes": [{"user": "ann", "vote": "x"}]}]
    assert pairs(rows) == [(2, "ann", "x")]
    assert pairs([{"id": 2, "given": {"user": ["ann", "bob"], "vote": ["x", "y"]}}]) == [
        (2, "ann", "x"),
        (2, "bob", "y"),
    ]
    row = {"id": 1, "who": ["ann"], "says": ["x"]}
    assert pairs([row], names={"worker": "who", "label": "says"}) == [(1, "ann", "x")]
    assert recognise({"task": 1, "worker": "ann", "label": "x", "votes": [{"user": "bob", "vote": "y"}]}) == "records"


def test_numbers_and_text_and_gaps():
    rows = [
        {"task": k, "worker": w, "label": x} for k, w, x in [(1, 5, 0), (1, "bob", "1"), (2, 5, None), (2, "bob", 1)]
    ]
    with pytest.warns(FitWarning, match="1 answer without a label was skipped"):
        assert pairs(rows) == [(1, "5", "0"), (1, "bob", "1"), (2, "bob", "1")]
    assert pairs([row | {"label": -1} for row in rows[:1]] + rows[:2], missing="-1") == [(1, "5", "0"), (1, "bob", "1")]
    with pytest.warns(FitWarning, match="1 answer without a label"):
        answers = read_answers([*rows[:2], {"task": 3, "worker": "eve", "label": ""}])
    assert (answers.tasks.tolist(), answers.workers.tolist()) == ([1], ["5", "bob"])
    assert pairs([rows[0] | {"label": 0.5}, rows[0] | {"label": 1}]) == [(1, 5, 0.5), (1, 5, 1.0)]


def test_wide_records_and_groups(run, tmp_path):
    wide = table("").pivot(index="task", columns="worker", values="label")
    wide.reset_index().to_json(tmp_path / "wide.jsonl", orient="records", lines=True)
    assert decoded(read_answers(tmp_path / "wide.jsonl", wide=True)) == decoded(read_answers(EXPORTS / "answers.csv"))
    grouped = table("").assign(vendor=lambda frame: frame["worker"].str[:5])
    grouped.to_json(tmp_path / "answers.json", orient="records")
    grouped.to_csv(tmp_path / "answers.csv", index=False)
    for name in ("answers.json", "answers.csv"):
        run("labels", tmp_path / name, "--groups", "vendor", "-o", tmp_path / f"{name}.jsonl")
    found, expected = (pd.read_json(tmp_path / f"answers.{end}.jsonl", lines=True) for end in ("json", "csv"))
    pd.testing.assert_frame_equal(found, expected)
    (tmp_path / "nested.json").write_text('[{"task": 1, "ann": "x"}, {"task": 2, "ann": ["y"]}]')
    with pytest.raises(InputError, match=r"Record 2 .* has a list or an object as 'ann'"):
        read_answers(tmp_path / "nested.json", wide=True)


def test_labels_go_out_as_lines_of_json(run, tmp_path):
    run("labels", EXPORTS / "answers.csv", "-o", tmp_path / "labels.csv", "--workers", tmp_path / "workers.jsonl")
    run("labels", EXPORTS / "answers.csv", "-o", tmp_path / "labels.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    expected = pd.read_csv(tmp_path / "labels.csv", dtype={"task": str})
    pd.testing.assert_frame_equal(pd.DataFrame(rows), expected, check_dtype=False)
    assert json.loads((tmp_path / "workers.jsonl").read_text().splitlines()[0])["worker"] == "ann"


@pytest.mark.parametrize("name", ["label_studio.json", "answers.csv"])
def test_labels_go_back_to_label_studio(run, tmp_path, name):
    out = tmp_path / "tasks.json"
    run("labels", EXPORTS / name, "-o", tmp_path / "labels.csv", "--label-studio", out)
    labels = pd.read_csv(tmp_path / "labels.csv", dtype={"task": str})
    tasks = json.loads(out.read_text())
    key = None if name == "label_studio.json" else "task"
    assert [str(task["id"] if key is None else task["data"]["task"]) for task in tasks] == labels["task"].tolist()
    assert pairs(tasks, names={"task": key}) == [
        (int(task) if key is None else task, "rectifact", label) for task, label in labels[["task", "label"]].to_numpy()
    ]
    np.testing.assert_allclose([task["predictions"][0]["score"] for task in tasks], labels["confidence"])
    if key is None:
        assert tasks[0]["data"] == {"text": "Answer 1"}
        about = {"from_name": "quality", "to_name": "text", "type": "choices"}
        assert about.items() <= tasks[0]["predictions"][0]["result"][0].items()
    assert (
        "should end in .json" in run("labels", EXPORTS / name, "--label-studio", tmp_path / "tasks.csv", expect=2).err
    )


@pytest.mark.parametrize("size", [1, 7, 64])
def test_records_are_the_same_whatever_the_window(tmp_path, monkeypatch, size):
    monkeypatch.setattr("rectifact.io.records.CHUNK", size)
    values = [
        {"a": 'é😀\\"', "b": [1.5e-3, -12, True, None]},
        {"long": "x" * 500, "deep": {"a": [{}, [], ""]}},
        12345,
        "",
        [],
    ]
    for text in (json.dumps(values), json.dumps(values, indent=2), json.dumps({"x": 1, "records": values, "y": [2]})):
        (tmp_path / "x.json").write_text(text)
        assert [value for _, value in json_records(tmp_path / "x.json")] == values
    numbers = list(range(12345, 12400))
    (tmp_path / "x.json").write_text(json.dumps(numbers))
    assert [value for _, value in json_records(tmp_path / "x.json")] == numbers
    (tmp_path / "x.json").write_text("\n\n".join(map(json.dumps, values)))
    assert list(json_records(tmp_path / "x.json")) == list(zip([1, 3, 5, 7, 9], values, strict=True))
    (tmp_path / "x.json").write_text(json.dumps({"eval": {"a": 1}, "samples": values[:2], "end": 1}, indent=1))
    assert [value for _, value in json_records(tmp_path / "x.json")] == values[:2]


PEAK = """
import resource, sys
from rectifact.crowd import read_answers
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answers = read_answers(sys.argv[1])
print(len(answers), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("shape", ["lines", "list"])
def test_a_large_file_is_read_in_the_memory_of_its_answers(tmp_path, shape):
    text = "lorem ipsum " * 1000
    if shape == "lines":
        rows = ({"task": i // 4, "worker": i % 4, "label": i % 3, "text": text} for i in range(4000))
    else:
        results = [[[choice("a", [label])]] * 4 for label in "xyz"]
        rows = (studio(*results[i % 3], id=i, data={"text": text * 4}) for i in range(1000))
    with (tmp_path / "big.json").open("w") as file:
        file.write("[" if shape == "list" else "")
        for i, row in enumerate(rows):
            file.write(((",\n" if shape == "list" else "\n") if i else "") + json.dumps(row))
        file.write("]" if shape == "list" else "")
    assert (tmp_path / "big.json").stat().st_size > 45e6
    command = [sys.executable, "-c", PEAK, str(tmp_path / "big.json")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(found[0]) == 4000
    assert float(found[1]) < 15  # MiB


def test_a_label_that_is_an_object_is_refused_with_its_fields():
    records = [{"task": 1, "judge": "a", "verdict": {"label": "pass", "score": 4}}]
    with pytest.raises(InputError, match=r"Put one of its fields \('label', 'score'\) in its place"):
        read_answers(records)


def test_preferences_have_usual_names():
    rows = [{"pair_id": t, "judge": w, "preference": "AB"[t % 2]} for t in range(4) for w in "xy"]
    assert read_answers(rows).classes.tolist() == ["A", "B"]
