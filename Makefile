# Everything a fresh machine needs comes from here: a virtual environment in .venv, nothing outside it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORPUS ?= fixtures/conformance

.PHONY: help demo test guest long-guest conformance bench lint types contracts check clean

help:
	@echo "make demo          plan the shipped pods on a shipped recording of a two-socket machine"
	@echo "make test          run the tests"
	@echo "make guest         boot machines with 2 and 8 NUMA nodes under QEMU and test in them (Debian, root)"
	@echo "make long-guest    the same for what takes minutes: changing control groups in every way that can go wrong"
	@echo "make conformance   run recorded kubelet answers (CORPUS=DIR for others)"
	@echo "make bench         measure against the kubelet's recorded figures"
	@echo "make check         linters, types, import contracts"

demo: $(VENV)/installed
	$(BIN)/cpuctl plan -m fixtures/machines/2s-2numa-32cpu.tar.xz \
	    --kubelet-config fixtures/kubelet/static.yaml -f fixtures/pods

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto -q

guest: $(VENV)/installed-dev
	tests/guest/install-packages
	$(BIN)/python -m pytest -m guest -q tests/guest

long-guest: $(VENV)/installed-dev
	tests/guest/install-packages
	$(BIN)/python -m pytest -m long_guest -q tests/guest

conformance: $(VENV)/installed-dev
	$(BIN)/python -m tests.conformance $(CORPUS)

bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

contracts: $(VENV)/installed-dev
	$(BIN)/lint-imports

check: lint types contracts

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
