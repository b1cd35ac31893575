"""Dask clusters that lose workers, or their scheduler: the same results, or one sentence and a checkpoint."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from rectifact.datasets import make_crowd
from trial.losses import FITS, mixtures

pytestmark = [pytest.mark.trial, pytest.mark.dask]
pytest.importorskip("distributed")
SECONDS = 600

ROUNDING = 1e-9
"""Relative difference that the order of sums may make: chunks that are computed again arrive in another order."""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", FITS)
def test_killed_workers_cost_time_and_not_the_result(trial, name):
    row = trial(f"Dask workers killed, {name}", {"DawidSkene": 1}.get(name, 0), 6)
    kills = row.cases - row.tried
    if not kills:
        pytest.skip("only in the long form, or done before")
    script = Path(__file__).with_name("losses.py")
    command = [sys.executable, str(script), name, str(kills), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for fit in found:
        if fit["difference"] > ROUNDING:
            row.failed(f"{fit}: the result is another")
    if done.returncode or sum(fit["kills"] for fit in found) < kills:
        row.failed(f"{name}: exit code {done.returncode}\n{done.stderr[-1500:]}")
    row.tried = row.cases
    row.check()


@contextmanager
def started(*arguments, folder):
    """A process of its own session, which is killed at the end with its children."""
    command = [sys.executable, "-m", *map(str, arguments)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, **quiet)
    try:
        yield process
    finally:
        end(process)


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(condition):
    end = monotonic() + SECONDS
    while not (found := condition()):
        assert monotonic() < end
        sleep(0.02)
    return found


@contextmanager
def dask_cluster(folder):
    """The process of a scheduler and its address; a worker is connected to it."""
    about = folder / "scheduler.json"
    about.unlink(missing_ok=True)
    place = ("--host", "127.0.0.1", "--no-dashboard")
    scheduling = ("distributed.cli.dask_scheduler", *place, "--port", "0", "--scheduler-file", about)
    with started(*scheduling, folder=folder) as scheduler:
        address = wait_for(lambda: about.exists() and about.read_text().strip() and json.loads(about.read_text()))
        alone = ("--nthreads", "1", "--no-nanny", "--local-directory", folder)
        with started("distributed.cli.dask_worker", address["address"], *place, *alone, folder=folder):
            wait_for(lambda: any((folder / "dask-scratch-space").glob("worker-*")))
            yield scheduler, address["address"]


def parts_command(folder):
    (folder / "X").mkdir()
    for i, rows in enumerate(np.array_split(mixtures(6000), 4)):
        np.save(folder / "X" / f"{i}.npy", rows)
    return ["parts", "X", "-k", "4", "-o", "out.npz"]


def embed_command(folder):
    parts_command(folder)
    return ["embed", "X", "-k", "4", "--max-iter", "60", "-o", "out.csv"]


def labels_command(folder):
    (folder / "answers").mkdir()
    answers = make_crowd(4000, 30, 3, accuracy=(0.4, 0.6)).answers
    for i, rows in enumerate(np.array_split(np.arange(len(answers)), 4)):
        answers.iloc[rows].to_parquet(folder / "answers" / f"{i}.parquet")
    return ["labels", "answers", "--model", "full", "-o", "out.csv"]


COMMANDS = {"parts": parts_command, "embed": embed_command, "labels": labels_command}


def finished(arguments, folder):
    command = [sys.executable, "-m", "rectifact.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)


def lose_scheduler(folder, arguments, rng):
    """What a command says, and its exit code, if its scheduler is killed once it has saved a state."""
    saved = folder / "state"
    with dask_cluster(folder) as (scheduler, address):
        command = [sys.executable, "-m", "rectifact.cli", *arguments, "--scheduler", address, "--checkpoint", "state"]
        running = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: any(saved.glob("*.state.zip")) or running.poll() is not None)
        sleep(rng.random() * 0.2)
        end(scheduler)
        return running.communicate(timeout=SECONDS)[1], running.returncode


@pytest.mark.timeout(7200)
def test_a_lost_scheduler_is_one_sentence_and_a_checkpoint(tmp_path, trial):
    row = trial("Dask schedulers killed", 1, 6)
    for case in row:
        rng, name = np.random.default_rng(case), list(COMMANDS)[case % len(COMMANDS)]
        folder = tmp_path / str(case)
        folder.mkdir()
        arguments = COMMANDS[name](folder)
        said, code = lose_scheduler(folder, arguments, rng)
        *before, last = said.splitlines()  # before it, what was read
        one = last.startswith("rectifact: The connection to the Dask scheduler was lost.") and len(before) < 3
        if code != 1 or not one or "Traceback" in said or (folder / arguments[-1]).exists():
            row.failed(f"seed {case}: {name}: exit code {code}\n{said[-1500:]}")
            continue
        resumed = finished([*arguments, "--checkpoint", "state", "--resume"], folder)
        (folder / arguments[-1]).rename(folder / f"resumed-{arguments[-1]}")
        undisturbed = finished(arguments, folder)
        names = (f"resumed-{arguments[-1]}", arguments[-1])
        if resumed.returncode or undisturbed.returncode or len({content(folder / path) for path in names}) > 1:
            row.failed(f"seed {case}: {name}: resumed to another result\n{resumed.stderr[-700:]}")
    row.check()


def content(path):
    """The bytes of a table, or of the arrays in an archive, whose own bytes have the time in them."""
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path, allow_pickle=False) as archive:
        return b"".join(archive[name].tobytes() for name in sorted(archive.files))
