import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rectifact.core.errors import InputError
from rectifact.io.files import atomic_path, check_writable, reading, text_to


def test_nothing_is_left_when_writing_fails(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_link_keeps_pointing_where_it_did(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_to_and_not_replaced():
    with atomic_path(Path(os.devnull)) as temporary:
        temporary.write_text("gone")
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize(("name", "sentence"), [("", "it is a folder"), ("no/such/out.csv", "there is no folder")])
def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path, name, sentence):
    with pytest.raises(InputError, match=sentence):
        check_writable(tmp_path / name)


@pytest.mark.parametrize("folder", ["/proc", "/proc/self/fdinfo", "/sys"])
def test_a_place_that_only_looks_like_a_folder_is_refused_at_once(folder):
    if not Path(folder).is_dir():
        pytest.skip(f"no {folder} here")
    with pytest.raises(InputError, match=r"Cannot write to '.*/out\.csv': .*Choose another place"):
        check_writable(Path(folder) / "out.csv")


def test_a_name_that_no_disk_takes_is_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="too long"):
        check_writable(tmp_path / ("x" * 300 + ".csv"))


def test_a_link_to_nowhere_is_refused_at_once(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "no" / "out.csv")
    with pytest.raises(InputError, match="No such file or directory"):
        check_writable(tmp_path / "link.csv")


def test_the_check_leaves_nothing(tmp_path):
    (tmp_path / "old.csv").write_text("old")
    check_writable(tmp_path / "old.csv")
    check_writable(tmp_path / "new.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "old"


def test_json_that_is_nested_without_end_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="as a list: maximum recursion depth"), reading(Path("x.json"), "a list"):
        json.loads("[" * 100_000)


def test_a_full_disk_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="No space left on device"), atomic_path(tmp_path / "x") as temporary:
        temporary.write_text("half")
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(), "There is no file 'x.csv'"),
        (IsADirectoryError(), "is a folder"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (ValueError("line 3\n  is odd."), "as CSV: line 3 is odd"),
    ],
)
def test_readers_errors_become_one_sentence(error, sentence):
    with pytest.raises(InputError, match=sentence) as caught, reading(Path("x.csv"), "CSV"):
        raise error
    assert "\n" not in str(caught.value)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    """A process is killed while it writes; the next one that writes there cleans up, but not after living ones."""
    script = (
        "import os, signal, sys; from pathlib import Path; from rectifact.io.files import atomic_path\n"
        "with atomic_path(Path(sys.argv[1])) as path:\n"
        "    path.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "out.csv")], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    living = left.with_name(left.name.replace(left.name.split(".")[3], str(os.getppid())))
    living.touch()
    other = tmp_path / ".rectifact.elsewhere.1.tmp"
    other.touch()
    with atomic_path(tmp_path / "out.csv") as path:
        path.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", living.name, other.name}


@pytest.mark.timeout(30)
def test_an_interrupt_does_not_wait_for_a_pipe_that_nobody_reads(tmp_path):
    pipe = tmp_path / "out.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(KeyboardInterrupt), text_to(pipe) as file:
            os.set_blocking(file.fileno(), False)
            with pytest.raises(BlockingIOError):
                while True:
                    os.write(file.fileno(), b"x" * 1024)  # until the pipe is full
            os.set_blocking(file.fileno(), True)
            file.write("what is left")
            raise KeyboardInterrupt
    finally:
        os.close(reader)
