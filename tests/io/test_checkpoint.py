"""A fit that is stopped anywhere and resumed ends as one that was left alone; another fit is refused."""

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from rectifact import ANDNMF, NMD, DawidSkene, LogisticPCA, MinimaxEntropy, PurificationNMF, SymNMF, SymNMFNet
from rectifact.core.errors import InputError
from rectifact.core.monitor import Monitor
from rectifact.datasets import make_block_model, make_crowd, make_dots, make_topics
from rectifact.io.checkpoint import restored
from rectifact.latent.model import LatentModel

pytestmark = pytest.mark.filterwarnings("ignore")  # short runs do not converge, and say so


def dots() -> sp.csr_array:
    return make_dots(size=12, grid=8, radius=3.0).X


def topics() -> Any:
    return make_topics(n_samples=400, n_features=30, n_topics=4).X


def graph() -> Any:
    return make_block_model(150, 3, degree=12, mixing=0.2).adjacency


def crowd() -> Any:
    return make_crowd(300, 12, 3).answers


def grey_dots() -> Any:
    X = dots().astype(np.float64)
    X.data = np.random.default_rng(0).random(X.nnz) + 0.1
    return X


FITS = {
    "and": (ANDNMF(4, random_state=0), topics, ["components_", "thresholds_"]),
    "purification": (PurificationNMF(4, max_iter=40, tol=0, random_state=0), topics, ["components_"]),
    "nmd": (NMD(4, max_iter=60), grey_dots, ["components_", "embedding_", "scale_"]),
    "nmd-latent": (NMD(4, objective="latent", max_iter=60), grey_dots, ["components_", "embedding_"]),
    "nmd-em": (NMD(4, solver="em", max_iter=40), grey_dots, ["components_", "scale_"]),
    "logistic": (LogisticPCA(3, max_iter=40), dots, ["components_"]),
    "newton": (SymNMF(3, affinity="precomputed", n_init=2, random_state=0), graph, ["components_", "labels_"]),
    "threads": (SymNMF(3, affinity="precomputed", n_init=3, n_jobs=2, random_state=0), graph, ["components_"]),
    "sparse": (SymNMF(3, affinity="precomputed", n_init=1, l1=0.01, random_state=0), graph, ["components_"]),
    **{
        solver: (
            SymNMF(3, solver, "precomputed", "random", n_init=1, max_iter=60, random_state=0),  # type: ignore[arg-type]
            graph,
            ["components_"],
        )
        for solver in ("hals", "anls", "pgd", "admm")
    },
    "net": (SymNMFNet(3, affinity="precomputed", max_iter=60, device="cpu"), graph, ["components_", "lambda_"]),
    "paper-net": (
        SymNMFNet(3, 2, "paper", affinity="precomputed", max_iter=40, device="cpu", random_state=0),
        graph,
        ["components_", "lambda_"],
    ),
    "crowd": (DawidSkene(), crowd, ["probas_", "confusions_", "log_likelihood_"]),
    "crowd-full": (DawidSkene("majority", model="full"), crowd, ["probas_", "confusions_"]),
    "minimax": (MinimaxEntropy(max_iter=30), crowd, ["probas_", "confusions_"]),
}


def crowd_in_parts() -> Any:
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(crowd(), npartitions=3)


LAZY_FITS = {
    "and": (ANDNMF(4, random_state=0), lambda: _lazy(topics(), 150), ["components_"]),
    "nmd": (NMD(4, max_iter=15, tol=0), lambda: _lazy(grey_dots().toarray(), 20), ["components_", "scale_"]),
    "crowd": (DawidSkene("majority"), crowd_in_parts, ["confusions_", "log_likelihood_"]),
}


def _lazy(X: Any, rows: int) -> Any:
    return pytest.importorskip("dask.array").from_array(X, chunks=(rows, -1))


class Interrupted(BaseException):
    """Like Ctrl-C: nothing on the way catches it."""


def interrupt(after: int) -> Callable[[Any], None]:
    """A callback that raises at its call number ``after``, whichever run it is called from."""
    rows: list[Any] = []

    def callback(row: Any) -> None:
        rows.append(row)
        if len(rows) == after:
            raise Interrupted

    return callback


