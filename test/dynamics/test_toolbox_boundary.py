# SPDX-License-Identifier: Apache-2.0
"""Toolbox functions refuse wrong arguments and have no side effects."""

import numpy as np
import pytest
from support import forests, trees
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Joint, Limit, Link, Spring

#: The arguments of each function after m and d; {frame} and {body} are replaced by names.
CALLS = {
    "gravity_term": (),
    "coriolis_term": (),
    "bias_term": (),
    "coriolis_matrix": (),
    "kinetic_energy": (),
    "potential_energy": (),
    "frame_pose": ("{frame}",),
    "frame_jacobian": ("{frame}", "local"),
    "frame_jacobian_dot": ("{frame}", "world"),
    "frame_velocity": ("{frame}", "local"),
    "frame_acceleration": ("{frame}", "world"),
    "com": ("{body}",),
    "com_velocity": ("{body}",),
    "com_jacobian": ("{body}",),
    "centroidal_momentum_matrix": (),
    "centroidal_momentum": (),
    "centroidal_momentum_bias": (),
    "mass_matrix": (),
    "inverse_mass_matrix": (),
    "reflected_inertia": (),
    "frame_mobility": ("{frame}", "local"),
    "operational_inertia": ("{frame}", "world"),
    "reflected_mass": ("{frame}", (1.0, 0.0, 0.0)),
    "joint_torque_regressor": (),
    "kinetic_energy_regressor": (),
    "potential_energy_regressor": (),
    "inverse_derivatives": (),
    "forward_derivatives": (),
    "linearise": (0.01,),
}
FRAME = [name for name, arguments in CALLS.items() if arguments and arguments[0] == "{frame}"]
BODY = [name for name, arguments in CALLS.items() if arguments and arguments[0] == "{body}"]
REFERENCE = [name for name in FRAME if name not in ("frame_pose", "reflected_mass")]
NOT_BY_NUMBER = [1.0, True, -1, 10**30, np.int64(99), np.bool_(True), b"link1", ["link1"]]

each_call = pytest.mark.parametrize("name", CALLS)
TREE = trees.auto_tree(6, kinds=("revolute",), seed=3)


def call(name, m, d, frame=None, body=None):
    stands = {"{frame}": m.frame_names[-1] if frame is None else frame,
              "{body}": m.body_names[-1] if body is None else body}  # fmt: skip
    arguments = [stands.get(x, x) if isinstance(x, str) else x for x in CALLS[name]]
    return getattr(rb, name)(m, d, *arguments)


def arrays(result):
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


@pytest.fixture(scope="module")
def pair():
    m = rb.build(TREE)
    d = rb.make_data(m)
    forests.randomise(m, d, 1)
    return m, d


def test_every_function_of_the_toolbox_is_tested_here():
    from rbdyn_ros.dynamics.toolbox import (
        derivatives,
        frames,
        inertia,
        momentum,
        regressors,
        terms,
    )

    modules = (derivatives, frames, inertia, momentum, regressors, terms)
    functions = {
        name
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_")
        and callable(value)
        and getattr(value, "__module__", "") == module.__name__
    }
    functions -= {"reference_number", "linear_system"}  # these two are helpers of other functions
    assert functions == {*CALLS, "inertial_parameters"}
    for name in functions:
        assert hasattr(rb, name), name


# wrong arguments


@each_call
def test_data_of_another_model_is_refused(pair, name):
    m, _ = pair
    other = rb.make_data(rb.build(TREE))
    for wrong in (other, None, 3):
        with refused(rb.ModelError, "data-of-other-model"):
            call(name, m, wrong)


@pytest.mark.parametrize("name", FRAME)
def test_an_unknown_frame_is_refused(pair, name):
    m, d = pair
    with refused(rb.ModelError, "unknown-frame", "lnik3"):
        call(name, m, d, frame="lnik3")


@pytest.mark.parametrize("name", BODY)
def test_an_unknown_body_is_refused(pair, name):
    m, d = pair
    with refused(rb.ModelError, "unknown-body", "lnik3"):
        call(name, m, d, body="lnik3")


