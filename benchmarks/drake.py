# SPDX-License-Identifier: Apache-2.0
"""The box of benchmarks.creep and a stack of ten cubes in Drake; needs `pip install drake`.

    python -m benchmarks.drake

Contact is hydroelastic, because Drake's point contact has one point per pair. The floor is rigid,
and the boxes are compliant with a modulus of 1e7 Pa. Steps last 1 ms. MultibodyPlant has its
default settings, and each of its solvers of discrete contact is measured.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    HalfSpace,
    ProximityProperties,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

TIMESTEP, MODULUS, RESOLUTION, DISSIPATION = 1e-3, 1e7, 0.1, 1.0
FRICTION, SIZE, MASS = 0.5, (0.2, 0.2, 0.1), 2.0  # as in benchmarks.creep
CONES = (0.5, 0.9, 0.99)


class World:
    """Boxes on a plane.

    Args:
        solver: name of the DiscreteContactApproximation.
        friction: friction of all surfaces.
        down: rotation of the plane and the boxes.
        places: positions of the boxes, in the axes of the plane [m].
        size, mass: size and mass of each box.
    """

    def __init__(
        self, solver: str, friction: float, down: Any, places: Any, size: Any, mass: float
    ) -> None:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, TIMESTEP)
        plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, solver))
        plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
        floor, skin = ProximityProperties(), ProximityProperties()
        AddRigidHydroelasticProperties(floor)
        AddCompliantHydroelasticProperties(RESOLUTION, MODULUS, skin)
        for surface in (floor, skin):
            rough = CoulombFriction(friction, friction)
            AddContactMaterial(friction=rough, properties=surface, dissipation=DISSIPATION)
        plane = RigidTransform(down, np.zeros(3))
        plant.RegisterCollisionGeometry(plant.world_body(), plane, HalfSpace(), "floor", floor)
        inertia = SpatialInertia.SolidBoxWithMass(mass, *size)
        bodies = [plant.AddRigidBody(f"box {k}", inertia) for k in range(len(places))]
        for body in bodies:
            plant.RegisterCollisionGeometry(body, RigidTransform(), Box(*size), "skin", skin)
        plant.Finalize()
        diagram = builder.Build()
        context = diagram.CreateDefaultContext()
        self._plant, self._context = plant, plant.GetMyMutableContextFromRoot(context)
        self._last = bodies[-1]
        for body, place in zip(bodies, places, strict=True):
            pose = RigidTransform(down, down @ np.array(place))
            plant.SetFreeBodyPose(self._context, body, pose)
        self.simulator = Simulator(diagram, context)

    def timed(self, end: float) -> float:
        """Advance to a simulated time [s]; return the wall time of a step [us]."""
        steps = (end - self._context.get_time()) / TIMESTEP
        start = time.perf_counter()
        self.simulator.AdvanceTo(end)
        taken: float = (time.perf_counter() - start) / steps * 1e6
        return taken

    def place(self) -> Any:
        """Return the position of the last box [m]."""
        return self._plant.GetFreeBodyPose(self._context, self._last).translation()

    def speed(self) -> float:
        """Return the largest velocity of a box [m/s or rad/s]."""
        return float(np.abs(self._plant.GetVelocities(self._context)).max())


def main() -> None:
    print("drake", version("drake"), end="\n\n")
    heads = [f"slope {cone}: um/s, us a step" for cone in CONES]
    print(f"| solver | {' | '.join(heads)} | ten cubes: m/s after 5 s, us a step |\n{'|---' * 5}|")
    for solver in ("kLagged", "kSap", "kTamsi"):
        cells = [_creep(solver, cone) for cone in CONES]
        print(f"| {solver} | {' | '.join(cells)} | {_stack(solver)} |", flush=True)


def _creep(solver: str, cone: float) -> str:
    turn = RotationMatrix.MakeYRotation(float(np.arctan(FRICTION * cone)))
    world = World(solver, FRICTION, turn, [(0.0, 0.0, SIZE[2] / 2)], SIZE, MASS)
    world.timed(2.0)
    start = world.place()
    taken = world.timed(3.0)
    slid = float((world.place() - start) @ (turn @ np.array([1.0, 0.0, 0.0])))
    return f"{1e6 * slid:.3g}, {taken:.0f}"


def _stack(solver: str) -> str:
    places = [(0.006 * (n % 3), 0.004 * (n % 2), 0.1 + 0.2 * n) for n in range(10)]
    world = World(solver, 0.8, RotationMatrix(), places, (0.2, 0.2, 0.2), 1.0)
    world.timed(2.0)
    taken = world.timed(3.0)
    world.timed(5.0)
    return f"{world.speed():.1e}, {taken:.0f}"


if __name__ == "__main__":
    main()
