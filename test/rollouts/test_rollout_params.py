# SPDX-License-Identifier: Apache-2.0
"""A robot with its own parameters moves like a Model built with these parameters."""

import numpy as np
import pytest
from support.refusals import refused
from support.robots import needs_robots
from support.rollouts import light_forces, looped, robot, starts
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.rollouts.params import FIELDS, columns
from rbdyn_ros.rollouts.payloads import payload_params
from rbdyn_ros.rollouts.rollout import rollout

NBATCH, NSTEP = 5, 8
BOTH = pytest.mark.parametrize("specialize", [True, False])
OUTPUTS = ("qpos", "qvel", "xipos", "subtree_com", "energy")

#: Tolerance as a share of the largest entry, because with a payload the masses of a subtree may be
#: added in another order.
TOLERANCE = 1e-11


def assert_alike(found, expected):
    for name in OUTPUTS:
        within = TOLERANCE * max(1.0, np.abs(expected[name]).max())
        np.testing.assert_allclose(
            getattr(found, name), expected[name], rtol=0.0, atol=within, err_msg=name
        )


def compared(m, models, params, specialize):
    """Assert that robots with parameters move like these Models in a loop; return the Rollout."""
    qpos, qvel = starts(m, NBATCH)
    ctrl = light_forces(m, (NBATCH, NSTEP))
    expected = looped(models, qpos, qvel, NSTEP, lambda k, n, _: ctrl[k, n])
    found = rollout(
        m, qpos, qvel, ctrl, nstep=NSTEP, params=params, outputs=OUTPUTS, specialize=specialize
    )
    assert_alike(found, expected)
    nominal = rollout(m, qpos, qvel, ctrl, nstep=NSTEP, specialize=specialize)
    assert np.abs(nominal.qvel - found.qvel).max() > 1e-6  # the parameters have an effect
    return found


@needs_robots
@BOTH
@pytest.mark.parametrize(
    ("name", "frame"),
    [("arm", "tool0"), ("arm", "upper_arm_link"), ("floating base", "base_link")],
)
def test_payload_params_agree_with_with_payload(name, frame, specialize):
    m, rng = robot(name), np.random.default_rng(3)
    mass = rng.uniform(0.1, 3.0, NBATCH)
    mass[1] = 0.0
    com = rng.uniform(-0.1, 0.1, (NBATCH, 3))
    inertia = mass[:, None] * np.array([0.002, 0.0021, 0.0022, 1e-4, -2e-4, 1e-4])
    loads = zip(mass, com, inertia, strict=True)
    models = [with_payload(m, frame, float(a), b, tuple(c.tolist())) for a, b, c in loads]
    params = payload_params(m, frame, mass, com, inertia)
    body = m.frame_bodyid[m.frame_id(frame)]
    for field, given in params.items():
        (values,) = given.values()
        rows = [getattr(loaded, field)[body] for loaded in models]
        np.testing.assert_allclose(values, rows, rtol=1e-13, atol=1e-15, err_msg=field)
    compared(m, models, params, specialize)


@needs_robots
def test_payloads_may_differ_in_only_their_masses():
    m = robot("arm")
    params = payload_params(m, "tool0", np.array([0.5, 1.0]), (0.0, 0.0, 0.1))
    assert {field: next(iter(given.values())).shape for field, given in params.items()} == {
        "body_mass": (2,), "body_ipos": (2, 3), "body_fullinertia": (2, 6),
    }  # fmt: skip


@needs_robots
@BOTH
@pytest.mark.parametrize("name", ["arm", "coupled fingers"])
@pytest.mark.parametrize(
    "field", ["dof_damping", "dof_armature", "dof_frictionloss", "jnt_stiffness"]
)
def test_joint_parameters_equal_a_model_with_replaced_fields(field, name, specialize):
    m, rng = robot(name), np.random.default_rng(4)
    if specialize:
        smoothly(m)
    own = getattr(m, field)
    values = own + rng.uniform(0.0, 0.5, (NBATCH, *own.shape))
    if field == "jnt_stiffness":
        values[:, m.jnt_class != JointClass.FREE] = 0.0
        values[0] = 0.0  # this joint has no spring
    models = [m.replaced(**{field: row}) for row in values]
    compared(m, models, {field: values}, specialize)


