# make bench       everything bundled, with the default embedded model, on 2 workers
# make check       lint, types and the tests that take milliseconds: the loop of daily work
# make test        the project's own tests, but for those of make test-heavy
# make test-heavy  the tests that need torch, Ray, a browser or other environments, and most of those that start whole runs
# make matrix      the wheel, and on one Python the sdist, in an empty environment of each Python from 3.11 that is here, with the README's commands
# make coverage    which lines of the core, of runs and of the pytest side their own tests reach; at least 90 %
# make lint        ruff, mypy, the layers of the packages, dead code
# make docs        draws the picture of docs/architecture.md and writes the tables of docs/options.md from the code, and builds the site of all pages in build/site
# make screenshots  takes the screenshots of the docs, of runs on bundled samples; needs Chromium
# make perf        measures speed and memory, for docs/scaling.md
# make gpu         tools with models on a GPU of this machine, in 4 minutes at most: answers, memory and speed, for docs/tools.md
# make gpu-wheels  what make gpu needs on a machine without network that has Python 3.12 and torch, into .gpu-wheels
# make release-notes   the entries of changelog.d/; with VERSION=1.2.3 they are moved into CHANGELOG.md
# Each but make gpu installs what it needs into .venv first; bench, check, test and lint do without torch.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUNDLED := $(VENV)/.installed-bundled
CHECK := $(VENV)/.installed-check
DEV := $(VENV)/.installed-dev
NPM := $(VENV)/.tried-npm
DOCS := $(VENV)/.installed-docs

APART := $(foreach name,beside trackers agents-openai agents-smolagents,$(VENV)/$(name)/.tried)

# The tests start hundreds of processes, each of which would compile the project anew where the environment forbids to keep that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: bench check test test-heavy faults matrix coverage lint docs screenshots perf gpu gpu-wheels release-notes
.DEFAULT_GOAL := test

# $(call install,ENVIRONMENT,PACKAGES): by uv where it can be had, else by pip. uv does not read pip's settings, so it is
# given them; pip takes the newest of all indexes. Compiled at once, since processes in a sandbox cannot keep bytecode.
pip_setting = $(shell $(PYTHON) -m pip config get $(1) 2>/dev/null)
UV_SETTINGS = UV_INDEX_URL="$(call pip_setting,global.index-url)" UV_EXTRA_INDEX_URL="$(call pip_setting,global.extra-index-url)" \
	UV_FIND_LINKS="$(call pip_setting,:env:.find-links)" UV_INDEX_STRATEGY=unsafe-best-match
define install
	@echo "installing $(2) into $(1): one to three minutes, without further output"; test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install -qq uv || echo "pip installs, since uv cannot be had"
	@$(UV_SETTINGS) $(1)/bin/uv pip install -q --compile-bytecode --python $(1)/bin/python $(2) || $(1)/bin/python -m pip install -q $(2)
endef

$(VENV)/.installed-%: pyproject.toml
	$(call install,$(VENV),--editable '.[$*]')
	@touch $@

bench: $(BUNDLED)
	@start=$$(date +%s); $(BIN)/pytest -n 2; status=$$?; echo "the run of make bench took $$(($$(date +%s) - start)) s, installation not counted"; exit $$status

check: lint
	@start=$$(date +%s); $(BIN)/pytest tests -n 2 -q -W error -m "not slow and not heavy and not long"; status=$$?; echo "the tests of make check took $$(($$(date +%s) - start)) s"; exit $$status

# PROFILE: how many examples Hypothesis tries; ci has four times as many, the same ones each time
PROFILE ?= dev
TESTS := -n 2 --dist worksteal -W error --hypothesis-profile=$(PROFILE)
test: $(CHECK)
	@start=$$(date +%s); $(BIN)/pytest tests $(TESTS) -m "not heavy and not long"; status=$$?; echo "make test took $$(($$(date +%s) - start)) s"; exit $$status

test-heavy: $(DEV) $(NPM) $(APART)
	@start=$$(date +%s); PATH="$(CURDIR)/$(VENV)/node_modules/.bin:$$PATH" $(BIN)/pytest tests $(TESTS) -m "heavy and not long"; status=$$?; echo "make test-heavy took $$(($$(date +%s) - start)) s"; exit $$status

# A run, its workers, its servers, its machines and its launcher fail or are killed, one after the other.
FAULTS := faults launch/test_remote_cases.py several/test_several.py plugins/agents/test_killed.py \
	plugins/shards/test_runs.py $(addprefix plugin/test_,$(addsuffix .py,crashes faults full_disk kills outages stopping))
faults: $(DEV)
	@start=$$(date +%s); $(BIN)/pytest $(addprefix tests/,$(FAULTS)) -n 2 -q -m "not long" \
	&& $(BIN)/pytest tests/launch/test_launch_kills.py -q; status=$$?; echo "make faults took $$(($$(date +%s) - start)) s"; exit $$status

matrix: $(CHECK)
	@$(UV_SETTINGS) .ci/matrix

# For the tests of dashboards and of accessibility, where npm is there; without it they are skipped.
$(NPM):
	@mkdir -p $(VENV); if command -v npm >/dev/null; then \
	npm install --silent --no-save --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000 --prefix $(VENV) allure@3 axe-core@4 \
	|| echo "Allure and axe-core could not be installed by npm; the tests of dashboards and of accessibility will be skipped"; fi
	@touch $@

# Environments of their own: pytest's other plugins, which would change every test of ours, and trackers and frameworks that
# pin other versions of what we use. Tests that need one which could not be installed are skipped.
$(VENV)/beside/.tried: PACKAGES = --editable '.[beside]'
$(VENV)/trackers/.tried: PACKAGES = --editable . 'mlflow-skinny>=3' 'wandb>=0.20'
$(VENV)/agents-openai/.tried: PACKAGES = 'openai-agents>=0.24'
$(VENV)/agents-smolagents/.tried: PACKAGES = 'smolagents[mcp,openai]>=1.26' 'mcp<2'
$(VENV)/peers/.tried: PACKAGES = inspect-ai openai
$(VENV)/%/.tried: pyproject.toml
	$(call install,$(@D),$(PACKAGES)) || { rm -rf $(@D); echo "$(@D) could not be installed; what needs it will be skipped"; }
	@mkdir -p $(@D); touch $@

# A part of the tests: those that start runs and stop them, but for two that a slower program fails.
COVERING := core run store data plugins/gates plugins/shards $(addprefix plugin/test_,$(addsuffix .py,run faults usage services ci))
coverage: $(CHECK)
	@start=$$(date +%s); $(BIN)/pytest $(addprefix tests/,$(COVERING)) -m "not long" -k "not take_a_moment and not further_signals" -n 2 --dist worksteal -q --cov --cov-report=term:skip-covered; status=$$?; echo "make coverage took $$(($$(date +%s) - start)) s"; exit $$status

lint: $(CHECK)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

docs: $(DOCS)
	$(BIN)/python docs/draw_architecture.py && $(BIN)/python docs/write_tables.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean  # --quiet would switch the strict checks off

screenshots: $(DEV)
	$(BIN)/python docs/take_screenshots.py

perf: $(DEV) $(VENV)/peers/.tried
	@start=$$(date +%s); INSPECT_PYTHON=$(CURDIR)/$(VENV)/peers/bin/python $(BIN)/pytest benchmarks --benchmark-only -q --figures $(VENV)/figures.json; status=$$?; \
	echo "make perf took $$(($$(date +%s) - start)) s"; exit $$status

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
