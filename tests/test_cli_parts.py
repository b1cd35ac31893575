"""The commands on partitioned data: folders of answers and of matrices, several files, Dask."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from time import sleep

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from rectifact import load_model
from rectifact.cli import dask_options
from rectifact.datasets import make_crowd, make_topics
from rectifact.models import load_saved

pytest.importorskip("distributed")
pytestmark = pytest.mark.dask


@pytest.fixture
def folder(tmp_path):
    answers = make_crowd(300, 10, 3).answers.sample(frac=1, random_state=0).rename(columns={"label": "verdict"})
    answers.to_parquet(tmp_path / "all.parquet")
    (tmp_path / "answers").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(answers)), 3)):
        answers.iloc[rows].to_parquet(tmp_path / "answers" / f"part.{i}.parquet")
    return tmp_path / "answers"


def by_task(path):
    table = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",") if path.suffix else pd.read_parquet(path)
    return table.set_index("task").sort_index()


def test_every_output_is_that_of_one_file(run, folder, tmp_path):
    run("labels", tmp_path / "all.parquet", "-o", tmp_path / "host.csv", "--workers", tmp_path / "host-workers.csv")
    expected = by_task(tmp_path / "host.csv")
    for name in ("truth.csv", "truth.tsv", "truth"):
        said = run("labels", folder, "--label", "verdict", "-o", tmp_path / name, "--workers", tmp_path / "workers.csv")
        assert "1500 answers from 10 workers on 300 tasks, 3 classes" in said.err
        assert "label from 'verdict'" in said.err
        pd.testing.assert_frame_equal(by_task(tmp_path / name), expected)
    workers = [pd.read_csv(tmp_path / name).set_index("worker") for name in ("workers.csv", "host-workers.csv")]
    pd.testing.assert_frame_equal(workers[0].sort_index(), workers[1].sort_index())
    run("labels", folder, "-o", tmp_path / "truth.parquet")
    one = pd.read_parquet(tmp_path / "truth.parquet").set_index("task").sort_index()
    pd.testing.assert_frame_equal(one, expected, check_dtype=False)
    lines = run("labels", *sorted(folder.iterdir())).out.splitlines()
    assert lines[0].startswith("task,verdict,confidence")
    assert len(lines) == 301


def test_a_running_scheduler_does_the_work(run, folder, tmp_path, cluster):
    said = run("labels", folder, "--scheduler", cluster.scheduler_address, "-o", tmp_path / "truth", "--json")
    assert json.loads(said.out)["tasks"] == 300
    assert len(list((tmp_path / "truth").iterdir())) == 3


def test_mistakes_are_one_sentence(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_options, "PATIENCE", "1s")
    one = tmp_path / "all.parquet"
    mistakes = {
        "There is no Dask scheduler at 'tcp://127.0.0.1:1'": (folder, "--scheduler", "tcp://127.0.0.1:1"),
        "--local-cluster 0 is not a number": (folder, "--local-cluster", 0),
        "Choose one": (folder, "--local-cluster", 1, "--scheduler", "tcp://127.0.0.1:1"),
        "are for partitioned or chunked data": (one, "--local-cluster", 1),
        "--plan, --calibrate are not available": (folder, "--calibrate", "--plan", tmp_path / "plan.csv"),
        "it already exists": (folder, "-o", tmp_path / "answers"),
        "is not one. Convert it": (one, tmp_path / "more.csv"),
        "would lie among the answers": (folder, "-o", folder / "truth.parquet"),
    }
    for message, arguments in mistakes.items():
        said = run("labels", *arguments, expect=2).err
        assert message in said
        assert said.count("\n") == 1


def test_a_lost_scheduler_is_one_sentence_and_another_exit_code(run, folder, tmp_path, cluster, monkeypatch):
    from distributed import CancelledError

    def lost(self, data, **labels):
        raise CancelledError("scheduler-connection-lost")

    monkeypatch.setattr("rectifact.crowd.DawidSkene.fit", lost)
    arguments = ("labels", folder, "--scheduler", cluster.scheduler_address, "-o", tmp_path / "truth.csv")
    said = run(*arguments, expect=1).err  # 2 is for input that will never do
    assert said.startswith("rectifact: The connection to the Dask scheduler was lost. Start it again and repeat")
    assert "--checkpoint and --resume" in said
    assert said.count("\n") == 1


def test_a_web_server_is_no_scheduler(run, folder):
    """The port of dask's dashboard in place of the scheduler's: its answer begins with what reads as a huge size."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with suppress(OSError):  # closed at the end
                while True:
                    with server.accept()[0] as asked:
                        asked.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert (
            f"There is no Dask scheduler at '{address}'" in run("labels", folder, "--scheduler", address, expect=2).err
        )
    import dask
    from distributed import default_client

    assert dask.config.get("scheduler", None) is None  # a client left behind would be waited for forever
    with pytest.raises(ValueError, match="No client"):
        default_client()


