"""The services and the action of simulation_interfaces, the standard of simulators in ROS 2."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from rclpy.node import Node

from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.unfit import LARGEST_STATE, unfit
from rbdyn_ros.ros.simulator.name_filter import NameFilter, PatternError
from rbdyn_ros.ros.simulator.stepping import Steppable, Stepping

#: From the reply to QUITTING to the end of the process [s].
QUIT_DELAY = 0.3
#: A quaternion whose norm is further from 1 is refused.
QUATERNION_TOLERANCE = 1e-3

Vector = Sequence[float]
Pair = tuple[Vector, Vector]


class Simulation(Steppable, Protocol):
    """What a simulation must be able to do to be offered. Called from several threads."""

    @property
    def world_frame(self) -> str:
        """Name of the world's frame in messages."""

    @property
    def tick(self) -> int:
        """Number of the newest state; it changes whenever time or the state does."""

    def pause(self, wanted: bool) -> bool:
        """Stop or resume time; whether it did."""

    def reset(self, time: bool, state: bool, seed: int | None) -> bool:
        """Begin again with time, state or both; whether it did."""

    def quit(self) -> None:
        """End the process."""

    def entities(self) -> Sequence[str]:
        """Names of the robots."""

    def stamp_ns(self, name: str) -> int:
        """Stamp of the newest state of a robot [ns]."""

    def entity_state(self, name: str) -> tuple[Vector, Vector, Vector, Vector, Vector]:
        """Where the root link of a robot is and how it moves, in world axes.

        Returns:
            position (3,) [m], quaternion xyzw (4,), linear velocity (3,) of its origin [m/s],
            angular velocity (3,) [rad/s], their derivatives [linear; angular] (6,).
        """

    def set_entity_state(
        self, name: str, position: Vector, quaternion: Vector, linear: Vector, angular: Vector
    ) -> str:
        """Put the root link elsewhere; arguments as entity_state; return why it is refused."""


def open_standard(node: Node, simulation: Simulation) -> StandardInterfaces | None:
    """Offer the services under `~/` of a node, or warn that simulation_interfaces is missing."""
    try:
        import simulation_interfaces.action
        import simulation_interfaces.srv  # noqa: F401
    except ImportError:
        node.get_logger().warning(
            "simulation_interfaces is not installed: its services and its action are off"
        )
        return None
    return StandardInterfaces(node, simulation)


