# Slurmery: `make demo` shows it, `make test` proves it; both set up what they need.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
UV := $(or $(shell command -v uv),$(BIN)/uv)
PYTEST := $(BIN)/pytest
# Tests in parallel where they are independent; two cores are the smallest machine.
WORKERS ?= auto
export CLUSTER SLURM DOOR

.PHONY: help
help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

# --- the two commands ------------------------------------------------------

.PHONY: demo
demo: $(STAMP) ## From a fresh clone to Slurm jobs that ran in Kubernetes
	@$(BIN)/python -m dev demo

.PHONY: test
test: lint test-unit test-controlplane test-e2e ## Every test tier, as CI runs them

# --- tiers -----------------------------------------------------------------

.PHONY: lint
lint: $(STAMP) ## Format, lint, types, layers, dependencies
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry src

.PHONY: test-unit
test-unit: $(STAMP) ## Pure code, in seconds; charts by both Helms
	@$(BIN)/python -m dev build charts
	$(PYTEST) tests/unit -n $(WORKERS)

.PHONY: test-controlplane
test-controlplane: $(STAMP) ## Against real etcd and kube-apiserver
	@$(BIN)/python -m dev build controlplane
	$(PYTEST) tests/controlplane -n $(WORKERS)

# A cluster of its own, made anew: nothing of the demo's is found in it or spoilt. What fails is left to be looked at.
.PHONY: test-e2e
test-e2e: export INSTANCE := test
test-e2e: $(STAMP) ## Real nodes, containers and Slurm
	@$(BIN)/python -m dev down
	@$(BIN)/python -m dev up
	$(PYTEST) tests/e2e -m 'not alone' -n 2 --dist loadfile
	$(PYTEST) tests/e2e -m alone
	@$(BIN)/python -m dev down

.PHONY: bench
bench: $(STAMP) ## Measured figures next to their limits
	@$(BIN)/python -m dev build controlplane
	$(BIN)/python -m bench

# --- the embedded cluster --------------------------------------------------

.PHONY: up down status
up: $(STAMP) ## Start the embedded cluster
	@$(BIN)/python -m dev up
down: ## Remove the cluster and everything it made
	@if [ -e $(STAMP) ]; then $(BIN)/python -m dev down; else $(PYTHON) -m dev.teardown; fi
status: $(STAMP) ## What runs and where it stands
	@$(BIN)/python -m dev status

# --- housekeeping ----------------------------------------------------------

.PHONY: format
format: $(STAMP) ## Rewrite the code as `make lint` wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

COMPILE = $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
.PHONY: lock
lock: $(VENV)/bin/uv ## Refresh the pinned dependencies
	$(COMPILE) --upgrade pyproject.toml -o requirements.lock
	$(COMPILE) --group dev --constraint requirements.lock pyproject.toml -o requirements-dev.lock
	echo 'hatchling>=1.27' | $(COMPILE) --upgrade - -o images/slurmery/build.lock

.PHONY: hooks
hooks: $(STAMP) ## Run the checks before each commit
	$(BIN)/prek install

$(STAMP): requirements-dev.lock pyproject.toml | $(VENV)/bin/python
	@command -v uv >/dev/null || [ -x $(BIN)/uv ] || $(BIN)/python -m pip install --quiet uv
	@VIRTUAL_ENV=$(VENV) $(UV) pip sync --quiet --require-hashes requirements-dev.lock
	@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/bin/python:
	@dev/bootstrap $(PYTHON) $(VENV)

$(VENV)/bin/uv: | $(VENV)/bin/python
	@command -v uv >/dev/null || $(BIN)/python -m pip install --quiet uv
