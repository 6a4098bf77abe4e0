# SPDX-License-Identifier: Apache-2.0
"""The shapes that sensors with `sees: visual` detect."""

import numpy as np

from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.description.source import Source
from rbdyn_ros.dynamics.ray_shapes import RayShapes, some_geometries
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.scene.visual_shapes import with_visuals


class Visible:
    """The visible shapes of a robot and its world, also after objects have changed.

    The shapes are the visuals of the robot and of the initial objects, all obstacles, and the
    collision geometries of spawned objects.

    Args:
        m: the Model as it was loaded.
        source: source of the robot.

    Raises:
        RbdynError: the visuals cannot be read.
    """

    def __init__(self, m: Model, source: Source) -> None:
        read_from = source.file or source.text
        self._looks = read_appearance(read_from) if read_from else Appearance()
        self._known = set(m.frame_names)

    def looks(self, m: Model) -> Appearance:
        """Return the appearance of a Model of the present world, for colour cameras."""
        return self._looks.of_links(set(m.frame_names))

    def shapes(self, m: Model) -> RayShapes:
        """Return the shapes that rays can hit in a Model of the present world.

        Raises:
            ParameterError: the robot has no visuals.
        """
        if not self._looks.visuals:
            raise _nothing(m)
        names = np.array(m.frame_names)
        spawned = [g for g in range(m.ngeomlink) if names[m.geom_frameid[g]] not in self._known]
        others = some_geometries(m, [*spawned, *range(m.ngeomlink, m.ngeom)])
        return with_visuals(m, self.looks(m), others)


def _nothing(m: Model) -> ParameterError:
    text = f"a sensor sees visuals, and '{m.name}' has none; allowed is sees: collision"
    return ParameterError(Finding("no-visuals", text, "error", "sees"))
