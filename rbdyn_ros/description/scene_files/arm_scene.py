# SPDX-License-Identifier: Apache-2.0
"""The declared scene around an arm: the fixed obstacles of a scene file, seen from its base."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.geometries import FLOOR, Contact, HeightField, Obstacle
from rbdyn_ros.description.parts.objects import Placed
from rbdyn_ros.description.parts.poses import Pose, compose, inverse
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.scene_files.scene import read_parts
from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.errors import Finding, ParameterError, listing, quote


@dataclass(frozen=True, slots=True)
class ArmScene:
    """The surroundings of an arm.

    Attributes:
        path: path of the file.
        robot: file of the arm; None: the scene has no robot.
        contact: the obstacles in the frame of the arm's base, and pairs that may overlap.
        prefix: prefix of the names of the arm's parts in the scene.
        base: pose of the arm's base in the scene.
        default_floor: whether the first obstacle is the default floor.
    """

    path: str
    robot: RobotFile | None
    contact: Contact
    prefix: str
    base: Pose
    default_floor: bool

    def beside(self, own: Sequence[Obstacle]) -> Contact:
        """Return the contact to add to the arm's own obstacles, without a second floor."""
        given = self.contact.obstacles
        if self.default_floor and FLOOR.name in {obstacle.name for obstacle in own}:
            return replace(self.contact, obstacles=given[1:])
        return self.contact

    def around(self, description: Description, contact: Contact) -> Description:
        """Return the arm; convert the obstacles of its own file to the frame of its base.

        Args:
            description: description of the arm, read with the contact.
            contact: contact of `beside`.

        Raises:
            ParameterError: an obstacle of the file is a height field.
        """
        given = {obstacle.name for obstacle in contact.obstacles}
        own = [one for one in description.obstacles if one.name not in given]
        _check_distances(self.path, own, " of the robot's file")
        obstacles = tuple(
            one if one.name in given else _seen_from(self.base, one)
            for one in description.obstacles
        )
        return replace(description, obstacles=obstacles)

    def check_names(self, description: Description) -> None:
        """Raise ParameterError if an obstacle has the name of a link or geometry of the arm."""
        taken = {self.prefix + geometry.link: "link" for geometry in description.geometries}
        taken |= {self.prefix + geometry.name: "geometry" for geometry in description.geometries}
        for name in (one.name for one in self.contact.obstacles if one.name in taken):
            what = f"the name of a {taken[name]} of the arm"
            text = f"the obstacle {quote(name)} has {what}; choose another"
            raise refused_scene(self.path, text)

    def check_geometries(self, description: Description) -> None:
        """Raise ParameterError if the arm has no geometries."""
        if not description.geometries:
            text = "the robot has no <collision> elements, so it cannot be kept clear of the scene"
            raise ParameterError(Finding("arm-scene", text, "error", "scene"))


def read_arm_scene(path: str, package_dirs: Sequence[str | Path] = ()) -> ArmScene:
    """Return the surroundings of an arm in a scene file; free objects do not belong to them.

    Args:
        path: path of the file.
        package_dirs: as for load_urdf.

    Raises:
        DescriptionError: the file is refused.
        ParameterError: the scene has several robots, a robot with a floating base, nothing that is
            fixed, or a height field.
    """
    audit = Audit()
    parts = read_parts(path, audit, package_dirs)
    audit.raise_errors(path)
    if len(parts.robots) > 1:
        text = (
            f"the scene has several robots: {listing(parts.robots)}; the arm must be the only "
            "robot"
        )
        raise refused_scene(path, text)
    name, placed = next(iter(parts.robots.items()), ("", Placed(None)))
    if placed.floating_base:
        raise refused_scene(
            path, "the robot of the scene has a floating base; an arm needs a fixed base"
        )
    fixed = list(parts.obstacles)
    default_floor = parts.floor and FLOOR.name not in {one.name for one in fixed}
    if default_floor:
        fixed.insert(0, FLOOR)
    if not fixed:
        raise refused_scene(path, "the scene has no obstacles and no floor")
    _check_distances(path, fixed)
    seen = tuple(_seen_from(placed.pose, obstacle) for obstacle in fixed)
    contact = replace(placed.contact, obstacles=seen, exclude=_excluded(parts, name, placed))
    return ArmScene(path, placed.source, contact, _prefix(name), placed.pose, default_floor)


def _check_distances(path: str, obstacles: Sequence[Obstacle], of: str = "") -> None:
    """Raise ParameterError for a height field; `of` says in the message where it comes from."""
    for terrain in (one.name for one in obstacles if isinstance(one.shape, HeightField)):
        which = f"the obstacle {quote(terrain)}{of}"
        text = f"{which} is a height field, and the controller cannot compute distances to height "
        raise refused_scene(path, f"{text}fields; replace it by boxes or a plane")


def _excluded(parts: SceneParts, name: str, placed: Placed) -> tuple[tuple[str, str], ...]:
    """Return the pairs without free objects that may overlap, by names in the arm's file."""
    objects, prefix = {one.name for one in parts.objects}, _prefix(name)
    pairs = [
        (one.first.removeprefix(prefix), one.second.removeprefix(prefix))
        for one in parts.exclude
        if not objects & {one.first, one.second}
    ]
    return (*placed.contact.exclude, *pairs)


def _prefix(robot: str) -> str:
    return f"{robot}/" if robot else ""


def _seen_from(base: Pose, obstacle: Obstacle) -> Obstacle:
    return replace(obstacle, origin=compose(inverse(base), obstacle.origin), line=None)


def refused_scene(path: str, text: str) -> ParameterError:
    """Return the refusal of the scene file of an arm."""
    message = f"scene {quote(path)}: {text}"
    return ParameterError(Finding("arm-scene", message, "error", "scene"))
