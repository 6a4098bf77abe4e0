# SPDX-License-Identifier: Apache-2.0
"""rb.contacts lists the contacts of a Data by name."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb


def table_and_box():
    """Return a box of 2 kg that rests half on one block and half on another; and its Data."""
    system = (
        rb.SystemBuilder("box", base="world")
        .body("box", rb.shapes.box((0.4, 0.2, 0.1), mass=2.0))
        .joint("free", "floating", "world", "box", start=rb.pose((0.0, 0.0, 0.15)))
        .geometry("skin", "box", rb.Box((0.4, 0.2, 0.1)))
        .obstacle("left", rb.Box((0.2, 0.4, 0.1)), origin=rb.pose((-0.2, 0.0, 0.05)))
        .obstacle("right", rb.Box((0.2, 0.4, 0.1)), origin=rb.pose((0.2, 0.0, 0.05)))
    )
    m = rb.build(system)
    d = rb.make_data(m)
    rb.step(m, d, 300)
    return m, d


def test_two_blocks_each_carry_half_of_a_box_that_rests_on_both():
    m, d = table_and_box()
    found = rb.contacts(m, d)
    assert len(found) == d.ncon > 0
    assert {(c.geom1, c.geom2) for c in found} == {("left", "skin"), ("right", "skin")}
    for contact in found:
        np.testing.assert_allclose(contact.normal, (0.0, 0.0, 1.0), atol=1e-6)
        assert contact.point[2] == pytest.approx(0.1, abs=1e-5)
        assert contact.distance <= 0.0
        assert contact.torque.shape == (3,)
    sums = rb.contact_forces(m, d)
    weight = 2.0 * 9.81
    assert sum(sums.values())[2] == pytest.approx(weight, rel=1e-6)
    assert sums["left", "skin"][2] == pytest.approx(weight / 2.0, rel=1e-3)


def test_a_list_of_contacts_does_not_change_with_the_data():
    m, d = table_and_box()
    found = rb.contacts(m, d)
    before = [c.force.copy() for c in found]
    rb.reset_data(m, d)
    np.testing.assert_array_equal([c.force for c in found], before)
    assert rb.contacts(m, d) == []


def test_a_model_without_contact_has_no_contact_points():
    m, _ = table_and_box()
    arm = rb.build(rb.SystemBuilder("arm").body("a", rb.shapes.sphere(0.1, mass=1.0))
                   .joint("j", "revolute", "base", "a"))  # fmt: skip
    assert rb.contacts(arm, rb.make_data(arm)) == []
    assert rb.contact_forces(arm, rb.make_data(arm)) == {}
    with refused(rb.ModelError, "data-of-other-model"):
        rb.contacts(m, rb.make_data(arm))
