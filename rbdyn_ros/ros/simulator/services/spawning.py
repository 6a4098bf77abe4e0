# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces that add and remove entities."""

import re
from functools import partial
from typing import Any

import numpy as np
from rclpy.exceptions import InvalidNamespaceException
from rclpy.node import Node
from rclpy.validate_namespace import validate_namespace

from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import Pose, quat_mul
from rbdyn_ros.description.reading.requests import for_others
from rbdyn_ros.description.robot_files import read_with_text
from rbdyn_ros.description.scenes.scene_objects import is_robot_file, root_of_file
from rbdyn_ros.errors import DescriptionError, RbdynError, quote
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.ros.common.parsing.convert import fill_vector, quaternion_numbers, vector_numbers
from rbdyn_ros.ros.common.parsing.magnitudes import check_pose
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services import results
from rbdyn_ros.ros.simulator.services.spawnables import (
    EXAMPLES,
    INVALID_POSE,
    NAMESPACE_INVALID,
    PARSE_ERROR,
    chosen_name,
    entity_of,
    has_actuators,
)
from rbdyn_ros.ros.simulator.world.world import SpawnedRobot

#: Result code of SpawnEntities if not all entities were spawned.
ENTITIES_SPAWN_FAILED = 150


class Spawning(results.OfferedServices):
    """Services that spawn and delete entities; see OfferedServices.

    Args:
        node: node that offers the services under its name.
        simulation: the simulation to change.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._logger = simulation, node.get_logger()
        self._entities = simulation.entities
        super().__init__(
            node,
            {
                "SpawnEntity": (self._spawn_entity, ("SPAWNING", "SPAWNING_RESOURCE_STRING")),
                "SpawnEntities": (self._spawn_entities, ("SPAWNING_ENTITIES",)),
                "DeleteEntity": (self._delete_entity, ("DELETING",)),
                "GetEntityBounds": (
                    self._get_entity_bounds,
                    ("ENTITY_BOUNDS", "ENTITY_BOUNDS_BOX"),
                ),
                "GetSpawnables": (self._get_spawnables, ("SPAWNABLES",)),
            },
        )

    def _spawn_entity(self, request: Any, response: Any) -> None:
        response.entity_name = self._spawn(request)

    def _spawn_entities(self, request: Any, response: Any) -> None:
        from simulation_interfaces.msg import SpawnResult

        failed = []
        for k, one in enumerate(request.spawn_requests):
            result = SpawnResult()
            if not results.fill_result(result.result, partial(self._fill, result, one)):
                failed.append(f"{k}: {result.result.error_message}")
            response.results.append(result)
        if failed:
            text = f"{len(failed)} of {len(response.results)} were not spawned: {failed[0]}"
            raise results.ResultError(ENTITIES_SPAWN_FAILED, text)

    def _fill(self, result: Any, request: Any) -> None:
        result.entity_name = self._spawn(request)

    def _spawn(self, request: Any) -> str:
        """Spawn the entity of a request; return its name, or raise ResultError."""
        # before version 2.0 the resource was part of the request
        resource = getattr(request, "entity_resource", request)
        uri, text, taken = resource.uri, resource.resource_string, self._entities.taken()
        name = chosen_name(request.name, request.allow_renaming, uri or text, taken)
        entity = entity_of(name, uri, text, self._pose(request.initial_pose))
        may_act = isinstance(entity, Object) and is_robot_file(entity.shape) and has_actuators(uri)
        if request.entity_namespace and not may_act:
            text = "entity_namespace must be empty: an object has no topics"
            raise results.ResultError(NAMESPACE_INVALID, text)
        try:
            with for_others() as opened:
                robot = self._robot(entity, request.entity_namespace) if may_act else None
                acts = self._entities.spawn(entity, robot)
        except DescriptionError as error:
            if error.code == "object-overlaps":
                raise results.ResultError(INVALID_POSE, results.first_finding(error)) from error
            reason = (
                results.of_files(error, self._logger) if opened else results.first_finding(error)
            )
            raise results.ResultError(PARSE_ERROR, reason) from error
        if acts and robot is not None:
            space = robot.namespace
            text = (
                f"spawned {quote(name)}: states are on {space}/joint_states; commands go to "
                f"{space}/joint_commands"
            )
            self._logger.info(text)
        return name

    def _robot(self, entity: Any, namespace: str) -> SpawnedRobot:
        """Return the robot with its topics' namespace and its URDF; refuse a bad namespace."""
        own = self._simulation.robots[0].node.get_namespace().rstrip("/")
        space = namespace or re.sub(r"\W|^(?=\d)", "_", entity.name, flags=re.ASCII)
        space = (space if space.startswith("/") else f"{own}/{space}").rstrip("/") or "/"
        try:
            validate_namespace(space)
        except InvalidNamespaceException as error:
            text = f"entity_namespace is {quote(namespace)}; allowed are letters, digits, '_', '/'"
            raise results.ResultError(NAMESPACE_INVALID, text) from error
        if space in self._entities.namespaces():
            text = f"another robot uses the namespace {quote(space)}; choose another one"
            raise results.ResultError(NAMESPACE_INVALID, text)
        how: dict[str, Any] = {"package_dirs": self._simulation.robots[0].world.package_dirs}
        is_urdf = root_of_file(entity.shape, **how) == "robot"
        urdf = read_with_text(entity.shape, strict=False, **how)[1] if is_urdf else ""
        return SpawnedRobot(space, urdf, None)

    def _pose(self, stamped: Any) -> Pose:
        """Convert a pose in the frame of an entity to the world; refuse unknown frames."""
        position = vector_numbers(stamped.pose.position)
        quaternion = quaternion_numbers(stamped.pose.orientation)
        try:
            check_pose(position, quaternion)
        except RbdynError as error:
            raise results.ResultError(INVALID_POSE, str(error)) from error
        wxyz = np.roll(quaternion, 1) / np.linalg.norm(quaternion)
        frame = stamped.header.frame_id
        if frame in ("", self._simulation.world_frame):
            return Pose((position[0], position[1], position[2]), tuple(wxyz.tolist()))
        results.check_entity(self._entities.names(), frame)
        origin, turn, *_ = self._entities.state(frame)
        base = tuple(np.roll(turn, 1).tolist())
        at = np.asarray(origin) + quat_to_mat(np.asarray(base)) @ np.asarray(position)
        return Pose(tuple(at.tolist()), quat_mul(base, tuple(wxyz.tolist())))

    def _delete_entity(self, request: Any, _: Any) -> None:
        results.check_entity(self._entities.names(), request.entity)
        self._entities.delete(request.entity)

    def _get_entity_bounds(self, request: Any, response: Any) -> None:
        from geometry_msgs.msg import Vector3

        results.check_entity(self._entities.names(), request.entity)
        low, high = self._entities.bounds(request.entity)
        response.bounds.type = response.bounds.TYPE_BOX
        for corner in (high, low):  # the order of the standard
            point = Vector3()
            fill_vector(point, corner)
            response.bounds.points.append(point)

    def _get_spawnables(self, request: Any, response: Any) -> None:
        from simulation_interfaces.msg import Spawnable

        if request.sources:
            text = f"sources must be empty, got {quote(request.sources[0])}"
            raise results.ResultError(
                results.FEATURE_UNSUPPORTED, f"{text}; only the bundled examples are listed"
            )
        for uri, description in EXAMPLES:
            one = Spawnable(description=description)
            getattr(one, "entity_resource", one).uri = uri
            response.spawnables.append(one)
