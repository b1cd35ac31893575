import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import rectifact
from rectifact import ANDNMF, NMD, DawidSkene, InputError, SymNMF, load_model, save_model
from rectifact.datasets import load_crowd, make_block_model, make_dots, make_topics
from rectifact.models import ESTIMATORS, load_saved

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fitted():
    """One fitted model of each kind."""
    answers = load_crowd("anaesthetists").answers
    binary = answers.assign(label=(answers["label"] > 1).map({True: "ill", False: "fit"}))
    mixtures = make_topics("dir", n_samples=300, n_features=30, n_topics=4).X
    dots = make_dots(size=16, grid=8).X
    graph = make_block_model(100, 3).adjacency
    data = {
        "DawidSkene": answers,
        **dict.fromkeys(("KOS", "GhoshSVD", "EigenRatio", "MajorityVote", "MinimaxEntropy"), binary),
        **dict.fromkeys(("ANDNMF", "PurificationNMF"), mixtures),
        **dict.fromkeys(("NMD", "LogisticPCA"), dots),
        **dict.fromkeys(("SymNMF", "SymNMFNet"), graph),
    }
    options = {
        "SymNMF": {"affinity": "precomputed", "n_init": 1},
        "SymNMFNet": {"affinity": "precomputed", "max_iter": 20, "device": "cpu"},
        "NMD": {"n_components": 3, "max_iter": 20},
        "LogisticPCA": {"n_components": 3, "max_iter": 20},
        "ANDNMF": {"n_components": 4, "random_state": 0},
        "PurificationNMF": {"n_components": 4, "random_state": 0},
    }
    return [
        pytest.param(kind, options.get(kind.__name__, {}), data[kind.__name__], id=kind.__name__) for kind in ESTIMATORS
    ]


def same(a, b):
    """Whether two values are equal, arrays and all, down to their types."""
    if sp.issparse(a):
        return sp.issparse(b) and a.shape == b.shape and (a != b).nnz == 0 and a.dtype == b.dtype
    if isinstance(a, np.ndarray):
        equal_nan = a.dtype.kind == "f"
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=equal_nan)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and same(vars(a), vars(b))
    return a == b


@pytest.mark.parametrize(("kind", "options", "data"), fitted())
def test_a_model_comes_back_as_it_was(tmp_path, kind, options, data):
    if kind.__name__ == "SymNMFNet":
        pytest.importorskip("torch")
    model = kind(**options).fit(data)
    save_model(model, tmp_path / "model.rfx")
    again = load_model(tmp_path / "model.rfx")
    assert type(again) is kind
    assert same(vars(model), vars(again))
    assert "pickle" not in str(zipfile.ZipFile(tmp_path / "model.rfx").namelist())


def test_every_estimator_can_be_saved():
    public = {getattr(rectifact, name) for name in rectifact.__all__ if isinstance(getattr(rectifact, name), type)}
    assert public - {InputError} == set(ESTIMATORS)


def test_a_loaded_model_works(tmp_path):
    answers = load_crowd("anaesthetists").answers
    gold = pd.Series({1: 1, 2: 3})
    model = DawidSkene().fit(answers, gold=gold)
    save_model(model, tmp_path / "crowd.rfx")
    again = load_model(tmp_path / "crowd.rfx")
    pd.testing.assert_frame_equal(again.result(), model.result())
    pd.testing.assert_frame_equal(again.worker_report(), model.worker_report())
    pd.testing.assert_frame_equal(again.diagnose(), model.diagnose())
    more = pd.DataFrame({"task": [1, 46], "worker": [1, 2], "label": [2, 2]})
    assert_array_equal(again.partial_fit(more).labels_, model.partial_fit(more).labels_)
    X = make_topics("dir", n_samples=300, n_features=30, n_topics=4).X
    parts = ANDNMF(4, random_state=0, callbacks=[print.__call__]).fit(X[:200])
    save_model(parts, tmp_path / "parts.rfx", X=X, features=np.array([f"w{i}" for i in range(30)]), image_shape=(5, 6))
    saved = load_saved(tmp_path / "parts.rfx")
    assert saved.model.callbacks is None
    assert saved.image_shape == (5, 6)
    assert_array_equal(saved.X, X)
    assert_array_equal(saved.model.transform(X), parts.transform(X))
    assert_array_equal(saved.model.partial_fit(X[200:]).components_, parts.partial_fit(X[200:]).components_)


def test_odd_names_survive(tmp_path):
    names = ["<script>", "=cmd()", "\u202eabc", "x" * 5000, "", "7", "naïve"]
    table = pd.DataFrame({"task": names * 2, "worker": ["a"] * 7 + ["b"] * 7, "label": ["yes", "no"] * 7})
    model = DawidSkene().fit(table)
    save_model(model, tmp_path / "model.rfx")
    assert load_model(tmp_path / "model.rfx").tasks_.tolist() == model.tasks_.tolist()


def test_strangers_are_refused(tmp_path):
    path = tmp_path / "model.rfx"
    with pytest.raises(InputError, match="There is no file"):
        load_model(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(InputError, match="as a model saved by rectifact"):
        load_model(path)
    for value in (
        {"_": "object", "class": "Popen", "fields": {}},
        {"_": "object", "class": "Answers", "fields": {}},
        {"_": "array", "name": "../../etc/passwd"},
        [[]] * 3,
        {"_": "what"},
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model.json", json.dumps({"format": 1, "value": value}))
        with pytest.raises(InputError):
            load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": 99, "value": None}))
    with pytest.raises(InputError, match="another version"):
        load_model(path)
    with pytest.raises(InputError, match="no estimator of rectifact"):
        save_model(object(), path)
    with pytest.raises(NotFittedError):
        save_model(NMD(2), path)


def test_pickles_inside_are_not_loaded(tmp_path):
    path = tmp_path / "model.rfx"
    save_model(SymNMF(2, affinity="precomputed", n_init=1).fit(make_block_model(30, 2).adjacency), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with (tmp_path / "evil.npy").open("wb") as file:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, (tmp_path / "evil.npy").read_bytes() if name == "a0.npy" else content)
    with pytest.raises(InputError, match="allow_pickle"):
        load_model(path)
