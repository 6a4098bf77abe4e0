# SPDX-License-Identifier: Apache-2.0
"""The world of a robot, a value: its objects, obstacles and attachments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.build.renaming import root_of
from rbdyn_ros.description.parts.geometries import Obstacle, Plane
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scenes.entities import Weld, with_welds
from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.dynamics.attaching import with_loop_pose
from rbdyn_ros.errors import did_you_mean, listing, quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.simulator.world.places import PlacedShape, Places

#: The name of the fixed root in requests to attach a link.
WORLD = "world"


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """Info that a client gave about an entity, as in simulation_interfaces/EntityInfo."""

    category: int
    description: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpawnedRobot:
    """A robot that was spawned.

    Attributes:
        namespace: namespace of its topics, with all parents.
        urdf: the text of its URDF, or empty.
        pose: pose of the robot in the world if it is fixed there; None: its base floats.
    """

    namespace: str
    urdf: str
    pose: Pose | None


@dataclass(frozen=True, slots=True)
class WorldFile:
    """A world that can be loaded.

    Attributes:
        name: name of the world.
        uri: URI of the file, or empty.
        text: content of the world if there is no file; empty: there is a file.
        about: a description for people; empty: no description.
        tags: words by which worlds are chosen.
    """

    name: str
    uri: str
    text: str = ""
    about: str = ""
    tags: tuple[str, ...] = ()


#: The worlds of a robot that was started without a scene.
FLOOR_ONLY = WorldFile("floor", "", "rbdyn_scene: 1\n", "a floor at height 0")
NOTHING = WorldFile("empty", "", "rbdyn_scene: 1\nfloor: false\n", "nothing besides the robot")
#: The name of a text in messages.
TEXT = Path("resource_string")


def world_file(parts: SceneParts, uri: str, text: str = "") -> WorldFile:
    """Return the world of the parts of a scene."""
    return WorldFile(parts.name, uri, text, parts.about, tuple(parts.tags))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The world of a robot: its objects, obstacles and attachments. changes.py makes new Worlds.

    Attributes:
        loose: the robot and its objects, without attachments.
        floating: whether the Model adds a floating joint at the root of the description.
        m: Model of the world, without payloads.
        start: (nq,) position after a reset.
        strict: as for load_urdf.
        package_dirs: as for load_urdf.
        first_robots: the initial robots: their names as entities, by their names in the scene; a
            robot alone may have an empty name there.
        contact: whether the robot was loaded with contact.
        spawned: the objects and obstacles that did not exist at the start, by name.
        attached: the welds of links.
        file: file that was loaded; None: no world is loaded.
        first: the world as it was loaded; None: this world is as it was loaded.
        infos: infos of entities, by name.
        robots: robots that were spawned, by name.
    """

    loose: Description
    floating: bool
    m: Model
    start: Array
    strict: bool
    package_dirs: Sequence[str | Path]
    first_robots: Mapping[str, str]
    contact: bool
    spawned: Mapping[str, Object | Obstacle] = field(default_factory=dict)
    attached: tuple[Weld, ...] = ()
    file: WorldFile | None = None
    first: World | None = None
    infos: Mapping[str, EntityInfo] = field(default_factory=dict)
    robots: Mapping[str, SpawnedRobot] = field(default_factory=dict)

    @property
    def as_loaded(self) -> World:
        """The world as it was loaded."""
        return self.first or self

    @property
    def description(self) -> Description:
        """The robot and its objects, with all attachments."""
        return with_welds(self.loose, self.attached)

    @property
    def taken(self) -> set[str]:
        """The names that a new object cannot have."""
        obstacles = {one.name for one in self.loose.obstacles}
        geometries = {one.name for one in self.loose.geometries}
        m = self.m
        return {*m.frame_names, *m.jnt_names, *m.loop_names, *obstacles, *geometries}

    @property
    def listed(self) -> str:
        """The list of attached links, for messages."""
        pairs = [f"{quote(weld.link)} to {quote(weld.to)}" for weld in self.attached]
        return f"the attached pairs are {', '.join(pairs)}" if pairs else "nothing is attached"

    def obstacle(self, name: str) -> Obstacle | None:
        """Return an obstacle, or None if the name is not an obstacle's."""
        return next((one for one in self.loose.obstacles if one.name == name), None)

    def shapes(self, name: str, places: Places) -> list[PlacedShape]:
        """Return the shapes of an entity, or of the robot (name empty), in the world."""
        if fixed := self.obstacle(name):
            return [PlacedShape(fixed.shape, fixed.origin)]
        return places.placed(self.loose, name, self._owners)

    def bounds(self, name: str, places: Places) -> tuple[Array, Array]:
        """Return the corners of the box around an entity, or around the robot (name empty).

        The box is in the axes of its root link, around its geometries in their present pose.

        Raises:
            RbdynError: it has no geometries.
        """
        fixed = self.obstacle(name)
        if fixed and isinstance(fixed.shape, Plane):
            raise refusal("it is an infinite plane, so it has no bounds")
        parts = (
            [PlacedShape(fixed.shape)] if fixed else places.parts(self.loose, name, self._owners)
        )
        if not parts:
            raise refusal("it has no collision geometries, so it has no bounds")
        lowest, highest = zip(*(part.corners for part in parts), strict=True)
        return np.min(lowest, axis=0), np.max(highest, axis=0)

    @property
    def _owners(self) -> set[str]:
        """The names of the objects and of all robots."""
        return {*self.loose.objects, *self.first_robots, *self.robots, *self.spawned}

    def weld(self, link: str, to: str, places: Places) -> Weld:
        """Return the weld of two links in the pose that they have to each other.

        Raises:
            RbdynError: a link is unknown, or both are parts of one body or attached already.
        """
        base = self._link(to)
        fixed = self._is_new_root(base)
        of, on = self._body(link), 0 if fixed else self._body(base)
        if of == on:
            raise refusal(f"{quote(link)} and {quote(to)} are parts of one rigid body")
        if self._welds(link, base):
            raise refusal(f"{quote(link)} and {quote(to)} are attached already")
        pose = self._between(link, base, places)
        return Weld(link, base, pose, (self._solid(of), self._solid(on)))

    def _solid(self, body: int) -> tuple[str, ...]:
        """Return the links of a body that have geometries; the obstacles are parts of body 0."""
        links = dict.fromkeys(geom.link for geom in self.loose.geometries)
        obstacles = [one.name for one in self.loose.obstacles] if body == 0 else []
        return *(link for link in links if self._body(link) == body), *obstacles

    def settled(self, before: World, places: Places) -> World:
        """Return this world with its last weld in the pose that the links have now.

        Args:
            before: the world in which they are.
            places: poses of the links in that world.
        """
        last = self.attached[-1]
        weld = replace(last, pose=before._between(last.link, last.to, places))
        world = replace(self, attached=(*self.attached[:-1], weld))
        return replace(world, m=world.with_weld_pose(self.m))

    def with_weld_pose(self, m: Model) -> Model:
        """Return `m`, this world's Model perhaps with payloads, with the pose of the last weld."""
        weld = self.attached[-1]
        return with_loop_pose(m, weld.name, m.frame_id(weld.to), weld.pose)

    def _is_new_root(self, link: str) -> bool:
        """Return whether a link is the fixed root that a robot with a floating base gets."""
        return link == root_of(self.loose) and link not in self.m.frame_names

    def _between(self, link: str, to: str, places: Places) -> Pose:
        """Return the pose of a link in another link."""
        new = to not in self.m.frame_names
        return compose(inverse(IN_PLACE if new else places.of(to)), places.of(link))

    def others(self, link: str, to: str) -> tuple[Weld, ...]:
        """Return the attachments except the attachment of these two links.

        Raises:
            RbdynError: they are not attached.
        """
        ended = self._welds(link, self._link(to))
        if not ended:
            raise refusal(f"{quote(link)} and {quote(to)} are not attached; {self.listed}")
        return tuple(weld for weld in self.attached if weld not in ended)

    def check_loose(self, joint: int) -> None:
        """Raise RbdynError if a link beyond a floating joint is attached: it cannot be placed."""
        root = self.m.body_rootid[joint + 1]
        for weld in self.attached:
            if root in (self.m.body_rootid[self._body(link)] for link in (weld.link, weld.to)):
                text = f"{quote(weld.link)} is attached to {quote(weld.to)}; detach it first"
                raise refusal(text)

    def _welds(self, link: str, to: str) -> list[Weld]:
        return [weld for weld in self.attached if {weld.link, weld.to} == {link, to}]

    def _link(self, name: str) -> str:
        """Return the link that a name stands for: `world` is the fixed root."""
        known = name in self.m.frame_names
        return root_of(self.loose) if name == WORLD and not known else name

    def _body(self, link: str) -> int:
        names = self.m.frame_names
        if link not in names:
            text = f"there is no link {quote(link)}{did_you_mean(link, names)}; the links are "
            raise refusal(text + listing(names))
        return int(self.m.frame_bodyid[self.m.frame_id(link)])
