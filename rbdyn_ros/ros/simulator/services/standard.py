# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces, the standard of simulators in ROS 2."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.errors import RbdynError, listing, refusal
from rbdyn_ros.ros.common.graph.qos import SERVICES
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services.entity_services import EntityServices
from rbdyn_ros.ros.simulator.services.results import OfferedServices, ResultError
from rbdyn_ros.ros.simulator.services.spawnables import FORMATS
from rbdyn_ros.ros.simulator.services.spawning import Spawning
from rbdyn_ros.ros.simulator.services.stepping import Stepping
from rbdyn_ros.ros.simulator.services.worlds import Worlds

#: Time from the reply to QUITTING to the end of the process [s].
QUIT_DELAY = 0.3

#: Names of the features of StepSimulation and SimulateSteps.
STEPS = ("STEP_SIMULATION_SINGLE", "STEP_SIMULATION_MULTIPLE", "STEP_SIMULATION_ACTION")


def open_standard(
    node: Node, simulation: Simulation, worlds: Sequence[str] = ()
) -> "StandardServices | None":
    """Offer and return the services; if simulation_interfaces is missing, warn and return None.

    Args:
        node: node that offers them.
        simulation: the simulation to serve.
        worlds: folders and scene files that are searched for worlds.
    """
    try:
        import simulation_interfaces.action
        import simulation_interfaces.srv  # noqa: F401
    except ImportError:
        node.get_logger().warning(
            "simulation_interfaces is not installed: its services and its action are off"
        )
        return None
    return StandardServices(node, simulation, worlds)


