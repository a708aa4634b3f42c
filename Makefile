# Every command a person needs; `make help` lists them.
PYTHON ?= python3
PORT ?= 5000
JOBS ?= 1
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint queue ui lock

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: .venv/installed  ## build everything from the corpus to the scores, then show them
	$(BIN)/dvc repro
	$(BIN)/python -m stages.summary

test: .venv/installed  ## the tests
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

test-all: lint test  ## lint, types and tests

lint: .venv/installed  ## format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# DVC starts its workers as plain `dvc`, which must be found.
queue: .venv/installed  ## run the experiments that are queued, JOBS=2 at a time
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/dvc queue start --jobs $(JOBS)

ui: .venv/installed  ## the runs in MLflow, at http://127.0.0.1:5000 (or PORT=...)
	@$(BIN)/python -m hanyi.tracking.ui --port $(PORT)

# The nvidia lines go: torch brings its own on a GPU machine, and a CPU build needs none.
lock: .venv/installed  ## pin the newest versions that pyproject.toml allows
	(echo "# Pinned for Python 3.10 and newer on every platform; made by \`make lock\`." && \
	$(BIN)/uv pip compile --universal --python-version 3.10 --extra dev --no-header --no-annotate --quiet \
	pyproject.toml | grep -vE '^(nvidia-|cuda-|triton)') > requirements.lock.new
	mv requirements.lock.new requirements.lock

# pip installs torch, since it alone honours a local wheel or index of CPU builds; uv is several times
# faster for the rest, and takes the torch that is there as it is.
.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("make: Python 3.10 or newer is needed; name one: make PYTHON=python3.12 ..." if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check --constraint requirements.lock torch uv
	$(BIN)/uv pip install --python $(BIN)/python --requirement requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --no-deps --editable .
	touch $@
