# `make` prints what there is to do. Nothing but Python 3.11 or newer, its venv module and make is needed.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check fix laws oldest docs bench clean

# compiled bytecode makes every start two to four times as quick
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# what decides whether an environment is still good: the declared packages and the compiled kernels
KERNELS := $(sort $(wildcard src/suffice/maths/kernels/*.c src/suffice/maths/kernels/*.h))
STATE := $(firstword $(shell cat pyproject.toml $(KERNELS) | cksum))
READY = $(VENV)/.ready-$(1)-$(STATE)
# two workers share two cores: one thread of linear algebra each
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

help:  ## print this page
	@echo "suffice: learn models from what data owners are willing to release"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

demo: $(call READY,demo)  ## an owner releases, a learner elsewhere trains: the whole line in a minute
	@$(BIN)/python demo/run.py

test: $(call READY,test) lint  ## everything that .ci/run checks: style, types, rooms, tests
	$(PYTEST) --durations=10

check: $(call READY,test) lint  ## style, types and rooms only (seconds)

.PHONY: lint
lint: $(call READY,test)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: $(call READY,test)  ## format, and mend what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

laws: $(call READY,laws)  ## the laws at their full figures (minutes to an hour); goes on where it stopped
	$(PYTEST) -m laws --hypothesis-profile=laws --durations=10 --gates docs/trust/gates.json $(LAWS)
	$(BIN)/python docs/trust/report_page.py

oldest: $(call READY,test)  ## the tests with the oldest versions that pyproject.toml admits (needs uv)
	test -x .venv-oldest/bin/python || $(BIN)/python -m venv .venv-oldest
	$(BIN)/uv pip install -q --compile-bytecode --resolution lowest-direct --python .venv-oldest/bin/python -e ".[test]"
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n 2 --ignore tests/style

docs: $(call READY,docs)  ## the pages, as HTML in docs/_build
	$(BIN)/python docs/reference/cli_page.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo "docs/_build/index.html"

bench: $(call READY,test)  ## every benchmark at its smallest; benchmarks/README.md has the real runs
	@set -e; for script in $(sort $(wildcard benchmarks/*/*.py)); do \
	  echo "$$script --smoke"; $(BIN)/python "$$script" --smoke; \
	done

clean:  ## remove what was built here, the environment included
	rm -rf $(VENV) .venv-oldest build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks demo -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# extras of pyproject.toml that each kind of work wants
WANTED_demo := duckdb,plot
WANTED_test := test,dev
WANTED_laws := test,dev,laws
WANTED_docs := docs
$(call READY,%):
	@sh .ci/setup $(VENV) $(WANTED_$*)
	@rm -f $(VENV)/.ready-$*-*
	@touch $@
