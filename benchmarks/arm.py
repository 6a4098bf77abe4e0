# SPDX-License-Identifier: Apache-2.0
"""A controlled arm, with simulator and controller in two processes.

    python -m benchmarks.arm [--plot FILE]

For each robot, at 500 Hz and at 1 kHz, it measures
- the drift in ten seconds of gravity compensation with the exact model,
- how far a push of 0.3 s moves the arm, when it comes to rest and how far it returns,
- the tracking error on a fast path, with computed torque and with PD control. The PD gains are
  the computed-torque gains times the diagonal of M at the start.
Then it measures, from a third process, the time from a state to the torque that answers it, the
round trip of a service call, and the controller's share of a core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np

from benchmarks.processes import NodeProcess, running_node
from benchmarks.robots import folder

#: URDF of each robot and the start positions of its joints [rad or m].
ARMS = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", (0.3, -1.2, 1.4, -0.5, 0.7, 0.2)),
    "Panda": (
        "panda_description/urdf/panda.urdf",
        (0.2, -0.5, 0.3, -1.8, 0.1, 1.6, 0.4, 0.02),
    ),
    "bundled 7-dof arm": ("", (0.2, 0.6, 0.3, -0.7, 0.2, 0.6, 0.1)),
    "UR5 with gripper": ("ur_description/urdf/ur5_gripper.urdf", (0.3, -1.2, 1.4, -0.5, 0.7, 0.2)),
}
RATES = (500, 1000)
SWING = 0.4  # amplitude of every revolute joint [rad]
SPEED = 0.5  # peak velocity as a fraction of the limits
STIFFNESS, DAMPING = 400.0, 40.0
AT_REST = 1e-3  # a faster joint has been pushed [rad/s]
SETTLED = 0.5  # tracking errors count from this time on [s]


def main(plot: File | None = None) -> None:
    """Print the tables, and draw the errors of the first robot if a file is given."""
    print("| robot | rate | drift in 10 s | pushed by | at rest after | returns by |", end="")
    print(" RMS error computed torque | PD, same gains | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    drawn: dict[str, Any] = {}
    for robot in ARMS:
        for rate in RATES:
            row = _measured(robot, rate, drawn)
            print(f"| {robot} | {rate} Hz | {row} |", flush=True)
    if plot is not None:
        _draw(plot, drawn)
    print()
    _latencies()


class User:
    """A user of the arm: subscribes to its states and calls its services.

    Args:
        controller: process of the arm controller.
    """

    def __init__(self, controller: NodeProcess) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from sensor_msgs.msg import JointState

        from rbdyn_ros.ros.arm_client import ArmClient

        rclpy.init()
        self.controller = controller
        self.node = rclpy.create_node("user")
        self.client = ArmClient(self.node, timeout=30.0)
        self.states: list[Any] = []
        self.node.create_subscription(JointState, "joint_states", self.states.append, 1000)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def listen(self, seconds: float) -> tuple[Any, Any, Any]:
        """Return times [s], positions and velocities of the states received in the given time."""
        self.states.clear()
        end = time.monotonic() + seconds
        while time.monotonic() < end or not self.states:
            self._executor.spin_once(0.01)
        rows = [(_seconds(s.header.stamp), s.position, s.velocity) for s in self.states]
        return tuple(np.array(column) for column in zip(*rows, strict=True))

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        client.wait_for_service(30.0)
        future = client.call_async(request)
        while not future.done():
            self._executor.spin_once(0.01)
        return future.result()

    def arm(self, mode: str) -> None:
        """Arm in a mode, as soon as the controller has received states."""
        self.client.set_mode(mode)
        for _ in range(20):
            self.listen(0.5)
            why = self._why_not_armed()
            if not why:
                return
        raise RuntimeError(why)

    def _why_not_armed(self) -> str:
        from rbdyn_ros.errors import RbdynError

        try:
            self.client.arm()
        except RbdynError as error:
            return str(error)
        return ""

    def close(self) -> None:
        import rclpy

        self.client.close()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()


def _seconds(stamp: Any) -> float:
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)


def _path_of(robot: str) -> File:
    from rbdyn_ros.share import bundled_robot

    name = ARMS[robot][0]
    return folder() / name if name else bundled_robot("seven_dof_arm")


@contextmanager
def simulated(robot: str, rate: int, *parameters: str) -> Iterator[None]:
    import rbdyn_ros as rb

    path = _path_of(robot)
    m = rb.load_urdf(path)
    names = [m.jnt_names[j] for j in m.dof_jntid]
    start = [f"initial_positions.{n}:={q}" for n, q in zip(names, ARMS[robot][1], strict=True)]
    with running_node(
        f"urdf:={path}",
        f"control_decimation:={1000 // rate}",
        "publish_clock:=false",
        "on_timeout:=gravity",
        *start,
        *parameters,
    ):
        yield


@contextmanager
def controlled(robot: str, *parameters: str) -> Iterator[User]:
    from rbdyn_ros.errors import RbdynError

    simulated = ("dry_run:=false", "friction_compensation:=1.0", "simulated_clock:=true")
    given = (f"urdf:={_path_of(robot)}", *simulated, *parameters)
    with running_node(*given, node="arm_controller") as controller:
        user = User(controller)
        try:
            yield user
            user.client.disarm()
        except RbdynError as error:
            print(f"{robot}: {error}\n{controller.output()}")
            raise
        finally:
            user.close()


def _measured(robot: str, rate: int, drawn: dict[str, Any]) -> str:
    """Measure a robot at a rate; return the cells of its row and add curves to `drawn`."""
    import rbdyn_ros as rb

    m = rb.load_urdf(_path_of(robot))
    d = rb.make_data(m)
    d.qpos = ARMS[robot][1]
    inertia = rb.mass_matrix(m, d).diagonal()
    with simulated(robot, rate):
        gains = (
            f"computed_torque.stiffness:=[{STIFFNESS}]",
            f"computed_torque.damping:=[{DAMPING}]",
        )
        with controlled(robot, *gains) as user:
            user.arm("gravity")
            cells = _float(user, m)
            user.client.set_mode("computed_torque")
            tracked = _track(user, m)
        pd = (
            "impedance.feedforward:=false",
            f"impedance.stiffness:={(STIFFNESS * inertia).tolist()}",
            f"impedance.damping:={(DAMPING * inertia).tolist()}",
        )
        with controlled(robot, *pd) as user:
            user.arm("impedance")
            loose = _track(user, m)
    drawn.setdefault(robot, {})[rate] = (tracked, loose)
    good, bad = tracked.rms, loose.rms
    return " | ".join(
        [*cells, f"{1e3 * good:.3f} mrad", f"{1e3 * bad:.2f} mrad", f"{bad / good:.0f}"]
    )


def _float(user: User, m: Any) -> list[str]:
    """Return the cells for the drift in gravity compensation and the reaction to a push."""
    from geometry_msgs.msg import Point, Vector3, Wrench

    from rbdyn_interfaces.srv import ApplyWrench

    _, q, _ = user.listen(10.0)
    drift = np.abs(q - q[0]).max()
    hand = m.frame_names[int(np.flatnonzero(m.frame_bodyid == m.dof_bodyid[5])[0])]
    force = Wrench(force=Vector3(x=5.0, y=5.0, z=4.0))
    request = ApplyWrench.Request(link=hand, point=Point(), wrench=force, axes="world")
    request.duration.nanosec = 300_000_000
    answer = user.call(ApplyWrench, "simulator/apply_wrench", request)
    assert answer.success, answer.message
    t, q, v = user.listen(3.5)
    _, later, _ = user.listen(1.5)
    moved = np.abs(q - q[0]).max()
    pushed = np.flatnonzero(np.abs(v).max(axis=1) > AT_REST)
    rest = t[pushed[-1]] - t[pushed[0]] - 0.3
    back = np.abs(later[-1] - q[-1]).max()
    return [
        f"{1e3 * drift:.4f} mrad",
        f"{moved:.3f} rad",
        f"{rest:.2f} s",
        f"{1e3 * back:.4f} mrad",
    ]


@dataclass(frozen=True)
class Tracked:
    """Times on the path (p,) [s] and tracking errors of all joints (p, n) [rad or m]."""

    time: Any
    error: Any

    @property
    def rms(self) -> float:
        return float(np.sqrt(np.mean(self.error[self.time > SETTLED] ** 2)))


def _track(user: User, m: Any) -> Tracked:
    """Follow a fast path and return its tracking errors."""
    from rbdyn_ros.control.motion.planning import quintic
    from rbdyn_ros.ros.arm_client import path_message

    _, q, _ = user.listen(0.2)
    names = list(user.states[-1].name)
    chosen = [m.jnt_names[j] for j in m.dof_jntid]
    k = [names.index(name) for name in chosen]
    start = q[-1][k]
    swing = np.where([m.jnt_range[m.jnt_names.index(n)][1] > 0.5 for n in chosen], SWING, 0.0)
    points = start + np.array([0.0, 1.0, -1.0, 1.0, -1.0, 0.0])[:, None] * swing
    path = quintic(points, np.arange(len(points), dtype=float))
    limits = np.array([m.jnt_velocity[m.jnt_names.index(n)] for n in chosen])
    path = path.scaled(path.duration * float((path.peaks()[0] / (SPEED * limits)).max()))
    message = path_message(path, chosen)
    begin = user.states[-1].header.stamp
    ahead = begin.sec * 10**9 + begin.nanosec + 500_000_000
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(ahead, 10**9)
    publisher = user.node.create_publisher(type(message), "arm_controller/joint_trajectory", 10)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    publisher.publish(message)
    t, q, _ = user.listen(path.duration + 0.7)
    t = t - ahead * 1e-9
    inside = (t >= 0.0) & (t <= path.duration)
    rows = np.zeros((3, len(chosen)))
    wanted = np.array([path.sample(time_, rows)[0].copy() for time_ in t[inside]])
    return Tracked(t[inside], q[inside][:, k] - wanted)


def _latencies() -> None:
    """Print latencies at 1 kHz, measured by a third process."""
    robot = "bundled 7-dof arm"
    with simulated(robot, 1000), controlled(robot) as user:
        user.arm("gravity")
        before = user.controller.cpu_seconds(), time.monotonic()
        answers = _answer_times(user)
        used = user.controller.cpu_seconds() - before[0]
        share = used / (time.monotonic() - before[1])
        trips = []
        for _ in range(500):
            begin = time.perf_counter()
            user.client.gravity_effort()
            trips.append(time.perf_counter() - begin)
    print(f"| {robot} at 1 kHz, as another process sees it | p50 | p99 |")
    print("|---|---|---|")
    for what, values in (("state to torque", answers), ("get_gravity_effort and back", trips)):
        p50, p99 = 1e6 * np.percentile(values, (50, 99))
        print(f"| {what} | {p50:.0f} us | {p99:.0f} us |")
    print(f"\nthe controller takes {100.0 * share:.0f} % of a core")


def _answer_times(user: User) -> Any:
    """Return the times [s] between the arrivals of a state and of its answer in this process."""
    from sensor_msgs.msg import JointState

    from benchmarks.processes import Listener

    topics = ("joint_states", "joint_commands")
    listener = Listener(user.node, JointState, topics)
    listener.listen(1.0)
    listener.forget()
    listener.listen(5.0)
    states, commands = (
        dict(zip(stamps, arrivals, strict=True))
        for stamps, arrivals in zip(listener.stamps, listener.arrivals, strict=True)
    )
    both = sorted(states.keys() & commands.keys())
    return np.array([commands[stamp] - states[stamp] for stamp in both]) * 1e-9


def _draw(path: File, drawn: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    robot = next(iter(drawn))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for rate, (tracked, loose) in drawn[robot].items():
        for name, run in ((f"computed torque, {rate} Hz", tracked), (f"PD, {rate} Hz", loose)):
            worst = np.maximum(1e3 * np.abs(run.error).max(axis=1), 1e-4)
            axes.semilogy(run.time, worst, linewidth=0.9, label=name)
    axes.set(xlabel="time [s]", ylabel="largest error of a joint [mrad]", title=robot)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=File, metavar="FILE", help="draw errors of the first robot")
    main(parser.parse_args().plot)
