import bz2
import gzip
import pickle
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from pyarrow import parquet

from rectifact.core.errors import FitWarning, InputError
from rectifact.io import frames
from rectifact.io.matrices import read_matrix

X = np.array([[0.0, 1.5, -2.0], [0.1 + 0.2, 0.0, 1e-300], [7.0, 0.0, 0.0], [0.0, 12345678901.0, 3.0]])
WHOLE = np.array([[0, -1, 2, 0], [3, 0, 0, 0], [0, 0, 0, 0]], dtype=np.int8)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
ODD = [
    'a,"b"',
    "<b>x</b>",
    "007",
    "NA",
    "=cmd()",
    "été\nnew line",
    "שלום",
    "2020-01-01",
    "数据",
    " space ",
    "a\tb",
    "1e5",
]


def write_mtx(matrix, path, opener=open):
    scipy.io.mmwrite(path.with_name("plain.mtx"), matrix, precision=17)
    with opener(path, "wb") as file:
        file.write(path.with_name("plain.mtx").read_bytes())


WRITERS = {
    "one.npz": lambda path: np.savez(path, anything=X),
    "compressed.npz": lambda path: np.savez_compressed(path, X=X, other=np.ones((2, 2))),
    "with_names.npz": lambda path: np.savez(path, names=np.array(["p", "q"]), M=X),
    "sparse.npz": lambda path: sp.save_npz(path, sp.csr_array(X)),
    "array.npy": lambda path: np.save(path, X),
    "fortran.npy": lambda path: np.save(path, np.asfortranarray(X)),
    "sparse.mtx": lambda path: write_mtx(sp.coo_array(X), path),
    "sparse.mtx.gz": lambda path: write_mtx(sp.coo_array(X), path, gzip.open),
    "sparse.mtx.bz2": lambda path: write_mtx(sp.coo_array(X), path, bz2.open),
    "dense.mtx": lambda path: write_mtx(X, path),
    "table.csv": lambda path: FRAME.to_csv(path, index=False),
    "TABLE.CSV": lambda path: FRAME.to_csv(path, index=False),
    "table.csv.gz": lambda path: FRAME.to_csv(path, index=False),
    "table.csv.bz2": lambda path: FRAME.to_csv(path, index=False),
    "table.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "table.parquet": lambda path: FRAME.to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_matrix_comes_back_as_it_was_written(tmp_path, name):
    WRITERS[name](tmp_path / name)
    matrix = read_matrix(tmp_path / name)
    assert isinstance(matrix.X, sp.csr_array if "sparse" in name else np.ndarray)
    assert matrix.X.dtype == np.float64
    assert_array_equal(matrix.X.toarray() if "sparse" in name else matrix.X, X)
    assert matrix.rows is None
    assert (None if matrix.columns is None else matrix.columns.tolist()) == (
        ["a", "b", "c"] if "table" in name.lower() else None
    )


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_every_sparse_format_becomes_canonical_csr(tmp_path, kind, make):
    path = tmp_path / "sparse.npz"
    sp.save_npz(path, make(WHOLE).asformat(kind))
    found = read_matrix(path).X
    assert isinstance(found, sp.csr_array)
    assert found.has_canonical_format
    assert_array_equal(found.toarray(), WHOLE)


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_entries_given_twice_are_added(tmp_path, dtype):
    row, column, value = [1, 1, 1], [2, 0, 2], np.array([100, 1, 100], dtype=dtype)  # 127 is not a limit
    sp.save_npz(tmp_path / "coo.npz", sp.coo_array((value, (row, column)), shape=(2, 3)))
    sp.save_npz(tmp_path / "csr.npz", sp.csr_array((value, column, [0, 0, 3]), shape=(2, 3)))
    banner = "%%MatrixMarket matrix coordinate integer general\n"
    (tmp_path / "x.mtx").write_text(banner + "2 3 3\n2 3 100\n2 1 1\n2 3 100\n")
    for name in ("coo.npz", "csr.npz", "x.mtx"):
        found = read_matrix(tmp_path / name).X
        assert found.has_canonical_format
        assert found.nnz == 2
        assert found.toarray().tolist() == [[0, 0, 0], [1, 0, 200]]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("f4", "f4"), (">f4", "f4"), ("f8", "f8"), (">f8", "f8"), ("f2", "f8"), ("i4", "f8"), ("u1", "f8"), ("?", "f8")],
)
def test_single_precision_is_kept_and_all_else_is_double(tmp_path, given, kept):
    small = np.array([[0, 1], [1, 0], [1, 1]]).astype(given)
    np.save(tmp_path / "a.npy", small)
    np.savez(tmp_path / "a.npz", small)
    native = small.astype(small.dtype.newbyteorder("="))
    if given != "f2":  # scipy knows no such sparse matrix
        sp.save_npz(tmp_path / "s.npz", sp.csr_array(native))
    pd.DataFrame(native, columns=["a", "b"]).to_parquet(tmp_path / "a.parquet")
    for path in [path for path in tmp_path.iterdir() if path.is_file()]:
        found = read_matrix(path).X
        assert found.dtype == np.dtype(kept), path.name
        assert_array_equal(found.toarray() if sp.issparse(found) else found, small)


