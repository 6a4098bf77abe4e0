# SPDX-License-Identifier: Apache-2.0
"""Users may assign some attributes of Model, Options and Data, and other uses are refused."""

import copy
import math
import pickle

import numpy as np
import pytest
from support import states, trees
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, SIZES, UNLIMITED


@pytest.fixture
def m():
    return trees.build(trees.auto_tree(5, 1.5, kinds=trees.ALL, seed=3, shuffle=False))


@pytest.fixture
def d(m):
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    return d


@pytest.mark.parametrize("field", MODEL_FIELDS, ids=lambda field: field.name)
def test_each_array_of_a_model_is_declared_and_read_only(m, field):
    array = getattr(m, field.name)
    assert array.shape == field.shape({name: getattr(m, name) for name in SIZES})
    assert array.dtype == (np.int64 if field.kind == "int" else np.float64)
    assert np.isfinite(array).all() or field.name in UNLIMITED
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_model_attributes_cannot_be_set(m):
    with refused(rb.ModelError, "model-read-only", "body_mass"):
        m.body_mass = np.ones(m.nbody)
    with refused(rb.ModelError, "model-read-only", "opt"):
        m.opt = None


def test_a_replaced_or_copied_model_has_no_cached_values(m, d):
    rb.save_state(m, d)
    assert m.kept
    for other in (
        m.replaced(dof_damping=2.0 * m.dof_damping),
        copy.copy(m),
        pickle.loads(pickle.dumps(m)),
    ):
        assert other.kept == {}


def test_a_misspelt_model_field_is_refused(m):
    with pytest.raises(AttributeError, match="'Model' object has no attribute 'body_mas'"):
        _ = m.body_mas


def test_the_id_of_a_name_is_its_position_in_the_list_of_names(m):
    assert m.body_id("world") == 0
    assert m.body_id("link3") == m.body_names.index("link3")
    assert m.jnt_id("joint2") == m.jnt_names.index("joint2")
    assert m.frame_names[m.frame_id("base")] == "base"
    with refused(rb.ModelError, "unknown-joint", "joint22"):
        m.jnt_id("joint22")


def test_joint_addresses_cover_qpos_and_qvel_without_gaps(m):
    q, v = [], []
    for j in range(m.njnt):
        places = states.joint_slices(m, j)
        q += range(places[0].start, places[0].stop)
        v += range(places[1].start, places[1].stop)
        assert m.jnt_bodyid[j] == j + 1
    assert (q, v) == (list(range(m.nq)), list(range(m.nv)))


def test_the_number_of_a_body_is_above_that_of_its_parent(m):
    assert (m.body_parentid[1:] < np.arange(1, m.nbody)).all()
    assert m.body_mass[0] == 0.0
    assert m.body_subtreemass[0] == pytest.approx(m.body_mass.sum())


def test_body_fullinertia_agrees_with_body_imat_and_body_inertia(m):
    """body_fullinertia equals body_imat diag(body_inertia) body_imat^T."""
    axes = m.body_imat.reshape(-1, 3, 3)
    I = np.einsum("bij,bj,bkj->bik", axes, m.body_inertia, axes)
    six = I[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    assert np.abs(six - m.body_fullinertia).max() < 1e-14 * m.body_inertia.max()


def test_options_have_their_defaults(m):
    assert (m.opt.timestep, m.opt.integrator, m.opt.passive) == (0.001, "implicit_damping", True)
    assert m.opt.gravity.tolist() == [0.0, 0.0, -9.81]


@pytest.mark.parametrize("value", [0.0, -1e-3, math.nan, math.inf])
def test_bad_timesteps_are_refused(m, value):
    with refused(rb.ParameterError, "option-timestep", "timestep"):
        m.opt.timestep = value
    assert m.opt.timestep == 0.001


@pytest.mark.parametrize("value", [(0.0, 0.0), (0.0, 0.0, math.nan), 9.81, (1, 2, 3, 4)])
def test_bad_gravity_is_refused(m, value):
    with refused(rb.ParameterError, "option-gravity", "gravity"):
        m.opt.gravity = value
    assert m.opt.gravity.tolist() == [0.0, 0.0, -9.81]


def test_unknown_integrators_are_refused(m):
    with refused(rb.ParameterError, "option-integrator", "integrator"):
        m.opt.integrator = "rk45"
    assert m.opt.integrator == "implicit_damping"


def test_a_misspelt_option_is_refused(m):
    with pytest.raises(AttributeError, match="did you mean 'timestep'"):
        m.opt.time_step = 0.1


def test_options_take_effect_at_once_and_for_one_model_only(m, d):
    other = m.replaced()
    m.opt.gravity = (0.0, 0.0, 0.0)
    e = rb.make_data(other)
    e.qpos, e.qvel = d.qpos, 0.0
    d.qvel = 0.0
    rb.forward(m, d)
    rb.forward(other, e)
    assert np.abs(d.qfrc_bias).max() < 1e-12
    assert np.abs(e.qfrc_bias).max() > 0.1
    m.opt.timestep = 0.25
    rb.step(m, d, 2)
    assert d.time == 0.5


def test_a_new_data_is_at_qpos0(m):
    d = rb.make_data(m)
    assert np.array_equal(d.qpos, m.qpos0)
    assert (d.time, d.nbad) == (0.0, 0)
    assert not d.qvel.any()


@pytest.mark.parametrize("field", DATA_FIELDS, ids=lambda field: field.name)
def test_each_field_of_a_data_is_a_view_of_the_buffer(m, d, field):
    if not field.dims:
        return
    array = getattr(d, field.name)
    assert array.shape == field.shape({name: getattr(m, name) for name in SIZES})
    assert np.shares_memory(array, d.buffer) or array.size == 0
    assert array.ctypes.data % 32 == 0 or array.size == 0


def test_data_fields_do_not_overlap(d):
    own = [field for field in DATA_FIELDS if not field.inside]
    for number, field in enumerate(own, start=1):
        target = d.__dict__.get(field.name, d.__dict__.get(f"_{field.name}"))
        target[...] = number
    for number, field in enumerate(own, start=1):
        target = d.__dict__.get(field.name, d.__dict__.get(f"_{field.name}"))
        assert (target == number).all(), field.name


def test_a_field_inside_another_field_starts_at_the_same_address(d):
    for field in DATA_FIELDS:
        if field.inside:
            part, whole = getattr(d, field.name), getattr(d, field.inside)
            assert part.ctypes.data == whole.ctypes.data, field.name


def test_assignment_writes_in_place(m, d):
    view, address = d.qpos, d.qpos.ctypes.data
    d.qpos = np.arange(m.nq)
    assert d.qpos is view
    assert d.qpos.ctypes.data == address
    assert view.tolist() == list(range(m.nq))
    d.qvel = 3
    assert (d.qvel == 3.0).all()


def test_assigning_a_wrong_shape_is_refused_and_changes_nothing(m, d):
    before = d.qpos.copy()
    with refused(rb.ModelError, "data-shape", "qpos"):
        d.qpos = np.zeros(m.nq + 1)
    with refused(rb.ModelError, "data-shape", "xfrc_applied"):
        d.xfrc_applied = np.zeros(6)  # NumPy would broadcast this shape over the bodies
    assert np.array_equal(d.qpos, before)


def test_a_misspelt_data_field_is_refused(d):
    with pytest.raises(AttributeError, match="did you mean 'qpos'"):
        d.qpoz = 1.0


def test_data_of_another_model_is_refused(m, d):
    other = m.replaced()
    for function in (rb.forward, rb.step, rb.inverse, rb.kinematics, rb.mass_matrix):
        with refused(rb.ModelError, "data-of-other-model"):
            function(other, d)
    for wrong in (None, 3, m):
        with refused(rb.ModelError, "data-of-other-model"):
            rb.forward(m, wrong)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros(5, np.float32), [0.0] * 5])
