# Everything a developer does is one command here. Needs Python 3.11 or newer, and make; PYTHON=python3.12 picks another.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
LOCK := UV_SYSTEM_CERTS=1 $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url
CODE := src tests benchmarks examples
SCHEDULES ?= 100000
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

unexport PYTHONDONTWRITEBYTECODE  # the tests start thousands of processes: compile what they import once

.DEFAULT_GOAL := help
.PHONY: help browser demo test test-filesystems lint format simulate bench bench-small docs docs-check lock clean

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r name what; do \
	    printf '%-20s %s\n' "$$name" "$$what"; done

demo: $(VENV)/run ## set up, then watch 300 tasks survive a kill and a stop
	$(BIN)/dibs demo

test: $(VENV)/dev browser ## set up, then run all tests, the simulation too
	$(BIN)/python -m pytest -n auto --dist worksteal

browser: # for the tests of the dashboard: the system's own, put in where we may
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	    { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || true

test-filesystems: $(VENV)/dev ## as root: the doctor and queues on real file systems, mounted for it (all of it with DIBS_LONG=1)
	DIBS_FILESYSTEMS=1 $(BIN)/python -m pytest -n auto --dist worksteal tests/filesystems

lint: $(VENV)/dev ## style, types, and which way imports point
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports
	@if command -v shellcheck >/dev/null; then shellcheck examples/worker.sh .ci/run; \
	    else echo "shellcheck is not installed: the shell scripts are not checked"; fi

format: $(VENV)/dev ## put the code into its format
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

simulate: $(VENV)/dev ## run many more schedules of the simulation (SCHEDULES=100000 for each backend and the index)
	$(BIN)/python -m tests.simulation --schedules $(SCHEDULES) --jobs $(JOBS)
	$(BIN)/python -m tests.index --schedules $(SCHEDULES) --jobs $(JOBS)

bench: $(VENV)/bench ## all benchmarks at full size, into docs/benchmarks.md (long)
	$(BIN)/python -m benchmarks --size full --doc docs/benchmarks.md

bench-small: $(VENV)/bench ## every benchmark once, small: shows that they run
	$(BIN)/python -m benchmarks --size small

docs: $(VENV)/dev ## make the generated pages again, then check all pages
	$(BIN)/python -m dibs.cli.reference > docs/cli.md
	$(BIN)/python -m pytest -n auto tests/docs

docs-check: $(VENV)/dev ## check that the pages are up to date and that what they show works
	$(BIN)/python -m dibs.cli.reference | diff -u docs/cli.md -
	$(BIN)/python -m pytest -n auto tests/docs

lock: $(VENV)/dev ## choose the newest versions of what development needs, into requirements/
	$(PIP) uv
	$(LOCK) --upgrade --group dev --output-file requirements/dev.txt pyproject.toml
	for group in run bench; do $(LOCK) --upgrade --group $$group --constraint requirements/dev.txt \
	    --output-file requirements/$$group.txt pyproject.toml || exit; done

clean: ## remove what was made here
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/run: requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "dibs needs Python 3.11 or newer, $(PYTHON) is older or missing; try make PYTHON=python3.12 …" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/run.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev: requirements/dev.txt $(VENV)/run
	$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/bench: requirements/bench.txt $(VENV)/dev
	$(PIP) --require-hashes -r requirements/bench.txt
	@touch $@
