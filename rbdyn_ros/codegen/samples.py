# SPDX-License-Identifier: Apache-2.0
"""Samples for the test of generated code: states, and the engine's results in these states."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.codegen.functions import CFunction
from rbdyn_ros.codegen.project import CProject
from rbdyn_ros.codegen.table import TAU, Argument
from rbdyn_ros.dynamics import stages as api
from rbdyn_ros.dynamics.configuration import random_qpos
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.dynamics.toolbox.terms import bias_term, gravity_term
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

#: Number of states in the test.
STATES = 4

#: In the last state, single-coordinate joints are beyond their limits by the distance BEYOND [rad
#: or m]. Limits beyond FAR are ignored, because some files write 1e16 for no limit.
BEYOND, FAR = 0.05, 1e3

#: Largest sampled state of an actuator [A, K, rad, N m]; it is small, because bristles are stiff.
SMALL = 1e-3

#: Allowed rounding errors, in units of the last place of the largest entry; some thousands of
#: operations can round in the same direction. INVERSION is multiplied by the condition number of
#: M, or by the relative change of accelerations per change of positions, which is large beyond
#: stiff limits.
ROUNDING, INVERSION = 1024.0, 2.0

#: Relative change of positions for which the change of accelerations is measured.
STEP = 1e-7


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs and expected outputs of the functions at one state.

    Attributes:
        inputs: arrays by name.
        outputs: arrays by (function, name).
        condition: condition number of the accelerations; 0 if no function inverts M.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Mapping[str, Array]]
    condition: float


def samples(project: CProject) -> list[Sample]:
    """Return states that are exact in the code's type, and the engine's results in them."""
    rng = np.random.default_rng(1)
    m = project.m.replaced()
    m.opt.exact_stops = False  # generated code follows the smooth law
    return [_sample(project, m, rng, last=k == STATES - 1) for k in range(STATES)]


def tolerance(project: CProject, function: CFunction, found: list[Sample]) -> float:
    """Return the largest allowed error of a function, relative to the largest entry; at most 1."""
    inversion = INVERSION * max(s.condition for s in found) if function.spec.inverts else 0.0
    return min(max(ROUNDING, inversion) * project.real.eps, 1.0)


def least(project: CProject, argument: Argument) -> float:
    """Return the smallest scale for relative errors of an argument.

    Forces may cancel, so the scale of tau is at least the weight of the robot times a centimetre.
    It is 0 for all other arguments.
    """
    weight = float(project.m.body_subtreemass[0] * np.linalg.norm(project.m.opt.gravity))
    return 0.01 * weight if argument.name == TAU.name else 0.0


def _sample(project: CProject, m: Model, rng: np.random.Generator, last: bool) -> Sample:
    taken = {a.array for f in project.functions for a in f.inputs}
    exact = project.real.round  # writing the code raises an error for infinity
    gravity = exact(project.m.opt.gravity + rng.uniform(-1.0, 1.0, 3))
    if "gravity" in taken:
        m.opt.gravity = gravity
    d = api.make_data(m)
    d.qpos = exact(_beyond_limits(m, random_qpos(m, rng), BEYOND if last else 0.0))
    d.qvel, d.qacc = (exact(rng.uniform(-1.0, 1.0, m.nv)) for _ in range(2))
    d.act = exact(rng.uniform(0.0, SMALL, m.na))
    acc = d.qacc.copy()
    api.inverse(m, d)  # choose forces of the size of the robot's weight
    more = rng.uniform(-1.0, 1.0, m.nv) * m.body_subtreemass[0]
    d.qfrc_applied = exact(d.qfrc_inverse + more)
    if "xfrc_applied" in taken:
        wrenches = rng.uniform(-1.0, 1.0, (m.nbody - 1, 6)) * m.body_mass[1:, None]
        d.xfrc_applied[1:] = exact(wrenches)
    names = ("qpos", "qvel", "act", "qfrc_applied", "xfrc_applied")
    inputs = {name: getattr(d, name).ravel().copy() for name in names}
    outputs = {f.name: _outputs(m, inputs, acc, f) for f in project.functions}
    inverts = any(f.spec.inverts for f in project.functions)
    condition = _condition(m, d) if inverts else 0.0
    return Sample({**inputs, "qacc": acc, "gravity": gravity}, outputs, condition)


def _condition(m: Model, d: Data) -> float:
    """Return the larger of cond(M) and the relative change of accelerations by positions."""
    twin = d.copy()
    api.forward_dynamics(m, twin)
    before = twin.qacc.copy()
    single = np.flatnonzero((m.jnt_dofnum == 1) & (m.jnt_mimic < 0))
    twin.qpos[m.jnt_qposadr[single[m.jnt_class[single] == JointClass.FREE]]] *= 1.0 + STEP
    api.forward_dynamics(m, twin)
    change = np.abs(twin.qacc - before).max(initial=0.0) / STEP
    largest = np.abs(before).max(initial=0.0)
    steepness = change / largest if largest > 0.0 else 0.0
    return float(max(np.linalg.cond(mass_matrix(m, d)), steepness))


def _beyond_limits(m: Model, qpos: Array, distance: float) -> Array:
    """Return qpos with single-coordinate joints moved beyond their upper limits by a distance."""
    if distance > 0.0:
        near = (m.jnt_limited == 1) & (np.abs(m.jnt_range[:, 1]) < FAR)
        for j in np.flatnonzero(near & (m.jnt_dofnum == 1) & (m.jnt_mimic < 0)):
            qpos[m.jnt_qposadr[j]] = m.jnt_range[j, 1] + distance
    return qpos


def _outputs(
    m: Model, inputs: Mapping[str, Array], acc: Array, function: CFunction
) -> dict[str, Array]:
    d = api.make_data(m)
    for name, values in inputs.items():
        getattr(d, name).reshape(-1)[:] = values
    d.qacc = acc
    out = ENGINE[function.spec.traced](m, d, function.frame)
    given = {argument.array for argument in function.outputs}
    found = {"out": out} if out is not None else {name: getattr(d, name) for name in given}
    return {name: np.array(found[name], np.float64).ravel() for name in given}


def _filled(call: Callable[[Model, Data], None]) -> Callable[[Model, Data, int], None]:
    return lambda m, d, _: call(m, d)


#: The engine's functions of (m, d, frame), by their names in FUNCTIONS.
ENGINE: dict[str, Callable[[Any, Any, int], Array | None]] = {
    "gravity_term": lambda m, d, _: gravity_term(m, d),
    "bias_term": lambda m, d, _: bias_term(m, d),
    "inverse": _filled(api.inverse),
    "forward_dynamics": _filled(api.forward_dynamics),
    "step": _filled(api.step),
    "mass_matrix": lambda m, d, _: mass_matrix(m, d),
    "kinematics": _filled(api.kinematics),
    "frame_jacobian": frame_jacobian,
}
