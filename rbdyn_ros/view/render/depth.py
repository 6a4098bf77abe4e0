# SPDX-License-Identifier: Apache-2.0
"""Draw the depths and segmentations that rays would give, in a fraction of the time.

The shapes are the same as for rays: triangles, and solids with a surface solved for each pixel.
"""

from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.ray_shapes import RayShapes, geometry_shapes
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.engine.rays.casting import BOUNDS, MAT, POS, SIZE
from rbdyn_ros.errors import not_allowed
from rbdyn_ros.machine import cores
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.sensors.camera_specs import DepthSpec
from rbdyn_ros.sensors.scanning import Drawn, Scan, Scanner
from rbdyn_ros.view.render.context import OffScreen, check_size, square
from rbdyn_ros.view.render.depth_lens import DepthLens
from rbdyn_ros.view.render.depth_shaders import (
    FRAGMENT,
    NEAREST,
    PLANE_FRAGMENT,
    PLANE_VERTEX,
    SOLID_FRAGMENT,
    VERTEX,
)
from rbdyn_ros.view.render.projection import inverse, pose_of, uniform

#: Corners and triangles of a cube, anticlockwise seen from outside.
CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
CUBE_FACES = np.array(
    [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
     (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
)  # fmt: skip


class DepthRenderer(OffScreen):
    """Draws the pictures of depth cameras, only in the thread that made it.

    Close it, or use it in a `with` block: it holds 20 MB of memory or more.

    Args:
        m: the robot.
        shapes: the visible shapes; None: the contact geometries.

    Raises:
        ParameterError: nothing can be drawn on this machine; the message says what is missing.
    """

    def __init__(self, m: Model, shapes: RayShapes | None = None) -> None:
        super().__init__()
        context = self._context
        self._m, self._d = m, make_data(m)
        self._shapes = shapes = geometry_shapes(m) if shapes is None else shapes
        named = "".join(f"\n#define {kind.name} {kind.value}" for kind in GeomType)
        solid = SOLID_FRAGMENT.replace("#version 330", f"#version 330{named}", 1)
        self._of_triangles = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
        self._of_solids = context.program(vertex_shader=VERTEX, fragment_shader=solid)
        self._of_planes = context.program(
            vertex_shader=PLANE_VERTEX, fragment_shader=PLANE_FRAGMENT
        )
        self._square = square(context, self._of_planes, "at")
        self._drawn = {int(g): self._put(int(g)) for g in shapes.bounded}
        self._targets: dict[tuple[int, int], Any] = {}
        self._scanners: dict[DepthSpec, Scanner] = {}
        self._lenses: dict[DepthSpec, DepthLens] = {}

    def scan(self, d: Data, camera: DepthSpec) -> Scan:
        """Return the picture of a camera at qpos, as rb.scan does without noise.

        Args:
            d: the robot's Data, which is only read.
            camera: specification of the camera.

        Raises:
            ModelError: d was not made for this Model, or there is no such link.
            ParameterError: the camera is not a DepthSpec.
        """
        check_pair(self._m, d, "DepthRenderer.scan")
        if not isinstance(camera, DepthSpec):
            raise not_allowed("camera", camera, "a DepthSpec", "camera")
        return self._scanner(camera).drawn(self.draw(d.time, d.qpos, camera))

    def _scanner(self, camera: DepthSpec) -> Scanner:
        if camera not in self._scanners:
            self._scanners[camera] = Scanner(self._m, camera, self._shapes)
        return self._scanners[camera]

    def draw(self, time: float, qpos: Array, camera: DepthSpec) -> Drawn:
        """Return depth and shape for each pixel of a camera, without its limits near and far.

        Args:
            time: time of the state [s].
            qpos: (nq,) position.
            camera: the camera; if it has a distortion, rays are cast at edges.
        """
        if not any(camera.distortion):
            return self._draw_plain(time, qpos, camera)
        if camera not in self._lenses:
            self._lenses[camera] = DepthLens(camera)
        lens = self._lenses[camera]
        drawn, unclear = lens.seen(self._draw_plain(time, qpos, lens.wide))
        if unclear.any():
            depth, geom = self._scanner(camera).cast(qpos, time, unclear, cores())
            drawn[unclear] = np.stack([depth, geom], axis=-1)
        return drawn

    def _draw_plain(self, time: float, qpos: Array, camera: DepthSpec) -> Drawn:
        m, d, shapes = self._m, self._d, self._shapes
        d.qpos[:], d.time = qpos, time
        kinematics(m, d)
        bodies = [pose_of(d.xpos[b], d.xmat[b].reshape(3, 3)) for b in range(m.nbody)]
        frame = m.frame_id(camera.link)
        eye = bodies[m.frame_bodyid[frame]] @ pose_of(
            m.frame_pos[frame], quat_to_mat(m.frame_quat[frame])
        )
        seen = [g for g, link in enumerate(shapes.links) if link not in camera.excluded]
        from_world = inverse(eye)
        poses = {g: from_world @ bodies[shapes.body[g]] @ self._pose(g) for g in seen}
        with self._context:
            return self._picture(poses, camera)

    def _picture(self, poses: dict[int, Array], camera: DepthSpec) -> Drawn:
        size = camera.width, camera.height
        if size not in self._targets:
            context = self._context
            check_size(context, *size)
            color = context.renderbuffer(size, 2, dtype="f4")
            self._targets[size] = context.framebuffer([color], context.depth_renderbuffer(size))
        target = self._targets[size]
        target.use()
        target.clear(np.inf, -1.0)
        projection = _projection(*size, *camera.matrix)
        for program in (self._of_triangles, self._of_solids):
            program["projection"].write(uniform(projection))
        for program in (self._of_planes, self._of_solids):
            program["pinhole"] = camera.matrix
        self._draw(poses)
        data = np.frombuffer(target.read(components=2, dtype="f4", alignment=1), np.float32)
        return data.reshape(camera.height, camera.width, 2)

    def _draw(self, poses: dict[int, Array]) -> None:
        gl, context, shapes = self._gl, self._context, self._shapes
        context.enable_only(gl.DEPTH_TEST)
        for g, pose in poses.items():
            if shapes.kind[g] == GeomType.PLANE:
                self._of_planes["plane"] = (*pose[:3, 2], pose[:3, 2] @ pose[:3, 3])
                self._of_planes["number"] = g
                self._square.render(gl.TRIANGLE_STRIP)
            elif g in self._drawn and shapes.root[g] >= 0:
                self._of_triangles["pose"].write(uniform(pose))
                self._of_triangles["number"] = g
                self._drawn[g].render()
        # Draw the far sides of a box, which are visible from inside too. As the first row is at
        # the bottom, far sides have the winding of OpenGL's front sides.
        context.enable_only(gl.DEPTH_TEST | gl.CULL_FACE)
        context.cull_face = "back"
        for g, pose in poses.items():
            if g in self._drawn and shapes.root[g] < 0:
                program = self._of_solids
                program["pose"].write(uniform(pose))
                program["to_solid"].write(uniform(inverse(pose)))
                program["size"] = tuple(shapes.shape[g, SIZE : SIZE + 3])
                program["kind"], program["number"] = int(shapes.kind[g]), g
                self._drawn[g].render()

    def _pose(self, g: int) -> Array:
        """Return the pose (4, 4) of shape g in its body."""
        row = self._shapes.shape[g]
        return pose_of(row[POS : POS + 3], row[MAT : MAT + 9].reshape(3, 3))

    def _put(self, g: int) -> Any:
        """Upload the triangles of shape g, or of a box around a solid, to the graphics card."""
        shapes = self._shapes
        if shapes.root[g] >= 0:
            first, end = shapes.triangles[g]
            rows = shapes.triangle[first:end].reshape(-1, 3)
            corners, faces = np.unique(rows, axis=0, return_inverse=True)
            program = self._of_triangles
        else:
            corners, faces, program = (
                1.001 * CUBE * shapes.shape[g, BOUNDS + 3 : BOUNDS + 6],
                CUBE_FACES,
                self._of_solids,
            )
        buffer = self._context.buffer(np.ascontiguousarray(corners, np.float32).tobytes())
        index = self._context.buffer(np.ascontiguousarray(faces, np.int32).tobytes())
        return self._context.vertex_array(program, [(buffer, "3f", "at")], index)


def _projection(width: int, height: int, fx: float, fy: float, cx: float, cy: float) -> Array:
    """Return the projection of a pinhole from NEAREST to infinity; see projection.projection."""
    return np.array(
        [
            [2.0 * fx / width, 0.0, (2.0 * cx + 1.0) / width - 1.0, 0.0],
            [0.0, 2.0 * fy / height, (2.0 * cy + 1.0) / height - 1.0, 0.0],
            [0.0, 0.0, 1.0, -2.0 * NEAREST],
            [0.0, 0.0, 1.0, 0.0],
        ]
    )
