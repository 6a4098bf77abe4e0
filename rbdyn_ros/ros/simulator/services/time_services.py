"""Time services with types of std_srvs only: ~/pause, ~/step, ~/reset."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.common.answer import serve
from rbdyn_ros.ros.simulator.robot.simulation import Simulation


class TimeServices:
    """The services, for all robots of the process.

    Args:
        node: offers them.
        simulation: its time.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation = simulation
        serve(node, SetBool, "~/pause", self._pause)
        serve(node, Trigger, "~/step", self._step)
        serve(node, Trigger, "~/reset", self._reset)

    def _pause(self, request: SetBool.Request, _: Any) -> str:
        self._simulation.pause(request.data)
        return "paused" if request.data else "running"

    def _step(self, _request: Any, _response: Any) -> str:
        self._simulation.check_ready()
        self._simulation.step(1)
        if self._simulation.diverged:
            raise refusal("the state diverged; call reset")
        return "one tick"

    def _reset(self, _request: Any, _response: Any) -> str:
        self._simulation.reset(time=False, state=True)
        return "at the start position, at rest"
