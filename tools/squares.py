# SPDX-License-Identifier: Apache-2.0
"""Draw how bases drive a square of 1 m by their odometry: docs/pictures/squares.png.

    PYTHONPATH=.:test:examples .venv/bin/python tools/squares.py [--out FOLDER]

The client comes from examples/drive_square.py. The loop runs without ROS, in periods of 10 ms.
It also prints the true distance of each base from its start at the end, and the true angle of a
rotation in place for each full turn that its odometry measures.
"""

import argparse
import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import drive_square  # type: ignore[import-not-found]  # on PYTHONPATH
import numpy as np
from support.mobile import car
from support.robots import find
from support.rovers import SKID_STEER, TURTLEBOT3, TURTLEBOT4

import rbdyn_ros as rb
from rbdyn_ros.arrays import Array
from rbdyn_ros.control.mobile.driving import WheelDrive, ramped
from rbdyn_ros.control.mobile.wheels import wheel_base
from rbdyn_ros.description.source import read
from rbdyn_ros.loading.load import complete
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.simulator.topics.base_joints import (
    BaseJoints,
    PlanarJoints,
    WheelJoints,
    with_planar_base,
)
from rbdyn_ros.runtime.loop import Loop, warm
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.view.pictures.canvas import new_figure

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
ACCELERATION, PERIOD = np.array([1.0, 1.0, 3.0]), 0.01


class LoopDriver(drive_square.Driver):  # type: ignore[misc]
    """The client of the example, which drives a simulation without ROS."""

    def __init__(self, m: Model, joints: BaseJoints) -> None:
        self.speed, self.turning = 0.3, 0.6
        warm(m)
        settings = LoopSettings(
            command_timeout=1e6,
            realtime="off",
            time_mode="fast",
            start_paused=True,
            on_timeout="hold",
        )
        self.loop, self.m, self.joints = Loop(m, settings), m, joints
        self._twist = self._target = np.zeros(3)
        self.way: list[Array] = []
        self.loop.start()

    def wait(self) -> tuple[float, float, float]:
        """Simulate one period; return the pose by odometry."""
        self._twist = ramped(self._twist, self._target, ACCELERATION, PERIOD)
        self.loop.orders.command(self.joints.command(self.m, self._twist))
        self.loop.time.step(round(1000 * PERIOD))
        while (state := self.loop.readout.next_state(0.0)) is not None:
            last = state
        self.joints.measure(self.m, last, PERIOD)
        self.way.append(self._truth(last.qpos))
        x, y, angle = self.joints.pose
        return float(x), float(y), float(angle)

    def _truth(self, qpos: Array) -> Array:
        if isinstance(self.joints, PlanarJoints):
            place: Array = self.joints.pose.copy()
            return place
        return np.array([*qpos[:2], 2.0 * math.atan2(qpos[6], qpos[3])])

    def send(self, forward: float, left: float, turn: float) -> None:
        """Set the twist that the robot follows [m/s, m/s, rad/s]."""
        self._target = np.array([forward, left, turn])


def on_wheels(m: Model, kind: str = "", scale: float = 1.0) -> LoopDriver:
    """Return the driver of a base on wheels; scale: base.track_scale."""
    return LoopDriver(m, WheelJoints(WheelDrive(wheel_base(m, kind), scale), 0.01, m))


def floating(source: str | Path) -> Model:
    """Return the Model of a robot file, with a floating base on a floor."""
    return rb.load_urdf(source, floating_base=True, contact=True)


def planar() -> LoopDriver:
    """Return the driver of a car that slides."""
    return LoopDriver(complete(with_planar_base(read(car()))), PlanarJoints())


#: For each name: a function that returns the driver, and the radius of the corners [m].
SQUARES: dict[str, tuple[Callable[[], LoopDriver], float]] = {
    "differential: TurtleBot 3": (lambda: on_wheels(TURTLEBOT3.model()), 0.0),
    "public URDF: TIAGo": (lambda: on_wheels(floating(find("tiago_no_hand.urdf"))), 0.0),
    "skid-steer": (lambda: on_wheels(SKID_STEER.model(), "skid_steer", 1.814), 0.0),
    "Ackermann": (lambda: on_wheels(floating(car())), 0.8),
    "planar": (planar, 0.0),
}
#: For each name: a function that returns the driver of a robot that turns in place.
TURNS: dict[str, Callable[[], LoopDriver]] = {
    "TurtleBot 3": lambda: on_wheels(TURTLEBOT3.model()),
    "TurtleBot 3, wheels of 2 mm": lambda: on_wheels(
        dataclasses.replace(TURTLEBOT3, width=0.002).model()
    ),
    "TurtleBot 3, caster with friction": lambda: on_wheels(floating(TURTLEBOT3.urdf)),
    "TurtleBot 4": lambda: on_wheels(TURTLEBOT4.model()),
    "TIAGo": lambda: on_wheels(floating(find("tiago_no_hand.urdf"))),
    "Husky": lambda: on_wheels(SKID_STEER.model(), "skid_steer"),
}


def turned(driver: LoopDriver) -> float:
    """Return the true rotation per rotation that odometry measures."""
    for _ in range(30):
        driver.wait()
    begun = len(driver.way)
    driver.send(0.0, 0.0, 0.6)
    for _ in range(600):
        driver.wait()
    angles = np.unwrap([row[2] for row in driver.way[begun - 1 :]])
    driver.loop.stop()
    return float((angles[-1] - angles[0]) / driver.joints.pose[2])


def main() -> None:
    """Drive all squares, draw the true paths and print the numbers of the guide."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="FOLDER")
    folder = parser.parse_args().out
    figure = new_figure(10.0, 2.6, 80.0)
    figure.set_layout_engine("constrained")
    for axes, (name, (begin, radius)) in zip(
        figure.subplots(1, len(SQUARES)), SQUARES.items(), strict=True
    ):
        driver = begin()
        for _ in range(30):
            driver.wait()
        first = len(driver.way)
        driver.square(1.0, radius)
        driver.loop.stop()
        way = np.array(driver.way[first:])
        off = math.hypot(*(way[-1] - way[0])[:2])
        length = 4.0 + 2.0 * math.pi * radius
        print(f"{name:28} closes within {1e3 * off:6.1f} mm of {length:.1f} m", flush=True)
        axes.plot(way[:, 0], way[:, 1])
        axes.plot(*way[0, :2], "o")
        axes.set(title=name, aspect="equal", xlabel="x [m]")
    figure.savefig(folder / "squares.png")
    for name, begin in TURNS.items():
        print(f"{name:36} turns {turned(begin()):.4f}", flush=True)


if __name__ == "__main__":
    main()
