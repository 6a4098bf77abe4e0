# SPDX-License-Identifier: Apache-2.0
"""Estimate the payload of a link and a scale of the friction while an arm runs."""

import threading
from dataclasses import dataclass, field, replace
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
from rbdyn_ros.identification.equations.online import KNOWN, SURE, OnlineEstimate, OnlinePayload
from rbdyn_ros.ros.arm.parameters import declared_friction
from rbdyn_ros.ros.common.graph.qos import LATCHED
from rbdyn_ros.ros.common.parsing.convert import fill_inertia, time_message
from rbdyn_ros.ros.common.reports.answer import serve
from rbdyn_ros.ros.common.reports.status import Level, Status, texts

#: Interval of the checks for new blocks of states [s].
POLL = 0.1
#: Rows of ~/payload_covariance: mass, first moments of mass and the scale of the friction.
SHOWN = [0, 1, 2, 3, KNOWN - 1]
LABELS = "mass m*x m*y m*z friction_scale"
UNARMED = "states are not used: the arm is not armed, so brakes or friction may hold it"
RELOADED = "the payload of another link has changed: the estimate begins anew"


@dataclass(frozen=True, slots=True)
class _Said:
    """The newest result of a run. It is one object, so that a thread reads values that match.

    Attributes:
        found: the newest estimate; None: there is no estimate yet.
        taken: number of blocks of states in the estimate.
        problem: reason why the newest states are not used, or why the run has failed; empty: no
            problem.
    """

    found: OnlineEstimate | None = None
    taken: int = 0
    problem: str = ""

    @property
    def seconds(self) -> float:
        """Duration of the motion in the estimate [s]."""
        return self.taken * (LENGTH - OVERLAP)

    @property
    def text(self) -> str:
        """The result in words."""
        found = self.found
        if found is None:
            return self.problem or f"no estimate yet: it takes {LENGTH:g} s of states"
        x, y, z = found.com
        return (
            f"{found.mass:.4g} +- {found.std[0]:.2g} kg at {x:.3g} {y:.3g} {z:.3g} m +- "
            f"{found.com_std.max():.2g} m, friction {found.friction_scale:.3g} +- "
            f"{found.std[-1]:.2g} times the declared friction, after {self.seconds:.3g} s"
        )


@dataclass(slots=True, eq=False)
class _EstimateRun:
    """A run of the estimate, from `data: true` to `data: false`.

    Attributes:
        blocks: states, which the control thread adds.
        missed: number of states that the control thread left out because the arm was not armed.
        stop: set to end the run.
        said: the newest result of the run.
        failed: whether an error ended the run.
        thread: the thread that estimates; None before it is made.
    """

    blocks: StateBlocks
    missed: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    said: _Said = field(default_factory=_Said)
    failed: bool = False
    thread: threading.Thread | None = None


