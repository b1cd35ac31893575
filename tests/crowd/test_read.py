import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from rectifact import MajorityVote
from rectifact.core.errors import FitWarning, InputError, InputTypeError
from rectifact.crowd import Answers, read_answers
from rectifact.crowd.data.answers import with_classes

ROWS = [("t2", "ann", "yes"), ("t1", "bob", "no"), ("t1", "ann", "yes"), ("t2", "bob", "yes"), ("t1", "ann", "no")]
FRAME = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


def decoded(answers: Answers) -> list[tuple]:
    parts = answers.tasks[answers.task], answers.workers[answers.worker], answers.classes[answers.label]
    return sorted(zip(*(part.tolist() for part in parts), strict=True))


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_tables_of_every_library(form):
    answers = read_answers(form(FRAME))
    assert decoded(answers) == sorted(ROWS)  # the repeated pair (t1, ann) stays two readings
    assert answers.tasks.tolist() == ["t2", "t1"]
    assert answers.classes.tolist() == ["no", "yes"]
    assert_array_equal(answers.votes(), [[0, 2], [2, 1]])


def test_the_table_is_untouched():
    before = FRAME.copy()
    read_answers(FRAME)
    pd.testing.assert_frame_equal(FRAME, before)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".csv.gz"])
def test_files_keep_every_character(tmp_path, suffix):
    odd = ['a,"b"', "<script>alert(1)</script>", "007", "NA", "=cmd()", "été\nnew line", "שלום", "1.0"]
    frame = pd.DataFrame({"task": odd * 2, "worker": ["w,1"] * 8 + ["None"] * 8, "label": odd + odd[::-1]})
    path = tmp_path / f"answers{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    with pytest.warns(FitWarning, match=r"'NA' \(2 answers\) counts as a class"):
        assert decoded(read_answers(path)) == decoded(read_answers(frame)) == decoded(read_answers(str(path)))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".csv.bz2"])
def test_the_first_line_shows_the_separator(tmp_path, separator, suffix):
    path = tmp_path / f"answers{suffix}"
    frame = FRAME.assign(**{"a; note, with\t; all, of\tthem": "x,y;z\t"})
    frame.to_csv(path, index=False, sep=separator)
    assert decoded(read_answers(path)) == sorted(ROWS)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "excel.csv"
    FRAME.to_csv(path, index=False, encoding="utf-8-sig")
    assert decoded(read_answers(path)) == sorted(ROWS)


@pytest.mark.parametrize(
    "names",
    [
        ("HITId", "WorkerId", "Answer.label"),
        ("HITId", "WorkerId", "Answer.sentiment"),  # MTurk names the label after the field of the form
        ("id", "annotator", "choice"),  # Label Studio
        ("id", "user_id", "value"),  # Argilla
        ("_task_hash", "_annotator_id", "answer"),  # Prodigy
        ("TASK", "Worker", "LABEL"),
    ],
)
def test_usual_names_are_recognised(names):
    frame = FRAME.set_axis(names, axis="columns").assign(note="x")
    answers = read_answers(frame)
    assert decoded(answers) == sorted(ROWS)
    assert tuple(answers.columns.values()) == names


def test_given_names_win():
    frame = FRAME.assign(label2="other").set_axis(["q", "who", "label", "says"], axis="columns")
    frame.loc[0, "says"] = "more"
    answers = read_answers(frame, task="q", worker="who", label="says")
    assert answers.classes.tolist() == ["more", "other"]


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        ([10, 9, 9], [9, 10]),
        (["10", "9", "9"], ["9", "10"]),
        ([True, False, False], [False, True]),
        ([1.5, -0.5, -0.5], [-0.5, 1.5]),
        ([("b", 1), ("a", 2), ("a", 2)], [("a", 2), ("b", 1)]),
        (["b", 1, 1], [1, "b"]),
    ],
)
def test_labels_of_any_type_keep_it(values, ordered):
    frame = pd.DataFrame({"task": ["x"] * 3, "worker": [1, 2, 3], "label": pd.Series(values)})
    classes = read_answers(frame).classes
    assert classes.tolist() == ordered
    assert [type(value) for value in classes.tolist()] == [type(value) for value in ordered]


