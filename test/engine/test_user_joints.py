# SPDX-License-Identifier: Apache-2.0
"""A user can define joint types by a jcalc function, and motions of driven joints."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from support import states, trees
from support.compare import Comparison, with_inverse
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.poses import pose
from rbdyn_ros.description.parts.types import Joint, Link
from rbdyn_ros.engine.compiler.jit import DISABLED

REGISTRATIONS = []


def of_this_module(*args, **options):
    """Return a decorator that registers a joint type while this module's tests run."""

    def keep(jcalc):
        REGISTRATIONS.append((args, options, jcalc))
        return jcalc

    return keep


@pytest.fixture(scope="module", autouse=True)
def registered():
    known = set(JOINT_SPECS)
    for args, options, jcalc in REGISTRATIONS:
        rb.register_joint(*args, **options)(jcalc)
    yield
    for name in set(JOINT_SPECS) - known:
        del JOINT_SPECS[name]


BODY = rb.shapes.box((0.6, 0.2, 0.3), mass=1.5, at=rb.pose((0.2, 0.1, -0.1), (0.1, 0.2, 0.3)))


@of_this_module("my_helical", parameters=("pitch",))
def my_helical(q, qd, p, E, r, S, S_dot):
    c, s = np.cos(q[0]), np.sin(q[0])
    E[0, 0], E[0, 1], E[1, 0], E[1, 1] = c, s, -s, c
    r[2] = p[0] * q[0]
    S[2, 0], S[5, 0] = 1.0, p[0]


@of_this_module("my_rack", parameters=("radius",))
def my_rack(q, qd, p, E, r, S, S_dot):
    c, s = np.cos(q[0]), np.sin(q[0])
    E[0, 0], E[0, 1], E[1, 0], E[1, 1] = c, s, -s, c
    r[0] = p[0] * q[0]
    S[2, 0], S[3, 0], S[4, 0] = 1.0, p[0] * c, -p[0] * s
    S_dot[3, 0], S_dot[4, 0] = -p[0] * s * qd[0], -p[0] * c * qd[0]


@of_this_module("my_cylindrical", nv=2, coordinates=("rad", "m"))
def my_cylindrical(q, qd, p, E, r, S, S_dot):
    c, s = np.cos(q[0]), np.sin(q[0])
    E[0, 0], E[0, 1], E[1, 0], E[1, 1] = c, s, -s, c
    r[2] = q[1]
    S[2, 0], S[5, 1] = 1.0, 1.0


TWINS = {
    "my_helical": ("helical", {"pitch": 0.3}),
    "my_rack": ("rack_pinion", {"radius": 0.2}),
    "my_cylindrical": ("cylindrical", {}),
}


def chain(kind, reverse, **properties):
    """Return a Model of a chain: a hinge, a joint of this kind and a hinge."""
    ends = ("b", "a") if reverse else ("a", "b")
    builder = rb.SystemBuilder("chain").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0))
    builder.joint("middle", kind, *ends, xyz=(0.3, 0, 0.1), rpy=(0.4, 0.2, 0.1), **properties)
    builder.joint("last", "revolute", "b", "c", axis=(1, 0, 0), xyz=(0, 0.2, 0))
    return rb.build(builder)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("kind", TWINS)
def test_a_user_joint_agrees_with_the_same_joint_of_the_library(kind, reverse):
    library, parameters = TWINS[kind]
    axes = {"axis": (0, 0, 1)} | ({"axis2": (1, 0, 0)} if library == "rack_pinion" else {})
    m, twin = chain(kind, reverse, **parameters), chain(library, reverse, **parameters, **axes)
    d, e = rb.make_data(m), rb.make_data(twin)
    states.randomise(twin, e, 3)
    for field in ("qpos", "qvel", "qacc", "qfrc_applied", "xfrc_applied"):
        setattr(d, field, getattr(e, field))
    for model, data in ((m, d), (twin, e)):
        rb.inverse(model, data)
        rb.forward(model, data)
    with Comparison("user joint", f"{kind}, reversed {reverse}") as case:
        for field in ("xpos", "xmat", "cdof", "cvel", "M", "qfrc_bias", "qfrc_inverse", "qacc"):
            case.close(field, getattr(d, field), getattr(e, field), 1e-13)
    m.opt.integrator = twin.opt.integrator = "rk4"
    rb.step(m, d, 200)
    rb.step(twin, e, 200)
    assert d.qpos == pytest.approx(e.qpos, abs=1e-11)


