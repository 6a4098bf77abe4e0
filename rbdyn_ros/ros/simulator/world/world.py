# SPDX-License-Identifier: Apache-2.0
"""The world of a robot as an immutable value: its objects, obstacles and attachments."""

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
    """Info that a client has set for an entity, as in simulation_interfaces/EntityInfo."""

    category: int
    description: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpawnedRobot:
    """A robot that was spawned.

    Attributes:
        namespace: full namespace of its topics.
        urdf: text of its URDF; empty: it has none.
        pose: pose of the robot in the world if it is fixed to the world; None: its base floats.
    """

    namespace: str
    urdf: str
    pose: Pose | None


@dataclass(frozen=True, slots=True)
class WorldFile:
    """A world that can be loaded.

    Attributes:
        name: name of the world.
        uri: URI of the file; empty: there is no file.
        text: content of the scene if there is no file; empty: there is a file.
        about: description for people; empty: no description.
        tags: words that clients can search for.
    """

    name: str
    uri: str
    text: str = ""
    about: str = ""
    tags: tuple[str, ...] = ()


#: Worlds of a robot that was started without a scene.
FLOOR_ONLY = WorldFile("floor", "", "rbdyn_scene: 1\n", "a floor at height 0")
NOTHING = WorldFile("empty", "", "rbdyn_scene: 1\nfloor: false\n", "nothing besides the robot")
#: Name in messages of a scene that was given as a text.
TEXT = Path("resource_string")


