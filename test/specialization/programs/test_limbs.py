# SPDX-License-Identifier: Apache-2.0
"""Limbs that are computed side by side give the same bits with fewer operations."""

from itertools import pairwise

import numpy as np
import pytest
from support import robots, specialised, specialised_models, trees

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.calling import entry
from rbdyn_ros.specialization.functions import FUNCTIONS
from rbdyn_ros.specialization.programs.blocks import (
    BLOCK_LENGTH,
    SINCOS,
    SinCos,
    cut,
    sources,
    widths,
)
from rbdyn_ros.specialization.programs.limbs import side_by_side, similar_limbs, uneven
from rbdyn_ros.specialization.programs.program import LEAVES, operands_of, program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.row_code import row_code

#: For each robot the number of lanes, and the least share of instructions that they save.
ROBOTS = {"go2.urdf": (4, 0.5), "talos_reduced.urdf": (2, 0.35)}


def load(name):
    return rb.load_urdf(robots.find(name), floating_base=True, strict=False)


def instructions(found):
    return sum(operation[0] not in (*LEAVES, "constants") for operation in found.operations)


def left_by(m, found, name, d):
    """Run a Program on a copy of d; return the buffer of the copy, and the array `out`."""
    code = machine.code(
        [m.sha256(), name, repr(hash(found.operations))],
        (name,),
        lambda: row_code(m, name, found, ("gravity",), processor().vector_width),
    )
    copy, out = d.copy(), np.zeros(6 * m.nv + m.nv**2)
    assert entry()(code.addresses[name], m.address, copy.address, out.ctypes.data, 1) == 0
    return copy.buffer, out


@pytest.mark.parametrize("name", ["go2.urdf", "talos_reduced.urdf"])
@pytest.mark.parametrize("function", ["step", "mass_matrix", "frame_jacobian"])
def test_limbs_computed_side_by_side_give_the_same_bits(name, function):
    m = load(name)
    plain = specialised.program_of(m, function)
    packed = side_by_side(m, plain, 8)
    for d in specialised.random_data(m, 3, 7):
        ours, theirs = left_by(m, packed, function, d), left_by(m, plain, function, d)
        assert all(map(specialised.same_bits, ours, theirs))


@pytest.mark.parametrize("name", ["go2.urdf", "talos_reduced.urdf"])
def test_limbs_need_fewer_instructions(name):
    m = load(name)
    lanes, share = ROBOTS[name]
    plain = specialised.program_of(m, "step")
    packed = side_by_side(m, plain, 8)
    assert instructions(packed) < (1.0 - share) * instructions(plain)
    assert max(widths(packed)) == lanes
    assert side_by_side(m, plain, 1) is plain


@robots.each_family
def test_limbs_of_every_robot_give_the_same_bits(path):
    """Each lane of a vector operation has the bits of the operation on single numbers."""
    m = robots.load(path, floating_base=True)
    plain = specialised.program_of(m, "step")
    packed = side_by_side(m, plain, 8)
    if packed is not plain:
        rows = specialised.given(m, specialised.random_data(m, 2, 11))
        found, expected = specialised.evaluate(packed, rows), specialised.evaluate(plain, rows)
        for name, values in expected.items():
            assert specialised.same_bits(found[name], values), (path.name, name)


def test_limbs_match_although_a_few_numbers_are_zero_on_one_side():
    """A zero stays an operand if the other limb has 1e-11 there, unless many numbers differ."""
    m = load("talos_reduced.urdf")
    left, right = (m.body_id(f"gripper_{side}_motor_double_link") for side in ("left", "right"))
    assert m.body_mat[left, 1] == 0.0
    assert 0.0 < m.body_mat[right, 1] < 1e-10
    kept = uneven(m)
    assert {9 * left + 1, 9 * right + 1} <= kept["body_mat"]
    assert sum(map(len, kept.values())) == 30
    assert uneven(rb.load_urdf(robots.find("allegro_left_hand.urdf"))) == {}
    assert uneven(rb.load_urdf(robots.find("ur5_robot.urdf"))) == {}


def test_joints_of_users_may_branch_on_parameters_that_differ_between_limbs():
    """The joint's function branches on its number of teeth: 1 in one limb, 2 in the other."""
    with specialised_models.registered():

        @rb.register_joint("geared", parameters=("teeth",))
        def geared(q, qd, p, E, r, S, S_dot):
            pitch = 2.0 if p[0] > 1.5 and int(p[0]) % 2 == 0 else 3.0
            r[2] = pitch * q[0]
            S[5, 0] = pitch

        builder = rb.SystemBuilder("two")
        for name, teeth in (("left", 1.0), ("right", 2.0)):
            builder.body(name, specialised_models.BODY)
            builder.joint(f"{name}_screw", "geared", "base", name, teeth=teeth)
        m = rb.build(builder)
        d, e = rb.make_data(m), rb.make_data(m)
        rb.specialize(m).step(d, 5)
        rb.step(m, e, 5)
        np.testing.assert_allclose(d.qpos, e.qpos, rtol=1e-13)
        assert d.qpos[0] != d.qpos[1]


def test_fewer_limbs_are_computed_together_in_a_narrow_register():
    m = load("go2.urdf")
    packed = side_by_side(m, specialised.program_of(m, "step"), 2)
    assert max(widths(packed)) == 2


def test_similar_limbs_are_found():
    m = load("go2.urdf")
    names = [[m.body_names[body] for body in lane] for lane in similar_limbs(m, 4)]
    assert names == [[f"{leg}_{part}" for part in ("hip", "thigh", "calf")]
                     for leg in ("FL", "FR", "RL", "RR")]  # fmt: skip
    assert similar_limbs(m, 8) == ()
    assert len(similar_limbs(m, 2)[0]) == 6  # each lane has two legs


