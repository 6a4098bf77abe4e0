# SPDX-License-Identifier: Apache-2.0
"""The services of simulation_interfaces that load worlds."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rclpy.node import Node

from rbdyn_ros.description.reading.requests import for_others
from rbdyn_ros.errors import DescriptionError, RbdynError, quote, refusal
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services.filters import tags_filter
from rbdyn_ros.ros.simulator.services.results import (
    FEATURE_UNSUPPORTED,
    OfferedServices,
    ResultError,
)
from rbdyn_ros.ros.simulator.services.uris import path_of
from rbdyn_ros.ros.simulator.services.world_files import (
    is_same,
    read_world,
    refused_world,
    worlds_at,
)
from rbdyn_ros.ros.simulator.world.world import WorldFile
from rbdyn_ros.share import share_dir

#: Result codes of these services.
NO_WORLD_LOADED = DEFAULT_SOURCES_FAILED = 101
#: Beginnings of URIs of files on this machine.
LOCAL = ("file://", "package://")


class Worlds(OfferedServices):
    """Services that list, load and unload worlds; see OfferedServices.

    Args:
        node: node that offers the services under its name.
        simulation: the simulation to change.
        sources: folders and scene files that are searched for worlds.
        stop: function that resets the simulation and leaves it stopped at its start.
    """

    def __init__(
        self, node: Node, simulation: Simulation, sources: Sequence[str], stop: Callable[[], None]
    ) -> None:
        self._simulation, self._stop, self._logger = simulation, stop, node.get_logger()
        self._sources = [*sources, str(share_dir() / "config" / "worlds")]
        super().__init__(
            node,
            {
                "LoadWorld": (self._load_world, ("WORLD_LOADING", "WORLD_RESOURCE_STRING")),
                "UnloadWorld": (self._unload_world, ("WORLD_UNLOADING",)),
                "GetCurrentWorld": (self._get_current_world, ("WORLD_INFO_GETTING",)),
                "GetAvailableWorlds": (
                    self._get_available_worlds,
                    ("AVAILABLE_WORLDS", "WORLD_TAGS"),
                ),
            },
        )

    def _load_world(self, request: Any, response: Any) -> None:
        resource, simulation = _resource(request), self._simulation
        first = simulation.entities.first_scene
        begin = simulation.robots[0].begin
        opened: list[Path] = []
        try:
            # the user started the simulator with this scene, so read its files as at the start
            with nullcontext(opened) if self._is_first(resource.uri) else for_others() as opened:
                how = begin.strict, begin.package_dirs
                file, parts = read_world(resource.uri, resource.resource_string, first, *how)
                warnings = simulation.load_world(file, parts)
        except DescriptionError as error:
            raise refused_world(error, opened, self._logger) from error
        self._stop()
        for warning in warnings:
            text = f"world {quote(file.name)}: {warning}"
            self._logger.warning(text)
        _fill(response.world, file)

    def _is_first(self, uri: str) -> bool:
        """Return whether a URI names the scene that the simulator was started with."""
        try:
            return bool(uri) and is_same(path_of(uri), self._simulation.entities.first_scene)
        except RbdynError:  # read_world refuses this URI later
            return False

    def _unload_world(self, _request: Any, _response: Any) -> None:
        self._loaded()
        self._simulation.unload_world()
        self._stop()

    def _get_current_world(self, _: Any, response: Any) -> None:
        _fill(response.world, self._loaded())

    def _loaded(self) -> WorldFile:
        file = self._simulation.entities.world_file
        if file is None:
            raise ResultError(NO_WORLD_LOADED, "no world is loaded; load one by load_world first")
        return file

    def _get_available_worlds(self, request: Any, response: Any) -> None:
        from simulation_interfaces.msg import WorldResource

        try:
            passes = tags_filter(request.filter)
        except RbdynError as error:
            raise refusal(f"filter: {error}") from error
        found, failed = self._found(request)
        for file in found.values():
            if passes(file.tags):
                world = WorldResource()
                _fill(world, file)
                response.worlds.append(world)
        if failed and not (request.continue_on_error and response.worlds):
            raise failed[0]

    def _found(self, request: Any) -> tuple[dict[str, WorldFile], list[ResultError]]:
        """Return the worlds of all sources by their URIs, and the errors of refused sources."""
        found, failed = dict[str, WorldFile](), list[ResultError]()
        first = self._simulation.entities.first_scene
        begin = [str(first)] if first else []
        for source in (*begin, *self._sources, *request.additional_sources):
            if "://" in source and not source.startswith(LOCAL):
                if not request.offline_only:
                    failed.append(ResultError(FEATURE_UNSUPPORTED, _online(source)))
                continue
            try:
                found |= {file.uri: file for file in worlds_at(source, first)}
            except ResultError as error:
                own = source in self._sources
                failed.append(ResultError(DEFAULT_SOURCES_FAILED, str(error)) if own else error)
        return found, failed


def _online(source: str) -> str:
    text = f"the source {quote(source, 200)} is online"
    return f"{text}; allowed are folders and scene files of this machine"


def _resource(message: Any) -> Any:
    """Return the resource field of a message about a world; in version 2.0 it is named level."""
    new = hasattr(message, "world_resource")
    return message.world_resource if new else message.level_resource


def _fill(message: Any, file: WorldFile) -> None:
    """Fill in a WorldResource from a file."""
    message.name, message.description, message.tags = file.name, file.about, list(file.tags)
    resource = _resource(message)
    resource.uri, resource.resource_string = file.uri, file.text