@pytest.mark.parametrize("wrong", NOT_BY_NUMBER, ids=repr)
@pytest.mark.parametrize("name", [*FRAME, *BODY])
def test_frames_and_bodies_must_be_names_or_numbers(pair, name, wrong):
    m, d = pair
    kind = "frame" if name in FRAME else "body"
    with refused(rb.ModelError, f"unknown-{kind}", str(wrong)):
        call(name, m, d, **{kind: wrong})


@pytest.mark.parametrize("number", [6, np.int64(6), np.int32(6), np.uint8(6)], ids=repr)
@pytest.mark.parametrize("name", [*FRAME, *BODY])
def test_frames_and_bodies_can_be_given_by_number(pair, name, number):
    m, d = pair
    by_name = call(name, m, d, frame=m.frame_names[6], body=m.body_names[6])
    by_number = call(name, m, d, frame=number, body=number)
    for one, other in zip(arrays(by_number), arrays(by_name), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("World", " (did you mean 'world'?)"),
        ("local_world", " (did you mean 'local_world_aligned'?)"),
        ("", ""),
        (0, ""),
        (None, ""),
        (["world"], ""),
    ],
)
def test_an_unknown_reference_is_refused(pair, name, wrong, hint):
    m, d = pair
    with refused(rb.ParameterError, "unknown-reference", "reference") as refusal:
        getattr(rb, name)(m, d, "link3", wrong)
    assert hint in str(refusal.value)


@pytest.mark.parametrize(
    "wrong",
    [(0.0, 0.0, 0.0), (1.0, 0.0), (1.0, np.nan, 0.0), (np.inf, 0.0, 0.0), "up", None, 1.0,
     ((1.0, 0.0, 0.0),)],
    ids=repr,
)  # fmt: skip
def test_bad_directions_are_refused(pair, wrong):
    m, d = pair
    with refused(rb.ParameterError, "direction", "direction"):
        rb.reflected_mass(m, d, "link3", wrong)


def test_a_frame_that_cannot_move_in_all_directions_has_no_finite_inertia(pair):
    m, d = pair
    for name, rank in (("link3", 3), ("link1", 1), ("base", 0)):
        with refused(rb.ModelError, "singular-frame", name) as refusal:
            rb.operational_inertia(m, d, name)
        assert f" {rank} of 6 " in str(refusal.value)
    assert rb.reflected_mass(m, d, "base", (0.0, 0.0, 1.0)) == np.inf


def test_the_mass_is_infinite_in_a_direction_in_which_a_frame_cannot_move(pair):
    m, d = pair
    J = rb.frame_jacobian(m, d, "link3")[3:, :2]
    along, across = J[:, 0], np.cross(J[:, 0], J[:, 1])
    assert rb.reflected_mass(m, d, "link3", along) < 1e3
    assert rb.reflected_mass(m, d, "link3", across) == np.inf


# models without analytic derivatives


def links(*names):
    inertial = trees.random_inertial(np.random.default_rng(1))
    return [Link("base"), *(Link(name, inertial) for name in names)]


def chain(kind, **fields):
    return Description("odd", links("a"), (Joint("joint", kind, "base", "a", **fields),))


def closed():
    joints = (
        Joint("one", "continuous", "base", "a"),
        Joint("two", "continuous", "a", "b", Pose((0.1, 0.0, 0.0))),
        Joint("loop", "spherical", "base", "b", Pose((0.2, 0.0, 0.0)), closes_loop=True),
    )
    return Description("odd", links("a", "b"), joints)


def sprung():
    spring = Spring("coil", "base", "a", (0.1, 0.0, 0.0), (0.0, 0.2, 0.0), 10.0, 0.5, 0.3)
    joints = (Joint("joint", "continuous", "base", "a"),)
    return Description("odd", links("a"), joints, springs=(spring,))


def reversed_tree():
    joint = Joint("joint", "universal", "a", "base", axis2=(0.0, 1.0, 0.0))
    return Description("odd", links("a"), (joint,), base="base")