@pytest.mark.parametrize("name", FITS)
def test_an_interrupted_fit_ends_as_one_that_was_left_alone(name: str, tmp_path: Path) -> None:
    estimator, data, results = FITS[name]
    if isinstance(estimator, SymNMFNet):
        pytest.importorskip("torch")
    seen: list[Any] = []
    whole = clone(estimator).set_params(callbacks=[seen.append]).fit(data())
    resuming = clone(estimator).set_params(checkpoint=tmp_path / "fit", resume=True)
    for after in (1, max(2, len(seen) // 3), max(2, len(seen) // 4)):  # three times, each from where the last one was
        with pytest.raises(Interrupted):
            clone(resuming).set_params(callbacks=[interrupt(after)]).fit(data())
    taken_up: list[Any] = []
    resumed = clone(resuming).set_params(callbacks=[taken_up.append]).fit(data())
    assert len(taken_up) < len(seen)  # it did not start from the beginning
    for result in results:
        assert_array_equal(np.asarray(getattr(resumed, result)), np.asarray(getattr(whole, result)))
    assert [row["loss"] for row in resumed.history_] == [row["loss"] for row in whole.history_]
    assert (resumed.n_iter_, resumed.stop_reason_) == (whole.n_iter_, whole.stop_reason_)


@pytest.mark.dask
@pytest.mark.parametrize("name", LAZY_FITS)
def test_a_lazy_fit_goes_on_too(name: str, tmp_path: Path) -> None:
    estimator, data, results = LAZY_FITS[name]
    whole = clone(estimator).fit(data())
    resuming = clone(estimator).set_params(checkpoint=tmp_path / "fit", resume=True)
    with pytest.raises(Interrupted):
        clone(resuming).set_params(callbacks=[interrupt(4)]).fit(data())
    taken_up: list[Any] = []
    resumed = clone(resuming).set_params(callbacks=[taken_up.append]).fit(data())
    assert taken_up[0]["iter"] > 1
    for result in results:
        np.testing.assert_allclose(getattr(resumed, result), getattr(whole, result), rtol=1e-9, atol=1e-12)
    assert resumed.n_iter_ == whole.n_iter_


def test_a_fit_that_was_killed_goes_on(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import os, signal, sys, warnings
        from rectifact import NMD, save_model
        from rectifact.datasets import make_dots
        warnings.simplefilter("ignore")
        kill = lambda row: os.kill(os.getpid(), signal.SIGKILL) if row["iter"] == 15 and sys.argv[2] == "kill" else None
        where = None if sys.argv[1] == "nowhere" else sys.argv[1]
        model = NMD(4, max_iter=40, checkpoint=where, resume=where is not None, callbacks=[kill])
        save_model(model.fit(make_dots(size=12, grid=8, radius=3.0).X), r"{tmp_path}/" + sys.argv[2] + ".rfx")
    """)

    def run(*arguments: str) -> int:
        return subprocess.run([sys.executable, "-c", script, *arguments], check=False).returncode

    from rectifact import load_model

    folder = str(tmp_path / "state")
    assert run(folder, "kill") == -signal.SIGKILL
    assert {path.name for path in Path(folder).iterdir()} == {"fit.json", "run.state.zip"}  # nothing half-written
    assert run(folder, "resumed") == 0
    assert run("nowhere", "whole") == 0
    resumed, whole = load_model(tmp_path / "resumed.rfx"), load_model(tmp_path / "whole.rfx")
    assert_array_equal(resumed.components_, whole.components_)
    assert [row["iter"] for row in resumed.history_] == [row["iter"] for row in whole.history_]


def test_a_callback_that_stops_a_run_leaves_it_to_be_resumed(tmp_path: Path) -> None:
    X = topics()
    whole = ANDNMF(4, random_state=0).fit(X)
    stopped = ANDNMF(4, random_state=0, checkpoint=tmp_path, callbacks=[lambda row: row["iter"] == 5]).fit(X)
    assert stopped.stop_reason_ == "callback"
    with pytest.raises(InputError, match=r"was interrupted\. Give resume=True"):
        stopped.fit(X)
    resumed = stopped.set_params(callbacks=None, resume=True).fit(X)
    assert_array_equal(resumed.components_, whole.components_)
    assert [row["iter"] for row in resumed.history_][:6] == [1, 2, 3, 4, 5, 6]


def test_a_finished_fit_makes_way_for_another(tmp_path: Path) -> None:
    estimator = ANDNMF(4, random_state=0, checkpoint=tmp_path)
    first = estimator.fit(topics()).components_
    second = estimator.set_params(n_components=3).fit(topics())  # no sentence about an interrupted one
    assert second.components_.shape[0] == 3
    again = estimator.set_params(n_components=4).fit(topics())
    assert_array_equal(again.components_, first)


def test_more_iterations_go_on_from_fewer(tmp_path: Path) -> None:
    X = grey_dots()
    short = NMD(4, max_iter=20, tol=0, checkpoint=tmp_path).fit(X)
    longer = clone(short).set_params(max_iter=30, resume=True).fit(X)
    assert_array_equal(longer.components_, NMD(4, max_iter=30, tol=0).fit(X).components_)
    with pytest.raises(InputError, match="Raise max_iter=1"):
        clone(short).set_params(max_iter=1, resume=True).fit(X)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_components": 3}, "n_components=4, not 3"),
        ({"init": "spa"}, "init='auto', not 'spa'"),
        ({"init": np.ones((4, 30))}, "init='auto'"),
    ],
)
def test_another_fit_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    estimator = ANDNMF(4, random_state=0, checkpoint=str(tmp_path), callbacks=[lambda row: True]).fit(topics())
    with pytest.raises(InputError, match=sentence):
        estimator.set_params(resume=True, **change).fit(topics())


def test_other_data_are_refused(tmp_path: Path) -> None:
    X = topics()
    estimator = ANDNMF(4, random_state=0, checkpoint=tmp_path, callbacks=[lambda row: True]).fit(X)
    estimator.set_params(resume=True)
    for other in (X[:-1], X[::-1], sp.csr_array(X), X.astype(np.float32)):
        with pytest.raises(InputError, match="other data"):
            estimator.fit(other)
    with pytest.raises(InputError, match="estimator='ANDNMF', not 'PurificationNMF'"):
        PurificationNMF(4, checkpoint=tmp_path, resume=True).fit(X)


def test_other_gold_labels_are_refused(tmp_path: Path) -> None:
    answers = crowd()
    task, (one, other) = answers["task"][0], sorted(set(answers["label"]))[:2]
    fit = DawidSkene(checkpoint=tmp_path, tol=0, callbacks=[lambda row: row["iter"] == 3])
    fit.fit(answers, gold={task: one}).set_params(resume=True)
    for gold in ({task: other}, None):
        with pytest.raises(InputError, match="other data"):
            fit.fit(answers, gold=gold)
    assert fit.fit(answers, gold={task: one}).n_iter_ > 3


@pytest.mark.dask
def test_a_lazy_graph_of_another_size_is_refused(tmp_path: Path) -> None:
    fit = SymNMF(3, affinity="precomputed", init="spectral", checkpoint=tmp_path, callbacks=[lambda row: True])
    fit.fit(_lazy(graph().toarray(), 50)).set_params(resume=True)
    with pytest.raises(InputError, match="other data"):
        fit.fit(_lazy(make_block_model(120, 3, degree=12, mixing=0.2).adjacency.toarray(), 50))


def test_numbers_of_numpy_are_compared_by_their_value(tmp_path: Path) -> None:
    fit = ANDNMF(np.int64(4), random_state=0, checkpoint=tmp_path, callbacks=[lambda row: True]).fit(topics())
    with pytest.raises(InputError, match="n_components=4, not 3"):
        fit.set_params(n_components=np.int64(3), resume=True).fit(topics())
    fit.set_params(n_components=4).fit(topics())


def test_a_resumed_fit_that_is_interrupted_is_not_thrown_away(tmp_path: Path) -> None:
    X = grey_dots()
    NMD(4, max_iter=10, tol=0, checkpoint=tmp_path).fit(X)
    with pytest.raises(Interrupted):
        NMD(4, max_iter=30, tol=0, checkpoint=tmp_path, resume=True, callbacks=[interrupt(8)]).fit(X)
    with pytest.raises(InputError, match="was interrupted"):
        NMD(4, max_iter=30, tol=0, checkpoint=tmp_path).fit(X)


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    fit = ANDNMF(4, random_state=0, checkpoint=tmp_path, callbacks=[lambda row: True]).fit(topics())
    (tmp_path / ".rectifact.4711.1.tmp").write_bytes(b"half a state")
    fit.set_params(resume=True).fit(topics())
    assert {path.name for path in tmp_path.iterdir()} == {"fit.json", "run.state.zip"}


def test_a_folder_that_is_cleared_during_a_fit_serves_again(tmp_path: Path) -> None:
    def clear(row: Any) -> None:
        for path in tmp_path.iterdir():
            path.unlink()

    fit = ANDNMF(4, random_state=0, checkpoint=tmp_path, callbacks=[clear]).fit(topics())
    assert fit.set_params(callbacks=None).fit(topics()).converged_


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    X = topics()
    with pytest.raises(InputError, match="Give checkpoint='folder' too"):
        ANDNMF(4, resume=True).fit(X)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        ANDNMF(4, checkpoint=tmp_path / "file").fit(X)
    with pytest.raises(InputError, match="Cannot save to the folder"):
        ANDNMF(4, checkpoint="/proc/nowhere").fit(X)
    for name in ("x" * 300, "zero\0byte"):
        with pytest.raises(InputError, match="Choose another"):
            ANDNMF(4, checkpoint=tmp_path / name).fit(X)
    folder = tmp_path / "damaged"
    ANDNMF(4, random_state=0, checkpoint=folder, callbacks=[lambda row: True]).fit(X)
    state = folder / "run.state.zip"
    whole = state.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"PK" + whole[2:40]):
        state.write_bytes(damaged)
        with pytest.raises(InputError, match="Cannot read"):
            ANDNMF(4, random_state=0, checkpoint=folder, resume=True).fit(X)
    (folder / "fit.json").write_text(json.dumps(["no", "fit"]))
    with pytest.raises(InputError, match="it does not describe a fit"):
        ANDNMF(4, random_state=0, checkpoint=folder, resume=True).fit(X)


def test_saving_takes_a_small_share_of_the_time(tmp_path: Path) -> None:
    from rectifact.io.checkpoint import SHARE, RunFile

    saved, state = RunFile(tmp_path / "run.state.zip"), np.zeros(3_000_000)
    writes = 0
    saved.write(0, 0, [], state, at_once=False)
    for n_iter in range(20):  # a loop without any work of its own: most of the saves must be left out
        before = saved._last
        saved.write(n_iter, 0, [], state, at_once=False)
        writes += saved._last != before
    assert writes <= 20 * SHARE + 2


def test_a_state_takes_the_form_of_another(to_xp: Callable[[Any], Any]) -> None:
    like = (LatentModel(to_xp(np.zeros((2, 2))), to_xp(np.zeros((2, 2))), 0.0), 1, None, True)
    saved = ({"A": np.eye(2), "B": np.ones((2, 2)), "log_sigma": 0.5}, 7, np.arange(3), False)
    model, number, free, flag = restored(saved, like)
    assert type(model.A) is type(like[0].A)
    assert (float(model.A[0, 0]), float(model.B[0, 1]), model.log_sigma) == (1.0, 1.0, 0.5)
    assert (number, flag) == (7, False)
    assert_array_equal(free, np.arange(3))
    array = restored(2.5, to_xp(np.array(0.0)))  # numbers of older checkpoints
    assert (type(array), float(array)) == (type(like[0].A), 2.5)


def test_a_monitor_without_a_file_begins_with_what_it_is_given() -> None:
    state = np.ones(2)
    assert Monitor().resume(state) is state
