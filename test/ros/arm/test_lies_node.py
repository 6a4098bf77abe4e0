# SPDX-License-Identifier: Apache-2.0
"""A driver sends false states between a simulated arm and its controller in other processes.

    pytest test/ros/arm/test_lies_node.py --lies all -s

runs every row of support.lies in every scene and prints its largest additional motion and largest
speed; the machine must be quiet. `--lies frozen,lag_5_ms` runs two rows. Without the option the
test runs a few rows in lock-step, at a fifth of the speed limits, and repeats a bad row: the
controller predicts an arm without states by the wall clock, but simulated time may wait. The test
judges the true states of the simulated arm. If a row that is not about time ends in a fault of
time, the machine was too slow, and the row is repeated.
"""

import dataclasses
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")
pytest.importorskip("trajectory_msgs.msg", reason="trajectory_msgs is not installed")

from arm_pair import UR5_START, start_pair
from lying_driver import LyingDriver
from support.lies import LIES, NONE, PROCESSES
from support.robots import find
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb

#: Bounds on the effects of a lie: the additional motion of a joint [rad], and the largest speed
#: as a part of its limit.
FARTHEST, FASTEST = 0.3, 1.2
#: Rates at which the speed of an arm decays: while braking, and coasting in mode gravity [1/s].
BRAKING, COASTING = 10.0, 5.0
#: The motion of the arm is judged until this time after the onset of the lie [s].
JUDGED = 1.5
#: A push has ended this time after the arm began to move [s].
PUSHED = 0.15
#: Durations of the parts of a path [s]: speeding up, constant velocity, slowing down.
PARTS = 0.3, 0.4, 0.3
#: Rows of the ordinary tests, and further rows of the nightly tests; no row is about time.
FEW = "nan", "frozen", "second_efforts", "unknown_payload", "controller_restart"
NIGHTLY = (
    *("infinity", "position_scale", "swapped", "missing"),
    *("second_states", "twin", "payload", "gravity"),
)
ORDINARY = "slow_computed_torque"
#: Faults that a slow machine causes, and the number of tries of a row in which they occur.
OF_TIME, TRIES = ("fault age", "fault latency", "fault clock"), 10
ROBOT = "ur5_robot.urdf"


@dataclasses.dataclass(frozen=True)
class Scene:
    """A mode, and the speed of the joints at the onset, as a share of their limits."""

    mode: str
    speed: float


SCENES = {
    "gravity": Scene("gravity", 0.1),
    "hold": Scene("hold", 0.0),
    "computed_torque": Scene("computed_torque", 0.9),
    "slow_computed_torque": Scene("computed_torque", 0.2),
    "impedance": Scene("impedance", 0.9),
    "slow_impedance": Scene("impedance", 0.2),
}


@pytest.fixture
def lied_to(simulate, control, peer, request):
    """Yield a UR5, its controller, and a driver between both that can send false states."""
    # without --lies the machine may be busy, so the simulator waits for each command
    every = request.config.getoption("--lies") is not None
    driver = LyingDriver(peer, paced=not every)
    remap = {"joint_states": "relayed_states"}
    given = {"state_timeout": 0.1 if every else 1.0, "lockstep": not every}
    given |= {"remap": remap, "gravity_damping": COASTING, "simulated_clock": "false"}
    given |= {"arm_tolerance": "[5.0]"}  # [N m]; finds a base tilted by 20 degrees
    pair = start_pair(simulate, control, peer, find(ROBOT), UR5_START, 250, **given)
    yield pair, driver
    driver.close()
    pair.end_well()


def test_after_false_states_an_arm_hardly_moves_beyond_its_braking_distance(lied_to, request):
    pair, driver = lied_to
    chosen = request.config.getoption("--lies")
    every = chosen is not None
    few = (*FEW, *NIGHTLY) if request.config.getoption("--nightly") else FEW
    names = few if chosen is None else chosen.split(",")
    rows = [lie for lie in LIES if PROCESSES in lie.where]
    if chosen != "all":
        rows = [lie for lie in rows if lie.name in names]
        assert len(rows) == len(names), f"expected names out of {[lie.name for lie in LIES]}"
    scenes = SCENES if every else {ORDINARY: SCENES[ORDINARY]}
    bad = []
    for lie in rows:
        worst = []
        for name, scene in scenes.items():
            if lie.name == "unknown_payload" and scene.mode == "gravity":
                continue  # the arm sinks under the load
            verdict = judged(pair, driver, lie, scene, every)
            worst.append((verdict.excess, verdict.speed, name, verdict.said))
            if not verdict.well:
                bad.append((lie.name, name, verdict))
        excess, _, name, said = max(worst)
        speed, fastest = max((row[1], row[2]) for row in worst)
        line = f"{lie.name:18} {excess:6.3f} rad in {name}, {100 * speed:4.0f} % in {fastest}:"
        print(line, said, file=sys.stderr, flush=True)
    assert bad == []


