# SPDX-License-Identifier: Apache-2.0
"""A test provokes each fault in the table of docs/guides/arm_faults.md between two processes.

A driver between the simulated arm and its controller sends false states, other nodes interfere,
or a control law fails. After a blind fault the states stay wrong, so the controller goes silent.
After other faults it brakes and holds. A busy machine delays states, so a scenario that ends in
a fault of time is tried again.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")
pytest.importorskip("trajectory_msgs.msg", reason="trajectory_msgs is not installed")

from arm_pair import SENDERS_KNOWN, UR5_START, start_pair
from lying_driver import LyingDriver
from support.lies import LIES, PROCESSES, Lie, late, liar, lie_of
from support.robots import find
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbdyn_ros.control.base.faults import FAULTS

#: Limits that slow false motions exceed. Without damping the arm does not react to the motions.
TIGHT = {
    "position_inset": 1.7,  # the elbow is at 1.4 rad, its limit at 3.14 rad
    "velocity_scale": 0.1,  # the limit is 3.15 rad/s
    "acceleration_limit": 20.0,
    "power_limit": 6.0,  # [W]; the shoulder needs 31 N m
    "tracking_tolerance": 0.002,
    "target_timeout": 0.3,
    "gravity_damping": 0.0,
}
#: Code for the controller's process, which lets the law of mode computed_torque return NaN.
FAILING_LAW = """
from rbdyn_ros.control.laws.mode_laws import ModeLaws
law = ModeLaws.effort
def failing(self, mode, *state):
    return law(self, mode, *state) * (float("nan") if mode == "computed_torque" else 1.0)
ModeLaws.effort = failing
"""
LIFT, ELBOW, LAST = 1, 2, 5
LIE = {lie.name: lie for lie in LIES}
#: Faults that a slow machine causes, and the number of tries of a scenario in which they occur.
OF_TIME, TRIES = ("fault age", "fault latency", "fault clock"), 10


def lying(liar):
    return Lie("one", "values", "", (), liar, (PROCESSES,))


@liar
def pulsing(_memory, state, time, joint, speed, length, period):
    """Add pulses of motion to the state of a joint; its positions and velocities agree.

    Args:
        _memory: unused.
        state: the true state.
        time: time since the onset [s].
        joint: number of the joint.
        speed: largest speed [rad/s].
        length: duration of a pulse [s].
        period: time from the start of a pulse to the next [s]; inf: a single pulse.
    """
    count, phase = (0, time) if period == np.inf else divmod(time, period)
    x = min(phase / length, 1.0)
    position, velocity = np.array(state["position"]), np.array(state["velocity"])
    way = x - np.sin(2 * np.pi * x) / (2 * np.pi)
    position[joint] += 0.5 * speed * length * (count + way)
    velocity[joint] += speed * np.sin(np.pi * x) ** 2
    return [state | {"position": position, "velocity": velocity}]


def pulses(joint, speed, length, period=np.inf):
    return lying(pulsing(joint, speed, length, period))


def told(lie, mode="gravity"):
    """Return a scenario in which the driver lies while the arm is at rest."""

    def provoke(pair, driver):
        pair.arm_it(mode)
        driver.lie_when(lie, lambda _state: True)

    return provoke


def follow(pair, seconds, way):
    """Send a trajectory that moves the last joint by `way` [rad] in this time."""
    points = []
    for at, place in ((0.0, 0.0), (seconds, way)):
        goal = pair.arm.position.copy()
        goal[LAST] += place
        point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0] * 6)
        point.time_from_start.sec, rest = divmod(round(1e9 * at), 10**9)
        point.time_from_start.nanosec = rest
        points.append(point)
    message = JointTrajectory(joint_names=pair.arm.names, points=points)
    pair.peer.send(JointTrajectory, f"{pair.node}/joint_trajectory", message)


def frozen_while_it_should_move(pair, driver):
    told(LIE["frozen"], "impedance")(pair, driver)
    follow(pair, 2.0, 0.2)


def no_target(pair, _driver):
    pair.arm_it("impedance")
    follow(pair, 0.1, 0.001)


def failing_law(pair, _driver):
    pair.arm_it("computed_torque")


#: The scenario that provokes each row of the table, by the row's code and reaction.
SCENARIOS = {
    ("finite", "blind"): told(LIE["nan"]),
    ("names", "blind"): told(LIE["missing"]),
    ("age", "blind"): told(LIE["loss"]),
    ("latency", "blind"): told(lying(late(lambda _time: 0.3))),
    ("clock", "brake"): told(LIE["clock_jump"]),
    ("clock", "blind"): told(lie_of("clock_jump+position_offset")),
    ("position", "brake"): told(pulses(ELBOW, 0.2, 0.8)),
    ("velocity", "brake"): told(pulses(LAST, 0.45, 0.6)),
    ("velocity", "blind"): told(LIE["swapped"]),
    ("acceleration", "brake"): told(pulses(LAST, 0.25, 0.02, 0.1)),
    ("power", "brake"): told(pulses(LIFT, 0.3, 0.6)),
    ("frozen", "blind"): frozen_while_it_should_move,
    ("effort", "brake"): failing_law,
    ("tracking", "brake"): told(pulses(ELBOW, 0.15, 0.1), "hold"),
    ("target", "brake"): no_target,
    ("rivals", "brake"): told(LIE["second_efforts"]),
    ("rivals", "blind"): told(LIE["second_states"]),
}


@pytest.fixture(scope="module")
def lied_to(shared):
    """Yield a UR5, its controller, and a driver between both that can send false states."""
    driver = LyingDriver(shared.peer)
    given = {"remap": {"joint_states": "relayed_states"}, "prelude": FAILING_LAW, **TIGHT}
    given["simulated_clock"] = "false"
    start = (shared.simulate, shared.control, shared.peer, find("ur5_robot.urdf"), UR5_START)
    pair = start_pair(*start, 250, **given)
    yield pair, driver
    driver.close()
    pair.end_well()


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: f"{kind.code}-{kind.reaction}")
def test_each_fault_of_the_table_occurs_with_its_reaction(kind, lied_to):
    if (kind.code, kind.reaction) == ("rivals", "blind") and not SENDERS_KNOWN:
        pytest.skip("this rclpy does not give the publisher of a message")
    for _ in range(TRIES):
        said = ending(kind, *lied_to)
        late = any(other in said for other in OF_TIME) or kind.reaction == "brake"
        if well(kind, said) or not late:
            break
    assert well(kind, said), said


def ending(kind, pair, driver):
    """Provoke a fault; return the last status of the arm."""
    driver.tell_the_truth()
    pair.do("disarm", "clear_fault")
    pair.peer.trigger("simulator/reset")
    SCENARIOS[kind.code, kind.reaction](pair, driver)
    pair.until_said("armed; fault")
    pair.until(lambda: pair.said[-1].endswith("holding") or "silent" in pair.said[-1])
    return pair.said[-1]


def well(kind, said):
    """Return whether the last status `said` has the fault's code and documented end."""
    return f"fault {kind.code}:" in said and said.endswith(
        "; silent" if kind.reaction == "blind" else "; holding"
    )
