import datetime
import io
import json
import struct
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import rectifact
from rectifact import ANDNMF, NMD, DawidSkene, InputError, LogisticPCA, PurificationNMF, SymNMF, load_model, save_model
from rectifact.datasets import load_crowd, make_block_model, make_dots, make_topics
from rectifact.io import archive as archives
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


@pytest.mark.filterwarnings("ignore:X has rank 2")
def test_a_model_with_more_parts_than_the_rank_of_the_data_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((30, 2)) @ rng.random((2, 8))
    model = ANDNMF(3, random_state=0).fit(X)
    save_model(model, tmp_path / "m.rfx")
    loaded = load_model(tmp_path / "m.rfx")
    assert_array_equal(loaded.components_, model.components_)
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert_array_equal(loaded.partial_fit(X).components_, model.partial_fit(X).components_)


def test_odd_names_survive(tmp_path):
    names = ["<script>", "=cmd()", "\u202eabc", "x" * 5000, "", "7", "naïve"]
    table = pd.DataFrame({"task": names * 2, "worker": ["a"] * 7 + ["b"] * 7, "label": ["yes", "no"] * 7})
    model = DawidSkene().fit(table)
    save_model(model, tmp_path / "model.rfx")
    assert load_model(tmp_path / "model.rfx").tasks_.tolist() == model.tasks_.tolist()


def test_a_model_of_the_command_line_does_not_take_columns_by_their_places(run, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"item {j}" for j in rng.permutation(12)]
    table = pd.DataFrame(rng.random((40, 3)) @ rng.random((3, 12)), columns=names, index=[f"u{i}" for i in range(40)])
    table.to_csv(tmp_path / "x.csv", index_label="user")
    run("embed", tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "out.csv", "--save", tmp_path / "m.rfx")
    model = load_model(tmp_path / "m.rfx")
    in_order = table[sorted(names)]
    with pytest.raises(InputError, match=r"not those of the fit.*reindex"):
        model.transform(in_order)
    assert_array_equal(model.transform(in_order.reindex(columns=model.feature_names_in_)), model.transform(table))


def test_files_that_are_not_models_are_refused(tmp_path):
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
    with pytest.raises(InputError, match="not an estimator of rectifact"):
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


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    """The members of a real file."""
    path = tmp_path_factory.mktemp("genuine") / "model.rfx"
    model = SymNMF(2, affinity="precomputed", n_init=1).fit(make_block_model(30, 2).adjacency)
    save_model(model, path, samples=[f"node {i}" for i in range(30)])
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def refusal(path):
    """The one sentence that loading a file ends in."""
    with pytest.raises(InputError) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    return str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damage_anywhere_is_one_sentence_or_changes_nothing(genuine, tmp_path, method):
    path = packed(tmp_path / "model.rfx", genuine, method)
    whole, model = path.read_bytes(), load_model(path)
    sentences = []
    for place in range(0, len(whole), 17):
        for flip in (0x01, 0x80, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            try:
                loaded = load_model(path)
            except InputError as error:
                sentences.append(str(error))
            else:
                assert same(vars(loaded), vars(model))  # a date or a flag of the .zip
    assert len(sentences) > len(whole) / 17
    assert not any("\n" in sentence for sentence in sentences)
    for end in range(0, len(whole), len(whole) // 50):
        path.write_bytes(whole[:end])
        refusal(path)


def tree_of(genuine):
    return json.loads(genuine["model.json"])["value"]


def with_model(genuine, change):
    """The tree of a real file with its model's fields changed."""
    tree = tree_of(genuine)
    change(tree["fields"]["model"]["fields"])
    return json.dumps({"format": 1, "value": tree})


ODD = {
    "nested": "[" * 100_000 + "]" * 100_000,
    "nested value": '{"format": 1, "value": ' + "[" * 500 + "]" * 500 + "}",
    "no value": '{"format": 1}',
    "huge number": '{"format": 1, "value": ' + "9" * 5000 + "}",
    **{
        f"{number}: {str(value)[:60]}": json.dumps({"format": 1, "value": value})
        for number, value in enumerate(
            [
                {"_": []},
                {"_": "much" * 10_000},
                {"_": "float", "text": None},
                {"_": "float", "text": "much"},
                {"_": "date", "text": "someday"},
                {"_": "date", "text": 5},
                {"_": "decimal", "text": "x"},
                {"_": "tuple", "parts": 5},
                {"_": "tuple", "parts": {"_": "tuple", "parts": []}},
                {"_": "dict", "pairs": [1]},
                {"_": "dict", "pairs": [[[1], 2]]},
                {"_": "array"},
                {"_": "array", "name": ["a0"]},
                {"_": "array", "name": "none"},
                {"_": "objects", "values": 7, "shape": [1]},
                {"_": "objects", "values": [1, 2], "shape": [3]},
                {"_": "objects", "values": [1, 2], "shape": "ab"},
                {"_": "csr", "data": "a0", "indices": "a0", "indptr": "a0", "shape": [1, 1]},
                {"_": "csr", "data": "a0", "indices": "a1", "indptr": "a2", "shape": None},
                {"_": "object", "class": ["SymNMF"], "fields": {}},
                {"_": "object", "class": "SymNMF", "fields": []},
                {"_": "object", "class": "SavedModel", "fields": {"model": 1}},
                [{"_": "array", "name": "a0"}, {"_": "array", "name": "a0"}],
            ]
        )
    },
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_crafted_values_are_one_sentence(genuine, tmp_path, text):
    sentence = refusal(packed(tmp_path / "model.rfx", genuine | {"model.json": text}))
    assert "as a model saved by rectifact" in sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda fields: fields.pop("n_clusters"), "n_clusters"),
        (lambda fields: fields.update(fit=1), "fit"),
        (lambda fields: fields.update(__class__="x"), "__class__"),
        (lambda fields: fields.update(_repr_html_=1), "_repr_html_"),
        (
            lambda fields: [fields.pop(name) for name in list(fields) if name.endswith("_")],
            "not fitted",
        ),
    ],
)
def test_models_with_wrong_fields_are_refused(genuine, tmp_path, change, sentence):
    assert sentence in refusal(packed(tmp_path / "model.rfx", genuine | {"model.json": with_model(genuine, change)}))


