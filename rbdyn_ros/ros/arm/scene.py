"""The declared scene around an arm: the fixed obstacles of a scene file, seen from its base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.scene import SceneParts
from rbdyn_ros.description.geometries import FLOOR, Contact, HeightField, Obstacle
from rbdyn_ros.description.objects import Placed
from rbdyn_ros.description.poses import compose, inverse
from rbdyn_ros.description.scene_files.scene import read_parts
from rbdyn_ros.errors import Finding, ParameterError, listing, quote


@dataclass(frozen=True, slots=True)
class ArmScene:
    """The surroundings of an arm.

    Attributes:
        path: of the file.
        robot: file of the arm; None: the scene has no robot.
        contact: the obstacles in the frame of the arm's base, and pairs that may overlap.
        prefix: that the names of the arm's parts have in the scene.
    """

    path: str
    robot: Path | None
    contact: Contact
    prefix: str


def read_arm_scene(path: str) -> ArmScene:
    """Return the surroundings of an arm in a scene file; free objects do not belong to them.

    Raises:
        DescriptionError: the file is refused.
        ParameterError: the scene has several robots, or one with a floating base, nothing that is
            fixed, or a height field.
    """
    audit = Audit()
    parts = read_parts(path, audit)
    audit.raise_errors(path)
    if len(parts.robots) > 1:
        text = f"the scene has several robots: {listing(parts.robots)}; an arm may be the only one"
        raise refused_scene(path, text)
    name, placed = next(iter(parts.robots.items()), ("", Placed(None)))
    if placed.floating_base:
        raise refused_scene(
            path, "the robot of the scene has a floating base; allowed is a fixed one"
        )
    fixed = list(parts.obstacles)
    if parts.floor and FLOOR.name not in {one.name for one in fixed}:
        fixed.insert(0, FLOOR)
    if not fixed:
        raise refused_scene(path, "the scene has no obstacles and no floor")
    for terrain in (one.name for one in fixed if isinstance(one.shape, HeightField)):
        text = f"the obstacle {quote(terrain)} is a height field, to which no distance is known"
        raise refused_scene(path, f"{text}; put boxes or a plane around it")
    seen = tuple(_seen_from(placed, obstacle) for obstacle in fixed)
    contact = replace(placed.contact, obstacles=seen, exclude=_excluded(parts, name, placed))
    return ArmScene(path, placed.source, contact, _prefix(name))


def _excluded(parts: SceneParts, name: str, placed: Placed) -> tuple[tuple[str, str], ...]:
    """Return the pairs that may overlap, by the names in the file of the arm; none of objects."""
    objects, prefix = {one.name for one in parts.objects}, _prefix(name)
    pairs = [
        (one.first.removeprefix(prefix), one.second.removeprefix(prefix))
        for one in parts.exclude
        if not objects & {one.first, one.second}
    ]
    return (*placed.contact.exclude, *pairs)


def _prefix(robot: str) -> str:
    return f"{robot}/" if robot else ""


def _seen_from(placed: Placed, obstacle: Obstacle) -> Obstacle:
    return replace(obstacle, origin=compose(inverse(placed.pose), obstacle.origin), line=None)


def refused_scene(path: str, text: str) -> ParameterError:
    """Return the refusal of the scene file of an arm."""
    message = f"scene is {quote(path)}: {text}"
    return ParameterError(Finding("arm-scene", message, "error", "scene"))
