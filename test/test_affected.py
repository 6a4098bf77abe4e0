# SPDX-License-Identifier: Apache-2.0
"""`make affected` chooses the tests that a change can affect."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("affected", ROOT / "tools/affected.py")
affected = importlib.util.module_from_spec(SPEC)
sys.modules["affected"] = affected
SPEC.loader.exec_module(affected)


@pytest.mark.parametrize(
    ("changed", "reached", "spared"),
    [
        (
            "rbdyn_ros/control/states/gate.py",
            "test/control/test_controller.py",
            "test/engine/test_stops.py",
        ),
        (
            "rbdyn_ros/engine/tree/rne.py",
            "test/control/test_controller.py",
            "test/checks/test_numbers.py",
        ),
        (
            "rbdyn_ros/ros/simulator/graph/clock.py",
            "test/launch/test_sim_launch.py",
            "test/engine/test_stops.py",
        ),
        ("docs/guides/contact.md", "test/docs/test_documents.py", "test/control/test_arm.py"),
        ("test/support/lies.py", "test/control/test_lies.py", "test/control/test_paths.py"),
        ("test/ros/conftest.py", "test/ros/arm/test_claim.py", "test/control/test_paths.py"),
        ("tools/setup_env.py", "test/test_setup_env.py", "test/test_gym.py"),
    ],
)
def test_a_changed_file_selects_only_tests_that_need_this_file(changed, reached, spared):
    assert (ROOT / changed).is_file()
    assert (ROOT / reached).is_file()
    assert (ROOT / spared).is_file()
    found = affected.reached({changed})
    assert reached in found
    assert spared not in found


def test_tests_need_every_module_of_the_package():
    tests = [name for name in affected.python_files() if Path(name).name.startswith("test_")]
    everything = set().union(*map(affected.needed, tests))
    modules = {name for name in affected.python_files() if name.startswith("rbdyn_ros/")}
    lost = {name for name in modules - everything if not name.endswith("__init__.py")}
    assert lost == {"rbdyn_ros/ros/messages/__main__.py"}


def test_git_lists_changed_files_and_an_unknown_branch_raises_an_error():
    assert affected.changed("HEAD") >= set()
    with pytest.raises(Exception, match="merge-base"):
        affected.changed("no-such-branch")
