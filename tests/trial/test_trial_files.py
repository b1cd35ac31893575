"""Damaged files of every format, with options drawn at random: a result, or one sentence and nothing written."""

import shutil

import numpy as np
import pytest

from trial.damage import COMMANDS, arguments, damaged, left_behind, seeds
from trial.sandbox import command

pytestmark = pytest.mark.trial
FILES = {seed.name: seed for seed in seeds()}
BATCHES = 4


def wrong(outcome, left):
    """What is wrong with how a command ended, or an empty string."""
    if outcome.crashed:
        return f"exit code {outcome.code}"
    if outcome.code == 2 and (left or not outcome.one_sentence()):
        return f"not one sentence, or files left behind: {left}"
    if outcome.code == 0 and any(name.startswith(".rectifact.") for name in left):
        return f"temporary files left behind: {left}"
    return "a warning of Python" if "Warning:" in outcome.err else ""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_files_give_a_result_or_one_sentence(tmp_path, trial, batch):
    names = sorted(FILES)
    row = trial("damaged files", 100 // BATCHES, 10_000 // BATCHES, batch)
    for case in row:
        seed = case * BATCHES + batch
        rng = np.random.default_rng(seed)
        file = FILES[names[rng.integers(len(names))]]
        words = arguments(file.commands[rng.integers(len(file.commands))], file.name, rng)
        folder = tmp_path / str(case)
        folder.mkdir()
        (folder / file.name).write_bytes(damaged(file, rng))
        outcome = command(words, folder)
        if problem := wrong(outcome, left_behind(folder)):
            row.failed(f"seed {seed}: rectifact {' '.join(words)}: {problem}\n{outcome.err[-1500:]}")
        else:
            shutil.rmtree(folder)
    row.check()


@pytest.mark.parametrize("name", sorted(FILES))
def test_sound_files_are_read(tmp_path, name):
    file = FILES[name]
    for kind in file.commands:
        (tmp_path / file.name).write_bytes(file.content)
        outcome = command([name if word == "{file}" else word for word in COMMANDS[kind]], tmp_path)
        assert outcome.code == 0, outcome.err
