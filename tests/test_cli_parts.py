"""rectifact labels on answers in parts: a folder of Parquet files, several files, a cluster."""

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

from rectifact.cli import cluster_options
from rectifact.datasets import make_crowd

pytest.importorskip("distributed")


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
        assert "1500 answers of 10 workers on 300 tasks, 3 classes" in said.err
        assert "label from 'verdict'" in said.err
        pd.testing.assert_frame_equal(by_task(tmp_path / name), expected)
    workers = [pd.read_csv(tmp_path / name).set_index("worker") for name in ("workers.csv", "host-workers.csv")]
    pd.testing.assert_frame_equal(workers[0].sort_index(), workers[1].sort_index())
    run("labels", folder, "-o", tmp_path / "truth.parquet")
    one = pd.read_parquet(tmp_path / "truth.parquet").set_index("task").sort_index()
    pd.testing.assert_frame_equal(one, expected, check_dtype=False)
    lines = run("labels", *sorted(folder.iterdir())).out.splitlines()
    assert lines[0].startswith("task,label,confidence")
    assert len(lines) == 301


def test_a_running_scheduler_does_the_work(run, folder, tmp_path, cluster):
    said = run("labels", folder, "--scheduler", cluster.scheduler_address, "-o", tmp_path / "truth", "--json")
    assert json.loads(said.out)["tasks"] == 300
    assert len(list((tmp_path / "truth").iterdir())) == 3


def test_mistakes_are_one_sentence(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_options, "PATIENCE", "1s")
    one = tmp_path / "all.parquet"
    mistakes = {
        "There is no dask scheduler at 'tcp://127.0.0.1:1'": (folder, "--scheduler", "tcp://127.0.0.1:1"),
        "--local-cluster 0 is no number": (folder, "--local-cluster", 0),
        "Choose one": (folder, "--local-cluster", 1, "--scheduler", "tcp://127.0.0.1:1"),
        "are for data in parts": (one, "--local-cluster", 1),
        "--plan, --calibrate cannot be had": (folder, "--calibrate", "--plan", tmp_path / "plan.csv"),
        "it is there already": (folder, "-o", tmp_path / "answers"),
        "is none. Convert it": (one, tmp_path / "more.csv"),
        "would lie among the answers": (folder, "-o", folder / "truth.parquet"),
    }
    for message, arguments in mistakes.items():
        said = run("labels", *arguments, expect=2).err
        assert message in said
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
            f"There is no dask scheduler at '{address}'" in run("labels", folder, "--scheduler", address, expect=2).err
        )


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


def test_dask_that_is_not_there_is_named(run, folder, monkeypatch):
    for module in ("rectifact.cli.cluster_options", "rectifact.crowd.sources"):
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    assert "rectifact[dask]" in run("labels", folder, expect=2).err
    assert "rectifact[dask]" in run("labels", folder, "--local-cluster", 1, expect=2).err