def test_columns_of_mixed_precision_are_double(tmp_path):
    third = {"a": np.float32([1 / 3]), "b": [1 / 3]}
    pd.DataFrame(third).to_parquet(tmp_path / "x.parquet")
    found = read_matrix(tmp_path / "x.parquet").X
    assert found.tolist() == [[float(np.float32(1 / 3)), 1 / 3]]


def test_an_array_stays_on_the_disk(tmp_path):
    np.save(tmp_path / "big.npy", X)
    found = read_matrix(tmp_path / "big.npy").X
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable


HALVES = {
    "coordinate real symmetric": "2 2 2\n1 1 5\n2 1 -3.5\n",
    "coordinate real skew-symmetric": "3 3 2\n2 1 4\n3 2 1e2\n",
    "coordinate pattern symmetric": "3 3 3\n1 1\n3 1\n3 3\n",
    "coordinate integer general": "% a comment, à la latin-1\n%\n\n  2   3  1 \n 2\t3  7 \n",
    "coordinate real general": "2 3 0\n",
    "array real symmetric": "3 3\n1\n2\n3\n4\n5\n6\n",
    "array real skew-symmetric": "3 3\n1\n2\n3\n",
    "array integer general": "2 3\n1\n2\n3\n4\n5\n6",
}


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_matrix_market_is_read_as_scipy_reads_it(tmp_path, kind, end):
    path = tmp_path / "x.mtx"
    path.write_bytes(f"%%MatrixMarket MATRIX {kind}\n{HALVES[kind]}".replace("\n", end).encode("latin-1"))
    expected, found = scipy.io.mmread(path), read_matrix(path).X
    assert sp.issparse(found) == sp.issparse(expected) == kind.startswith("coordinate")
    assert_array_equal(found.toarray() if sp.issparse(found) else found, sp.coo_array(expected).toarray())


@pytest.mark.parametrize("seed", range(5))
def test_symmetric_matrices_of_any_size_come_back(tmp_path, seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(seed + 2, seed + 2)) * (rng.random((seed + 2, seed + 2)) < 0.6)
    for whole in (half + half.T, half - half.T):
        for matrix in (whole, sp.coo_array(whole)):
            write_mtx(matrix, tmp_path / "x.mtx")
            found = read_matrix(tmp_path / "x.mtx").X
            assert_array_equal(found.toarray() if sp.issparse(found) else found, whole)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_names_keep_every_character(tmp_path, suffix):
    frame = pd.DataFrame(np.arange(144.0).reshape(12, 12), columns=ODD)
    frame.insert(0, "name", ODD[::-1])
    path = tmp_path / f"שלום{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    matrix = read_matrix(path)
    assert matrix.rows.tolist() == ODD[::-1]
    assert matrix.columns.tolist() == ODD
    assert matrix.rows.dtype.kind == matrix.columns.dtype.kind == "U"
    assert_array_equal(matrix.X, np.arange(144).reshape(12, 12))


