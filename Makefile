# make score: the two-minute tour.  make test: the tests.  make check: linters, types, architecture.
# make verify: every check that needs ../shared; writes docs/quality.md.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check
EXTRAS := deepspeed,llm,report,train,test
SHARED ?= ../shared

.PHONY: score test check verify format clean

score: $(VENV)/.base
	$(VENV)/bin/ecqa score examples/transcripts --output out/examples

test: $(VENV)/.test
	$(VENV)/bin/python -m pytest

check: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -m pytest tests/arch

verify: $(VENV)/.test
	$(VENV)/bin/python benchmarks/verify.py --shared $(SHARED) --output docs/quality.md

format: $(VENV)/.test
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) out build dist *.egg-info
