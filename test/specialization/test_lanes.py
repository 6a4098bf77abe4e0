# SPDX-License-Identifier: Apache-2.0
"""A robot in a lane has the bits of the robot alone, for any content of the other lanes."""

import ctypes
import math

import numpy as np
import pytest
from support import specialised, specialised_models
from support.specialised import LaneRunner, same_bits

import rbdyn_ros as rb
from rbdyn_ros.specialization.functions import FUNCTIONS
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.specialization.programs.numpy_ops import UNARY
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import CONDITIONS, SymbolGraph

WIDTHS = (1, 2, 4, 8)
#: Models and integrators. They have couplings, springs, selects between two ways to step, and many
#: bodies.
STEPS = {
    "coupled": "implicit_damping",
    "springs": "euler",
    "yaw_pitch_roll": "rk4",
    "quadruped": "implicit_damping",
}
WILD = (math.nan, math.inf, -math.inf, 1e300)
ROBOTS = 11  # not a multiple of any width


@pytest.fixture(scope="module", params=STEPS)
def robots(request):
    """Return the inputs of steps in random states, results of one-robot code, and the Program."""
    m = specialised_models.model(request.param)
    m.opt.integrator = STEPS[request.param]
    rows = specialised.random_data(m, ROBOTS, seed=11)
    if m.nypr:
        specialised_models.put_near_singularity(m, rows[1], 0.002)
        specialised_models.put_near_singularity(m, rows[6], -0.002)
    s = rb.specialize(m)
    alone = []
    for d in rows:
        after = d.copy()
        s.step(after)
        alone.append(specialised.left_in(after, "step"))
    return specialised.given(m, rows), alone, s.program("step")


def outputs_of(program):
    return tuple(dict.fromkeys(array for array, *_ in program.outputs))


def lane_of(found, lane):
    return {array: values[lane] for array, values in found.items()}


def assert_same_bits(found, expected, where):
    for array, values in found.items():
        length = expected[array].size
        assert same_bits(values[:length], expected[array]), (where, array)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_lane_has_the_bits_of_one_robot(robots, width):
    """Each call puts the robots into other lanes, and all calls use the same memory."""
    arrays, alone, step = robots
    run = LaneRunner({"step": step}, width)
    for shift in range(0, ROBOTS, 3):
        chosen = [(shift + lane) % ROBOTS for lane in range(width)]
        found = run("step", {x: rows[chosen] for x, rows in arrays.items()}, outputs_of(step))
        for lane, k in enumerate(chosen):
            assert_same_bits(
                lane_of(found, lane), alone[k], f"robot {k} in lane {lane} of {width}"
            )


def test_a_lane_does_not_depend_on_other_lanes(robots):
    """The robot is in the first, second or last lane; the others have NaN, infinity or 1e300."""
    arrays, alone, step = robots
    run = LaneRunner({"step": step}, 4)
    for k, wild in enumerate(WILD):
        for lane in (0, 1, 3):
            beside = {name: rows[[k] * 4].copy() for name, rows in arrays.items()}
            others = [other for other in range(4) if other != lane]
            for name in ("qpos", "qvel", "qfrc_applied", "xfrc_applied"):
                beside[name][others] = wild
            found = run("step", beside, outputs_of(step))
            assert_same_bits(lane_of(found, lane), alone[k], f"beside {wild}")
            assert not np.isfinite(found["qvel"][others]).all()


def test_two_programs_of_lanes_share_their_arrays():
    """One program writes accelerations, the other reads them and computes the forces."""
    m = specialised_models.model("springs")
    names = ("forward_dynamics", "inverse")
    programs = {name: specialised.program_of(m, name) for name in names}
    run = LaneRunner(programs, 2)
    rows = specialised.random_data(m, 2, seed=12)
    for d in rows:
        d.xfrc_applied = 0.0
    arrays = specialised.given(m, rows)
    run("forward_dynamics", arrays, ("qacc",))
    forces = run("inverse", {}, ("qfrc_inverse",))["qfrc_inverse"]
    for d, found in zip(rows, forces, strict=True):
        specialised.generic(m, d, "forward_dynamics")
        expected = specialised.generic(m, d, "inverse")["qfrc_inverse"]
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("width", [1, 4])
def test_lanes_write_only_their_own_memory(width):
    m = specialised_models.model("springs")
    step = specialised.program_of(m, "step")
    lanes = compile_lanes({"step": step}, width)
    raw = np.full(lanes.size * width + 64, 7.25)
    start = 8 + -(raw.ctypes.data + 64) % 64 // 8
    before = raw.copy()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    kind(lanes.address("step"))(raw.ctypes.data + 8 * start)
    written = np.zeros(raw.size, bool)
    for array, place, _ in step.outputs:
        at = start + (lanes.slots[array][0] + place) * width
        written[at : at + width] = True
    assert (raw[~written] == before[~written]).all()
    assert (raw[written] != before[written]).any()


