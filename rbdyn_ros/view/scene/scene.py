# SPDX-License-Identifier: Apache-2.0
"""The scene of a robot, without a browser: its layers, and their placement at an instant."""

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.dynamics.configuration import random_qpos
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.scene.coordinates import floating_entries
from rbdyn_ros.view.scene.joint_marks import Mark, joint_marks
from rbdyn_ros.view.scene.lamps import lamps_of
from rbdyn_ros.view.scene.lines import Lines, lines_of
from rbdyn_ros.view.scene.parts import (
    COLLISION,
    OBJECT,
    Color,
    Part,
    can_be_drawn,
    geometry_parts,
    inertia_boxes,
    inertia_ellipsoids,
    mass_balls,
    massive_bodies,
    obstacle_parts,
    parts_of_looks,
)
from rbdyn_ros.view.scene.wrench_lines import couple_arrows, point_arrows, weight_of, wrench_arrows

#: Names of the layers that can be shown or hidden.
VISUALS, COLLISIONS, BOXES = "visuals", "collisions", "inertia boxes"
ELLIPSOIDS, MASSES, FRAMES = "inertia ellipsoids", "centre of mass", "frames"
JOINTS, FORCES, LINES, GRID = "joint axes and limits", "forces", "lines", "grid"
LIGHTS = "lights"

#: Layers of surfaces, see Scene.parts.
SURFACES = (VISUALS, COLLISIONS, BOXES, ELLIPSOIDS, MASSES)

#: Size that is assumed for a robot without extent [m].
SMALLEST = 1e-3
#: Number of random configurations that show how far a robot reaches.
CONFIGURATIONS = 24


@dataclass(frozen=True, slots=True, eq=False)
class BodyPlacement:
    """The poses of bodies, lines and arrows at an instant, in the world.

    Attributes:
        xpos, xquat: positions (nbody, 3) [m] and quaternions (nbody, 4) wxyz of the bodies.
        com: centre of mass of the robot (3,) [m].
        lines: springs, rods, loops (n, 2, 3) [m], in the order of Scene.lines.
        contacts, pushes, couples: arrows (k, 2, 3) [m] of contact forces, other external forces,
            and torques without a force.
        touches: points (k, 3) [m] at which contact forces act. If they are unknown this is empty,
            and a body has a single arrow for all its contacts.
    """

    xpos: Array
    xquat: Array
    com: Array
    lines: Array
    contacts: Array
    pushes: Array
    couples: Array
    touches: Array


