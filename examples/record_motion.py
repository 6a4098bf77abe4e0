# SPDX-License-Identifier: Apache-2.0
"""Let an arm make a motion of `rbdyn excite`, and record it for `rbdyn identify`.

A controller that accepts a JointTrajectory, such as arm_controller, must be armed.
The arm first moves slowly to the start of the motion, including joints that do not move in it. The
program stops the arm if it does not follow, and after Ctrl-C:
    python examples/record_motion.py motion.csv recording.csv
    python examples/record_motion.py motion.csv recording.csv --topic joint_trajectory
The second command is for the simulator, whose own servos follow the motion.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import rclpy
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.identification.data.csv_files import read_table, write_csv
from rbdyn_ros.identification.data.samples import checked_samples
from rbdyn_ros.loading.output import output_path

#: Speed of the approach to the start [rad/s or m/s], and its shortest duration [s].
APPROACH_SPEED, APPROACH_TIME = 0.2, 2.0
#: Time recorded after the motion [s].
AFTERWARDS = 0.3
#: Allowed distance from the start when the motion begins [rad or m].
NEAR = 0.1
#: After half the time of the approach, an arm that moves has covered this fraction of the way.
UNDER_WAY = 0.1
#: Number of attempts to send the motion, as the first message may be lost while nodes connect.
TRIES = 2
#: Longest time without states [s].
PATIENCE = 10.0


class Recorder:
    """Sends the motion, and records the states during the motion."""

    def __init__(self, topic: str, names: tuple[str, ...], signals: list[int]) -> None:
        self.names, self.signals = names, signals
        self.rows: list[np.ndarray] = []
        self.stamp, self.position = 0, np.zeros(0)
        self.start = sys.maxsize  # start of the motion on the clock of the states [ns]
        self.judge: Callable[[], str] = str  # returns why the motion failed, or ""
        self.node = rclpy.create_node("record_motion")
        self.publisher = self.node.create_publisher(JointTrajectory, topic, 1)
        # best effort matches every publisher; the queue keeps messages during pauses of this
        # process
        qos = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.node.create_subscription(JointState, "joint_states", self.take, qos)

    def take(self, state: JointState) -> None:
        if not set(self.names) <= set(state.name):
            return
        columns = [list(state.name).index(name) for name in self.names]
        row = np.full((3, len(self.names)), np.nan)
        for kept, values in zip(row, (state.position, state.velocity, state.effort), strict=True):
            if len(values) == len(state.name):
                kept[:] = np.asarray(values)[columns]
        self.stamp = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        self.position = row[0]
        if self.stamp >= self.start:
            self.rows.append(np.append(1e-9 * (self.stamp - self.start), row))

    def spin_once(self) -> None:
        """Handle a message; raise KeyboardInterrupt after Ctrl-C, never within a message."""
        rclpy.spin_once(self.node, timeout_sec=0.1)
        if self.signals:
            raise KeyboardInterrupt

    def states_until(self, stamp: int) -> str:
        """Record states up to a stamp [ns]; return an error message or ""."""
        before, heard = self.stamp, time.monotonic()
        while self.stamp < stamp:
            self.spin_once()
            if self.stamp != before:
                before, heard = self.stamp, time.monotonic()
                failure = self.judge()
                if failure:
                    return failure
            if time.monotonic() > heard + PATIENCE:
                return f"no states of {', '.join(self.names)} on joint_states"
        return ""

    def send(self, times: np.ndarray, rows: list[np.ndarray]) -> None:
        points = [
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=v.tolist(),
                accelerations=a.tolist(),
                time_from_start=Duration(nanoseconds=round(1e9 * t)).to_msg(),
            )
            for t, q, v, a in zip(times, *rows, strict=True)
        ]
        self.publisher.publish(JointTrajectory(joint_names=list(self.names), points=points))

    def stop(self) -> None:
        """Stop the arm: a trajectory without points ends the current trajectory."""
        self.publisher.publish(JointTrajectory(joint_names=list(self.names)))
        self.publisher.wait_for_all_acked(Duration(seconds=1.0))


def record(recorder: Recorder, times: np.ndarray, rows: list[np.ndarray], patience: float) -> str:
    """Make and record the motion; return an error message or "".

    Args:
        recorder: publishes the motion and keeps the states that it receives.
        times: from the start of the motion [s].
        rows: arrays of positions, velocities and accelerations, each with one row per time.
        patience: how long to wait for a controller [s].
    """
    give_up = time.monotonic() + patience
    while recorder.publisher.get_subscription_count() == 0:
        if time.monotonic() > give_up:
            return f"no controller subscribes to {recorder.publisher.topic_name}"
        recorder.spin_once()
    failure = recorder.states_until(1)
    if failure:
        return failure
    failure = approach(recorder, times, rows)
    if failure:
        return failure
    recorder.judge = lambda: strayed(recorder, times, rows[0])
    return recorder.states_until(recorder.start + round(1e9 * (times[-1] + AFTERWARDS)))


def approach(recorder: Recorder, times: np.ndarray, rows: list[np.ndarray]) -> str:
    """Send the motion and wait until the arm is at its start; return an error message or ""."""
    lost = "the arm does not go to the start: is it armed, and does it follow trajectories?"
    for _ in range(TRIES):
        farthest = distance(recorder, rows[0][0])
        seconds = max(APPROACH_TIME, farthest / APPROACH_SPEED)
        print(f"to the start in {seconds:.1f} s, then the motion of {times[-1]:.1f} s", flush=True)
        half = recorder.stamp + round(0.5e9 * seconds)
        recorder.start = recorder.stamp + round(1e9 * seconds)
        recorder.send(times + seconds, rows)
        failure = recorder.states_until(half)
        if failure:
            return failure
        if farthest < NEAR or distance(recorder, rows[0][0]) < (1.0 - UNDER_WAY) * farthest:
            failure = recorder.states_until(recorder.start)
            return failure or ("" if distance(recorder, rows[0][0]) < NEAR else lost)
    return lost


def distance(recorder: Recorder, qpos: np.ndarray) -> float:
    """Return the largest distance of a joint from its target [rad or m]."""
    return float(np.abs(recorder.position - qpos).max())


def strayed(recorder: Recorder, times: np.ndarray, qpos: np.ndarray) -> str:
    """Return an error if the arm left the motion, as after a fault of its controller, else ""."""
    late = 1e-9 * (recorder.stamp - recorder.start)
    wanted = np.array([np.interp(late, times, column) for column in qpos.T])
    if distance(recorder, wanted) < NEAR or not np.isfinite(recorder.position).all():
        return ""
    return f"the arm left the motion at {late:.2f} s; see the log of its controller"


def chosen(
    names: tuple[str, ...], rows: list[np.ndarray], joints: list[str] | None
) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Return the motion of the given joints; joints left out must not move in it."""
    kept = [k for k, name in enumerate(names) if joints is None or name in joints]
    moved = np.flatnonzero(np.ptp(rows[0], axis=0) > 0.0)
    unknown = set(joints or ()) - set(names)
    if unknown or not set(moved) <= set(kept):
        text = f"--joints must name all joints that move: {', '.join(names[k] for k in moved)}"
        more = f"; the motion has no joint {', '.join(sorted(unknown))}" if unknown else ""
        raise ParameterError(Finding("other-joints", text + more, "error", "joints"))
    return tuple(names[k] for k in kept), [columns[:, kept] for columns in rows]


