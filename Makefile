# make demo   creates .venv, then turns a ball in a robot hand in closed loop and writes out/demo/report
# make view   the same hand, from a browser: drag the goal, the object follows; Ctrl-C ends it (TASK=NAME: another task)
# make test   adds the development tools and runs every test; make test-core and make test-ros are its two halves
#             (TESTS=test/folder: those alone, one after the other; JOBS=1: all on one core)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV ?= .venv
TASK ?= allegro_ball
DEMO_DIR ?= out/demo
DEMO_HOLD_S ?=
TESTS ?=
# One more than there are cores: a test that starts nodes or waits for compiled code of another leaves its core idle.
JOBS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))

BIN := $(VENV)/bin
INPUTS := setup.py pyproject.toml $(wildcard locks/*.txt)
# Not compiled to bytecode at once: of 13,000 files few are imported, and each of these is when it is. That was half of pip's
# processor time.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile

# rclpy: of a sourced ROS 2 where there is one, otherwise from the PyPI wheels in the `ros` extra. numpy is the
# pinned one in both: ROS 2 messages read arrays in place and do not import numpy's C interface.
ifdef ROS_DISTRO
  RCLPY := sourced
  SYSTEM_SITE := true
  LOCKED_ROS :=
else
  RCLPY := wheels
  SYSTEM_SITE := false
  LOCKED_ROS := -r locks/ros.txt
endif
ENVIRONMENT := $(VENV)/.rclpy-$(RCLPY)

# Every file that is installed is compared with its digest in locks/, which `make locks` writes for constraints.txt.
LOCKED := $(PIP) --require-hashes --no-deps $(LOCKED_ROS)
ITSELF := $(PIP) --no-deps -e .
# While the rest is installed, by one process, another compiles what every run and every tree needs, as soon as it can.
# What it says nobody needs: the first command compiles what it left, and tells what fails.
FIRST := $(PIP) --require-hashes --no-deps -r locks/compiled.txt
COMPILE_BESIDE := ($(BIN)/python -m contact_mpc.loop.compile_ahead drake _compile_horizon >/dev/null 2>&1 &)

# pip says nothing for up to 20 s where it unpacks: one line every 4 s until the recipe ends.
SAY_TIME := (for ((s = 4; ; s += 4)); do sleep 4 >/dev/null 2>&1; echo "  installing, $$s s"; done) & trap "kill $$!" EXIT

define INSTALL_FAILED
echo; \
echo "The installation failed; the reason stands above. What to do:"; \
echo "  no network or index:  check it, then run make again; packages that are there are kept"; \
echo "  no space:             it needs 2 GB under $(CURDIR)/$(VENV)"; \
echo "  half an environment:  make clean, then make again"; \
echo "  no wheel found:       Linux x86_64 or aarch64 with Python 3.11 to 3.13: make PYTHON=python3.12"; \
exit 1
endef

# Recordings and reports in out/ stay; `make clean` removes the environment and what tools left behind.
.PHONY: demo demo-short view test test-core test-ros compiled-trees lint types check docs figures picture plotly licences locks sbom clean
demo: $(VENV)/.demo
	$(BIN)/contact-mpc run $(TASK) --report $(DEMO_DIR)/report --record $(DEMO_DIR) $(if $(DEMO_HOLD_S),--hold-s $(DEMO_HOLD_S))

demo-short: DEMO_HOLD_S = 0.5
demo-short: demo

view: $(VENV)/.view
	$(BIN)/contact-mpc run $(TASK) --endless --view

test: $(VENV)/.dev
ifneq ($(TESTS),)
	$(BIN)/python -m pytest $(TESTS)
else
	$(MAKE) --no-print-directory test-core
	$(MAKE) --no-print-directory test-ros
endif

# What needs neither ROS nor DDS, on all cores: compiled code is shared by a cache that is locked where it is written.
# A process that is done takes over half of what another has left. Tests that start nodes have a ROS domain each, so they
# run beside one another, file by file, but for those that are about milliseconds of the clock: these come alone, at the end.
# A test of nodes that fails runs once more: on a busy machine discovery may lose a message. The summary counts these.
ROS_TESTS := test/ros test/launch
test-core: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ROS_TESTS:%=--ignore=%)

test-ros: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --reruns 1 -m "not realtime" $(ROS_TESTS)
	$(BIN)/python -m pytest --reruns 1 -m realtime $(ROS_TESTS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

check: lint types test

# The compiled code that trees through contact need, by two processes, before tests ask for it.
compiled-trees: $(VENV)/.dev
	$(BIN)/python -c "from contact_mpc.loop.compile_ahead import TREE, compile_ahead; compile_ahead('drake', TREE)"

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

licences: $(VENV)/.dev
	$(BIN)/python docs/licences.py

# The digests of what is installed, for every platform that an index has files for, and what an environment holds.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-annotate \
  --custom-compile-command 'make locks' -c constraints.txt
locks: $(VENV)/.dev
	printf '%s\n' numba numpy pydantic pyyaml scipy | $(LOCK) - -o locks/compiled.txt
	$(LOCK) setup.py --extra ros -o locks/ros.txt
	$(LOCK) setup.py --extra demo-sourced-ros -o locks/demo.txt
	$(LOCK) setup.py --extra demo-sourced-ros --extra view -o locks/view.txt
	$(LOCK) setup.py --extra demo-sourced-ros --extra mujoco --extra dev -o locks/dev.txt

sbom: $(VENV)/.dev
	$(BIN)/uv tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py environment --output-reproducible -o out/sbom.cdx.json $(BIN)/python
	@echo "out/sbom.cdx.json"

figures: $(VENV)/.dev
	$(BIN)/python docs/figures.py

# The moving picture of the README, from the canvas of a report; needs a Chromium.
picture: $(VENV)/.dev
	$(BIN)/python docs/picture.py $(or $(REPORT),$(DEMO_DIR)/report/report.html) docs/images/demo.gif

# The plots of reports: plotly.js with scatter and bar alone, from npm.
PLOTLY_VERSION := 4.1.1
plotly:
	cd $$(mktemp -d) && npm pack --silent plotly.js-basic-dist-min@$(PLOTLY_VERSION) >/dev/null && tar xzf *.tgz && \
	  cp package/plotly-basic.min.js $(CURDIR)/contact_mpc/report/assets/

clean:
	rm -rf $(VENV) build dist install log *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find contact_mpc launch test -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENT):
	@$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))" || \
	  { echo "$(PYTHON) is not Python 3.11, 3.12 or 3.13; give one: make PYTHON=python3.12"; exit 1; }
ifdef ROS_DISTRO
	@$(PYTHON) -c "import rclpy" 2>&1 | tail -1 || \
	  { echo "ROS 2 $(ROS_DISTRO) is sourced, but $(PYTHON) cannot import its rclpy: give its Python with"; \
	    echo "make PYTHON=/usr/bin/python3, or use a shell where no ROS 2 is sourced"; exit 1; }
endif
	@grep -qsx "include-system-site-packages = $(SYSTEM_SITE)" $(VENV)/pyvenv.cfg || \
	  { rm -rf $(VENV); $(PYTHON) -m venv $(if $(filter true,$(SYSTEM_SITE)),--system-site-packages) $(VENV); } || \
	  { rm -rf $(VENV); echo "python's venv is missing: apt install python3-venv, then run make again"; exit 1; }
	@rm -f $(VENV)/.rclpy-* $(VENV)/.demo $(VENV)/.view $(VENV)/.dev
	@touch $@

$(VENV)/.demo: $(INPUTS) | $(ENVIRONMENT)
	@echo "Installing into $(VENV): about 1.5 GB, a few minutes the first time"
	@$(SAY_TIME); $(FIRST) && $(COMPILE_BESIDE) && $(LOCKED) -r locks/demo.txt && $(ITSELF) || { $(INSTALL_FAILED); }
	@touch $@

$(VENV)/.view: $(VENV)/.demo
	@$(SAY_TIME); $(LOCKED) -r locks/view.txt && $(ITSELF) || { $(INSTALL_FAILED); }
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	@$(SAY_TIME); $(LOCKED) -r locks/dev.txt && $(ITSELF) || { $(INSTALL_FAILED); }
	@touch $@
