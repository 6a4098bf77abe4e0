# SPDX-License-Identifier: Apache-2.0
"""Evaluate specialised functions in NumPy, and compare the results with the engine."""

import ctypes

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.engine import forward
from rbdyn_ros.engine.joints.ypr import SINGULAR
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.specialization.built_in import function_program
from rbdyn_ros.specialization.functions import COUNTS, FUNCTIONS, WHOLE, traced
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.specialization.programs.program import program
from support import states
from support.compare import EPS, Comparison, with_inverse
from support.smooth import smoothly

#: Names of the compared functions; other tests compare derivatives.
NAMES = tuple(name for name in FUNCTIONS if not name.endswith("derivatives"))

#: Tolerance as a share of the largest entry; it is at least 64 nv cond(M) eps for results of M^-1.
TOLERANCE = 1e-12
FROM_INVERSE = ("qpos", "qvel", "qacc", "qacc_step")

#: Near a singularity, errors of accelerations may be SOLVED cond(M) eps. This is 20 times the
#: errors of 700 random states at distances of 1e-9 to 0.3, with timesteps of 1 and 5 ms.
SOLVED = 4.0

_NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "select": np.where, "arctan2": np.arctan2,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp,
    "log": np.log, "tanh": np.tanh, "floor": np.floor, "fabs": np.fabs,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}  # fmt: skip


def numbers_of(m, name):
    """Return the integer arguments of a function by name: the last frame, in its own axes."""
    return (m.nframe - 1, 1)[: FUNCTIONS[name].numbers]


def program_of(m, name, symbolic=("gravity",), fused=True):
    """Return the Program of a function of FUNCTIONS."""
    if fused:
        return function_program(m, name, symbolic, numbers_of(m, name))
    trace = traced(m, name, symbolic, numbers_of(m, name))
    return program(trace.graph, trace.outputs, fused=False)


def random_data(m, count, seed, speed=1.0):
    """Return Data in random states with forces, with some joints beyond their limits.

    The Model gets the smooth law of friction and limits, as specialised code has no other law.
    """
    found = []
    smoothly(m)
    for k in range(count):
        d = rb.make_data(m)
        states.randomise(m, d, [seed, k], speed)
        states.apply_reasonable_forces(m, d)
        d.time = 0.1 + k
        for counter in COUNTS:
            setattr(d, counter, 3 + k)
        found.append(d)
    return found


def given(m, rows):
    """Return the inputs of Programs by name, from Datas `rows` and the options of a Model."""
    arrays = {
        field.name: np.stack([np.ravel(getattr(d, field.name)) for d in rows]).astype(float)
        for field in DATA_FIELDS
    }
    arrays["gravity"] = np.tile(m.opt.gravity, (len(rows), 1))
    arrays["timestep"] = np.full((len(rows), 1), m.opt.timestep)
    return arrays


def from_model(m, names, count):
    """Return arrays of a Model by name, repeated in `count` rows."""
    return {name: np.tile(np.ravel(getattr(m, name)).astype(float), (count, 1)) for name in names}


def evaluate(program, arrays):
    """Return the outputs (S, length) of a Program by name, for arrays (S, length) by name."""
    values, rows = [], (len(next(iter(arrays.values()))),)
    with np.errstate(all="ignore"):
        for kind, *operands in program.operations:
            if kind == "input":
                array, place = operands
                values.append(arrays[array][:, place])
            elif kind == "constant":
                values.append(np.float64(operands[0]))
            elif kind == "constants":
                values.append(np.array(operands))
            elif kind == "pack":
                values.append(np.stack([np.broadcast_to(values[x], rows) for x in operands], -1))
            elif kind == "lane":
                values.append(values[operands[0]][..., operands[1]])
            else:
                values.append(_NUMPY[kind](*[values[x] for x in operands]))
    lengths = {}
    for array, place, _ in program.outputs:
        lengths[array] = max(lengths.get(array, 0), place + 1)
    out = {array: np.full((*rows, length), np.nan) for array, length in lengths.items()}
    for array, place, n in program.outputs:
        out[array][:, place] = values[n]
    return out


def filled(program, arrays):
    """Return the array "out" (S, length) of a Program, which is empty if no joint moves."""
    nothing = np.zeros((len(next(iter(arrays.values()))), 0))
    return evaluate(program, arrays).get("out", nothing)


def generic(m, d, name):
    """Run the engine's function on d; return the flat outputs by name."""
    function = FUNCTIONS[name]
    numbers = numbers_of(m, name)
    if function.shape is not None:
        out = np.empty(function.shape(m))
        if name == "mass_matrix":
            out[:] = rb.mass_matrix(m, d)
        elif name == "frame_pose":
            out[3], out[:3] = rb.frame_pose(m, d, numbers[0])
        elif name == "frame_jacobian":
            out[:] = rb.frame_jacobian(m, d, numbers[0], "local")
        else:
            out[:] = getattr(rb, name)(m, d)
        return {"out": out.reshape(-1)}
    if name != "step":
        getattr(rb, name)(m, d)
        return left_in(d, name)
    alone = d.copy()
    forward.substep(m, alone)
    rb.step(m, d)
    left = left_in(d, name)
    if m.opt.integrator == "rk4":
        # with mimic joints the results after the step overwrite qacc_step
        left["qacc_step"] = left_in(alone, name)["qacc_step"]
    return left


