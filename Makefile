# make demo    a simulated fleet to look at, nothing to configure
# make test    every test that needs no service
# make run     the real thing, with your config.yaml (or LLMAO_CONFIG=path)
# make setup   only the .venv          make bench   the figures
# make lint    ruff, mypy, imports     make lock    pin the packages anew
# make docs    docs/decision-table.md, from the scenarios     make nightly    the laws in 10,000 living worlds
# make screenshots    the pictures of the README, from the demo

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PORT ?= 8000

.PHONY: setup demo test run bench lint lock screenshots docs nightly
.DEFAULT_GOAL := setup

setup: $(INSTALLED)

# The stamp is younger than the lock only when an installation of it ended well.
$(INSTALLED): requirements-dev.lock
	@python=""; for each in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3; do \
	  if $$each -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python=$$each; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "llmao needs Python 3.11 or newer with its venv module, and found none. Install it (Debian: apt-get install python3.11-venv), or name it: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; \
	fi; \
	[ -x $(BIN)/python ] || $$python -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

demo: $(INSTALLED)
	@exec $(BIN)/python -m sim.demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n 2

run: $(INSTALLED)
	@config="$${LLMAO_CONFIG:-config.yaml}"; \
	if [ ! -f "$$config" ]; then \
	  echo "There is no $$config. Copy config.example.yaml to config.yaml and models.example.yaml to models.yaml, edit both, and try again (or: make run LLMAO_CONFIG=/path/to/config.yaml)." >&2; exit 1; \
	fi; \
	LLMAO_CONFIG="$$config" exec $(BIN)/python manage.py up --port $(PORT)

bench: $(INSTALLED)
	$(BIN)/python -m pytest -q -s -m bench

docs: $(INSTALLED)
	$(BIN)/python -m tests.reconcile.table

# Other worlds each time; a failure prints how to make its world again.
nightly: $(INSTALLED)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -q tests/reconcile/test_living_world.py

screenshots: $(INSTALLED)
	$(BIN)/python docs/screenshots.py

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

lock: $(INSTALLED)
	$(COMPILE) --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	@touch $(INSTALLED)
