"""Draw pictures of a robot and its world as a camera sees them.

What is drawn is what the view shows at first: visuals, or collisions, or boxes of inertia, and the
obstacles; planes are floors with a grid of 1 m and 0.25 m. A sun casts shadows.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.geoms import GeomType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.sensors.camera_specs import ColorSpec
from rbdyn_ros.view.render.context import make_context
from rbdyn_ros.view.render.shaders import (
    FRAGMENT,
    LENS_FRAGMENT,
    LENS_VERTEX,
    SHADOW_FRAGMENT,
    VERTEX,
)
from rbdyn_ros.view.scene.parts import Part
from rbdyn_ros.view.scene.scene import Scene

SKY = (0.77, 0.84, 0.92, 1.0)
FLOOR = (0.72, 0.72, 0.70, 1.0)
#: Half the edge of a plane [m]; nothing is seen beyond the far plane of a camera.
HALF_FLOOR = 500.0
#: Direction to the sun.
SUN = np.array([0.45, -0.35, 0.82]) / np.linalg.norm([0.45, -0.35, 0.82])
#: Edge of the picture that the sun sees [pixels].
SHADOW = 2048
#: Samples of a pixel.
SAMPLES = 4

Pixels = NDArray[np.uint8]

#: Origin (3,) and axes (3, 3).
Place = tuple[Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """Triangles on the graphics card.

    Attributes:
        body: that they are fixed to.
        link: of which they are; "" for an obstacle.
        pose: (4, 4) in the body.
        color: red, green, blue, opacity.
        floor: whether they are a plane.
        vertices: for the picture.
        silhouette: for the shadow.
    """

    body: int
    link: str
    pose: Array
    color: tuple[float, ...]
    floor: bool
    vertices: Any
    silhouette: Any


class Renderer:
    """Draws pictures of a robot and its world; for the thread that made it.

    Args:
        m: the robot.
        looks: its appearance.

    Raises:
        ModelError: the appearance is another robot's.
        ParameterError: no picture can be drawn on this machine; the message says what is missing.
    """

    def __init__(self, m: Model, looks: Appearance) -> None:
        self._context = context = make_context()
        self._gl = importlib.import_module("moderngl")
        self._m, self._scene = m, Scene(m, looks)
        self._program = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
        self._shade = context.program(vertex_shader=VERTEX, fragment_shader=SHADOW_FRAGMENT)
        parts = [part for layer in self._scene.shown for part in self._scene.parts(layer)]
        drawn = [self._drawn(part) for part in [*parts, *self._scene.obstacles]] + self._floors()
        # what can be seen through comes last
        self._drawn_parts = sorted(drawn, key=lambda one: one.color[3] < 1.0)
        self._depths = context.depth_texture((SHADOW, SHADOW))
        self._depths.compare_func = "<="
        self._shadow = context.framebuffer(depth_attachment=self._depths)
        self._targets: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._lenses: dict[ColorSpec, _Lens] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about meshes that cannot be read, which are drawn as markers."""
        return tuple(self._scene.findings)

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
        seen = [one for one in self._drawn_parts if one.link not in excluded]
        models = [bodies[one.body] @ one.pose for one in seen]
        with self._context:
            return self._picture(seen, models, camera, eye)

    def _picture(
        self, seen: list[_Drawn], models: list[Array], camera: ColorSpec, eye: Array
    ) -> Pixels:
        sun = self._cast_shadows(seen, models)
        if not any(camera.distortion):
            size = camera.width, camera.height
            view = _projection(*size, *camera.matrix, camera.near, camera.far) @ _inverse(eye)
            return _pixels(self._draw_plain(seen, models, size, view, sun, eye[:3, 3]), *size)
        if camera not in self._lenses:
            self._lenses[camera] = _Lens(self._context, camera)
        lens = self._lenses[camera]
        view = _projection(*lens.size, *lens.matrix, camera.near, camera.far) @ _inverse(eye)
        return lens.seen(self._draw_plain(seen, models, lens.size, view, sun, eye[:3, 3]))

    def _cast_shadows(self, seen: list[_Drawn], models: list[Array]) -> Array:
        """Draw what the sun sees; return its projection."""
        gl, middle, reach = self._gl, self._scene.middle, 1.5 * self._scene.radius + 1.0
        side = np.cross(SUN, (0.0, 1.0, 0.0))
        side /= np.linalg.norm(side)
        R = np.stack([side, np.cross(SUN, side), -SUN], axis=1)
        sun = _parallel(reach) @ _inverse(pose_of(middle + 2.0 * reach * SUN, R))
        self._shadow.use()
        self._context.enable_only(gl.DEPTH_TEST)
        self._shadow.clear(depth=1.0)
        self._shade["view"].write(_uniform(sun))
        for one, model in zip(seen, models, strict=True):
            if not one.floor and one.color[3] == 1.0:
                self._shade["model"].write(_uniform(model))
                one.silhouette.render()
        return sun

    def _draw_plain(
        self,
        seen: list[_Drawn],
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
            program[name].write(_uniform(value))
        program["to_sun"], program["eye"], program["shadow"] = tuple(SUN), tuple(eye), 0
        for one, model in zip(seen, models, strict=True):
            program["model"].write(_uniform(model))
            program["color"], program["is_floor"] = one.color, one.floor
            one.vertices.render()
        self._context.copy_framebuffer(one_sample, many)
        return one_sample

    def _target(self, size: tuple[int, int]) -> tuple[Any, Any]:
        """Return a frame buffer with many samples, and one with a single one."""
        if size not in self._targets:
            context = self._context
            samples = min(SAMPLES, context.max_samples)
            color = context.renderbuffer(size, 4, samples=samples)
            depth = context.depth_renderbuffer(size, samples=samples)
            plain = context.framebuffer([context.texture(size, 4)])
            self._targets[size] = context.framebuffer([color], depth), plain
        return self._targets[size]

    def _drawn(self, part: Part) -> _Drawn:
        surface = part.surface
        corners = surface.vertices.astype(np.float64) * part.scale
        pose = pose_of(part.pos, quat_to_mat(part.quat))
        return self._put(part.body, part.link, pose, part.color, corners, surface.faces)

    def _floors(self) -> list[_Drawn]:
        """Return the planes of the world."""
        m, corners = (
            self._scene.m,
            HALF_FLOOR * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]),
        )
        faces = np.array([(0, 1, 2), (0, 2, 3)], np.int32)
        return [
            self._put(
                int(m.geom_bodyid[g]),
                "",
                pose_of(m.geom_pos[g], m.geom_mat[g].reshape(3, 3)),
                FLOOR,
                corners,
                faces,
                floor=True,
            )
            for g in np.flatnonzero(m.geom_type == GeomType.PLANE)
        ]

    def _put(
        self,
        body: int,
        link: str,
        pose: Array,
        color: tuple[float, ...],
        corners: Array,
        faces: NDArray[np.int32],
        floor: bool = False,
    ) -> _Drawn:
        """Hand triangles to the graphics card."""
        context = self._context
        rows = np.concatenate([corners, vertex_normals(corners, faces)], axis=1)
        buffer = context.buffer(np.ascontiguousarray(rows, np.float32).tobytes())
        index = context.buffer(np.ascontiguousarray(faces, np.int32).tobytes())
        both = context.vertex_array(self._program, [(buffer, "3f 3f", "at", "across")], index)
        bare = context.vertex_array(self._shade, [(buffer, "3f 12x", "at")], index)
        return _Drawn(body, link, pose, color, floor, both, bare)


