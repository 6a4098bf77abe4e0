# SPDX-License-Identifier: Apache-2.0
# make sim   simulate a robot behind ROS 2 topics        make sim URDF=my_robot.urdf ARGS="--help"
# make test  run the tests                               make test ARGS="-k urdf"
# make setup make .venv; other commands do so if needed  make setup PYTHON=python3.12
#            ROS=jazzy after any command: with ROS 2 Jazzy instead of Kilted, in .venv-jazzy
# make test-extras  install PyTorch, JAX, pyarrow, Ray and stable-baselines3, and run their tests
# make test-nightly  run the tests with all robots and the long runs that make test leaves out
# make test-processors  run the numerical tests as if on other processors
# make fuzz  feed randomly changed files to all readers   make fuzz SECONDS=600 SEED=1 ARGS=urdf
# make affected  run the tests that your change since main reaches    make affected BASE=HEAD~3
# make check  lint, then make affected without nodes, browsers and pages: before each commit
# make messages  run the tests and write all error messages to test/messages.txt; with
#                ARGS=test/view only add the new messages of these tests
# make lint  check style, types and imports    make lint ARGS=rbdyn_ros/view
# make bench measure against MuJoCo and Pinocchio
# make docs  build the documentation: site/index.html
# make release  write the ROS packages side by side into dist/ros, as bloom and colcon want them
# make changelog VERSION=1.1.0  move the files of changelog/ into CHANGELOG.rst
# make clean remove everything that was built

URDF ?= config/robots/seven_dof_arm.urdf
ARGS ?=
RELEASE ?= dist/ros
ROS = kilted
# extras of setup.py; TESTS=test-nodes is enough for the tests of `.ci/run jazzy`
TESTS ?= test,docs
# one more test process than processors, because some tests mostly wait
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
BASE ?= main
SECONDS ?= 60
SEED ?= 0

# A ROS 2 that is sourced in this shell must not reach .venv, which has its own ROS 2 from wheels,
# with Fast DDS only. If Python runs make, the last variable hides the libraries of these wheels.
DROP = PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE
ifdef AMENT_PREFIX_PATH
DROP += LD_LIBRARY_PATH
endif
# the linters skip files that a tutorial saved into the clone
CODE = rbdyn_ros benchmarks docs examples launch test tools setup.py

RUN = env $(addprefix -u ,$(DROP))

VENV = .venv$(if $(filter-out kilted,$(ROS)),-$(ROS))
SETUP_PYTHON = $(or $(PYTHON),python3)
define SETUP
command -v $(SETUP_PYTHON) >/dev/null || { \
  echo "make: $(SETUP_PYTHON) is missing: sudo apt install python3 python3-venv python3-dev"; exit 1; }; \
$(SETUP_PYTHON) tools/setup_env.py --ros '$(ROS)' $(if $(PYTHON),--python $(PYTHON))
endef

help:
	@sed -n '/^# make/s/^# //p' Makefile

setup:
	@$(SETUP) --tests '$(TESTS)'

sim:
	@$(SETUP) --users
	@$(RUN) $(VENV)/bin/rbdyn sim $(URDF) $(ARGS)

PYTEST = $(RUN) $(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

test: setup
	@$(PYTEST) $(ARGS)

affected: setup
	@tests=$$($(VENV)/bin/python tools/affected.py $(BASE)) && \
	  if [ -n "$$tests" ]; then $(PYTEST) $$tests $(ARGS); else echo "no test is affected"; fi

check:
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory affected ARGS="--quick $(ARGS)"

test-extras: setup
	@$(RUN) $(VENV)/bin/python -m pip install --quiet -e '.[torch,learn,trials,ray]' stable-baselines3 --extra-index-url https://download.pytorch.org/whl/cpu
	@$(RUN) $(VENV)/bin/python -m pytest test/rollouts/test_batch_arrays.py test/rollouts/test_rollout_ray.py test/trials test/test_gym.py test/test_gym_nodes.py test/policies/test_trot.py -n0 $(ARGS)

test-nightly: setup
	@$(PYTEST) --nightly --uses all --stops 200 $(ARGS)

test-processors: setup
	@$(RUN) $(VENV)/bin/python tools/test_processors.py $(ARGS)

fuzz: setup
	@cd test && $(RUN) ../$(VENV)/bin/python -m fuzz --seconds $(SECONDS) --seed $(SEED) $(ARGS)

messages: setup
	@$(PYTEST) --write-messages $(ARGS)

lint: setup
	@$(RUN) $(VENV)/bin/ruff check $(or $(ARGS),$(CODE))
	@$(RUN) $(VENV)/bin/ruff format --check $(or $(ARGS),$(CODE))
	@$(RUN) $(VENV)/bin/mypy $(ARGS)
	@$(RUN) $(VENV)/bin/lint-imports --no-cache

bench: setup
	@$(RUN) $(VENV)/bin/python -m benchmarks $(ARGS)

docs: setup
	@$(RUN) $(VENV)/bin/python tools/docs.py
	@$(RUN) NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict
	@echo "site/index.html"

# catkin_pkg, by which bloom and rosdep find packages, stops at the first package.xml of a folder.
release:
	rm -rf '$(RELEASE)' && mkdir -p '$(RELEASE)/rbdyn_ros'
	git archive HEAD | tar -x -C '$(RELEASE)/rbdyn_ros'
	mv '$(RELEASE)/rbdyn_ros/rbdyn_interfaces' '$(RELEASE)/rbdyn_ros/rbdyn_hardware' '$(RELEASE)/'
	rm '$(RELEASE)/rbdyn_ros/colcon_defaults.yaml'
	sed -i 's|^  <exec_depend>rclpy<|  <exec_depend>rbdyn_interfaces</exec_depend>\n&|' '$(RELEASE)/rbdyn_ros/package.xml'

changelog: setup
	@$(RUN) $(VENV)/bin/python -m pip install --quiet towncrier
	@$(RUN) $(VENV)/bin/towncrier build --yes --version '$(VERSION)'

clean:
	rm -rf .venv .venv-* site build install log dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .fuzz
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup sim test affected check test-extras test-nightly test-processors fuzz messages lint bench docs release changelog clean
