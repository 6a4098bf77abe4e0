# SPDX-License-Identifier: Apache-2.0
"""An unmodified client of franky (extra box-test) moves an arm in lock-step."""

import importlib.util
from pathlib import Path

import pytest
from support.box_clients import CUBE, result, standing
from support.raw_client import address
from support.robots import find

import rbdyn_ros as rb

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("franky") is None,
    reason='franky is not installed (pip install "rbdyn_ros[box-test]")',
)
CLIENT = Path(__file__).with_name("franky_client.py")


def boxed(said, source=None, **more):
    box = [f"franka@{address()}"]
    return rb.BoxedArm(source or find("panda.urdf"), box, log=said.append, patience=30.0, **more)


def test_motions_finish_at_their_goals(said):
    with boxed(said):
        found = result(CLIENT, "motions")
    for name, gap in found.items():
        # a motion ends when its goal is commanded, so the joints are a few cycles behind;
        # impedance motions approach their goal for 2 s with a time constant of at most 0.2 s
        assert gap < (1e-3 if "impedance" in name else 1e-4), name


def test_a_stop_from_outside_ends_a_motion(said):
    with boxed(said):
        found = result(CLIENT, "stop")
    assert "preempted" in found["stopped"]
    assert found["gap"] < 1e-4


def test_the_gripper_lifts_a_cube(said, tmp_path):
    path = tmp_path / "cube.yaml"
    path.write_text(CUBE.format(robot=find("panda.urdf")))
    with boxed(said, path, start={}) as arm:
        found = result(CLIENT, "grasp")
        height = standing(arm).qpos[-5]
    assert found["homed"]
    assert found["grasped"]
    assert found["held"]
    assert found["width"] == pytest.approx(0.04, abs=1e-3)
    assert height == pytest.approx(0.4868 + 0.1, abs=2e-3)