class _Lens:
    """The distortion of a camera: a wide picture without it, and where each pixel looks there.

    Attributes:
        size: columns and rows of the wide picture.
        matrix: its intrinsics.
    """

    def __init__(self, context: Any, camera: ColorSpec) -> None:
        fx, fy, _, _ = camera.matrix
        plane = camera.plane()
        low, high = plane.min(axis=(0, 1)), plane.max(axis=(0, 1))
        width, height = (int(n) for n in np.ceil((high - low) * (fx, fy)) + 4)
        self.size = min(width, LARGEST), min(height, LARGEST)
        fx, fy = (np.array(self.size) - 3) / (high - low)
        self.matrix = float(fx), float(fy), float(1.0 - low[0] * fx), float(1.0 - low[1] * fy)
        places = (plane * self.matrix[:2] + self.matrix[2:] + 0.5) / self.size
        shape = camera.width, camera.height
        # pictures of OpenGL begin at the bottom; _projection turns them over
        data = np.ascontiguousarray(places, np.float32).tobytes()
        self._places = context.texture(shape, 2, data, dtype="f4")
        program = context.program(vertex_shader=LENS_VERTEX, fragment_shader=LENS_FRAGMENT)
        program["plain"], program["places"] = 0, 1
        corners = np.array([-1, -1, 1, -1, -1, 1, 1, 1], np.float32)
        self._square = context.vertex_array(
            program, [(context.buffer(corners.tobytes()), "2f", "corner")]
        )
        self._target = context.framebuffer([context.texture(shape, 4)])
        self._context, self._strip = context, 5  # a strip of triangles

    def seen(self, plain: Any) -> Pixels:
        """Return the picture behind the lens."""
        self._target.use()
        self._context.enable_only(0)
        plain.color_attachments[0].use(0)
        self._places.use(1)
        self._square.render(self._strip)
        return _pixels(self._target, *self._target.size)


