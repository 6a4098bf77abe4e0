# SPDX-License-Identifier: Apache-2.0
"""Draw pictures of a robot and its world as a camera sees them.

What is drawn is what the view shows at first: visuals, or collisions, or boxes of inertia, and the
obstacles; planes are floors with a grid of 1 m and 0.25 m. A sun casts shadows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.sensors.camera_specs import ColorSpec
from rbdyn_ros.view.render.context import OffScreen, check_size
from rbdyn_ros.view.render.drawables import Drawable, Programs, drawables
from rbdyn_ros.view.render.lens import Lens, Pixels, pixels_of
from rbdyn_ros.view.render.projection import Place, inverse, parallel, pose_of, projection, uniform
from rbdyn_ros.view.render.shaders import FRAGMENT, SHADOW_FRAGMENT, VERTEX
from rbdyn_ros.view.scene.scene import Scene

SKY = (0.77, 0.84, 0.92, 1.0)
#: Direction to the sun.
SUN = np.array([0.45, -0.35, 0.82]) / np.linalg.norm([0.45, -0.35, 0.82])
#: Edge of the picture that the sun sees [pixels].
SHADOW = 2048
#: Samples of a pixel.
SAMPLES = 4


class Renderer(OffScreen):
    """Draws pictures of a robot and its world; for the thread that made it.

    Close it, or use it in a `with` block: it holds 20 MB of memory or more.

    Args:
        m: the robot.
        looks: its appearance.

    Raises:
        ModelError: the appearance is another robot's.
        ParameterError: no picture can be drawn on this machine; the message says what is missing.
    """

    def __init__(self, m: Model, looks: Appearance) -> None:
        super().__init__()
        context = self._context
        self._m, self._scene = m, Scene(m, looks)
        self._program = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
        self._shade = context.program(vertex_shader=VERTEX, fragment_shader=SHADOW_FRAGMENT)
        programs = Programs(context, self._program, self._shade)
        self._drawables = drawables(programs, self._scene)
        self._depths = context.depth_texture((SHADOW, SHADOW))
        self._depths.compare_func = "<="
        self._shadow = context.framebuffer(depth_attachment=self._depths)
        self._targets: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._lenses: dict[ColorSpec, Lens] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about meshes and textures that cannot be read."""
        return tuple(self._scene.findings)

    def framing(self, instant: Instant, angle: float) -> tuple[Array, float]:
        """Return the middle (3,) of the robot, and the distance from which all of it is seen.

        Args:
            instant: of the robot.
            angle: smaller field of view of the camera [rad].
        """
        at = self._scene.place(instant).xpos[1:]
        low, high = at.min(axis=0, initial=np.inf), at.max(axis=0, initial=-np.inf)
        middle: Array = 0.5 * (low + high) if len(at) else np.zeros(3)
        return middle, 0.55 * self._scene.size / float(np.tan(0.5 * angle))

    def draw(self, instant: Instant, camera: ColorSpec, place: Place | None = None) -> Pixels:
        """Return a picture (height, width, 3): red, green, blue, 0 to 255.

        Args:
            instant: of the robot.
            camera: the camera.
            place: where it is in the world: origin (3,) and axes (3, 3), x right, y down, z
                forward; None: at its link.

        Raises:
            ModelError: no such link, or qpos of the instant is not (nq,) finite numbers.
        """
        m, at = self._m, self._scene.place(instant)
        bodies = [
            pose_of(pos, quat_to_mat(quat)) for pos, quat in zip(at.xpos, at.xquat, strict=True)
        ]
        excluded = set[str]()
        if place is None:
            frame = m.frame_id(camera.link)
            eye = bodies[m.frame_bodyid[frame]] @ pose_of(
                m.frame_pos[frame], quat_to_mat(m.frame_quat[frame])
            )
            excluded = set(camera.excluded)
        else:
            eye = pose_of(*place)
        seen = [one for one in self._drawables if one.link not in excluded]
        models = [bodies[one.body] @ one.pose for one in seen]
        with self._context:
            return self._picture(seen, models, camera, eye)

    def _picture(
        self, seen: list[Drawable], models: list[Array], camera: ColorSpec, eye: Array
    ) -> Pixels:
        sun = self._cast_shadows(seen, models)
        if not any(camera.distortion):
            size = camera.width, camera.height
            view = projection(*size, *camera.matrix, camera.near, camera.far) @ inverse(eye)
            return pixels_of(self._draw_plain(seen, models, size, view, sun, eye[:3, 3]), *size)
        if camera not in self._lenses:
            self._lenses[camera] = Lens(self._context, camera)
        lens = self._lenses[camera]
        view = projection(*lens.size, *lens.matrix, camera.near, camera.far) @ inverse(eye)
        return lens.seen(self._draw_plain(seen, models, lens.size, view, sun, eye[:3, 3]))

    def _cast_shadows(self, seen: list[Drawable], models: list[Array]) -> Array:
        """Draw what the sun sees; return its projection."""
        gl, middle, reach = self._gl, self._scene.middle, 1.5 * self._scene.radius + 1.0
        side = np.cross(SUN, (0.0, 1.0, 0.0))
        side /= np.linalg.norm(side)
        R = np.stack([side, np.cross(SUN, side), -SUN], axis=1)
        sun = parallel(reach) @ inverse(pose_of(middle + 2.0 * reach * SUN, R))
        self._shadow.use()
        self._context.enable_only(gl.DEPTH_TEST)
        self._shadow.clear(depth=1.0)
        self._shade["view"].write(uniform(sun))
        for one, model in zip(seen, models, strict=True):
            if not one.floor and one.color[3] == 1.0:
                self._shade["model"].write(uniform(model))
                one.silhouette.render()
        return sun

    def _draw_plain(
        self,
        seen: list[Drawable],
        models: list[Array],
        size: tuple[int, int],
        view: Array,
        sun: Array,
        eye: Array,
    ) -> Any:
        """Draw a picture without distortion; return the frame buffer."""
        gl, program = self._gl, self._program
        many, one_sample = self._target(size)
        many.use()
        many.clear(*SKY)
        self._context.enable_only(gl.DEPTH_TEST | gl.BLEND)
        self._depths.use(0)
        for name, value in (("view", view), ("sun", sun)):
            program[name].write(uniform(value))
        program["to_sun"], program["eye"] = tuple(SUN), tuple(eye)
        program["shadow"], program["image"] = 0, 1
        for one, model in zip(seen, models, strict=True):
            program["model"].write(uniform(model))
            program["color"], program["is_floor"] = one.color, one.floor
            program["has_image"] = one.image is not None
            if one.image is not None:
                one.image.use(1)
            one.vertices.render()
        self._context.copy_framebuffer(one_sample, many)
        return one_sample

    def _target(self, size: tuple[int, int]) -> tuple[Any, Any]:
        """Return a frame buffer with many samples, and one with a single one."""
        if size not in self._targets:
            context = self._context
            check_size(context, *size)
            samples = min(SAMPLES, context.max_samples)
            color = context.renderbuffer(size, 4, samples=samples)
            depth = context.depth_renderbuffer(size, samples=samples)
            plain = context.framebuffer([context.texture(size, 4)])
            self._targets[size] = context.framebuffer([color], depth), plain
        return self._targets[size]
