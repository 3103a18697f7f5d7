# Every target sets itself up: Python 3.11 or later, git and make are all it takes.
# The environment is rebuilt when pyproject.toml changes, and left alone otherwise.

.PHONY: help demo test slow lowest lint types bench studies gallery picture docs clean
.DEFAULT_GOAL := help

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3.14 python3,\
            $(shell command -v $(name) 2>/dev/null)))
RUN := .venv/bin/python
LOWEST := .venv-lowest/bin/python

help:
	@echo "make demo    from a CSV to a report, on bundled data"
	@echo "make test    the fast tests"
	@echo "make slow    all tests, the slow statistical ones too"
	@echo "make lowest  the fast tests on the lowest declared dependencies (wants Python 3.11)"
	@echo "make lint    ruff: rules and format"
	@echo "make types   mypy, strict, over src"
	@echo "make bench   benchmarks: table, figure, and what README.md shows of them"
	@echo "make studies the paper's experiments: results and pages in docs/studies"
	@echo "make gallery every figure, beside the three lines that make it, in docs/gallery"
	@echo "make picture the front page's picture, docs/images/boundaries.png"
	@echo "make docs    the documentation site, its code executed, in docs/_build/html"
	@echo "make clean   remove the environments and caches"

demo: .venv/ready
	$(RUN) -m tailoredbayes demo --out build/demo

test: .venv/ready
	$(RUN) -m pytest -n auto

slow: .venv/ready
	$(RUN) -m pytest -n auto -m ""

lowest: .venv-lowest/ready
	$(LOWEST) -m pytest -n auto

lint: .venv/ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: .venv/ready
	$(RUN) -m mypy

bench: .venv/ready
	$(RUN) benchmarks/run.py
	$(RUN) benchmarks/readme.py

studies: .venv/ready
	$(RUN) -m tailoredbayes study run all --out docs/studies

gallery: .venv/ready
	$(RUN) examples/gallery.py

picture: .venv/ready
	$(RUN) examples/boundaries.py

docs: .venv/docs-ready
	$(RUN) -m sphinx -b html -W --keep-going -n -q -j auto docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf docs/_build .venv .venv-lowest .mypy_cache .pytest_cache .ruff_cache .hypothesis dist

.venv/ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "tailoredbayes needs Python 3.11 or later: none was found. Install it, or say make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c "import sys; v = sys.version_info; sys.exit(v < (3, 11) and 'tailoredbayes needs Python 3.11 or later, $(PYTHON) is %d.%d: say make PYTHON=/path/to/python' % v[:2])"
	test -x .venv/bin/pip || $(PYTHON) -m venv --clear .venv
	$(RUN) -m pip install --quiet --upgrade "pip>=25.1"
	$(RUN) -m pip install --quiet --editable ".[bart,dask,parquet]" --group dev
	@touch $@

.venv/docs-ready: .venv/ready
	$(RUN) -m pip install --quiet --group docs
	@touch $@

# Lower bounds are tried where they were declared: wheels only, on the oldest Python.
.venv-lowest/ready: pyproject.toml .venv/ready
	@$(RUN) -c "import sys; v = sys.version_info; sys.exit(v[:2] != (3, 11) and 'make lowest wants Python 3.11, .venv has %d.%d: say make clean; make lowest PYTHON=/path/to/python3.11' % v[:2])"
	$(RUN) -m uv venv --quiet --clear --seed --python $(RUN) .venv-lowest
	$(RUN) -m uv pip install --quiet --python $(LOWEST) --resolution lowest-direct \
	  --only-binary :all: --no-binary tailoredbayes --editable ".[bart,dask,parquet]" --group test
	@touch $@
