PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint types quick slow tracing fresh bench bench-peers evidence release-check site

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

# .ci/constraints.txt has the versions that the gate uses (`pip freeze --exclude-editable` writes it). The pip of older Pythons takes twice as long as the newest, which is optional. compileall takes all cores, where pip
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

demo: $(VENV)/$(if $(LIVE),.live,.base) ## build the examples and run one on recorded replies (LIVE=1: on a model)
	@$(BIN)/njc build examples -o compiled_out/examples
	@LIVE=$(LIVE) $(BIN)/python examples/demo.py

test: lint quick ## run the quick tests and the checks of style: a few minutes with the installation

test-slow: slow types tracing fresh ## run all other tests: processes, kills, databases, browsers, wheels

lint: $(VENV)/.test ## check the format and the style (ruff)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev ## check the types (mypy), those of the compiled files too (pyright)
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

quick: $(VENV)/.test ## run the quick tests alone
	$(BIN)/pytest -n 3 --dist worksteal -m 'not slow' --durations=10

# On two cores three processes are quicker than two, because many of these tests wait.
slow: $(VENV)/.dev ## run the slow tests alone, without those that trace
	$(BIN)/pytest -n 3 --dist worksteal -m slow --durations=30 --ignore-glob='*/tracing'

# They trace code in their own process. Python 3.11 can crash on that in a process that has run many others.
tracing: $(VENV)/.dev ## run the slow tests that trace, each file in a process
	find tests -path '*/tracing/test_*.py' | xargs -n 1 -P 2 $(BIN)/pytest

fresh: $(VENV)/.dev ## check that the committed compiled files and the report are up to date
	$(BIN)/njc build examples -o compiled_out/examples --check
	$(BIN)/njc build spsbench/programs -o compiled_out/spsbench --check
	cd spsbench/static && $(abspath $(BIN))/njc build --locked --check
	$(BIN)/python bench/static_checks.py --check
	$(BIN)/spsbench report spsbench/results/*.jsonl --out spsbench/results/report.md --check
	$(BIN)/spsbench repair-report spsbench/results/repair/repair-*.jsonl --out spsbench/results/repair/report.md --check

evidence: $(VENV)/.dev ## print the figures of the pages from the committed results
	$(BIN)/spsbench report spsbench/results/*.jsonl
	for file in spsbench/results/repeats/*.jsonl spsbench/results/writer/*.jsonl; do $(BIN)/spsbench report $$file || exit 1; done
	$(BIN)/spsbench repair-report spsbench/results/repair/repair-*.jsonl
	$(BIN)/pytest -q tests/spsbench/test_documented_results.py tests/spsbench/slow/tracing/test_neural_page.py

bench: $(VENV)/.dev ## measure the figures that README and docs quote
	@for file in bench/*.py; do $(BIN)/python $$file || exit 1; done

bench-peers: $(VENV)/.dev ## compare with nightjarpy and Nighthawk, each installed under build/peers (WRITE=1: write the page)
	$(BIN)/python bench/peers/measure_peers.py $(if $(WRITE),--write)

site: $(VENV)/.dev ## build the documentation into build/site; a broken link fails it
	$(BIN)/python docs/site/build_site.py

release-check: $(VENV)/.dev ## build the distributions and use them in bare environments (TEST=1: also make test)
	$(BIN)/python .ci/release_check.py