def main() -> str:
    """Read the command line and record; return an error message or ""."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("motion", type=Path, help="a .csv file of `rbdyn excite`")
    parser.add_argument("recording", type=Path, help="the .csv file to write")
    parser.add_argument("--topic", default="arm_controller/joint_trajectory")
    parser.add_argument("--joints", nargs="+", help="joints of the controller (all of the motion)")
    parser.add_argument(
        "--wait",
        type=float,
        default=30.0,
        help="time to wait for the controller [s] (%(default)s)",
    )
    options = parser.parse_args()
    try:
        output_path(options.recording, "a recording", (".csv",))
        names, times, rows = read_table(options.motion, ("position", "velocity", "acceleration"))
        names, rows = chosen(names, rows, options.joints)
    except RbdynError as error:
        return str(error)
    # rclpy must outlive Ctrl-C, to stop the arm
    signals: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    recorder = Recorder(options.topic, names, signals)
    try:
        failure = record(recorder, times, rows, options.wait)
    except KeyboardInterrupt:
        failure = "interrupted; nothing was recorded"
    if failure:
        recorder.stop()
    recorder.node.destroy_node()
    rclpy.shutdown()
    if failure:
        return failure
    table = np.array(recorder.rows)
    qpos, qvel, effort = np.split(table[:, 1:], 3, axis=1)
    try:
        samples = checked_samples("joint_states", names, table[:, 0], qpos, qvel, effort)
        write_csv(options.recording, samples)
    except RbdynError as error:
        return str(error)
    print(f"{len(samples.time)} samples are in {options.recording}")
    return ""


if __name__ == "__main__":
    sys.exit(main() or 0)
