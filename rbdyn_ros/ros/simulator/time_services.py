"""Time services with types of std_srvs only: ~/pause, ~/step, ~/reset."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.common.answer import answer
from rbdyn_ros.ros.simulator.simulation import Simulation


class TimeServices:
    """The services, for all robots of the process.

    Args:
        node: offers them.
        simulation: its time.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation = simulation
        node.create_service(
            SetBool, "~/pause", lambda q, response: answer(response, lambda: self._pause(q.data))
        )
        for name, act in (("~/step", self._step), ("~/reset", self._reset)):

            def on_request(_request: Any, response: Any, act: Any = act) -> Any:
                return answer(response, act)

            node.create_service(Trigger, name, on_request)

    def _pause(self, paused: bool) -> str:
        self._simulation.pause(paused)
        return "paused" if paused else "running"

    def _step(self) -> str:
        self._simulation.check_ready()
        self._simulation.step(1)
        if self._simulation.diverged:
            raise refusal("the state diverged; call reset")
        return "one tick"

    def _reset(self) -> str:
        self._simulation.reset(time=False, state=True)
        return "at the start position, at rest"