@needs_robots
@BOTH
def test_each_robot_may_have_its_own_gravity(specialize):
    m = robot("floating base")
    values = np.random.default_rng(5).uniform(-10.0, 10.0, (NBATCH, 3))
    models = [m.replaced() for _ in values]
    for model, gravity in zip(models, values, strict=True):
        model.opt.gravity = gravity
    compared(m, models, {"gravity": values}, specialize)


@needs_robots
@BOTH
def test_parameters_by_name_equal_entries_of_the_array(specialize):
    m, rng = robot("floating base"), np.random.default_rng(6)
    qpos, qvel = starts(m, NBATCH)
    mass, damping = rng.uniform(0.1, 1.0, NBATCH), rng.uniform(0.0, 0.5, (NBATCH, 6))
    body, joint = m.body_names[3], m.jnt_names[0]
    assert m.jnt_dofnum[0] == 6
    whole = {
        "body_mass": np.tile(m.body_mass, (NBATCH, 1)),
        "dof_damping": np.tile(m.dof_damping, (NBATCH, 1)),
    }
    whole["body_mass"][:, 3], whole["dof_damping"][:, :6] = mass, damping
    parts = {"body_mass": {body: mass}, "dof_damping": {joint: damping}}
    ends = [
        rollout(m, qpos, qvel, nstep=NSTEP, params=params, specialize=specialize).qvel
        for params in (whole, parts)
    ]
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-11 * np.abs(ends[0]).max())


@needs_robots
@BOTH
def test_parameters_equal_to_the_model_change_nothing(specialize):
    """Generic code gives the same bits, because the same kernels read equal numbers."""
    m = robot("arm")
    qpos, qvel = starts(m, 3)
    params = {
        name: m.opt.gravity if name == "gravity" else getattr(m, name)
        for name in FIELDS
        if name != "jnt_stiffness" and not name.startswith("actuator_")
    }
    plain = rollout(m, qpos, qvel, nstep=NSTEP, specialize=specialize)
    found = rollout(m, qpos, qvel, nstep=NSTEP, params=params, specialize=specialize)
    within = 1e-11 if specialize else 0.0
    np.testing.assert_allclose(found.qvel, plain.qvel, rtol=0.0, atol=within)
    assert m.body_mass.flags.writeable is False


@needs_robots
def test_parameters_of_a_call_have_no_effect_on_the_next_call():
    m = robot("arm")
    qpos, qvel = starts(m, 3)
    for specialize in (True, False):
        ends = []
        for share in (1.0, 1.5, 1.0):
            params = {"body_mass": share * m.body_mass}
            found = rollout(m, qpos, qvel, nstep=2, params=params, specialize=specialize)
            ends.append(found.qvel)
        np.testing.assert_array_equal(ends[0], ends[2])
        assert np.abs(ends[0] - ends[1]).max() > 1e-9


PAYLOADS = {
    "negative": (([1.0, -2.0], (0, 0, 0)), "payload", "payload"),
    "massless": ((0.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)), "payload", "payload"),
    "flat": (
        ([1.0, 1.0], (0, 0, 0), [(1, 1, 1, 0, 0, 0), (1, 1, 3, 0, 0, 0)]),
        "payload",
        "payload",
    ),
    "large": (
        ([1.0, 1e200, 1.0], [(0.1, 0, 0), (1e200, 0, 0), (0.1, 0, 0)]),
        "payload",
        "payload",
    ),
    "numbers": (([1.0, 2.0], np.zeros((3, 3))), "payload", "payload"),
    "shape": ((1.0, (0, 0)), "payload", "payload"),
    "nan": ((np.nan, (0, 0, 0)), "bad-argument", "the mass of the payload"),
}


@needs_robots
@pytest.mark.parametrize("case", PAYLOADS)
def test_impossible_payloads_are_refused(case):
    given, code, element = PAYLOADS[case]
    with refused(rb.ParameterError, code, element):
        payload_params(robot("arm"), "tool0", *given)