WIDE = pd.DataFrame({"task": ["a", "b", "c"], "ann": ["x", None, ""], "bob": ["x", "y", "x"], "eve": ["y", "y", None]})


def test_wide_tables(tmp_path):
    expected = [("a", "ann", "x"), ("a", "bob", "x"), ("a", "eve", "y")]
    expected += [("b", "bob", "y"), ("b", "eve", "y"), ("c", "bob", "x")]
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    for data in (WIDE, pl.from_pandas(WIDE), tmp_path / "wide.csv"):
        assert decoded(read_answers(data, wide=True)) == expected
    named = WIDE.rename(columns={"task": "what"})
    assert decoded(read_answers(named, wide=True, task="what")) == expected
    numbered = read_answers(WIDE.drop(columns="task"), wide=True)
    assert numbered.tasks.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="has several"):
        read_answers(pd.concat([WIDE, WIDE]), wide=True)


def test_matrices_and_their_missing_answers():
    expected = [(0, 0, 1), (0, 1, 2), (1, 1, 2), (2, 0, 1), (2, 1, 1)]
    minus = np.array([[1, 2], [-1, 2], [1, 1]])
    nan = np.where(minus == -1, np.nan, minus)
    zero = np.where(minus == -1, 0, minus)
    torch = pytest.importorskip("torch")
    assert decoded(read_answers(minus)) == expected
    assert decoded(read_answers(minus.tolist())) == expected
    assert decoded(read_answers(torch.asarray(minus))) == expected
    assert decoded(read_answers(nan)) == expected
    assert decoded(read_answers(zero, missing=0)) == expected
    for form in (sp.csr_array, sp.coo_matrix, sp.lil_array):
        assert decoded(read_answers(form(zero))) == expected
        assert decoded(read_answers(form(nan))) == expected
    assert read_answers(np.array([["a", "b"], ["", "a"]])).classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("one", [1, 1.0, "1"])
def test_labels_of_plus_and_minus_one_are_not_lost_silently(one):
    minus = "-1" if one == "1" else -one
    matrix = np.array([[one, minus], [minus, minus], [one, one]])
    with pytest.raises(InputError, match=r"missing=np\.nan if -1 is a label"):
        read_answers(matrix)
    assert len(read_answers(matrix, missing=np.nan)) == 6
    third = np.array([[one, minus], ["0" if one == "1" else 0, minus], [one, one]])
    assert len(read_answers(third)) == 4  # classes 0 and 1: -1 is not an answer


def test_wide_files_mix_whole_numbers_as_pandas_writes_them(tmp_path):
    frame = pd.DataFrame({"task": list("abcd"), "w1": [1, 0, 1, np.nan], "w2": [1, 0, 1, 0], "w3": [0, 0, np.nan, 1]})
    expected = [(t, w, str(int(x))) for t, w, x in decoded(read_answers(frame, wide=True))]
    frame.to_csv(tmp_path / "wide.csv", index=False)  # w1 and w3 have 1.0 where w2 has 1
    assert decoded(read_answers(tmp_path / "wide.csv", wide=True)) == expected
    frame.fillna(-1).to_csv(tmp_path / "minus.csv", index=False)
    assert decoded(read_answers(tmp_path / "minus.csv", wide=True)) == expected
    signs = frame.replace(0, -1)
    signs.to_csv(tmp_path / "signs.csv", index=False)
    for data in (signs, tmp_path / "signs.csv"):
        with pytest.raises(InputError, match=r"missing=np\.nan"):
            read_answers(data, wide=True)
        assert len(read_answers(data, wide=True, missing="nan")) == 10


@pytest.mark.parametrize("missing", [-9, "-9", -9.0])
def test_missing_is_compared_by_value(missing):
    frame = pd.DataFrame({"task": [1, 2], "a": [1, -9], "b": [1, 2], "c": [2, 2]})
    assert len(read_answers(frame, wide=True, missing=missing)) == 5
    assert len(read_answers(frame.drop(columns="task").to_numpy(), missing=missing)) == 5
    assert len(read_answers(sp.csr_array(frame.drop(columns="task").to_numpy()), missing=missing)) == 5
    long = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 2], "label": [3, -9, 3, 4]})
    assert len(read_answers(long, missing=missing)) == 3


