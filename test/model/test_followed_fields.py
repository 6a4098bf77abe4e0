# SPDX-License-Identifier: Apache-2.0
"""A Model with replaced fields equals a Model that was built with these values."""

import numpy as np
import pytest
from support import mechanisms

import rbdyn_ros as rb
from rbdyn_ros.identification.equations.inertia import with_parameters
from rbdyn_ros.loading.geometries import with_masses
from rbdyn_ros.loading.inertias import with_inertias
from rbdyn_ros.model.audits.replacing import CONSTANTS
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, PRIMARY, REPLACEABLE, SIZES
from rbdyn_ros.rollouts.params import columns

LIMITS = {"limit": rb.Limit(-1.0, 1.0), "axis": (0.0, 1.0, 0.0)}
BAR = rb.shapes.box((0.1, 0.1, 0.4), mass=0.5, at=rb.pose((0.0, 0.0, -0.2)))


def crane(armature=(0.0, 0.0)):
    """Return a builder: bars with limits, a mimic joint, a spring, a ball joint, and a floor."""
    system = rb.SystemBuilder("crane")
    for k, (parent, link) in enumerate((("base", "boom"), ("boom", "tip"))):
        system.body(link, BAR)
        system.joint(
            link, "revolute", parent, link, xyz=(0.0, 0.0, 2.0 - 2.4 * k), armature=armature[k],
            **LIMITS,
        )  # fmt: skip
    system.body("hook", BAR).joint("hook", "revolute", "tip", "hook", **LIMITS)
    system.body("load", BAR).joint("load", "spherical", "hook", "load", xyz=(0.0, 0.0, -0.4))
    system.couple("hook", "tip", 0.5).spring("rope", "base", "tip", stiffness=10.0)
    return system.geometry("box", "load", rb.Box((0.1, 0.1, 0.4))).floor()


def anew(m, system):
    """Return a Model with the same primary fields; all other fields are computed again."""
    arrays = {name: getattr(m, name) for name in PRIMARY}
    arrays |= {name: np.zeros_like(arrays[name]) for name in CONSTANTS}
    bare = rb.Model(m.name, arrays, m.names, m.opt)
    return with_masses(with_inertias(bare, system.description(), (), True))


def assert_same_fields(m, other):
    for field in MODEL_FIELDS:
        ours, theirs = getattr(m, field.name), getattr(other, field.name)
        np.testing.assert_array_equal(ours, theirs, err_msg=field.name)
    assert [getattr(m, size) for size in SIZES] == [getattr(other, size) for size in SIZES]


def changed(m, name):
    """Return an array of other, allowed numbers for a field of the Model."""
    array = getattr(m, name)
    if name in ("jnt_limited", "jnt_actuated"):
        return 0 * array
    if name == "jnt_stiffness":
        return array + (m.jnt_class == 0)
    if name in ("qpos0", "geom_restitution"):
        return array + 0.125
    return np.where(np.isfinite(array), 1.5 * array + 0.25 * (array >= 0.0), array)


@pytest.mark.parametrize("system", [crane, mechanisms.grashof])
def test_all_fields_are_updated_after_each_replaced_field(system):
    """dof_inertia0, for example, depends on dof_armature and qpos0."""
    built = rb.build(system())
    assert_same_fields(built, anew(built, system()))
    followed = set()
    for name in (name for name in REPLACEABLE if name not in CONSTANTS):
        m = built.replaced(**{name: changed(built, name)})
        assert_same_fields(m, anew(m, system()))
        followed |= {
            other
            for other in CONSTANTS
            if not np.array_equal(getattr(m, other), getattr(built, other))
        }
    assert "dof_inertia0" in followed


def test_a_replaced_armature_equals_an_armature_given_to_the_builder():
    armature = (0.1, 0.2)
    m = rb.build(crane()).replaced(dof_armature=np.array([*armature, 0.0, 0.0, 0.0]))
    built = rb.build(crane(armature))
    for name in ("dof_armature", *CONSTANTS):
        np.testing.assert_array_equal(getattr(m, name), getattr(built, name), err_msg=name)


def test_a_derived_field_that_the_caller_gives_is_kept():
    m = rb.build(crane())
    inertia = 2.0 * m.dof_inertia0
    other = m.replaced(dof_armature=m.dof_armature + 0.1, dof_inertia0=inertia)
    assert np.array_equal(other.dof_inertia0, inertia)
    assert np.array_equal(m.replaced(dof_damping=m.dof_damping + 1.0).dof_inertia0, m.dof_inertia0)


def test_fields_are_updated_after_identified_inertias():
    m = rb.build(crane())
    x = rb.inertial_parameters(m).reshape(-1, 10)
    heavy = with_parameters(m, 3.0 * x)
    assert heavy.dof_inertia0 == pytest.approx(3.0 * m.dof_inertia0, rel=1e-10)
    assert heavy.geom_mass0 == pytest.approx(3.0 * m.geom_mass0, rel=1e-10)


def test_armatures_of_robots_in_a_rollout_change_their_inertias():
    m = rb.build(crane())
    armatures = m.dof_armature + np.array([0.0, 0.1, 0.2, 0.1])[:, None]
    found = {each.array: each for each in columns(m, {"dof_armature": armatures})}
    for row, inertia in zip(armatures, found["dof_inertia0"].values, strict=True):
        assert np.array_equal(inertia, m.replaced(dof_armature=row).dof_inertia0)
    by_name = {each.array: each for each in columns(m, {"dof_armature": {"tip": [0.0, 0.1]}})}
    assert by_name["dof_inertia0"].values[0] == pytest.approx(m.dof_inertia0, rel=1e-14)
    assert by_name["dof_inertia0"].values[1, 1] > m.dof_inertia0[1]
    given = columns(m, {"dof_armature": armatures, "dof_inertia0": armatures + 1.0})
    assert [each.array for each in given] == ["dof_armature", "dof_inertia0"]


def test_a_rollout_stops_at_the_limit_of_a_robot_whose_armature_was_replaced():
    """The force of the limit depends on the inertia with the new armature."""
    link = rb.Inertial(1e-3, inertia=(1e-6, 1e-6, 1e-6, 0.0, 0.0, 0.0))

    def turned(armature):
        system = rb.SystemBuilder("light").body("link", link)
        return rb.build(system.joint("j", "revolute", "base", "link", armature=armature, **LIMITS))

    m, built = turned(0.0).replaced(dof_armature=0.1 * np.ones(1)), turned(0.1)
    for specialize in (True, False):
        ends = [
            rb.rollout(model, [0.0], [0.0], np.ones((1500, 1)), nstep=1500, specialize=specialize)
            for model in (m, built)
        ]
        assert np.array_equal(ends[0].qpos, ends[1].qpos)
        assert np.abs(ends[0].qpos).max() < 1.1
