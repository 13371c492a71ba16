# Every target makes and fills .venv by itself when pyproject.toml or the constraints have changed, and
# has the kernels compiled, so that the first start of a server does not wait for them.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || echo python3)
MODEL ?= smollm2-135m
ARGS ?=
FACTOR ?= 50

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
ROOMS := grammars engine server benchmarks
CHECKED := $(ROOMS) tests

# Without a CUDA device torch is held at one version; with one, pip takes the newest that fits.
CONSTRAINTS := $(if $(shell nvidia-smi -L 2>/dev/null),,--constraint requirements/constraints-cpu.txt)

# Each in an environment of its own, beside which the server runs in ours.
NODE_CLIENTS := tests/clients/node/node_modules/.installed
CLIENTS := .venv-clients/.installed .venv-clients-instructor/.installed \
	$(if $(shell command -v npm),$(NODE_CLIENTS))
CLIENT_TESTS := --config-file tests/clients/pytest.ini

# As many at once as there are processors, but each has torch in memory. A file is one process's: its
# tests share servers. In the order of the files, because those that come last are the quicker ones.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 8 ? n : 8)))
SPREAD := --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# Two threads that wait for each other are slower than one on the tests' small matrices.
TEST_ENV := OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help serve test coverage lint check bench fuzz hostile test-clients

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: $(INSTALLED) ## serve a model: make serve [MODEL=smollm2-135m] [ARGS="--port 8001"]
	$(BIN)/tightrope serve $(MODEL) $(ARGS)

test: $(INSTALLED) ## run all tests that this machine can run: make test [WORKERS=2] [ARGS="tests/server -x"]
	$(BIN)/python -m server.kernels
	$(TEST_ENV) $(BIN)/python -m pytest $(SPREAD) $(ARGS)

coverage: $(INSTALLED) ## run all tests, list the lines and branches that none of them reaches, fail below the floor
	$(BIN)/python -m server.kernels
	$(TEST_ENV) $(BIN)/python -m pytest $(SPREAD) --cov --cov-report=term-missing $(ARGS)

lint: $(INSTALLED) ## run ruff, mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict $(CHECKED)
	$(BIN)/lint-imports

check: lint test ## everything that CI runs

fuzz: $(INSTALLED) ## look for inputs that crash: make fuzz [FACTOR=50]
	$(TEST_ENV) FUZZ_FACTOR=$(FACTOR) $(BIN)/python -m pytest tests/fuzz --timeout 0 $(ARGS)

hostile: $(INSTALLED) ## attack a whole server, print which hostile cases were survived
	$(TEST_ENV) $(BIN)/python -m pytest -p tests.support.hostile_tally -m "" -k "not scripted" --timeout 1200 \
		tests/hostile tests/engine/test_isolation.py tests/engine/test_generation.py $(ARGS)

test-clients: $(INSTALLED) $(CLIENTS) ## run other people's clients, write docs/clients.md
	.venv-clients/bin/python -m pytest $(CLIENT_TESTS) tests/clients \
		--ignore tests/clients/test_instructor.py -rs $(ARGS)
	.venv-clients-instructor/bin/python -m pytest $(CLIENT_TESTS) tests/clients/test_instructor.py $(ARGS)

bench: $(INSTALLED) ## measure the token masks of all backends: make bench [ARGS="--quick"]
	$(BIN)/tightrope bench masks $(ARGS)

.venv-%/.installed: requirements/%.txt
	test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --requirement requirements/$*.txt
	touch $@

# npm has the clients for Node; where there is none, they are skipped.
$(NODE_CLIENTS): tests/clients/node/package.json
	npm install --prefix tests/clients/node --no-package-lock --no-audit --no-fund
	touch $@

# A string that is given to sys.exit is its message.
CHECK_PYTHON := import sys; sys.version_info >= (3, 11) or sys.exit( \
	f"Python 3.11 or newer is needed, not {sys.version.split()[0]}: make PYTHON=/path/to/python")

$(INSTALLED): pyproject.toml requirements/constraints-cpu.txt
	@$(PYTHON) -c '$(CHECK_PYTHON)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade pip
	$(BIN)/python -m pip install $(CONSTRAINTS) --editable '.[dev]'
	$(BIN)/python -m server.kernels
	touch $(INSTALLED)
