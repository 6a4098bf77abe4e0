# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity in the inputs reach the same outputs as in the engine.

There is one exception: a product with an exact zero of the Model is zero for any other factor. So
the straight-line code does not read this factor, and the output stays finite.
"""

import math

import numpy as np
import pytest
from support import specialised, specialised_models
from support.specialised import COUNTS

import rbdyn_ros as rb

WILD = (math.nan, math.inf, -math.inf)
INPUTS = ("qpos", "qvel", "qfrc_applied", "xfrc_applied")
MODELS = ("balls", "springs", "coordinates", "yaw_pitch_roll", "driven", "coupled", "panda.urdf")
START = 3  # first value of the counters in random_data

pytestmark = pytest.mark.usefixtures("registered")


def spoiled(m, inputs=INPUTS):
    """Return (array, place, Data) with each entry of `inputs` set to each non-finite value."""
    whole = specialised.random_data(m, 1, seed=13)[0]
    cases = []
    for array in inputs:
        first = 6 if array == "xfrc_applied" else 0  # the force on the world is never read
        for place in range(first, np.size(getattr(whole, array))):
            for wild in WILD:
                d = whole.copy()
                getattr(d, array).reshape(-1)[place] = wild
                cases.append((array, place, d))
    return cases


def dependence(program):
    """Return, for each output (array, place), the inputs (array, place) on which it depends."""
    inputs = {n: 1 << k for k, (*_, n) in enumerate(program.inputs)}
    names = [(array, place) for array, place, _ in program.inputs]
    reach = []
    for n, (kind, *operands) in enumerate(program.operations):
        own = inputs.get(n, 0)
        if kind not in ("input", "constant"):
            for x in operands:
                own |= reach[x]
        reach.append(own)
    return {
        (array, place): {name for k, name in enumerate(names) if reach[n] >> k & 1}
        for array, place, n in program.outputs
    }


@pytest.mark.parametrize(
    ("function", "integrator"),
    [
        ("step", "implicit_damping"),
        ("step", "rk4"),
        ("inverse", "euler"),
        ("mass_matrix", "euler"),
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_nan_reaches_the_same_entries_as_in_the_engine(name, function, integrator):
    m = specialised_models.model(name)
    m.opt.integrator = integrator
    program = specialised.program_of(m, function)
    cases = spoiled(m)
    found = specialised.evaluate(program, specialised.given(m, [d for *_, d in cases]))
    needs = dependence(program)
    spread = 0
    for k, (array, place, d) in enumerate(cases):
        theirs = specialised.generic(m, d.copy(), function)
        for field, values in theirs.items():
            if field in COUNTS:
                continue
            for n in np.flatnonzero(~np.isfinite(values)):
                if (array, place) in needs[field, n]:
                    spread += 1
                    assert not np.isfinite(found[field][k, n]), (array, place, field, n)
            finite = np.isfinite(values)
            assert np.isfinite(found[field][k][: values.size][finite]).all(), (array, place, field)
        for count in COUNTS:
            if count in theirs:
                ours = found[count][k, 0]
                assert START <= ours <= theirs[count][0], (array, place, count)
    assert spread > m.nq


@pytest.mark.parametrize("name", MODELS)
def test_the_next_state_has_nan_where_the_engine_has_nan(name):
    """Infinity counts as NaN here; nbad and nsingular are compared as well."""
    m = specialised_models.model(name)
    cases = spoiled(m, ("qpos", "qvel", "qfrc_applied"))
    program = specialised.program_of(m, "step")
    found = specialised.evaluate(program, specialised.given(m, [d for *_, d in cases]))
    for k, (array, place, d) in enumerate(cases):
        theirs = specialised.generic(m, d.copy(), "step")
        for field in ("qpos", "qvel", "qacc_step"):
            bad = ~np.isfinite(theirs[field])
            assert (bad == ~np.isfinite(found[field][k])).all(), (array, place, field)
        # the engine and the code both count dofs without inertia, or neither counts them
        assert (found["nbad"][k, 0] > START) == (theirs["nbad"][0] > START)
        assert found["nsingular"][k, 0] == theirs["nsingular"][0]


def test_specialised_code_does_not_read_a_factor_of_an_exact_zero():
    """A slide along z does not read a force along x; in the engine 0 times NaN is NaN."""
    builder = rb.SystemBuilder("slide").body("a", specialised_models.BODY)
    m = rb.build(builder.joint("j", "prismatic", "base", "a", axis=(0, 0, 1)))
    s = rb.specialize(m)
    d = rb.make_data(m)
    d.xfrc_applied[1, 0] = math.nan
    ours, theirs = d.copy(), d.copy()
    s.step(ours)
    rb.step(m, theirs)
    assert np.isnan(theirs.qvel[0])
    assert ours.qvel[0] == pytest.approx(-9.81 * m.opt.timestep)
    assert ("xfrc_applied", 6) not in {(x, place) for x, place, _ in s.program("step").inputs}
    d.xfrc_applied[1] = (0, 0, math.nan, 0, 0, 0)
    s.step(d)
    assert np.isnan(d.qvel[0])


def test_nan_in_machine_code_reaches_the_same_entries_as_in_the_engine():
    m = specialised_models.model("coupled")
    s = rb.specialize(m)
    cases = spoiled(m)
    arrays = specialised.given(m, [d for *_, d in cases])
    found = specialised.evaluate(s.program("step"), arrays)
    for k, (array, place, d) in enumerate(cases):
        s.step(d)
        for field, values in specialised.left_in(d, "step").items():
            where = (array, place, field)
            assert (np.isfinite(values) == np.isfinite(found[field][k])).all(), where
            if field in COUNTS:
                assert values == found[field][k], where


def test_a_joint_inertia_that_is_not_positive_is_counted_in_nbad():
    """The armature makes the joint's inertia positive, negative, NaN or negative infinity."""
    builder = rb.SystemBuilder("light").body("a", specialised_models.BODY)
    builder.joint("j", "revolute", "base", "a", axis=(0, 1, 0), armature=0.1)
    m = rb.build(builder)
    wrong = rb.specialize(m, symbolic=("dof_armature",)).program("step")
    arrays = specialised.given(m, [rb.make_data(m)] * 4)
    arrays["dof_armature"] = np.array([[0.1], [-5.0], [math.nan], [-math.inf]])
    assert specialised.evaluate(wrong, arrays)["nbad"][:, 0].tolist() == [0.0, 1.0, 1.0, 1.0]
