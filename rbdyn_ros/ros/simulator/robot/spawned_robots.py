# SPDX-License-Identifier: Apache-2.0
"""The topics of spawned robots; each robot has a namespace of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.common.parsing.commands import CommandParser, command_parser
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.ros.simulator.topics.commanders import AnswerAges
from rbdyn_ros.ros.simulator.topics.outputs import Outputs
from rbdyn_ros.ros.simulator.topics.reception import Reception
from rbdyn_ros.ros.simulator.topics.state_topics import JointStates
from rbdyn_ros.ros.simulator.world.world import SpawnedRobot, World
from rbdyn_ros.runtime.loop import Loop


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """The node of a spawned robot and its topics."""

    robot: SpawnedRobot
    node: Node
    states: JointStates
    reception: Reception
    description: Any  # a publisher, or None


class SpawnedRobots:
    """Opens and closes the topics of spawned robots; only the thread of the node may use it.

    Args:
        node: node of the initial robot; its executor serves the other nodes.
        loop: simulates all robots.
        outputs: topics with the states.
        stamps: stamps of the ticks of the loop.
        ages: refuses late commands.
        partial: as for CommandParser.
    """

    def __init__(
        self,
        node: Node,
        loop: Loop,
        outputs: Outputs,
        stamps: TickStamps,
        ages: AnswerAges,
        partial: str,
    ) -> None:
        self._node, self._loop, self._outputs = node, loop, outputs
        self._stamps, self._ages, self._partial = stamps, ages, partial
        self._open: dict[str, _Open] = {}
        self._new: list[Node] = []
        self._accepted = self._rejected = 0  # numbers of messages for deleted robots

    @property
    def receptions(self) -> tuple[Reception, ...]:
        """Receptions of the present spawned robots."""
        return tuple(one.reception for one in self._open.values())

    @property
    def accepted(self) -> int:
        """Number of accepted messages, including messages for deleted robots."""
        return self._accepted + sum(one.log.accepted for one in self.receptions)

    @property
    def rejected(self) -> int:
        """Number of rejected messages, including messages for deleted robots."""
        return self._rejected + sum(one.log.rejected for one in self.receptions)

    def prepare(self, world: World) -> Callable[[], None]:
        """Open the topics of a world's robots; return the function that switches to them.

        New topics are served only after the switch; `abandon` closes them if the world is refused.
        """
        found, acts = dict[str, _Open](), list[Callable[[], None]]()
        for name, robot in world.robots.items():
            joints = SingleJoints.all(world.m).below(f"{name}/")
            parser = command_parser(world.m, world.loose, self._partial, f"{name}/")
            one = self._open.get(name)
            if one is None or one.robot != robot:
                found[name] = self._make(robot, world.m, joints, parser)
                continue
            found[name] = one
            acts.append(one.states.prepare(world.m, joints))
            acts.append(partial(one.reception.use, parser))

        def commit() -> None:
            for act in acts:
                act()
            self._exchange(found)

        return commit

    def abandon(self) -> None:
        """Close the topics that `prepare` opened but that were not switched to."""
        for node in self._new:
            node.destroy_node()
        self._new.clear()

    def close(self) -> None:
        """Close all topics."""
        for one in self._open.values():
            one.node.destroy_node()
        self._open.clear()

    def _make(
        self, robot: SpawnedRobot, m: Model, joints: SingleJoints, parser: CommandParser
    ) -> _Open:
        node = Node(
            self._node.get_name(),
            namespace=robot.namespace,
            context=self._node.context,
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self._new.append(node)
        states = JointStates(node, m, joints)
        reception = Reception(node, self._loop, parser, None, None, self._stamps, self._ages)
        description = None
        if robot.urdf:
            description = node.create_publisher(String, "robot_description", LATCHED)
        return _Open(robot, node, states, reception, description)

    def _exchange(self, found: dict[str, _Open]) -> None:
        """Close the topics of deleted robots, and serve the topics of new robots."""
        before, self._open = self._open, found
        self._new.clear()
        for name, one in before.items():
            if found.get(name) is not one:
                self._close(one)
        for name, one in found.items():
            if before.get(name) is not one:
                self._serve(one)
        self._outputs.spawned = tuple(one.states for one in found.values())

    def _serve(self, one: _Open) -> None:
        if one.description is not None:
            one.description.publish(String(data=one.robot.urdf))
        if (executor := self._node.executor) is not None:
            executor.add_node(one.node)

    def _close(self, one: _Open) -> None:
        log = one.reception.log
        self._accepted += log.accepted
        self._rejected += log.rejected
        if (executor := self._node.executor) is not None:
            executor.remove_node(one.node)
        one.node.destroy_node()
