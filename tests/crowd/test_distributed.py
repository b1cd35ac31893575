"""Answers in parts: what dask finds on any number of machines is what one machine finds."""

import os
import pickle
import signal
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from rectifact import KOS, DawidSkene, InputError, MajorityVote, save_model
from rectifact.crowd import read_answers
from rectifact.crowd.data.partitions import read_lazy
from rectifact.datasets import load_crowd, make_crowd

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

VOTE_EM = {"identify": "majority", "model": "full"}


def in_parts(answers: pd.DataFrame, n: int = 5) -> Any:
    """Answers in random order, such that tasks are spread over all parts."""
    return dd.from_pandas(shuffled(answers), npartitions=n)


def shuffled(answers: pd.DataFrame) -> pd.DataFrame:
    return answers.sample(frac=1, random_state=0, ignore_index=True)


def by_task(model: Any) -> pd.DataFrame:
    table = model.result()
    table = table if isinstance(table, pd.DataFrame) else table.compute()
    assert table["task"].is_unique
    return table.set_index("task")


def assert_same_result(lazy: Any, host: Any) -> None:
    assert_array_equal(lazy.workers_, host.workers_)
    assert_array_equal(lazy.classes_, host.classes_)
    assert lazy.classes_.dtype == host.classes_.dtype
    theirs, ours = by_task(host), by_task(lazy)
    assert len(ours) == len(theirs)
    ours = ours.loc[theirs.index]
    assert ours["label"].tolist() == theirs["label"].tolist()
    assert_array_equal(ours["answers"], theirs["answers"])
    assert_allclose(ours["confidence"], theirs["confidence"], atol=1e-9)
    assert_allclose(ours["entropy"], theirs["entropy"], atol=1e-7)


def assert_same_model(lazy: Any, host: Any) -> None:
    assert_same_result(lazy, host)
    assert_allclose(lazy.priors_, host.priors_, atol=1e-9)
    assert_allclose(lazy.confusions_, host.confusions_, atol=1e-9)
    assert_allclose(lazy.log_likelihood_, host.log_likelihood_, rtol=1e-10)
    losses = ([row["loss"] for row in model.history_] for model in (lazy, host))
    assert_allclose(*losses, rtol=1e-10)
    assert lazy.stop_reason_ == host.stop_reason_
    for key in ("trust", "dispersion"):
        assert_allclose(lazy.resolved_.get(key, 1), host.resolved_.get(key, 1), rtol=1e-9)
    assert lazy.resolved_["identify"] == host.resolved_["identify"]
    pd.testing.assert_frame_equal(lazy.worker_report(), host.worker_report(), rtol=1e-7, atol=1e-9)


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    """A planted crowd that is not quite independent: trust is below 1."""
    independent = make_crowd(600, 15, 3, n_spammers=3).answers
    first = independent.groupby("task")["label"].transform("first")
    return independent.assign(label=first.where(independent.index % 5 < 2, independent["label"]))


@pytest.mark.parametrize(
    "options",
    [
        *({}, VOTE_EM, {"model": "one-coin"}, {"refine": None}, {"identify": "robust"}, {"identify": "designated"}),
        *({"identify": "none-imputed"}, {"identify": "multispa"}, {"identify": "cnmf"}, {"n_classes": 5}),
    ],
    ids=str,
)
def test_every_model_and_start_is_that_of_one_machine(answers, options):
    host = DawidSkene(**options).fit(shuffled(answers))
    assert_same_model(DawidSkene(**options).fit(in_parts(answers)), host)


def test_a_published_set_on_a_cluster(client, load_or_skip):
    answers = load_or_skip(load_crowd, "dog").answers
    lazy, host = DawidSkene().fit(in_parts(answers)), DawidSkene().fit(shuffled(answers))
    assert_same_model(lazy, host)


def test_a_published_set_of_many_workers(load_or_skip):
    answers = load_or_skip(load_crowd, "trec").answers
    assert_same_model(DawidSkene().fit(in_parts(answers)), DawidSkene().fit(shuffled(answers)))


def test_dependence_is_measured_over_all_partitions(answers):
    copied = answers.assign(label=answers.groupby("task")["label"].transform("first"))
    whole, parts = DawidSkene().fit(copied), DawidSkene().fit(in_parts(copied))
    assert whole.resolved_["retreat"] > 0
    assert whole.resolved_["retreat"] == pytest.approx(parts.resolved_["retreat"])
    assert whole.n_effective_ == pytest.approx(parts.n_effective_)


