# Everything starts from a bare machine with Python 3.11 or newer and make.
PYTHON ?= python3
# Versions of what is installed. Empty: the newest.
CONSTRAINTS ?= constraints.txt
# What PyPI does not have (a browser, WordNet's files) is installed by apt-get where that
# is allowed; SYSTEM=no only prints the line (tools/system.py).
export SYSTEM
# Images set this for builds; without compiled files each of many processes would compile all again.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS))
# Tests that need the public benchmark files run when COTERIE_DATA names their folder; a folder
# called "shared" beside the checkout is taken if there is one.
COTERIE_DATA ?= $(wildcard $(abspath ../shared))
export COTERIE_DATA
# Tests to run: files, or options of pytest. Empty: all but those that are marked "full".
TESTS ?=
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal --quiet

.PHONY: tables help run test test-all types tests bare check format docs torture release minilm clean

help: ## Show what there is.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

run: $(VENV)/.run ## Cluster the bundled support messages and show the result.
	$(BIN)/coterie cluster sample --clusters 17 --out out/sample --overwrite

test: $(VENV)/.test ## Format, lint, types, unit and behaviour tests.
	$(BIN)/python tools/system.py test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --jobs 2 types tests

types:
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

tests:
	$(PYTEST) $(or $(TESTS),-m "not full")

test-all: test ## The same, then documentation, browser, service, torture, kernels, benchmarks and what takes long.
	$(BIN)/python tools/system.py test-all
	$(PYTEST) -m full

check: test-all

bare: ## All commands as on a bare machine: fresh clone, empty home, nothing installed. Needs root.
	$(PYTHON) tools/bare.py $(TESTS)

format: $(VENV)/.test ## Put the code into shape.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.docs ## Build the documentation site into out/docs; begin with index.html.
	$(BIN)/python tools/reference.py
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d out/docs-trees docs out/docs

tables: $(VENV)/.test ## Make the pages of results anew.
	$(BIN)/coterie-bench fill

torture: $(VENV)/.test ## Faults of all kinds, for an hour: kills, full disks, malicious models.
	$(BIN)/python -m pytest --slow --quiet tests/torture tests/models/test_hostile_models.py

release: $(VENV)/.test ## The package, in dist.
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

minilm: $(VENV)/.test ## The package with the weights of the default encoder, in out/minilm.
	cd packages/coterie-minilm && ../../$(BIN)/python -m hatchling build -t wheel -d ../../out/minilm

clean: ## Remove the environment and all outputs.
	rm -rf $(VENV) out dist .pytest_cache .mypy_cache .ruff_cache

# torch first and alone, so that the constraint decides which build it is.
$(VENV)/.run: pyproject.toml benchmarks/pyproject.toml $(CONSTRAINTS)
	$(PYTHON) tools/system.py run
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) torch
	$(INSTALL) hatchling editables
	$(INSTALL) --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(INSTALL) --no-build-isolation --editable ".[test]" --editable ./benchmarks
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	$(INSTALL) --no-build-isolation --editable ".[docs]"
	@touch $@
