"""Input that nobody should give, and somebody will: one sentence and exit code 2, or a finite result."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from rectifact import NMD, InputError, SymNMF, similarity_graph

EDGES = "source,target,weight\n" + "".join(f"n{i},n{(i + 3) % 12},1\n" for i in range(12))
ANSWERS = "task,worker,label\n" + "".join(f"t{i},w{j},{'yes' if i % 2 else 'no'}\n" for i in range(6) for j in range(3))


def refused(run, *arguments, **options):
    """What a command says on the terminal; it must be one sentence with its remedy, or the usage."""
    err = run(*arguments, expect=2, **options).err
    assert sum(line.startswith("rectifact: ") for line in err.splitlines()) == 1
    assert len(err) < 1000
    return err


def npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def claiming(shape, dtype="'<f8'"):
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(96)


@pytest.mark.parametrize("shape", ["(100000, 100000)", "(1000000000, 1000000000)", "(4, 4)"])
def test_an_array_is_as_large_as_its_member(run, tmp_path, shape):
    npz(tmp_path / "x.npz", X=claiming(shape))
    said = refused(run, "parts", tmp_path / "x.npz", "-k", 2, "-o", tmp_path / "out.npz")
    assert "'X' holds 96 bytes, which do not make a float64 array" in said


def test_names_are_as_many_as_their_member_holds(run, tmp_path):
    npz(tmp_path / "x.npz", X=np.eye(5), rows=claiming("(1000000000,)", "'<U10'"))
    assert "'rows' holds 96 bytes" in refused(run, "parts", tmp_path / "x.npz", "-k", 2, "-o", tmp_path / "out.npz")


@pytest.mark.parametrize("shape", [[10**9, 5], [5, 10**9], [5, 10**18]])
def test_sizes_that_an_archive_declares_and_does_not_fill(run, tmp_path, shape):
    rows = np.array([0, 1])
    npz(tmp_path / "x.npz", format=np.array(b"coo"), shape=np.array(shape), data=np.ones(2), row=rows, col=rows)
    for command in ("parts", "embed"):
        out = tmp_path / ("out.npz" if command == "parts" else "out.csv")
        said = refused(run, command, tmp_path / "x.npz", "-k", 2, "-o", out)
        assert f"declares {shape[0]} rows and {shape[1]} columns, but holds only 2 entries" in said
        assert not out.exists()


def test_a_shape_that_is_not_of_whole_numbers(run, tmp_path):
    rows = np.array([0, 1])
    npz(tmp_path / "x.npz", format=np.array(b"coo"), shape=np.array([5.5, 5]), data=np.ones(2), row=rows, col=rows)
    assert "do not make a sparse matrix" in refused(run, "parts", tmp_path / "x.npz", "-o", tmp_path / "out.npz")


@pytest.mark.parametrize("sizes", ["100000000 5", "5 100000000", "100000000 100000000"])
def test_sizes_that_matrix_market_declares_and_does_not_fill(run, tmp_path, sizes):
    (tmp_path / "x.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{sizes} 2\n1 2 1.0\n2 1 1.0\n")
    for words in (("embed", tmp_path / "x.mtx"), ("cluster", "--graph", tmp_path / "x.mtx")):
        assert "but holds only 2 entries" in refused(run, *words, "-k", 2, "-o", tmp_path / "out.csv")


def test_many_empty_rows_are_fine(tmp_path):
    from rectifact.io.matrices import read_matrix

    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1000000 5 2\n1 2 1.0\n2 1 1.0\n")
    assert read_matrix(tmp_path / "x.mtx").X.shape == (1_000_000, 5)


def test_what_does_not_fit_into_memory(run, tmp_path, monkeypatch):
    def too_much(*_, **__):
        raise MemoryError("Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type int64")

    (tmp_path / "answers.csv").write_text(ANSWERS)
    monkeypatch.setattr("rectifact.crowd.DawidSkene.fit", too_much)
    said = refused(run, "labels", tmp_path / "answers.csv", "-o", tmp_path / "out.csv")
    assert "There is not enough memory (unable to allocate 7.45 GiB). Give fewer rows" in said


NESTED = {
    "list": pa.array([["a"], ["b"]]),
    "struct": pa.array([{"x": 1}, {"x": 2}]),
    "map": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"a", b"\xff"]),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nodes_are_not_lists(run, tmp_path, kind):
    parquet.write_table(pa.table({"source": NESTED[kind], "target": ["b", "c"]}), tmp_path / "edges.parquet")
    said = refused(run, "cluster", "--graph", tmp_path / "edges.parquet", "-k", 2, "-o", tmp_path / "out.csv")
    assert f"'source' of '{tmp_path}/edges.parquet' holds {kind}" in said
    assert "Write each node as a text or a whole number." in said


def test_a_column_of_answers_that_is_there_twice(run, tmp_path):
    texts = pa.array(["a", "b"])
    names = ["task", "worker", "label", "label"]
    parquet.write_table(pa.Table.from_arrays([texts] * 4, names=names), tmp_path / "x.parquet")
    assert "has 2 columns named 'label'" in refused(run, "labels", tmp_path / "x.parquet", "-o", tmp_path / "out.csv")


LINKED = (
    ("labels", "{}", "-o", "out.csv"),
    ("agree", "{}"),
    ("evaluate", "{}", "-o", "out.csv"),
    ("parts", "{}", "-k", 2, "-o", "out.npz"),
    ("embed", "{}", "-k", 2, "-o", "out.csv"),
    ("cluster", "--graph", "{}", "-k", 2, "-o", "out.csv"),
    ("report", "{}", "-o", "out.html"),
    ("labels", "answers.csv", "-o", "{}"),
    ("labels", "answers.csv", "-o", "out.csv", "--report", "{}"),
)


@pytest.mark.parametrize("words", LINKED, ids=lambda words: " ".join(map(str, words)))
def test_links_that_lead_back_to_themselves(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(ANSWERS)
    for name, other in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        Path(name).symlink_to(other)
    said = refused(run, *(word if word != "{}" else "a.csv" for word in words))
    assert "'a.csv' is a symbolic link that leads back to itself. Name the file" in said
    assert not Path("out.csv").exists()


def test_names_of_files_that_are_not_utf8(run, tmp_path):
    path = tmp_path / "answers\udcff.csv"
    try:
        path.write_text(ANSWERS)
    except OSError:
        pytest.skip("this disk has UTF-8 names only")
    said = refused(run, "labels", path, "-o", tmp_path / "out.csv")
    assert "is not UTF-8 text. Rename it." in said
    assert "The name of the file" in said


@pytest.mark.parametrize("value", ["inf", "1e400"])
def test_options_are_finite(run, tmp_path, value):
    (tmp_path / "edges.csv").write_text(EDGES)
    said = refused(run, "cluster", "--graph", tmp_path / "edges.csv", "-o", tmp_path / "out.csv", "--l1", value)
    assert "--l1 inf is not a finite number." in said


@pytest.mark.parametrize("place", ["model.txt", "nowhere/model.rfx", "-", "folder.rfx"])
def test_where_the_model_goes_is_checked_first(run, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    Path("folder.rfx").mkdir()
    Path("answers.csv").write_text(ANSWERS)
    Path("edges.csv").write_text(EDGES)
    for words in (("labels", "answers.csv"), ("cluster", "--graph", "edges.csv", "-k", 2)):
        refused(run, *words, "-o", "out.csv", "--save", place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv", "edges.csv", "folder.rfx"]


EXTREME = [1e155, 1e300, 1e-200, 1e-320]
KINDS = {"array": np.asarray, "csr": sp.csr_array, "list": np.ndarray.tolist, "frame": pd.DataFrame}


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("scale", EXTREME)
def test_points_whose_distances_cannot_be_computed(rng, scale, metric):
    points = rng.random((20, 3)) * scale
    for X in (points, sp.csr_array(points)):
        with pytest.raises(InputError, match=r"The largest entry of X is .* Divide X by it first"):
            similarity_graph(X, metric=metric)
    with pytest.raises(InputError, match="The largest entry of X is"):
        SymNMF(2, metric=metric).fit(points)


def test_points_of_large_and_small_numbers_are_clustered_alike(rng):
    points = np.concatenate([rng.random((20, 3)), 4 + rng.random((20, 3))])
    labels = [SymNMF(2, random_state=0).fit(points * scale).labels_.tolist() for scale in (1.0, 2.0**300, 2.0**-300)]
    assert labels[0] == labels[1] == labels[2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.0, *EXTREME])
def test_graphs_without_edges_or_whose_powers_overflow(rng, scale, kind):
    S = rng.random((20, 20)) * scale
    sentence = "The largest entry of X is" if scale else "X has no edges"
    for normalize in ("auto", False):
        with pytest.raises(InputError, match=sentence):
            SymNMF(2, affinity="precomputed", normalize=normalize).fit(KINDS[kind]((S + S.T) / 2))


def test_points_that_are_similar_to_no_other():
    with pytest.raises(InputError, match="No point is similar to another"):
        SymNMF(2, metric="cosine").fit(np.zeros((5, 5)))


@pytest.mark.parametrize(("scale", "dtype"), [(1e-320, float), (1e300, float), (1e-40, "float32"), (3e38, "float32")])
def test_dimensions_of_extreme_numbers(rng, scale, dtype):
    X = rng.random((20, 10)) * (rng.random((20, 10)) < 0.5) * scale
    for objective in ("likelihood", "latent"):
        with pytest.raises(InputError, match=r"too (large|small) to compute with. Divide X by it first"):
            NMD(2, objective=objective).fit(X.astype(dtype))


@pytest.mark.parametrize("scale", [1e155, 1e-320])
def test_the_network_refuses_extreme_graphs(rng, scale):
    pytest.importorskip("torch")
    from rectifact import SymNMFNet

    S = rng.random((20, 20)) * scale
    with pytest.raises(InputError, match="The largest entry of X is"):
        SymNMFNet(2, affinity="precomputed", normalize=False).fit((S + S.T) / 2)


@pytest.mark.parametrize("filler", ["[],", "{},", "0,"])
def test_a_small_model_file_does_not_fill_the_memory(run, tmp_path, filler):
    with zipfile.ZipFile(tmp_path / "m.rfx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", '{"format": 1, "value": [' + filler * 20_000_000 + "0]}")
    assert (tmp_path / "m.rfx").stat().st_size < 80_000
    said = refused(run, "report", tmp_path / "m.rfx", "-o", tmp_path / "out.html")
    assert "far more than names do" in said


def test_repetitive_models_are_written_so_that_they_can_be_read(tmp_path, monkeypatch):
    from rectifact.io import archive

    monkeypatch.setattr(archive, "MOST_TREE", 1000)
    value = ["no"] * 100_000
    archive.write_archive(tmp_path / "m.rfx", value, {})
    assert archive.read_archive(tmp_path / "m.rfx", {}) == value


LONG = "label" * 40_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", [LONG, "label=" * 40_000, "label='" * 40_000, " label" * 40_000, "'" * 200_000])
def test_long_values_are_shortened_in_linear_time(text):
    error = InputError(f"The label {text!r} is odd.", "Check label=.", option=("label", "worker="))
    names = {"label": "--label", "worker": "--worker"}
    assert len(str(error)) < 2000
    assert len(error.on_command_line(names)) < 2500
    assert str(error).startswith("The label ")
    assert str(error).endswith("Check label=.")


def test_long_labels_and_names_on_the_terminal(run, tmp_path):
    data, out = tmp_path / "answers.csv", tmp_path / "out.csv"
    data.write_text(ANSWERS + f"t1,{LONG},{LONG}\nt2,{LONG},no\n")
    assert len(run("labels", data, "-o", out).err) < 5000
    data.write_text(ANSWERS.replace("label", LONG, 1))
    refused(run, "labels", data, "-o", out)
    refused(run, "labels", data, "-o", out, "--label", LONG[:90_000])
    refused(run, "parts", data, "-o", tmp_path / "out.npz", "--columns", LONG[:90_000])
    refused(run, "labels", tmp_path / (LONG[:9000] + ".csv"), "-o", out)


def test_documents_one_half_of_which_is_empty(run, tmp_path):
    """Parts of the two halves are compared when the parts are written already: that must not fail."""
    (tmp_path / "texts.txt").write_text("".join(f"{'x' * 900}\nrain and wind and sea\n" for _ in range(6)))
    run("parts", tmp_path / "texts.txt", "--text", "-k", 2, "--min-df", 1, "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as saved:
        assert len(saved["components"]) == 2


FORKED = """
import os
import numpy as np
from rectifact.kernels import compiled
from rectifact.core.threads import is_forked

