# SPDX-License-Identifier: Apache-2.0
"""Settings, besides the node's parameters, of a program that runs the simulator in itself."""

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
        change: returns the Model to simulate, given the Model of the robot file; both have the
            same coordinates.
        qpos: (nq,) position at the start; None: as the parameters say.
        qvel: (nv,) velocity at the start; None: at rest.
        connect: called with the node when all topics are open, before time begins.
        watch: called with every record of the loop in order, in the thread that publishes; a state
            may come again, with a fault.
        locked: whether lock-step waits for commands from tick 0 on, not only after the first
            answer.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[Model], Model] = lambda m: m
    qpos: Array | None = None
    qvel: Array | None = None
    connect: "Callable[[Node], object]" = lambda _: None
    watch: Callable[[LoopState], object] = lambda _: None
    locked: bool = True
