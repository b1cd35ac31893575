"""Messages of the library in the words of the command line: options instead of Python's parameters."""

import re

__all__ = ["on_command_line"]

# Parameters of estimators and functions, by command. One that ends in = is an English word too, and only with a
# value is it meant.
PARAMETERS = {
    "parts": {
        "n_components": "-k",
        "min_documents": "--min-documents",
        "max_share": "--max-share",
        "max_words": "--max-words",
    },
    "embed": {"n_components": "-k", "link=": "--link", "objective=": "--objective"},
    "cluster": {"n_clusters": "-k", "n_neighbors": "--neighbors", "l1": "--l1", "n_jobs": "--jobs"},
}
PHRASES = {
    "labels": {
        "fit(..., gold=...)": "--gold",
        "worker_report()": "the table of --workers",
        "next_labels(n, goal='identify')": "in Python next_labels(n, goal='identify')",
        "read_answers(data, classes=[...])": "read_answers(data, classes=[...]) in Python",
        "raise max_iter or tol": "in Python raise max_iter or tol",
    },
    "parts": {
        "stop_words=None": "--all-words",
        "Use ANDNMF, or": "Use --method and, or in Python",
        "NMD(missing=np.nan)": "rectifact embed --missing",
        "raise max_iter or tol": "in Python raise max_iter or tol",
    },
    "embed": {"NMD(missing=np.nan)": "--missing", "raise max_iter or tol": "raise --max-iter"},
    "cluster": {
        "NMD(missing=np.nan)": "rectifact embed --missing",
        "raise max_iter or tol": "in Python raise max_iter or tol",
    },
}
EVERYWHERE = {"resume=True": "--resume", "checkpoint='folder'": "--checkpoint folder", "without resume": "anew"}
BOTH = re.compile(r"\S+ \((--[^()]*?)(?: on the command line)?\)")  # Python's way, and the option in brackets
BOTH_IN_BRACKETS = re.compile(r"\(\w+=[^()]*, (--[^()]*)\)")
DROP = re.compile(r"Drop them: frame\.dropna\(subset=\[.*?\]\)")


def on_command_line(text: str, command: str) -> str:
    """``text`` with the options of ``command`` in place of parameters, as whole words.

    Examples
    --------
    >>> on_command_line("n_components=9 dimensions are too many. Lower n_components.", "embed")
    '-k 9 dimensions are too many. Lower -k.'
    >>> on_command_line("Say which: missing=np.nan (--missing nan) if -1 is a label.", "labels")
    'Say which: --missing nan if -1 is a label.'
    """
    text = BOTH_IN_BRACKETS.sub(r"(\1)", BOTH.sub(r"\1", text))
    text = DROP.sub("Drop these rows", text)
    for phrase, words in (EVERYWHERE | PHRASES.get(command, {})).items():
        text = text.replace(phrase, words)
    for name, option in PARAMETERS.get(command, {}).items():
        text = _named(text, name, option)
    return text


def _named(text: str, name: str, option: str) -> str:
    """``name`` and ``name=value`` as the option, unless it is a part of another word, of a path or in quotes."""
    value = r"=(?P<quote>'?)(?P<value>[\w.+-]*\w)(?P=quote)"
    word = re.escape(name.removesuffix("="))
    pattern = rf"(?<![\w./'\"-]){word}(?:{value}){'' if name.endswith('=') else '?'}(?!['\"=(]|\.?\w)"
    return re.sub(pattern, lambda found: f"{option} {found['value']}" if found["value"] else option, text)