class StandardServices:
    """Serves simulation_interfaces under `~/` of a node until `close`.

    Steps take long, so a helper node with an executor of its own serves them. Meanwhile the node's
    executor serves topics and other requests.

    Args:
        node: node that offers the services under its name.
        simulation: the simulation to serve.
        sources: folders and scene files that are searched for worlds.
    """

    def __init__(self, node: Node, simulation: Simulation, sources: Sequence[str]) -> None:
        from simulation_interfaces import srv
        from simulation_interfaces.msg import Result, SimulationState

        self._simulation = simulation
        self._result, self._states = Result, SimulationState
        # a simulation at this tick and as it was loaded counts as stopped; None: it does not
        self._stopped_at: int | None = 0
        self._quitting: threading.Timer | None = None
        node.create_service(
            srv.GetSimulatorFeatures,
            "~/get_simulator_features",
            self._get_features,
            qos_profile=SERVICES,
        )
        own = OfferedServices(
            node,
            {
                "GetSimulationState": (self._get_state, ("SIMULATION_STATE_GETTING",)),
                "SetSimulationState": (
                    self._set_state,
                    ("SIMULATION_STATE_SETTING", "SIMULATION_STATE_PAUSE"),
                ),
                "ResetSimulation": (
                    self._reset,
                    (
                        *("SIMULATION_RESET", "SIMULATION_RESET_TIME", "SIMULATION_RESET_STATE"),
                        "SIMULATION_RESET_SPAWNED",
                    ),
                ),
            },
        )
        entities = EntityServices(node, simulation)
        self._spawning = Spawning(node, simulation)
        loading = Worlds(node, simulation, sources, self._stop)
        parts = own, entities, self._spawning, loading
        others = (name for part in parts[1:] for name in part.features)
        self._features = [*own.features, *STEPS, *others]
        if missing := [name for part in parts for name in part.missing]:
            node.get_logger().info(
                "simulation_interfaces lacks the types of some services, which are off: "
                f"{listing(missing, most=len(missing))}"
            )
        self._stepping = Stepping(node, simulation)

    def start(self) -> None:
        """Begin to serve requests to step, in a thread of its own."""
        self._stepping.start()

    def close(self) -> None:
        """Stop serving steps; the other services end with the node."""
        if self._quitting is not None:
            self._quitting.cancel()
        self._stepping.close()

    def _get_features(self, _: Any, response: Any) -> Any:
        from simulation_interfaces.msg import SimulatorFeatures as F

        response.features.spawn_formats = list(FORMATS) if self._spawning.features else []
        response.features.features = [getattr(F, name) for name in self._features]
        response.features.custom_info = (
            "rbdyn_ros: robots, objects, and fixed shapes can be spawned, also as a "
            "URI like primitive:box?size=0.1,0.1,0.1&mass=0.2; a world is a scene file without "
            "robots"
        )
        return response

    def _state(self) -> int:
        if self._quitting is not None:
            return int(self._states.STATE_QUITTING)
        if not self._simulation.entities.has_world:
            return int(self._states.STATE_NO_WORLD)
        if not self._simulation.paused:
            return int(self._states.STATE_PLAYING)
        if self._stopped_at == self._simulation.tick and self._simulation.as_loaded:
            return int(self._states.STATE_STOPPED)
        return int(self._states.STATE_PAUSED)

    def _get_state(self, _: Any, response: Any) -> None:
        response.state.state = self._state()

    def _set_state(self, request: Any, response: Any) -> None:
        wanted, states, result = request.state.state, self._states, self._result
        actions: dict[int, Callable[[], None]] = {
            states.STATE_STOPPED: self._stop,
            states.STATE_PLAYING: self._play,
            states.STATE_PAUSED: self._pause,
            states.STATE_QUITTING: self._quit,
        }
        if wanted not in actions:
            raise ResultError(
                result.RESULT_FEATURE_UNSUPPORTED,
                f"state {wanted} cannot be set; allowed are 0 (stopped), 1 (playing), 2 (paused) "
                "and 3 (quitting)",
            )
        state = self._state()
        if state == wanted:
            reason = "the simulation is in this state already"
            raise ResultError(response.ALREADY_IN_TARGET_STATE, reason)
        if state == states.STATE_QUITTING:
            raise ResultError(result.RESULT_INCORRECT_STATE, "the simulation ends")
        if wanted != states.STATE_QUITTING and not self._simulation.entities.has_world:
            reason = "no world is loaded; load one by load_world first"
            raise ResultError(result.RESULT_INCORRECT_STATE, reason)
        try:
            actions[wanted]()
        except RbdynError as error:
            raise ResultError(response.STATE_TRANSITION_ERROR, str(error)) from error

    def _stop(self) -> None:
        self._simulation.pause(True)
        self._simulation.reset(time=True, state=True, robot=True)
        self._stopped_at = self._simulation.tick

    def _play(self) -> None:
        if self._simulation.diverged:
            raise refusal("the state diverged and is frozen; reset the simulation first")
        self._simulation.pause(False)
        self._stopped_at = None

    def _pause(self) -> None:
        self._simulation.pause(True)
        self._stopped_at = None

    def _quit(self) -> None:
        with contextlib.suppress(RbdynError):
            self._simulation.pause(True)
        # quit in another thread after QUIT_DELAY, so that the reply is sent first
        self._quitting = threading.Timer(QUIT_DELAY, self._simulation.quit)
        self._quitting.start()

    def _reset(self, request: Any, _: Any) -> None:
        scope, known = request.scope, request.SCOPE_TIME | request.SCOPE_STATE
        known |= request.SCOPE_SPAWNED
        if scope in (request.SCOPE_DEFAULT, request.SCOPE_ALL):
            scope = known
        if scope & ~known:
            raise ResultError(
                self._result.RESULT_FEATURE_UNSUPPORTED,
                f"scope {scope} has unknown bits; allowed are 1 (time), 2 (state), 4 (objects, "
                "payloads and gravity), "
                "their sums, and 0 or 255 for all",
            )
        self._simulation.reset(
            time=bool(scope & request.SCOPE_TIME),
            state=bool(scope & request.SCOPE_STATE),
            robot=bool(scope & request.SCOPE_SPAWNED),
        )
        if scope != known:
            self._stopped_at = None  # a part of the simulation is not as at the start
