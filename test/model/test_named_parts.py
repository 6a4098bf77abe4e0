# SPDX-License-Identifier: Apache-2.0
"""Named accessors of Model and Data agree with MuJoCo's accessors of the same names."""

import copy
import pickle

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.model.named_parts import NamedPart
from rbdyn_ros.share import bundled_robot

mujoco = pytest.importorskip("mujoco")
ARM = bundled_robot("seven_dof_arm")


@pytest.fixture(scope="module")
def pair():
    """Return Model and Data of this engine and of MuJoCo, in the same state."""
    m, theirs = rb.load_urdf(ARM), mujoco.MjModel.from_xml_path(str(ARM))
    d, their_d = rb.make_data(m), mujoco.MjData(theirs)
    d.qpos[:] = their_d.qpos[:] = np.linspace(-0.3, 0.4, m.nq)
    d.qvel[:] = their_d.qvel[:] = np.linspace(0.2, -0.5, m.nv)
    rb.forward(m, d)
    mujoco.mj_forward(theirs, their_d)
    return m, d, theirs, their_d


def test_named_joints_have_the_same_numbers_as_in_mujoco(pair):
    m, d, theirs, their_d = pair
    for name in m.jnt_names:
        ours, other = m.joint(name), theirs.joint(name)
        for field in ("range", "damping", "frictionloss", "axis", "qposadr", "dofadr", "id"):
            assert np.ravel(getattr(ours, field)) == pytest.approx(np.ravel(getattr(other, field)))
        for field in ("qpos", "qvel", "qfrc_bias"):
            found, wanted = getattr(d.joint(name), field), getattr(their_d.joint(name), field)
            assert found.shape == wanted.shape == (1,)
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_named_bodies_have_the_same_numbers_as_in_mujoco(pair):
    m, d, theirs, their_d = pair
    shared = [name for name in m.body_names if name in [theirs.body(i).name for i in range(2, 7)]]
    assert len(shared) > 3
    for name in shared:
        assert m.body(name).mass == pytest.approx(theirs.body(name).mass)
        assert d.body(name).xpos == pytest.approx(their_d.body(name).xpos)
        assert d.body(name).xmat == pytest.approx(their_d.body(name).xmat)


def test_assignments_write_into_the_data_and_not_into_the_model():
    m = rb.load_urdf(ARM)
    d, name = rb.make_data(m), m.jnt_names[3]
    d.joint(name).qpos = 0.25
    assert d.qpos.tolist() == [0.0, 0.0, 0.0, 0.25, 0.0, 0.0, 0.0]
    with refused(rb.ModelError, "model-read-only"):
        m.joint(name).range = 0.0
    with refused(rb.ModelError, "model-read-only"):
        d.joint(name).id = 2


def test_named_joints_and_geometries_return_all_their_numbers():
    m = rb.load_urdf(ARM, floating_base=True, contact=True)
    d = rb.make_data(m)
    d.qpos[:] = np.arange(m.nq)
    d.qvel[:] = np.arange(m.nv)
    root = d.joint("root_joint")
    assert (root.qpos.tolist(), root.qvel.tolist()) == (list(range(7)), list(range(6)))
    last = d.joint(m.jnt_names[-1])
    assert (last.qpos.tolist(), last.qvel.tolist()) == ([m.nq - 1], [m.nv - 1])
    geom = m.geom(m.geom_names[0])
    assert (geom.id, geom.friction.tolist()) == (0, [m.geom_friction[0]])


