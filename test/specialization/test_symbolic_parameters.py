# SPDX-License-Identifier: Apache-2.0
"""Programs with numbers of a Model as inputs give the results of a Model with other numbers."""

from dataclasses import replace

import numpy as np
import pytest
from support import robots, specialised, specialised_models, trees
from support.compare import Comparison
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Mimic
from rbdyn_ros.engine.forward import substep
from rbdyn_ros.errors import ModelError
from rbdyn_ros.specialization.programs.program import hoist
from rbdyn_ros.specialization.symbolic import SYMBOLIC_FIELDS, SYMBOLIC_OPTIONS
from rbdyn_ros.specialization.trace import Tracing

PAYLOAD = ("body_mass", "body_ipos", "body_fullinertia")
INERTIA = (0.02, 0.03, 0.025, 0.001, -0.002, 0.003)

#: The arrays of each Model that the tests scale, all at once.
SCALED = {
    "library": (
        "dof_armature", "dof_damping", "dof_frictionloss", "dof_inertia0", "jnt_solref",
        "jnt_range", "jnt_stiffness",
    ),
    "balls": ("jnt_range", "dof_inertia0", "qpos_spring"),
    "springs": (
        "jnt_stiffness", "qpos_spring", "spring_damping", "spring_length", "spring_stiffness",
    ),
    "coordinates": ("limit_range", "jnt_solref", "dof_damping"),
}  # fmt: skip


def small():
    """Return a Model of three bodies, few enough for all arrays to be inputs at once."""
    return rb.build(trees.auto_tree(3, 1.5, kinds=("revolute", "spherical"), seed=21))


def hand(m):
    """Return the number of a frame of the last body."""
    return int(np.argmax(m.frame_bodyid))


def loaded(m):
    return rb.with_payload(m, hand(m), 1.3, (0.05, -0.02, 0.1), INERTIA)


def compare_with_model(m, other, symbolic, function="step", least_change=1e-6):
    """Assert that a Program for m gives the results of `other` with other's symbolic numbers."""
    program = specialised.program_of(m, function, symbolic)
    rows = specialised.random_data(other, 3, seed=22)
    names = [x if isinstance(x, str) else x[0] for x in symbolic]
    arrays = specialised.given(other, rows)
    arrays |= specialised.from_model(other, set(names) - set(SYMBOLIC_OPTIONS), len(rows))
    found = specialised.evaluate(program, arrays)
    if function == "step":
        assert set(names) <= {array for array, *_ in program.inputs}
    change = 0.0
    with Comparison("symbolic parameters", f"{m.name}: {', '.join(names)}") as case:
        for k, d in enumerate(rows):
            one = {field: values[k] for field, values in found.items()}
            theirs = specialised.generic(other, d.copy(), function)
            specialised.compare_results(case, other, d, function, one, theirs)
            twin = rb.make_data(m)
            twin.buffer[:] = d.buffer
            before = specialised.generic(m, twin, function)
            change = max(
                change, *(np.abs(before[f] - theirs[f]).max() for f in theirs if f != "time")
            )
    assert change > least_change, "the Models differ too little"


@pytest.mark.parametrize("name", SCALED)
def test_arrays_may_be_symbolic(name):
    m = specialised_models.model(name)
    m = m.replaced(dof_damping=np.full(m.nv, 0.4))
    other = m.replaced(**{field: 1.3 * getattr(m, field) for field in SCALED[name]})
    compare_with_model(m, other, ("gravity", *SCALED[name]))


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
def test_options_may_be_symbolic(integrator):
    m = specialised_models.model("library")
    m.opt.integrator = integrator
    other = m.replaced()
    other.opt.timestep, other.opt.gravity = 0.0037, (1.0, -2.0, 3.0)
    compare_with_model(m, other, ("timestep", "gravity"))


@pytest.mark.parametrize("function", ["step", "inverse", "mass_matrix", "gravity_term"])
def test_a_payload_may_be_symbolic(function):
    m = small()
    compare_with_model(m, loaded(m), ("gravity", *PAYLOAD), function)


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf", "talos_reduced.urdf"])
def test_the_payload_of_a_real_robot_may_be_symbolic(name):
    m = rb.load_urdf(robots.find(name), strict=False)
    compare_with_model(m, loaded(m), ("gravity", *PAYLOAD, "dof_armature"))