def judged(pair, driver, lie, scene, quiet):
    """Return the Verdict on a lie in a scene, or an empty Verdict for a machine that is too slow.

    A case in which the machine causes a fault of time is repeated. If the machine is not `quiet`,
    a bad case is repeated, too.
    """
    verdict = Case(pair, driver, lie, scene).judged()
    for _ in range(0 if quiet else TRIES):
        if verdict.well:
            break
        verdict = Case(pair, driver, lie, scene).judged()
    for _ in range(TRIES):
        if lie.kind in ("time", "restarts") or not any(w in verdict.said for w in OF_TIME):
            return verdict
        verdict = Case(pair, driver, lie, scene).judged()
    return dataclasses.replace(verdict, excess=0.0, speed=0.0, said=f"left out: {verdict.said}")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The effects of a lie.

    Attributes:
        excess: motion of a joint beyond the positions that it may reach without the lie [rad].
        speed: largest speed of a joint, as a part of its limit.
        said: last status of the controller.
        expected: whether the status has a fault, if the row requires a fault.
    """

    excess: float
    speed: float
    said: str
    expected: bool

    @property
    def well(self):
        return self.excess <= FARTHEST and self.speed <= FASTEST and self.expected


class Case:
    """One lie in one scene."""

    def __init__(self, pair, driver, lie, scene):
        self.pair, self.driver, self.lie, self.scene = pair, driver, lie, scene
        self.limit = rb.load_urdf(find(ROBOT)).jnt_velocity

    def judged(self):
        pair, driver = self.pair, self.driver
        while not self._begins():  # a busy machine may stop the arm before the onset
            pass
        rows = self._rows()
        verdict = self._verdict(rows)
        driver.tell_the_truth()
        pair.do("disarm", "clear_fault")
        return verdict

    def _begins(self):
        """Arm and move the arm; return whether the lie began while the arm was armed."""
        pair, driver, scene = self.pair, self.driver, self.scene
        driver.tell_the_truth()
        driver.prepare(self.lie, pair.peer)
        pair.do("disarm", "clear_fault")
        pair.peer.trigger("simulator/reset")
        if self.lie.name == "gravity":
            return self._refused_on_a_slope()
        pair.arm_it(scene.mode)
        start, v = pair.arm.position.copy(), scene.speed * self._directions()
        self._ends = np.array([start, start])
        if scene.mode == "gravity":
            pair.push("tool0", 0.0, 40.0, 10.0)
            over = pair.arm.time + PUSHED
            driver.lie_when(self.lie, lambda s: s["stamp"] * 1e-9 > over)
        elif scene.speed > 0.0:
            self._ends[1] += v * (PARTS[0] + PARTS[2]) / 2 + v * PARTS[1]
            driver.lie_when(self.lie, lambda s: (np.abs(s["velocity"]) >= 0.95 * np.abs(v)).all())
            self._follow(start, v)
        if driver.onset is None and driver._when is None:
            driver.lie_when(self.lie, lambda _s: True)
        until = pair.arm.time + 2.0
        pair.peer.until(lambda: driver.onset is not None or pair.arm.time > until)
        return driver.onset is not None

    def _directions(self):
        """Return the fastest velocities of a motion for which the joints have room [rad/s]."""
        return np.array([1.0, 0.2, -0.2, 0.5, -0.3, 1.0]) * self.limit

    def _follow(self, start, v):
        points, at = [], 0.0
        place = start.copy()
        for part, after, mean in zip(PARTS, (v, v, 0.0 * v), (v / 2, v, v / 2), strict=True):
            at, place = at + part, place + mean * part
            point = JointTrajectoryPoint(positions=place.tolist(), velocities=after.tolist())
            point.time_from_start.sec = int(at)
            point.time_from_start.nanosec = round(1e9 * (at % 1.0))
            points.append(point)
        message = JointTrajectory(joint_names=self.pair.arm.names, points=points)
        self.pair.peer.send(JointTrajectory, f"{self.pair.node}/joint_trajectory", message)

    def _refused_on_a_slope(self):
        pair = self.pair
        self.driver.tilt(pair.peer, 9.81 * np.sin(np.radians(20.0)))
        pair.do(self.scene.mode)
        pair.arm.wait(0.5)
        pair.until_arming(lambda why: "measures" in why)
        self.driver.tilt(pair.peer, 0.0)
        self._ends = np.array([pair.arm.position] * 2)
        self.driver.lie_when(self.lie, lambda _s: True)
        pair.peer.until(lambda: self.driver.onset is not None)
        return True

    def _rows(self):
        """Wait for the motion after the onset; return its true states."""
        arm, stamp = self.pair.arm, self.driver.onset["stamp"] * 1e-9
        end = stamp + JUDGED
        if self.lie.name == "controller_restart":
            self.pair.restart_controller()
            end = max(end, arm.time + JUDGED)
        self.pair.peer.until(lambda: arm.time >= end)
        return [row for row in arm.rows if row[0] >= stamp - 1e-6]

    def _verdict(self, rows):
        q, v = (np.array([row[k] for row in rows]) for k in (1, 2))
        onset = self.driver.onset
        rate = COASTING if self.scene.mode == "gravity" else BRAKING
        coasted = onset["position"] + onset["velocity"] / rate
        bounds = np.vstack([self._ends, onset["position"], coasted])
        low, high = bounds.min(axis=0), bounds.max(axis=0)
        excess = float(np.maximum(np.maximum(low - q, q - high), 0.0).max())
        speed = float((np.abs(v) / self.limit).max())
        unseen = NONE in {*self.lie.codes, *self.lie.still} or self.scene.speed < 0.5
        self.pair.report()  # the status is published before this report
        said = self.pair.said[-1]
        expected = unseen or "fault" in said
        if self.lie.name == "controller_restart":
            expected = "disarmed" in said and "fault" not in said
        return Verdict(excess, speed, said, expected)
