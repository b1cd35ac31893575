"""Saved models with one change each: the report is written, or one sentence says that the file is damaged."""

import numpy as np
import pytest

from rectifact import ANDNMF, NMD, DawidSkene, LogisticPCA, MajorityVote, PurificationNMF, SymNMF, save_model
from rectifact.datasets import load_crowd, make_block_model, make_dots, make_topics
from trial.forgery import forged
from trial.sandbox import command

pytestmark = [pytest.mark.trial, pytest.mark.filterwarnings("ignore::UserWarning")]


def models():
    """Fitted models with the data they are saved with."""
    answers = load_crowd("anaesthetists").answers
    mixtures = make_topics("dir", n_samples=60, n_features=20, n_topics=3).X
    dots = make_dots(size=12, grid=6).X
    graph = make_block_model(40, 3).adjacency
    return {
        "DawidSkene": (DawidSkene().fit(answers), {}),
        "MajorityVote": (MajorityVote().fit(answers), {}),
        "ANDNMF": (ANDNMF(3, random_state=0).fit(mixtures), {"X": mixtures}),
        "PurificationNMF": (PurificationNMF(3, random_state=0).fit(mixtures), {"X": mixtures}),
        "NMD": (NMD(2, max_iter=20).fit(dots), {"X": dots}),
        "LogisticPCA": (LogisticPCA(2, max_iter=20).fit(dots), {}),
        "SymNMF": (SymNMF(3, affinity="precomputed", n_init=1).fit(graph), {}),
    }


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of each model's file, made in a process of its own: no thread may run when the cases are forked."""
    from multiprocessing import get_context

    folder = tmp_path_factory.mktemp("models")
    child = get_context("spawn").Process(target=save_all, args=(folder,))
    child.start()
    child.join()
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.rfx"))}


def save_all(folder):
    for name, (model, data) in models().items():
        save_model(model, folder / f"{name}.rfx", **data)


@pytest.mark.timeout(7200)
def test_forged_models_are_refused_or_harmless(tmp_path, trial, saved):
    row, names = trial("forged models", 40, 2000), sorted(saved)
    assert len(names) == 7
    for case in row:
        rng = np.random.default_rng(case)
        name = names[rng.integers(len(names))]
        what, content = forged(saved[name], rng)
        (tmp_path / "model.rfx").write_bytes(content)
        (tmp_path / "report.html").unlink(missing_ok=True)
        outcome = command(["report", "model.rfx", "-o", "report.html"], tmp_path)
        if outcome.crashed or (outcome.code == 2 and not outcome.one_sentence()):
            row.failed(f"case {case}: {name}, {what}: code {outcome.code}\n{outcome.err[-700:]}")
    row.check()
