# SPDX-License-Identifier: Apache-2.0
"""The topics ~/external_effort and ~/external_wrench: efforts that act on a robot from outside."""

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.dynamics.toolbox.momentum_observer import MomentumObserver
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints


class ExternalTopics:
    """Estimates external efforts by a momentum observer and publishes them.

    The wrench acts on the link `external.link`, at its origin and in its axes.

    Args:
        node: node that publishes.
        m: the robot.
        values: values of the parameters EXTERNAL; the time constant is not 0.
        frame_prefix: prefix of the names of links in TF.
        joints: joints whose efforts are published; None: all joints with one coordinate and a
            degree of freedom.

    Raises:
        RbdynError: the link is unknown, or the time constant is too short.
    """

    def __init__(
        self,
        node: Node,
        m: Model,
        values: SimpleNamespace,
        frame_prefix: str = "",
        joints: Collection[str] | None = None,
    ) -> None:
        self._joints = joints
        self._gain = 1.0 / getattr(values, "external.time_constant")
        self._link: str = getattr(values, "external.link")
        self._threshold: float = getattr(values, "external.threshold")
        self.prepare(m)()
        self._efforts = node.create_publisher(JointState, "~/external_effort", reliable(100))
        self._wrench: Any = None
        if self._link:
            m.frame_id(self._link)
            self._marked = Prepared(convert.wrench_message(frame_prefix + self._link), 6)
            self._wrench = node.create_publisher(WrenchStamped, "~/external_wrench", reliable(100))

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare to observe a new Model of the robot; return the function that switches to it."""
        observer, free = MomentumObserver(m, self._gain), SingleJoints.free(m)
        dofs = {
            name: dof
            for name, dof in zip(free.names, free.dofadr, strict=True)
            if self._joints is None or name in self._joints
        }
        message = JointState(name=list(dofs), effort=convert.marks(0, len(dofs)))
        prepared = Prepared(convert.marked(message), len(dofs))

        def commit() -> None:
            self.observer, self._message = observer, prepared
            self._dofs = np.array(list(dofs.values()), np.int64)

        return commit

    def publish(self, stamp_ns: int) -> None:
        """Publish the observer's newest estimates with a stamp [ns]."""
        efforts = self.observer.residual[self._dofs]
        quiet = not (np.abs(efforts) > self._threshold).any()
        shown = np.zeros_like(efforts) if quiet else efforts
        self._efforts.publish(self._message.filled(stamp_ns, shown))
        if self._wrench is not None:
            wrench = np.zeros(6)
            if not quiet:
                wrench = self.observer.wrench(self._link, "local", self._dofs)
            self._wrench.publish(self._marked.filled(stamp_ns, np.roll(wrench, 3)))


def shows(values: SimpleNamespace) -> bool:
    """Return whether the parameters enable the topics."""
    return bool(getattr(values, "external.time_constant") > 0.0)