def test_a_dataclass_has_its_fields_and_no_others(genuine, tmp_path):
    for change in ({"more": 1}, {"X": None, "fit": 2}):
        tree = tree_of(genuine)
        tree["fields"] |= change
        text = json.dumps({"format": 1, "value": tree})
        assert "SavedModel" in refusal(packed(tmp_path / "model.rfx", genuine | {"model.json": text}))
    tree = tree_of(genuine)
    del tree["fields"]["X"]
    text = json.dumps({"format": 1, "value": tree})
    assert "SavedModel" in refusal(packed(tmp_path / "model.rfx", genuine | {"model.json": text}))
    tree = tree_of(genuine)
    tree["fields"]["image_shape"] = 5
    text = json.dumps({"format": 1, "value": tree})
    assert "image_shape" in refusal(packed(tmp_path / "model.rfx", genuine | {"model.json": text}))


def npy(dtype, shape, content=b""):
    """A numpy file that says what it likes about its content."""
    file = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + content


@pytest.mark.parametrize(
    "array",
    [
        npy("<f8", (10**13,), b"\0" * 80),
        npy("<f8", (10**13, 10**13), b"\0" * 80),
        npy("<f8", (9,), b"\0" * 80),
        npy("<f8", (-2, -5), b"\0" * 80),
        npy("<U0", (10**13,)),
        npy("nonsense", (1,)),
        npy("<f8", (10,), b"\0" * 80).replace(b"NUMPY\1", b"NUMPY\3"),
        b"\x93NUMPY",
        b"",
    ],
)
def test_arrays_that_lie_about_their_size_are_refused(genuine, tmp_path, array):
    assert "model.rfx" in refusal(packed(tmp_path / "model.rfx", genuine | {"a0.npy": array}))


def test_sizes_are_checked_before_unpacking(genuine, tmp_path, monkeypatch):
    path = tmp_path / "model.rfx"
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):  # without a bound
        assert "compressed in another way" in refusal(packed(path, genuine, method))
    packed(path, genuine | {"zeros": b"\0" * 10**6})
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")  # of the last member, whose size stands at 24
    data[directory + 24 : directory + 28] = struct.pack("<I", 2**31)
    path.write_bytes(data)
    assert "claims to hold more than it can" in refusal(path)
    monkeypatch.setattr(archives, "MOST_BYTES", 10**6)
    assert "unpacks to more than" in refusal(packed(path, genuine | {"zeros": b"\0" * 10**6}))
    with pytest.raises(InputError, match="Leave the data out"):
        save_model(SymNMF(2, n_init=1).fit(np.eye(4)), path, X=np.zeros((500, 500)))


