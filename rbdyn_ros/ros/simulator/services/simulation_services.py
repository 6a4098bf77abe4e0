# SPDX-License-Identifier: Apache-2.0
"""Services for all robots of a process: ~/pause, ~/step, ~/reset, ~/save_state, ~/load_state.

Saved states have names, and exist while the node runs.
"""

import re
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.errors import did_you_mean, listing, quote, refusal
from rbdyn_ros.ros.common.graph.interfaces import own_services
from rbdyn_ros.ros.common.reports.answer import serve
from rbdyn_ros.ros.simulator.robot.robot import SavedRobot
from rbdyn_ros.ros.simulator.robot.simulation import Simulation

#: Largest number of saved states.
MOST_STATES = 32
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class SavedStates:
    """The saved states of all robots of a process.

    Args:
        simulation: the simulation to save and to load.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._states: dict[str, list[SavedRobot]] = {}

    def save(self, name: str) -> str:
        """Save the present state under a name, in place of an older state; return a message.

        Raises:
            RbdynError: the name is not allowed, there are too many states, or the present state
                cannot be saved.
        """
        if not _NAME.fullmatch(name):
            raise refusal(
                f"the name of the state is {quote(name)}; allowed are 1 to 64 letters, digits, "
                "'_', '.' and '-'",
                "bad-name",
            )
        if name not in self._states and len(self._states) == MOST_STATES:
            raise refusal(
                f"{MOST_STATES} states are saved already, the most there can be; save under one "
                f"of their names: {listing(self._states)}",
                "too-many-states",
            )
        self._states[name] = self._simulation.save_state()
        return f"saved: {listing(self._states, MOST_STATES)}"

    def load(self, name: str) -> str:
        """Continue from the state saved under a name; return a message.

        Raises:
            RbdynError: there is no such state, or the state cannot be loaded.
        """
        if name not in self._states:
            known = listing(self._states, MOST_STATES) if self._states else "none"
            hint = did_you_mean(name, self._states)
            raise refusal(
                f"there is no saved state {quote(name)}{hint}; the saved states are: {known}",
                "unknown-state",
            )
        self._simulation.load_state(self._states[name])
        return f"at the state {quote(name)}"


def open_simulation_services(node: Node, simulation: Simulation) -> None:
    """Offer the services under `~/`; save_state and load_state need rbdyn_interfaces."""

    def pause(request: SetBool.Request, _: Any) -> str:
        simulation.pause(request.data)
        return "paused" if request.data else "running"

    def step(_request: Any, _response: Any) -> str:
        simulation.check_ready()
        simulation.step(1)
        if simulation.diverged:
            raise refusal("the state diverged; call reset")
        return "one tick"

    def reset(_request: Any, _response: Any) -> str:
        simulation.reset(time=False, state=True)
        return "at the start position, at rest"

    serve(node, SetBool, "~/pause", pause)
    serve(node, Trigger, "~/step", step)
    serve(node, Trigger, "~/reset", reset)
    try:
        srv = own_services()
        kinds = srv.SaveState, srv.LoadState
    except (ImportError, AttributeError):
        node.get_logger().warning(
            "rbdyn_interfaces is not installed or is older than rbdyn_ros: the services "
            "save_state and load_state are off"
        )
        return
    states = SavedStates(simulation)

    def with_hash(act: Callable[[str], str]) -> Callable[[Any, Any], str]:
        def answer(request: Any, response: Any) -> str:
            try:
                return act(request.name)
            finally:
                response.state_hash = simulation.state_hash()

        return answer

    serve(node, kinds[0], "~/save_state", with_hash(states.save))
    serve(node, kinds[1], "~/load_state", with_hash(states.load))
