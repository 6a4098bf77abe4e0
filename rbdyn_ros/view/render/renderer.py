# SPDX-License-Identifier: Apache-2.0
"""Draw pictures of a robot and its world as a camera sees them.

Pictures show the robot as the view does at its start (visuals, or else collisions or boxes of
inertia) and the obstacles. Planes are floors with a grid of 1 m and 0.25 m. A sun, or the lights
of the robot file, cast shadows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.sensors.camera_specs import ColorSpec
from rbdyn_ros.view.render.context import OffScreen, check_size
from rbdyn_ros.view.render.drawables import Drawable, Programs, drawables
from rbdyn_ros.view.render.lamps import lighting
from rbdyn_ros.view.render.lens import Lens, Pixels, pixels_of
from rbdyn_ros.view.render.marks import Marks
from rbdyn_ros.view.render.projection import (
    Place,
    inverse,
    looking,
    parallel,
    pose_of,
    projection,
    uniform,
)
from rbdyn_ros.view.render.shaders import FRAGMENT, SHADOW_FRAGMENT, VERTEX
from rbdyn_ros.view.scene.scene import SMALLEST, Scene

SKY = (0.77, 0.84, 0.92, 1.0)
#: Width and height of the sun's shadow map [pixels].
SHADOW = 2048
#: Number of samples of a pixel.
SAMPLES = 4
#: Half the height that a framing camera sees at a distance of 1 m, and the factor of its margin.
SLOPE, MARGIN = 0.3, 1.1
#: A framing camera leaves out obstacles wider than this, relative to the size of the robot.
LARGEST = 2.0


class Renderer(OffScreen):
    """Draws pictures of a robot and its world, only in the thread that made it.

    Close it, or use it in a `with` block: it holds 20 MB of memory or more.

    Args:
        m: the robot.
        looks: appearance of the robot.

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
        self._marks = Marks(programs, self._scene)
        self._depths = context.depth_texture((SHADOW, SHADOW))
        self._depths.compare_func = "<="
        self._shadow = context.framebuffer(depth_attachment=self._depths)
        self._targets: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._lighting = lighting((), ())
        self._lenses: dict[ColorSpec, Lens] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about meshes and textures that cannot be read."""
        return tuple(self._scene.findings)

    def framing(
        self, instants: Sequence[Instant], size: tuple[int, int], direction: Array
    ) -> tuple[ColorSpec, Place]:
        """Return a camera and its pose so that the whole robot is visible at these instants.

        All obstacles are visible too, except obstacles that are much larger than the robot.

        Args:
            instants: instants of the robot.
            size: width and height of the picture [pixels].
            direction: (3,) from the robot to the camera.
        """
        scene, (width, height) = self._scene, size
        near = [one.corners() for one in scene.obstacles]
        near = [box for box in near if np.ptp(box, axis=0).max() < LARGEST * scene.size]
        points = np.concatenate([scene.points(instants), *near])
        _, axes = looking(direction, np.zeros(3))
        seen = points @ axes
        middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        right, down, forward = (seen - middle).T
        wide = np.maximum(np.abs(right) * height / width, np.abs(down))
        distance = max(float((wide * MARGIN / SLOPE - forward).max()), SMALLEST)
        camera = ColorSpec(
            "framing", self._m.frame_names[0], rate=1.0, near=0.01 * distance,
            far=100.0 * distance, width=width, height=height,
            field_of_view=2.0 * float(np.arctan(SLOPE * width / height)),
        )  # fmt: skip
        return camera, (axes @ (middle - (0.0, 0.0, distance)), axes)

    def draw(
        self,
        instant: Instant,
        camera: ColorSpec,
        place: Place | None = None,
        *,
        marks: bool = False,
    ) -> Pixels:
        """Return a picture (height, width, 3): red, green, blue, 0 to 255.

        Args:
            instant: instant of the robot.
            camera: specification of the camera.
            place: pose of the camera in the world: origin (3,) and axes (3, 3), x right, y down, z
                forward; None: the camera is at its link.
            marks: whether to draw also forces, contact points, and lines such as springs.

        Raises:
            ModelError: there is no such link, or qpos of the instant is not (nq,) finite numbers.
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
        for mark, pose in self._marks.at(at) if marks else ():
            seen.append(mark)
            models.append(pose)
        self._lighting = lighting(self._scene.lamps, bodies)
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
        """Draw the shadow map of the sun; return its projection."""
        gl, middle, reach = self._gl, self._scene.middle, 1.5 * self._scene.radius + 1.0
        to_sun = self._lighting.to_sun
        side = np.cross(to_sun, (0.0, 1.0, 0.0) if abs(to_sun[1]) < 0.9 else (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        R = np.stack([side, np.cross(to_sun, side), -to_sun], axis=1)
        sun = parallel(reach) @ inverse(pose_of(middle + 2.0 * reach * to_sun, R))
        self._shadow.use()
        self._context.enable_only(gl.DEPTH_TEST)
        self._shadow.clear(depth=1.0)
        if not self._lighting.sun.any():
            return sun
        self._shade["view"].write(uniform(sun))
        for one, model in zip(seen, models, strict=True):
            if one.silhouette is not None and not one.floor and one.color[3] == 1.0:
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
        self._lighting.write(program)
        program["eye"] = tuple(eye)
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
        """Return two frame buffers of this size: with SAMPLES samples per pixel, and with one."""
        if size not in self._targets:
            context = self._context
            check_size(context, *size)
            samples = min(SAMPLES, context.max_samples)
            color = context.renderbuffer(size, 4, samples=samples)
            depth = context.depth_renderbuffer(size, samples=samples)
            plain = context.framebuffer([context.texture(size, 4)])
            self._targets[size] = context.framebuffer([color], depth), plain
        return self._targets[size]
