import json
import subprocess
import sys

import numpy as np
import pytest

from rectifact.bench.measure import cpu_name, environment, revision
from rectifact.bench.results import check_result_name, plain, read_result, save_result
from rectifact.core.errors import InputError

RESULT = {
    "environment": {"cpu": "Abacus 1", "blas_threads": [1], "versions": {"numpy": "2.4"}},
    "tables": {"crowd": {"methods": [{"method": "auto", "seconds": 0.123456}], "auto": []}},
}


def test_json_is_read_as_it_was_saved(tmp_path):
    save_result(RESULT, tmp_path / "r.json")
    assert read_result(tmp_path / "r.json") == RESULT


def test_markdown_says_where_and_what(tmp_path):
    save_result(RESULT, tmp_path / "r.md")
    assert (tmp_path / "r.md").read_text().splitlines() == [
        "# Benchmarks",
        "",
        "- cpu: Abacus 1",
        "- blas_threads: 1",
        "- versions: numpy 2.4",
        "",
        "## crowd: methods",
        "",
        "| method | seconds |",
        "|---|---|",
        "| auto | 0.1235 |",
    ]


def test_numpy_numbers_and_gaps_can_be_saved():
    odd = {"a": np.float32(0.5), "b": np.int64(3), "c": float("nan"), "d": (np.bool_(True), -np.inf)}
    assert json.loads(json.dumps(plain(odd), allow_nan=False)) == {"a": 0.5, "b": 3, "c": None, "d": [True, None]}


def with_cell(cell):
    return f'{{"environment": {{}}, "tables": {{"crowd": {{"methods": [{{"error": {cell}}}]}}}}}}'


@pytest.mark.parametrize(
    "text",
    [
        *("", "not json", "[]", "{}", '{"environment": {}, "tables": {"crowd": [1]}}', '{"environment": {}}'),
        *map(with_cell, ("[1]", "{}", '{"a": 1}', "1" + "0" * 400)),
        "[" * 100_000,
    ],
    ids=lambda text: text[:70],
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"r\.json"):
        read_result(path)


@pytest.mark.parametrize("cell", ["1", "0.5", "null", '"text"', "true", "NaN"])
def test_cells_are_scalars(tmp_path, cell):
    (tmp_path / "r.json").write_text(with_cell(cell))
    assert repr(json.loads(cell)) in repr(read_result(tmp_path / "r.json"))


def test_a_name_must_tell_the_format(tmp_path):
    with pytest.raises(InputError, match=r"should end in \.json or \.md"):
        check_result_name(tmp_path / "r.txt")
    with pytest.raises(InputError, match="no folder"):
        check_result_name(tmp_path / "no" / "r.json")


def test_environment_can_be_saved_and_judged():
    around = json.loads(json.dumps(environment()))
    assert around["cpu"]
    assert around["date"].endswith("+00:00")


def test_one_thread_reaches_every_pool():
    code = "from rectifact.bench.measure import *\nwith one_thread(): print(environment()['blas_threads'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1]\n"


def test_cpu_name_comes_from_the_listing_or_from_python(tmp_path):
    listing = tmp_path / "cpuinfo"
    assert cpu_name(listing)
    listing.write_text("processor\t: 0\nmodel name\t: Abacus 1: fast\nmodel name\t: Abacus 2\n")
    assert cpu_name(listing) == "Abacus 1: fast"


def test_revision_with_and_without_a_checkout(tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True)

    assert revision(tmp_path / "nowhere") is None
    source = tmp_path / "__init__.py"
    source.write_text("")
    git("init")
    assert revision(tmp_path) is None  # not tracked by git
    git("add", ".")
    git("commit", "-m", "x")
    commit = revision(tmp_path)
    assert commit
    assert not commit.endswith("+")
    source.write_text("changed = True\n")
    assert revision(tmp_path) == f"{commit}+"
