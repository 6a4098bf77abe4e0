# SPDX-License-Identifier: Apache-2.0
"""External efforts of a simulated robot, estimated from its joint_states."""

from collections.abc import Callable
from types import SimpleNamespace

from rclpy.node import Node

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.tool.external import ExternalTopics, shows
from rbdyn_ros.ros.simulator.topics.driver import friction
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState


class ExternalEfforts:
    """Estimates external efforts from each measurement; publishes them as often as joint_states.

    The observer uses the robot file, with its friction but without payloads.

    Args:
        node: node that publishes.
        loop: loop of the robot.
        values: values of the parameters.
        every: period of publishing [ticks].
    """

    #: Period of the observer, which uses every state [ticks].
    period = 1

    def __init__(self, node: Node, loop: Loop, values: SimpleNamespace, every: int) -> None:
        if values.actuator_effort == "current":
            text = (
                "external.time_constant is set, but joint_states.effort is a current; the "
                "estimate needs torques: set actuator_effort to torque"
            )
            raise ParameterError(Finding("external", text, "error", "external.time_constant"))
        self._topics = ExternalTopics(node, loop.m, values, values.frame_prefix)
        self._period_ns, self._ticker = loop.period_ns, Ticker(every)
        self.prepare(loop.m)()

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        go_on, joints = self._topics.prepare(m), SingleJoints.free(m)

        def commit() -> None:
            go_on()
            self._m, self._joints = m, joints
            self._last = (-1, -1)

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Update the estimate if the measurement of a state is new; publish it if due."""
        (epoch, before), tick = self._last, state.measured_tick
        if tick < 0 or (epoch, before) == (state.epoch, tick):
            return
        self._last = (state.epoch, tick)
        observer, m, period_ns = self._topics.observer, self._m, self._period_ns
        if epoch != state.epoch or tick < before:
            observer.reset()
        qpos, qvel = state.qpos.copy(), state.measured_velocity[: m.nv]
        qpos[self._joints.qposadr] = state.measured_position[self._joints.dofadr]
        effort = state.measured_effort[: m.nv] - friction(m, qvel)
        observer.update(qpos, qvel, effort, (tick - before) * period_ns / NANOSECONDS)
        if self._ticker.due(state):
            self._topics.publish(stamp_ns - (state.tick - tick) * period_ns)


def open_external(
    node: Node, loop: Loop, values: SimpleNamespace, every: int
) -> ExternalEfforts | None:
    """Return ExternalEfforts, or None if the parameters disable them."""
    return ExternalEfforts(node, loop, values, every) if shows(values) else None