U, G, B = np.ones((400_000, 8)), np.eye(8), np.ones((400_000, 8))
assert compiled._several_threads(U.size * 8), "the first sweep must be in threads"
here = compiled.hals_sweep(U.copy(), G, B)
child = os.fork()
if child == 0:
    same = is_forked() and np.array_equal(compiled.hals_sweep(U.copy(), G, B), here)
    os._exit(0 if same else 3)
assert not is_forked()
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_without_the_threads_of_its_parent():
    """GNU OpenMP ends a process that enters a parallel loop after its parent did."""
    several = {"NUMBA_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": "omp"}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]  # Python 3.12 warns of fork() itself
    done = subprocess.run(command, env=os.environ | several, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_compiled_forms_have_files_of_their_own():
    """Numba finds compiled code by the name of a function, whatever its options."""
    from rectifact.kernels import compiled, compiled_newton

    for module in (compiled, compiled_newton):
        both = [name.removeprefix("_parallel_") for name in vars(module) if name.startswith("_parallel_")]
        assert both
        for name in both:
            forms = (getattr(module, f"_{form}_{name}").py_func.__qualname__ for form in ("parallel", "plain"))
            assert len(set(forms)) == 2


def test_ties_but_for_rounding_go_to_the_first_class():
    from rectifact.crowd.grades import chosen

    noise = np.random.default_rng(0).normal(scale=1e-14, size=(200, 3))
    assert set(chosen(np.array([0.1, 0.45, 0.45]) + noise, ordinal=False)) == {1}
    assert set(chosen(np.array([0.4, 0.2, 0.4]) + noise, ordinal=False)) == {0}
    assert set(chosen(np.array([0.4, 0.2, 0.4 + 1e-6]) + noise, ordinal=False)) == {2}


def test_signs_that_agree_with_as_many_answers():
    """Two workers who contradict each other: either sign is as good, and the first worker's weight is positive."""
    from rectifact.crowd.baselines import _oriented

    A = sp.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]))
    for weights in (np.array([0.7, 0.7]), np.array([-0.7, -0.7 + 1e-16]), np.array([-0.7, -0.7])):
        assert (_oriented(weights, A) > 0).all()
    assert _oriented(np.array([-1.0, 0.0]), sp.csr_array(np.array([[1.0, 1.0]]))).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("command", [("parts", "-k", 2), ("labels",), ("embed", "-k", 2), ("cluster", "-k", 2)])
