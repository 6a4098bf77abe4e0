# SPDX-License-Identifier: Apache-2.0
"""Whatever numbers a Data contains, kernels stay within their arrays and terminate.

Compiled kernels do not check indices, so failures here are crashes or hangs.
"""

import numpy as np
import pytest
from support import mechanisms, trees
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS

#: Names of integer fields of the state, on which results depend.
STATE = (
    *(
        "drive_mode",
        "drive_locked",
        "closed_known",
        "nlocked",
        "nbad",
        "nsingular",
        "nfast",
        "nlost",
    ),
    *("nstick", "stick_key", "nunsolved"),
)
#: Names of integer fields that kernels write before reading.
INTS = [field.name for field in DATA_FIELDS if field.kind == "int" and field.name not in STATE]

HOSTILE = (-1, 2**40, -(2**63))

CALLS = (
    rb.step,
    rb.forward,
    rb.inverse,
    rb.forward_dynamics,
    rb.joint_forces,
    rb.energy,
    lambda m, d: rb.frame_jacobian(m, d, m.nframe - 1),
)


def driven():
    """Return a tree without constraints, in which two joints have drive modes."""
    m = trees.build(trees.auto_tree(6, 1.5, seed=2))
    d = rb.make_data(m)
    d.qpos[:], d.qvel[:] = 0.3, 0.2
    for j, mode in ((0, "velocity"), (2, "acceleration")):
        rb.set_drive(m, d, j, mode, 0.5)
    return m, d


def closed():
    m = rb.build(mechanisms.grashof())
    d = rb.make_data(m)
    d.qvel[:] = 0.1
    return m, d


def all_parts():
    register()
    m = rb.build(everything())
    d = rb.make_data(m)
    d.qvel[:] = 0.01
    return m, d


def pile():
    """Return a Model and Data of two cubes that touch each other; one cube has a drive mode."""
    system = rb.SystemBuilder("pile", base="world").floor()
    for name, kind in (("low", "planar"), ("high", "floating")):
        system.body(name, rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        system.joint(name, kind, "world", name).geometry(name, name, rb.Box((0.1, 0.1, 0.1)))
    m = rb.build(system)
    d = rb.make_data(m)
    d.qpos[m.jnt_qposadr[m.jnt_id("high")] + 2] = 0.0999
    rb.set_drive(m, d, "low", "velocity", 0.1)
    rb.step(m, d, 1)
    assert d.nmutual == 4
    return m, d


@pytest.fixture(scope="module", params=[driven, closed, all_parts, pile])
def system(request):
    return request.param()


def results(m, d, forge):
    """Return all fields of Data by name after each of CALLS, each on a forged copy of d."""
    left = []
    for call in CALLS:
        each = d.copy()
        forge(each)
        call(m, each)
        fields = {field.name: getattr(each, field.name) for field in DATA_FIELDS}
        left.append({name: np.array(value) for name, value in fields.items()})
    return left


@pytest.mark.parametrize("value", HOSTILE)
def test_no_result_depends_on_old_integers_in_a_data(system, value):
    """Kernels write every index, rank and counter before they read it."""
    m, d = system

    def forge(each):
        for name in INTS:
            vars(each).get(name, vars(each).get(f"_{name}"))[...] = value
        if m.loops is not None:
            each.loops.joint_now[...] = value

    for expected, found in zip(results(m, d, lambda _: None), results(m, d, forge), strict=True):
        for name in expected.keys() - INTS - {"loop_data", "clip"}:
            assert np.array_equal(found[name], expected[name], equal_nan=True), name


@pytest.mark.parametrize("seed", range(3))
def test_random_bits_in_a_buffer_cause_no_crash_or_hang(system, seed):
    """The engine treats random bits in a buffer as a wrong state."""
    m, d = system
    bits = np.random.default_rng(seed).integers(-(2**63), 2**63, len(d.buffer), np.int64)

    def forge(each):
        each.buffer = bits.view(np.float64)

    results(m, d, forge)


def test_a_forged_rank_of_the_constraints_is_corrected(system):
    m, d = system
    each = d.copy()
    each.row_rank = 7
    rb.forward(m, each)
    assert each.efc_rank <= min(m.nefc, m.nv)


def test_a_forged_count_of_remembered_contacts_causes_no_crash(system):
    m, d = system
    each = d.copy()
    each.nstick = 2**62
    rb.step(m, each, 2)
    assert m.ncontact == 0 or each.nstick <= m.ncontact
