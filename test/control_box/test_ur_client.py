# SPDX-License-Identifier: Apache-2.0
"""An unmodified client of ur_rtde (extra box-test) moves an arm in lock-step."""

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest
from support.box_clients import result
from support.raw_client import address, settled
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control_box.box import WireFaults
from rbdyn_ros.control_box.wire import LineFaults

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("rtde_control") is None,
    reason='ur-rtde is not installed (pip install "rbdyn_ros[box-test]")',
)
CLIENT = Path(__file__).with_name("ur_client.py")
TABLE = """\
rbdyn_scene: 1
robot: {{file: {robot}}}
obstacles:
  table: {{box: {{size: [0.4, 0.4, 0.1]}}, xyz: [-0.487, 0.109, 0.36]}}
"""


def run(task):
    return result(CLIENT, task)


def boxed(said, robot="ur5_robot.urdf", **more):
    more = {"log": said.append, "patience": 30.0} | more
    source = robot if isinstance(robot, Path) else find(robot)
    return rb.BoxedArm(source, [f"ur@{address()}"], **more)


@pytest.mark.parametrize("robot", ["ur5_robot.urdf", "ur10_robot.urdf"])
def test_moves_end_at_their_goals(said, robot):
    with boxed(said, robot):
        found = run("moves")
    for name, (done, error) in found.items():
        assert done, name
        assert error < 1e-4, name  # the joints' springs still deflect a little


def test_streams_of_commands_give_the_same_motion_twice(said):
    found = []
    for _ in range(2):
        with boxed(said):
            found.append(run("streams"))
    first = found[0]
    assert found[1]["goal"] == first["goal"]  # the motions are equal to the last bit
    assert found[1]["speedj"] == pytest.approx(first["speedj"], abs=1e-4)
    # the joint moves at 0.2 rad/s for 0.5 s, less the ramp of 1 rad/s^2, and a little farther
    # until it stops
    assert first["speedj"][5] == pytest.approx(0.2 * 0.5 - 0.2**2 / 2 + 0.002, abs=5e-3)
    assert np.abs(first["speedj"][:5]).max() < 1e-4
    assert first["speedl"][2] == pytest.approx(0.1 * 0.5 - 0.1**2 / (2 * 0.5) + 5e-4, abs=3e-3)
    assert np.abs(first["speedl"][:2]).max() < 1e-3
    # the joint lags behind the last command, a displacement of zero
    assert 0.0 < first["servoj"][5] < 0.05
    assert first["torque"] < 1e-6


def test_the_model_of_the_controller_agrees_with_the_engine(said):
    with boxed(said) as arm:
        found = run("model")
        own = arm.boxes.all[0]._arm
        m = rb.load(find("ur5_robot.urdf"))
    d = rb.make_data(m)
    d.qpos[:] = found["q"]
    base, R0 = rb.frame_pose(m, d, "base")
    flange, R = rb.frame_pose(m, d, "tool0")
    assert found["pose"][:3] == pytest.approx(R0.T @ (flange + R @ [0, 0, 0.1] - base), abs=1e-9)
    mass = rb.mass_matrix(m, d) + np.diag(own.armature)
    assert np.array(found["mass"]) == pytest.approx(mass, abs=1e-9)
    J = rb.frame_jacobian(m, d, "tool0")
    lever = np.cross(J[:3].T, R @ [0, 0, 0.1]).T
    assert np.array(found["jacobian"])[:3] == pytest.approx(R0.T @ (J[3:] + lever), abs=1e-9)
    assert np.array(found["jacobian"])[3:] == pytest.approx(R0.T @ J[:3], abs=1e-9)
    assert found["moment"] == pytest.approx(rb.gravity_term(m, d), abs=1e-6)
    assert found["tool"] == pytest.approx([0.0, 0.0, 0.1, 0.0, 0.0, 0.3])
    assert found["inverse"] < 1e-6
    assert not found["far"]
    assert found["safe"] == [True, False]


def test_force_mode_pushes_with_its_force(said, tmp_path):
    path = tmp_path / "table.yaml"
    path.write_text(TABLE.format(robot=find("ur5_robot.urdf")))
    with boxed(said, path, contact=True):
        found = run("force")
    assert found["force"][2] == pytest.approx(20.0, abs=1.0)  # the force of the table on the tool
    assert found["drift"] < 5e-2
    assert found["program"]


def test_the_dashboard_switches_the_arm_off_and_on(said):
    with boxed(said):
        found = run("dashboard")
    assert found["mode"] == "Robotmode: RUNNING"
    assert found["safety"] == "Safetymode: NORMAL"
    assert found["model"] == "UR5"
    assert found["remote"]
    assert found["running"]
    assert found["stopped"] > 0.1
    assert found["off"] == "Robotmode: POWER_OFF"
    assert found["on"] == "Robotmode: IDLE"
    assert found["again"] == "Robotmode: RUNNING"
    assert found["moved"]
    assert found["volts"] == 5.0


def test_a_joint_at_its_limit_causes_a_protective_stop(said):
    with boxed(said) as arm:
        found = run("stopped")
        state = settled(arm)
    assert found["mode"] == "Safetymode: PROTECTIVE_STOP"
    assert found["q"] < np.pi
    assert "until 5s" in found["early"]
    assert found["after"] == "Safetymode: NORMAL"
    assert found["moved"]
    assert state.qpos[2] == pytest.approx(0.0, abs=1e-3)
    assert any("joint 2 is beyond its limit" in text for text in said)


def test_the_watchdog_stops_the_arm_when_a_client_dies(said):
    with boxed(said) as arm:
        run("die")
        give_up = time.monotonic() + 60.0
        while not any("watchdog" in text for text in said):
            assert time.monotonic() < give_up
            time.sleep(1e-2)
        assert np.abs(settled(arm).qvel).max() < 1e-3
        assert run("model")["inverse"] < 1e-6  # the box serves the next client


def test_late_packets_change_no_move(said):
    with boxed(said) as arm:
        late = LineFaults(delay=20, jitter=10, drop=0.05)
        arm.boxes.all[0].wire = WireFaults(late, late)
        for name, (done, error) in run("moves").items():
            assert done, name
            assert error < 1e-4, name