def test_the_slots_of_arrays_do_not_overlap():
    """Each array has a slot for each of its entries."""
    m = specialised_models.model("coupled")
    lanes = compile_lanes(
        {name: specialised.program_of(m, name) for name in ("step", "inverse")}, 2
    )
    ends = sorted((first, first + length) for first, length in lanes.slots.values())
    assert [first for first, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == lanes.size
    assert lanes.width == 2
    assert lanes.slots["qpos"][1] == m.nqall
    assert lanes.slots["xfrc_applied"][1] == 6 * m.nbody
    assert lanes.slots["gravity"][1] == 3
    assert {*FUNCTIONS["step"].outputs} <= lanes.slots.keys()


NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.3, -2.7, 1e-310, 1e300, -1e300, math.inf, -math.inf, math.nan)
#: Functions of the C library, which may differ from NumPy's by an ulp.
ROUNDED = ("tan", "exp", "log", "tanh", "arctan2", "sin", "cos")


def every_operation():
    """Return a Program of x, y and z whose outputs are the results of all operations."""
    graph = SymbolGraph()
    x, y, z = (graph.enter(("input", name, 0)) for name in "xyz")
    values = {name: graph.enter((name, x.number)) for name in UNARY}
    for name in ("add", "sub", "mul", "div", "arctan2"):
        values[name] = graph.enter((name, x.number, y.number))
    for name in CONDITIONS:
        values[name] = graph.enter((name, x.number, y.number)).select(1.0, z)
    values["neg"] = -x
    values["constant"] = graph.enter(("constant", 2.5))
    values["input"] = y
    values["fma"] = x * z + y
    values["fms"] = (x * 1.5) - z
    values["fnma"] = z - y * 1.5
    return program(graph, {name: np.array([value], object) for name, value in values.items()})


@pytest.mark.parametrize("width", WIDTHS)
def test_every_operation_in_lanes_gives_the_result_of_numpy(width):
    """All pairs of unusual numbers are tried; NumPy has the same bits unless it rounds twice."""
    whole = every_operation()
    kinds = set(whole.counts())
    assert kinds >= {*UNARY, *CONDITIONS, "select", "fma", "fms", "fnma", "neg", "constant", "div"}
    run = LaneRunner({"all": whole}, width)
    pairs = np.array([(x, y, 0.75) for x in NUMBERS for y in NUMBERS])
    expected = specialised.evaluate(whole, {n: pairs[:, [k]] for k, n in enumerate("xyz")})
    for start in range(0, len(pairs) - width + 1, width):
        some = slice(start, start + width)
        given = {name: pairs[some, [k]] for k, name in enumerate("xyz")}
        given = {name: values.reshape(width, 1) for name, values in given.items()}
        found = run("all", given, outputs_of(whole))
        for name, values in found.items():
            if name in ROUNDED:
                huge = (np.abs(given["x"]) > 1e6) & (name in ("sin", "cos", "tan"))
                ours, theirs = values[~huge], expected[name][some][~huge]
                assert np.allclose(ours, theirs, rtol=1e-15, atol=5e-16, equal_nan=True), name
            elif name in ("fma", "fms", "fnma"):  # NumPy rounds twice
                close = np.isclose(values, expected[name][some], rtol=1e-15, equal_nan=True)
                assert close.all(), name
            else:
                assert same_bits(values, expected[name][some]), (name, given)


def test_multiply_adds_are_rounded_once():
    """(1 + e) (1 - e) - 1 is -e^2 exactly; rounded twice it is zero."""
    e = 2.0**-30
    graph = SymbolGraph()
    x, y = (graph.enter(("input", name, 0)) for name in "xy")
    one = graph.enter(("constant", 1.0))
    values = {"fms": x * y - one, "fnma": one - x * y}
    for name, value in values.items():
        whole = program(graph, {name: np.array([value], object)})
        assert name in whole.counts()
        for width in WIDTHS:
            run = LaneRunner({"f": whole}, width)
            given = {"x": np.full((width, 1), 1.0 + e), "y": np.full((width, 1), 1.0 - e)}
            found = run("f", given, (name,))[name]
            assert (found == (-e * e if name == "fms" else e * e)).all()


def test_outputs_may_overwrite_inputs():
    """Values can be exchanged, because all inputs are read before any output is written."""
    graph = SymbolGraph()
    a = [graph.enter(("input", "a", k)) for k in range(4)]
    whole = program(graph, {"a": np.array([a[3], a[0], a[1] + a[2], a[3]], object)})
    for width in WIDTHS:
        run = LaneRunner({"f": whole}, width)
        rows = np.arange(4.0 * width).reshape(width, 4)
        found = run("f", {"a": rows}, ("a",))["a"]
        expected = np.stack([rows[:, 3], rows[:, 0], rows[:, 1] + rows[:, 2], rows[:, 3]], 1)
        assert (found == expected).all()