TABLES = {  # content: matrix, names of the rows, names of the columns
    b"a,b\n1,2\n3,4\n": ([[1, 2], [3, 4]], None, ["a", "b"]),
    b"a,b\n1,2\n3,4": ([[1, 2], [3, 4]], None, ["a", "b"]),
    b"a,b\r\n1,2\r\n3,4\r\n": ([[1, 2], [3, 4]], None, ["a", "b"]),
    b"\xef\xbb\xbfa,b\r\n1,2\r\n": ([[1, 2]], None, ["a", "b"]),
    b"a\n1\n2\n": ([[1], [2]], None, ["a"]),
    b"1,2\n3,4\n": ([[1, 2], [3, 4]], None, None),
    b"\xef\xbb\xbf1,2\r\n3,4\r\n": ([[1, 2], [3, 4]], None, None),
    b"1e-3,-2.5,nan\n3,4,5\n": ([[1e-3, -2.5, np.nan], [3, 4, 5]], None, None),
    b"1.5,,2.5\n3,4,5\n": ([[1.5, np.nan, 2.5], [3, 4, 5]], None, None),
    b",1.5\n3,4\n": ([[np.nan, 1.5], [3, 4]], None, None),
    b",\n3,4\n": ([[np.nan, np.nan], [3, 4]], None, None),
    b"a,b\n1,\n,4\n": ([[1, np.nan], [np.nan, 4]], None, ["a", "b"]),
    b"a,b\n1,\n2,\n": ([[1, np.nan], [2, np.nan]], None, ["a", "b"]),
    b"a,b\n1,NA\n2, 3 \n": ([[1, np.nan], [2, 3]], None, ["a", "b"]),
    b"a,b\n1,True\n2,False\n": ([[1, 1], [2, 0]], None, ["a", "b"]),
    b"a,b\n18446744073709551616,inf\n": ([[2.0**64, np.inf]], None, ["a", "b"]),
    b"name,a\nx,1\nNA,2\n": ([[1], [2]], ["x", "NA"], ["a"]),
    b"name,a\n007,1\nx,2\n": ([[1], [2]], ["007", "x"], ["a"]),
    b"name,a\nx,1\n,2\n": ([[1], [2]], ["x", ""], ["a"]),
    b"day,a\n2020-01-01,1\n2020-01-02,2\n": ([[1], [2]], ["2020-01-01", "2020-01-02"], ["a"]),
    b"time,a\n12:30,1\n": ([[1]], ["12:30"], ["a"]),
    b",0,1\n0,5,6\n1,7,8\n": ([[5, 6], [7, 8]], ["0", "1"], ["0", "1"]),  # as pandas writes a frame
    b'"","x"\n"1",5\n"2",6\n': ([[5], [6]], ["1", "2"], ["x"]),  # as R does
    b"country,2019,2020\nPeru,1,2\n": ([[1, 2]], ["Peru"], ["2019", "2020"]),
}


@pytest.mark.parametrize("content", TABLES)
def test_tables_are_read_with_their_names(tmp_path, content):
    values, rows, columns = TABLES[content]
    other = {"x.tsv": b"\t", "excel.csv": b";", "tabs.csv": b"\t"}
    for name, text in {"x.csv": content, **{name: content.replace(b",", end) for name, end in other.items()}}.items():
        (tmp_path / name).write_bytes(text)
        matrix = read_matrix(tmp_path / name)
        assert_array_equal(matrix.X, np.array(values, dtype=float))
        assert (None if matrix.rows is None else matrix.rows.tolist()) == rows
        assert (None if matrix.columns is None else matrix.columns.tolist()) == columns


DECIMALS = {
    b"a;b\n1,5;2\n3;4\n": [[1.5, 2], [3, 4]],
    b"a\tb\n1\t2,5\n": [[1, 2.5]],
    b"n;a\nx;1\ny;-2,500\nz;0,25\n": [[1], [-2.5], [0.25]],
    b"1,5;2,5\n3,5;4\n": [[1.5, 2.5], [3.5, 4]],
}


@pytest.mark.parametrize("content", DECIMALS)
def test_decimal_commas(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    assert read_matrix(tmp_path / "x.csv").X.tolist() == DECIMALS[content]


def test_a_line_may_be_longer_than_a_block_of_the_reader(tmp_path):
    names = [f"{i:0900}x" for i in range(1500)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 1500) + "\n")
    matrix = read_matrix(tmp_path / "wide.csv")
    assert matrix.columns.tolist() == names
    assert_array_equal(matrix.X, np.ones((1, 1500)))


def test_a_name_may_span_blocks_of_the_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "BLOCK", 64)
    names = [f"line {i}\nline\n{i},\n" for i in range(200)]
    pd.DataFrame({"name": names, "a": range(200)}).to_csv(tmp_path / "x.csv", index=False)
    matrix = read_matrix(tmp_path / "x.csv")
    assert matrix.rows.tolist() == names
    assert_array_equal(matrix.X[:, 0], range(200))