def test_no_similar_limbs_are_found_in_a_chain():
    m = rb.load_urdf(robots.find("ur5_robot.urdf"))
    plain = specialised.program_of(m, "step")
    assert similar_limbs(m, 2) == ()
    assert side_by_side(m, plain, 8) is plain


@pytest.mark.parametrize("seed", range(4))
def test_limbs_of_random_trees_give_the_same_bits(seed):
    """Some sibling links have the same joint types by chance, but unrelated constants."""
    m = trees.build(trees.auto_tree(14, 3.0, seed=seed))
    plain = specialised.program_of(m, "step")
    packed = side_by_side(m, plain, 8)
    d = specialised.random_data(m, 1, seed)[0]
    assert specialised.same_bits(left_by(m, packed, "step", d)[0], left_by(m, plain, "step", d)[0])


def test_operands_come_before_their_operations():
    m = load("talos_reduced.urdf")
    packed = side_by_side(m, specialised.program_of(m, "step"), 8)
    for n, operation in enumerate(packed.operations):
        assert all(x < n for x in operands_of(operation))
    written = [output[:2] for output in packed.outputs]
    assert written == [o[:2] for o in specialised.program_of(m, "step").outputs]
    assert set(FUNCTIONS["step"].outputs) == {array for array, _ in written}


def lifetimes(whole, blocks):
    """Return, for each operation, the block that computes it and the last block that reads it.

    Outputs are written after all blocks, so they count as read by one more block.
    """
    begin, end = {}, {}
    for k, block in enumerate(blocks.blocks):
        if isinstance(block, SinCos):
            read = block.angles
            sines = (n for n in blocks.slots if whole.operations[n][0] in SINCOS)
            begin |= {n: k for n in sines if whole.operations[n][1] in block.angles}
        else:
            read = [x for n in block.operations for x in operands_of(whole.operations[n])]
            begin |= dict.fromkeys(block.operations, k)
        end |= {x: k for n in read for x in sources(whole, n)}
    last = len(blocks.blocks)
    return begin, end | {x: last for *_, n in blocks.outputs for x in sources(whole, n)}


@pytest.mark.parametrize("longest", [20, BLOCK_LENGTH])
@pytest.mark.parametrize("lanes", [1, 8])
def test_values_kept_at_the_same_time_have_different_slots(lanes, longest):
    """A vector has several slots, and a slot is free after the last use of its value."""
    m = load("talos_reduced.urdf")
    whole = side_by_side(m, specialised.program_of(m, "step"), lanes)
    blocks, sizes = cut(whole, 8, longest), widths(whole)
    begin, end = lifetimes(whole, blocks)
    assert {n for n in begin if end.get(n, begin[n]) > begin[n]} <= blocks.slots.keys()
    waiting = {}  # for each slot, the first and the last block of each value
    for n, slot in blocks.slots.items():
        for place in range(slot, slot + sizes[n]):
            waiting.setdefault(place, []).append((begin[n], end.get(n, begin[n])))
    assert max(waiting) < blocks.size
    assert min(waiting) >= 0
    for times in map(sorted, waiting.values()):
        assert all(before < after for (_, before), (after, _) in pairwise(times))
    assert max(map(len, waiting.values())) > 1  # at least one slot is reused


def _powers(total, q):
    """Return a polynomial of q with enough operations to make vectors worthwhile."""
    for _ in range(6):
        total = total * q + 0.3
    return total


def test_limbs_can_share_a_condition():
    """The condition is one number, which selects the values of all limbs."""
    builder = rb.SystemBuilder("twins")
    for name, y in (("left", 0.1), ("right", -0.1)):
        builder.body(name, specialised_models.BODY)
        builder.joint(f"{name}_hip", "revolute", "base", name, axis=(0, 1, 0), xyz=(0, y, 0))
    m, graph = rb.build(builder), SymbolGraph()
    early = graph.enter(("input", "time", 0)) < 1.0
    qpos = [graph.enter(("input", "qpos", k)) for k in range(2)]
    ways = [_powers(1.0, q) for q in qpos], [_powers(2.0, q) for q in qpos]
    chosen = [early.select(one, two) for one, two in zip(*ways, strict=True)]
    plain = program(graph, {"qvel": np.array(chosen, object)})
    packed = side_by_side(m, plain, 8)
    assert max(widths(packed)) == 2
    d = rb.make_data(m)
    d.qpos = 0.3, -0.7
    for d.time, first in ((0.5, 1.0), (1.5, 2.0)):
        found = left_by(m, packed, "shared", d)[0]
        assert specialised.same_bits(found, left_by(m, plain, "shared", d)[0])
        left = found[m.data_offsets["qvel"] :][:2]
        np.testing.assert_allclose(left, [_powers(first, q) for q in d.qpos], rtol=1e-15)


def test_an_empty_program_needs_no_slots():
    assert cut(program(SymbolGraph(), {}), 8).size == 0


def test_limbs_whose_user_joints_differ_are_not_similar():
    """All users' joints have the same JointType, but their functions differ."""
    with specialised_models.registered():
        m = specialised_models.mixed_user_joints()
        assert similar_limbs(m, 2) == ()
        d, e = rb.make_data(m), rb.make_data(m)
        rb.specialize(m).step(d, 5)
        rb.step(m, e, 5)
        assert np.allclose(d.qpos, e.qpos, rtol=0, atol=1e-13)
