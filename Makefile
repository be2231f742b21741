# Everything a newcomer runs. Needs Python 3.11.4+ and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
TORCH := $(shell grep '^torch==' constraints.txt)

.PHONY: test lint types unit test-oldest dist docs demo bench-speed bench-quality bench-auto bench-overhead bench-images bench-recipes bench-boosting bench-frames examples fuzz clean

test: lint types unit

# Reinstalled only when what is installed would change. torch comes first and pinned, so that no dependency
# pulls in another build of it.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[test,docs]'
	touch $@

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy

unit: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2  # a thread a process: with more they would wait for each other

# The rooms that do not follow torch, with the oldest version of each package that pyproject.toml allows. What pytest
# reports of scikit-learn's own checks is not ours.
.venv-oldest/installed: pyproject.toml constraints.txt tests/floors.py
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet $(TORCH)
	$(PYTHON) tests/floors.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/pip install --quiet -c .venv-oldest/constraints.txt -e '.[all]' \
		hypothesis polars pytest pytest-timeout pytest-xdist xgboost-cpu
	touch $@

OLDEST := tests/cli tests/classifiers tests/frames tests/metrics tests/reporting tests/paper/theory \
	tests/paper/figures/test_catalogue.py tests/test_files.py tests/test_region.py tests/test_validation.py
test-oldest: .venv-oldest/installed
	OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n 2 $(OLDEST) -W ignore::pytest.PytestRemovedIn10Warning

# Wheel and sdist, the wheel made from the sdist; both checked, a smoke test inside the unpacked sdist; then the wheel
# without extras in an environment of its own.
dist: .venv/installed
	rm -rf dist .venv-dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/released.py dist
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install --quiet -c constraints.txt dist/*.whl
	.venv-dist/bin/python -W error tests/installed.py
	rm -rf .venv-dist

# The site, into build/docs, without a network: warnings are errors, the examples of the gallery are run, every link
# inside the site is followed. The code on the pages is run by tests/test_documents.py.
docs: .venv/installed
	rm -rf build/docs build/doctrees docs/api docs/auto_gallery docs/reference
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going --quiet -d build/doctrees -b html docs build/docs
	$(BIN)/python docs/_sphinx/check_site.py build/docs

# A story in a minute: a table, three models, a threshold, a report in demo/. Its environment has neither torch nor the
# tools for tests.
.venv-demo/installed: pyproject.toml constraints.txt
	@echo "Setting up .venv-demo, once: scikit-learn, LightGBM, pandas and matplotlib, about 150 MB to fetch. pip says what it does:"
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/pip install --disable-pip-version-check -c constraints.txt -e '.[cli,lightgbm]'
	touch $@

demo: .venv-demo/installed
	.venv-demo/bin/tpauc demo --out demo --overwrite

bench-overhead: .venv/installed
	$(BIN)/python benchmarks/overhead.py

bench-images: .venv/installed
	$(BIN)/python benchmarks/image_pipeline.py

# Needs DATA, a folder with the binary version of CIFAR-10; ARGS="--epochs 1" only shows that it runs.
bench-recipes: .venv/installed
	$(BIN)/python benchmarks/image_recipes.py --data-dir $(DATA) $(ARGS)

bench-boosting: .venv/installed
	$(BIN)/python benchmarks/boosting_round.py

# Writes 2 GB of made-up files; goes on where it was interrupted. ARGS=--quick ends within two minutes.
bench-frames: .venv/installed
	$(BIN)/python benchmarks/frames.py $(ARGS)

# Peers live in an environment of their own: measured against, never depended on. torch first and pinned, as above;
# the peers of losses without their dependencies, most of which nothing here imports; those of whole tables with them.
.venv-peers/installed: pyproject.toml constraints.txt benchmarks/peers.txt benchmarks/automl.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet $(TORCH)
	.venv-peers/bin/pip install --quiet -c constraints.txt -e '.[torch,cli,lightgbm]'
	.venv-peers/bin/pip install --quiet $(TORCH) -r benchmarks/automl.txt
	.venv-peers/bin/pip install --quiet --no-deps -r benchmarks/peers.txt
	touch $@

bench-speed: .venv-peers/installed
	.venv-peers/bin/python benchmarks/speed.py $(ARGS)

# Needs DATA, a folder of tables; ARGS=--quick ends within five minutes.
bench-quality: .venv-peers/installed
	.venv-peers/bin/python benchmarks/quality.py --data-dir $(DATA) $(ARGS)

# What a saved stack takes to load and to score rows.
bench-auto: .venv/installed
	$(BIN)/python benchmarks/auto_scoring.py $(ARGS)

# The examples with the real packages, in an environment of their own; torch first and pinned, as above.
.venv-examples/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-examples
	.venv-examples/bin/pip install --quiet $(TORCH)
	.venv-examples/bin/pip install --quiet -c constraints.txt lightning transformers accelerate
	.venv-examples/bin/pip install --quiet -c constraints.txt -e '.[torch]'
	touch $@

examples: .venv-examples/installed
	for name in plain_pytorch lightning_module huggingface_trainer; do \
		OMP_NUM_THREADS=1 .venv-examples/bin/python examples/$$name.py || exit 1; done

# Ten minutes of random files and calls, in an environment of its own; ARGS="--seconds 60 --only csv" is shorter.
.venv-fuzz/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/pip install --quiet $(TORCH)
	.venv-fuzz/bin/pip install --quiet -c constraints.txt -e '.[fuzz]'
	touch $@

fuzz: .venv-fuzz/installed
	OMP_NUM_THREADS=1 .venv-fuzz/bin/python tests/fuzz/run_fuzz.py $(ARGS)

clean:
	rm -rf docs/api docs/auto_gallery docs/reference
	rm -rf .venv .venv-demo .venv-dist .venv-examples .venv-fuzz .venv-oldest .venv-peers build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
