"""The header: sizes and indices with their joints, units and frames, and the prototypes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rbdyn_ros.codegen.language import Real
from rbdyn_ros.codegen.names import WIDTH, FileNames, comment, in_comment, unique
from rbdyn_ros.codegen.table import sizes_of
from rbdyn_ros.model.joints import JointType

if TYPE_CHECKING:
    from rbdyn_ros.codegen.functions import CFunction
    from rbdyn_ros.codegen.table import Argument
    from rbdyn_ros.model.model import Model

RATE = "its rate"
POINT = "x, y, z [m]"
TURN = "quaternion w, x, y, z"
SPIN = "angular velocity [rad/s]"

#: What the coordinates of a joint are, in q and in v.
COORDINATES = {
    JointType.FREE: (
        f"{POINT} in the frame it hangs on, {TURN}",
        f"velocity [m/s] in the axes of that frame, {SPIN} in the body's own axes",
    ),
    JointType.BALL: (TURN, f"{SPIN} in the successor's axes"),
    JointType.SLIDE: ("distance [m]", f"{RATE} [m/s]"),
    JointType.HINGE: ("angle [rad]", f"{RATE} [rad/s]"),
    JointType.PLANAR: ("x, y [m], angle [rad]", "their rates [m/s, rad/s]"),
    JointType.HELICAL: ("angle [rad]", f"{RATE} [rad/s]"),
    JointType.CYLINDRICAL: ("angle [rad], distance [m]", "their rates [rad/s, m/s]"),
    JointType.UNIVERSAL: ("two angles [rad]", "their rates [rad/s]"),
    JointType.YPR: ("yaw, pitch, roll [rad]", "their rates [rad/s]"),
    JointType.RACK_PINION: ("angle [rad]", f"{RATE} [rad/s]"),
    JointType.PLANAR_FP: (
        "angle [rad], x, y [m] in the predecessor's axes",
        f"{RATE} [rad/s], velocity [m/s] in the successor's axes",
    ),
    JointType.PLANAR_FS: (
        "angle [rad], x, y [m] in the successor's axes",
        f"{RATE} [rad/s], velocity [m/s] in the successor's axes",
    ),
    JointType.SIXDOF_FP: (
        f"{TURN}, {POINT} in the predecessor's axes",
        f"{SPIN}, velocity [m/s], both in the successor's axes",
    ),
    JointType.SIXDOF_FS: (
        f"{TURN}, {POINT} in the successor's axes",
        f"{SPIN}, velocity [m/s], both in the successor's axes",
    ),
    JointType.USER: ("coordinates of its own type", "rates of its own type"),
}

CONVENTIONS = (
    "Units are SI: m, rad, kg, s, N, N m. Arrays are in the order of the indices below. "
    "Quaternions are w, x, y, z and of length 1. Functions allocate nothing, keep nothing between "
    "calls and may be called from several threads; outputs are written after the last input was "
    "read, so they may be the same memory. Nothing is checked: what goes in has to be finite."
)


@dataclass(frozen=True, slots=True)
class CProject:
    """What is to be written.

    Attributes:
        m: the robot.
        prefix: what names begin with.
        real: the type of numbers.
        functions: all of them.
    """

    m: Model
    prefix: str
    real: Real
    functions: Sequence[CFunction]

    @property
    def files(self) -> FileNames:
        """How its files are called."""
        return FileNames(self.prefix)

    @property
    def macro(self) -> str:
        """What names of macros begin with."""
        return self.prefix.upper()

    def takes(self, dim: str) -> bool:
        """Whether a function has an argument of a size."""
        return any(dim in a.dims for f in self.functions for a in (*f.inputs, *f.outputs))

    def has(self, function: str) -> bool:
        """Whether a function is among them."""
        return any(f.name == function for f in self.functions)


def header(project: CProject) -> str:
    """Return the text of the header."""
    guard = f"{project.macro}_DYNAMICS_H"
    parts = [
        comment(about(project)),
        [f"#ifndef {guard}", f"#define {guard}"],
        ["#ifdef __cplusplus", 'extern "C" {', "#endif"],
        *_constants(project),
        *(_prototype(project, function) for function in project.functions),
        ["#ifdef __cplusplus", "}", "#endif"],
        [f"#endif /* {guard} */"],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def about(project: CProject) -> str:
    """Return what the code is, in words."""
    m = project.m
    gravity = ", ".join(f"{x:g}" for x in m.opt.gravity)
    passive = "act" if m.opt.passive else "are left out"
    return (
        f"Rigid-body dynamics of the robot {in_comment(m.name)}, in numbers of the type "
        f"{project.real.name}.\n"
        f"sha256 of its model: {m.sha256()}\n"
        f"Gravity, where it is no argument: {gravity} m/s^2 in the world. Damping, friction, "
        f"springs and limits of the joints {passive}.\n\n{CONVENTIONS}"
    )


def _constants(project: CProject) -> Iterator[list[str]]:
    sizes = {name: value for name, value in sizes_of(project.m).items() if project.takes(name)}
    lines = comment("Lengths of q and v, number of bodies.")
    yield [*lines, *(f"#define {project.macro}_{name} {value}U" for name, value in sizes.items())]
    if project.has("step"):
        step = project.real.constant(project.real.round(project.m.opt.timestep))
        yield [*comment("Timestep [s]."), f"#define {project.macro}_TIMESTEP {step}"]
    yield from _joints(project)
    if project.takes("NBODY"):
        yield _bodies(project)


def _joints(project: CProject) -> Iterator[list[str]]:
    m = project.m
    yield comment("The first entry of every joint in q and in v.")
    for j, name in enumerate(unique(m.jnt_names)):
        said = f"Joint {in_comment(m.jnt_names[j])}"
        if m.jnt_mimic[j] >= 0:
            followed = in_comment(m.jnt_names[int(m.jnt_mimic[j])])
            ratio, offset = m.jnt_mimic_ratio[j], m.jnt_mimic_offset[j]
            yield comment(f"{said} follows {followed}: {ratio:g} q + {offset:g}.")
        elif m.jnt_dofnum[j] > 0:
            positions, velocities = COORDINATES[JointType(m.jnt_type[j])]
            yield [
                *comment(f"{said}: in q {positions}; in v {velocities}."),
                f"#define {project.macro}_Q_{name.upper()} {m.jnt_qposadr[j]}U",
                f"#define {project.macro}_V_{name.upper()} {m.jnt_dofadr[j]}U",
            ]


def _bodies(project: CProject) -> list[str]:
    """Return indices of bodies; body 0 is the world."""
    lines = comment("Bodies, links that fixed joints hold together being one; 0 is the world.")
    for i, name in enumerate(unique(project.m.body_names)):
        lines.append(f"#define {project.macro}_BODY_{name.upper()} {i}U")
    return lines


def _prototype(project: CProject, function: CFunction) -> list[str]:
    frame = in_comment(project.m.frame_names[function.frame]) if function.frame >= 0 else ""
    taken = [
        *(f"{argument.name}: {argument.about}" for argument in function.inputs),
        *(f"{argument.name} (output): {argument.about}" for argument in function.outputs),
    ]
    text = "\n".join([function.row.about.format(frame=frame), "", *taken])
    return [*comment(text), f"{signature(project, function)};"]


def signature(project: CProject, function: CFunction) -> str:
    """Return how a function is declared, without what ends it."""
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
    """Return the length of an argument in macros."""
    return " * ".join(
        f"{dim}U" if dim.isdigit() else f"{project.macro}_{dim}" for dim in argument.dims
    )
