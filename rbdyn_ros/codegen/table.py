# SPDX-License-Identifier: Apache-2.0
"""The functions that generated C code can have, with their arguments and results."""

import math
from dataclasses import dataclass, replace

from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True)
class Argument:
    """An array argument of a function in C.

    Attributes:
        array: the field of Data or Model, or "out".
        name: name in C.
        dims: names of macros without prefix, or numbers; the length of the array is their product.
        about: meaning, unit and frame; {world} stands for CProject.world.
    """

    array: str
    name: str
    dims: tuple[str, ...]
    about: str


FORCE = "N m for angles, N for distances"
Q = Argument("qpos", "q", ("NQ",), "positions, see the joints above")
V = Argument("qvel", "v", ("NV",), "velocities, see the joints above")
A = Argument("qacc", "a", ("NV",), "accelerations, the rates of v [1/s times the units of v]")
TAU = Argument("qfrc_applied", "tau", ("NV",), f"forces in the joints [{FORCE}]")
EXTERNAL = Argument(
    "xfrc_applied", "external", ("NBODY", "6"),
    "force [N] and torque [N m] on each body at its centre of mass, {world} axes, row by row",
)  # fmt: skip
GRAVITY = Argument(
    "gravity", "g", ("3",), "gravitational acceleration in the axes of the {world} [m/s^2]"
)


ACT = Argument(
    "act", "act", ("NA",),
    "states of the actuators, one after the other: current [A], temperature above the ambient one "
    "[K], deflection of the bristles [rad], twist of the gear [rad or m] and its rate, delayed "
    f"commands [{FORCE}]",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function that generated C code can have.

    Attributes:
        traced: name of the function in FUNCTIONS of specialization/functions.py.
        about: description of the result; {world} stands for CProject.world, {frame} for the frame.
        inputs, outputs: the arguments, named like the arrays of the Program.
        heavy: whether the function depends on gravity.
        pushed: whether the function can depend on external forces.
        passive: whether the function depends on damping, friction, springs and joint limits.
        inverts: whether the function inverts M, so that its rounding grows with cond(M).
    """

    traced: str
    about: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    heavy: bool = True
    pushed: bool = False
    passive: bool = False
    inverts: bool = False


SPECS = {
    "gravity": FunctionSpec(
        "gravity_term", "Forces that hold the robot at rest against gravity: g(q).", (Q,),
        (Argument("out", "tau", ("NV",), f"g(q) [{FORCE}]"),),
    ),
    "bias": FunctionSpec(
        "bias_term", "Coriolis, centrifugal and gravity forces: C(q, v) v + g(q).", (Q, V),
        (Argument("out", "tau", ("NV",), f"C(q, v) v + g(q) [{FORCE}]"),),
    ),
    "inverse": FunctionSpec(
        "inverse",
        "Inverse dynamics: the forces that cause accelerations, M(q) a + C(q, v) v + g(q) minus "
        "the passive forces.",
        (Q, V, A),
        (Argument("qfrc_inverse", "tau", ("NV",), f"forces in the joints [{FORCE}]"),),
        passive=True,
    ),
    "forward": FunctionSpec(
        "forward_dynamics", "Forward dynamics: the accelerations that forces cause.", (Q, V, TAU),
        (A,), pushed=True, passive=True, inverts=True,
    ),
    "step": FunctionSpec(
        "step", "Simulates one timestep. q_next may be q, and v_next may be v.", (Q, V, TAU),
        (Argument("qpos", "q_next", ("NQ",), "positions after the timestep"),
         Argument("qvel", "v_next", ("NV",), "velocities after the timestep")),
        pushed=True, passive=True, inverts=True,
    ),
    "mass_matrix": FunctionSpec(
        "mass_matrix", "Joint-space inertia matrix M(q), symmetric.", (Q,),
        (Argument("out", "M", ("NV", "NV"), "M(q), row by row, all entries [kg m^2, kg m, kg]"),),
        heavy=False,
    ),
    "kinematics": FunctionSpec(
        "kinematics", "Poses of all bodies in the {world}.", (Q,),
        (Argument("xpos", "xpos", ("NBODY", "3"), "origins of the bodies, row by row [m]"),
         Argument("xmat", "xmat", ("NBODY", "9"),
                  "rotation matrices from body to {world}, each row by row")),
        heavy=False,
    ),
    "jacobian": FunctionSpec(
        "frame_jacobian", "Jacobian of the frame of {frame}: J(q) v is its velocity.", (Q,),
        (Argument("out", "J", ("6", "NV"),
                  "J(q), row by row: three rows of angular velocity [rad/s], three of the "
                  "velocity of the frame's origin [m/s], in {world} axes"),),
        heavy=False,
    ),
}  # fmt: skip


#: Additional inputs and outputs of functions for a robot with actuators.
OF_ACTUATORS: dict[str, tuple[tuple[Argument, ...], tuple[Argument, ...]]] = {
    "forward": ((ACT,), ()),
    "step": ((ACT,), (Argument("act", "act_next", ("NA",), "act after the timestep"),)),
}


def spec_of(name: str, m: Model) -> FunctionSpec:
    """Return the entry of a function in SPECS, with the states of actuators if there are any."""
    read, written = OF_ACTUATORS.get(name, ((), ())) if m.nu > 0 else ((), ())
    spec = SPECS[name]
    return replace(spec, inputs=(*spec.inputs, *read), outputs=(*spec.outputs, *written))


def sizes_of(m: Model) -> dict[str, int]:
    """Return the sizes that arguments use, by the names of their macros."""
    return {"NQ": m.nq, "NV": m.nv, "NA": m.na, "NBODY": m.nbody}


def length_of(argument: Argument, m: Model) -> int:
    """Return the number of entries of an argument for a robot."""
    sizes = sizes_of(m)
    return math.prod(sizes[dim] if dim in sizes else int(dim) for dim in argument.dims)