ALWAYS = {
    "constraints": closed,
    "joints whose axes change with their position": lambda: chain(
        "rack_pinion", axis=(0.0, 0.0, 1.0), axis2=(1.0, 0.0, 0.0), parameters={"radius": 0.1}
    ),
    "reversed joints of several degrees of freedom": reversed_tree,
}
PASSIVE = {
    "springs between points while opt.passive is True": sprung,
    "springs in turning joints while opt.passive is True": lambda: chain(
        "spherical", stiffness=2.0
    ),
    "limits of ball joints while opt.passive is True": lambda: chain(
        "spherical", limit=Limit(0.0, 0.5)
    ),
}
DERIVATIVES = ("inverse_derivatives", "forward_derivatives", "linearise")


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("reason", [*ALWAYS, *PASSIVE])
def test_bad_derivatives_are_refused(name, reason):
    m = rb.build((ALWAYS | PASSIVE)[reason]())
    d = rb.make_data(m)
    shown = "forward_derivatives" if name == "linearise" else name
    with refused(rb.ModelError, "no-derivative", shown) as refusal:
        getattr(rb, name)(m, d)
    assert reason in str(refusal.value)
    m.opt.passive = False
    if reason in PASSIVE:
        getattr(rb, name)(m, d)
    else:
        with refused(rb.ModelError, "no-derivative", shown):
            getattr(rb, name)(m, d)


@pytest.mark.parametrize("name", ["forward_derivatives", "linearise"])
def test_derivatives_of_a_data_with_drive_modes_are_refused(name):
    m = rb.build(TREE)
    d = rb.make_data(m)
    rb.set_drive(m, d, "joint2", "velocity", 1.0)
    with refused(rb.ModelError, "no-derivative", "forward_derivatives"):
        getattr(rb, name)(m, d)
    rb.inverse_derivatives(m, d)  # inverse takes qacc as given, so it accepts drive modes


@pytest.mark.parametrize("name", [
    "inverse_mass_matrix", "reflected_inertia", "frame_mobility", "operational_inertia",
    "reflected_mass", "forward_derivatives", "linearise",
])  # fmt: skip
def test_too_large_models_are_refused(long_chain, name):
    m, d = long_chain
    shown = {"operational_inertia": "frame_mobility", "reflected_mass": "frame_mobility",
             "linearise": "forward_derivatives"}.get(name, name)  # fmt: skip
    with refused(rb.ModelError, "no-mass-matrix", shown):
        call(name, m, d)


@pytest.fixture(scope="module")
def long_chain():
    m = rb.build(trees.auto_tree(2100, kinds=("revolute",), seed=1))
    assert m.nM == 0
    d = rb.make_data(m)
    d.qvel = d.qacc = 0.01
    return m, d


def test_functions_without_the_mass_matrix_work_for_any_size(long_chain):
    m, d = long_chain
    C, coriolis = rb.coriolis_matrix(m, d), rb.coriolis_term(m, d)
    assert np.abs(C @ d.qvel - coriolis).max() < 1e-9 * np.abs(coriolis).max()
    J = rb.frame_jacobian(m, d, m.frame_names[-1])
    velocity = rb.frame_velocity(m, d, m.frame_names[-1])
    assert np.abs(J @ d.qvel - velocity).max() < 1e-10 * np.abs(velocity).max()
    A, h = rb.centroidal_momentum_matrix(m, d), rb.centroidal_momentum(m, d)
    assert np.abs(A @ d.qvel - h).max() < 1e-9 * np.abs(h).max()


# side effects


@each_call
def test_a_later_call_does_not_change_a_result(pair, name):
    """A call in another state returns new arrays."""
    m, d = pair
    d = d.copy()
    first = arrays(call(name, m, d))
    kept = [x.copy() for x in first]
    d.qpos = 0.5 * d.qpos
    d.qvel = -2.0 * d.qvel
    d.qacc = d.qacc + 1.0
    second = arrays(call(name, m, d))
    assert any(not np.array_equal(x, y) for x, y in zip(first, second, strict=True))
    assert not any(np.shares_memory(x, y) for x in first for y in second)
    for x, y in zip(first, kept, strict=True):
        assert np.array_equal(x, y)
        assert x.ndim == 0 or x.flags.writeable
        assert not np.shares_memory(x, d.buffer)


