"""Commands stopped at random moments: outputs are whole or absent, and a resumed fit ends as one that was not."""

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from trial.damage import OUTPUTS, seeds
from trial.sandbox import begun, command, warm_up

pytestmark = pytest.mark.trial
FILES = {seed.name: seed for seed in seeds()}
COMMANDS = {
    "labels": ("answers.csv", ("labels", "answers.csv", "-o", "out.csv", "--workers", "workers.csv")),
    "embed": ("counts.csv", ("embed", "counts.csv", "-k", "2", "-o", "out.csv", "--checkpoint", "state")),
    "parts": ("counts.csv", ("parts", "counts.csv", "-k", "2", "-o", "out.npz", "--checkpoint", "state")),
    "cluster": ("edges.csv", ("cluster", "--graph", "edges.csv", "-k", "2", "-o", "out.csv", "--checkpoint", "state")),
}
MORE = ("--report", "report.html", "--save", "model.rfx")


def folder_with(tmp_path, name, file):
    folder = tmp_path / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / file).write_bytes(FILES[file].content)
    return folder


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder that each command leaves when nothing stops it, and how long it takes."""
    done = {}
    for name, (file, words) in COMMANDS.items():
        folder = folder_with(tmp_path_factory.mktemp("alone"), name, file)
        command([*words, *MORE], folder)
        begin = time.monotonic()
        outcome = command([*words, *MORE], folder)
        assert outcome.code == 0, outcome.err
        done[name] = folder, time.monotonic() - begin
    return done


def broken(folder, whole):
    """Outputs that are neither whole nor absent."""
    wrong = []
    for name in OUTPUTS:
        path = folder / name
        if not path.exists():
            continue
        if path.suffix == ".csv" and path.read_bytes() != (whole / name).read_bytes():
            wrong.append(name)
        if path.suffix in (".npz", ".rfx") and (not zipfile.is_zipfile(path) or zipfile.ZipFile(path).testzip()):
            wrong.append(name)
        if path.suffix == ".html" and not path.read_text().rstrip().endswith("</html>"):
            wrong.append(name)
    return wrong


def differing(folder, whole):
    """Results of a resumed fit that are not, bit for bit, those of one that nothing stopped."""
    if (folder / "out.npz").exists():
        mine, other = np.load(folder / "out.npz"), np.load(whole / "out.npz")
        return [name for name in other.files if mine[name].tobytes() != other[name].tobytes()]
    return [] if (folder / "out.csv").read_bytes() == (whole / "out.csv").read_bytes() else ["out.csv"]


@pytest.mark.timeout(7200)
def test_killed_commands_leave_nothing_half_written_and_resume(tmp_path, trial, alone):
    warm_up()
    row, names = trial("kills", 4, 100), sorted(COMMANDS)
    for case in row:
        rng = np.random.default_rng([case, 1])
        name = names[case % len(names)]
        file, words = COMMANDS[name]
        whole, seconds = alone[name]
        folder = folder_with(tmp_path, f"killed{case}", file)
        after = rng.uniform(0, 1.1 * seconds)
        child = begun([*words, *MORE], folder)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        problems = [f"half-written {name}" for name in broken(folder, whole)]
        again = command([*words, *MORE, *(("--resume",) if "--checkpoint" in words else ())], folder)
        if again.code:
            problems.append(f"not resumed, code {again.code}: {again.err[-900:]}")
        else:
            problems += [f"another {name} after resuming" for name in differing(folder, whole)]
        problems += [f"left behind {path.name}" for path in folder.iterdir() if path.name.startswith(".rectifact.")]
        if problems:
            row.failed(f"case {case}, {name} killed after {after:.3f} s: {'; '.join(problems)}")
        shutil.rmtree(folder)
    row.check()


@pytest.mark.timeout(7200)
def test_interrupts_are_one_line(tmp_path, trial, alone):
    """From start-up to shutdown, in a process of its own; those before Python has found the package are drawn again."""
    row, names = trial("interrupts", 4, 100), sorted(COMMANDS)
    for case in row:
        name = names[case % len(names)]
        file, words = COMMANDS[name]
        whole, _ = alone[name]
        for draw in range(20):
            rng = np.random.default_rng([case, draw, 2])
            folder = folder_with(tmp_path, f"interrupted{case}", file)
            code, err, after = interrupted([*words, *MORE], folder, rng)
            if code in (0, 130) or "site-packages" in err or "src/rectifact" in err.replace("__init__.py", "", 1):
                break  # the package was there
        problems = [f"half-written {name}" for name in broken(folder, whole)]
        said = [line for line in err.splitlines() if line.startswith("rectifact: ")]
        if code not in (0, 130) or "Traceback" in err or (code == 130 and len(said) != 1):
            problems.append(f"code {code}: {err[-1500:]}")
        if problems:
            row.failed(f"case {case}, {name} interrupted after {after:.3f} s: {'; '.join(problems)}")
        shutil.rmtree(folder)
    row.check()


def interrupted(words, folder, rng):
    """Exit code and stderr of a command that got an interrupt at a random moment, and when it did."""
    after = float(rng.choice([rng.uniform(0.1, 1), rng.uniform(0.1, 8)]))
    process = subprocess.Popen(
        [sys.executable, "-m", "rectifact", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    try:
        err = process.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        err = process.communicate()[1] + "it went on for five minutes"
    return process.returncode, err, after