def test_a_column_that_is_no_annotator_is_left_out_or_refused():
    frame = WIDE.assign(text=["one", "two", "three"], version=["A", "B", "A"])
    with pytest.warns(FitWarning, match="'text', 'version' share no label with the other columns, so they are not"):
        answers = read_answers(frame, wide=True)
    assert decoded(answers) == decoded(read_answers(WIDE, wide=True))
    with pytest.raises(InputError, match=r"'text' shares no label with the others.*task='text'"):  # may be the task
        read_answers(frame.drop(columns=["task", "version"]), wide=True)
    pivoted = FRAME.drop_duplicates(["task", "worker"]).pivot(index="task", columns="worker", values="label")
    answers = read_answers(pivoted, wide=True)
    assert sorted(answers.tasks) == ["t1", "t2"]
    assert answers.columns == {"task": "task"}
    numbers = pivoted.rename(columns={"ann": 0, "bob": 1})
    assert read_answers(numbers.reset_index(), wide=True).workers.tolist() == [0, 1]


def test_gaps_of_every_kind():
    frame = pd.DataFrame({"a": pd.array([1, None, 2], dtype="Int64"), "b": pd.array([1, 1, 2], dtype="Int64")})
    assert len(read_answers(frame, wide=True)) == 5
    masked = np.ma.masked_array([[1, 2], [2, 2]], mask=[[False, True], [False, False]])
    assert len(read_answers(masked)) == 3


