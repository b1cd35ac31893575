"""How the command line starts: what it lists, what it completes, and how it is interrupted."""

import os
import signal
import subprocess
import sys
from importlib import import_module

import pytest

from rectifact.cli.commands import SUMMARIES

START = "import sys; sys.argv[0] = 'rectifact'; from rectifact.cli import main; main()"


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries_are_those_of_the_commands(name):
    documentation = getattr(import_module(f"rectifact.cli.{name}"), name).__doc__
    assert documentation.splitlines()[0] == SUMMARIES[name]


def test_help_lists_all_commands_in_order(run):
    lines = run("--help").out.splitlines()
    listed = [line.split()[1] for line in lines if line.startswith("│ ") and line[2] not in " -"]
    assert listed == list(SUMMARIES)
    for name, summary in SUMMARIES.items():
        assert " ".join(summary.split()[:6]) in run(name, "--help").out


def test_a_command_that_is_unknown(run):
    assert run("label", expect=2).err == "rectifact: There is no command 'label'. Did you mean labels?\n"
    assert run("xyz", expect=2).err == "rectifact: There is no command 'xyz'. See rectifact --help.\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("parts", "a.csv", "--weight", "log"), "There is no option --weight. Did you mean --weighting or --weights?"),
        (("labels", "--zzz"), "There is no option --zzz. See rectifact labels --help."),
        (("--zzz",), "There is no option --zzz. See rectifact --help."),
        (("parts", "a.csv", "-k"), "-k needs a value. See rectifact parts --help."),
        (("parts", "a.csv", "b.csv"), "Unexpected argument: b.csv. See rectifact parts --help."),
    ],
)
def test_a_misuse_is_one_line_as_every_other_error(run, words, told):
    assert run(*words, expect=2).err == f"rectifact: {told}\n"


@pytest.mark.parametrize(("option", "value", "named"), [("--weighting", "lg", "'tfidf'"), ("--seed", "x", "integer")])
def test_a_value_that_an_option_does_not_take(run, option, value, named):
    said = run("parts", "a.csv", option, value, expect=2).err
    assert said.count("\n") == 1
    assert said.startswith(f"rectifact: Invalid value for '{option}': ")
    assert said.endswith("See rectifact parts --help.\n")
    assert named in said
    assert "Value error" not in said


@pytest.mark.parametrize(
    ("words", "completed"),
    [("rectifact la", ["labels"]), ("rectifact embed --obj", ["--objective"])],
)
def test_shells_complete_commands_and_options(words, completed):
    around = {"_RECTIFACT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-c", START]
    done = subprocess.run(command, env=os.environ | around, capture_output=True, text=True, check=False)
    assert done.stdout.split() == completed, done.stderr


@pytest.mark.parametrize("package", ["typer", "numpy", "scipy", "pandas", "pyarrow", "sklearn"])
def test_an_interrupt_while_modules_are_imported_is_one_sentence(tmp_path, package):
    """With ``-X importtime`` Python says on stderr what it has imported, so that no clock is needed."""
    command = [sys.executable, "-X", "importtime", "-m", "rectifact.cli", "labels", tmp_path / "none.csv"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.split("|")[-1].strip().startswith(package):
            process.send_signal(signal.SIGINT)
            break
    _, said = process.communicate(timeout=60)
    said = [line for line in said.splitlines() if not line.startswith("import time:")]
    assert said == ["rectifact: interrupted; no file was left half-written."]
    assert process.returncode == 130


def test_an_interrupt_that_was_ignored_from_the_start_stays_ignored(tmp_path):
    interrupted = f"import os, signal; os.kill(os.getpid(), signal.SIGINT); {START}"
    command = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", interrupted]
    done = subprocess.run([*command, "labels", tmp_path / "none.csv"], capture_output=True, text=True, check=False)
    assert "There is no file" in done.stderr
    assert done.returncode == 2


AS_PROGRAM = "import sys; sys.orig_argv = ['python', '-m', 'rectifact']; sys.argv = ['rectifact', '--version']; "


def test_an_interrupt_is_expected_before_the_imports():
    code = AS_PROGRAM + "import rectifact, signal; print(signal.getsignal(signal.SIGINT).__name__)"
    for program, handler in ((code, "_end"), (code.replace(AS_PROGRAM, ""), "default_int_handler")):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == handler


def test_an_interrupt_during_shutdown_finds_everything_done():
    at_exit = "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGINT); "
    code = AS_PROGRAM + at_exit + "from rectifact.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("rectifact ")


LOST = """
import ctypes, os, signal, sys, time
from rectifact.cli import interrupt_again
if "again" in sys.argv:
    sys.unraisablehook = interrupt_again
signal.signal(signal.SIGINT, signal.default_int_handler)
@ctypes.CFUNCTYPE(None)
def called():
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(100))
try:
    called()
    time.sleep(5 if "again" in sys.argv else 0.1)
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("words", "expected"), [((), "went on"), (("again",), "interrupted")])
def test_an_interrupt_that_a_callback_from_c_swallows_comes_again(words, expected):
    done = subprocess.run([sys.executable, "-c", LOST, *words], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == expected
    assert ("KeyboardInterrupt" in done.stderr) is (expected == "went on")


def test_an_interrupt_inside_exec_has_the_exit_code_of_others():
    """Python ends by the signal, and not with the exit code, where an interrupt passed through exec()."""
    broken = "import rectifact.cli.commands as c; c.run = lambda: exec('raise KeyboardInterrupt'); "
    code = AS_PROGRAM + broken + "from rectifact.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "rectifact: interrupted; no file was left half-written.\n"


@pytest.mark.parametrize(("cause", "code"), [("KeyboardInterrupt()", 130), ("ValueError()", 1)])
def test_an_interrupt_of_a_compiled_function_that_was_returning(cause, code):
    """Python raises a SystemError from the interrupt where a compiled function returned although it was pending."""
    broken = f"import rectifact.cli.commands as c; c.run = lambda: exec('raise SystemError() from {cause}'); "
    script = AS_PROGRAM + broken + "from rectifact.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code
    interrupted = done.stderr == "rectifact: interrupted; no file was left half-written.\n"
    assert interrupted is (code == 130)