ODD = {
    "texts with quotes and spaces": lambda task: [f' "{n}", {n % 7}; é\n' for n in task],
    "numbers as floats": lambda task: task.astype(float) * 1.0,
    "texts that read as numbers": lambda task: task.astype(str),
    "categories": lambda task: pd.Categorical(task.astype(str), categories=[str(n) for n in range(999, -1, -1)]),
    "dates": lambda task: pd.Timestamp("2020-01-01") + pd.to_timedelta(task, unit="h"),
}


@pytest.mark.parametrize("kind", ODD)
def test_names_of_any_kind(answers, kind):
    odd = answers.assign(task=ODD[kind](answers["task"]), worker=answers["worker"].astype(str))
    odd["label"] = odd["label"].map({0: "no", 1: "yes", 2: "don't know"})
    assert_same_model(DawidSkene(**VOTE_EM).fit(in_parts(odd)), DawidSkene(**VOTE_EM).fit(shuffled(odd)))


def test_labels_that_are_no_texts_stay_what_they_are(answers):
    days = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)]
    dated = answers.assign(label=answers["label"].map(dict(enumerate(days))).astype(object))
    with dask.config.set({"dataframe.convert-string": False}):  # of the user's, or they would be texts before
        parts = in_parts(dated)
    assert_same_model(DawidSkene(**VOTE_EM).fit(parts), DawidSkene(**VOTE_EM).fit(shuffled(dated)))


def test_parts_need_not_be_alike(answers):
    """Empty parts, one answer alone, missing labels, a worker of one part only: as if all were one table."""
    table = shuffled(answers)
    newcomer = pd.DataFrame({"task": [0, 1, 2], "worker": [99, 99, 99], "label": [0, 1, 2]})
    pieces = [table[:0], table[:1], table[1:700], table[:0], newcomer, table[700:]]
    pieces[2] = pieces[2].assign(label=pieces[2]["label"].astype(float).where(pieces[2].index % 50 != 3))
    frame = dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=pieces[2], verify_meta=False)
    with pytest.warns(UserWarning, match="14 answers without a label"):
        lazy = DawidSkene(**VOTE_EM).fit(frame)
    with pytest.warns(UserWarning, match="14 answers without a label"):
        host = DawidSkene(**VOTE_EM).fit(pd.concat([piece for piece in pieces if len(piece)]))
    assert_same_model(lazy, host)
    assert 99 in lazy.workers_


def test_one_part_and_repeated_readings():
    answers = load_crowd("anaesthetists").answers  # an observer reads some patients three times
    for n in (1, 3):
        assert_same_model(DawidSkene().fit(in_parts(answers, n)), DawidSkene().fit(shuffled(answers)))


def test_tasks_that_are_equal_meet_in_one_block():
    """The number 7 as an integer, a float and an object is one task, wherever it comes from."""
    rows = [(7, "a", "x"), (7, "b", "x"), (8, "a", "y"), (8, "b", "y"), (9, "a", "x"), (9, "b", "y")]
    table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    mixed = table.assign(task=table["task"].astype(object))
    pieces = [table, table.assign(task=table["task"] * 1.0), mixed, mixed.replace({"task": {9: "nine"}})]
    with dask.config.set({"dataframe.convert-string": False}):  # or dask makes texts of the last two
        frame = dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=mixed, verify_meta=False)
        result = by_task(MajorityVote().fit(frame))
    assert result["answers"].to_dict() == {7: 8, 8: 8, 9: 6, "nine": 2}


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_many_parts_move_in_stages(answers, monkeypatch, kind):
    """With more than 32 parts and blocks dask moves rows twice, and fills up with empty parts."""
    monkeypatch.setattr("rectifact.crowd.data.repartition.LEAST_PARTITIONS", 40)
    named = answers if kind == "numbers" else answers.assign(task=answers["task"].astype(str))
    lazy = MajorityVote().fit(in_parts(named, 40))
    assert lazy._answers.partitions.numblocks[0] == 40
    assert_same_result(lazy, MajorityVote().fit(shuffled(named)))
    assert lazy.tasks_.dtype == (np.int64 if kind == "numbers" else object)


def test_a_folder_of_files(answers, tmp_path, monkeypatch):
    table = shuffled(answers).rename(columns={"task": "HITId", "worker": "WorkerId", "label": "Answer.sentiment"})
    for i, rows in enumerate(np.array_split(np.arange(len(table)), 12)):
        piece = table.iloc[rows].assign(comment="not read")
        piece.to_parquet(tmp_path / f"part.{i}.parquet", row_group_size=100)
    (tmp_path / "_SUCCESS").touch()
    monkeypatch.setattr("rectifact.crowd.data.sources.MOST_ROWS", 250)  # files of several parts
    host = DawidSkene(**VOTE_EM).fit(table)
    files = [tmp_path / f"part.{i}.parquet" for i in range(12)]
    for data in (tmp_path, str(tmp_path / "part.*.parquet"), files):
        lazy = DawidSkene(**VOTE_EM).fit(data)
        assert_same_model(lazy, host)
        assert lazy.resolved_["columns"] == {"task": "HITId", "worker": "WorkerId", "label": "Answer.sentiment"}