def test_dates_stay_dates():
    days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"]).astype("datetime64[ns]")
    frame = pd.DataFrame({"task": ["x"] * 3, "worker": [1, 2, 3], "label": days})
    assert read_answers(frame).classes.tolist() == [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")]


def test_prodigy_asks_about_a_label_and_gets_an_answer():
    frame = FRAME.set_axis(["_task_hash", "_annotator_id", "answer"], axis="columns").assign(label="POSITIVE")
    assert read_answers(frame).classes.tolist() == ["no", "yes"]


def test_a_record_batch_is_a_table():
    assert decoded(read_answers(pa.RecordBatch.from_pandas(FRAME))) == sorted(ROWS)


def test_a_task_nobody_answered_keeps_its_row():
    answers = read_answers(np.array([[1, 2], [-1, -1], [2, 2]]))
    assert len(answers.tasks) == 3
    assert_array_equal(answers.votes()[1], [0, 0])


def test_one_hot_counts_readings():
    B = read_answers(FRAME).one_hot().toarray().reshape(2, 2, 2)  # task, worker, class
    assert_array_equal(B[0], [[0, 1], [0, 1]])
    assert_array_equal(B[1], [[1, 1], [1, 0]])


def test_classes_nobody_chose():
    answers = read_answers(FRAME, classes=["maybe", "yes", "no"])
    assert decoded(answers) == sorted(ROWS)
    assert answers.votes().shape == (2, 3)
    with pytest.raises(InputError, match="'no' is not among"):
        read_answers(FRAME, classes=["yes", "maybe"])
    numbers = read_answers(np.array([[1, 3], [3, 3]]))
    assert decoded(with_classes(numbers, 4)) == decoded(numbers)
    with pytest.raises(InputError, match="Raise it"):
        with_classes(with_classes(numbers, 4), 3)
    with pytest.raises(InputError, match=r"classes=\[...\]"):
        with_classes(read_answers(FRAME), 3)


MISTAKES = {
    "a missing column": (FRAME.drop(columns="worker"), "No column for the worker among .*'label'.*wide=True"),
    "no column at all": (pd.DataFrame({"a;b": ["1;2"]}), "separator may not be the one"),
    "several answer fields": (
        pd.DataFrame({"HITId": [1], "WorkerId": [1], "Answer.a": [1], "Answer.b": [1]}),
        "No column for the label",
    ),
    "no rows": (FRAME[:0], "no answers"),
    "a NaN task": (FRAME.assign(task=[None, "a", "b", "c", "d"]), "1 answer has no task: worker='ann'"),
    "a NaN worker": (
        FRAME.assign(worker=["ann", None, "bob", "ann", "bob"]),
        r"1 answer has no worker: task='t1', label='no' \(row 2\)",
    ),
    "one worker": (FRAME.assign(worker="ann"), "come from one worker, 'ann'"),
    "one class": (FRAME.assign(label="yes"), "Every answer is 'yes'"),
    "measurements": (FRAME.assign(label=[0.1, 0.2, 0.3, 0.4, 0.5]), "5 classes for 5 answers"),
    "lists": (FRAME.assign(label=[["a"]] * 5), "Turn it into text"),
    "nothing but gaps": (np.full((2, 2), -1), "no answers"),
    "a vector": (np.array([1, 2]), r"shape \(2,\)"),
    "a number": (3, "got int"),
    "ragged rows": ([[1, 2], [1]], "differ in length"),
    "a sparse matrix from -1": (sp.csr_array(np.array([[-1, 1], [1, -1]])), "numbers its classes from 1.*found -1"),
    "two columns of one name": (pd.concat([FRAME, FRAME[["label"]]], axis=1), "Give each a name of its own"),
    "a sparse vector": (sp.coo_array(np.array([1, 2])), r"got shape \(2,\)"),
    "a sparse matrix of shares": (sp.csr_array(np.array([[0.5, 1], [1, 1]])), "found 0.5"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_a_sentence(name):
    data, sentence = MISTAKES[name]
    with pytest.raises(InputError, match=sentence):
        read_answers(data)


EMPTY = pd.concat([FRAME, pd.DataFrame({"task": ["t2", "t3", None], "worker": ["bob", "eve", None], "label": None})])


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, "empty.csv", "empty.parquet"])
@pytest.mark.parametrize("gap", [None, ""])
def test_answers_without_a_label_are_skipped_and_counted(tmp_path, form, gap):
    data = EMPTY.reset_index(drop=True)
    data.loc[len(FRAME) :, "label"] = gap
    if isinstance(form, str):
        data, path = tmp_path / form, data
        path.to_csv(data, index=False) if form.endswith("csv") else path.to_parquet(data)
    else:
        data = form(data)
    with pytest.warns(UserWarning, match=r"^3 answers without a label were skipped\.$") as caught:
        answers = read_answers(data)
    assert len(caught) == 1
    assert decoded(answers) == sorted(ROWS)
    assert answers.tasks.tolist() == ["t2", "t1"]
    with pytest.warns(UserWarning, match="3 answers without a label"):
        assert MajorityVote().fit(data).labels_.tolist() == ["yes", "no"]


@pytest.mark.parametrize("missing", ["auto", "no"])
def test_a_gap_in_a_column_of_texts_is_one(missing):
    labels = ["no", "yes", "maybe", pd.NA, "yes", "yes"]
    table = pd.DataFrame({"task": list("aabbcc"), "worker": [1, 2] * 3, "label": labels})
    with pytest.warns(UserWarning, match="1 answer without a label"):
        answers = read_answers(table.astype({"label": "string"}), missing=missing)
    assert len(answers) == (5 if missing == "auto" else 4)


def test_numbers_without_a_label_are_skipped():
    frame = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [1, 2, 1, 2], "label": [3, np.nan, 3, 4]})
    with pytest.warns(UserWarning, match="1 answer without a label"):
        assert len(read_answers(frame)) == 3
    frame.loc[2, "task"] = np.nan
    with (
        pytest.warns(UserWarning, match="1 answer without"),
        pytest.raises(InputError, match=r"no task: worker=1, label=3.0 \(row 3\)"),
    ):
        read_answers(frame)


@pytest.mark.parametrize("frame", [FRAME, FRAME.drop_duplicates("task").set_axis(["HITId", "rater", "vote"], axis=1)])
def test_a_long_table_is_not_wide(frame):
    with pytest.raises(InputError, match="leave out wide=True") as caught:
        read_answers(frame, wide=True)
    assert "leave out --wide" in caught.value.on_command_line({})


def test_options_that_make_no_sense():
    with pytest.raises(InputError, match="three columns"):
        read_answers(FRAME, task="worker")
    with pytest.raises(InputError, match="one column per worker"):
        read_answers(WIDE, wide=True, label="ann")
    with pytest.raises(InputError, match="missing is a value or a list of them"):
        read_answers(FRAME, missing=[[1, 2], [3, 4]])
    with pytest.raises(InputError, match="listed twice"):
        read_answers(FRAME, classes=["yes", "no", "no"])
    assert read_answers(FRAME, classes=["a", "b", "c", "yes", "no", "d"]).classes.tolist()[-1] == "d"


