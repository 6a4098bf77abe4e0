"""The joint library as an author sees it: names of types, and what each one takes.

How a type moves is engine/joints/jcalc.py; both are keyed by the name (model/joints.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, shown

#: The six types that URDF knows.
URDF_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


@dataclass(frozen=True, slots=True)
class JointSpec:
    """What a joint of one type takes.

    Attributes:
        axes: how many axes an author gives: `axis`, then `axis2` perpendicular to it.
        optional_axis2: whether the second may be left out; it is then chosen.
        parameters: names of its parameters; all must be given, as finite numbers.
        nonzero: those of them that must not be zero.
        coordinates: "rad" or "m" for every coordinate that can have a Limit, a rest position or
            a motion given over time; empty where the coordinates cannot (quaternions, positions
            that are not the integral of their velocities).
        radial: it has one Limit all the same: `upper` bounds the angle from the zero position.
        velocities: its degrees of freedom where `coordinates` is empty.
    """

    axes: int = 0
    optional_axis2: bool = False
    parameters: tuple[str, ...] = ()
    nonzero: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()
    radial: bool = False
    velocities: int = 0

    @property
    def dofs(self) -> int:
        """Degrees of freedom."""
        return len(self.coordinates) or self.velocities


#: Every type by its name; register_joint adds to it.
JOINT_SPECS: dict[str, JointSpec] = {
    "revolute": JointSpec(axes=1, coordinates=("rad",)),
    "continuous": JointSpec(axes=1, coordinates=("rad",)),
    "prismatic": JointSpec(axes=1, coordinates=("m",)),
    "fixed": JointSpec(),
    "floating": JointSpec(velocities=6),
    "planar": JointSpec(axes=2, optional_axis2=True, coordinates=("m", "m", "rad")),
    "helical": JointSpec(axes=1, parameters=("pitch",), nonzero=("pitch",), coordinates=("rad",)),
    "cylindrical": JointSpec(axes=1, coordinates=("rad", "m")),
    "universal": JointSpec(axes=2, coordinates=("rad", "rad")),
    "spherical": JointSpec(radial=True, velocities=3),
    "spherical_ypr": JointSpec(coordinates=("rad", "rad", "rad")),
    "rack_pinion": JointSpec(
        axes=2, optional_axis2=True, parameters=("radius",), coordinates=("rad",)
    ),
    "planar_fp": JointSpec(axes=2, optional_axis2=True, velocities=3),
    "planar_fs": JointSpec(axes=2, optional_axis2=True, velocities=3),
    "sixdof_fp": JointSpec(velocities=6),
    "sixdof_fs": JointSpec(velocities=6),
}

#: Types of the joint that carries a floating base; the first is the usual one.
FLOATING_TYPES = ("floating", "sixdof_fp", "sixdof_fs")


def check_floating_base(floating_base: object) -> str:
    """Return the type of the joint that carries the base, empty if it stands on the ground.

    Raises:
        ParameterError: it is neither True, False nor one of FLOATING_TYPES.
    """
    if isinstance(floating_base, bool | np.bool_):
        return FLOATING_TYPES[0] if floating_base else ""
    if isinstance(floating_base, str) and floating_base in FLOATING_TYPES:
        return floating_base
    allowed = f"True, False, {', '.join(map(repr, FLOATING_TYPES))}"
    known = FLOATING_TYPES if isinstance(floating_base, str) else ()
    message = f"floating_base is {shown(floating_base)}; allowed are {allowed}"
    hint = did_you_mean(str(floating_base), known) if known else ""
    found = shown(floating_base)
    raise ParameterError(Finding("bad-argument", message + hint, found=found, allowed=allowed))