class Scene:
    """A robot and its surroundings, ready to be shown.

    Args:
        m: the robot.
        looks: appearance of the robot.

    Attributes:
        size: diagonal of its bounding box at qpos0 [m], which scales all marks.
        middle, radius: centre (3,) and radius of a ball around the robot in almost all its
            configurations [m].
        lowest: height of its lowest point at qpos0 [m].
        shown: the layers that are visible at first.
        lines: lines between its bodies.
        lamps: the lights of its file.
        floor: height of the grid [m].
        findings: warnings about broken meshes, in the layers made so far.

    Raises:
        ModelError: the appearance is another robot's.
    """

    def __init__(self, m: Model, looks: Appearance) -> None:
        self.m, self.looks = m, looks
        self._d, self._lock = make_data(m), threading.Lock()
        self._parts: dict[str, list[Part]] = {}
        self.findings: list[Finding] = []
        self.size = 1.0
        self.shown = _layers_shown(looks)
        self.lamps = lamps_of(m, looks.lights)
        self.lines: Lines = lines_of(m, skeleton=self.shown != (VISUALS,))
        points = self.points([Instant.still(m, m.qpos0)])
        low, high = points.min(axis=0), points.max(axis=0)
        self.size = max(float(np.linalg.norm(high - low)), SMALLEST)
        self._parts.pop(BOXES, None)  # made again, because thicknesses depend on the size
        self.lowest = float(low[2])
        self.floor = _floor(m, self.lowest, self.size)
        self.middle, self.radius = self._ball(points)

    def parts(self, layer: str) -> list[Part]:
        """Return the parts of a layer of SURFACES; the first call makes them."""
        if layer not in self._parts:
            self._parts[layer] = self._make_parts(layer)
        return self._parts[layer]

    def _make_parts(self, layer: str) -> list[Part]:
        if layer in (VISUALS, COLLISIONS):
            looks, color = self.looks.visuals, None
            if layer == COLLISIONS:
                looks, color = self.looks.collisions, COLLISION
            parts, findings = parts_of_looks(self.m, looks, color)
            parts += self._bare_trees(color or OBJECT)
            self.findings += (one for one in findings if one not in self.findings)
            return parts
        make = {BOXES: inertia_boxes, ELLIPSOIDS: inertia_ellipsoids, MASSES: mass_balls}[layer]
        return make(self.m, self.size)

    def _bare_trees(self, color: Color) -> list[Part]:
        """Return the contact geometries of trees without visuals; [] if no tree has visuals."""
        m, looks = self.m, (*self.looks.visuals, *self.looks.collisions)
        if not looks:
            return []
        seen = {int(m.body_rootid[m.frame_bodyid[m.frame_id(look.link)]]) for look in looks}
        parts = geometry_parts(m, color)
        return [p for p in parts if p.body > 0 and int(m.body_rootid[p.body]) not in seen]

    @functools.cached_property
    def obstacles(self) -> list[Part]:
        """Parts of the obstacles except planes, which the grid shows."""
        return obstacle_parts(self.m)

    @functools.cached_property
    def marks(self) -> list[Mark]:
        """Marks of the joints: axes, limits and positions."""
        return joint_marks(self.m, self.size)

    def place(self, instant: Instant) -> BodyPlacement:
        """Return the placement at an instant.

        Raises:
            ModelError: qpos of the instant is not (nq,) finite numbers.
        """
        m, d = self.m, self._d
        qpos = np.asarray(instant.qpos, np.float64)
        if qpos.shape != (m.nq,) or not np.isfinite(qpos).all():
            text = f"qpos of '{m.name}' must be {m.nq} finite numbers, got shape {qpos.shape}"
            raise ModelError(Finding("bad-instant", text, "error", "qpos"))
        with self._lock:
            d.qpos[:] = qpos
            d.time = instant.time if np.isfinite(instant.time) else 0.0
            kinematics(m, d)
            xpos, xipos = d.xpos.copy(), d.xipos.copy()
            xmat = d.xmat.reshape(-1, 3, 3).copy()
        contact, pushed = _rows(instant.contact, m.nbody), _rows(instant.xfrc, m.nbody)
        weight, size = weight_of(m), self.size
        both = np.concatenate([contact, pushed]), np.concatenate([xipos, xipos])
        if instant.points is None:
            contacts, touches = wrench_arrows(contact, xipos, weight, size), np.zeros((0, 3))
        else:
            contacts, touches = point_arrows(instant.points, weight, size)
        return BodyPlacement(
            xpos,
            quats_of(xmat),
            _centre(m, xipos),
            self.lines.place(xpos, xmat),
            contacts,
            wrench_arrows(pushed, xipos, weight, size),
            couple_arrows(*both, weight, size),
            touches,
        )

    def points(self, instants: Sequence[Instant]) -> Array:
        """Return points (n, 3) whose hull contains the robot at these instants."""
        corners = [(p.body, p.corners()) for layer in self.shown for p in self.parts(layer)]
        return np.concatenate([_points(self.place(one), corners) for one in instants])

    def _ball(self, points: Array) -> tuple[Array, float]:
        """Return a ball around points (n, 3) and the robot in random configurations.

        A floating base keeps its pose. So do joints of closed loops, which random positions would
        open.
        """
        m, rng, floating = self.m, np.random.default_rng(0), floating_entries(self.m)
        instants = list[Instant]()
        for _ in range(0 if m.nefc else CONFIGURATIONS):
            qpos = random_qpos(m, rng)
            qpos[floating] = m.qpos0[floating]
            instants.append(Instant.still(m, qpos))
        reached = np.concatenate([points, self.points(instants)]) if instants else points
        middle = 0.5 * (reached.min(axis=0) + reached.max(axis=0))
        return middle, float(np.linalg.norm(reached - middle, axis=1).max())


def _points(at: BodyPlacement, corners: Sequence[tuple[int, Array]]) -> Array:
    """Return the positions in the world of bodies, lines, and `corners` in the bodies' frames."""
    points = [at.xpos[1:], at.lines.reshape(-1, 3)]
    for body, box in corners:
        points.append(box @ quat_to_mat(at.xquat[body]).T + at.xpos[body])
    return np.concatenate(points) if any(map(len, points)) else np.zeros((1, 3))


def _layers_shown(looks: Appearance) -> tuple[str, ...]:
    """Return the layers to show at first; with collisions or boxes if visuals cannot be drawn."""
    if can_be_drawn(looks.visuals):
        return (VISUALS,)
    beside = (VISUALS,) if looks.visuals else ()
    if can_be_drawn(looks.collisions):
        return (*beside, COLLISIONS)
    return (*beside, BOXES)


def _floor(m: Model, lowest: float, size: float) -> float:
    """Return the height of the grid [m].

    It is the height of the highest horizontal plane. Without such a plane it is 0, or the height
    of the lowest point of a robot that is clearly below 0.
    """
    level = (m.geom_type == GeomType.PLANE) & (m.geom_mat[:, 8] > 1.0 - 1e-9)
    if level.any():
        return float(m.geom_pos[level, 2].max())
    return 0.0 if lowest > -0.02 * size else lowest


def _rows(wrench: Array | None, nbody: int) -> Array:
    return np.zeros((nbody, 6)) if wrench is None else np.asarray(wrench, np.float64)


def _centre(m: Model, xipos: Array) -> Array:
    bodies = massive_bodies(m)
    mass = m.body_mass[bodies]
    if not len(bodies):
        return np.zeros(3)
    centre: Array = mass @ xipos[bodies] / mass.sum()
    return centre


def quats_of(xmat: Array) -> Array:
    """Return unit quaternions wxyz (n, 4) of rotation matrices (n, 3, 3)."""
    from scipy.spatial.transform import Rotation  # this import is slow

    quats: Array = Rotation.from_matrix(xmat).as_quat()[:, [3, 0, 1, 2]]
    return quats
