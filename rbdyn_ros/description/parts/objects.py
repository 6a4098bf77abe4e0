# SPDX-License-Identifier: Apache-2.0
"""The parts of a scene other than its obstacles: robots with their poses, and free objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbdyn_ros.description.parts.geometries import Contact, Filter, Shape, Surface
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose
from rbdyn_ros.description.parts.types import Description

NO_OBSTACLES = Contact(obstacles=())

#: A shape, several shapes, the path of a robot file or a mesh, or a robot as it was read.
Look = Shape | Sequence[Shape | tuple[Shape, Pose]] | str | Path | Description


@dataclass(frozen=True, slots=True)
class Object:
    """A free object of a scene: a rigid body, or a robot file without actuators.

    Attributes:
        name: name of the object, its link, its floating joint and its geometry.
        shape: a Sphere, Box, Cylinder, Capsule or Points; a list of shapes, or of pairs (shape,
            pose in the object); the path of a mesh (.stl, .obj, .dae), whose convex hull is used;
            the path of a .urdf, .xacro, .sdf or mechanism .yaml file; or a Description.
        mass: mass of all shapes together, which are of one density [kg]; None: the density is
            given, or the masses of a robot file count.
        density: density of the shapes, instead of the mass [kg/m^3]; None: no density is given.
        pose: start pose in the world.
        surface: contact properties; None: the surface of the file, or a default Surface.
        scale: scale of a mesh along its axes.
        filter: contact filter; None: the filter of its file, or a filter that passes everything.
        decompose: whether a mesh that is not convex, also of a robot file, becomes several convex
            geometries (needs the package coacd) instead of its convex hull.
    """

    name: str
    shape: Look
    mass: float | None = None
    density: float | None = None
    pose: Pose = IN_PLACE
    surface: Surface | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    line: int | None = None
    filter: Filter | None = None
    decompose: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """A robot of a scene and its pose.

    Attributes:
        source: path of a .urdf, .xacro, .sdf or mechanism .yaml file, URDF text, a SystemBuilder
            or a Description.
        pose: pose of its root link in the world; the start pose if the base floats.
        floating_base: whether the root link moves freely.
        contact: surfaces and filters of its geometries, and pairs of them that may overlap.
        start: positions at qpos0 by the names of joints with one coordinate [rad or m].
        box: its control box in a simulation, such as franka@127.0.0.2; empty: no control box.
        base: kind of mobile base that follows cmd_vel in a simulation, such as differential;
            empty: no mobile base.
    """

    source: Any
    pose: Pose = IN_PLACE
    floating_base: bool = False
    contact: Contact = NO_OBSTACLES
    start: Mapping[str, float] = field(default_factory=dict)
    line: int | None = None
    box: str = ""
    base: str = ""
