"""Services of time that need no types but those of std_srvs: ~/pause, ~/step, ~/reset."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.ros.simulator.simulation import INACTIVE, Simulation
from rbdyn_ros.runtime.runtime import SILENT


class TimeServices:
    """The services, for all robots of the process.

    Args:
        node: has them.
        simulation: is asked.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation = simulation
        node.create_service(SetBool, "~/pause", self._on_pause)
        node.create_service(Trigger, "~/step", self._on_step)
        node.create_service(Trigger, "~/reset", self._on_reset)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if not (request.data or self._simulation.active):
            response.message = INACTIVE
            return response
        response.success = self._simulation.pause(request.data)
        response.message = "paused" if request.data else "running"
        return _unless_silent(response)

    def _on_step(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = self._simulation.why_no_step()
        if response.message:
            return response
        response.success, response.message = self._simulation.step(1), "one tick"
        _unless_silent(response)
        if response.success and self._simulation.faulty:
            response.success, response.message = False, "the state diverged; call reset"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._simulation.reset(time=False, state=True)
        response.message = "at the start position, at rest"
        return _unless_silent(response)


def _unless_silent(response: Any) -> Any:
    if not response.success:
        response.message = SILENT
    return response