def test_an_interrupt_is_one_sentence_and_leaves_no_process(folder, tmp_path):
    psutil = pytest.importorskip("psutil")
    command = [sys.executable, "-c", "from rectifact.cli import main; main()", "labels", folder, "--local-cluster", "1"]
    running = subprocess.Popen([*command, "-o", tmp_path / "t.csv"], stderr=subprocess.PIPE, start_new_session=True)
    parent = psutil.Process(running.pid)
    while not (started := [child for child in parent.children() if "spawn_main" in str(child.cmdline())]):
        assert running.poll() is None
        sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does, to the workers too
    said = running.communicate(timeout=60)[1].decode()
    assert said == "rectifact: interrupted; no file was left half-written.\n"
    assert running.returncode == 130
    assert not psutil.wait_procs(started, timeout=10)[1]


def test_dask_that_is_not_there_is_named(run, folder, tmp_path, monkeypatch):
    for module in ("rectifact.cli.dask_options", "rectifact.crowd.data.sources"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    assert "pip install '.[dask]'" in run("labels", folder, expect=2).err
    assert "pip install '.[dask]'" in run("labels", folder, "--local-cluster", 1, expect=2).err
    monkeypatch.setattr("rectifact.io.partitions.find_spec", lambda name: None)
    chunks = tmp_path / "chunks"
    chunks.mkdir()
    np.save(chunks / "0.npy", np.ones((3, 2)))
    assert "pip install '.[dask]'" in run("parts", chunks, "-k", 2, expect=2).err


def write(path, rows, first):
    """Rows of a matrix in a file; those of a table are named."""
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".npz":
        sp.save_npz(path, sp.csr_array(rows))
    else:
        names = [f"row {first + i}" for i in range(len(rows))]
        pd.DataFrame(rows, index=names, columns=[f"f{j}" for j in range(rows.shape[1])]).to_parquet(path)


def cut(X, folder, suffix, n_parts=11):
    """X in files of a new folder, whose names sort otherwise as text: part10 before part2."""
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(X)), n_parts)):
        write(folder / f"part{i}{suffix}", X[rows], rows[0])
    return folder


@pytest.fixture
def mixtures(tmp_path):
    X = make_topics(n_samples=300, n_features=20, n_topics=3).X
    np.save(tmp_path / "all.npy", X)
    return X


@pytest.fixture
def sparse(tmp_path):
    """What a ReLU leaves of three dimensions; images of dots are so symmetric that several starts are equally good."""
    rng = np.random.default_rng(0)
    X = np.maximum(rng.standard_normal((120, 3)) @ rng.standard_normal((3, 30)), 0)
    np.save(tmp_path / "sparse.npy", X)
    return X


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_parts_of_a_folder_are_those_of_one_file(run, mixtures, tmp_path, suffix):
    run("parts", tmp_path / "all.npy", "-k", 3, "-o", tmp_path / "one.npz")
    folder = cut(mixtures, tmp_path / "folder", suffix)
    said = run("parts", folder, "-k", 3, "-o", tmp_path / "out.npz", "--weights", tmp_path / "weights.csv")
    assert "300 samples, 20 features, 3 parts: 100.0%" in said.err
    one, out = (np.load(tmp_path / name) for name in ("one.npz", "out.npz"))
    assert set(out.files) == {"components", "features"}
    assert_allclose(out["components"], one["components"], atol=1e-9)
    table = pd.read_csv(tmp_path / "weights.csv").set_index("sample")
    assert_allclose(table, one["weights"], atol=1e-9)
    assert str(table.index[-1]) == ("row 299" if suffix == ".parquet" else "300")
    assert out["features"][0] == ("f0" if suffix == ".parquet" else "1")


