# SPDX-License-Identifier: Apache-2.0
"""Generated trees of all Pinocchio's joint types, forward and reversed, agree with Pinocchio.

The tolerance is 1e-10 of the largest entry; for forward dynamics it is 64 cond(M) eps if this is
larger.
"""

import pytest

pytest.importorskip("pinocchio", reason="pin is not installed")
from support import pairs, pinocchio_twin, states, trees
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb

TOLERANCE = 1e-10
MIXED = {"reversals": 0.5, "offsets": 0.5}
ONE_TYPE = {
    f"{kind}-only": {"nb": 3, "kinds": (kind,), "seed": 20, **MIXED}
    for kind in pinocchio_twin.KNOWN
}
ALL_TYPES = {
    f"{label}-b{branching}": {
        "nb": 2 * len(pinocchio_twin.KNOWN),
        "branching": branching,
        "kinds": pinocchio_twin.KNOWN,
        "seed": 21,
        "shuffle": False,
        **odd,
    }
    for label, odd in (
        ("forward", {}),
        ("mixed", MIXED),
        ("reversed", {"reversals": 1.0, "offsets": 1.0}),
    )
    for branching in (1.2, 2.0)
}
TREES = ONE_TYPE | ALL_TYPES


@pairs.each_base
@pytest.mark.parametrize("name", TREES)
def test_a_tree_agrees_with_pinocchio(name, base):
    description = trees.auto_tree(**TREES[name])
    floating = pairs.BASES[base]
    m = rb.build(description, floating)
    theirs = pinocchio_twin.from_description(description, floating)
    d = rb.make_data(m)
    assert (m.nv, m.njnt) == (theirs.nv, theirs.njoints - 1)
    for seed in (1, 2):
        states.randomise(m, d, seed)
        d.xfrc_applied = 0.0
        twin = pinocchio_twin.Twin(m, d, theirs)
        with Comparison("Pinocchio joints", f"{name}, {base} base, seed {seed}") as case:
            compare(case, m, d, twin)


def compare(case, m, d, twin):
    M = twin.mass_matrix()
    case.close("mass_matrix", rb.mass_matrix(m, d), M, TOLERANCE)
    qacc = d.qacc.copy()
    rb.inverse(m, d)
    case.close("inverse", d.qfrc_inverse, twin.rnea(qacc), TOLERANCE)
    rb.forward(m, d)
    case.close("bias", d.qfrc_bias, twin.nle(), TOLERANCE)
    expected = twin.aba(d.qfrc_applied)
    case.close("qacc", d.qacc, expected, with_inverse(TOLERANCE, M, 1))
    theirs = twin.frame_poses()
    assert set(theirs) == set(m.frame_names)
    for link, (position, rotation) in theirs.items():
        p, R = rb.frame_pose(m, d, link)
        case.close("frame position", p, position, TOLERANCE)
        case.close("frame rotation", R, rotation, TOLERANCE)


def test_every_joint_type_of_pinocchio_is_tested():
    """The list of types that Pinocchio lacks must be complete: trees leave these types out."""
    assert set(trees.LIBRARY) - set(pinocchio_twin.KNOWN) == {"rack_pinion"}
