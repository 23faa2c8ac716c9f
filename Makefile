# Everything a fresh machine needs comes from here: a virtual environment in .venv, nothing outside it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORPUS ?= fixtures/conformance
GUEST  ?= tests/guest
RELEASES ?= 3.11 3.12 3.13 3.14
MODULES ?= cpuctl/checkpoints/*

# What is compiled is kept: tests start cpuctl a thousand times, and are rewritten when they are first read.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test recordings guest session shells tools dask grpc browser docs conformance bench explore fuzz mutation zipapp onefile dist packaging oldest pythons lint types contracts check clean

help:
	@echo "make demo          plan the example pods on a recorded two-socket machine"
	@echo "make test          run the tests"
	@echo "make recordings    run the tests that only use a sample of recorded answers on all of them"
	@echo "make guest         run tests in QEMU guests with 2 and 8 NUMA nodes (Debian, root; GUEST=FILES for some)"
	@echo "make session       run top, watch and report in such a guest under load for 16 minutes, and compare them with its kernel (OUT=DIR)"
	@echo "make grpc          test the gRPC client against the reference implementation"
	@echo "make dask          read a fleet with Dask workers, and kill one of them"
	@echo "make browser       test pictures and pages in a headless browser (Debian, root)"
	@echo "make shells        test completions in bash, zsh and fish, and the manual pages (Debian, root)"
	@echo "make tools         test with lstopo, lscpu and others (Debian, root)"
	@echo "make docs          generate reference, manual pages, completions and outputs in docs"
	@echo "make conformance   compare with all recorded kubelet answers (CORPUS=DIR for others, ORDER=--shuffle, PYTHON_FLAGS='-O -bb')"
	@echo "make bench         compare the speed with the kubelet's recorded figures"
	@echo "make explore       run the property tests on many new examples (TESTS='tests/property' for some; half an hour)"
	@echo "make fuzz          fuzz parsers and the engine (ten minutes each; TARGETS='cpuset lockstep' for some)"
	@echo "make mutation      find code that no test covers, by changing it (MODULES='cpuctl/engine/cpu/*' for others; minutes to hours)"
	@echo "make zipapp        build one file for nodes without pip or network: dist/cpuctl.pyz"
	@echo "make onefile       build one file that contains Python, for machines like this one: dist/cpuctl-PROCESSOR"
	@echo "make dist          build wheel and sdist"
	@echo "make packaging     build, install and run all packages, with every Python on this machine (Debian, root)"
	@echo "make oldest        run the tests with the oldest dependencies (TESTS='tests/cli tests/pods' for some)"
	@echo "make pythons       run the tests with every Python on this machine (RELEASES=3.12 for one) and the newest dependencies"
	@echo "make check         linters, types, import contracts"

demo: $(VENV)/installed
	$(BIN)/cpuctl plan -m fixtures/machines/2s-2numa-32cpu.tar.xz \
	    --kubelet-config fixtures/kubelet/static.yaml -f fixtures/pods

# Some tests wait for processes and clocks: one worker more than CPUs uses that time.
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $$(($$(nproc) + 1)) --dist worksteal -q

recordings: $(VENV)/installed-dev
	RECORDINGS=all $(BIN)/python -m pytest -n auto -q \
	    tests/conformance/test_explain.py tests/conformance/test_resize_kep.py tests/conformance/test_verify.py

guest: $(VENV)/installed-dev
	tests/guest/install-packages
	$(BIN)/python -m pytest -n auto -m guest -q $(GUEST)

session: $(VENV)/installed-dev
	tests/guest/install-packages
	$(BIN)/python -m tests.guest.live_session $(or $(OUT),live-session)

grpc: $(VENV)/installed-dev
	$(BIN)/python -m pip install -q -e '.[grpc]'
	$(BIN)/python -m pytest -m grpc -q tests/machine/pod_resources

dask: $(VENV)/installed-dev
	$(BIN)/python -m pip install -q -e '.[fleet]'
	$(BIN)/python -m pytest -m dask -q tests/fleet

browser: $(VENV)/installed-dev
	tests/browser/install-packages
	$(BIN)/python -m pytest -m browser -q tests/browser

shells: $(VENV)/installed-dev
	tests/shells/install-packages
	$(BIN)/python -m pytest -n auto -m shells -q tests/shells

tools: $(VENV)/installed-dev
	tests/tools/install-packages
	$(BIN)/python -m pytest -n auto -m tools -q tests/tools tests/machines

docs: $(VENV)/installed-dev
	$(BIN)/python -m docs.generate

conformance: $(VENV)/installed-dev
	$(BIN)/python $(PYTHON_FLAGS) -m tests.conformance $(CORPUS) $(ORDER)

bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks

explore: $(VENV)/installed-dev
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -n auto -q $(or $(TESTS),tests/property)

fuzz: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz $(TARGETS)

mutation: $(VENV)/installed-dev
	$(BIN)/python -m tests.mutation $(foreach pattern,$(MODULES),'$(pattern)')

zipapp: $(VENV)/installed
	$(BIN)/python contrib/zipapp/build.py dist/cpuctl.pyz $$(contrib/pythons | sed 's/^[^ ]*/--python/')

onefile: $(VENV)/installed
	$(BIN)/python contrib/onefile/build.py dist

dist: $(VENV)/installed-dev
	$(BIN)/python -m build --outdir dist .

packaging: $(VENV)/installed-dev
	tests/packaging/install-packages
	$(BIN)/python -m pytest -m packaging -q tests/packaging

oldest:
	tests/packaging/test-with oldest "$$(contrib/pythons 2>/dev/null | sed -n '1s/^[^ ]* //p')" \
	    constraints/oldest.txt $(TESTS)

pythons:
	contrib/pythons | while read -r release python; do \
	    case " $(RELEASES) " in *" $$release "*) ;; *) continue ;; esac; \
	    tests/packaging/test-with "$$release" "$$python" - $(TESTS) </dev/null || exit; \
	done

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
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .mutation
