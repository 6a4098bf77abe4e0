# SPDX-License-Identifier: Apache-2.0
"""Computed torque tracks fast trajectories better than PD control, also with payloads."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")
pytest.importorskip("trajectory_msgs.msg", reason="trajectory_msgs is not installed")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")

from arm_pair import PANDA_START, UR5_START, start_pair
from geometry_msgs.msg import Inertia, Vector3
from support.robots import find
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb
from rbdyn_interfaces.srv import SetPayload

STIFFNESS, DAMPING = 400.0, 40.0  # 1/s^2, 1/s
LEG = 0.9  # duration of the motion there, and of the motion back [s]; at most 2.5 rad/s
#: The test does not know when the path starts: it searches within this time before and after
#: the first measured motion [s].
AROUND = 0.2
LATE = np.arange(0.0, 2.0 * AROUND, 2e-3)

#: For each robot: start position, rate of its states [Hz], displacements of joints [rad or m].
FAST = {
    "ur5_robot.urdf": (UR5_START, 1000, (1.2, 0.6, -0.8, 0.8, 0.8, 1.0)),
    "panda.urdf": (PANDA_START, 500, (0.8, 0.5, -0.6, 0.6, 0.8, 0.8, 1.0, 0.01)),
}


@pytest.mark.parametrize("name", FAST, ids=["ur5", "panda"])
def test_computed_torque_tracks_twenty_times_closer_than_pd(simulate, control, peer, name):
    start, rate, way = FAST[name]
    m = rb.load_urdf(find(name))
    gains = {
        "computed_torque.stiffness": [STIFFNESS],
        "computed_torque.damping": [DAMPING],
        # mode impedance without feedforward is PD control, here with the gains times inertia
        "impedance.feedforward": "false",
        "impedance.stiffness": (STIFFNESS * felt_inertia(m, start)).tolist(),
        "impedance.damping": (DAMPING * felt_inertia(m, start)).tolist(),
        "friction_compensation": 1.0,  # the simulated friction is the model's
    }
    robot = simulate, control, peer, find(name), start, rate
    pair = start_pair(*robot, mode="computed_torque", lockstep=True, **gains)
    pair.arm_it("computed_torque")
    exact = rms_error(pair, np.array(way))
    pair.do("impedance")
    loose = rms_error(pair, np.array(way))
    print(
        f"{name} at {rate} Hz: RMS error {1e3 * exact:.3f} mrad with computed torque, "
        f"{1e3 * loose:.3f} mrad with PD: {loose / exact:.0f} times"
    )
    assert loose >= 20.0 * exact
    assert pair.report()[0] == 0
    pair.end_well()


def felt_inertia(m, start):
    d = rb.make_data(m)
    d.qpos[:] = [start.get(m.jnt_names[j], 0.0) for j in m.dof_jntid]
    rb.com_pos(m, d)
    return np.diag(rb.mass_matrix(m, d))


def rms_error(pair, way):
    """Move all joints by `way` and back; return the RMS of their position errors."""
    place = pair.arm.rest()[: len(way)]
    times, points = (0.0, LEG, 2.0 * LEG), (place, place + way, place)
    message = trajectory(pair.arm.names[: len(way)], times, points)
    publisher = pair.peer.publisher(JointTrajectory, f"{pair.node}/joint_trajectory")
    first = len(pair.arm.rows)
    send = lambda: publisher.publish(message)  # noqa: E731
    send()
    began = pair.arm.rows[pair.arm.until_moving(first, 1e-3, send)][0] - AROUND
    pair.peer.until(lambda: pair.arm.time > began + 2.0 * (LEG + AROUND))
    rows = [row for row in pair.arm.rows[first:] if 0.0 <= row[0] - began <= 2.0 * (LEG + AROUND)]
    assert len(rows) > 100  # of at least 900 that are sent; some may be lost
    t = np.array([row[0] for row in rows]) - began
    q = np.array([row[1][: len(way)] for row in rows])
    assert np.abs(q - place).max() > 0.9 * np.abs(way).max()
    rough = min(LATE, key=lambda late: rms(t - late, q - place, way))
    fine = rough + np.arange(-2e-3, 2e-3, 2e-4)
    return min(rms(t - late, q - place, way) for late in fine)


def rms(t, moved, way):
    """Return the RMS error of motions `moved` at times t from minimum jerk by `way` and back."""
    s = np.clip(t / LEG, 0.0, 1.0), np.clip(t / LEG - 1.0, 0.0, 1.0)
    there, back = (x**3 * (10.0 - 15.0 * x + 6.0 * x**2) for x in s)
    return np.sqrt(np.mean((moved - np.outer(there - back, way)) ** 2))


def trajectory(names, times, points):
    """Return a message whose points are all at rest."""
    message = JointTrajectory(joint_names=names)
    zeros = [0.0] * len(names)
    for time, point in zip(times, points, strict=True):
        place = JointTrajectoryPoint(
            positions=point.tolist(), velocities=zeros, accelerations=zeros
        )
        place.time_from_start.sec = int(time)
        place.time_from_start.nanosec = round(time % 1 * 1e9)
        message.points.append(place)
    return message


def test_an_arm_sags_under_a_load_until_its_payload_is_set(simulate, control, peer):
    # high damping lets the arm rest soon, but would make the light wrist unstable at 1 kHz
    robot, damped = find("ur5_robot.urdf"), {"impedance.damping": [40.0] * 3 + [5.0] * 3}
    pair = start_pair(simulate, control, peer, robot, UR5_START, lockstep=True, **damped)
    load = SetPayload.Request(link="tool0", inertia=Inertia(m=2.0, com=Vector3(z=0.05)))
    none = SetPayload.Request(link="tool0")
    # each mode sags at least this far without the payload [m]
    for mode, least in (("hold", 5e-3), ("impedance", 50e-3)):
        pair.arm_it(mode)
        before = pair.arm.rest()
        first = len(pair.arm.rows)
        assert peer.call(SetPayload, "simulator/set_payload", load).success
        pair.arm.until_moving(first, 0.01)
        sagged = np.abs(pair.arm.rest() - before).max()
        first = len(pair.arm.rows)
        answer = peer.call(SetPayload, "arm_controller/set_payload", load)
        assert (answer.success, answer.message) == (True, "")
        pair.arm.until_moving(first, 0.01)
        left = np.abs(pair.arm.rest() - before).max()
        print(f"{mode}: 2 kg let it sag by {1e3 * sagged:.1f} mrad, known {1e3 * left:.3f} mrad")
        assert sagged > least
        assert left < 2e-3
        pair.do("disarm")
        for node in ("simulator", "arm_controller"):
            assert peer.call(SetPayload, f"{node}/set_payload", none).success
    pair.end_well()
