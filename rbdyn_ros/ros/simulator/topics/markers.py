# SPDX-License-Identifier: Apache-2.0
"""External wrenches as arrows for RViz."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState
from rbdyn_ros.runtime.types import Wrench

MARKER_PERIOD = 1.0 / 30.0  # time between two publications [s]
METRES_PER_NEWTON = 0.005  # length of an arrow per force [m/N], per torque [m/(N m)]
SHORTEST, LONGEST = 0.05, 1.0  # lengths of an arrow [m]
SHAFT, HEAD = 0.015, 0.03  # diameters [m]
COLOURS = {"force": (0.9, 0.2, 0.1, 0.9), "torque": (0.1, 0.4, 0.9, 0.9)}


class WrenchMarkers:
    """Publishes an arrow for each active wrench on ~/wrench_markers: red forces, blue torques.

    Arrows are in the frames of links, so that they move with the links.

    Args:
        node: node that publishes.
        loop: loop of the robot.
        frame_prefix: prefix of the names of links in TF.

    Attributes:
        period: period of publishing [ticks].

    Raises:
        ImportError: visualization_msgs is not installed.
    """

    def __init__(self, node: Node, loop: Loop, frame_prefix: str = "") -> None:
        messages = importlib.import_module("visualization_msgs.msg")
        self._marker, self._array = messages.Marker, messages.MarkerArray
        self._point = importlib.import_module("geometry_msgs.msg").Point
        self._prefix = frame_prefix
        self.prepare(loop.m)()
        self._orders = loop.orders
        self.period = max(1, round(MARKER_PERIOD * NANOSECONDS / loop.period_ns))
        self._ticker = Ticker(self.period)
        self._shown: set[tuple[str, int]] = set()
        self._publisher = node.create_publisher(self._array, "~/wrench_markers", 10)

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it.

        Call the function while nothing publishes.
        """
        d = make_data(m)

        def commit() -> None:
            self._m, self._d = m, d

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Publish the arrows of a state if they are due and wrenches act."""
        if not self._ticker.due(state):
            return
        wrenches = self._orders.wrenches()
        if not wrenches and not self._shown:
            return
        self._d.qpos, self._d.time = state.qpos[: self._m.nq], state.time
        kinematics(self._m, self._d)
        found = {
            (what, k): self._arrow(what, k, wrench, stamp_ns)
            for k, wrench in enumerate(wrenches)
            for what in COLOURS
            if getattr(wrench, what).any()
        }
        ended = [self._deleted(*key, stamp_ns) for key in sorted(self._shown - found.keys())]
        self._shown = set(found)
        self._publisher.publish(self._array(markers=[*found.values(), *ended]))

    def _arrow(self, what: str, k: int, wrench: Wrench, stamp_ns: int) -> Any:
        name, tail, along = arrow(self._m, self._d.xmat, wrench, getattr(wrench, what))
        marker = self._named(what, k, stamp_ns)
        marker.header.frame_id = self._prefix + name
        marker.type, marker.action = self._marker.ARROW, self._marker.ADD
        marker.points = [self._at(tail), self._at(tail + along)]
        marker.scale.x, marker.scale.y = SHAFT, HEAD
        colour = marker.color
        colour.r, colour.g, colour.b, colour.a = COLOURS[what]
        marker.frame_locked = True
        return marker

    def _deleted(self, what: str, k: int, stamp_ns: int) -> Any:
        marker = self._named(what, k, stamp_ns)
        marker.action = self._marker.DELETE
        return marker

    def _named(self, what: str, k: int, stamp_ns: int) -> Any:
        marker = self._marker(ns=what, id=k)
        marker.header.stamp = time_message(stamp_ns)
        return marker

    def _at(self, vector: Array) -> Any:
        x, y, z = vector.tolist()
        return self._point(x=x, y=y, z=z)


def arrow(m: Model, xmat: Array, wrench: Wrench, vector: Array) -> tuple[str, Array, Array]:
    """Return the arrow of a wrench's force or torque: its link, its tail and its vector.

    Args:
        m: the robot.
        xmat: (nbody, 9) rotation matrices of the bodies.
        wrench: the wrench to show.
        vector: (3,) force or torque of the wrench, not zero.
    """
    body = wrench.body
    k = int(np.flatnonzero(m.frame_bodyid == body)[0])
    R = quat_to_mat(m.frame_quat[k])
    in_body = vector if wrench.in_body else xmat[body].reshape(3, 3).T @ vector
    size = float(np.linalg.norm(vector))
    length = min(max(size * METRES_PER_NEWTON, SHORTEST), LONGEST)
    tail = R.T @ (wrench.point - m.frame_pos[k])
    return m.frame_names[k], tail, R.T @ in_body * (length / size)


def open_markers(node: Node, loop: Loop, frame_prefix: str = "") -> WrenchMarkers | None:
    """Return WrenchMarkers, or None with a warning if visualization_msgs is not installed."""
    try:
        return WrenchMarkers(node, loop, frame_prefix)
    except ImportError:
        node.get_logger().warning(
            "visualization_msgs is not installed: wrenches are not shown on ~/wrench_markers"
        )
        return None
