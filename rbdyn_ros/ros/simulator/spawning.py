"""The services of simulation_interfaces that add and remove objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node

from rbdyn_ros.description.poses import Pose, quat_mul
from rbdyn_ros.errors import DescriptionError, RbdynError, did_you_mean, listing, quote
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.ros.common.magnitudes import check_pose
from rbdyn_ros.ros.simulator.offering import offer
from rbdyn_ros.ros.simulator.result import ResultError, fill_result
from rbdyn_ros.ros.simulator.simulation import Simulation
from rbdyn_ros.ros.simulator.spawnables import (
    EXAMPLES,
    INVALID_POSE,
    NAMESPACE_INVALID,
    PARSE_ERROR,
    chosen_name,
    entity_of,
)

#: Results of every service.
FEATURE_UNSUPPORTED, NOT_FOUND = 0, 2
#: The answer of SpawnEntities if not all were spawned.
ENTITIES_SPAWN_FAILED = 150

#: Features of each type of a service.
FEATURES = {
    "SpawnEntity": ("SPAWNING", "SPAWNING_RESOURCE_STRING"),
    "SpawnEntities": ("SPAWNING_ENTITIES",),
    "DeleteEntity": ("DELETING",),
    "GetEntityBounds": ("ENTITY_BOUNDS", "ENTITY_BOUNDS_BOX"),
    "GetSpawnables": ("SPAWNABLES",),
}


class Spawning:
    """Serves the types of FEATURES that are installed.

    Args:
        node: offers the services under its name.
        simulation: to change.

    Attributes:
        features: names of the features.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._logger = simulation, node.get_logger()
        self.features = offer(
            node,
            FEATURES,
            {
                "SpawnEntity": self._spawn_entity,
                "SpawnEntities": self._spawn_entities,
                "DeleteEntity": self._delete_entity,
                "GetEntityBounds": self._get_entity_bounds,
                "GetSpawnables": self._get_spawnables,
            },
        )

    def _spawn_entity(self, request: Any, response: Any) -> None:
        response.entity_name = self._spawn(request)

    def _spawn_entities(self, request: Any, response: Any) -> None:
        from simulation_interfaces.msg import SpawnResult

        failed = []
        for k, one in enumerate(request.spawn_requests):
            result = SpawnResult()
            if not fill_result(result.result, partial(self._fill, result, one)):
                failed.append(f"{k}: {result.result.error_message}")
            response.results.append(result)
        if failed:
            text = f"{len(failed)} of {len(response.results)} were not spawned: {failed[0]}"
            raise ResultError(ENTITIES_SPAWN_FAILED, text)

    def _fill(self, result: Any, request: Any) -> None:
        result.entity_name = self._spawn(request)

    def _spawn(self, request: Any) -> str:
        """Spawn what a request asks for; return its name."""
        # before version 2.0 the resource was part of the request
        resource = getattr(request, "entity_resource", request)
        if request.entity_namespace:
            text = "entity_namespace must be empty: an object has no topics"
            raise ResultError(NAMESPACE_INVALID, text)
        uri, text, taken = resource.uri, resource.resource_string, self._simulation.taken()
        name = chosen_name(request.name, request.allow_renaming, uri or text, taken)
        entity = entity_of(name, uri, text, self._pose(request.initial_pose))
        try:
            self._simulation.spawn(entity)
        except DescriptionError as error:
            code = INVALID_POSE if error.code == "object-overlaps" else PARSE_ERROR
            raise ResultError(code, _sentence(error)) from error
        if joints := self._simulation.joints_of(name):
            text = (
                f"spawned {quote(name)}: its joints {listing(joints)} take no commands; robots "
                "with commands are given at the start"
            )
            self._logger.warning(text)
        return name

    def _pose(self, stamped: Any) -> Pose:
        """Return a pose in the world from a pose in the world or in the frame of an entity."""
        position, quaternion = (
            vector_of(stamped.pose.position),
            vector_of(stamped.pose.orientation),
        )
        try:
            check_pose(position, quaternion)
        except RbdynError as error:
            raise ResultError(INVALID_POSE, str(error)) from error
        wxyz = np.roll(quaternion, 1) / np.linalg.norm(quaternion)
        frame = stamped.header.frame_id
        if frame in ("", self._simulation.world_frame):
            return Pose((position[0], position[1], position[2]), tuple(wxyz.tolist()))
        check_entity(self._simulation, frame)
        origin, turn, *_ = self._simulation.entity_state(frame)
        base = tuple(np.roll(turn, 1).tolist())
        at = np.asarray(origin) + quat_to_mat(np.asarray(base)) @ np.asarray(position)
        return Pose(tuple(at.tolist()), quat_mul(base, tuple(wxyz.tolist())))

    def _delete_entity(self, request: Any, _: Any) -> None:
        check_entity(self._simulation, request.entity)
        self._simulation.delete(request.entity)

    def _get_entity_bounds(self, request: Any, response: Any) -> None:
        from geometry_msgs.msg import Vector3

        check_entity(self._simulation, request.entity)
        low, high = self._simulation.bounds(request.entity)
        response.bounds.type = response.bounds.TYPE_BOX
        for corner in (high, low):  # the order of the standard
            point = Vector3()
            fill_vector(point, corner)
            response.bounds.points.append(point)

    def _get_spawnables(self, request: Any, response: Any) -> None:
        from simulation_interfaces.msg import Spawnable

        if request.sources:
            text = f"sources has {quote(request.sources[0])}; leave it empty: none can be searched"
            raise ResultError(FEATURE_UNSUPPORTED, text)
        for uri, description in EXAMPLES:
            one = Spawnable(description=description)
            getattr(one, "entity_resource", one).uri = uri
            response.spawnables.append(one)


def check_entity(simulation: Simulation, name: str) -> None:
    """Raise ResultError if there is no entity of this name."""
    known = simulation.entities()
    if name not in known:
        hint = did_you_mean(name, known)
        listed = ", ".join(f"'{one}'" for one in known) or "none"
        text = f"there is no entity {quote(name)}{hint}; the entities are {listed}"
        raise ResultError(NOT_FOUND, text)


def _sentence(error: RbdynError) -> str:
    """Return the first finding of an error, and how many there are."""
    first = error.findings[0]
    line = f"line {first.line}: " if first.line is not None else ""
    more = f" (and {len(error.findings) - 1} more)" if len(error.findings) > 1 else ""
    return f"{line}{first.message}{more}"


def vector_of(message: Any) -> list[float]:
    """Return the fields of a Point, Vector3 or Quaternion."""
    return [getattr(message, field) for field in message.get_fields_and_field_types()]


def fill_vector(message: Any, numbers: Sequence[float]) -> None:
    """Set the fields of a Point, Vector3 or Quaternion."""
    for field, number in zip(message.get_fields_and_field_types(), numbers, strict=True):
        setattr(message, field, float(number))
