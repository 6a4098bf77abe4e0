# SPDX-License-Identifier: Apache-2.0
"""Start the free objects of a scene outside obstacles, robots and each other."""

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.collisions import TOUCHING, NearPairs, check_pairs, find_near
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.errors import DescriptionError, Finding, quote
from rbdyn_ros.loading.standing import touching
from rbdyn_ros.model.geometry.geoms import TERRAIN
from rbdyn_ros.model.model import Model

ROUNDS = 100  # most rounds: a raised object may enter the next obstacle
CLEAR = 1e-9  # distance of a raised object from the obstacle below it [m]
_HEIGHT = 2  # index of the height in the position of a floating joint


def placed_objects(m: Model, description: Description) -> tuple[Model, list[Finding]]:
    """Return the Model with a qpos0 at which its objects are outside obstacles, and notes.

    An object inside an obstacle is raised until it just touches.

    Raises:
        DescriptionError: an object overlaps a robot or another object, or cannot be raised out of
            an obstacle.
    """
    if not description.objects or m.ngeom == 0:
        return m, []
    check_pairs(m, "scene")
    search = _Search(m, description)
    raised = {name: search.raise_out(name) for name in description.objects}
    search.check()
    notes = [
        Finding(
            "raised",
            f"object {quote(name)} starts inside an obstacle; qpos0 raises it by {height:.6g} m",
            "note",
            f"object {quote(name)}",
        )
        for name, height in raised.items()
        if height > 0.0
    ]
    return (m.replaced(qpos0=np.array(search.d.qpos)) if notes else m), notes


def placed_entity(m: Model, description: Description, name: str, qpos: Array) -> float:
    """Return how far a new object must be raised to leave all obstacles [m]; 0 for other parts.

    Args:
        m: the scene with the new object, obstacle or fixed robot.
        description: description of the scene.
        name: name of the object, obstacle or robot.
        qpos: (nq,) position of the scene.

    Raises:
        DescriptionError: it overlaps a robot or an object, or cannot be raised out of an obstacle.
    """
    if m.ngeom == 0 or not m.ndistance:
        return 0.0
    search = _Search(m, description)
    search.d.qpos = qpos
    if name in description.objects:
        height = search.raise_out(name)
        search.check(name)
        return height
    if name in {one.name for one in description.obstacles}:
        search.check_obstacle(name)
    else:
        search.check_robot(name)
    return 0.0


