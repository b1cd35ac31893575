"""Recover the truth behind non-negative data: decode linearly, rectify, update.

Four families of estimators, which do not import each other; each has a command and a report:

========  =========  ====================  ====================================
package   command    report                finds
========  =========  ====================  ====================================
crowd     labels     report.labels         true labels behind workers' answers
parts     parts      report.parts          the parts that mixtures are made of
latent    embed      report.embedding      the few dimensions of sparse data
graph     cluster    report.clusters       communities in graphs
========  =========  ====================  ====================================

The layers, lowest first: core, io, kernels, metrics, datasets, the families, selection, anndata, models, topics,
report, bench, cli. Each imports only from those before it.
"""

from rectifact.cli import end_at_once, is_program

if is_program():  # the command itself, and not a program that imports the package
    end_at_once()  # before the other imports, which take longer than it takes to regret a command

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rectifact.core.errors import InputError

if TYPE_CHECKING:
    from rectifact.crowd import KOS, DawidSkene, EigenRatio, GhoshSVD, MajorityVote, MinimaxEntropy
    from rectifact.crowd.evaluation import evaluate
    from rectifact.crowd.panel_agreement import agreement
    from rectifact.crowd.panel_rates import rate
    from rectifact.crowd.panel_replacement import alternative_annotator_test
    from rectifact.graph import SymNMF, SymNMFNet, similarity_graph
    from rectifact.latent import NMD, LogisticPCA, held_out_score, hide_entries
    from rectifact.models import load_model, save_model
    from rectifact.parts import ANDNMF, PurificationNMF
    from rectifact.report import write_report
    from rectifact.topics import find_topics, load_topics

__version__ = "0.2.0"

__all__ = [
    "ANDNMF",
    "KOS",
    "NMD",
    "DawidSkene",
    "EigenRatio",
    "GhoshSVD",
    "InputError",
    "LogisticPCA",
    "MajorityVote",
    "MinimaxEntropy",
    "PurificationNMF",
    "SymNMF",
    "SymNMFNet",
    "__version__",
    "agreement",
    "alternative_annotator_test",
    "evaluate",
    "find_topics",
    "held_out_score",
    "hide_entries",
    "load_model",
    "load_topics",
    "rate",
    "save_model",
    "similarity_graph",
    "write_report",
]

HOMES = {
    "crowd": ("KOS", "DawidSkene", "EigenRatio", "GhoshSVD", "MajorityVote", "MinimaxEntropy"),
    "crowd.evaluation": ("evaluate",),
    "crowd.panel_agreement": ("agreement",),
    "crowd.panel_rates": ("rate",),
    "crowd.panel_replacement": ("alternative_annotator_test",),
    "graph": ("SymNMF", "SymNMFNet", "similarity_graph"),
    "latent": ("NMD", "LogisticPCA", "held_out_score", "hide_entries"),
    "models": ("load_model", "save_model"),
    "parts": ("ANDNMF", "PurificationNMF"),
    "anndata": (),
    "datasets": (),
    "metrics": (),
    "report": ("write_report",),
    "selection": (),
    "topics": ("find_topics", "load_topics"),
}
"""Modules that are imported when they, or one of the names in them, are first used."""


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name == home or name in names:
            module = import_module(f"rectifact.{home}")
            return module if name == home else getattr(module, name)
    raise AttributeError(f"module 'rectifact' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *HOMES})
