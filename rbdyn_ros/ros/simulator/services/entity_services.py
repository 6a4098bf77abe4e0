# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces that list entities, and read and set their state."""

from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.description.parts.geometries import Sphere
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.errors import DescriptionError, RbdynError, quote, refusal
from rbdyn_ros.ros.common.parsing.convert import (
    fill_vector,
    quaternion_numbers,
    time_message,
    vector_numbers,
)
from rbdyn_ros.ros.common.parsing.magnitudes import LARGEST_STATE, check_magnitude, check_pose
from rbdyn_ros.ros.simulator.robot.entities import Motion, Pair
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services import results
from rbdyn_ros.ros.simulator.services.filters import matching, tags_filter
from rbdyn_ros.ros.simulator.services.regions import Region, region_of
from rbdyn_ros.ros.simulator.world.places import PlacedShape
from rbdyn_ros.ros.simulator.world.world import EntityInfo

#: Categories of SetEntityInfo.
CATEGORIES = {0: "object", 1: "robot", 2: "human", 4: "dynamic object", 5: "static object"}
#: Largest length of each text in SetEntityInfo [characters], and largest number of tags.
LONGEST_TEXT, MOST_TAGS = 1000, 100


class EntityServices(results.OfferedServices):
    """Services that find, read and change entities; see OfferedServices.

    Args:
        node: node that offers the services under its name.
        simulation: the simulation with the entities.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._entities = simulation, simulation.entities
        super().__init__(
            node,
            {
                "GetEntities": (self._get_entities, ("ENTITY_CATEGORIES", "ENTITY_TAGS")),
                "GetEntitiesStates": (self._get_entities_states, ()),
                "GetEntityInfo": (self._get_entity_info, ("ENTITY_INFO_GETTING",)),
                "SetEntityInfo": (self._set_entity_info, ("ENTITY_INFO_SETTING",)),
                "GetEntityState": (self._get_entity_state, ("ENTITY_STATE_GETTING",)),
                "SetEntityState": (self._set_entity_state, ("ENTITY_STATE_SETTING",)),
            },
        )

    def _get_entities(self, request: Any, response: Any) -> None:
        response.entities = self._chosen(request.filters)

    def _get_entities_states(self, request: Any, response: Any) -> None:
        response.entities = self._chosen(request.filters)
        response.states = self._states(response.entities)

    def _chosen(self, filters: Any) -> list[str]:
        """Return the names of the entities that pass the filters; refuse invalid filters."""
        try:
            region = region_of(filters.bounds)
        except RbdynError as error:
            raise refusal(f"filters.bounds: {error}") from error
        try:
            passes = tags_filter(filters.tags)
        except RbdynError as error:
            raise refusal(f"filters.tags: {error}") from error
        wanted = {category.category for category in filters.categories}
        infos = {name: self._info(name) for name in self._entities.names()}
        known = [
            name
            for name, info in infos.items()
            if passes(info.tags) and (not wanted or info.category in wanted)
        ]
        try:
            known = matching(filters.filter, known)
        except RbdynError as error:
            raise refusal(f"filters.filter: {error}") from error
        return known if region is None else [name for name in known if self._is_in(region, name)]

    def _is_in(self, region: Region, name: str) -> bool:
        """Return whether a shape of an entity overlaps a region; without shapes: its origin."""
        x, y, z = self._entities.state(name)[0]
        point = PlacedShape(Sphere(0.0), Pose((x, y, z)))
        return any(map(region.overlaps, self._entities.shapes(name) or [point]))

    def _info(self, name: str) -> EntityInfo:
        """Return the info that a client has set for an entity; else an info with its category."""
        from simulation_interfaces.msg import EntityCategory

        categories = {
            "robot": EntityCategory.CATEGORY_ROBOT,
            "object": EntityCategory.CATEGORY_DYNAMIC_OBJECT,
            "obstacle": EntityCategory.CATEGORY_STATIC_OBJECT,
        }
        given = self._entities.info(name)
        return given or EntityInfo(categories[self._entities.kind(name)], "", ())

    def _get_entity_info(self, request: Any, response: Any) -> None:
        results.check_entity(self._entities.names(), request.entity)
        info = self._info(request.entity)
        response.info.category.category = info.category
        response.info.description, response.info.tags = info.description, list(info.tags)

    def _set_entity_info(self, request: Any, _: Any) -> None:
        results.check_entity(self._entities.names(), request.entity)
        info = request.info
        category, tags = info.category.category, tuple(info.tags)
        if category not in CATEGORIES:
            allowed = ", ".join(f"{number} ({what})" for number, what in CATEGORIES.items())
            raise refusal(f"the category is {category}; allowed are {allowed}")
        if len(tags) > MOST_TAGS or max(map(len, (info.description, *tags))) > LONGEST_TEXT:
            raise refusal(
                f"the info is too long; allowed are {MOST_TAGS} tags, and {LONGEST_TEXT} "
                "characters for each of them and for the description"
            )
        self._entities.set_info(request.entity, EntityInfo(category, info.description, tags))

    def _get_entity_state(self, request: Any, response: Any) -> None:
        results.check_entity(self._entities.names(), request.entity)
        response.state = self._states([request.entity])[0]

    def _states(self, names: Sequence[str]) -> list[Any]:
        """Return the EntityStates of these entities, all at the same time."""
        return [self._message(*state) for state in self._entities.states(names)]

    def _message(self, stamp_ns: int, motion: Motion) -> Any:
        from simulation_interfaces.msg import EntityState

        state = EntityState()
        position, quaternion, linear, angular, rates = motion
        state.header.stamp = time_message(stamp_ns)
        state.header.frame_id = self._simulation.world_frame
        fill_vector(state.pose.position, position)
        fill_vector(state.pose.orientation, quaternion)
        fill_vector(state.twist.linear, linear)
        fill_vector(state.twist.angular, angular)
        fill_vector(state.acceleration.linear, rates[:3])
        fill_vector(state.acceleration.angular, rates[3:])
        return state

    def _set_entity_state(self, request: Any, response: Any) -> None:
        state = request.state
        results.check_entity(self._entities.names(), request.entity)
        frame, world = state.header.frame_id, self._simulation.world_frame
        if frame not in ("", world):
            reason = (
                f"the state is in frame {quote(frame)}; allowed is '{world}' or an empty frame_id"
            )
            raise results.ResultError(results.FEATURE_UNSUPPORTED, reason)
        # before version 2.1 the request had no flags, and always set pose and twist
        if getattr(request, "set_acceleration", False):
            reason = "accelerations follow from forces and cannot be set"
            raise results.ResultError(results.FEATURE_UNSUPPORTED, reason)
        set_pose = getattr(request, "set_pose", True)
        set_twist = getattr(request, "set_twist", True)
        if not (set_pose or set_twist):
            raise refusal("neither set_pose nor set_twist is true: there is nothing to set")
        pose: Pair = (
            vector_numbers(state.pose.position),
            quaternion_numbers(state.pose.orientation),
        )
        twist: Pair = (vector_numbers(state.twist.linear), vector_numbers(state.twist.angular))
        if set_pose:
            try:
                check_pose(*pose)
            except RbdynError as error:
                raise results.ResultError(response.INVALID_POSE, str(error)) from error
        if set_twist:
            check_magnitude("the twist", [*twist[0], *twist[1]], LARGEST_STATE)
        chosen = pose if set_pose else None, twist if set_twist else None
        try:
            self._entities.set_state(request.entity, *chosen)
        except DescriptionError as error:  # the obstacle would be inside something
            raise results.ResultError(response.INVALID_POSE, error.findings[0].message) from error
