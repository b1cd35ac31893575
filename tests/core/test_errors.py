import pickle

import pytest

from rectifact.core.errors import FitWarning, InputError, InputTypeError

NAMES = {"n_components": "-k", "link": "--link", "resume": "--resume"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n_components=9 is too many", "-k 9 is too many"),
        ("Lower n_components.", "Lower -k."),
        ("(n_components)", "(-k)"),
        *((text, text) for text in ("my_n_components", "'n_components'", "n_components_", "a/n_components.csv")),
        ("Use link='relu', or X > 0.", "Use --link relu, or X > 0."),
        ("A link of two; blink=x", "A link of two; blink=x"),
        ("Give resume=True, or resume=False.", "Give --resume, or --resume False."),
        ("Raise tol=0.1.", "Raise tol=0.1."),
    ],
)
def test_parameters_are_options_on_the_command_line(text, shown):
    error = InputError("Something is wrong.", text, option=("n_components", "link=", "resume", "tol"))
    assert str(error) == f"Something is wrong. {text}"
    assert error.on_command_line(NAMES) == f"Something is wrong. {shown}"


def test_only_the_options_that_a_message_names_are_replaced():
    assert InputError("Lower n_components.").on_command_line(NAMES) == "Lower n_components."
    assert InputError("It is empty.").on_command_line(NAMES) == "It is empty."


def test_a_remedy_of_its_own_on_the_command_line():
    warning = FitWarning("n_components=9 is much.", "Call it again.", option="n_components", command="Lower -k.")
    assert str(warning) == "n_components=9 is much. Call it again."
    assert warning.on_command_line(NAMES) == "-k 9 is much. Lower -k."
    without = InputError("It failed.", "Call it again.", command="")
    assert without.on_command_line(NAMES) == "It failed."


@pytest.mark.parametrize("kind", [InputError, InputTypeError, FitWarning])
def test_messages_keep_their_parts_on_the_way_from_another_process(kind):
    sent = kind("n_components=9 is much.", "Lower n_components.", option="n_components", command="Lower -k.")
    came = pickle.loads(pickle.dumps(sent))
    assert type(came) is kind
    assert vars(came) == vars(sent)
    assert str(came) == str(sent)
