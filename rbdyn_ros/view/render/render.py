# SPDX-License-Identifier: Apache-2.0
"""rb.render: draw one picture of a robot."""

from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import bad_argument, not_allowed
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.camera_specs import ColorSpec
from rbdyn_ros.view.render.lens import Pixels
from rbdyn_ros.view.render.projection import looking
from rbdyn_ros.view.render.renderer import Renderer


def render(
    m: Model,
    d: Data,
    camera: ColorSpec,
    looks: Appearance | str | bytes | Path | None = None,
    *,
    eye: ArrayLike | None = None,
    target: ArrayLike | None = None,
    package_dirs: Sequence[str | Path] = (),
) -> Pixels:
    """Return a picture of a robot and its world at qpos, drawn without a display.

    The picture shows the robot as the view does at its start. Planes are floors with a grid of 1 m
    and 0.25 m. To draw many pictures, make one Renderer.

    Args:
        m: the robot.
        d: its Data, which is only read.
        camera: the camera, at its link.
        looks: source of the <visual> elements: the file or URDF text of the robot; None: boxes
            with the mass and inertia of each body.
        eye: (3,) position of the camera in the world [m], only together with `target`; None: the
            camera is at its link.
        target: (3,) point in the world at which an upright camera at `eye` looks [m]; None: the
            camera is at its link.
        package_dirs: as for load_urdf.

    Returns:
        the picture (height, width, 3): red, green, blue, 0 to 255; the first row is the highest.

    Raises:
        ModelError: d was not made for m, there is no such link, or `looks` is another robot.
        DescriptionError: the file in `looks` is refused.
        ParameterError: an argument is refused, or no picture can be drawn on this machine.
    """
    check_pair(m, d, "render")
    if not isinstance(camera, ColorSpec):
        raise not_allowed("camera", camera, "a ColorSpec", "camera")
    if (eye is None) != (target is None):
        raise bad_argument("eye", "only one of eye and target is given; give both or neither")
    place = None if eye is None else looking(eye, target)
    if looks is None:
        looks = Appearance()
    elif not isinstance(looks, Appearance):
        looks = read_appearance(looks, package_dirs=package_dirs)
    with Renderer(m, looks) as renderer:
        return renderer.draw(Instant.of(m, d), camera, place)
