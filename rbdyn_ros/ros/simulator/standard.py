"""The services of simulation_interfaces, the standard of simulators in ROS 2."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.description.geometries import Sphere
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.errors import RbdynError, quote, refusal
from rbdyn_ros.ros.common.convert import time_message
from rbdyn_ros.ros.common.magnitudes import LARGEST_STATE, check_magnitude, check_pose
from rbdyn_ros.ros.common.qos import SERVICES
from rbdyn_ros.ros.simulator.name_filter import matching
from rbdyn_ros.ros.simulator.places import Part
from rbdyn_ros.ros.simulator.regions import Region, region_of
from rbdyn_ros.ros.simulator.result import ResultError, fill_result
from rbdyn_ros.ros.simulator.simulation import Simulation
from rbdyn_ros.ros.simulator.spawnables import FORMATS
from rbdyn_ros.ros.simulator.spawning import (
    check_entity,
    fill_vector,
    open_spawning,
    vector_of,
)
from rbdyn_ros.ros.simulator.stepping import Stepping

#: From the reply to QUITTING to the end of the process [s].
QUIT_DELAY = 0.3

Vector = Sequence[float]
Pair = tuple[Vector, Vector]
Handler = Callable[[Any, Any], None]


def open_standard(node: Node, simulation: Simulation) -> StandardServices | None:
    """Offer the services under `~/` of a node, or warn that simulation_interfaces is missing."""
    try:
        import simulation_interfaces.action
        import simulation_interfaces.srv  # noqa: F401
    except ImportError:
        node.get_logger().warning(
            "simulation_interfaces is not installed: its services and its action are off"
        )
        return None
    return StandardServices(node, simulation)


class StandardServices:
    """Serves simulation_interfaces until `close`.

    Steps take long, so another node with an executor of its own serves them; meanwhile the node's
    executor serves topics and other requests.

    Args:
        node: offers the services under its name.
        simulation: to serve.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        from simulation_interfaces import srv
        from simulation_interfaces.msg import Result, SimulationState

        self._simulation = simulation
        self._result, self._states = Result, SimulationState
        # a simulation that stands at its start counts as stopped
        self._stopped_at: int | None = 0
        self._quitting: threading.Timer | None = None
        node.create_service(
            srv.GetSimulatorFeatures,
            "~/get_simulator_features",
            self._get_features,
            qos_profile=SERVICES,
        )
        for kind, name, handler in (
            (srv.GetSimulationState, "get_simulation_state", self._get_state),
            (srv.SetSimulationState, "set_simulation_state", self._set_state),
            (srv.ResetSimulation, "reset_simulation", self._reset),
            (srv.GetEntities, "get_entities", self._get_entities),
            (srv.GetEntitiesStates, "get_entities_states", self._get_entities_states),
            (srv.GetEntityInfo, "get_entity_info", self._get_entity_info),
            (srv.GetEntityState, "get_entity_state", self._get_entity_state),
            (srv.SetEntityState, "set_entity_state", self._set_entity_state),
        ):
            answer = self._answering(handler)
            node.create_service(kind, f"~/{name}", answer, qos_profile=SERVICES)
        self._spawning = open_spawning(node, simulation)
        self._stepping = Stepping(node, simulation)

    def start(self) -> None:
        """Begin to serve requests to step; the node's executor serves the others."""
        self._stepping.start()

    def close(self) -> None:
        """End stepping and its executor; the other services end with the node."""
        if self._quitting is not None:
            self._quitting.cancel()
        self._stepping.close()

    @staticmethod
    def _answering(handler: Handler) -> Callable[[Any, Any], Any]:
        """Return the callback of a service; its handler raises RbdynError to refuse."""

        def on_request(request: Any, response: Any) -> Any:
            fill_result(response.result, lambda: handler(request, response))
            return response

        return on_request

    def _get_features(self, _: Any, response: Any) -> Any:
        from simulation_interfaces.msg import SimulatorFeatures as F

        spawning = self._spawning.features
        response.features.spawn_formats = list(FORMATS) if spawning else []
        response.features.features = [
            *(getattr(F, name) for name in spawning),
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
            "rbdyn_ros: the robots are given at the start; objects and fixed boxes and spheres "
            "can be spawned, also as a URI like primitive:box?size=0.1,0.1,0.1&mass=0.2"
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
            why = "the simulation is in this state already"
            raise ResultError(response.ALREADY_IN_TARGET_STATE, why)
        if state == states.STATE_QUITTING:
            raise ResultError(result.RESULT_INCORRECT_STATE, "the simulation ends")
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
        self._stopped_at = None
        self._simulation.pause(False)

    def _pause(self) -> None:
        self._stopped_at = None
        self._simulation.pause(True)

    def _quit(self) -> None:
        with contextlib.suppress(RbdynError):
            self._simulation.pause(True)
        # later, on a thread of its own, so that the reply is sent before
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
            self._stopped_at = None  # a part of the robot is not as at the start

    def _get_entities(self, request: Any, response: Any) -> None:
        response.entities = self._chosen(request.filters)

    def _get_entities_states(self, request: Any, response: Any) -> None:
        response.entities = self._chosen(request.filters)
        for name in response.entities:
            response.states.append(self._entity_state(name))

    def _chosen(self, filters: Any) -> list[str]:
        """Return the entities that pass the filters."""
        unsupported = self._result.RESULT_FEATURE_UNSUPPORTED
        try:
            region = region_of(filters.bounds)
        except RbdynError as error:
            raise refusal(f"filters.bounds: {error}") from error
        if filters.tags.tags:
            raise ResultError(unsupported, "robots have no tags; leave filters.tags empty")
        wanted = {category.category for category in filters.categories}
        known = self._simulation.entities()
        if wanted:
            known = [name for name in known if self._category(name) in wanted]
        try:
            known = matching(filters.filter, known)
        except RbdynError as error:
            raise refusal(f"filters.filter: {error}") from error
        return known if region is None else [name for name in known if self._is_in(region, name)]

    def _is_in(self, region: Region, name: str) -> bool:
        """Whether a shape of an entity overlaps a region, or its origin, if it has no shapes."""
        simulation = self._simulation
        x, y, z = simulation.entity_state(name)[0]
        point = Part(Sphere(0.0), Pose((x, y, z)))
        return any(map(region.overlaps, simulation.shapes(name) or [point]))

    def _category(self, name: str) -> int:
        from simulation_interfaces.msg import EntityCategory

        categories = {
            "robot": EntityCategory.CATEGORY_ROBOT,
            "object": EntityCategory.CATEGORY_DYNAMIC_OBJECT,
            "obstacle": EntityCategory.CATEGORY_STATIC_OBJECT,
        }
        return int(categories[self._simulation.kind(name)])

    def _check_entity(self, name: str) -> None:
        check_entity(self._simulation, name)

    def _get_entity_info(self, request: Any, response: Any) -> None:
        self._check_entity(request.entity)
        response.info.category.category = self._category(request.entity)

    def _get_entity_state(self, request: Any, response: Any) -> None:
        self._check_entity(request.entity)
        response.state = self._entity_state(request.entity)

    def _entity_state(self, name: str) -> Any:
        from simulation_interfaces.msg import EntityState

        state = EntityState()
        position, quaternion, linear, angular, rates = self._simulation.entity_state(name)
        state.header.stamp = time_message(self._simulation.stamp_ns(name))
        state.header.frame_id = self._simulation.world_frame
        fill_vector(state.pose.position, position)
        fill_vector(state.pose.orientation, quaternion)
        fill_vector(state.twist.linear, linear)
        fill_vector(state.twist.angular, angular)
        fill_vector(state.acceleration.linear, rates[:3])
        fill_vector(state.acceleration.angular, rates[3:])
        return state

    def _set_entity_state(self, request: Any, response: Any) -> None:
        unsupported, state = self._result.RESULT_FEATURE_UNSUPPORTED, request.state
        self._check_entity(request.entity)
        frame, world = state.header.frame_id, self._simulation.world_frame
        if frame not in ("", world):
            why = (
                f"the state is in frame {quote(frame)}; allowed is '{world}' or an empty frame_id"
            )
            raise ResultError(unsupported, why)
        # before version 2.1 the message had no flags: pose and twist were always set
        if getattr(request, "set_acceleration", False):
            raise ResultError(unsupported, "accelerations follow from forces and cannot be set")
        set_pose = getattr(request, "set_pose", True)
        set_twist = getattr(request, "set_twist", True)
        if not (set_pose or set_twist):
            raise refusal("neither set_pose nor set_twist is true: there is nothing to set")
        pose: Pair = (vector_of(state.pose.position), vector_of(state.pose.orientation))
        twist: Pair = (vector_of(state.twist.linear), vector_of(state.twist.angular))
        if set_pose:
            try:
                check_pose(*pose)
            except RbdynError as error:
                raise ResultError(response.INVALID_POSE, str(error)) from error
        if set_twist:
            check_magnitude("the twist", [*twist[0], *twist[1]], LARGEST_STATE)
        here = self._simulation.entity_state(request.entity)
        pose, twist = pose if set_pose else here[:2], twist if set_twist else here[2:4]
        self._simulation.set_entity_state(request.entity, *pose, *twist)
