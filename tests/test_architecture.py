"""The tree is the architecture: these tests keep it so."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rectifact

ROOT = Path(rectifact.__file__).parent
ORDER = ["core", "io", "kernels", "metrics", "datasets", "families", "selection", "anndata"]
ORDER += ["model_shapes", "models", "topics", "report", "bench", "cli"]
FAMILIES = {"crowd", "parts", "latent", "graph"}
EXTRAS = ("torch", "cupy", "dask", "distributed", "jinja2", "umap", "matplotlib", "crowdkit", "polars", "sphinx")
EXTRAS += ("anndata", "openpyxl", "networkx")
HEAVY = ("numpy", "pandas", "sklearn", "scipy", "pyarrow", "numba")


def rank(layer: str) -> int:
    return ORDER.index("families" if layer in FAMILIES else layer)


def imported_layers(source: str, package: str) -> set[str]:
    """Top-level modules of rectifact that ``source``, a module of ``package``, imports in any spelling."""
    layers = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        layers |= {name.split(".")[1] for name in names if name.startswith("rectifact.")}
    return layers - {"__version__"}


def wrong_imports(path: Path, source: str) -> list[str]:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    layer = parts[1]
    targets = imported_layers(source, ".".join(parts[:-1]))
    return [f"{layer} imports {target}" for target in targets if target != layer and rank(target) >= rank(layer)]


def test_imports_point_down() -> None:
    modules = [path for path in ROOT.rglob("*.py") if path not in (ROOT / "__init__.py", ROOT / "__main__.py")]
    assert len(modules) > 20
    assert {str(path): wrong for path in modules if (wrong := wrong_imports(path, path.read_text()))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from rectifact.crowd import em",
        "import rectifact.crowd.em",
        "from rectifact import crowd",
        "from ..crowd import em",
        "from .. import crowd",
        "def later():\n    from rectifact.crowd.em import m_step",
    ],
)
@pytest.mark.parametrize("layer", ["core", "datasets", "parts"])
def test_an_import_that_points_up_or_across_is_seen(line: str, layer: str) -> None:
    assert wrong_imports(ROOT / layer / "module.py", line) == [f"{layer} imports crowd"]


ALGORITHMS = {
    "crowd": {
        "em",
        "pooled",
        "grades",
        "dependence",
        "cooccurrence",
        "copying",
        "imputation",
        "rotation",
        "moments",
        "baselines",
        "starts",
        "fitting",
        "agreement",
        "intraclass",
        "replacement",
        "resampling",
        "prediction_powered",
        "trust",
    },
    "parts": {
        "starts",
        "and_nmf",
        "directions",
        "noise",
        "likely",
        "refinement",
        "fitting",
        "purification",
        "inverses",
        "baselines",
        "conditions",
        "peaks",
    },
    "latent": {"model", "statistics", "starts", "extrapolation", "nmd", "paper", "priors", "logistic_pca"},
    "graph": {"normalisation", "peaks", "quality", "solvers", "spectral", "net", "recipes"},
}
"""Modules that contain mathematics only."""

OTHERS = {
    "crowd": {
        "base",
        "dawid_skene",
        "decisions",
        "comparisons",
        "copies",
        "data",
        "advice",
        "device",
        "evaluation",
        "events",
        "fitted",
        "labels_for",
        "pairing",
        "panel_agreement",
        "panel_bias",
        "panel_evidence",
        "panel_accuracy",
        "panel_allowance",
        "panel_precision",
        "panel_steps",
        "panel_words",
        "panel_caution",
        "panel_choice",
        "panel_changes",
        "panel_gap",
        "panel_joint",
        "panel_leaning",
        "panel_misses",
        "misfit",
        "panel_rates",
        "panel_replacement",
        "panel_reprs",
        "panel_shift",
        "planner",
        "quantity",
        "rate_tables",
        "rate_words",
        "reference",
        "reviewer",
    },
    "parts": {
        "base",
        "and_nmf_estimator",
        "purification_estimator",
        "documents",
        "document_table",
        "stop_words",
        "languages",
        "incoherence",
        "terms",
        "markup",
        "vocabulary",
        "word_limits",
        "topics",
        "near_copies",
        "nearby_number",
        "corpus_findings",
        "alike",
        "siblings",
        "foreign_rows",
        "set_aside",
        "short_documents",
        "too_few",
        "without_topic",
        "unexplained",
        "samples",
        "dispersion",
        "diagnosis",
        "matching",
        "stability",
        "features",
        "how_many",
    },
    "latent": {
        "base",
        "nmd_estimator",
        "logistic_pca_estimator",
        "data",
        "filling",
        "intervals",
        "means",
        "ranking",
        "scales",
        "codes",
        "held_out",
        "choices",
        "neighbours",
        "how_many",
    },
    "graph": {
        "base",
        "symnmf_estimator",
        "symnmf_net_estimator",
        "bridges",
        "canonical",
        "chance",
        "permuted",
        "comparison",
        "components",
        "diagnosis",
        "edges",
        "distances",
        "far",
        "gaps",
        "mistaken",
        "joining",
        "outside",
        "overlaps",
        "placing",
        "prediction",
        "spelling",
        "scaling",
        "gold",
        "splits",
        "hidden_groups",
        "how_many",
        "knn",
        "search",
        "louvain",
        "new_nodes",
        "plots",
        "results",
        "similarities",
        "tensors",
        "weights",
    },
}
"""Modules that take in data, and estimators."""

HOLDERS = {"dask", "distributed", "cupy", "cupyx", "torch", "scipy.sparse"}
"""Libraries whose containers hold data; ``scipy.sparse.linalg`` and ``csgraph`` are mathematics."""

QUESTIONS = {"isinstance", "issparse", "is_sparse", "is_native_sparse", "is_host", "is_lazy", "is_chunked", "on_cuda"}
"""Functions that ask what data is."""


def backend_questions(source: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """Imports of libraries that hold data, and calls that ask what data is; imports for type checkers are allowed."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            words = name.split(".")
            sparse = words[:2] == ["scipy", "sparse"] and (len(words) < 3 or words[2] not in ("linalg", "csgraph"))
            if (words[0] in HOLDERS or sparse) and words[0] not in allowed:
                found.append(f"imports {name}")
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found += [f"calls {called}"] * (called in QUESTIONS)
    return found