def test_fwd_velocity_uses_the_current_velocity_for_s_dot():
    """S_dot depends on the velocity, so fwd_velocity must not use the S_dot of fwd_position."""
    m = chain("my_rack", False, radius=0.2)
    d = rb.make_data(m)
    states.randomise(m, d, 5)
    rb.fwd_position(m, d)
    d.qvel *= 2.0
    rb.fwd_velocity(m, d)
    whole = d.copy()
    rb.forward(m, whole)
    assert np.array_equal(d.qfrc_bias, whole.qfrc_bias)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reversed"])
def test_a_user_joint_works_among_all_library_types(reverse):
    """In a tree of all library types, inverse undoes forward, and energy and power balance."""
    tree = trees.auto_tree(14, 1.5, kinds=trees.LIBRARY, seed=8, shuffle=False, reversals=0.5)
    ends = ("top", "link14") if reverse else ("link14", "top")
    joint = Joint("user", "my_rack", *ends, pose((0.2, 0.1, 0)), parameters={"radius": 0.2})
    links = (*tree.links, Link("top", BODY))
    base = tree.base or "base"
    m = rb.build(replace(tree, base=base, links=links, joints=(*tree.joints, joint)))
    d = rb.make_data(m)
    states.randomise(m, d, 6)
    given = d.qacc.copy()
    d.xfrc_applied = 0.0
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse
    M = rb.mass_matrix(m, d).copy()
    rb.forward_dynamics(m, d)
    with Comparison("user joint", "among all types") as case:
        case.close("ABA(RNE(qacc)) = qacc", d.qacc, given, with_inverse(1e-13, M, m.nv))
        rb.forward(m, d)
        case.close("M qacc + bias", M @ given + d.qfrc_bias, d.qfrc_inverse, 1e-13)
    m.opt.integrator, m.opt.timestep = "rk4", 2e-4
    d.qvel *= 0.3
    d.qfrc_applied = 0.0
    energies = []
    for _ in range(2):
        rb.forward(m, d)
        rb.energy(m, d)
        energies.append(d.energy.sum())
        rb.step(m, d, 200)
    # the integrator's error is of order h^4 T
    assert energies[1] == pytest.approx(energies[0], rel=1e-8)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_two_runs_of_a_user_joint_give_equal_bits(integrator):
    m = chain("my_rack", False, radius=0.2)
    m.opt.integrator = integrator
    runs = [rb.make_data(m) for _ in range(2)]
    for d in runs:
        d.qpos = (0.1, 0.5, -0.3)
        rb.step(m, d, 100)
    assert np.array_equal(runs[0].buffer, runs[1].buffer)


@of_this_module("wrong_S")
def wrong_S(q, qd, p, E, r, S, S_dot):
    r[2] = q[0] * q[0]
    S[5, 0] = -2.0 * q[0]
    S_dot[5, 0] = -2.0 * qd[0]


@of_this_module("wrong_S_dot")
def wrong_S_dot(q, qd, p, E, r, S, S_dot):
    r[2] = q[0] * q[0]
    S[5, 0] = 2.0 * q[0]


@of_this_module("wrong_E")
def wrong_E(q, qd, p, E, r, S, S_dot):
    E[0, 0] = 2.0
    S[5, 0] = 1.0
    r[2] = q[0]


@of_this_module("not_a_number")
def not_a_number(q, qd, p, E, r, S, S_dot):
    r[2] = np.nan