class StandardInterfaces:
    """Serves simulation_interfaces for a simulation until `close`.

    What takes long, stepping, is served by a node of its own with an executor of its own, so that
    the node's executor is free for topics and for whatever else is asked meanwhile.

    Args:
        node: under whose name the services are.
        simulation: what they act on.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        from simulation_interfaces import srv
        from simulation_interfaces.msg import Result, SimulationState

        self._simulation = simulation
        self._result, self._states = Result, SimulationState
        # standing at its start, a simulation is stopped, not paused
        self._stopped_at = simulation.tick if simulation.paused and simulation.tick == 0 else None
        self._quitting: threading.Timer | None = None
        for kind, name, answer in (
            (srv.GetSimulatorFeatures, "get_simulator_features", self._features),
            (srv.GetSimulationState, "get_simulation_state", self._get_state),
            (srv.SetSimulationState, "set_simulation_state", self._set_state),
            (srv.ResetSimulation, "reset_simulation", self._reset),
            (srv.GetEntities, "get_entities", self._get_entities),
            (srv.GetEntitiesStates, "get_entities_states", self._get_entities_states),
            (srv.GetEntityInfo, "get_entity_info", self._get_entity_info),
            (srv.GetEntityState, "get_entity_state", self._get_entity_state),
            (srv.SetEntityState, "set_entity_state", self._set_entity_state),
        ):
            node.create_service(kind, f"~/{name}", answer)
        self._stepping = Stepping(node, simulation)

    def close(self) -> None:
        """End stepping and its executor; the services of the node end with the node."""
        if self._quitting is not None:
            self._quitting.cancel()
        self._stepping.close()

    def _answer(self, response: Any, code: int | None = None, why: str = "") -> Any:
        """Fill in the result; code None: OK."""
        response.result.result = self._result.RESULT_OK if code is None else code
        response.result.error_message = why
        return response

    def _features(self, _: Any, response: Any) -> Any:
        from simulation_interfaces.msg import SimulatorFeatures as F

        response.features.features = [
            F.ENTITY_CATEGORIES,
            F.ENTITY_STATE_GETTING,
            F.ENTITY_STATE_SETTING,
            F.ENTITY_INFO_GETTING,
            F.SIMULATION_RESET,
            F.SIMULATION_RESET_TIME,
            F.SIMULATION_RESET_STATE,
            F.SIMULATION_RESET_SPAWNED,
            F.SIMULATION_STATE_GETTING,
            F.SIMULATION_STATE_SETTING,
            F.SIMULATION_STATE_PAUSE,
            F.STEP_SIMULATION_SINGLE,
            F.STEP_SIMULATION_MULTIPLE,
            F.STEP_SIMULATION_ACTION,
        ]
        response.features.custom_info = (
            "rbdyn_ros: robots are given at the start; nothing can be spawned"
        )
        return response

    def _state(self) -> int:
        if self._quitting is not None:
            return int(self._states.STATE_QUITTING)
        if not self._simulation.paused:
            return int(self._states.STATE_PLAYING)
        if self._stopped_at == self._simulation.tick:
            return int(self._states.STATE_STOPPED)
        return int(self._states.STATE_PAUSED)

    def _get_state(self, _: Any, response: Any) -> Any:
        response.state.state = self._state()
        return self._answer(response)

    def _set_state(self, request: Any, response: Any) -> Any:
        wanted, states, result = request.state.state, self._states, self._result
        actions: dict[int, Callable[[], str]] = {
            states.STATE_STOPPED: self._stop,
            states.STATE_PLAYING: self._play,
            states.STATE_PAUSED: self._pause,
            states.STATE_QUITTING: self._quit,
        }
        if wanted not in actions:
            return self._answer(
                response,
                result.RESULT_FEATURE_UNSUPPORTED,
                f"state {wanted} cannot be set; allowed are 0 (stopped), 1 (playing), 2 (paused) "
                "and 3 (quitting)",
            )
        state = self._state()
        if state == wanted:
            why = "the simulation is in this state already"
            return self._answer(response, response.ALREADY_IN_TARGET_STATE, why)
        if state == states.STATE_QUITTING:
            return self._answer(response, result.RESULT_INCORRECT_STATE, "the simulation ends")
        why = actions[wanted]()
        return self._answer(response, response.STATE_TRANSITION_ERROR if why else None, why)

    def _stop(self) -> str:
        if not (self._simulation.pause(True) and self._simulation.reset(True, True, None)):
            return "the simulation was not reset"
        self._stopped_at = self._simulation.tick
        return ""

    def _play(self) -> str:
        if self._simulation.faulty:
            return "the state diverged and is frozen; reset the simulation first"
        self._stopped_at = None
        return "" if self._simulation.pause(False) else "the simulation did not resume"

    def _pause(self) -> str:
        self._stopped_at = None
        return "" if self._simulation.pause(True) else "the simulation did not pause"

    def _quit(self) -> str:
        self._simulation.pause(True)
        # on a thread of its own, a little later: the reply is on its way by then
        self._quitting = threading.Timer(QUIT_DELAY, self._simulation.quit)
        self._quitting.start()
        return ""

    def _reset(self, request: Any, response: Any) -> Any:
        scope, known = request.scope, request.SCOPE_TIME | request.SCOPE_STATE
        known |= request.SCOPE_SPAWNED
        if scope in (request.SCOPE_DEFAULT, request.SCOPE_ALL):
            scope = known
        if scope & ~known:
            return self._answer(
                response,
                self._result.RESULT_FEATURE_UNSUPPORTED,
                f"scope {scope} has unknown bits; 1 (time), 2 (state), 4 (spawned) and their sums "
                "are allowed, and 0 or 255 for all",
            )
        time, state = bool(scope & request.SCOPE_TIME), bool(scope & request.SCOPE_STATE)
        # nothing is ever spawned, so of that scope all is done
        if (time or state) and not self._simulation.reset(time, state, None):
            why = "the simulation was not reset"
            return self._answer(response, self._result.RESULT_OPERATION_FAILED, why)
        return self._answer(response)

    def _get_entities(self, request: Any, response: Any) -> Any:
        response.entities, code, why = self._chosen(request.filters)
        return self._answer(response, code, why)

    def _get_entities_states(self, request: Any, response: Any) -> Any:
        response.entities, code, why = self._chosen(request.filters)
        for name in response.entities:
            response.states.append(self._entity_state(name))
        return self._answer(response, code, why)

    def _chosen(self, filters: Any) -> tuple[list[str], int | None, str]:
        """Return the entities that pass the filters; a code and why if these are refused."""
        unsupported = self._result.RESULT_FEATURE_UNSUPPORTED
        if filters.bounds.type != filters.bounds.TYPE_EMPTY:
            return [], unsupported, "robots have no bounds here; leave filters.bounds empty"
        if filters.tags.tags:
            return [], unsupported, "robots have no tags here; leave filters.tags empty"
        wanted = {category.category for category in filters.categories}
        if wanted and _robot_category() not in wanted:
            return [], None, ""
        try:
            names = NameFilter(filters.filter)
        except PatternError as error:
            return [], self._result.RESULT_OPERATION_FAILED, f"filters.filter: {error}"
        return [name for name in self._simulation.entities() if names.matches(name)], None, ""

    def _unknown(self, name: str) -> str:
        """Return why a name is none of a robot, or an empty string."""
        known = list(self._simulation.entities())
        if name in known:
            return ""
        hint = did_you_mean(name, known)
        return f"there is no entity {quote(name)}{hint}; there are {_listed(known)}"

    def _get_entity_info(self, request: Any, response: Any) -> Any:
        why = self._unknown(request.entity)
        if why:
            return self._answer(response, self._result.RESULT_NOT_FOUND, why)
        response.info.category.category = _robot_category()
        return self._answer(response)

    def _get_entity_state(self, request: Any, response: Any) -> Any:
        why = self._unknown(request.entity)
        if why:
            return self._answer(response, self._result.RESULT_NOT_FOUND, why)
        response.state = self._entity_state(request.entity)
        return self._answer(response)

    def _entity_state(self, name: str) -> Any:
        from simulation_interfaces.msg import EntityState

        state = EntityState()
        position, quaternion, linear, angular, rates = self._simulation.entity_state(name)
        state.header.stamp = time_message(self._simulation.stamp_ns(name))
        state.header.frame_id = self._simulation.world_frame
        _fill(state.pose.position, position)
        _fill(state.pose.orientation, quaternion)
        _fill(state.twist.linear, linear)
        _fill(state.twist.angular, angular)
        _fill(state.acceleration.linear, rates[:3])
        _fill(state.acceleration.angular, rates[3:])
        return state

    def _set_entity_state(self, request: Any, response: Any) -> Any:
        result, state = self._result, request.state
        why = self._unknown(request.entity)
        if why:
            return self._answer(response, result.RESULT_NOT_FOUND, why)
        if state.header.frame_id not in ("", self._simulation.world_frame):
            why = (
                f"the state is in frame {quote(state.header.frame_id)}; only "
                f"'{self._simulation.world_frame}' or an empty frame_id is taken"
            )
            return self._answer(response, result.RESULT_FEATURE_UNSUPPORTED, why)
        # before version 2.1 the message had no flags: pose and twist were always set
        if getattr(request, "set_acceleration", False):
            why = "accelerations follow from forces and cannot be set"
            return self._answer(response, result.RESULT_FEATURE_UNSUPPORTED, why)
        place, move = getattr(request, "set_pose", True), getattr(request, "set_twist", True)
        if not (place or move):
            why = "neither set_pose nor set_twist is true: there is nothing to set"
            return self._answer(response, result.RESULT_OPERATION_FAILED, why)
        pose: Pair = (_numbers(state.pose.position), _numbers(state.pose.orientation))
        twist: Pair = (_numbers(state.twist.linear), _numbers(state.twist.angular))
        why = _bad_pose(*pose) if place else ""
        if why:
            return self._answer(response, response.INVALID_POSE, why)
        why = unfit("the twist", [*twist[0], *twist[1]], LARGEST_STATE) if move else ""
        if why:
            return self._answer(response, result.RESULT_OPERATION_FAILED, why)
        here = self._simulation.entity_state(request.entity)
        pose, twist = pose if place else here[:2], twist if move else here[2:4]
        why = self._simulation.set_entity_state(request.entity, *pose, *twist)
        return self._answer(response, result.RESULT_OPERATION_FAILED if why else None, why)


def _robot_category() -> int:
    from simulation_interfaces.msg import EntityCategory

    return int(EntityCategory.CATEGORY_ROBOT)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _numbers(message: Any) -> list[float]:
    """Return the fields of a Point, Vector3 or Quaternion."""
    return [getattr(message, field) for field in message.get_fields_and_field_types()]


def _fill(message: Any, numbers: Vector) -> None:
    """Set the fields of a Point, Vector3 or Quaternion."""
    for field, number in zip(message.get_fields_and_field_types(), numbers, strict=True):
        setattr(message, field, float(number))


def _bad_pose(position: Vector, quaternion: Vector) -> str:
    """Return why a pose is refused, or an empty string."""
    why = unfit("the pose", [*position, *quaternion], LARGEST_STATE)
    if why:
        return why
    norm = math.hypot(*quaternion)
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        return f"the orientation has norm {norm:g}; a unit quaternion is needed"
    return ""
