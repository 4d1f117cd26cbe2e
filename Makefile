# make bench   everything bundled, with the default embedded model, on 2 workers
# make check   lint, types and the tests that take milliseconds: the loop of daily work
# make test    all of the project's own tests
# make faults  the long forms of the fault tests: kills at random moments, slow and broken endpoints, full disks, damaged documents
# make coverage  which lines of the core, of runs and of the pytest side their own tests reach; at least 90 %
# make lint    ruff, mypy, the layers of the packages, dead code
# make agents  agents of two frameworks, each in an environment of its own, solve bundled tasks by MCP
# make docs    draws the picture of docs/architecture.md from the code, and builds the site of all pages in build/site
# make screenshots  takes the screenshots of the docs, of runs on bundled samples; needs Chromium
# make perf    measures speed and memory for some 20 minutes, and writes the tables and plots of docs/performance.md
# make gpu     tools with models on a GPU of this machine, in 4 minutes at most: answers, memory and speed, for docs/tools.md
# make gpu-wheels   what make gpu needs on a machine without network that has Python 3.12 and torch, into .gpu-wheels
# make release-notes   the entries of changelog.d/; with VERSION=1.2.3 they are moved into CHANGELOG.md
# Each but make gpu installs what it needs into .venv first; make bench, check and lint do without torch.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUNDLED := $(VENV)/.installed-bundled
CHECK := $(VENV)/.installed-check
DEV := $(VENV)/.installed-dev
NPM := $(VENV)/.tried-npm
DOCS := $(VENV)/.installed-docs

PEERS := $(VENV)/peers
BESIDE := $(VENV)/beside

# The tests start hundreds of processes, each of which would compile the project anew where the environment forbids to keep that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: bench check test agents faults coverage lint docs screenshots benchmarks perf gpu gpu-wheels release-notes
.DEFAULT_GOAL := test

$(VENV)/.installed-%: pyproject.toml
	@$(PYTHON) install.py $(VENV) --editable '.[$*]'
	@touch $@

bench: $(BUNDLED)
	@start=$$(date +%s); $(BIN)/pytest -n 2; status=$$?; echo "make bench took $$(($$(date +%s) - start)) s"; exit $$status

# for the tests of dashboards and of accessibility, where npm is there; without it they are skipped
$(NPM):
	@mkdir -p $(VENV); if command -v npm >/dev/null; then \
	npm install --silent --no-save --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000 --prefix $(VENV) allure@3 axe-core@4 \
	|| echo "Allure and axe-core could not be installed by npm; the tests of dashboards and of accessibility will be skipped"; fi
	@touch $@

# tests/tools is left out whole: some of its files import torch
check: lint
	@start=$$(date +%s); $(BIN)/pytest tests -n 2 -q -W error -m "not e2e and not slow" --ignore tests/tools; status=$$?; echo "the tests of make check took $$(($$(date +%s) - start)) s"; exit $$status

# other plugins of pytest, away from our own packages; without them the tests of running beside them are skipped
$(BESIDE)/.tried: pyproject.toml
	@$(PYTHON) install.py $(BESIDE) --editable '.[beside]' \
	|| { rm -rf $(BESIDE); echo "pytest's other plugins could not be installed; the tests of running beside them will be skipped"; }
	@mkdir -p $(BESIDE) && touch $@

# PROFILE: how many examples Hypothesis tries; ci has four times as many, the same ones each time
PROFILE ?= dev
test: $(DEV) $(NPM) $(BESIDE)/.tried
	@start=$$(date +%s); PATH="$(CURDIR)/$(VENV)/node_modules/.bin:$$PATH" $(BIN)/pytest tests -n 2 --dist worksteal -W error --hypothesis-profile=$(PROFILE); status=$$?; echo "make test took $$(($$(date +%s) - start)) s"; exit $$status

# frameworks pin versions of what our own environment has in others, so each has its own
$(VENV)/agents-openai/.installed: Makefile
	@$(PYTHON) install.py $(@D) 'openai-agents>=0.24'
	@touch $@

