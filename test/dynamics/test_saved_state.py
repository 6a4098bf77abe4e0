# SPDX-License-Identifier: Apache-2.0
"""A saved state determines the whole future of a Data."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot


def tumbling_box(friction=0.6):
    """Return the Model and the Data of a tilted box that has just touched the floor."""
    box = (
        rb.SystemBuilder("box", base="world")
        .body("box", rb.shapes.box((0.2, 0.3, 0.4), mass=2.0))
        .joint("free", "floating", "world", "box")
        .geometry("skin", "box", rb.Box((0.2, 0.3, 0.4)), surface=rb.Surface(friction))
        .obstacle("floor", rb.Plane())
    )
    m = rb.build(box)
    d = rb.make_data(m)
    d.qpos[:] = 0.0, 0.0, 0.3, *np.array([0.9, 0.3, 0.2, 0.1]) / np.sqrt(0.95)
    d.qvel[:] = 0.5, 0.0, -0.5, 0.3, 0.2, 0.1
    rb.step(m, d, 120)
    assert d.nstick > 0
    return m, d


def future(m, d):
    """Take some steps, the first ones with a push; return all numbers of the Data as bytes."""
    for k in range(40):
        d.qfrc_applied[0] = 1.0 if k < 20 else 0.0
        rb.step(m, d, 3)
    return d.buffer.tobytes()


def test_the_future_after_loading_is_the_same_to_the_last_bit():
    m, d = tumbling_box()
    saved = rb.save_state(m, d)
    expected = future(m, d)
    assert d.buffer.tobytes() != saved.row.tobytes()
    rb.load_state(m, d, saved)
    assert future(m, d) == expected
    other = rb.make_data(m)
    rb.load_state(m, other, pickle.loads(pickle.dumps(saved)))
    assert future(m, other) == expected


def test_positions_and_velocities_alone_do_not_determine_the_future():
    """The memory of contact friction is part of the state, too."""
    m, d = tumbling_box()
    other = rb.make_data(m)
    other.qpos, other.qvel, other.time = d.qpos, d.qvel, d.time
    assert future(m, other) != future(m, d)


def test_drive_modes_are_saved_and_loaded_with_the_state():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    d = rb.make_data(m)
    free = rb.save_state(m, d)
    moved = future(m, d)
    rb.load_state(m, d, free)
    rb.set_drive(m, d, 2, "velocity", 0.4)
    driven = rb.save_state(m, d)
    turned = future(m, d)
    assert turned != moved
    other = rb.make_data(m)
    rb.load_state(m, other, driven)
    assert future(m, other) == turned
    rb.load_state(m, other, free)
    assert future(m, other) == moved


def test_a_state_can_be_loaded_only_for_the_same_robot():
    m, d = tumbling_box()
    saved = rb.save_state(m, d)
    icy = m.replaced(geom_friction=[0.1, 0.1])
    other = rb.make_data(icy)
    rb.load_state(icy, other, saved)
    np.testing.assert_array_equal(other.qpos, d.qpos)
    arm = rb.load_urdf(bundled_robot("seven_dof_arm"))
    with refused(rb.ModelError, "other-robot", "saved"):
        rb.load_state(arm, rb.make_data(arm), saved)
    with refused(rb.ModelError, "data-of-other-model"):
        rb.save_state(arm, d)


@pytest.mark.parametrize("saved", [None, np.zeros(3), "half"])
def test_only_saved_states_are_loaded(saved):
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    with refused(rb.ParameterError, "not-a-state", "saved"):
        rb.load_state(m, rb.make_data(m), saved)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("robot", 5),
        ("layout", np.zeros(2)),
        ("row", None),
        ("row", [0.0]),
        ("row", np.zeros(3, object)),
        ("row", np.zeros(3, np.float32)),
        ("row", np.ma.masked_array(np.zeros(3), True)),
        ("row", np.zeros((1, 3))),
        ("driven", "yes"),
        ("driven", np.zeros(2)),
    ],
)
def test_a_saved_state_of_other_types_is_refused(field, value):
    """The saved state may come from another process or a file."""
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    d = rb.make_data(m)
    saved = replace(rb.save_state(m, d), **{field: value})
    with refused(rb.ParameterError, "not-a-state", field):
        rb.load_state(m, d, saved)


def test_a_saved_state_cannot_change():
    m, d = tumbling_box()
    with pytest.raises(ValueError, match="read-only"):
        rb.save_state(m, d).row[0] = 1.0