class _Search:
    """Finds the overlaps of objects."""

    def __init__(self, m: Model, description: Description) -> None:
        self.m, self.d = m, make_data(m)
        self._source = description.source
        self._entities = {*description.objects, *description.robots}
        self._line = {joint.child: joint.line for joint in description.joints}
        self._memory, self._skipped = NearPairs(m), np.zeros(m.ndistance, np.int64)
        bodies = [int(m.frame_bodyid[m.frame_id(name)]) for name in description.objects]
        self._tree = dict(zip(description.objects, bodies, strict=True))
        self._name = {body: name for name, body in self._tree.items()}
        root = m.body_rootid[m.geom_bodyid]
        self._object: Ints = np.where(np.isin(root, bodies), root, 0)
        self._first_obstacle = m.ngeomlink

    def raise_out(self, name: str) -> float:
        """Raise an object out of the obstacles; return the height by which it was raised [m]."""
        tree = self._tree[name]
        at = int(self.m.jnt_qposadr[tree - 1]) + _HEIGHT
        start = float(self.d.qpos[at])
        for _ in range(ROUNDS):
            depth = self._depth(tree)
            if depth == 0.0:
                break
            self.d.qpos[at] += depth + CLEAR
        return float(self.d.qpos[at]) - start

    def _depth(self, tree: int) -> float:
        pairs, distances = self._overlaps(0.0)
        mine = (self._object[pairs] == tree).any(axis=1)
        mine &= (pairs >= self._first_obstacle).any(axis=1)
        return max(float(-distances[mine].min(initial=0.0)), self._depth_in_terrain(tree))

    def _depth_in_terrain(self, tree: int) -> float:
        """Return the depth of object `tree` in terrain, for which `_overlaps` has no distances."""
        if self.m.nfield + self.m.ntrimesh == 0:
            return 0.0
        pairs, distances = self._contacts()
        mine = self._object[pairs[:, 1]] == tree
        mine &= np.isin(self.m.geom_type[pairs[:, 0]], TERRAIN)
        return max(float(-distances[mine].min(initial=0.0)), 0.0)

    def _contacts(self) -> tuple[Ints, Array]:
        """Return the pairs of geometries in contact (n, 2), obstacles first, and the distances."""
        touching(self.m, self.d)
        number = self.d.ncon
        return self.d.contact_geom[:number], self.d.contact_dist[:number]

    def _overlaps(self, reach: float) -> tuple[Ints, Array]:
        """Return the pairs of geometries (n, 2) up to `reach` apart, and their distances."""
        count = find_near(self.m, self.d, reach, self._skipped, self._memory)
        pairs: Ints = self.m.distance_geom[self._memory.found[:count]]
        return pairs, self._memory.out[:count, 0].copy()

    def check_obstacle(self, name: str) -> None:
        """Raise DescriptionError if an obstacle overlaps a robot or an object."""
        names = self.m.geom_names
        obstacle = names.index(name, self._first_obstacle)
        is_terrain = self.m.geom_type[obstacle] in TERRAIN
        found = self._contacts() if is_terrain else self._overlaps(-TOUCHING)
        for pair, distance in zip(*found, strict=True):
            other = int(pair.min())
            if obstacle in pair and self.m.geom_bodyid[other] > 0 and distance < -TOUCHING:
                text = (
                    f"the obstacle would be {-1e3 * distance:.3g} mm inside {quote(names[other])}"
                )
                raise DescriptionError(Finding("object-overlaps", text), self._source)

    def check_robot(self, name: str) -> None:
        """Raise DescriptionError if a robot that is fixed to the world overlaps something."""
        from rbdyn_ros.description.scenes.entities import entity_of  # imported only for scenes

        names, bodies = self.m.geom_names, self.m.geom_bodyid
        links = [self.m.frame_names[frame] for frame in self.m.geom_frameid]
        mine = [entity_of(link, self._entities) == name for link in links]
        for pair, distance in zip(*self._overlaps(-TOUCHING), strict=True):
            g, h = pair.tolist()
            own = [g < len(mine) and mine[g], h < len(mine) and mine[h]]
            if sum(own) == 1 and max(bodies[g], bodies[h]) > 0:
                other = names[h if own[0] else g]
                text = f"the robot would be {-1e3 * distance:.3g} mm inside {quote(other)}"
                raise DescriptionError(Finding("object-overlaps", text), self._source)

    def check(self, only: str = "") -> None:
        """Raise DescriptionError if an object, or the object `only`, overlaps anything."""
        names, findings = self.m.geom_names, []
        for pair, distance in zip(*self._overlaps(-TOUCHING), strict=True):
            objects = self._object[pair].tolist()
            if objects[0] == objects[1]:  # both belong to one object, or neither to an object
                continue
            if only and only not in {self._name.get(n) for n in objects}:
                continue
            is_second = only and self._name.get(objects[1]) == only
            first = 1 if is_second or not objects[0] else 0
            g, h = (pair[::-1] if first else pair).tolist()
            name = self._name[objects[first]]
            other = self._name.get(int(self._object[h]), "")
            what = f"object {quote(other)}" if other else f"the geometry {quote(names[h])}"
            owner = f"object {quote(name)}"
            text = (
                f"{owner} starts {-1e3 * distance:.3g} mm inside {what}; change the pose of "
                f"{quote(name)}"
            )
            line = self._line[name]
            findings.append(Finding("object-overlaps", text, "error", owner, line, names[g]))
        if findings:
            raise DescriptionError(findings, self._source)