INDICES = [
    (pd.Index(["x", "שלום"]), ["x", "שלום"]),
    (pd.Index(["x", "y"], name="gene"), ["x", "y"]),
    (pd.Index([7, 3]), ["7", "3"]),
    (pd.Index(["2020-01-01", "2021-02-03"], dtype="datetime64[s]").date, ["2020-01-01", "2021-02-03"]),
    (pd.MultiIndex.from_tuples([("x", 1), ("y", 2)]), ["x / 1", "y / 2"]),
    (pd.RangeIndex(2), None),
]


@pytest.mark.parametrize(("index", "rows"), INDICES)
def test_an_index_that_pandas_stored_names_the_rows(tmp_path, index, rows):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=index).to_parquet(tmp_path / "x.parquet")
    matrix = read_matrix(tmp_path / "x.parquet")
    assert_array_equal(matrix.X, [[1, 3], [2, 4]])
    assert (None if matrix.rows is None else matrix.rows.tolist()) == rows
    assert matrix.columns.tolist() == ["a", "b"]


def test_columns_of_every_kind_of_number_are_read(tmp_path):
    columns = {
        "name": pa.array(["x", "y"]).dictionary_encode(),
        "whole": pa.array([2**53 + 1, None]),
        "flag": pa.array([True, None]),
        "coded": pa.array([5, 6]).dictionary_encode(),
        "money": pa.array([Decimal("1.25"), None]),
        "none": pa.nulls(2),
    }
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    matrix = read_matrix(tmp_path / "x.parquet")
    assert matrix.rows.tolist() == ["x", "y"]
    nan = np.nan
    assert_array_equal(matrix.X, [[2.0**53, 1, 5, 1.25, nan], [nan, nan, 6, nan, nan]])


@pytest.mark.parametrize(
    ("first", "rows"),
    [
        (pa.array(["x", None]), ["x", ""]),
        (pa.array(["x", "y"], pa.large_string()), ["x", "y"]),
        pytest.param(
            *(pa.array(["x", "y"], pa.string_view()), ["x", "y"]),
            marks=pytest.mark.skipif(pa.__version__ < "21", reason="pyarrow cannot write string views before 21"),
        ),
        (pa.array([date(2020, 1, 2), None]), ["2020-01-02", ""]),
    ],
)
def test_a_first_column_of_text_or_dates_names_the_rows(tmp_path, first, rows):
    parquet.write_table(pa.table({"name": first, "a": [1, 2]}), tmp_path / "x.parquet")
    matrix = read_matrix(tmp_path / "x.parquet")
    assert matrix.rows.tolist() == rows
    assert matrix.columns.tolist() == ["a"]


def test_a_folder_is_no_column(tmp_path):
    path = tmp_path / "year=2020" / "x.parquet"
    path.parent.mkdir()
    FRAME.to_parquet(path)
    assert read_matrix(path).columns.tolist() == ["a", "b", "c"]


class Bomb:
    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


@pytest.mark.parametrize("name", ["x.npz", "x.npy", "sparse.npz", "bare.npz", "bare.npy"])
def test_nothing_is_ever_unpickled(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    bombs, path = np.array([[Bomb()]], dtype=object), tmp_path / name
    if name.startswith("bare"):
        path.write_bytes(pickle.dumps(Bomb()))
    elif name == "sparse.npz":
        np.savez(path, format=b"csr", shape=(1, 1), data=bombs[0], indices=[0], indptr=[0, 1])
    else:
        (np.savez if name == "x.npz" else np.save)(path, bombs)
    sentence = (
        "is not an NPZ archive|magic string" if name.startswith("bare") else "pickled Python objects, which are never"
    )
    with pytest.raises(InputError, match=sentence):
        read_matrix(path)
    assert [found.name for found in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("indices", "indptr"), [([0, 10**6], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 9, 2])])
def test_indices_that_point_outside_are_refused(tmp_path, kind, indices, indptr):
    data = np.ones((2, 1, 1)) if kind == "bsr" else np.ones(2)
    np.savez(tmp_path / "x.npz", format=kind.encode(), shape=(2, 2), data=data, indices=indices, indptr=indptr)
    with pytest.raises(InputError, match=r"as NPZ: (ind|column ind|row ind)"):
        read_matrix(tmp_path / "x.npz")


