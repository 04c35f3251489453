# How to do everything. Each target sets itself up: a virtual environment in .venv, the
# tools that it needs, and the package compiled from the sources as they are now. A second
# call does only what has become necessary. Needs Python >= 3.11, a C compiler and make.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= auto
# Extra words for the command that a target runs, e.g. make test ARGS="-k walk -x"
ARGS ?=

RUN := $(VENV)/bin/python
# Python compiles a module when it is first imported; pip would compile them all, also those that
# nobody imports, which takes longer than installing them.
INSTALL := $(RUN) -m pip --disable-pip-version-check --quiet install --no-compile
# Where the environment forbids that, every process of the tests would compile all that it imports,
# and pytest rewrite all asserts, in each run again: that takes longer than most tests.
unexport PYTHONDONTWRITEBYTECODE
# For tools that start other tools by name: meson starts cython, cython-lint pycodestyle.
IN_VENV := PATH="$(abspath $(VENV))/bin:$$PATH"
BUILD := build/$(notdir $(VENV))

# Folders count too: their times change when a file comes or goes.
SOURCES := meson.build meson.options pyproject.toml README.md LICENSE \
	$(shell find src -not -path '*/__pycache__*')

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-hostile mutations lint docs figures bench bench-quick bench-growth bench-oc1 bench-etct bench-spectra bench-gram bench-tables bench-methods bench-numbers bench-missing bench-regression bench-defaults bench-exports bench-forests bench-reports bench-scale report-assets report-assets-check reproduce experiments reproduction sanitize clean bench-refined bench-duel
.DELETE_ON_ERROR:

LONGER = --jobs -1 --resume --out results/experiments

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.package $(VENV)/.group-cli $(VENV)/.group-plot ## compare methods, show a tree and draw it; needs no network
	@mkdir -p build
	@$(RUN) -m obliqua demo --picture build/demo.png $(ARGS)

test: $(VENV)/.package $(VENV)/.group-test ## run the tests
	@$(RUN) -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

mutations: $(VENV)/.package $(VENV)/.group-test ## which tests notice mistakes made on purpose; ARGS='--tests "tests -n 2"'
	@nice $(RUN) tests/mutate.py $(ARGS)

test-long: $(VENV)/.package $(VENV)/.group-test ## run all tests, property tests with all of their examples
	@OBLIQUA_FEWER_EXAMPLES=1 $(RUN) -m pytest -q -n $(WORKERS) --dist worksteal -m "" $(ARGS)

# What depends on the place: processes, files, the terminal. Here nothing is as one would like it:
# no variable but these, an ASCII terminal of odd width, Ctrl-C ignored and no stdin as in the
# background, a home that is no folder, a temporary folder with spaces, no data, far from UTC.
HOSTILE_TESTS ?= tests/test_conditions.py tests/test_repository.py tests/datasets tests/cli \
	tests/test_io.py tests/test_io_atomic.py tests/test_io_posix.py tests/select/test_workers.py
test-hostile: $(VENV)/.package $(VENV)/.group-test ## run the tests that depend on the place in a hostile one
	@folder=$$(mktemp -d "$${TMPDIR:-/tmp}/a temporary folder XXXXXX"); trap '' INT; \
	 env -i PATH="$$PATH" HOME=/dev/null TMPDIR="$$folder" TZ=Pacific/Kiritimati \
	 LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 TERM=dumb COLUMNS=37 FORCE_COLOR=1 \
	 OBLIQUA_ALL_TOOLS="$$OBLIQUA_ALL_TOOLS" $(RUN) -m pytest -q --color=no -n $(WORKERS) \
	 -k "not (advise or compare or demo or distil or sessions)" $(HOSTILE_TESTS) $(ARGS) <&-; \
	 status=$$?; rm -rf "$$folder"; exit $$status

lint: $(VENV)/.package $(VENV)/.group-lint ## check style and types
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m ruff format --check --quiet .
	@$(IN_VENV) cython-lint src
	@$(RUN) -m mypy --no-error-summary
	@echo "lint: clean"

docs: $(VENV)/.package $(VENV)/.group-docs ## build the documentation in build/docs/html
	@$(RUN) -m sphinx -n -W --keep-going -q -b html -d build/docs/doctrees docs build/docs/html
	@echo "docs: open build/docs/html/index.html"

# The report's page: TypeScript in web/, bundled into files that the package ships. Node is needed
# to change it, not to use it.
web/node_modules/.made: web/package.json web/package-lock.json
	@cd web && npm ci --silent --ignore-scripts
	@touch $@

report-assets: web/node_modules/.made ## bundle the sources in web/ into what the report's page is made of
	@cd web && npm run --silent build

report-assets-check: web/node_modules/.made ## check types and style in web/, and that the kept bundle is made of it
	@cd web && npm run --silent check
	@folder=$$(mktemp -d) && trap 'rm -r "$$folder"' EXIT && (cd web && npm run --silent build -- "$$folder") && \
	 diff -r "$$folder" src/obliqua/pages/assets && echo "report-assets: up to date"

