# The two commands: `make book` and `make test`. Everything runs in .venv, which is made on first use.
PYTHON ?= python3
TORCH  ?= torch==2.13.0
UV     ?= uv==0.13.9
JOBS   ?= 2
TURNS  ?= 10
VENV   := .venv
STAMP  := $(VENV)/.stamp
# `make test-gpu PY=python3` uses an interpreter that already has everything, and leaves .venv alone.
PY     ?= $(VENV)/bin/python
ENV    := $(if $(filter $(VENV)/bin/python,$(PY)),$(STAMP))
PIP    := $(VENV)/bin/python -m pip install --quiet --no-compile
PYTEST := $(PY) -m pytest

# Many processes import the same modules: compiled by the first of them, not by each.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv bundles book zip pdf serve lab test test-all check lint fast-tests outputs test-gpu recordings bench grader classroom lock clean
.DELETE_ON_ERROR:

help:
	@echo "make book        build the book (makes .venv, re-runs changed chapters)    make serve   serve it on localhost"
	@echo "make lab         the chapters in JupyterLab, in plain Markdown, in lab/: run them, do the exercises"
	@echo "make test        unit, properties, parity, notebooks, browser tests        make check   lint, types, fast tests"
	@echo "make test-all    those, and the long ones that guard what seldom changes"
	@echo "make outputs     re-run changed chapters      make test-gpu   try everything on the GPU"
	@echo "make recordings  make the recorded results    make bench      measurements against other libraries"
	@echo "make grader      the environment that grades problem sets (otter-grader)"
	@echo "make classroom   problem sets for a new term, and their grading of submissions whose points are known"
	@echo "make zip         the book as a zip, to read without a network              make pdf     the book as one PDF"
	@echo "make lock        resolve requirements.in      make clean      remove what was built (and .venv)"

venv: $(STAMP)

# torch first: with the CPU build already there, nothing pulls in the CUDA packages. Not compiled: most is never imported.
# uv takes a tenth of pip's time for all else; where it cannot be had, pip does it.
$(STAMP): requirements.txt pyproject.toml
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH)
	{ $(PIP) $(UV) && $(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python -r requirements.txt; } || \
		$(PIP) -r requirements.txt
	@touch $@

# What a page loads of each figure: joined by esbuild when a source has changed. `pip install` does it, too.
bundles: $(ENV)
	@$(PY) tools/javascript.py bundle

outputs: bundles
	$(PY) tools/run_notebooks.py --jobs $(JOBS)
	$(PY) tools/take_stills.py

book: outputs
	$(PY) tools/build_book.py

# The same pages make the same bytes; open index.html in the unpacked folder.
zip: book
	$(PY) tools/release.py --zip

# The whole book on paper, as one file in build/.
pdf: book
	$(PY) tools/print_book.py

# Written once: what a reader does there is the reader's.
lab: $(ENV)
	@test -d lab || $(PY) tools/plain_chapters.py lab
	$(PY) -m jupyterlab lab/notebooks

serve: book
	@echo "The book is at http://localhost:8000/ (Ctrl-C stops it)"
	$(PY) -m http.server --bind 127.0.0.1 --directory _build/html 8000

# Every chapter and tests/ share the processes, the long ones first (tests/conftest.py), so that none waits at the end.
# One thread each: what runs side by side would wait for each other's.
# The chapters, parity, properties and all that is short; of the long tests, and of tables of alike cases, those whose
# turn it is.
test: WHICH := -m "not weekly" --turns $(TURNS) --whole parity properties
test-all: WHICH := --cov=transformer_edu --cov-report=term
test test-all: book
	OMP_NUM_THREADS=1 $(PYTEST) tests notebooks --nbval --nbval-current-env --continue-on-collection-errors -n $(JOBS) \
		--dist loadfile --no-loadscope-reorder $(WHICH)

# Side by side, so that no core waits while another loads the package or looks at types.
check: bundles
	@$(MAKE) --no-print-directory -j$(JOBS) lint fast-tests

lint: bundles
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) tools/javascript.py check
	$(PY) -m mypy
	$(PY) tools/run_notebooks.py --check
	$(PY) tools/take_stills.py --check

# One process: a second one costs as much to begin as it saves. Lines and types are looked at on the other core.
fast-tests: bundles
	JAXTYPING_DISABLE=1 OMP_NUM_THREADS=1 $(PYTEST) tests/[!b]* -p no:nbval -q --turns 36 \
		-m "not long and not slow and not weekly and not browser and not book"

# On whatever accelerator is here: tests, every chapter with its assertions on, benchmarks; build/device-report.json.
test-gpu: bundles
	$(PY) tools/device_report.py

recordings: bundles
	$(PY) tools/make_recordings.py

bench: bundles
	@for script in benchmarks/*.py; do echo "== $$script"; $(PY) $$script || exit 1; done

# otter-grader needs other versions of some packages: it has an environment of its own, which sees the rest of .venv.
CLASSROOM := build/classroom-venv
$(CLASSROOM)/.stamp: $(STAMP) assignments/requirements.txt
	test -x $(CLASSROOM)/bin/python || $(VENV)/bin/python -m venv $(CLASSROOM)
	$(CLASSROOM)/bin/python -m pip install --quiet --no-compile -r assignments/requirements.txt
	$(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> $$($(CLASSROOM)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth
	@touch $@

grader: $(CLASSROOM)/.stamp

classroom: $(CLASSROOM)/.stamp
	OMP_NUM_THREADS=1 PYTHONPATH=. $(CLASSROOM)/bin/python tools/classroom.py

lock: $(ENV)
	$(PY) tools/lock.py

clean:
	rm -rf _build $(VENV) build node_modules transformer_edu/book/bundles *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