def test_parts_of_a_folder_are_shown_and_saved_without_data(run, mixtures, tmp_path):
    shown = [run("parts", tmp_path / "all.npy", "-k", 3).out]
    folder = cut(mixtures, tmp_path / "folder", ".npz", n_parts=2)
    shown.append(run("parts", folder, "-k", 3, "--save", tmp_path / "model.rfx").out)
    assert shown[0] == shown[1]
    saved = load_saved(tmp_path / "model.rfx")
    assert saved.X is None
    assert_allclose(saved.model.inverse_transform(saved.model.transform(mixtures)), mixtures, atol=1e-3)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_an_embedding_of_a_folder_is_that_of_one_file(run, sparse, tmp_path, suffix):
    common = ("-k", 3, "--max-iter", 5)
    run("embed", tmp_path / "sparse.npy", *common, "-o", tmp_path / "one.npz")
    folder = cut(sparse, tmp_path / "folder", suffix)
    run("embed", folder, *common, "-o", tmp_path / "out.csv", "--save", tmp_path / "model.rfx")
    one, model = np.load(tmp_path / "one.npz"), load_model(tmp_path / "model.rfx")
    assert_allclose(model.components_, one["components"], atol=1e-7)
    assert_allclose(model.scale_, one["scale"])
    assert_allclose(pd.read_csv(tmp_path / "out.csv").set_index("sample"), one["embedding"], atol=1e-6)
    assert_allclose(model.transform(sparse[:2]), one["embedding"][:2], atol=1e-6)
    assert "has no embedding in memory" in run("report", tmp_path / "model.rfx", expect=2).err


def test_processes_of_this_machine_do_the_work(run, sparse, tmp_path):
    folder, common = cut(sparse, tmp_path / "folder", ".npz", n_parts=3), ("-k", 3, "--max-iter", 3)
    run("embed", tmp_path / "sparse.npy", *common, "-o", tmp_path / "one.npz")
    said = run("embed", folder, *common, "--local-cluster", 1, "-o", tmp_path / "out", "--json").out
    assert json.loads(said)["samples"] == 120
    parts = [pd.read_parquet(tmp_path / "out" / f"part.{i}.parquet").set_index("sample") for i in range(3)]
    assert_allclose(pd.concat(parts), np.load(tmp_path / "one.npz")["embedding"], atol=1e-6)


def test_a_fit_of_a_folder_is_resumed(run, sparse, tmp_path):
    folder = cut(sparse, tmp_path / "folder", ".npy", n_parts=3)
    keep, common = ("--checkpoint", tmp_path / "state"), (folder, "-k", 3)
    run("embed", *common, "--max-iter", 6, "-o", tmp_path / "whole.csv")
    run("embed", *common, "--max-iter", 3, "-o", tmp_path / "half.csv", *keep)
    said = run("embed", *common, "--max-iter", 6, "-o", tmp_path / "resumed.csv", *keep, "--resume", "--json")
    assert json.loads(said.out)["iterations"] == 6
    half, whole, resumed = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("half", "whole", "resumed"))
    assert_allclose(resumed, whole)
    assert abs(half - whole).max().max() > 1e-3


