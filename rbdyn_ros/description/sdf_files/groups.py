# SPDX-License-Identifier: Apache-2.0
"""Divide an SDF into groups of links that joints connect: its bodies and robots."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

from rbdyn_ros.checks.audit import Audit, Lenient
from rbdyn_ros.description.build.renaming import renamed
from rbdyn_ros.description.checks.connectivity import RigidBodies
from rbdyn_ros.description.meshes.meshes import LEFT_OUT
from rbdyn_ros.description.parts.geometries import (
    Geometry,
    HeightField,
    Obstacle,
    Plane,
    Surface,
    TriangleMesh,
)
from rbdyn_ros.description.parts.poses import Pose, compose
from rbdyn_ros.description.parts.types import WORLD, Description, Gear, Joint, Link
from rbdyn_ros.description.sdf_files.collisions import MASKS, LinkSolid, SolidReader
from rbdyn_ros.description.sdf_files.frames import Frame, FramePlaces, Scope
from rbdyn_ros.description.sdf_files.inertials import read_inertial
from rbdyn_ros.description.sdf_files.joints import is_gearbox, read_gearbox, read_joint
from rbdyn_ros.description.sdf_files.models import SdfTree
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement
from rbdyn_ros.description.xml_files.sdf_sensors import SensorEntries

#: Names of the shapes that never move, for messages.
_STILL = {Plane: "plane", HeightField: "height field", TriangleMesh: "triangle mesh"}


@dataclass(frozen=True, slots=True, eq=False)
class SdfGroup:
    """Links that joints connect, or the links of a static model.

    Attributes:
        name: name of the model, or of the root link if the model has several groups.
        description: the group; the names have no prefix with the name of the model.
        model: the name of the model.
        root: the name of the root link in the description.
        at: pose of the root link in the world.
        is_static: whether no link moves.
        floats: whether no joint connects the group to the world.
        members: frame of each link, by the name of the link in the description.
    """

    name: str
    model: str
    root: str
    description: Description
    at: Pose
    is_static: bool
    floats: bool
    members: Mapping[str, Frame]

    @property
    def collides(self) -> bool:
        """Return whether links of the model touch each other."""
        return self.description.self_collision

    @property
    def is_object(self) -> bool:
        """Return whether the group is a free rigid body."""
        return not self.is_static and self.floats and not self.moves

    def in_scene(self, link: str) -> str:
        """Return the name that a link of the description has in a scene."""
        return self.name if self.is_object and link == self.root else f"{self.name}/{link}"

    @property
    def moves(self) -> bool:
        """Return whether the group has a joint that moves."""
        return any(joint.type != "fixed" for joint in self.description.joints)


class Grouping:
    """Makes the groups of a tree.

    Args:
        tree: the SdfTree of a file.
        source: the name of the file.
        audit: receives the errors.
        package_dirs: folders that have packages and models.
        touches: whether collisions are read.
        decompose: whether meshes become several convex parts.
    """

    def __init__(
        self,
        tree: SdfTree,
        source: str,
        audit: Audit,
        package_dirs: Sequence[str | Path],
        *,
        touches: bool,
        decompose: bool = False,
    ) -> None:
        self._tree, self._source, self._audit, self._touches = tree, source, audit, touches
        self.places = FramePlaces()
        self.top = tree.world.origin
        self.top.full = WORLD
        self._gears: list[Gear] = []
        self._joints: dict[str, Frame] = {}
        self.reader = SolidReader(
            self.places, self.top, package_dirs, decompose, has_masks=_has_masks(tree)
        )

    def groups(self) -> list[SdfGroup]:
        """Return the groups in the order of their first links."""
        links = {link.full: link for link in self._tree.links()}
        frames = list(self._tree.joints())
        how = self.places, self.top
        read = (read_joint(frame, *how) for frame in frames if not is_gearbox(frame))
        joints = [joint for joint in read if joint is not None]
        self._joints = {frame.full: frame for frame in frames}
        boxes = (read_gearbox(frame, joints, *how) for frame in frames if is_gearbox(frame))
        self._gears = [gear for gear in boxes if gear is not None]
        bodies = RigidBodies(links)
        for joint in joints:
            if WORLD not in (joint.parent, joint.child):
                bodies.merge(joint)
        first: dict[Scope, str] = {}
        for name, link in links.items():
            if link.scope.is_static:
                bodies.merge(Joint("", "fixed", first.setdefault(_model_of(link), name), name))
        sets: dict[str, list[Frame]] = {}
        for name, link in links.items():
            sets.setdefault(bodies.find(name), []).append(link)
        by_set: dict[str, list[Joint]] = {name: [] for name in sets}
        for joint in joints:
            end = joint.parent if joint.child == WORLD else joint.child
            by_set[bodies.find(end)].append(joint)
        count = Counter(_model_of(members[0]) for members in sets.values())
        return [
            self._group(members, by_set[name], count[_model_of(members[0])] == 1)
            for name, members in sets.items()
        ]

    def _group(self, members: list[Frame], joints: list[Joint], alone: bool) -> SdfGroup:
        model = _model_of(members[0])
        is_static = all(link.scope.is_static for link in members)
        prefix = model.prefix if all(_model_of(link) is model for link in members) else ""
        solids = self._solids(members)
        if is_static:
            described = self._static(members, solids, model)
            root = WORLD
        else:
            root = self._root(members, joints, model)
            described = self._dynamic(members, joints, solids, root)
        name = model.origin.full if alone else root if root != WORLD else members[0].full
        at = Pose() if root == WORLD else self.places.pose(self._frame(members, root), self.top)
        described = self._with_sensors(described, members, joints)
        named = renamed(described, lambda old: old.removeprefix(prefix)) if prefix else described
        own = root.removeprefix(prefix)
        links = {link.full.removeprefix(prefix): link for link in members}
        return SdfGroup(
            name, model.origin.full, own, named, at, is_static, floats=root != WORLD, members=links
        )

    def _solids(self, members: list[Frame]) -> list[LinkSolid]:
        if not self._touches:
            return []
        return [solid for link in members for solid in self.reader.solids(link)]

    def _with_sensors(
        self, described: Description, members: list[Frame], joints: list[Joint]
    ) -> Description:
        links = (link.name for link in described.links)
        entries = SensorEntries((*links, *(joint.name for joint in described.joints)))
        for link in members:
            if link.part is not None:
                pose = partial(self.reader.pose, link=link)
                entries.of_link(_lenient(link.part), link.full, pose)
        for joint in joints:
            frame = self._joints[joint.name]
            if frame.part is not None:
                pose = partial(self._in_child, joint, frame)
                part = _lenient(frame.part)
                entries.of_joint(part, joint.name, joint.child, joint.parent, pose)
        return replace(
            described,
            links=(*described.links, *entries.links),
            joints=(*described.joints, *entries.joints),
            sensors=tuple(entries.sensors),
        )

    def _in_child(self, joint: Joint, frame: Frame, part: SdfElement) -> Pose:
        """Return the pose of a sensor of a joint in its child link."""
        return compose(joint.child_origin, self.reader.pose(part, frame))

    def _frame(self, members: list[Frame], name: str) -> Frame:
        return next(link for link in members if link.full == name)

    def _root(self, members: list[Frame], joints: list[Joint], model: Scope) -> str:
        """Return the root: the world if a joint has it, else the only link without a parent.

        If this link is not unique, the root is the canonical link, or the first link.
        """
        ends = {end for joint in joints for end in (joint.parent, joint.child)}
        if WORLD in ends:
            return WORLD
        children = {joint.child for joint in joints}
        roots = [link.full for link in members if link.full not in children]
        if len(roots) == 1:
            return roots[0]
        canonical = self.places.link(model.origin)
        return canonical.full if canonical in members and canonical else members[0].full

    def _static(self, members: list[Frame], solids: list[LinkSolid], model: Scope) -> Description:
        """Return links that are fixed where they are; planes and terrain are obstacles."""
        links, joints = [Link(WORLD)], list[Joint]()
        for link in members:
            at = self.places.pose(link, self.top)
            line = None if link.part is None else link.part.line
            links.append(Link(link.full, None, line))
            joints.append(Joint(f"{link.full}_mount", "fixed", WORLD, link.full, at, line=line))
        obstacles, geometries = list[Obstacle](), list[Geometry]()
        for solid in solids:
            shape = solid.shape
            if isinstance(shape, Plane | HeightField | TriangleMesh):
                origin = compose(self.places.pose(solid.link, self.top), solid.origin)
                note_lost(solid.name, solid.surface, solid.line, self._audit)
                obstacles.append(
                    Obstacle(
                        solid.name, shape, origin, solid.surface.friction, solid.line, solid.filter
                    )
                )
            else:
                geometries += self._geometries([solid])
        return self._description(links, joints, geometries, model, tuple(obstacles), WORLD)

    def _dynamic(
        self, members: list[Frame], joints: list[Joint], solids: list[LinkSolid], root: str
    ) -> Description:
        links = [Link(WORLD)] if root == WORLD else []
        for link in members:
            line = None if link.part is None else link.part.line
            links.append(Link(link.full, read_inertial(link, self.reader), line))
        children = [joint.child for joint in joints]
        is_tree = len(set(children)) == len(children) == len(links) - 1 and root not in children
        # without a base, the checks require limits as in URDF
        free = any(joint.type == "prismatic" and joint.limit is None for joint in joints)
        base = "" if is_tree and not free else root
        geometries = list(self._geometries(solids))
        return self._description(links, joints, geometries, _model_of(members[0]), (), base)

    def _description(
        self,
        links: list[Link],
        joints: list[Joint],
        geometries: list[Geometry],
        model: Scope,
        obstacles: tuple[Obstacle, ...],
        base: str,
    ) -> Description:
        names = {joint.name for joint in joints}
        return Description(
            name=model.origin.full,
            links=tuple(links),
            joints=tuple(joints),
            source=self._source,
            base=base,
            geometries=tuple(geometries),
            obstacles=obstacles,
            constraints=tuple(gear for gear in self._gears if gear.terms[0].joint in names),
            self_collision=any(scope.collides for scope in model.walk()),
        )

    def _geometries(self, solids: list[LinkSolid]) -> Iterator[Geometry]:
        for solid in solids:
            if isinstance(solid.shape, Plane | HeightField | TriangleMesh):
                text = f"its {_STILL[type(solid.shape)]} would move; only static models have one"
                owner = f"collision '{solid.name}'"
                self._audit.repair("moving-plane", owner, solid.line, text, LEFT_OUT)
                continue
            yield Geometry(
                solid.name,
                solid.link.full,
                solid.shape,
                solid.origin,
                solid.surface,
                solid.line,
                solid.filter,
            )


def note_lost(name: str, surface: Surface, line: int | None, audit: Audit) -> None:
    """Warn of the properties of a surface that an obstacle lacks."""
    usual = Surface(friction=surface.friction)
    lost = [f.name for f in fields(Surface) if getattr(surface, f.name) != getattr(usual, f.name)]
    if lost:
        names = ", ".join(lost)
        text = f"an obstacle has friction alone; not used: {names}"
        owner = f"collision '{name}'"
        audit.add("warning", "surface-of-obstacle", owner, line, text, found=names)


def _lenient(part: SdfElement) -> SdfElement:
    """Return an element whose errors are warnings."""
    return replace(part, document=replace(part.document, audit=Lenient(part.audit)))


def _has_masks(tree: SdfTree) -> bool:
    """Return whether a collision of a file has a collision mask."""
    roots = [file.root for file in tree.files]
    return any(root.find(f".//{tag}") is not None for tag in MASKS for root in roots)


def _model_of(link: Frame) -> Scope:
    """Return the outermost model around a link."""
    scope = link.scope
    while scope.parent is not None and scope.parent.parent is not None:
        scope = scope.parent
    return scope