def test_every_module_of_a_family_is_an_algorithm_or_not() -> None:
    for family, algorithms in ALGORITHMS.items():
        modules = {
            path.stem for path in (ROOT / family).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        assert modules - {"__init__"} == algorithms | OTHERS[family]


@pytest.mark.parametrize(
    "module", [f"{family}/{name}" for family, names in ALGORITHMS.items() for name in sorted(names)]
)
def test_algorithms_do_not_ask_what_holds_their_data(module: str) -> None:
    allowed = frozenset({"torch"}) if module == "graph/net" else frozenset()
    assert backend_questions((ROOT / f"{module}.py").read_text(), allowed) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import scipy.sparse as sp", ["imports scipy.sparse"]),
        ("from scipy import sparse", ["imports scipy.sparse"]),
        ("from scipy.sparse import csr_array", ["imports scipy.sparse.csr_array"]),
        ("def f():\n    import dask.array as da", ["imports dask.array"]),
        ("import torch", ["imports torch"]),
        ("y = isinstance(X, float)", ["calls isinstance"]),
        ("y = arrays.is_host(X)", ["calls is_host"]),
        ("from scipy.sparse.linalg import eigsh\nfrom scipy.sparse.csgraph import connected_components", []),
        ("if TYPE_CHECKING:\n    import scipy.sparse as sp", []),
    ],
)
def test_a_backend_question_is_seen(source: str, found: list[str]) -> None:
    assert backend_questions(source) == found


def test_files_and_functions_have_a_size_to_read() -> None:
    for path in ROOT.rglob("*.py"):
        source = path.read_text()
        tree = ast.parse(source)
        reason = "lines because" in (ast.get_docstring(tree) or "")
        assert len(source.splitlines()) <= 350 or reason, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                length = body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]
                assert length <= 60, f"{path}: {node.name} has {length} lines"


def test_only_the_command_bench_imports_benchmarks() -> None:
    for path in (ROOT / "cli").glob("*.py"):
        assert path.name.startswith("bench") or "bench" not in imported_layers(path.read_text(), "rectifact.cli"), path


def loaded_after(code: str, modules: tuple[str, ...]) -> list[str]:
    """Those of ``modules`` that a new process has imported after it ran ``code``."""
    show = f"import sys\nprint([m for m in {modules!r} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stderr)


def test_import_loads_no_extra_and_no_compiler() -> None:
    use_every_name = "import rectifact\nfor name in rectifact.__all__: getattr(rectifact, name)"
    assert loaded_after(use_every_name, (*EXTRAS, "numba")) == []
    assert loaded_after(use_every_name, ("numpy", "sklearn")) == ["numpy", "sklearn"]


def test_import_loads_nothing_heavy() -> None:
    assert loaded_after("import rectifact; rectifact.__version__; dir(rectifact)", HEAVY) == []


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_line_says_what_it_is_without_loading_anything_heavy(option: str) -> None:
    code = f"""
import sys
from rectifact.cli import main
sys.argv[1:] = [{option!r}]
try:
    main()
except SystemExit as stop:
    assert not stop.code"""
    assert loaded_after(code, HEAVY) == []


def test_names_are_found_when_they_are_used() -> None:
    from rectifact.crowd import DawidSkene

    assert rectifact.DawidSkene is DawidSkene
    assert rectifact.crowd.DawidSkene is DawidSkene
    assert set(rectifact.__all__) <= set(dir(rectifact))
    lazy = [name for names in rectifact.HOMES.values() for name in names]
    assert sorted([*lazy, "InputError", "__version__"]) == sorted(rectifact.__all__)
    with pytest.raises(AttributeError, match="module 'rectifact' has no attribute 'nothing'"):
        rectifact.nothing  # noqa: B018


def test_version_has_one_source() -> None:
    from importlib.metadata import version

    assert version("rectifact") == rectifact.__version__
    citation = (ROOT.parents[1] / "CITATION.cff").read_text()
    assert f"version: {rectifact.__version__}\n" in citation
