# SPDX-License-Identifier: Apache-2.0
"""The payload of a link and a scale of the friction, estimated while an arm runs."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from std_srvs.srv import SetBool

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.identification.data.blocks import LENGTH, OVERLAP, StateBlocks
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.equations.online import KNOWN, OnlineEstimate, OnlinePayload
from rbdyn_ros.ros.arm.parameters import declared_friction
from rbdyn_ros.ros.common.answer import serve
from rbdyn_ros.ros.common.convert import fill_inertia, time_message
from rbdyn_ros.ros.common.qos import LATCHED
from rbdyn_ros.ros.common.status import Level, Status, texts

#: Interval at which blocks of states are looked for [s].
POLL = 0.1
#: Rows of ~/payload_covariance: mass, first moments and the scale of the friction.
SHOWN = [0, 1, 2, 3, KNOWN - 1]
LABELS = "mass m*x m*y m*z friction_scale"


class ArmEstimate:
    """Service `~/estimate_payload`, topics `~/payload_estimate` and `~/payload_covariance`.

    The control thread only copies states. A thread of this class estimates while it is asked to.

    Args:
        node: offers the service and publishes.
        controller: has the states.
        values: of the parameters; `estimate.link` names the link.

    Raises:
        RbdynError: no controlled joint carries the link, or the arm has springs.
    """

    def __init__(self, node: Node, controller: Controller, values: SimpleNamespace) -> None:
        self._log = node.get_logger()
        self._controller, self._link = controller, getattr(values, "estimate.link")
        self._dofs = np.array(controller.gate.limits.dofs, np.int64)
        self._friction = declared_friction(values, controller.arm.m)
        self._adds = values.robot_compensates_gravity and not values.effort_includes_gravity
        self._blocks: StateBlocks | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._time = self._taken = 0
        self._found: OnlineEstimate | None = None
        self._problem = ""
        self._warm()
        self._estimates = node.create_publisher(InertiaStamped, "~/payload_estimate", LATCHED)
        self._spreads = node.create_publisher(Float64MultiArray, "~/payload_covariance", LATCHED)
        serve(node, SetBool, "~/estimate_payload", self._answer)

    def take(self) -> None:
        """Store the newest state while it is asked to; in the control thread."""
        blocks, seen = self._blocks, self._controller.gate.measured
        if blocks is None or seen.time == self._time:
            return
        self._time = seen.time
        blocks.add(seen.time, seen.state)

    def close(self) -> None:
        """End the thread."""
        self._blocks = None
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None

    def status(self) -> Status | None:
        """Return the line of the diagnosis; None: it was never asked."""
        if self._found is None and self._thread is None:
            return None
        running = "estimating" if self._thread is not None else "ended"
        level = Level.WARN if self._problem else Level.OK
        message = self._problem or running
        values: dict[str, object] = {"running": self._thread is not None, "link": self._link}
        if self._found is not None:
            std, com, spread = self._found.std, self._found.com, self._found.com_std
            values |= {"mass": self._found.mass, "mass_std": float(std[0])}
            values |= {f"com_{axis}": float(com[k]) for k, axis in enumerate("xyz")}
            values |= {f"com_{axis}_std": float(spread[k]) for k, axis in enumerate("xyz")}
            scale = {"friction_scale": self._found.friction_scale}
            values |= scale | {"friction_scale_std": float(std[-1]), "seconds": self._seconds}
        return Status("payload estimate", level, message, texts(values))

    def _answer(self, request: Any, _response: Any) -> str:
        if request.data == (self._thread is not None):
            said = "already runs" if request.data else "does not run"
            raise refusal(f"the estimate of the payload {said}", "estimate")
        if not request.data:
            self.close()
            return self._text()
        self._found, self._problem, self._taken = None, "", 0
        self._stop.clear()
        self._blocks = self._new_blocks()
        run, blocks = self._run, (self._blocks,)
        self._thread = threading.Thread(target=run, args=blocks, name="rbdyn-load", daemon=True)
        self._thread.start()
        return f"estimating the payload of '{self._link}'; the first estimate takes {LENGTH:g} s"

    def _text(self) -> str:
        found = self._found
        if found is None:
            return self._problem or f"no estimate yet: it takes {LENGTH:g} s of states"
        x, y, z = found.com
        return (
            f"{found.mass:.4g} +- {found.std[0]:.2g} kg at {x:.3g} {y:.3g} {z:.3g} m +- "
            f"{found.com_std.max():.2g} m, friction {found.friction_scale:.3g} +- "
            f"{found.std[-1]:.2g} times the declared one, after {self._seconds:.3g} s"
        )

    @property
    def _seconds(self) -> float:
        """Time of the motion that counts [s]."""
        return self._taken * (LENGTH - OVERLAP)

    def _new_blocks(self) -> StateBlocks:
        names = [self._controller.arm.names[dof] for dof in self._dofs]
        return StateBlocks(names, self._dofs, self._controller.arm.m.nv)

    def _online(self, arm: Arm) -> OnlinePayload:
        """Return an estimate that begins, of an arm with its payloads on other links."""
        bare = arm.with_payload(self._link, 0.0, (0.0, 0.0, 0.0))
        link, adds = bare.m.frame_id(self._link), bare.bare if self._adds else None
        return OnlinePayload(bare.m, self._dofs, link, self._friction, adds)

    def _warm(self) -> None:
        """Compile everything, with a block of an arm at rest."""
        m, time = self._controller.arm.m, np.arange(0.0, LENGTH, 0.01)
        rows = np.tile(m.qpos0[self._dofs], (len(time), 1))
        names = tuple(self._controller.arm.names[dof] for dof in self._dofs)
        still = Samples(names, time, rows, 0.0 * rows, 0.0 * rows + 1.0)
        self._online(self._controller.arm).update(still, m.qpos0)

    def _run(self, blocks: StateBlocks) -> None:
        arm = self._controller.arm
        online, lost = self._online(arm), 0
        while not self._stop.wait(POLL):
            if _others(self._controller.arm, self._link) != _others(arm, self._link):
                arm = self._controller.arm  # another payload elsewhere
                online, self._taken = self._online(arm), 0
            block = blocks.take()
            if blocks.lost != lost:
                lost = blocks.lost
                online.interrupt()
            if block is not None:
                self._update(online, *block)

    def _update(self, online: OnlinePayload, samples: Samples, qpos: Array) -> None:
        stamp = self._time
        try:
            self._check(samples)
            self._found = online.update(samples, qpos)
        except RbdynError as error:
            online.interrupt()
            self._problem = f"states are not used: {error}"
            self._log.warning(self._problem, throttle_duration_sec=10.0)
            return
        self._problem, self._taken = "", self._taken + 1
        self._publish(self._found, stamp)

    def _check(self, samples: Samples) -> None:
        """Raise RbdynError if an effort is not measured."""
        lacks = np.isnan(samples.effort).any(axis=0)
        if lacks.any():
            name = samples.names[int(np.argmax(lacks))]
            raise refusal(f"the driver reports no effort of joint '{name}'", "estimate", name)

    def _publish(self, found: OnlineEstimate, stamp: int) -> None:
        message = InertiaStamped()
        message.header.frame_id, message.header.stamp = self._link, time_message(stamp)
        fill_inertia(message.inertia, found.mass, found.com, found.inertia)
        rows = np.vstack([found.values[SHOWN], found.covariance[np.ix_(SHOWN, SHOWN)]])
        spread = Float64MultiArray(data=rows.ravel().tolist())
        n = len(SHOWN)
        spread.layout.dim = [
            MultiArrayDimension(label="values, then covariance", size=n + 1, stride=n * (n + 1)),
            MultiArrayDimension(label=LABELS, size=n, stride=n),
        ]
        self._spreads.publish(spread)
        self._estimates.publish(message)


def _others(arm: Arm, link: str) -> dict[str, Any]:
    """Return the payloads of other links."""
    return {name: payload for name, payload in arm.payloads.items() if name != link}


def open_estimate(
    node: Node, controller: Controller, values: SimpleNamespace
) -> ArmEstimate | None:
    """Return ArmEstimate, or None if no parameter names a link."""
    return ArmEstimate(node, controller, values) if getattr(values, "estimate.link") else None
