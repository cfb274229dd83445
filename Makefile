PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-all quick slow constraints format lint types tests tracing fresh bench bench-service bench-peers stress services release-check weights site clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "njc needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(BIN)/python pyproject.toml runtime/pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e ./runtime -e .
	@touch $@

$(VENV)/.live: $(BIN)/python pyproject.toml runtime/pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e './runtime[openai,anthropic]' -e .
	@touch $@

# .ci/constraints.txt has the versions that the gate uses (`make constraints` writes it). The pip of older Pythons takes twice as long as the newest, which is optional. compileall takes all cores, where pip
# takes one; it leaves out what is never imported, and adds this repository.
define install
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c .ci/constraints.txt -e ./runtime -e '$(1)' -e './$(2)'
	@$(BIN)/python -m compileall -qq -j 0 -x '/(tests|debugpy|mypyc?|pip)/' $(VENV)/lib njc runtime/njrt spsbench || true
endef

$(VENV)/.test: $(BIN)/python pyproject.toml runtime/pyproject.toml .ci/constraints.txt # what the quick tests need
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip || true
	$(call install,.[test],spsbench)
	@touch $@ $(VENV)/.base $(VENV)/.live

DEV := .[dev,test-libraries]

$(VENV)/.dev: $(VENV)/.test # and jax, pyright, libraries of users and the site's
	$(call install,$(DEV),spsbench[train])
	@touch $@

constraints: $(VENV)/.dev ## write the versions of the packages of development that are installed here
	$(BIN)/pip freeze --exclude-editable > .ci/constraints.txt

demo: $(VENV)/$(if $(LIVE),.live,.base) ## build the examples and run one on recorded replies (LIVE=1: on a model)
	@$(BIN)/njc build examples -o compiled_out/examples
	@LIVE=$(LIVE) $(BIN)/python examples/demo.py

test: format lint quick ## run the quick tests and the checks of style: a few minutes with the installation

test-slow: types slow tracing fresh ## run all other tests: processes, kills, databases, browsers, wheels

format: $(VENV)/.test ## check the formatting (ruff)
	$(BIN)/ruff format --check .

lint: $(VENV)/.test ## check the style (ruff)
	$(BIN)/ruff check .

types: $(VENV)/.dev ## check the types (mypy), those of the compiled files too (pyright)
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

tests: quick slow tracing ## run the tests (pytest)

quick: $(VENV)/.test
	$(BIN)/pytest -n 3 --dist worksteal -m 'not slow' --durations=10

# On two cores three processes are quicker than two, because many of these tests wait.
slow: $(VENV)/.dev
	$(BIN)/pytest -n 3 --dist worksteal -m slow --durations=30 --ignore-glob='*/tracing'

# Tests that trace code in their own process: Python 3.11 can crash on that in a process that has run many others.
tracing: $(VENV)/.dev
	find tests -path '*/tracing/test_*.py' | xargs -n 1 -P 3 $(BIN)/pytest

fresh: $(VENV)/.dev ## check that the committed compiled files and the report are up to date
	$(BIN)/njc build examples -o compiled_out/examples --check
	$(BIN)/njc build spsbench/programs -o compiled_out/spsbench --check
	cd spsbench/static && $(abspath $(BIN))/njc build --locked --check
	$(BIN)/python bench/static_checks.py --check
	$(BIN)/spsbench report spsbench/results/*.jsonl --out spsbench/results --check
	$(BIN)/spsbench repair-report spsbench/results/repair/repair-*.jsonl --out spsbench/results/repair/report.md --check

test-all: ## run the tests on every installed Python from 3.11 on (PATH and pyenv)
	@found= failed=; \
	for version in 3.11 3.12 3.13 3.14; do \
		for python in python$$version $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python; do \
			$$python -c '' 2>/dev/null || continue; \
			echo "== Python $$version: $$python"; \
			found="$$found $$version"; \
			$(MAKE) --no-print-directory tests fresh PYTHON=$$python VENV=$(VENV)-$$version \
				|| failed="$$failed $$version"; \
			break; \
		done; \
	done; \
	echo "== found:$${found:- none}; failed:$${failed:- none}"; \
	test -n "$$found" && test -z "$$failed"

bench: $(VENV)/.dev ## measure the figures that README and docs quote
	@for file in bench/*.py; do $(BIN)/python $$file || exit 1; done

bench-service: $(VENV)/.dev ## measure the service of examples/service under load, with faults and a restart
	$(BIN)/python bench/service_load.py

bench-peers: $(VENV)/.dev ## compare with nightjarpy and Nighthawk, each installed under build/peers (WRITE=1: write the page)
	$(BIN)/python bench/peers/measure_peers.py $(if $(WRITE),--write)

stress: $(VENV)/.dev ## run the tests of processes and threads as on a slow machine (FILES=..., TIMES=...)
	$(BIN)/python tests/stress.py $(FILES) --times $(or $(TIMES),1)

services: ## install Redis and Postgres, which tests of stores and of the service use (Debian's packages)
	@command -v redis-server valkey-server >/dev/null && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { \
		sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
		export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; \
		timeout 300 $$sudo apt-get update -q && \
		timeout 600 $$sudo apt-get install -y -q --no-install-recommends redis-server postgresql; \
	}

site: $(VENV)/.dev ## build the documentation into build/site; a broken link fails it
	$(BIN)/python docs/site/build_site.py

.PHONY: try
try: $(VENV)/.dev ## build the site with Python for the browser, which the page "Try it" runs (needs npm)
	$(BIN)/python docs/site/try_page.py
	$(BIN)/python docs/site/build_site.py

WEIGHTS_PROGRAMS := 50000
WEIGHTS_STEPS := 3000

weights: build/weights/data/card.md ## train the published network of spsbench/docs/prediction.md from its seed (three hours on one core); continues after a kill
	$(BIN)/spsbench train build/weights/data --size medium --steps $(WEIGHTS_STEPS) --out build/weights/medium
	mkdir -p build/release/weights && cp build/weights/medium/model.npz build/release/weights/medium.npz

build/weights/data/card.md: | $(VENV)/.dev
	$(BIN)/spsbench trajectories --seed 1 --programs $(WEIGHTS_PROGRAMS) --out build/weights/data

release-check: $(VENV)/.dev ## build the distributions and use them in bare environments (TEST=1: also make test)
	$(BIN)/python .ci/release_check.py

.PHONY: vscode
vscode: ## build the extension for VS Code, and test its grammar (needs Node.js)
	cd editors/vscode && npm ci --no-audit --no-fund && npm test && npm run package

clean: ## remove the virtual environments, caches and build folders
	rm -rf $(VENV) $(VENV)-3.* build dist .njc_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
