"""One bar over all starts with an honest remaining time; -v and -q on every command."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from rectifact import ANDNMF, NMD, DawidSkene, SymNMF
from rectifact.cli import terminal
from rectifact.cli.commands import SUMMARIES, app, load
from rectifact.cli.waiting import Waiting
from rectifact.core.monitor import Monitor, Step, watching
from rectifact.datasets import make_block_model, make_crowd, make_topics


def simulated(durations: list[float], max_iter: int = 100, per_second: int = 5) -> list[tuple[float, Any, float]]:
    """What is said about starts that take these seconds, one after the other: time, remaining time, share done."""
    now, said = 0.0, []
    waiting = Waiting(clock=lambda: now)
    for number, duration in enumerate(durations, 1):
        n_iter = int(duration * per_second)
        for i in range(n_iter + 2):
            now += 1 / per_second if 0 < i <= n_iter else 0.0
            row = {} if i == 0 else {"iter": float(min(i, n_iter)), "loss": 1.0}
            waiting.see(Step(number, (number, len(durations)), row, max_iter, i > n_iter))
            said.append((now, waiting.remaining(), waiting.done))
    return said


def test_the_remaining_time_is_that_of_the_starts_before() -> None:
    durations = [4.0, 6.0, 5.0, 4.5, 5.5]
    said, total = simulated(durations), sum(durations)
    first = [(now, *left) for now, left, _ in said if left is not None and now < 3.9]
    assert all(kind == "at most" and now + seconds >= total for now, kind, seconds in first)
    later = [(now, *left) for now, left, _ in said if left is not None and now > 4.1]
    assert {kind for _, kind, _ in later} == {"about"}
    assert all(abs(seconds - (total - now)) < 0.3 * total for now, _, seconds in later)
    rises = np.diff([seconds for _, _, seconds in later])
    assert rises.max() < 0.2 * total  # it never jumps
    shares = [done for _, _, done in said]
    assert np.all(np.diff(shares) > -1e-9)
    assert shares[-1] == 1


def test_starts_at_the_same_time() -> None:
    now = 0.0
    waiting = Waiting(clock=lambda: now)
    for run in (1, 2):
        waiting.see(Step(run, (run, 4), {}, 10, False))
    now = 2.0
    waiting.see(Step(1, (1, 4), {"iter": 5.0, "loss": 1.0}, 10, True))
    assert waiting.remaining() == ("about", 4.0)  # two that have not begun; the other is nearly done
    assert 0.25 < waiting.done < 0.5


@pytest.mark.filterwarnings("ignore")
def test_every_run_says_which_of_how_many_starts_it_is() -> None:
    graph = make_block_model(60, 3, degree=10, mixing=0.1).adjacency
    common = {"affinity": "precomputed", "n_init": 2, "max_iter": 5, "random_state": 0}
    kept: list[Step] = []
    with watching(kept.append):
        SymNMF(3, init="random", **common).fit(graph)
        SymNMF(3, init="pool", **common).fit(graph)
    assert {step.place for step in kept} == {(1, 2), (2, 2), (1, 3), (2, 3), (3, 3)}
    kept.clear()
    with watching(kept.append):
        NMD(2, n_init=3, max_iter=3, prior="rows").fit(np.random.default_rng(0).poisson(1.0, (30, 10)).astype(float))
    assert {step.place for step in kept} == {(1, 3), (2, 3), (3, 3)}
    kept.clear()
    with watching(kept.append):
        DawidSkene().fit(make_crowd(50, 5, 2, random_state=0).answers)
    assert {step.place for step in kept} == {None, (1, 1)}
    kept.clear()
    with watching(kept.append):
        noisy = make_topics(n_samples=100, n_features=20, n_topics=3, noise=0.2).X.clip(0)
        ANDNMF(3, random_state=0, refine="nonnegative").fit(noisy)
    assert {step.place for step in kept} == {None, (1, 1)}  # the refinement can be seen too
    assert sum(step.ended for step in kept) == sum(not step.row for step in kept)  # what begins ends


def test_a_watcher_goes_when_it_is_no_longer_wanted() -> None:
    seen: list[Step] = []
    with pytest.raises(RuntimeError), watching(seen.append):
        raise RuntimeError
    for _ in (monitor := Monitor(max_iter=2)):
        monitor.record(lambda: 1.0)
    assert seen == []


def test_one_bar_on_a_terminal(monkeypatch: Any) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "messages", Console(file=shown, force_terminal=True, width=160))
    monkeypatch.setattr(terminal.messages, "is_interactive", True)
    with terminal.progress("clustering", 10):
        for number in (1, 2, 3):
            for _ in (monitor := Monitor(max_iter=3, tol=0, place=(number, 3))):
                monitor.record(lambda: 1.0)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue())
    assert "clustering" in text
    shown.truncate(0)
    monkeypatch.setattr(terminal, "_level", terminal.QUIET)
    with terminal.progress("clustering", 10):
        pass
    assert shown.getvalue().strip("\x00") == ""


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    make_crowd(60, 5, 2, random_state=0).answers.to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path / "answers.csv"


@pytest.mark.parametrize("place", ["before", "after"])
def test_quiet_and_verbose(answers: Path, place: str) -> None:
    def said(*options: str) -> tuple[str, str]:
        words = ["labels", str(answers), "-o", str(answers.with_name("out.csv"))]
        done = CliRunner().invoke(app, [*options, *words] if place == "before" else [*words, *options])
        assert done.exit_code == 0, done.stderr
        return done.stdout, done.stderr

    assert said("-q") == ("", "")
    assert len(pd.read_csv(answers.with_name("out.csv"))) == 60
    normal, verbose = said()[1], said("-v")[1]
    assert set(normal.splitlines()) < set(verbose.splitlines())
    assert re.search(r"aggregating with DawidSkene\(\) on cpu, \d+ threads?", verbose)
    assert re.search(r"iteration \d+ of at most 500, loss", verbose)


def test_errors_are_said_however_quiet(answers: Path, capsys: Any, monkeypatch: Any) -> None:
    from rectifact.cli.commands import run

    for options, message in (
        (["-q", "labels", str(answers), "--task", "none"], "There is no column 'none'"),
        (["-q", "labels", str(answers), "-v"], "-v and -q are mutually exclusive"),
    ):
        monkeypatch.setattr("sys.argv", ["rectifact", *options])
        with pytest.raises(SystemExit) as stop:
            run()
        assert stop.value.code == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_both_options(name: str) -> None:
    assert {"-v", "--verbose", "-q", "--quiet"} <= {word for option in load(name).params for word in option.opts}
