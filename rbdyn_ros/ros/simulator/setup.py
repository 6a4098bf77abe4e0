# SPDX-License-Identifier: Apache-2.0
"""Settings, besides the node's parameters, for a program that runs the simulator inside itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.state import LoopState

if TYPE_CHECKING:
    from rclpy.node import Node


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Settings of a simulator inside another program.

    The simulator is alone in its ROS domain, so it publishes /clock without checking for another
    publisher.

    Attributes:
        parameters: parameters of the node, by name.
        change: function from the Model of the robot file to the Model to simulate, which has the
            same coordinates.
        qpos: (nq,) position at the start; None: from the parameters.
        qvel: (nv,) velocity at the start; None: zero.
        connect: called with the node when all topics are open, before time begins.
        watch: called with every record of the loop in order, in the thread that publishes. With a
            fault, a state may come twice.
        locked: whether lock-step waits for commands from tick 0 on; False: only after the first
            command.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[Model], Model] = lambda m: m
    qpos: Array | None = None
    qvel: Array | None = None
    connect: "Callable[[Node], object]" = lambda _: None
    watch: Callable[[LoopState], object] = lambda _: None
    locked: bool = True
