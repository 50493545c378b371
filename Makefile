# Everything needs only Python (3.11 or newer) and make; the rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

MINUTES ?= 10
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q
DATA ?=

.PHONY: demo test test-fast check lint kernels coverage test-long fuzz bench reproduce docs wheel clean

demo: $(VENV)/.installed
	@$(BIN)/python examples/demo.py

test: lint check

check: kernels
	$(PYTEST) -n 2 --dist worksteal

test-fast: kernels
	$(PYTEST) -n 2 --dist worksteal --fast tests

kernels: $(VENV)/.tested
	$(BIN)/python tests/warm_kernels.py

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPY_NUM_WORKERS=2 $(BIN)/mypy
	$(BIN)/lint-imports

coverage: kernels
	$(PYTEST) -n 2 --dist worksteal --cov

test-long: kernels
	$(PYTEST) -n 2 --dist worksteal -m long

fuzz: $(VENV)/.tested
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES)

docs: $(VENV)/.documented
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs/site . build/docs
	@echo "build/docs/docs/index.html"

wheel: $(VENV)/bin/python
	rm -rf build/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet build/wheel/parentage-*.whl
	cd build/wheel && venv/bin/python ../../examples/demo.py && venv/bin/parentage --version

bench: $(VENV)/.tested
	$(BIN)/python benchmarks/run.py

reproduce: $(VENV)/.installed
	$(BIN)/python reproduction/run.py $(if $(DATA),--data "$(DATA)") -o build/reproduction
	@echo "build/reproduction/index.html"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.tested: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	@touch $@ $(VENV)/.installed

$(VENV)/.documented: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