def test_folders_that_are_no_matrix_are_one_sentence(run, mixtures, sparse, tmp_path):
    good = cut(mixtures, tmp_path / "good", ".npy", n_parts=2)
    folders = {name: cut(mixtures, tmp_path / name, ".parquet", n_parts=2) for name in ("renamed", "unnamed", "text")}
    other = pd.read_parquet(folders["renamed"] / "part1.parquet").rename(columns={"f3": "colour"})
    other.to_parquet(folders["renamed"] / "part1.parquet")
    other.reset_index(drop=True).to_parquet(folders["unnamed"] / "part1.parquet")
    pd.DataFrame({"a": [1.0], "b": ["red"]}).to_parquet(folders["text"] / "part1.parquet")
    for name in ("mixed", "wide", "flat", "short"):
        folders[name] = cut(mixtures, tmp_path / name, ".npy", n_parts=2)
    (folders["mixed"] / "labels.csv").write_text("1")
    np.save(folders["wide"] / "part1.npy", sparse)
    np.save(folders["flat"] / "part1.npy", sparse[0])
    (folders["short"] / "part1.npy").write_bytes((good / "part1.npy").read_bytes()[:-8])
    folders["damaged"] = cut(mixtures, tmp_path / "damaged", ".npz", n_parts=2)
    content = bytearray((folders["damaged"] / "part1.npz").read_bytes())
    middle = content.index(b"data.npy") + 500  # behind the header, where the worker reads
    content[middle : middle + 50] = bytes(50)
    (folders["damaged"] / "part1.npz").write_bytes(content)
    folders["dense"], folders["empty"] = cut(mixtures, tmp_path / "dense", ".npz", n_parts=2), tmp_path / "empty"
    np.savez(folders["dense"] / "part1.npz", X=mixtures)
    folders["empty"].mkdir()
    out = ("-o", tmp_path / "out.csv")
    mistakes = {
        "'part0.npy' and 'labels.csv'": ("embed", folders["mixed"], *out),
        "wide/part1.npy' has 30 columns, and 'part0.npy' has 20": ("embed", folders["wide"], *out),
        "flat/part1.npy' holds an array of shape (30,)": ("embed", folders["flat"], *out),
        "short/part1.npy' as NPY": ("embed", folders["short"], *out),
        "damaged/part1.npz' as NPZ": ("embed", folders["damaged"], *out),
        "dense/part1.npz' is not a sparse matrix": ("embed", folders["dense"], *out),
        "has a column 'colour' where 'part0.parquet' has 'f3'": ("embed", folders["renamed"], *out),
        "names its rows by no column": ("embed", folders["unnamed"], *out),
        "The column 'b' of": ("embed", folders["text"], *out),
        "holds no matrices": ("embed", folders["empty"], *out),
        "holds neither texts": ("parts", folders["empty"]),
        "is written in partitions": ("embed", good, "-o", tmp_path / "out.npz"),
        "--report is not available": ("parts", good, "--report", tmp_path / "report.html"),
        "among the data": ("parts", good, "--weights", good / "weights.csv"),
        "are for partitioned or chunked data": ("parts", tmp_path / "all.npy", "--local-cluster", 1),
    }
    for message, (command, *arguments) in mistakes.items():
        said = run(command, *arguments, "-k", 3, expect=2).err
        assert message in said
        assert said.count("\n") == 1


def test_hidden_files_empty_files_and_large_ones(mixtures, tmp_path):
    import dask

    from rectifact.io.partitions import read_chunks

    folder = cut(mixtures.astype(np.float32), tmp_path / "folder", ".npy", n_parts=2)
    np.save(folder / "part0b.npy", np.empty((0, 20), dtype=np.float32))
    (folder / "_SUCCESS").touch()
    with dask.config.set({"array.chunk-size": "4000B"}):  # fifty rows of 80 bytes
        matrix = read_chunks(folder)
    assert matrix.X.chunks == ((50,) * 6, (20,))
    assert matrix.X.dtype == np.float32
    assert_array_equal(matrix.X.compute(), mixtures.astype(np.float32))
    assert_array_equal(np.concatenate(dask.compute(*matrix.rows)), np.arange(1, 301).astype(str))
    pd.DataFrame(mixtures).rename(columns=str).to_parquet(tmp_path / "rows.parquet", row_group_size=40)
    (tmp_path / "tables").mkdir()
    (tmp_path / "rows.parquet").rename(tmp_path / "tables" / "rows.parquet")
    with dask.config.set({"array.chunk-size": "16000B"}):  # a hundred rows of 160 bytes
        matrix = read_chunks(tmp_path / "tables")
    assert matrix.X.chunks[0] == (80, 80, 80, 60)
    assert_array_equal(matrix.X.compute(), mixtures)


def test_the_number_of_parts_of_a_matrix_in_chunks(run, tmp_path):
    X = make_topics(n_samples=200, n_features=8, n_topics=3, noise=0.002).X
    (tmp_path / "chunks").mkdir()
    for i, rows in enumerate(np.array_split(X, 2)):
        np.save(tmp_path / "chunks" / f"{i}.npy", rows)
    found = json.loads(run("parts", tmp_path / "chunks", "-k", "2-4", "-o", tmp_path / "p.npz", "--json").out)
    assert found["selection"]["best"] == found["parts"] == len(found["stability"]) == 3
    said = run("parts", tmp_path / "chunks", "-k", 4, "--bootstrap", 5, expect=2).err
    assert said == "rectifact: --bootstrap needs a matrix in memory, and this one is in chunks. Use --stability.\n"