def test_gold_labels_are_matched_in_every_block(answers):
    gold = dict.fromkeys(range(0, 300, 7), 2) | {"17": "0", 5000: 1}  # a text that reads as a task, and an unknown one
    assert_same_model(DawidSkene().fit(in_parts(answers), gold=gold), DawidSkene().fit(shuffled(answers), gold=gold))
    with pytest.raises(InputError, match="'maybe' of task 3 is none of the classes"):
        DawidSkene().fit(in_parts(answers), gold={3: "maybe"})
    with pytest.raises(InputError, match="No task with a gold label"):
        DawidSkene().fit(in_parts(answers), gold={-3: 1})
    with pytest.raises(InputError, match="two gold labels"):
        DawidSkene().fit(in_parts(answers), gold=pd.DataFrame({"task": [3, 3], "label": [1, 2]}))


def test_what_is_known_by_task_stays_lazy_and_has_a_size(answers, client):
    model = DawidSkene(**VOTE_EM).fit(in_parts(answers))
    n = answers["task"].nunique()
    assert model.probas_.shape == (n, 3)
    assert model.tasks_.shape == model.labels_.shape == (n,)
    for array in (model.tasks_, model.labels_, model.probas_):
        assert dask.is_dask_collection(array)
    tasks, labels, probas = dask.compute(model.tasks_, model.labels_, model.probas_)
    result = by_task(model).loc[tasks]
    assert_array_equal(result["label"], labels)
    assert_allclose(result["confidence"], probas.max(axis=1))
    assert_array_equal(labels, model.classes_[probas.argmax(axis=1)])


def test_results_go_to_parquet(answers, tmp_path):
    model = DawidSkene(**VOTE_EM).fit(in_parts(answers))
    model.result().to_parquet(tmp_path / "truth", write_index=False)
    written = pd.read_parquet(tmp_path / "truth").set_index("task")
    pd.testing.assert_frame_equal(written, by_task(model), check_dtype=False)


def test_new_answers_are_judged_in_parts(answers):
    old, new = answers[answers["task"] < 400], answers[answers["task"] >= 400]
    for model in (DawidSkene().fit(old), DawidSkene().fit(in_parts(old))):
        lazy, host = model.predict_proba(in_parts(new)), DawidSkene().fit(old).predict_proba(new)
        tasks = new["task"].unique()
        assert_allclose(lazy.compute().loc[tasks], host, atol=1e-9)
        assert_array_equal(model.predict(in_parts(new)).compute().loc[tasks], model.predict(new))
    with pytest.raises(InputError, match="1 worker was not in the data of the fit: 77"):
        model.predict(in_parts(new.assign(worker=77)))
    with pytest.raises(InputError, match="9 is not among the given classes"):
        model.predict(in_parts(new.assign(label=9)))


@pytest.mark.parametrize("options", [{}, {"model": "full"}], ids=str)
def test_answers_may_come_later(answers, options):
    """Old and new tasks, old and new workers, twice: as one machine takes them in."""
    late = answers[(answers["task"] % 3 == 0) & (answers["worker"] == 3)].assign(worker=50)
    first, second = answers[answers["task"] < 400], pd.concat([answers[answers["task"] >= 400], late[:30]])
    gold = {2: 1, 450: 2}
    host = DawidSkene(**options).fit(first, gold=gold).partial_fit(second).partial_fit(late[30:])
    lazy = DawidSkene(**options).fit(dd.from_pandas(first, npartitions=4), gold=gold)
    lazy.partial_fit(dd.from_pandas(second, npartitions=3, sort=False)).partial_fit(late[30:])
    assert_same_result(lazy, host)
    assert_allclose(lazy.confusions_, host.confusions_, atol=1e-9)
    assert_allclose(lazy.log_likelihood_, host.log_likelihood_, rtol=1e-10)
    with pytest.raises(InputError, match="These answers are partitioned"):
        host.partial_fit(in_parts(late))


def test_the_vote_in_parts(answers):
    lazy, host = MajorityVote().fit(in_parts(answers)), MajorityVote().fit(shuffled(answers))
    assert_same_result(lazy, host)
    pd.testing.assert_frame_equal(lazy.worker_report(), host.worker_report())