def test_bad_vectors_of_solve_and_mul_are_refused(bad):
    m = trees.build(trees.auto_tree(5, kinds=trees.HINGES))
    d = rb.make_data(m)
    rb.fwd_position(m, d)
    rb.factor_m(m, d)
    for function in (rb.solve_m, rb.mul_m):
        with refused(rb.ModelError, "vector-shape"):
            function(m, d, np.zeros(5), bad)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda d: d.copy()])
def test_a_copy_of_a_data_is_equal(m, d, clone):
    twin = clone(d)
    assert twin.model is m
    assert twin.buffer.tobytes() == d.buffer.tobytes()
    assert not np.shares_memory(twin.buffer, d.buffer)
    rb.step(m, twin)
    assert d.time == 0.0


def test_a_model_and_a_data_can_be_pickled(m, d):
    m.opt.timestep, m.opt.integrator, m.opt.passive = 0.002, "rk4", False
    rb.step(m, d, 3)
    n, e = pickle.loads(pickle.dumps((m, d)))
    assert e.model is n
    assert n.sha256() == m.sha256()
    assert repr(n.opt) == repr(m.opt)
    rb.step(m, d, 3)
    rb.step(n, e, 3)
    assert e.buffer.tobytes() == d.buffer.tobytes()


def test_the_hash_depends_on_the_model_and_not_on_its_options(m):
    other = m.replaced()
    other.opt.timestep = 0.5
    assert other.sha256() == m.sha256()
    assert m.replaced(dof_damping=1.0 + m.dof_damping).sha256() != m.sha256()


def test_a_state_with_nan_is_counted_in_nbad_and_gives_nan(m, d):
    d.qpos[0] = np.nan
    rb.forward_dynamics(m, d)
    assert d.nbad > 0
    assert np.isnan(d.qacc).any()


def test_a_model_without_joints_can_be_stepped():
    m = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
    d = rb.make_data(m)
    rb.forward(m, d)
    rb.inverse(m, d)
    rb.step(m, d, 5)
    assert (m.nv, m.nbody, rb.mass_matrix(m, d).shape) == (0, 1, (0, 0))
    assert d.time == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jnt_stiffness", [np.inf]),
        ("jnt_stiffness", [-5.0]),
        ("dof_damping", [-1.0]),
        ("jnt_limited", [0.5]),
        ("jnt_range", [[1.0, -1.0]]),
        ("jnt_range", [[1], [2, 3]]),
        ("qpos0", None),
        ("qpos0", [0.0, 0.0]),
        ("jnt_class", [1]),
    ],
)
def test_bad_replacements_are_refused(name, value):
    body = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
    builder = rb.SystemBuilder("slide").body("a", body)
    slide = rb.build(builder.joint("j", "prismatic", "base", "a", limit=(-1.0, 1.0)))
    with refused(rb.ModelError, "model-array", name):
        slide.replaced(**{name: value})


def test_a_limit_of_a_free_joint_is_refused(m):
    floating = m.jnt_type == rb.JointType.FREE
    assert floating.any()
    with refused(rb.ModelError, "model-array", "jnt_limited"):
        m.replaced(jnt_limited=floating)