def test_a_mimic_joint_has_its_own_coordinate():
    text = """<robot name="r">
      <link name="a"/>
      <link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="c"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
      <joint name="k" type="continuous"><parent link="b"/><child link="c"/>
        <mimic joint="j" multiplier="2" offset="1"/></joint></robot>"""
    m = rb.load_urdf(text)
    d = rb.make_data(m)
    d.joint("j").qpos = 0.5
    rb.forward(m, d)
    assert d.joint("k").qpos == pytest.approx([2.0])
    with pytest.raises(AttributeError, match="mimic joint and has no qfrc_bias"):
        _ = d.joint("k").qfrc_bias


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda at: at[0].joint("elbo"), "unknown-joint"),
        (lambda at: at[1].joint(99), "unknown-joint"),
        (lambda at: at[1].body("no_such_link"), "unknown-body"),
        (lambda at: at[1].body("tool_flange"), "unknown-body"),
        (lambda at: at[0].geom("floor"), "unknown-geometry"),
        (lambda at: at[0].key("home"), "unknown-keyframe"),
    ],
)
def test_unknown_names_are_refused(pair, call, code):
    with refused(rb.ModelError, code):
        call(pair)


def test_the_error_about_an_unknown_attribute_suggests_the_nearest(pair):
    m, d, *_ = pair
    joint = m.jnt_names[0]
    for part, name, hint in (
        (d.joint(joint), "qpoz", "did you mean 'qpos'"),
        (d.joint(joint), "damping", f"m.joint('{joint}').damping"),
        (d.body(1), "xquat", "use d.xmat"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(part, name)
        assert hint in str(caught.value)
    assert "qpos" in dir(d.joint(joint))


def test_masses_and_inertias_are_replaced_as_in_mujoco():
    m, theirs = rb.load_urdf(ARM), mujoco.MjModel.from_xml_path(str(ARM))
    heavy = m.replaced(body_mass=1.5 * m.body_mass, body_inertia=1.5 * m.body_inertia)
    theirs.body_mass *= 1.5
    theirs.body_inertia *= 1.5
    d, their_d = rb.make_data(heavy), mujoco.MjData(theirs)
    d.qpos[:] = their_d.qpos[:] = 0.4
    rb.forward(heavy, d)
    mujoco.mj_forward(theirs, their_d)
    full = np.zeros((m.nv, m.nv))
    for row, unit in zip(full, np.eye(m.nv), strict=True):
        mujoco.mj_mulM(theirs, their_d, row, unit)
    assert rb.mass_matrix(heavy, d) == pytest.approx(full, rel=1e-9, abs=1e-9)
    assert d.qfrc_bias == pytest.approx(their_d.qfrc_bias, rel=1e-9, abs=1e-9)
    assert heavy.body_subtreemass == pytest.approx(1.5 * m.body_subtreemass)
    matrix = m.replaced(body_mass=1.5 * m.body_mass, body_fullinertia=1.5 * m.body_fullinertia)
    assert matrix.body_inertia == pytest.approx(heavy.body_inertia, rel=1e-9, abs=1e-12)
    assert (heavy.dof_inertia0 > m.dof_inertia0).all()


def one(shape, row, value):
    array = np.zeros(shape)
    array[row] = value
    return array


@pytest.mark.parametrize(
    "change",
    [
        lambda m: {"body_mass": m.body_mass + 1.0},
        lambda m: {"body_mass": -m.body_mass},
        lambda m: {"body_iquat": 2.0 * m.body_iquat},
        lambda m: {"body_inertia": m.body_inertia + one((m.nbody, 3), (2, 0), 9.0)},
        lambda m: {"body_fullinertia": -m.body_fullinertia},
        lambda m: {"body_fullinertia": m.body_fullinertia, "body_inertia": m.body_inertia},
        lambda m: {"body_mass": np.nan * m.body_mass},
        lambda m: {"body_pos": m.body_pos},
    ],
)
def test_values_impossible_for_a_rigid_body_are_refused(pair, change):
    m = pair[0]
    with refused(rb.ModelError, "model-array"):
        m.replaced(**change(m))


def test_a_named_part_can_be_copied_and_pickled(pair):
    m, d, *_ = pair
    for part in (m.body(1), d.joint(0)):
        for other in (copy.copy(part), copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
            assert repr(other) == repr(part)
    assert np.shares_memory(copy.copy(d.joint(0)).qpos, d.qpos)
    assert not np.shares_memory(copy.deepcopy(d.joint(0)).qpos, d.qpos)
    assert not hasattr(NamedPart.__new__(NamedPart), "qpos")