@pytest.mark.parametrize(
    ("name", "reverse", "entry"),
    [
        ("wrong_S", False, "S[5, 0]"),
        ("wrong_S_dot", True, "S_dot[5, 0]"),
        ("wrong_E", False, "rotation"),
        ("not_a_number", False, "finite"),
    ],
)
def test_a_wrong_jcalc_is_refused(name, reverse, entry):
    with refused(rb.ModelError, "user-function", "joint 'middle'") as caught:
        chain(name, reverse)
    assert entry in str(caught.value)


@pytest.mark.skipif(DISABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_a_function_that_does_not_compile_is_refused():
    def no_numba(q, qd, p, E, r, S, S_dot):
        r[0] = undefined_name  # noqa: F821

    # without refused(), because Numba's text depends on its release
    with pytest.raises(rb.ParameterError) as caught:
        rb.register_joint("no_numba")(no_numba)
    assert (caught.value.code, caught.value.element) == ("register", "no_numba")
    assert "undefined_name" in str(caught.value)
    assert "no_numba" not in JOINT_SPECS


def test_an_unregistered_type_is_refused():
    with refused(rb.DescriptionError, "unknown-joint-type", "joint 'middle'"):
        chain("my_helikal", False)


def test_a_joint_type_may_be_registered_again():
    """A Model and its copies keep the first function."""

    def slide(q, qd, p, E, r, S, S_dot):
        r[2], S[5, 0] = q[0], 1.0

    def back(q, qd, p, E, r, S, S_dot):
        r[2], S[5, 0] = -q[0], -1.0

    def z(m):
        d = rb.make_data(m)
        d.qpos[1] = 0.5
        rb.kinematics(m, d)
        return d.user_joint[0, 11]

    rb.register_joint("again", coordinates=("m",))(slide)
    m = chain("again", False)
    rb.register_joint("again", coordinates=("m",))(back)
    assert [z(n) for n in (m, m.replaced(), copy.copy(m), copy.deepcopy(m))] == [0.5] * 4
    assert z(chain("again", False)) == -0.5
    assert z(pickle.loads(pickle.dumps(m))) == -0.5  # unpickling finds the type by name
    with refused(rb.ParameterError, "register", "again"):
        rb.register_joint("again", nv=2)


def test_a_jcalc_may_print_a_number(capfd):
    def prints(q, qd, p, E, r, S, S_dot):
        print("at", q[0])
        r[2], S[5, 0] = q[0], 1.0

    rb.register_joint("prints", coordinates=("m",))(prints)
    m = chain("prints", False)
    d = rb.make_data(m)
    d.qpos[1] = 0.25
    capfd.readouterr()
    rb.kinematics(m, d)
    assert "at 0.25" in capfd.readouterr().out


def test_a_jcalc_cannot_write_its_parameters():
    def writes(q, qd, p, E, r, S, S_dot):
        p[0] = 2.0
        r[2], S[5, 0] = q[0], 1.0

    def make():
        rb.register_joint("writes")(writes)
        chain("writes", False)

    with pytest.raises(rb.RbdynError, match="read"):  # the text comes from Numba or NumPy
        make()


@of_this_module("outside")
def outside(q, qd, p, E, r, S, S_dot):
    r[2], S[5, 0] = q[0], 1.0
    S_dot[0, 6] = 0.0


@of_this_module("far", coordinates=("m",))
def far(q, qd, p, E, r, S, S_dot):
    root = np.sqrt(q[0] - 2.0)
    r[2], S[5, 0], S_dot[5, 0] = root, 0.5 / root, -0.25 / root**3 * qd[0]


@of_this_module("piece")
def piece(q, qd, p, E, r, S, S_dot):
    r[2], S[5, 0] = (q[0] if q[0] < 1.5 else 2.0 * q[0] - 1.5), 1.0


@of_this_module("cam", parameters=("lift", "lobes"))
def cam(q, qd, p, E, r, S, S_dot):
    x = p[1] * q[0]
    r[2], S[5, 0] = p[0] * np.cos(x), -p[0] * p[1] * np.sin(x)
    S_dot[5, 0] = -p[0] * p[1] ** 2 * np.cos(x) * qd[0]


@pytest.mark.parametrize(
    ("name", "limits", "fault"),
    [
        ("outside", {}, "IndexError"),
        ("far", {"limit": (3.0, 4.0)}, "zero position"),
        ("piece", {}, "S[5, 0] = 1, "),
    ],
)
def test_a_wrong_jcalc_is_found_within_the_limits_and_at_zero(name, limits, fault):
    with refused(rb.ModelError, "user-function", "joint 'middle'") as caught:
        chain(name, False, **limits)
    assert fault in str(caught.value)


def test_a_jcalc_with_slow_or_fast_oscillations_is_accepted():
    for lobes in (3.0, 400.0):
        assert chain("cam", False, lift=0.05, lobes=lobes).nv == 3


def driven(motion):
    rb.register_motion("test_motion")(motion)
    builder = rb.SystemBuilder("driven").body("a", BODY)
    return rb.build(builder.joint("j", "prismatic", "base", "a").drive("j", "test_motion"))


def forgets(t, q, qd, qdd):
    q[0] = 2.0 * t


def no_number(t, q, qd, qdd):
    q[0] = np.nan


def out_of_bounds(t, q, qd, qdd):
    qdd[1] = 0.0


@pytest.mark.parametrize(
    ("motion", "fault"),
    [
        (forgets, "qd[0] = 0, but the derivative of q is 2 "),
        (no_number, "finite (at t = 0.0)"),
        (out_of_bounds, "IndexError"),
    ],
)
def test_a_motion_function_with_an_error_is_refused(motion, fault):
    with refused(rb.ModelError, "user-function", "joint 'j'") as caught:
        driven(motion)
    assert fault in str(caught.value)


def test_outputs_of_a_motion_function_are_zero_before_each_call():
    def stops(t, q, qd, qdd):
        if t < 1.0:
            q[0], qd[0] = t, 1.0

    m = driven(stops)
    d = rb.make_data(m)
    for time, expected in ((0.5, 0.5), (2.0, 0.0)):
        d.time = time
        rb.kinematics(m, d)
        assert d.qpos_all[0] == expected


@pytest.mark.parametrize(
    "options",
    [
        {"nv": 7},
        {"nv": 2.0},
        {"nv": True},
        {"parameters": ("a", "a")},
        {"parameters": "lift"},
        {"parameters": [""]},
        {"parameters": None},
        {"parameters": [[]]},
        {"parameters": ["damping"]},
        {"parameters": ["xyz"]},
        {"coordinates": ("deg",)},
        {"coordinates": 5},
        {"coordinates": [[1]]},
    ],
    ids=str,
)
def test_wrong_arguments_of_a_registration_are_refused(options):
    with refused(rb.ParameterError, "register", "y"):
        rb.register_joint("y", **options)
    assert "y" not in JOINT_SPECS


@pytest.mark.parametrize("register", [rb.register_joint, rb.register_motion])
@pytest.mark.parametrize("wrong", [5, None, int, np.sin], ids=str)
def test_only_functions_can_be_registered(register, wrong):
    with refused(rb.ParameterError, "register", "y"):
        register("y")(wrong)


@pytest.mark.parametrize("name", [5, "", []], ids=repr)
def test_names_of_joint_types_must_be_nonempty_strings(name):
    with refused(rb.ParameterError, "register", str(name)):
        rb.register_motion(name)


def test_the_name_of_a_library_type_cannot_be_registered():
    with refused(rb.ParameterError, "register", "revolute"):
        rb.register_joint("revolute")


def test_a_motion_function_must_have_four_arguments():
    with refused(rb.ParameterError, "register", "y"):
        rb.register_motion("y")(cam)


def test_the_number_of_dofs_may_be_a_numpy_integer():
    rb.register_joint("numpy_size", nv=np.int64(1))(piece)