def test_single_entries_may_be_symbolic():
    """Only the entries of the body with the payload are inputs."""
    m = small()
    body = int(m.frame_bodyid[hand(m)])
    of = {name: getattr(m, name).size // m.nbody for name in PAYLOAD}
    entries = [(name, range(body * n, (body + 1) * n)) for name, n in of.items()]
    compare_with_model(m, loaded(m), entries)
    program = specialised.program_of(m, "step", entries)
    read = {(array, place) for array, place, _ in program.inputs if array in PAYLOAD}
    assert read == {(name, k) for name, places in entries for k in places}


def test_poses_of_bodies_and_offsets_of_mimic_joints_may_be_symbolic():
    """body_pos and jnt_mimic_offset come from a Model that is built with other numbers."""
    tree = trees.auto_tree(4, 1.5, seed=23)
    follows = Mimic(tree.joints[0].name, 0.7, 0.1)

    def built(shift, offset):
        joints = [
            replace(x, origin=replace(x.origin, pos=tuple(np.add(x.origin.pos, shift))))
            for x in tree.joints
        ]
        joints[2] = replace(joints[2], mimic=replace(follows, offset=offset))
        return rb.build(replace(tree, joints=tuple(joints)))

    compare_with_model(
        built(0.0, 0.1), built((0.1, -0.2, 0.05), 0.4), ("body_pos", "jnt_mimic_offset")
    )


def test_all_parameters_may_be_symbolic_together():
    m = small()
    m = m.replaced(dof_damping=np.full(m.nv, 0.4), jnt_stiffness=np.full(m.njnt, 2.0))
    other = loaded(m).replaced(dof_damping=np.full(m.nv, 0.7))
    other.opt.timestep = 0.002
    symbolic = SYMBOLIC_OPTIONS + PAYLOAD + ("dof_damping",)
    compare_with_model(m, other, symbolic)
    traced = specialised.program_of(m, "step", SYMBOLIC_OPTIONS + SYMBOLIC_FIELDS[:7])
    assert {"body_mass", "body_pos", "dof_armature"} <= {array for array, *_ in traced.inputs}


@pytest.mark.parametrize("fused", [True, False])
def test_hoisted_programs_compute_the_same_results(fused):
    """The first program computes what depends only on parameters, and the second all the rest."""
    m = small()
    constant = (*PAYLOAD, "timestep", "gravity", "dof_armature")
    whole = specialised.program_of(m, "step", constant, fused)
    once, always = hoist(whole, constant)
    rows = specialised.random_data(m, 4, seed=24)
    arrays = specialised.given(m, rows)
    arrays |= specialised.from_model(m, constant[:3] + constant[5:], len(rows))
    expected = specialised.evaluate(whole, arrays)
    kept = specialised.evaluate(once, {name: arrays[name] for name in constant})
    assert set(kept) == {"invariant"}
    assert len(once.outputs) == len(set(once.outputs))
    found = specialised.evaluate(always, arrays | kept)
    for name, values in expected.items():
        assert specialised.same_bits(found[name], values), name
    assert once.flops() >= 3
    assert always.flops() + once.flops() <= whole.flops() + len(once.outputs)
    for operation in always.operations:  # no operation that depends only on parameters is left
        if operation[0] not in ("input", "constant", "lt", "le", "eq", "ne"):
            leaves = [always.operations[x] for x in operation[1:]]
            assert any(
                leaf[0] not in ("input", "constant")
                or (leaf[0] == "input" and leaf[1] not in (*constant, "invariant"))
                for leaf in leaves
            ), operation


def test_hoisting_works_without_constant_arrays():
    m = small()
    whole = specialised.program_of(m, "step", ())
    once, always = hoist(whole, ("body_mass",))
    assert not [o for o in once.operations if o[0] != "constant"]
    arrays = specialised.given(m, specialised.random_data(m, 2, seed=25))
    kept = specialised.evaluate(once, arrays)
    found = specialised.evaluate(always, arrays | kept)
    for name, values in specialised.evaluate(whole, arrays).items():
        assert specialised.same_bits(found[name], values)


def test_machine_code_reads_the_parameters_of_its_model():
    """Code made for one Model advances another Model with a payload."""
    m = small()
    other = loaded(m)
    other.opt.gravity = (1.0, 2.0, -3.0)
    s = rb.specialize(m, symbolic=(*PAYLOAD, "timestep"))
    other.opt.timestep = 0.002
    d = specialised.random_data(other, 1, seed=26)[0]
    d.cinert = 0.0
    theirs, ours = d.copy(), d.copy()
    substep(other, theirs)
    ours.take_step_code(s.step_address())
    substep(other, ours)
    limit = specialised.tolerances(other, d)[0]
    assert ours.cinert.tobytes() == d.cinert.tobytes() != theirs.cinert.tobytes()
    assert ours.qvel == pytest.approx(theirs.qvel, rel=limit, abs=limit)
    assert ours.qpos == pytest.approx(theirs.qpos, rel=limit, abs=limit)
    assert ours.time == theirs.time
    again = ours.copy()
    again.buffer[:] = d.buffer
    again.take_step_code(0)
    substep(other, again)
    assert again.buffer.tobytes() == theirs.buffer.tobytes()


def test_specialised_timesteps_are_installed_in_one_data():
    m = small()
    d = rb.make_data(m)
    rb.specialize(m).install(d)
    assert d.step_stage != 0
    assert rb.make_data(m).step_stage == rb.make_data(loaded(m)).step_stage == 0
    rb.step(m, d)  # the engine's step, which also writes cdof
    assert d.cdof.any()
    with refused(rb.ModelError, "data-of-other-model", ""):
        rb.specialize(m).install(rb.make_data(m.replaced()))
    with refused(rb.ParameterError, "install", "d"):
        rb.specialize(m).install()


@pytest.mark.parametrize("name", ["masses", "body_mas", "jnt_type"])
def test_arrays_that_cannot_be_symbolic_are_refused(name):
    m = small()
    for call in (lambda: Tracing(m, (name,)), lambda: rb.specialize(m, symbolic=[name])):
        with refused(ModelError, "not-traceable", f"'{m.name}'") as caught:
            call()
        assert f"'{name}'" in str(caught.value)