$(VENV)/agents-smolagents/.installed: Makefile
	@$(PYTHON) install.py $(@D) 'smolagents[mcp,openai]>=1.26' 'mcp<2'
	@touch $@

agents: $(DEV) $(VENV)/agents-openai/.installed $(VENV)/agents-smolagents/.installed
	$(BIN)/pytest tests/gta/test_frameworks.py tests/external_agent/test_frameworks.py -q -W error

faults: $(DEV)
	@start=$$(date +%s); $(BIN)/pytest tests -m faults -W error; status=$$?; echo "make faults took $$(($$(date +%s) - start)) s"; exit $$status

# a part of the tests: those that start runs and stop them, but for two that a slower program fails
COVERING := core store data plugin/test_run.py plugin/test_faults.py plugin/test_usage.py plugin/test_services.py \
	plugin/test_gates.py plugin/test_prefetcher.py plugin/test_ci.py plugin/test_shards.py
coverage: $(DEV)
	@start=$$(date +%s); $(BIN)/pytest $(addprefix tests/,$(COVERING)) -k "not take_a_moment and not further_signals" -n 2 --dist worksteal -q --cov --cov-report=term:skip-covered; status=$$?; echo "make coverage took $$(($$(date +%s) - start)) s"; exit $$status

lint: $(CHECK)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

docs: $(DOCS)
	$(BIN)/python docs/draw_architecture.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean  # --quiet would switch the strict checks off

screenshots: $(DEV)
	$(BIN)/python docs/take_screenshots.py

# about 6 minutes; what takes longer is left to make perf
benchmarks: $(DEV)
	$(BIN)/pytest benchmarks --benchmark-only -q -m "not perf"

# another runner to compare with, away from our own packages; without it that figure is left out
$(PEERS)/.tried:
	@$(PYTHON) install.py $(PEERS) inspect-ai openai \
	|| echo "inspect_ai could not be installed; it will not be measured"
	@mkdir -p $(PEERS) && touch $@

perf: $(DEV) $(PEERS)/.tried
	@start=$$(date +%s); INSPECT_PYTHON=$(CURDIR)/$(PEERS)/bin/python $(BIN)/pytest benchmarks --benchmark-only -q --figures $(VENV)/figures.json; status=$$?; \
	$(BIN)/python -m benchmarks.write $(VENV)/figures.json || exit 1; echo "make perf took $$(($$(date +%s) - start)) s"; exit $$status

# With .venv where it is, else with the machine's own Python and the packages of .gpu-wheels.
GPU_FIGURES ?= build/gpu.json
ifneq ($(wildcard $(BIN)/python),)
gpu:
	$(BIN)/python -m benchmarks.gpu --figures $(GPU_FIGURES)
else
GPU_PACKAGES := build/gpu-packages
gpu:
	@rm -rf $(GPU_PACKAGES); if ls .gpu-wheels/*.whl >/dev/null 2>&1; then \
	$(PYTHON) -m pip install -q --no-index --no-deps --no-compile --target $(GPU_PACKAGES) .gpu-wheels/*.whl; fi
	PYTHONPATH=$(GPU_PACKAGES):.:reports $(PYTHON) -m benchmarks.gpu --figures $(GPU_FIGURES)
endif

# MB that the wheels may take together
GPU_WHEELS_MOST := 50
MANYLINUX := $(foreach tag,manylinux_2_28 manylinux_2_24 manylinux_2_17 manylinux2014 manylinux_2_5 manylinux1,--platform $(tag)_x86_64)
gpu-wheels:
	@rm -rf .gpu-wheels
	$(PYTHON) -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp $(MANYLINUX) -d .gpu-wheels -r benchmarks/gpu/wheels.txt
	@size=$$(du -sm .gpu-wheels | cut -f1); echo ".gpu-wheels takes $$size MB of $(GPU_WHEELS_MOST)"; test $$size -le $(GPU_WHEELS_MOST)

release-notes: $(CHECK)
	$(BIN)/towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version next)