def world_file(parts: SceneParts, uri: str, text: str = "") -> WorldFile:
    """Return the WorldFile of a scene with these parts, from a URI or a text."""
    return WorldFile(parts.name, uri, text, parts.about, tuple(parts.tags))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The world of a robot: its objects, obstacles and attachments. See changes.py.

    Attributes:
        loose: description of the robot and its objects, without attachments.
        floating: whether the Model adds a floating joint at the root of the description.
        m: Model of the world, without payloads.
        start: (nq,) position after a reset.
        strict: as for load_urdf.
        package_dirs: as for load_urdf.
        first_robots: names of the initial robots as entities, by their names in the scene; the
            name of a single robot in the scene may be empty.
        contact: whether the robot was loaded with contact.
        spawned: objects and obstacles that were added at run time, by name.
        attached: welds of the attached links, in the order in which they were attached.
        file: the loaded world file; None: no world is loaded.
        first: the world as it was loaded; None: this world is unchanged.
        infos: infos about entities, by name.
        robots: spawned robots, by name.
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
        """Description of the robot and its objects, with all attachments."""
        return with_welds(self.loose, self.attached)

    @property
    def taken(self) -> set[str]:
        """Names that a new entity cannot have."""
        obstacles = {one.name for one in self.loose.obstacles}
        geometries = {one.name for one in self.loose.geometries}
        m = self.m
        return {*m.frame_names, *m.jnt_names, *m.loop_names, *obstacles, *geometries}

    @property
    def listed(self) -> str:
        """List of the attached links as a text, for messages."""
        pairs = [f"{quote(weld.link)} to {quote(weld.to)}" for weld in self.attached]
        return f"the attached pairs are {', '.join(pairs)}" if pairs else "nothing is attached"

    def obstacle(self, name: str) -> Obstacle | None:
        """Return the obstacle with a name; None: there is no such obstacle."""
        return next((one for one in self.loose.obstacles if one.name == name), None)

    def shapes(self, name: str, places: Places) -> list[PlacedShape]:
        """Return the shapes of an entity in the world's frame; name empty: of the robot."""
        if fixed := self.obstacle(name):
            return [PlacedShape(fixed.shape, fixed.origin)]
        return places.placed(self.loose, name, self._owners)

    def bounds(self, name: str, places: Places) -> tuple[Array, Array]:
        """Return lower and upper corner of the bounding box of an entity; name empty: the robot.

        The box is in the frame of the entity's root link, around the geometries in `places`.

        Raises:
            RbdynError: the entity has no geometries, or is an infinite plane.
        """
        fixed = self.obstacle(name)
        if fixed and isinstance(fixed.shape, Plane):
            raise refusal("an infinite plane has no bounds")
        parts = (
            [PlacedShape(fixed.shape)] if fixed else places.parts(self.loose, name, self._owners)
        )
        if not parts:
            raise refusal("it has no collision geometries, so it has no bounds")
        lowest, highest = zip(*(part.corners for part in parts), strict=True)
        return np.min(lowest, axis=0), np.max(highest, axis=0)

    @property
    def _owners(self) -> set[str]:
        """Names of all objects and robots."""
        return {*self.loose.objects, *self.first_robots, *self.robots, *self.spawned}

    def weld(self, link: str, to: str, places: Places) -> Weld:
        """Return the weld of two links at their present relative pose.

        Raises:
            RbdynError: a link is unknown, or the links are parts of one body or attached already.
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
        """Return the links of a body that have geometries; body 0 also has the obstacles."""
        links = dict.fromkeys(geom.link for geom in self.loose.geometries)
        obstacles = [one.name for one in self.loose.obstacles] if body == 0 else []
        return *(link for link in links if self._body(link) == body), *obstacles

    def settled(self, before: World, places: Places) -> World:
        """Return this world with its newest weld at the present relative pose of the links.

        Args:
            before: the present world, to which the poses belong.
            places: poses of the links in that world.
        """
        last = self.attached[-1]
        weld = replace(last, pose=before._between(last.link, last.to, places))
        world = replace(self, attached=(*self.attached[:-1], weld))
        return replace(world, m=world.with_weld_pose(self.m))

    def with_weld_pose(self, m: Model) -> Model:
        """Return `m`, this world's Model (payloads added or not), with the newest weld's pose."""
        weld = self.attached[-1]
        return with_loop_pose(m, weld.name, m.frame_id(weld.to), weld.pose)

    def _is_new_root(self, link: str) -> bool:
        """Return whether a link is the fixed root that was added above a floating base."""
        return link == root_of(self.loose) and link not in self.m.frame_names

    def _between(self, link: str, to: str, places: Places) -> Pose:
        """Return the pose of `link` in the frame of `to`."""
        new = to not in self.m.frame_names
        return compose(inverse(IN_PLACE if new else places.of(to)), places.of(link))

    def others(self, link: str, to: str) -> tuple[Weld, ...]:
        """Return all attachments except attachments of these two links to each other.

        Raises:
            RbdynError: the links are not attached.
        """
        ended = self._welds(link, self._link(to))
        if not ended:
            raise refusal(f"{quote(link)} and {quote(to)} are not attached; {self.listed}")
        return tuple(weld for weld in self.attached if weld not in ended)

    def check_loose(self, joint: int) -> None:
        """Raise RbdynError if a link beyond a floating joint is attached: it cannot be moved."""
        root = self.m.body_rootid[joint + 1]
        for weld in self.attached:
            if root in (self.m.body_rootid[self._body(link)] for link in (weld.link, weld.to)):
                text = f"{quote(weld.link)} is attached to {quote(weld.to)}; detach it first"
                raise refusal(text)

    def _welds(self, link: str, to: str) -> list[Weld]:
        return [weld for weld in self.attached if {weld.link, weld.to} == {link, to}]

    def _link(self, name: str) -> str:
        """Return the link with this name, or the fixed root for the name `world`; else refuse."""
        known = name in self.m.frame_names
        return root_of(self.loose) if name == WORLD and not known else name

    def _body(self, link: str) -> int:
        names = self.m.frame_names
        if link not in names:
            text = f"there is no link {quote(link)}{did_you_mean(link, names)}; the links are "
            raise refusal(text + listing(names))
        return int(self.m.frame_bodyid[self.m.frame_id(link)])