def test_jacobians_of_two_frames_share_no_memory(pair):
    m, d = pair
    first, last = m.frame_names[1], m.frame_names[-1]
    kept = rb.frame_jacobian(m, d, first).copy()
    J, other = rb.frame_jacobian(m, d, first), rb.frame_jacobian(m, d, last)
    assert not np.shares_memory(J, other)
    assert np.array_equal(J, kept)
    assert not np.array_equal(J, other)


@each_call
@pytest.mark.parametrize("seed", [1, 2])
def test_functions_do_not_change_their_inputs(name, seed):
    kinds = (*trees.LIBRARY, "revolute", "prismatic", "revolute") if name not in DERIVATIVES else (
        "revolute", "prismatic", "floating", "spherical", "universal"
    )  # fmt: skip
    tree = forests.forest(kinds, seed, coupled=True, losses=name not in DERIVATIVES)
    # with a floating base, every frame can move in all directions
    m = rb.build(tree, floating_base=True)
    d = rb.make_data(m)
    forests.randomise(m, d, seed)
    inputs = ("qpos", "qvel", "qacc", "qfrc_applied", "xfrc_applied", "time")
    before = {field: np.array(getattr(d, field)) for field in inputs}
    first = arrays(call(name, m, d, body=0))
    for field in inputs:
        if field == "qacc" and name in ("forward_derivatives", "linearise"):
            continue  # like forward_dynamics, the call writes qacc
        assert np.array_equal(getattr(d, field), before[field]), field
    d.qacc = before["qacc"]
    for x, y in zip(first, arrays(call(name, m, d, body=0)), strict=True):
        assert np.array_equal(x, y)


@each_call
def test_stale_derived_fields_have_no_effect(pair, name):
    """Functions compute the derived fields that they need, so NaN in them has no effect."""
    m, d = pair
    expected = arrays(call(name, m, d.copy()))
    poisoned = rb.make_data(m)
    poisoned.buffer[:] = np.nan
    fresh = rb.make_data(m)
    for field in ("cvel", "cacc", "xpos", "xmat", "xipos", "ximat", "drive_mode", "drive_target",
                  "time", "qpos_all", "qvel_all", "qacc_all", "efc_rate"):  # fmt: skip
        if hasattr(fresh, field):
            setattr(poisoned, field, getattr(fresh, field))
    for field in ("qpos", "qvel", "qacc", "qfrc_applied", "xfrc_applied"):
        setattr(poisoned, field, getattr(d, field))
    for x, y in zip(arrays(call(name, m, poisoned)), expected, strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "operational_inertia"])
def test_functions_work_without_dofs(name):
    m = rb.build(Description("still", links("a"), (Joint("weld", "fixed", "base", "a"),)))
    assert m.nv == 0
    d = rb.make_data(m)
    shapes = {
        "coriolis_matrix": [(0, 0)], "mass_matrix": [(0, 0)], "inverse_mass_matrix": [(0, 0)],
        "frame_jacobian": [(6, 0)], "frame_jacobian_dot": [(6, 0)],
        "frame_pose": [(3,), (3, 3)], "frame_velocity": [(6,)], "frame_acceleration": [(6,)],
        "com": [(3,)], "com_velocity": [(3,)], "com_jacobian": [(3, 0)],
        "centroidal_momentum_matrix": [(6, 0)], "centroidal_momentum": [(6,)],
        "centroidal_momentum_bias": [(6,)], "frame_mobility": [(6, 6)],
        "joint_torque_regressor": [(0, 0)], "kinetic_energy": [()], "potential_energy": [()],
        "reflected_mass": [()], "inverse_derivatives": [(0, 0)] * 3,
        "forward_derivatives": [(0, 0)] * 3, "linearise": [(0, 0)] * 2,
    }  # fmt: skip
    results = arrays(call(name, m, d, body=0))
    assert [x.shape for x in results] == shapes.get(name, [(0,)])
    assert not any(np.isnan(x).any() for x in results)
    if name not in ("frame_pose", "reflected_mass"):
        assert not any(x.any() for x in results if x.shape)


@each_call
def test_a_state_with_nan_gives_nan(pair, name):
    """At least one number of the result is NaN if the state has NaN."""
    m, d = pair
    d = d.copy()
    d.qpos[0] = d.qvel[0] = np.nan
    assert any(np.isnan(x).any() for x in arrays(call(name, m, d)))