class ArmEstimate:
    """Service `~/estimate_payload`, topics `~/payload_estimate` and `~/payload_covariance`.

    The control thread only copies states. A thread of this class estimates from `data: true` to
    `data: false`.

    Args:
        node: node that offers the service and publishes.
        controller: controller, which has the measured states.
        values: values of the parameters; `estimate.link` names the link.

    Raises:
        RbdynError: no controlled joint carries the link, or the arm has springs.
    """

    def __init__(self, node: Node, controller: Controller, values: SimpleNamespace) -> None:
        self._log = node.get_logger()
        self._controller, self._link = controller, getattr(values, "estimate.link")
        self._dofs = np.array(controller.gate.limits.dofs, np.int64)
        self._friction = declared_friction(values, controller.arm.m)
        self._adds = values.robot_compensates_gravity and not values.effort_includes_gravity
        self._run: _EstimateRun | None = None
        self._time, self._closed = 0, False
        # held by the service and by close, never by the control thread
        self._lock = threading.Lock()
        self._warm()
        self._estimates = node.create_publisher(InertiaStamped, "~/payload_estimate", LATCHED)
        self._spreads = node.create_publisher(Float64MultiArray, "~/payload_covariance", LATCHED)
        serve(node, SetBool, "~/estimate_payload", self._answer)

    def take(self) -> None:
        """Store the newest state if an estimate is running. Only the control thread calls it."""
        run, seen = self._run, self._controller.gate.measured
        if run is None or run.stop.is_set() or seen.time == self._time:
            return
        self._time = seen.time
        if self._carries:
            run.blocks.add(seen.time, seen.state)
        else:
            run.missed += 1

    def close(self) -> None:
        """End the run and its thread; refuse further runs."""
        with self._lock:
            self._closed, run = True, self._run
        if run is not None and run.thread is not None:
            run.stop.set()
            run.thread.join()

    def status(self) -> Status | None:
        """Return the status for the diagnostics, or None if no estimate was requested yet."""
        run = self._run
        if run is None:
            return None
        said, running = run.said, not run.stop.is_set()
        problem = said.problem if running or run.failed else ""
        values: dict[str, object] = {"running": running, "link": self._link}
        found = said.found
        if found is not None:
            std, com, spread = found.std, found.com, found.com_std
            values |= {"mass": found.mass, "mass_std": float(std[0])}
            values |= {f"com_{axis}": float(com[k]) for k, axis in enumerate("xyz")}
            values |= {f"com_{axis}_std": float(spread[k]) for k, axis in enumerate("xyz")}
            scale = {"friction_scale": found.friction_scale}
            values |= scale | {"friction_scale_std": float(std[-1]), "seconds": said.seconds}
        message = problem or ("estimating" if running else "ended")
        return Status(
            "payload estimate", Level.WARN if problem else Level.OK, message, texts(values)
        )

    def _answer(self, request: Any, _response: Any) -> str:
        with self._lock:
            if self._closed:
                raise refusal("the node ends", "estimate")
            before = self._run
            running = before is not None and not before.stop.is_set()
            if request.data == running:
                said = "already runs" if request.data else "does not run"
                raise refusal(f"the estimate of the payload {said}", "estimate")
            if request.data:
                self._run = self._begun(before)
                soon = f"the first estimate takes {LENGTH:g} s"
                return f"estimating the payload of '{self._link}'; {soon}"
            assert before is not None
            before.stop.set()  # its thread may still compute; the next run and close wait for it
            return before.said.text

    def _begun(self, before: _EstimateRun | None) -> _EstimateRun:
        """Start and return a run; its thread first waits for the end of the last run's thread."""
        run = _EstimateRun(self._new_blocks())
        last = None if before is None else before.thread
        args = run, last
        run.thread = threading.Thread(target=self._work, args=args, name="rbdyn-load", daemon=True)
        run.thread.start()
        return run

    @property
    def _carries(self) -> bool:
        """Whether the drives carry the arm: always in a dry run, where its own controller acts."""
        return self._controller.armed or self._controller.settings.dry_run

    def _new_blocks(self) -> StateBlocks:
        names = [self._controller.arm.names[dof] for dof in self._dofs]
        return StateBlocks(names, self._dofs, self._controller.arm.m.nv)

    def _online(self, arm: Arm) -> OnlinePayload:
        """Return a new estimate for an arm.

        The Model includes the arm's payloads on other links, but not the payload of this link.
        """
        bare = arm.with_payload(self._link, 0.0, (0.0, 0.0, 0.0))
        link, adds = bare.m.frame_id(self._link), bare.bare if self._adds else None
        return OnlinePayload(bare.m, self._dofs, link, self._friction, adds)

    def _warm(self) -> None:
        """Compile all code of the estimate by running it with states of an arm at rest."""
        m, time = self._controller.arm.m, np.arange(0.0, LENGTH, 0.01)
        rows = np.tile(m.qpos0[self._dofs], (len(time), 1))
        names = tuple(self._controller.arm.names[dof] for dof in self._dofs)
        still = Samples(names, time, rows, 0.0 * rows, 0.0 * rows + 1.0)
        self._online(self._controller.arm).update(still, m.qpos0)

    def _work(self, run: _EstimateRun, before: threading.Thread | None) -> None:
        """Wait for the last run's thread, then estimate until this run stops; body of a thread."""
        if before is not None:
            before.join()
        try:
            self._loop(run)
        except Exception as error:  # noqa: BLE001 - a bug here must be seen, not stop silently
            text = f"the estimate has ended by an error: {type(error).__name__}: {error}"
            run.said, run.failed = replace(run.said, problem=text), True
            run.stop.set()
            self._log.error(text)

    def _loop(self, run: _EstimateRun) -> None:
        arm, blocks = self._controller.arm, run.blocks
        online, lost, missed = self._online(arm), 0, 0
        while not run.stop.wait(POLL):
            if _others(self._controller.arm, self._link) != _others(arm, self._link):
                arm = self._controller.arm
                online, run.said = self._online(arm), _Said(problem=RELOADED)
                self._log.info(RELOADED)
                blocks.skip()
            block = blocks.take()
            if run.missed != missed:
                block, missed = None, run.missed
                run.said = replace(run.said, problem=UNARMED)
                blocks.skip()
            if blocks.lost != lost:
                lost = blocks.lost
                online.interrupt()
            if block is not None:
                self._update(run, online, *block)

    def _update(
        self, run: _EstimateRun, online: OnlinePayload, samples: Samples, qpos: Array, stamp: int
    ) -> None:
        try:
            self._check(samples)
            found = online.update(samples, qpos)
        except RbdynError as error:
            online.interrupt()
            self._complain(run, f"states are not used: {error}")
            return
        run.said = _Said(found, run.said.taken + 1)
        worst = int(np.argmax(found.excess))
        if found.excess[worst] > SURE:
            name = samples.names[worst]
            text = (
                f"the estimate is not published: at rest, the effort of joint '{name}' differs "
                f"from the estimate by {found.excess[worst]:.3g} times noise and dry friction, so "
                "a brake or a contact holds the joint, or its effort is wrong"
            )
            self._complain(run, text)
        elif not run.stop.is_set():
            self._publish(found, stamp)

    def _complain(self, run: _EstimateRun, text: str) -> None:
        run.said = replace(run.said, problem=text)
        self._log.warning(text, throttle_duration_sec=10.0)

    def _check(self, samples: Samples) -> None:
        """Raise RbdynError if the effort of a joint was not measured."""
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
    """Return the payloads of the arm on all links but this link."""
    return {name: payload for name, payload in arm.payloads.items() if name != link}


def open_estimate(
    node: Node, controller: Controller, values: SimpleNamespace
) -> ArmEstimate | None:
    """Return ArmEstimate, or None if parameter estimate.link is empty."""
    return ArmEstimate(node, controller, values) if getattr(values, "estimate.link") else None