def without(path, *names):
    """Take some fields out of a saved model."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    root = json.loads(members["model.json"])
    for name in names:
        del root["value"]["fields"]["model"]["fields"][name]
    packed(path, members | {"model.json": json.dumps(root)})


@pytest.mark.parametrize(("kind", "lacks"), [(NMD, ("prior", "n_init")), (LogisticPCA, ("prior", "missing"))])
def test_embeddings_of_version_0_1_had_no_prior_and_still_work(tmp_path, kind, lacks):
    X = make_dots(size=16, grid=8).X
    model = kind(3, prior=None, max_iter=20).fit(X)
    path = tmp_path / "model.rfx"
    save_model(model, path)
    without(path, *lacks, "_prior")
    again = load_model(path)
    assert again.prior is None
    assert_array_equal(again.transform(X), model.transform(X))
    assert again.score(X) == model.score(X)
    assert again.fit(X).resolved_["prior"] is None


def test_other_models_of_another_version_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "model.rfx"
    save_model(SymNMF(2, n_init=1).fit(np.eye(4)), path)
    without(path, "normalize")
    assert refusal(path).endswith(
        "its SymNMF is of another version and lacks, or has, normalize; fit and save it again."
    )


def test_data_of_nothing_but_zeros_comes_back(genuine, tmp_path):
    path = tmp_path / "model.rfx"
    packed(path, genuine)
    X = np.zeros((4000, 4000))
    save_model(load_model(path), path, X=X)
    assert path.stat().st_size < X.nbytes / 900
    assert_array_equal(load_saved(path).X, X)


def answers_of(tasks):
    tasks = list(tasks)
    return pd.DataFrame({"task": tasks * 2, "worker": ["a"] * 3 + ["b"] * 3, "label": ["yes", "no", "no"] * 2})


@pytest.mark.parametrize(
    "tasks",
    [
        pd.date_range("2024-01-01", periods=3, tz="Europe/Paris"),
        pd.date_range("2024-01-01 10:00:00.123456789", periods=3),
        [datetime.datetime(2024, 1, day) for day in (1, 2, 3)],
        [datetime.date(2024, 1, day) for day in (1, 2, 3)],
        [datetime.date(1, 1, day) for day in (1, 2, 3)],
        pd.to_timedelta([1, 2, 3], unit="min"),
        [Decimal("0.1"), Decimal("1e100"), Decimal("-2")],
        [(1, 2), (3, 4), (5, 6)],
    ],
    ids=["zone", "nanoseconds", "datetime", "date", "year 1", "duration", "decimal", "tuple"],
)
def test_tasks_that_are_dates_decimals_or_tuples_survive(tmp_path, tasks):
    model = DawidSkene().fit(answers_of(tasks))
    save_model(model, tmp_path / "model.rfx")
    again = load_model(tmp_path / "model.rfx").tasks_.tolist()
    if isinstance(model.tasks_[0], datetime.date):
        assert all(isinstance(task, pd.Timestamp) for task in again)
        assert again == [pd.Timestamp(task) for task in model.tasks_]
    else:
        assert again == model.tasks_.tolist()


def test_what_cannot_be_saved_is_named(genuine, tmp_path):
    model = load_model(packed(tmp_path / "model.rfx", genuine))
    with pytest.raises(InputError, match=r"value\.samples\[1\] is of type complex"):
        save_model(model, tmp_path / "model.rfx", samples=["a", 1j])
    for scalar in (np.clongdouble(1), np.void(b"abc")):
        with pytest.raises(InputError, match="cannot be saved"):
            save_model(model, tmp_path / "model.rfx", samples=[scalar])


def test_frames_as_data_and_odd_scalars(genuine, tmp_path):
    path = packed(tmp_path / "model.rfx", genuine)
    model = load_model(path)
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])
    save_model(model, path, X=frame, features=frame.columns, samples=pd.Series(["x", "y"]))
    saved = load_saved(path)
    assert_array_equal(saved.X, frame.to_numpy())
    assert list(saved.features) == ["a", "b"]
    assert list(saved.samples) == ["x", "y"]
    mixed = pd.DataFrame({"a": ["p", "q"], "b": [3, 4]})
    save_model(model, path, X=mixed, features=[np.longdouble(1.5), np.float32("inf"), np.datetime64("2024-01-01")])
    saved = load_saved(path)
    assert_array_equal(saved.X, mixed.to_numpy())
    assert saved.features == [1.5, np.inf, pd.Timestamp("2024-01-01")]
    save_model(model, path, X=sp.csc_array(np.eye(3)), features=np.array(["a", "b"], dtype=np.dtypes.StringDType()))
    saved = load_saved(path)
    assert sp.issparse(saved.X)
    assert saved.features.tolist() == ["a", "b"]


@pytest.mark.parametrize("random_state", [np.random.RandomState(0), np.random.default_rng(0), np.int64(3), 3])
@pytest.mark.parametrize("kind", [ANDNMF, PurificationNMF, NMD])
def test_generators_are_forgotten_and_seeds_are_not(tmp_path, kind, random_state):
    X = make_topics("dir", n_samples=100, n_features=12, n_topics=3).X
    if isinstance(random_state, np.random.Generator):
        model = kind(3).fit(X).set_params(random_state=random_state)  # not every estimator takes one
    else:
        model = kind(3, random_state=random_state, max_iter=5).fit(X)
    save_model(model, tmp_path / "model.rfx")
    kept = load_model(tmp_path / "model.rfx").random_state
    assert kept == (3 if isinstance(random_state, int | np.integer) else None)
    assert model.random_state is random_state


@pytest.mark.parametrize("shape", [(5, 5), (12,), 12, (-3, -4), ("3", "4")])
def test_an_image_has_as_many_pixels_as_a_sample_has_features(tmp_path, shape):
    X = make_topics("dir", n_samples=100, n_features=12, n_topics=3).X
    model = ANDNMF(3, random_state=0, max_iter=5).fit(X)
    for data in (None, X):
        with pytest.raises(InputError, match="image_shape="):
            save_model(model, tmp_path / "model.rfx", X=data, image_shape=shape)
    assert list(tmp_path.iterdir()) == []


def without_link(model):
    del model.resolved_["link"]


def with_names(**changes):
    return lambda model: vars(model).update(changes)


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("NMD", without_link, "lacks 'link'"),
        ("NMD", with_names(history_=[{"iter": 1, "loss": 10**30, "seconds": 0.1}]), "history_"),
        ("SymNMF", lambda model: model.resolved_.update(errors=7), "errors"),
        ("SymNMF", lambda model: model.affinity_matrix_.data.fill(np.nan), "not finite"),
        ("SymNMF", with_names(affinity_matrix_=np.full((40, 40), "1")), "affinity_matrix_"),
        ("DawidSkene", with_names(_gold=[1, 2]), "_gold"),
        ("DawidSkene", with_names(_gold=(np.arange(3), np.arange(2))), "_gold"),
        ("DawidSkene", lambda model: model.confusions_.fill(1e9), "between 0 and 1"),
        ("DawidSkene", lambda model: vars(model).update(labels_=model.labels_ + 99), "among its classes"),
        ("DawidSkene", lambda model: vars(model).update(labels_=model.labels_ > 0), "among its classes"),
    ],
)
def test_made_up_contents_are_one_sentence(tmp_path, kind, change, said):
    path = tmp_path / "model.rfx"
    if kind == "DawidSkene":
        model = DawidSkene().fit(load_crowd("anaesthetists").answers)
    elif kind == "NMD":
        model = NMD(2, max_iter=20, tol=1).fit(make_dots(size=12, grid=6).X)
    else:
        model = SymNMF(3, affinity="precomputed", n_init=1).fit(make_block_model(40, 3).adjacency)
    change(model)
    save_model(model, path)
    with pytest.raises(InputError, match=said):
        load_model(path)


@pytest.mark.parametrize("name", ["features", "samples"])
def test_names_are_lists_of_names(tmp_path, name):
    X = make_dots(size=12, grid=6).X
    path = tmp_path / "model.rfx"
    save_model(NMD(2, max_iter=20, tol=1).fit(X), path, X=X)
    with zipfile.ZipFile(path) as file:
        members = {member: file.read(member) for member in file.namelist()}
    (json_name,) = [member for member in members if member.endswith(".json")]
    tree = json.loads(members[json_name])
    tree["value"]["fields"][name] = True
    with zipfile.ZipFile(path, "w") as file:
        for member, content in (members | {json_name: json.dumps(tree).encode()}).items():
            file.writestr(member, content)
    with pytest.raises(InputError, match=f"its {name} has 0 axes"):
        load_model(path)