class Traffic:
    """Computations, and the bytes of what came back from each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        compute = dask.compute

        def counted(*values: Any, **options: Any) -> Any:
            result = compute(*values, **options)
            self.sizes.append(len(pickle.dumps(result)))
            return result

        monkeypatch.setattr(dask, "compute", counted)


def test_an_iteration_is_one_computation_and_only_small_sums_travel(client, monkeypatch):
    sizes = {}
    for n_tasks in (300, 3000):
        frame = in_parts(make_crowd(n_tasks, 12, 3).answers)
        for max_iter in (3, 8):
            with monkeypatch.context() as patched:
                traffic = Traffic(patched)
                with pytest.warns(ConvergenceWarning):
                    DawidSkene(**VOTE_EM, max_iter=max_iter, tol=0).fit(frame)
                sizes[n_tasks, max_iter] = traffic.sizes
    for n_tasks in (300, 3000):
        assert len(sizes[n_tasks, 8]) - len(sizes[n_tasks, 3]) == 5
    assert_allclose(sizes[300, 8], sizes[3000, 8], atol=100)  # dask's own names of things aside
    assert max(sizes[3000, 8]) < 8 * 12 * 3 * 3 + 2000


def test_a_worker_that_dies_costs_time_only(answers):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0")
    with cluster, Client(cluster) as client:
        killed = []

        def kill(row: dict[str, float]) -> None:
            if row["iter"] == 3:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        lazy = DawidSkene(**VOTE_EM, callbacks=[kill]).fit(in_parts(answers))
        assert killed
        assert lazy.n_iter_ > 4
        assert_same_model(lazy, DawidSkene(**VOTE_EM).fit(shuffled(answers)))


def test_what_needs_all_answers_says_so(answers, tmp_path):
    model = DawidSkene(**VOTE_EM).fit(in_parts(answers))
    for method in (model.next_labels, model.diagnose, model.calibrate):
        with pytest.raises(InputError, match=rf"{method.__name__}\(\) needs all answers in memory"):
            method()
    with pytest.raises(InputError, match="weights are for answers in memory"):
        model.fit(in_parts(answers), weights=np.ones(len(answers)))
    with pytest.raises(InputError, match="identify='spectral' is for answers in memory"):
        DawidSkene("spectral").fit(in_parts(answers))
    with pytest.raises(InputError, match="cannot be saved in one file"):
        save_model(model, tmp_path / "model.rfx")
    for take in (read_answers, KOS().fit):
        with pytest.raises(InputError, match="These answers are partitioned"):
            take(in_parts(answers))


MISTAKES = {
    "A task is a list": {"task": [[1], [1], [2]], "worker": ["a", "b", "a"], "label": [1, 1, 2]},
    "A label is a list": {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [[1], [1], [2]]},
    "No column for the worker": {"task": [1], "label": [1]},
    "2 answers have no worker": {"task": [1, 2, 3], "worker": ["a", None, None], "label": [1, 2, 1]},
    "no answers in this data": {"task": [1], "worker": ["a"], "label": [None]},
    "All answers come from one worker, 'a'": {"task": [1, 2], "worker": ["a", "a"], "label": [1, 2]},
    "Every answer is 1": {"task": [1, 1], "worker": ["a", "b"], "label": [1, 1]},
    "3 classes for 3 answers": {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [1, 2, 3]},
}


@pytest.mark.parametrize("message", MISTAKES)
@pytest.mark.filterwarnings("ignore:.*without a label")
def test_mistakes_are_those_of_one_machine(message, tmp_path):
    table = pd.DataFrame(MISTAKES[message])
    for i in range(len(table)):
        table[i : i + 1].to_parquet(tmp_path / f"{i}.parquet")
    for data in (tmp_path, table):
        with pytest.raises(InputError, match=message):
            DawidSkene().fit(data)


def test_files_that_cannot_be_read_are_named(answers, tmp_path):
    with pytest.raises(InputError, match=r"is a folder without \.parquet files"):
        DawidSkene().fit(tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        DawidSkene().fit(str(tmp_path / "*.parquet"))
    with pytest.raises(InputError, match=r"'answers\.csv' is not one"):
        DawidSkene().fit(["answers.csv", "more.csv"])
    answers.to_parquet(tmp_path / "a.parquet")
    answers.rename(columns={"label": "verdict"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet' has no column 'label'"):
        DawidSkene().fit(tmp_path)
    (tmp_path / "b.parquet").write_text("no parquet")
    with pytest.raises(InputError, match=r"b\.parquet' as Parquet"):
        DawidSkene().fit(tmp_path)


def test_answers_are_read_once_for_several_fits(answers):
    read = read_lazy(in_parts(answers).rename(columns={"task": "q"}), task="q")
    for options in (VOTE_EM, {"model": "one-coin"}):
        assert_same_model(DawidSkene(**options).fit(read), DawidSkene(**options).fit(shuffled(answers)))
