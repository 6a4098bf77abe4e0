# SPDX-License-Identifier: Apache-2.0
"""Write the C header: sizes, indices of the joints with units and frames, and prototypes."""

from collections.abc import Iterator

from rbdyn_ros.codegen.functions import CFunction
from rbdyn_ros.codegen.names import comment, in_comment, shown, unique
from rbdyn_ros.codegen.project import CProject, about, signature
from rbdyn_ros.codegen.table import TAU, Argument, sizes_of
from rbdyn_ros.model.declared.joints import JointType

RATE = "its rate"
POINT = "x, y, z [m]"
TURN = "quaternion w, x, y, z"
SPIN = "angular velocity [rad/s]"

#: Meaning of the coordinates of each joint type, in q and in v.
COORDINATES = {
    JointType.FREE: (
        f"{POINT} in the parent frame, {TURN}",
        f"velocity [m/s] in the parent's axes, {SPIN} in the body's own axes",
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

BOTH = "torque [N m], force [N], both in the successor's axes"

#: Meaning of the forces of joint types for which the unit does not suffice. The power is force
#: times v.
FORCES = {
    JointType.FREE: "force [N] at the body's origin in the parent's axes, torque [N m] "
    "about it in the body's own axes",
    JointType.BALL: "torque [N m] in the successor's axes",
    JointType.PLANAR_FP: "torque [N m], force [N] in the successor's axes",
    JointType.PLANAR_FS: "torque [N m], force [N] in the successor's axes",
    JointType.SIXDOF_FP: BOTH,
    JointType.SIXDOF_FS: BOTH,
}


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


def _constants(project: CProject) -> Iterator[list[str]]:
    sizes = {name: value for name, value in sizes_of(project.m).items() if project.takes(name)}
    lengths = "Lengths of q and v" if "NV" in sizes else "Length of q"
    lengths = "Lengths of q, v and act" if "NA" in sizes else lengths
    lines = comment(f"{lengths}, number of bodies." if "NBODY" in sizes else f"{lengths}.")
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
        joint = f"Joint {in_comment(m.jnt_names[j])}"
        if m.jnt_mimic[j] >= 0:
            leader = in_comment(m.jnt_names[int(m.jnt_mimic[j])])
            ratio, offset = m.jnt_mimic_ratio[j], m.jnt_mimic_offset[j]
            yield comment(f"{joint} mimics {leader}: {shown(ratio)} q + {shown(offset)}.")
        elif m.jnt_dofnum[j] > 0:
            kind = JointType(m.jnt_type[j])
            positions, velocities = COORDINATES[kind]
            has_forces = kind in FORCES and project.has_argument(TAU.name)
            forces = f"; in {TAU.name} {FORCES[kind]}" if has_forces else ""
            yield [
                *comment(f"{joint}: in q {positions}; in v {velocities}{forces}."),
                f"#define {project.macro}_Q_{name.upper()} {m.jnt_qposadr[j]}U",
                f"#define {project.macro}_V_{name.upper()} {m.jnt_dofadr[j]}U",
            ]


def _bodies(project: CProject) -> list[str]:
    """Return lines that define the indices of the bodies and explain body 0."""
    text = "Bodies; links connected by fixed joints are one body. Body 0 is the"
    lines = comment(f"{text} {project.world}.")
    for i, name in enumerate(unique(project.m.body_names)):
        lines.append(f"#define {project.macro}_BODY_{name.upper()} {i}U")
    return lines


def _prototype(project: CProject, function: CFunction) -> list[str]:
    frame = in_comment(project.m.frame_names[function.frame]) if function.frame >= 0 else ""
    taken = [
        *(f"{argument.name}: {_about(project, argument)}" for argument in function.inputs),
        *(
            f"{argument.name} (output): {_about(project, argument)}"
            for argument in function.outputs
        ),
    ]
    text = "\n".join([function.spec.about.format(frame=frame, world=project.world), "", *taken])
    return [*comment(text), f"{signature(project, function)};"]


def _about(project: CProject, argument: Argument) -> str:
    text = argument.about.format(world=project.world)
    explained = any(JointType(kind) in FORCES for kind in project.m.jnt_type)
    return f"{text}, see the joints above" if explained and argument.name == TAU.name else text