ARRAYS = {
    "line.npy": (np.ones(5), r"holds an array of shape \(5,\), where a matrix.*reshape\(-1, 1\)"),
    "cube.npy": (np.ones((2, 3, 4)), r"holds an array of shape \(2, 3, 4\)"),
    "number.npy": (np.ones(()), r"holds an array of shape \(\)"),
    "line.npz": (np.ones(5), r"holds an array of shape \(5,\), where a matrix"),
    "complex.npy": (np.ones((2, 2), dtype=complex), r"complex numbers. Save the real part"),
    "complex.npz": (np.ones((2, 2), dtype=np.complex64), r"complex numbers. Save the real part"),
    "text.npy": (np.array([["a", "b"]]), r"holds <U1 where numbers are expected. Drop text columns"),
    "dates.npy": (np.array([["2020-01-01"]], dtype="M8[D]"), r"holds datetime64\[D\] where numbers are expected"),
    "record.npy": (np.zeros((2, 2), dtype=[("a", "f8")]), r"holds \[\('a', '<f8'\)\] where numbers are expected"),
    "rows.npy": (np.ones((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\).*Check the file"),
    "columns.npz": (np.ones((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_no_matrix_of_numbers(tmp_path, name):
    array, sentence = ARRAYS[name]
    (np.save if name.endswith("npy") else np.savez)(tmp_path / name, array)
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (sp.csr_array(np.array([[1j, 0]])), "complex numbers"),
        pytest.param(
            *(sp.coo_array(np.ones(3)), r"holds an array of shape \(3,\)"),
            marks=pytest.mark.skipif(scipy.__version__ < "1.17", reason="scipy cannot load these before 1.17"),
        ),
        (sp.csr_array((0, 3)), r"0 sample\(s\)"),
    ],
)
def test_sparse_matrices_that_do_not_fit(tmp_path, matrix, sentence):
    sp.save_npz(tmp_path / "x.npz", matrix)
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / "x.npz")


def test_an_archive_must_say_which_matrix(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.ones((2, 3)), b=np.ones((4, 5)))
    expected = r"should hold one matrix, or one named X; got 'a' of shape \(2, 3\), 'b' of shape \(4, 5\). Save it as X"
    with pytest.raises(InputError, match=expected):
        read_matrix(path)
    np.savez(path, a=np.ones(2), b=np.ones(3))
    with pytest.raises(InputError, match=r"got 'a' of shape \(2,\), 'b' of shape \(3,\)"):
        read_matrix(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    with pytest.raises(InputError, match="one named X; got no array"):
        read_matrix(path)


def test_an_archive_cut_short(tmp_path):
    np.savez(tmp_path / "x.npz", X=X)
    (tmp_path / "x.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:-30])
    with pytest.raises(InputError, match=r"is not an NPZ archive, or is incomplete. Copy or save it again"):
        read_matrix(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("save", "sentence"), [(np.savez, "it is damaged"), (np.savez_compressed, "decompressing data")]
)
def test_an_archive_with_a_wrong_byte(tmp_path, save, sentence):
    path = tmp_path / "x.npz"
    save(path, X=X)
    content = bytearray(path.read_bytes())
    start = 30 + int.from_bytes(content[26:28], "little") + int.from_bytes(content[28:30], "little")
    content[start if save is np.savez_compressed else start + 130] = 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"as NPZ: .*{sentence}"):
        read_matrix(path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (X.tobytes(), X.tobytes()[:-8], "mmap length is greater than file size"),
        (b"(4, 3)", b"(4, 3 ", "as NPY: "),  # numpy's reader raises an error of the tokenizer
        (b"(4, 3)", b"(4, x)", "as NPY: "),
        (b"\x93NUMPY", b"\x93NUMMY", "the magic string is not correct"),
        (b"'<f8'", b"'|O8'", "pickled Python objects, which are never loaded"),
    ],
)
def test_a_broken_array_is_one_sentence(tmp_path, old, new, sentence):
    np.save(tmp_path / "x.npy", X)
    content = (tmp_path / "x.npy").read_bytes()
    assert old in content
    (tmp_path / "x.npy").write_bytes(content.replace(old, new))
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / "x.npy")


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_late_accent_shows_the_encoding_of_a_table(tmp_path, suffix):
    content = ("name,größe\n" if suffix == "csv" else "name,b\n") + "x,1\n" * 50_000 + "été,2\n"
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(content.encode("cp1252") if suffix == "csv" else gzip.compress(content.encode("cp1252")))
    with pytest.warns(FitWarning, match=r"x.csv.*' is not UTF-8; read as Windows-1252 \(cp1252\)"):
        found = read_matrix(path)
    assert found.rows[-1] == "été"
    assert found.columns.tolist() == ["größe" if suffix == "csv" else "b"]
    path.write_bytes(content.encode() if suffix == "csv" else gzip.compress(content.encode()))
    assert read_matrix(path).rows[-1] == "été"  # another file of the same name, without a warning


BANNER = b"%%MatrixMarket matrix "
FILES = {
    "empty.csv": (b"", "'.*empty.csv' is empty. Check the program"),
    "empty.npz": (b"", "is empty"),
    "empty.mtx.gz": (gzip.compress(b""), "as Matrix Market: its first line is '', where"),
    "blank.csv": (b"\n\n", "as CSV: .*Empty CSV file"),
    "header.csv": (b"a,b\n", r"0 sample\(s\) \(shape=\(0, 2\)\)"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "has 2 columns named 'a'. Give each column a name of its own"),
    "text.csv": (b"n,a,colour\nx,1,2\ny,2,red\n", "column 'colour' of .* holds text, first 'red' in row 2.*Drop the"),
    "gap.csv": (b"a,colour\n1,NA\n2,\n3,red\n", "column 'colour' of .* holds text, first 'red' in row 3"),
    "comma.csv": (b'a,b\n1,"2,5"\n', "column 'b' of .* holds text, first '2,5' in row 1"),
    "thousands.csv": (b"a;b\n1,500;2\n3;4\n", "column 'a' of .* '1,500', whose comma may be a decimal comma or sep"),
    "both.csv": (b"n;a\nx;1\ny;1.00,5\n", "column 'a' of .* holds text, first '1.00,5' in row 2"),
    "date.csv": (b"a,day\n1,2020-01-02\n", r"column 'day' of .* holds date32\[day\], first '2020-01-02' in row 1"),
    "cut.csv": ("é,ö\n2,1\n".encode() + b"3,\xc3", "as CSV: it is not UTF-8 text. Save it as UTF-8"),
    "unmarked.csv": ("a,b\n2,1\n".encode("utf-16-le"), "as CSV: it is not UTF-8 text. Save it as UTF-8"),
    "names.csv": (b"n\nx\ny\n", "no column of numbers besides 'n'. Check what separates its columns"),
    "space.csv": (b"a b\nx y\n", "no column of numbers besides 'a b'. Check what separates its columns"),
    "long.csv": (b"a,b\n1,2,3\n", "has 3 columns, where the first line has 2"),
    "document.csv": (
        b"text,a\n" + b"word " * 300 + b",1\n",
        "A row of .* has a name of 1500 characters.*cut it to 1000",
    ),
    "really.csv.gz": (b"a,b\n1,2\n", "as CSV: "),
    "really.parquet": (b"a,b\n1,2\n", "as Parquet: "),
    "really.npy": (b"a,b\n1,2\n", "as NPY: "),
    "really.npz": (b"a,b\n1,2\n", "is not an NPZ archive"),
    "really.mtx": (
        b"a,b\n1,2\n",
        "its first line is 'a,b', where one like '%%MatrixMarket matrix coord",
    ),
    "x.xlsx": (b"PK", "should end in .npz, .npy, .mtx, .csv, .tsv or .parquet, so that its format is known. Rename"),
    "x.npz.gz": (b"PK", "should end in .npz"),
    "x": (b"1", "should end in .npz"),
    "vector.mtx": (BANNER + b"array pattern general\n1 1\n1\n", "its first line is"),
    "hermitian.mtx": (BANNER + b"coordinate complex hermitian\n1 1 1\n1 1 2 0\n", "holds complex numbers"),
    "sizes.mtx": (
        BANNER + b"coordinate real general\n2 2\n1 1 1\n",
        "followed by '2 2', not by the sizes",
    ),
    "minus.mtx": (BANNER + b"coordinate real general\n2 -2 1\n1 1 1\n", "followed by '2 -2 1', not"),
    "none.mtx": (BANNER + b"array real general\n0 4\n", r"0 sample\(s\) \(shape=\(0, 4\)\)"),
    "oblong.mtx": (BANNER + b"array real symmetric\n2 3\n1\n1\n1\n", "a symmetric matrix must be square, not 2 by 3"),
    "cut.mtx": (BANNER + b"coordinate real general\n2 2 2\n1 1 1\n", "it should have 2 entries, but has 1"),
    "cut_at_once.mtx": (BANNER + b"coordinate real general\n2 2 2\n", "it should have 2 entries, but has 0"),
    "surplus.mtx": (BANNER + b"array real general\n1 1\n1\n2\n", "it should have 1 entries, but has 2"),
    "cut_number.mtx": (BANNER + b"coordinate real general\n2 2 1\n1 1 1.5E", "as Matrix Market: .*1.5E"),
    "outside.mtx": (BANNER + b"coordinate real general\n2 2 1\n1 3 1\n", "as Matrix Market: .*index 2 exceeds"),
    "zero.mtx": (BANNER + b"coordinate real general\n2 2 1\n0 1 1\n", "as Matrix Market: negative .*index"),
    "null.mtx": (BANNER + b"coordinate real general\n2 2 1\n1 1 1\x002\n", "as Matrix Market: "),
    "huge.mtx": (BANNER + b"coordinate real general\n999999999999999 2 1\n1 1 1\n", "but holds only 1 entry"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_do_not_fit(tmp_path, name):
    content, sentence = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_matrix(tmp_path / name)
    assert "\n" not in str(caught.value)


PARQUETS = {
    "text": ({"a": [1, 2], "b": ["1", "red"]}, "column 'b' of .* holds text, first 'red' in row 2, where numbers"),
    "digits": ({"a": [1, 2], "b": ["1", "2"]}, "column 'b' of .* holds text, first '1' in row 1"),
    "missing": ({"a": [1, 2], "b": [None, "None"]}, "column 'b' of .* holds text, first 'None' in row 2"),
    "coded": ({"a": [1, 2], "b": pa.array(["x", "y"]).dictionary_encode()}, "column 'b' of .* holds text, first 'x'"),
    "list": ({"a": [1, 2], "b": [[1], [2]]}, r"column 'b' of .* holds list<.*>, first .* in row 1"),
    "bytes": ({"a": [b"x", b"y"], "b": [1, 2]}, "column 'a' of .* holds binary"),
    "long": ({"n" * 1001: [1.0]}, "A column of .* has a name of 1001 characters"),
    "no_rows": ({"a": pa.array([], pa.float64()), "b": pa.array([], pa.string())}, r"0 sample\(s\)"),
    "no_columns": ({}, r"0 sample\(s\)"),
}


@pytest.mark.parametrize("name", PARQUETS)
def test_parquet_files_that_do_not_fit(tmp_path, name):
    columns, sentence = PARQUETS[name]
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / "x.parquet")


def test_a_parquet_file_with_a_name_given_twice(tmp_path):
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="has 2 columns named 'a'"):
        read_matrix(tmp_path / "x.parquet")


def test_the_index_is_the_only_name_of_a_row(tmp_path):
    pd.DataFrame({"kind": ["p", "q"], "a": [1, 2]}, index=["x", "y"]).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"The column 'kind' of .* holds text, first 'p' in row 1"):
        read_matrix(tmp_path / "x.parquet")


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".mtx", ".mtx.gz", ".csv", ".tsv", ".parquet", ".unknown"])
def test_files_that_are_not_there(tmp_path, suffix):
    with pytest.raises(InputError, match=rf"There is no file '.*nowhere{suffix}'. Check the name and the folder"):
        read_matrix(tmp_path / f"nowhere{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(InputError, match=r"is a folder. Name a file in it"):
        read_matrix(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_column_called_sample_names_the_rows(tmp_path, suffix):
    path = tmp_path / f"weights{suffix}"
    frame = pd.DataFrame({"sample": [1, 2], "part1": [0.5, 0.25]})
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path, index=False)
    matrix = read_matrix(path)
    assert matrix.X.tolist() == [[0.5], [0.25]]
    assert matrix.rows.tolist() == ["1", "2"]