#: The largest edge of a picture before the lens [pixels].
LARGEST = 8192


def vertex_normals(corners: Array, faces: NDArray[np.int32]) -> Array:
    """Return the normals at the corners: the mean of their triangles by area, (n, 3)."""
    a, b, c = (corners[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    total = np.zeros_like(corners)
    for k in range(3):
        np.add.at(total, faces[:, k], across)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(total / np.where(length > 0.0, length, 1.0))


def _pixels(target: Any, width: int, height: int) -> Pixels:
    data = np.frombuffer(target.read(components=3, alignment=1), np.uint8)
    return np.array(data.reshape(height, width, 3))


def pose_of(pos: Array, R: Array) -> Array:
    """Return a pose (4, 4) of a position (3,) and axes (3, 3)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, pos
    return pose


def _inverse(pose: Array) -> Array:
    R, pos = pose[:3, :3], pose[:3, 3]
    return pose_of(-R.T @ pos, R.T)


def _projection(
    width: int, height: int, fx: float, fy: float, cx: float, cy: float, near: float, far: float
) -> Array:
    """Return the projection of a pinhole to the cube of OpenGL, with the first row at the bottom.

    Pixel centres have whole coordinates, so the picture begins half a pixel before 0.
    """
    near = max(near, 1e-4 * far)
    depth = (far + near) / (far - near), -2.0 * far * near / (far - near)
    return np.array(
        [
            [2.0 * fx / width, 0.0, (2.0 * cx + 1.0) / width - 1.0, 0.0],
            [0.0, 2.0 * fy / height, (2.0 * cy + 1.0) / height - 1.0, 0.0],
            [0.0, 0.0, *depth],
            [0.0, 0.0, 1.0, 0.0],
        ]
    )


def _parallel(reach: float) -> Array:
    """Return the projection of parallel light: what is within `reach`, up to four times as far."""
    scale = 1.0 / reach
    return np.array(
        [[scale, 0, 0, 0], [0, scale, 0, 0], [0, 0, 0.5 * scale, -1.0], [0, 0, 0, 1.0]]
    )


def _uniform(matrix: Array) -> bytes:
    return np.ascontiguousarray(matrix.T, np.float32).tobytes()
