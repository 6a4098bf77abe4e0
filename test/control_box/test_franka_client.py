# SPDX-License-Identifier: Apache-2.0
"""An unmodified client of libfranka (pylibfranka, extra box-test) moves an arm in lock-step."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.box_clients import CUBE, result, standing
from support.raw_client import address
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.box import WireFaults
from rbdyn_ros.control_box.wire import LineFaults
from rbdyn_ros.runtime.types import Wrench

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pylibfranka") is None,
    reason='pylibfranka is not installed (pip install "rbdyn_ros[box-test]")',
)
CLIENT = Path(__file__).with_name("client.py")


#: Runs a test with motions of one second, and nightly of 61 s.
times = pytest.mark.parametrize("seconds", [1, pytest.param(61, marks=pytest.mark.nightly)])


def run(task, *words, **more):
    return result(CLIENT, task, *words, **more)


@pytest.fixture
def panda(said):
    with rb.BoxedArm(
        find("panda.urdf"), [f"franka@{address()}"], log=said.append, patience=30.0
    ) as arm:
        yield arm


def test_the_clients_model_agrees_with_the_state(panda):
    found = run("model")
    m = rb.load(find("panda.urdf"))
    d = rb.make_data(m)
    d.qpos[:7] = found["q"]
    mass = np.array(found["mass"]).reshape(7, 7)
    assert found["gravity"] < 1e-4
    # the client's model has closed fingers
    assert mass == pytest.approx(rb.mass_matrix(m, d)[:7, :7], abs=2e-4)


@times
def test_torques_give_the_same_motion_twice(said, seconds):
    states = []
    for _ in range(2):
        box = [f"franka@{address()}"]
        with rb.BoxedArm(find("panda.urdf"), box, log=said.append, patience=30.0) as arm:
            found = run("impedance", str(seconds))
            states.append(standing(arm))
        assert found["rate"] == 1.0
        assert 0.1 < found["moved"] < 0.25
    assert [state.tick for state in states] == [states[0].tick] * 2
    assert states[0].hash() == states[1].hash()


@times
def test_cartesian_impedance_moves_the_arm(panda, seconds):
    found = run("cartesian_impedance", str(seconds))
    assert 0.02 < found["moved"] < 0.06
    assert found["rate"] == 1.0


@times
def test_all_motion_interfaces_end_at_their_goals(panda, seconds):
    for name, (error, rate) in run("motions", str(seconds), timeout=3000).items():
        assert error < 2e-3, name
        assert rate == 1.0, name


def test_a_push_causes_a_reflex_and_the_client_recovers(panda, said):
    body = panda.loop.m.body_names.index("panda_link7")
    push = Wrench(body, np.zeros(3), np.array([0.0, 60.0, 0.0]), np.zeros(3), False, 0.1)
    standing(panda)
    panda.loop.orders.push(push)
    found = run("reflex")
    assert "joint_reflex" in found["error"] or "cartesian_reflex" in found["error"]
    assert found["mode"] == "Reflex"
    assert found["rate"] == 1.0
    assert any("reflex: " in text for text in said)


def test_a_jump_of_the_torque_raises_the_named_error(panda):
    assert "controller_torque_discontinuity" in run("jump")["error"]


def test_the_arm_brakes_when_a_client_dies_and_the_next_client_is_served(panda, said):
    run("leave")
    state = standing(panda)
    assert np.abs(state.qvel[:7]).max() < 1e-3
    assert any("left in a motion" in text for text in said)
    assert run("model")["gravity"] < 1e-4


def test_lost_packets_end_a_motion_with_the_named_error(panda):
    box = panda.boxes.all[0]
    box.wire = WireFaults(commands=LineFaults(drop=0.2, double=0.3, jitter=2))
    assert run("impedance")["rate"] < 0.95
    standing(panda)
    box.wire = WireFaults(commands=LineFaults(delay=40))
    words = [sys.executable, str(CLIENT), address(), "impedance"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    assert "communication_constraints_violation" in done.stderr


def test_the_gripper_grasps_a_cube(tmp_path, said):
    path = tmp_path / "cube.yaml"
    path.write_text(CUBE.format(robot=find("panda.urdf")))
    with rb.BoxedArm(path, [f"franka@{address()}"], log=said.append, start={}) as arm:
        found = run("grasp")
        standing(arm)
    assert found["homed"]
    assert found["open"] == pytest.approx(0.08, abs=1e-3)
    assert found["grasped"]
    assert found["held"]
    assert found["width"] == pytest.approx(0.04, abs=2e-3)
    assert not found["nothing"]
    assert found["moved"]