figures: $(VENV)/.package $(VENV)/.group-plot ## draw the figures of the documentation again
	@for script in docs/figures/*.py; do $(RUN) $$script || exit 1; done

bench: $(VENV)/.package $(VENV)/.peers-bench ## measure against other libraries, write the README's table
	@$(RUN) -m benchmarks.run $(ARGS)
	@$(RUN) -m benchmarks.report

bench-quick: $(VENV)/.package $(VENV)/.group-test ## the same on small data, to see that it runs
	@$(RUN) -m benchmarks.run --quick $(ARGS)
	@$(RUN) -m benchmarks.growth --quick
	@$(RUN) -m benchmarks.discriminants --quick
	@$(RUN) -m benchmarks.linear_programs --quick
	@$(RUN) -m benchmarks.wide --quick
	@$(RUN) -m benchmarks.sparse --quick
	@$(RUN) -m benchmarks.oc1 --quick
	@$(RUN) -m benchmarks.eigen_tree --quick
	@$(RUN) -m benchmarks.spectra --quick
	@$(RUN) -m benchmarks.forest_gram --quick
	@$(RUN) -m benchmarks.tables --quick
	@$(RUN) -m benchmarks.refined --quick
	@$(RUN) -m benchmarks.small_trees --quick
	@$(RUN) -m benchmarks.duel --quick
	@$(RUN) -m benchmarks.numbers --quick
	@$(RUN) -m benchmarks.missing --quick
	@$(RUN) -m benchmarks.regression --quick
	@$(RUN) -m benchmarks.defaults --quick
	@$(RUN) -m benchmarks.forests --quick
	@$(RUN) -m benchmarks.scale --quick
	@$(RUN) -m benchmarks.exports_c --random 2000 --near 500 --only differences
	@$(RUN) -m benchmarks.exports_javascript --quick --no-speed
	@$(RUN) -m benchmarks.exports_onnx --quick
	@$(RUN) -m benchmarks.exports_sql --rows 500 --near 100
	@$(RUN) -m benchmarks.reports --quick

reproduce: $(VENV)/.package $(VENV)/.group-cli ## make the papers' tables again, or ARGS="hhcart-table-2 --repeats 1"
	@$(RUN) -m obliqua reproduce $(if $(ARGS),$(ARGS),all claims --jobs -1 --resume)

experiments: $(VENV)/.package $(VENV)/.group-cli ## longer runs that the page on the papers names, into results/experiments
	@$(RUN) -m obliqua reproduce hhcart-table-7 --sets Income --methods A,A+squares,A+units,A+units+squares --repeats 100 $(LONGER)
	@$(RUN) -m obliqua reproduce 2c-etct-table-2 --sets d11 --methods 2C-ETCT --repeats 100 $(LONGER)

reproduction: $(VENV)/.package ## write docs/reproduction.md and docs/claims.md; ARGS="--keep results" takes new logs first
	@$(RUN) -m reproduction.page $(ARGS)
	@$(RUN) -m reproduction.claims.page

bench-growth: $(VENV)/.package ## how HHCART's time grows with rows, features and classes
	@$(RUN) -m benchmarks.growth $(ARGS)

bench-oc1: $(VENV)/.package ## OC1's time beside the original program's, and how it grows
	@$(RUN) -m benchmarks.oc1 $(ARGS)

bench-etct: $(VENV)/.package ## how the time of 2C-ETCT grows with rows and features
	@$(RUN) -m benchmarks.eigen_tree $(ARGS)

bench-spectra: $(VENV)/.package ## spectra of trees: errors, and time as trees, depth and levels grow
	@$(RUN) -m benchmarks.spectra $(ARGS)

bench-gram: $(VENV)/.package ## time, memory and error of the inner products of a forest's trees
	@$(RUN) -m benchmarks.forest_gram $(ARGS)

bench-tables: $(VENV)/.package $(VENV)/.group-test ## qualitative columns against one-hot columns
	@$(RUN) -m benchmarks.tables $(ARGS)

bench-methods: $(VENV)/.package $(VENV)/.group-test ## fit times of FDT, QUEST and C4.5
	@$(RUN) -m benchmarks.methods $(ARGS)

bench-numbers: $(VENV)/.package ## regression trees beside scikit-learn's: time and memory
	@$(RUN) -m benchmarks.numbers $(ARGS)

bench-missing: $(VENV)/.package $(VENV)/.group-test ## what trees make of missing values, beside scikit-learn's
	@$(RUN) -m benchmarks.missing $(ARGS)

bench-regression: $(VENV)/.package $(VENV)/.peers-bench ## regression trees on sixteen tables, beside others and published figures
	@$(RUN) -m benchmarks.regression $(ARGS)

bench-defaults: $(VENV)/.package $(VENV)/.group-test ## which tree is the default, and how far a seed decides
	@$(RUN) -m benchmarks.defaults $(ARGS)

bench-exports: $(VENV)/.package $(VENV)/.group-test ## leaves and speed of exported models: C, JavaScript, ONNX, SQL
	@$(RUN) -m benchmarks.exports_c
	@$(RUN) -m benchmarks.exports_javascript
	@$(RUN) -m benchmarks.exports_onnx
	@$(RUN) -m benchmarks.exports_sql
	@$(RUN) -m benchmarks.exports_sql --speed

bench-reports: $(VENV)/.package $(VENV)/.group-test ## the report's page: bytes, and seconds until it is seen
	@$(RUN) -m benchmarks.reports $(ARGS)

bench-forests: $(VENV)/.package $(VENV)/.group-test $(VENV)/.peers-bench ## oblique forests beside other libraries: accuracy, time, memory
	@$(RUN) -m benchmarks.forests $(ARGS)

bench-scale: $(VENV)/.package $(VENV)/.group-test ## trees from tables that do not fit in memory: files and Dask
	@$(RUN) -m benchmarks.scale $(ARGS)

bench-refined: $(VENV)/.package $(VENV)/.group-test $(VENV)/.peers-bench ## refined trees beside greedy ones of equal size
	@$(RUN) -m benchmarks.refined $(ARGS)

bench-duel: $(VENV)/.package $(VENV)/.group-test $(VENV)/.peers-bench $(VENV)/.peers-duel ## trees of equal size from all libraries that can be had; ARGS="--only obliqua --keep"
	@$(RUN) -m benchmarks.duel $(ARGS)

# The address and undefined-behaviour sanitizers in an environment of their own. Python
# itself is not built with them, so their libraries are loaded before it; leaks are not
# looked for, because the interpreter frees little at its end. Undefined behaviour is fatal.
# A sanitizer writes its report below Python: --capture=sys lets it through. Of the kernels'
# tests those run that call most of the compiled code in little time, with few examples; make
# sanitize FEWER=1 SANITIZE_TESTS="tests/core tests/properties" takes its time.
FEWER ?= 16
SANITIZE_TESTS ?= tests/core tests/properties/test_odd_columns.py tests/properties/test_oc1.py \
	tests/properties/test_overlaps.py tests/properties/test_numbers.py tests/properties/test_row_sources.py \
	tests/properties/test_forest.py \
	tests/test_tree.py tests/test_spread.py
sanitize: ## run the compiled room's tests with sanitizers (gcc)
	@$(MAKE) --no-print-directory VENV=.venv-sanitize sanitized

# Little is optimised, and the debugger learns lines only: sanitizers make the compiler slow.
SANITIZE_FLAGS = -Csetup-args=-Dbuildtype=debug -Csetup-args=-Doptimization=1 \
	-Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
	-Csetup-args=-Ddebug_checks=true \
	"-Csetup-args=-Dc_args=-g1 -fno-sanitize-recover=all -fno-omit-frame-pointer -fsanitize=float-cast-overflow"

.PHONY: sanitized
sanitized: INSTALL_FLAGS = $(SANITIZE_FLAGS)
sanitized: $(VENV)/.package $(VENV)/.group-test
	@LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	 ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	 OBLIQUA_FEWER_EXAMPLES=$(FEWER) \
	 $(RUN) -m pytest -q -n $(WORKERS) --dist worksteal --capture=sys $(SANITIZE_TESTS) $(ARGS)

clean: ## remove everything that make made
	rm -rf .venv .venv-sanitize build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

# --- setting up -------------------------------------------------------------------------

# pip learnt to read dependency groups in 25.1; the one that comes with Python may be older.
$(VENV)/.made:
	@echo "making $(VENV); setting up takes a minute or two the first time"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	 { echo "obliqua needs Python 3.11 or newer; say which with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.group-%: pyproject.toml $(VENV)/.made
	@echo "installing what '$*' needs"
	@$(INSTALL) --group $*
	@touch $@

# The libraries to compare with have no wheels for some platforms. Each is tried alone, and
# one that cannot be had is left out of the benchmark.
$(VENV)/.peers-%: pyproject.toml $(VENV)/.made
	@for peer in $$($(RUN) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["$*"])'); do \
	  $(INSTALL) "$$peer" || echo "bench: $$peer cannot be installed here and is left out"; done
	@touch $@

# A plain install, not an editable one: the tests see what a user would get. The build
# folder is kept, so only what changed is compiled again.
$(VENV)/.package: $(SOURCES) $(VENV)/.made $(VENV)/.group-build
	@echo "compiling obliqua; this takes about a minute the first time"
	@mkdir -p build
	@$(IN_VENV) $(INSTALL) --no-build-isolation -Cbuild-dir=$(BUILD) $(INSTALL_FLAGS) .
	@touch $@