def test_a_line_with_too_many_columns_is_named_by_its_number(run, tmp_path, command):
    name, *options = command
    lines = ["id,text,stars", '1,"two\nlines",5', *(f"{i},late,{i}" for i in range(2, 9)), "9,late, and broken,4"]
    (tmp_path / "t.csv").write_text("\n".join([*lines, "10,fine,5\n"]))
    more = ["-o", tmp_path / "out.csv"] if name in {"embed", "cluster"} else []
    said = refused(run, name, tmp_path / "t.csv", *options, *more)
    assert "Line 11 of " in said
    assert "has 4 columns, where the first line has 3: '9,late, and broken,4'. Put a text that holds a comma" in said


def test_a_line_with_too_few_columns_is_to_be_completed(run, tmp_path):
    (tmp_path / "t.csv").write_text("task;worker;label\n" + "1;a;x\n" * 5 + "2;b\n")
    said = refused(run, "labels", tmp_path / "t.csv")
    assert "Line 7 of " in said
    assert "has 2 columns, where the first line has 3: '2;b'. Complete it, or export the table as CSV again." in said


def test_a_column_of_texts_that_is_empty_is_not_to_be_dropped_where_nothing_would_be_left(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,text\n1,\n2,\n")
    said = refused(run, "parts", tmp_path / "t.csv", "-k", 3)
    assert "The column 'text'" in said
    assert said.endswith("is empty. Check the file: no other column has data.\n")


def test_a_record_that_is_cut_short_is_named_by_the_line_where_it_begins(run, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n\n{"text": "b"}\n{"text": \n{"text": "c"}\n{"text": "d"}\n')
    assert "in record 3 (lines 4 to 6): expecting" in refused(run, "parts", tmp_path / "t.jsonl", "-k", 2)
