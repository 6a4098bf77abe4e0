"""The shapes that sensors see whose `sees` is visual."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.dynamics.ray_shapes import RayShapes, some_geometries
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.source import Source
from rbdyn_ros.view.scene.visual_shapes import with_visuals


class Visible:
    """Returns the visible shapes of a robot and its world, also with other objects.

    They are the visuals of the robot and of the objects at the start, all obstacles, and the
    collision geometries of objects that were spawned.

    Args:
        m: the robot as it was loaded.
        source: of the robot.

    Attributes:
        findings: warnings about visuals that were left out.

    Raises:
        RbdynError: the robot has no visuals, or they cannot be read.
    """

    def __init__(self, m: Model, source: Source) -> None:
        given = "" if source.is_scene else source.text
        folder = None if source.path is None else source.path.parent
        if not given and source.path is None:
            raise _nothing(m)
        self._looks = read_appearance(given or source.path or "", folder=folder)
        if not self._looks.visuals:
            raise _nothing(m)
        self._known = set(m.frame_names)
        self.findings = self(m).findings

    def __call__(self, m: Model) -> RayShapes:
        """Return the shapes in a Model."""
        names = np.array(m.frame_names)
        there = tuple(look for look in self._looks.visuals if look.link in m.frame_names)
        spawned = [g for g in range(m.ngeomlink) if names[m.geom_frameid[g]] not in self._known]
        others = some_geometries(m, [*spawned, *range(m.ngeomlink, m.ngeom)])
        return with_visuals(m, replace(self._looks, visuals=there), others)


def _nothing(m: Model) -> ParameterError:
    text = f"a sensor sees visuals, and '{m.name}' has none; allowed is sees: collision"
    return ParameterError(Finding("no-visuals", text, "error", "sees"))
