# Everything needs only Python (3.11 or newer) and make; the rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

MINUTES ?= 10

.PHONY: demo test check lint coverage test-long fuzz bench clean

demo: $(VENV)/.installed
	@$(BIN)/python examples/demo.py

test: lint check

check: $(VENV)/.tested
	$(BIN)/python -m pytest -q -n 2

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

coverage: $(VENV)/.tested
	-$(BIN)/python -m pytest -q -n 2 --cov --cov-report=
	$(BIN)/python -m coverage report

test-long: $(VENV)/.tested
	$(BIN)/python -m pytest -q -n 2 -m long

fuzz: $(VENV)/.tested
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES)

bench: $(VENV)/.tested
	$(BIN)/python benchmarks/run.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.tested: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
