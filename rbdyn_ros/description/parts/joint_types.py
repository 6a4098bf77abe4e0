# SPDX-License-Identifier: Apache-2.0
"""The joint types of descriptions: their names and properties.

model/declared/joints.py gives each name a JointType; engine/joints/jcalc.py computes the motion.
"""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, shown

#: The six types of URDF.
URDF_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

#: The types of joints that close loops in a URDF.
LOOP_TYPES = ("spherical", "revolute", "continuous", "prismatic", "planar", "fixed")


@dataclass(frozen=True, slots=True)
class JointSpec:
    """The properties of a joint type.

    Attributes:
        axes: number of axes: `axis`, then `axis2` perpendicular to it.
        optional_axis2: whether `axis2` may be left out; any perpendicular axis is then chosen.
        parameters: names of its parameters; all are required, as finite numbers.
        nonzero: the parameters that must not be zero.
        coordinates: "rad" or "m" for each coordinate; empty where coordinates can have no limit,
            rest position or prescribed motion (quaternions, positions that are not the integral
            of their velocities).
        radial: whether it has one Limit, whose `upper` bounds the angle from the zero position.
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


#: All joint types by name; register_joint adds types.
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
        axes=2,
        optional_axis2=True,
        parameters=("radius",),
        nonzero=("radius",),
        coordinates=("rad",),
    ),
    "planar_fp": JointSpec(axes=2, optional_axis2=True, velocities=3),
    "planar_fs": JointSpec(axes=2, optional_axis2=True, velocities=3),
    "sixdof_fp": JointSpec(velocities=6),
    "sixdof_fs": JointSpec(velocities=6),
}

#: Joint types for a floating base; the first is the default.
FLOATING_TYPES = ("floating", "sixdof_fp", "sixdof_fs")


def check_floating_base(floating_base: object) -> str:
    """Return the joint type of a floating base, or "" if the base is fixed.

    Raises:
        ParameterError: the argument is not True, False or one of FLOATING_TYPES.
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
