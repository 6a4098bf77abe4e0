# SPDX-License-Identifier: Apache-2.0
"""A project to generate, and the descriptions and declarations that its files share."""

from collections.abc import Sequence
from dataclasses import dataclass

from rbdyn_ros.codegen.functions import CFunction
from rbdyn_ros.codegen.names import WIDTH, FileNames, in_comment, shown
from rbdyn_ros.codegen.table import GRAVITY, Argument
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.languages.c_language import Real

CONVENTIONS = (
    "Units are SI: m, rad, kg, s, N, N m. Arrays are in the order of the indices below. "
    "Quaternions are w, x, y, z and of length 1. Functions allocate nothing, keep nothing between "
    "calls and may be called from several threads. Outputs are written after the last input was "
    "read, so they may share memory with inputs. Inputs are not checked: they must be finite."
)


@dataclass(frozen=True, slots=True)
class CProject:
    """A project to generate.

    Attributes:
        m: the robot.
        prefix: prefix of all names.
        real: the type of numbers.
        functions: the functions to generate.
        mounting: roll, pitch and yaw of the base link [rad]; the gravity of `m` is already
            rotated. Empty: the base is upright.
    """

    m: Model
    prefix: str
    real: Real
    functions: Sequence[CFunction]
    mounting: tuple[float, ...] = ()

    @property
    def files(self) -> FileNames:
        """The names of the files."""
        return FileNames(self.prefix)

    @property
    def macro(self) -> str:
        """The prefix of macros."""
        return self.prefix.upper()

    def takes(self, dim: str) -> bool:
        """Return whether an argument of any function has this dimension."""
        return any(dim in a.dims for f in self.functions for a in (*f.inputs, *f.outputs))

    def has_argument(self, name: str) -> bool:
        """Return whether any function has an argument of this name."""
        return any(a.name == name for f in self.functions for a in (*f.inputs, *f.outputs))

    def has(self, function: str) -> bool:
        """Return whether the project has this function."""
        return any(f.name == function for f in self.functions)

    @property
    def is_heavy(self) -> bool:
        """Return whether any function depends on gravity."""
        return any(f.spec.heavy for f in self.functions)

    @property
    def takes_gravity(self) -> bool:
        """Return whether gravity is an argument."""
        return any(GRAVITY in f.inputs for f in self.functions)

    @property
    def world(self) -> str:
        """The frame of all poses, axes and gravity: the base link if its mounting is given."""
        m = self.m
        free = m.jnt_type == JointType.FREE
        floats = (m.body_parentid[m.jnt_bodyid[free]] == 0).any()
        is_turned = any(self.mounting) or (self.takes_gravity and not floats)
        return "base link" if is_turned else "world"


def about(project: CProject) -> str:
    """Return a description of the code."""
    m = project.m
    robot = f"Rigid-body dynamics of the robot {in_comment(m.name)}"
    forces = " ".join([*_gravity(project), *_passive(project)])
    lines = [
        f"{robot}, in numbers of the type {project.real.name}.",
        f"sha256 of its model: {m.sha256()}",
        *([forces] if forces else []),
        "",
        CONVENTIONS,
    ]
    return "\n".join(lines)


def _gravity(project: CProject) -> list[str]:
    """Return a sentence about gravity, or an empty list if no function depends on it."""
    if not project.is_heavy:
        return []
    if project.takes_gravity:
        return [f"Gravity is an argument, in the axes of the {project.world}."]
    gravity = f"Gravity: {', '.join(map(shown, project.m.opt.gravity))} m/s^2 in the"
    if not any(project.mounting):
        return [f"{gravity} world."]
    angles = ", ".join(map(shown, project.mounting))
    return [f"{gravity} axes of the base link, mounted with roll, pitch, yaw {angles} rad."]


def _passive(project: CProject) -> list[str]:
    """Return a sentence about passive forces, or an empty list if no function depends on them."""
    if not any(function.spec.passive for function in project.functions):
        return []
    act = "act" if project.m.opt.passive else "are left out"
    return [f"Damping, friction, springs and limits of the joints {act}."]


def signature(project: CProject, function: CFunction) -> str:
    """Return the declaration of a function, without the semicolon."""
    arguments = [
        *(f"const {_declared(project, argument)}" for argument in function.inputs),
        *(_declared(project, argument) for argument in function.outputs),
    ]
    begin = f"void {project.prefix}_{function.name}("
    line = f"{begin}{', '.join(arguments)})"
    return line if len(line) < WIDTH else begin + "\n    " + ",\n    ".join(arguments) + ")"


def _declared(project: CProject, argument: Argument) -> str:
    return f"{project.real.name} {argument.name}[{length(project, argument)}]"


def length(project: CProject, argument: Argument) -> str:
    """Return the length of an argument as a C expression of macros."""
    return " * ".join(
        f"{dim}U" if dim.isdigit() else f"{project.macro}_{dim}" for dim in argument.dims
    )
