"""The declared scene around an arm: the fixed obstacles of a scene file, seen from its base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.geometries import FLOOR, Contact, Obstacle
from rbdyn_ros.description.objects import Placed
from rbdyn_ros.description.poses import compose, inverse
from rbdyn_ros.description.scene_files.scene import read_parts
from rbdyn_ros.errors import Finding, ParameterError, listing, quote


@dataclass(frozen=True, slots=True)
class ArmScene:
    """The surroundings of an arm.

    Attributes:
        robot: file of the arm; None: the scene has no robot.
        contact: the obstacles in the frame of the arm's base, and pairs that may overlap.
    """

    robot: Path | None
    contact: Contact


def read_arm_scene(path: str) -> ArmScene:
    """Return the surroundings of an arm in a scene file; free objects do not belong to them.

    Raises:
        DescriptionError: the file is refused.
        ParameterError: the scene has several robots, or one with a floating base, or nothing
            that is fixed.
    """
    audit = Audit()
    parts = read_parts(path, audit)
    audit.raise_errors(path)
    if len(parts.robots) > 1:
        text = f"the scene has several robots: {listing(parts.robots)}; an arm may be the only one"
        raise _refused(path, text)
    placed = next(iter(parts.robots.values()), Placed(None))
    if placed.floating_base:
        raise _refused(path, "the robot of the scene has a floating base; allowed is a fixed one")
    fixed = list(parts.obstacles)
    if parts.floor and FLOOR.name not in {one.name for one in fixed}:
        fixed.insert(0, FLOOR)
    if not fixed:
        raise _refused(path, "the scene has no obstacles and no floor")
    seen = tuple(_seen_from(placed, obstacle) for obstacle in fixed)
    return ArmScene(placed.source, Contact(seen, exclude=placed.contact.exclude))


def _seen_from(placed: Placed, obstacle: Obstacle) -> Obstacle:
    return replace(obstacle, origin=compose(inverse(placed.pose), obstacle.origin), line=None)


def _refused(path: str, text: str) -> ParameterError:
    message = f"scene is {quote(path)}: {text}"
    return ParameterError(Finding("arm-scene", message, "error", "scene"))