def left_in(d, name):
    """Return the flat outputs that a function has written to a Data, by name."""
    return {
        field: np.atleast_1d(np.ravel(getattr(d, WHOLE.get(field, field)))).astype(float)
        for field in FUNCTIONS[name].outputs
    }


def tolerances(m, d):
    """Return the tolerance of results of M^-1, and the tolerance of all other results."""
    if m.nv == 0:
        return TOLERANCE, TOLERANCE
    return with_inverse(TOLERANCE, rb.mass_matrix(m, d.copy()), m.nv), TOLERANCE


def angle_rates_tolerance(m, d, left):
    """Return the tolerance of qvel after a step near the singularity of yaw-pitch-roll joints.

    With c = |cos(pitch)|, the axes of such a joint are dependent up to order c, and cond(M) is
    1 / c^2 times the condition number of a regular joint. Accelerations a then have errors e a,
    e = SOLVED cond(M) eps.
    All of e a is along the dependent axes; c e a is left in the angular velocity w and in the
    pitch. The step keeps w, and computes the rates from w at the new angles, where

        yaw' = (sin(roll) w_y + cos(roll) w_z) / cos(pitch)

    amplifies each of three errors by 1 / cos(pitch) once more: h c e a of w itself; h^2 e a of the
    roll, which turns w_y and w_z by pitch'; and h^2 c e a of the pitch, which scales yaw'.

    Args:
        m: the Model.
        d: Data before the step.
        left: outputs of the step by field, see left_in.
    """
    h, joints = m.opt.timestep, np.flatnonzero(m.jnt_type == rb.JointType.YPR)
    pitches = m.jnt_qposadr[joints] + 1
    before = max(np.abs(np.cos(d.qpos[pitches])).min(), SINGULAR)
    after = max(np.abs(np.cos(left["qpos"][pitches])).min(), SINGULAR)
    largest = np.abs(left["qvel"]).max()
    pitch_rate = np.abs(left["qvel"][m.jnt_dofadr[joints] + 1]).max()
    condition = np.linalg.cond(rb.mass_matrix(m, d.copy()))
    error = SOLVED * condition * EPS * np.abs(left["qacc_step"]).max()
    turning, roll, pitch = h * before * error, h**2 * error, h**2 * before * error + EPS
    return (turning + pitch_rate * roll + largest * pitch) / (after * largest)


def compare_results(case, m, d, name, ours, theirs):
    """Compare the outputs of a specialised function with the outputs of the engine.

    Args:
        case: a Comparison.
        m: the Model.
        d: Data before the function is called.
        name: name of the function.
        ours, theirs: flat outputs by field, of the specialised function and of the engine.
    """
    limits = tolerances(m, d)
    theirs = {field: values for field, values in theirs.items() if values.size}
    assert ours.keys() == theirs.keys()
    for field, expected in theirs.items():
        if field in COUNTS:
            case.equal(f"{name} {field}", ours[field], expected)
            continue
        limit = limits[0] if field in FROM_INVERSE else limits[1]
        if field == "qvel" and m.nypr > 0:
            limit = max(limit, angle_rates_tolerance(m, d, theirs))
        case.close(f"{name} {field}", ours[field], expected, limit)


def compare_with_engine(m, rows, names, where):
    """Compare the results of functions, evaluated in NumPy, with the results of the engine."""
    arrays = given(m, rows)
    with Comparison("specialised", where) as case:
        for name in names:
            ours = evaluate(program_of(m, name), arrays)
            for k, d in enumerate(rows):
                one = {field: values[k] for field, values in ours.items()}
                theirs = generic(m, d.copy(), name)
                compare_results(case, m, d, name, one, theirs)


class LaneRunner:
    """Programs that compute several robots side by side, with their own memory.

    Args:
        programs: Programs by name.
        width: number W of robots.
    """

    def __init__(self, programs, width):
        self.lanes = compile_lanes(programs, width)
        self.address, self.memory = self.lanes.memory()

    def __call__(self, name, arrays, outputs):
        """Fill slots with arrays (W, length) and run a program; return its outputs (W, length)."""
        for array, (first, length) in self.lanes.slots.items():
            if array in arrays:
                rows = arrays[array].T
                count = min(length, len(rows))
                self.memory[first : first + count] = rows[:count]
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        kind(self.lanes.address(name))(self.address)
        found = {}
        for array in outputs:
            first, length = self.lanes.slots[array]
            found[array] = self.memory[first : first + length].T.copy()
        return found


def same_bits(a, b):
    """Return whether arrays have the same bits; all NaNs are equal."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a.shape == b.shape and bool(
        np.all((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b)))
    )