#: Payloads that with_payload refuses: 1 kg without inertia, with these values changed.
REFUSED = [
    {"mass": -1.0},
    {"mass": 0.0, "inertia": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)},
    {"inertia": (1.0, 1.0, 2.5, 0.0, 0.0, 0.0)},
    {"inertia": (1.0, 1.0, 1.0, 1.5, 0.0, 0.0)},
    {"inertia": (1e308, 1e308, 1e308, 9e307, 9e307, 9e307)},
    {"com": (0.0, 1e300, 0.0)},
    {"mass": 1e300, "com": (0.0, 0.0, 1e100)},
    {"mass": 1e200, "com": (1e200, 0.0, 0.0)},
]


@needs_robots
@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.filterwarnings("error")
def test_payloads_are_refused_with_the_message_of_with_payload(given):
    """payload_params also names the robot, and does not warn."""
    m = robot("arm")
    first, load = (
        {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.0,) * 6} | x for x in ({}, given)
    )
    with pytest.raises(rb.ParameterError) as alone:
        with_payload(m, "tool0", **load)
    with refused(rb.ParameterError, alone.value.code, alone.value.element):
        payload_params(m, "tool0", **{name: [first[name], load[name]] for name in load})


@needs_robots
@pytest.mark.filterwarnings("error")
def test_a_payload_without_mass_changes_nothing_wherever_it_is():
    """A payload without mass has no effect even at a distance whose square overflows."""
    m = robot("arm")
    found = payload_params(m, "tool0", [0.0, 1.0], [(1e200, 0.0, 0.0), (0.1, 0.0, 0.0)])
    b = m.frame_bodyid[m.frame_id("tool0")]
    for name, given in found.items():
        (values,) = given.values()
        np.testing.assert_array_equal(values[0], getattr(m, name)[b])
        assert np.isfinite(values[1]).all()


@needs_robots
def test_payloads_need_a_link_that_moves():
    m = robot("arm")
    with refused(rb.ModelError, "unknown-frame", "tol0"):
        payload_params(m, "tol0", 1.0, (0, 0, 0))
    with refused(rb.ParameterError, "payload", "base_link"):
        payload_params(m, "base_link", 1.0, (0, 0, 0))


def _following_in_the_middle():
    """Return the Model of three slides; the second mimics the first."""
    system = rb.SystemBuilder("sliders", base="world")
    for k, name in enumerate("abc"):
        axis = tuple(float(n == k) for n in range(3))
        system.body(name, rb.Inertial(1.0, rb.Pose(), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0)))
        system.joint(f"to_{name}", "prismatic", "world", name, axis=axis)
    return rb.build(system.couple("to_b", "to_a", -1.0))


def test_only_joints_moved_by_forces_may_have_springs():
    m = _following_in_the_middle()
    (found,) = columns(m, {"jnt_stiffness": [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]})
    assert found.places.tolist() == [0, 2]
    assert found.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.names == ("to_a", "to_c")
    for given in ([1.0, 1.0, 1.0], {"to_b": 1.0}):
        with refused(rb.ParameterError, "bad-argument", "params"):
            columns(m, {"jnt_stiffness": given})


@BOTH
def test_parameters_without_effect_are_left_out(specialize):
    """Only the first component of gravity matters for a cart on a rail along x."""
    system = rb.SystemBuilder("cart", base="world")
    system.body("cart", rb.Inertial(1.0, rb.Pose(), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0)))
    m = rb.build(system.joint("rail", "prismatic", "world", "cart", axis=(1.0, 0.0, 0.0)))
    gravity = np.array([[1.0, 500.0, 700.0], [-2.0, 0.0, 0.0]])
    params = {"gravity": gravity, "body_mass": {"cart": [1.0, 3.0]}}
    found = rollout(m, [0.0], [0.0], nstep=10, params=params, specialize=specialize)
    expected = 10 * m.opt.timestep * gravity[:, 0]
    np.testing.assert_allclose(found.qvel[:, -1, 0], expected, rtol=1e-14)
