# Every target makes the .venv it needs by itself; only Python 3.11 or newer and make are required.
# Each stamp in .venv stands for one set of installed extras.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-fast test-lowest test-anndata trial trial-short lint bench docs release-check clean

demo: .venv/.run
	$(BIN)/rectifact demo

# Test processes share the cores, so linear algebra gets one thread in each.
test test-fast test-lowest test-anndata: export OPENBLAS_NUM_THREADS = 1
test test-fast test-lowest test-anndata: export OMP_NUM_THREADS = 1
WORKERS ?= auto
PYTEST := -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadfile --durations=15

test: .venv/.dev
	$(BIN)/python $(PYTEST)

test-fast: .venv/.dev
	$(BIN)/python $(PYTEST) -m "not slow"

# The lowest versions of the dependencies that pyproject.toml allows, without torch.
test-lowest: .venv-lowest/.dev
	.venv-lowest/bin/python $(PYTEST) -m "not slow" tests

# AnnData needs pandas 2, and all other tests run with pandas 3.
test-anndata: .venv-anndata/.dev
	.venv-anndata/bin/python -m pytest tests/test_anndata.py tests/test_corpus.py

# Damaged files, degenerate data, forged models, kills, interrupts, payloads, forks; the short form takes a few minutes.
# A long trial that is stopped goes on where it was; without docs/benchmarks/trial.json it begins again.
trial trial-short: export OPENBLAS_NUM_THREADS = 1
trial trial-short: export OMP_NUM_THREADS = 1
trial trial-short: export NUMBA_NUM_THREADS = 1
trial: .venv/.dev
	RECTIFACT_TRIAL=long RECTIFACT_TRIAL_TABLE=$(CURDIR)/docs/benchmarks/trial.json $(BIN)/python -m pytest tests/trial -q
	$(BIN)/python docs/scripts/reliability.py

trial-short: .venv/.dev
	RECTIFACT_TRIAL=short $(BIN)/python -m pytest tests/trial -q

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench
	$(BIN)/rectifact bench all --quick

docs: .venv/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Builds sdist and wheel, and tries both as a new user on a bare machine would. TESTS=test-fast takes half the time.
release-check:
	PYTHON=$(PYTHON) bash .ci/release

clean:
	rm -rf .venv .venv-lowest .venv-anndata build dist docs/_build docs/api/generated docs/gallery .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@echo "Making .venv and installing rectifact with what it needs into it: once, about 200 MB, a minute or a few."
	$(PYTHON) -m venv .venv

# The version is in __init__.py, and the installed metadata repeat it.
.venv/.run: .venv/bin/python pyproject.toml constraints.txt src/rectifact/__init__.py
	$(PIP) --editable .
	touch $@

# torch comes first and pinned: left to a range, pip would fetch the newest build with its CUDA packages.
.venv/.dev: .venv/.run
	$(PIP) torch==2.13.0
	$(PIP) --editable ".[dev,dask]"
	touch $@

.venv-anndata/.dev: pyproject.toml constraints-anndata.txt
	$(PYTHON) -m venv .venv-anndata
	.venv-anndata/bin/python -m pip install -qq --disable-pip-version-check --constraint constraints-anndata.txt \
		--editable ".[anndata,dask,excel,graphs]" hypothesis pytest pytest-timeout
	touch $@

.venv-lowest/.dev: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --disable-pip-version-check --constraint constraints-lowest.txt \
		--editable ".[dask]" hypothesis mpmath polars pytest pytest-timeout pytest-xdist
	touch $@

.venv/.bench: .venv/.run
	$(PIP) --editable ".[bench]"
	touch $@

.venv/.docs: .venv/.run
	$(PIP) --editable ".[docs]"
	touch $@
