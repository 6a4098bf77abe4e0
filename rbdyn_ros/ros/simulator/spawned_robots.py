"""The topics of robots that were spawned, each in a namespace of its own."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node
from std_msgs.msg import String

from rbdyn_ros.ros.common.commands import command_parser
from rbdyn_ros.ros.common.qos import LATCHED
from rbdyn_ros.ros.common.single_joints import SingleJoints
from rbdyn_ros.ros.common.stamps import TickStamps
from rbdyn_ros.ros.simulator.commanders import AnswerAges
from rbdyn_ros.ros.simulator.outputs import JointStates, Outputs
from rbdyn_ros.ros.simulator.reception import Reception
from rbdyn_ros.ros.simulator.world import SpawnedRobot, World
from rbdyn_ros.runtime.loop import Loop


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """The node of a spawned robot and its topics."""

    robot: SpawnedRobot
    node: Node
    states: JointStates
    reception: Reception


class SpawnedRobots:
    """Opens and closes topics as robots come and go; for the thread that serves the node.

    Args:
        node: of the robot of the start; its executor serves the others.
        loop: simulates all of them.
        outputs: publish the states.
        stamps: of the ticks of the loop.
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

    def move(self, world: World) -> None:
        """Go on with the robots of a world."""
        for name, one in list(self._open.items()):
            if world.robots.get(name) != one.robot:
                self._close(self._open.pop(name))
        for name, robot in world.robots.items():
            joints = SingleJoints.all(world.m).below(f"{name}/")
            parser = command_parser(world.m, world.loose, self._partial, f"{name}/")
            if name in self._open:
                self._open[name].states.prepare(world.m, joints)()
                self._open[name].reception.use(parser)
                continue
            node = self._make_node(robot)
            states = JointStates(node, world.m, joints)
            reception = Reception(node, self._loop, parser, None, None, self._stamps, self._ages)
            self._open[name] = _Open(robot, node, states, reception)
        self._outputs.spawned = tuple(one.states for one in self._open.values())

    def close(self) -> None:
        """Close all topics."""
        for one in self._open.values():
            one.node.destroy_node()
        self._open.clear()

    def _make_node(self, robot: SpawnedRobot) -> Node:
        node = Node(
            self._node.get_name(),
            namespace=robot.namespace,
            context=self._node.context,
            use_global_arguments=False,
            start_parameter_services=False,
        )
        if robot.urdf:
            description = node.create_publisher(String, "robot_description", LATCHED)
            description.publish(String(data=robot.urdf))
        if (executor := self._node.executor) is not None:
            executor.add_node(node)
        return node

    def _close(self, one: _Open) -> None:
        if (executor := self._node.executor) is not None:
            executor.remove_node(one.node)
        one.node.destroy_node()