def test_an_unhashable_label_is_a_type_error_too():
    with pytest.raises(InputTypeError):
        read_answers(FRAME.assign(label=[["a"]] * 5))


FILES = {
    "empty.csv": (b"", "is empty. Write a table"),
    "header.csv": (b"task,worker,label\n", "no answers"),
    "really.parquet": (b"task,worker,label\n1,2,3\n", "as Parquet"),
    "really.csv": (b"PAR1\x15\x04\x15\x80\xff\xfe\x00", "as CSV"),
    "long.csv": (b"task,worker,label\n1,2,3,4\n1,3,4,5\n", "has 4 columns, where the first line has 3"),
    "space.csv": (b"task worker label\n1 2 3\n", "separator may not be the one"),
    "unmarked.csv": (
        "task,worker,label\n1,a,été\n1,b,été\n".encode("utf-16-le"),
        "not UTF-8 text. Save it as UTF-8, in Excel",
    ),
    "answers.xlsx": (b"PK", "as an Excel workbook"),
    "gap.csv": (b"task,worker,label\n1,,x\n1,3,x\n2,2,y\n", "1 answer has no worker: task='1', label='x'"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_do_not_fit(tmp_path, name):
    content, sentence = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_answers(tmp_path / name)


def test_answers_in_the_encoding_of_windows_are_read_and_said(tmp_path):
    content = "task,worker,label\n1,a,été\n1,b,été\n2,a,thé\n2,b,été\n"
    (tmp_path / "latin.csv").write_bytes(content.encode("cp1252"))
    with pytest.warns(FitWarning, match="latin.csv' is not UTF-8; read as Windows-1252"):
        assert sorted(read_answers(tmp_path / "latin.csv").classes) == ["thé", "été"]


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".xls", ".json", ".parquet", ".npz", ".eval", ".unknown", ""])
def test_a_file_that_is_not_there_has_no_wrong_ending(tmp_path, ending):
    with pytest.raises(InputError, match=r"There is no file '.*'\. Check the name and the folder\."):
        read_answers(tmp_path / f"nowhere{ending}")
    if ending in {".xls", ".npz", ".eval", ".unknown", ""}:
        (tmp_path / f"there{ending}").write_text("task,worker,label\n")
        with pytest.raises(InputError, match=r"should end in|in its binary format"):
            read_answers(tmp_path / f"there{ending}")


def test_folders_are_not_files(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for folder in (tmp_path / "folder.csv", tmp_path):
        with pytest.raises(InputError, match="is a folder"):
            read_answers(folder)


NUMBERED = [
    "Output ID",
    "output_id",
    "image_id",
    "Image-Id",
    "ticket_id",
    "Conversation #",
    "item_id",
    "prompt_id",
    "Prompt No.",
]


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("wide", [False, True])
def test_numbers_of_what_is_judged_are_the_task(name, wide):
    said = pd.DataFrame({"gpt": list("yyny"), "claude": list("ynny"), "ann": list("yyyn")})
    table = pd.concat([pd.Series([11, 12, 13, 14], name=name), said], axis=1)
    if not wide:
        table = table.melt(name, var_name="Judge Model", value_name="Verdict").assign(user_number=7, version_id=1)
    found = read_answers(table, wide=wide)
    assert found.columns["task"] == name
    assert found.tasks.tolist() == [11, 12, 13, 14]
    assert sorted(found.workers) == ["ann", "claude", "gpt"]


def test_of_two_columns_with_numbers_of_what_is_judged_neither_is_the_task():
    rows = pd.DataFrame({"judge": ["a", "b"], "verdict": ["y", "n"], "output_id": [1, 1], "ticket_id": [2, 3]})
    with pytest.raises(InputError, match=r"No column for the task among .*'output_id', 'ticket_id'.* Name it: task="):
        read_answers(rows)
    assert read_answers(rows, task="output_id").columns["task"] == "output_id"
    assert read_answers(rows.rename(columns={"ticket_id": "task"})).columns["task"] == "task"
    with pytest.raises(InputError, match="No column for the task"):
        read_answers(rows.drop(columns="output_id").rename(columns={"ticket_id": "assignment_id"}))
