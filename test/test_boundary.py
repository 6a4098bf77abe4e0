# SPDX-License-Identifier: Apache-2.0
"""Mistakes of a Python user raise errors with clear messages, and have no effect."""

import copy

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import (
    Description,
    Inertial,
    Joint,
    Link,
    Mimic,
    Trajectory,
)
from rbdyn_ros.share import bundled_robot

BRICK = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.fixture(scope="module")
def other():
    return rb.load_urdf(bundled_robot("pendulum"))


@pytest.mark.parametrize(
    ("option", "value", "refusal"),
    [
        ("timestep", "0.1", ("option-timestep", "timestep")),
        ("timestep", None, ("option-timestep", "timestep")),
        ("timestep", 0.0, ("option-timestep", "timestep")),
        ("timestep", float("nan"), ("option-timestep", "timestep")),
        ("gravity", "down", ("option-gravity", "gravity")),
        ("gravity", [0.0, np.inf, 0.0], ("option-gravity", "gravity")),
        ("integrator", "heun", ("option-integrator", "integrator")),
        ("passive", "no", ("option-passive", "passive")),
    ],
)
def test_invalid_options_of_a_model_are_refused(arm, option, value, refusal):
    before = repr(arm.opt)
    with refused(rb.ParameterError, *refusal):
        setattr(arm.opt, option, value)
    assert repr(arm.opt) == before


@pytest.mark.parametrize("nstep", [-1, 2.5, "3", None, 10**30])
def test_step_refuses_an_invalid_number_of_steps(arm, nstep):
    d = rb.make_data(arm)
    with refused(rb.ParameterError, "nstep", "nstep"):
        rb.step(arm, d, nstep)
    assert d.time == 0.0


def test_step_accepts_a_numpy_integer_as_number_of_steps(arm):
    d = rb.make_data(arm)
    rb.step(arm, d, np.int32(3))
    assert d.time == pytest.approx(0.003)


@pytest.mark.parametrize(
    "call",
    [
        rb.forward,
        rb.step,
        rb.mass_matrix,
        rb.reset_data,
        lambda m, d: rb.frame_pose(m, d, "x"),
        lambda m, d: rb.solve_m(m, d, np.zeros(m.nv), np.zeros(m.nv)),
    ],
)
def test_a_function_refuses_the_data_of_another_model(arm, other, call):
    d = rb.make_data(other)
    before = d.buffer.copy()
    with refused(rb.ModelError, "data-of-other-model"):
        call(arm, d)
    assert np.array_equal(d.buffer, before)


def test_forward_refuses_none_as_model_and_data():
    with refused(rb.ModelError, "data-of-other-model"):
        rb.forward(None, None)


def test_a_field_of_data_refuses_values_of_another_shape_or_type(arm):
    d = rb.make_data(arm)
    d.qpos = 0.25
    for value, code in (
        ("abc", "data-value"),
        ([1.0, 2.0], "data-shape"),
        (np.zeros((arm.nq, 2)), "data-shape"),
    ):
        with refused(rb.ModelError, code, "qpos"):
            d.qpos = value
    with pytest.raises(AttributeError, match="did you mean 'qpos'"):
        d.qpso = 1.0
    with refused(rb.ModelError, "data-delete", "qpos"):
        del d.qpos
    assert (d.qpos == 0.25).all()


def test_the_fields_of_a_model_are_read_only(arm):
    with refused(rb.ModelError, "model-read-only", "body_mass"):
        arm.body_mass = 1.0
    with refused(rb.ModelError, "model-read-only", "table"):
        del arm.table
    with pytest.raises(ValueError, match="read-only"):
        arm.body_mass[1] = 1.0


def test_replaced_refuses_unknown_names_and_invalid_arrays(arm):
    with refused(rb.ModelError, "model-array", "dof_amature"):
        arm.replaced(dof_amature=arm.dof_armature)
    with refused(rb.ModelError, "model-array", "dof_armature"):
        arm.replaced(dof_armature=[1.0])
    for numbers in (arm.dof_armature * np.nan, arm.dof_armature + np.inf, ["a"] * arm.nv):
        with refused(rb.ModelError, "model-array", "dof_armature"):
            arm.replaced(dof_armature=numbers)
    for structure in ("body_parentid", "body_pos", "dof_bodyid"):
        with refused(rb.ModelError, "model-array", structure):
            arm.replaced(**{structure: getattr(arm, structure)})


def test_a_function_refuses_a_result_vector_that_is_also_its_input(arm):
    d = rb.make_data(arm)
    rb.fwd_position(arm, d)
    x = np.ones(arm.nv)
    with refused(rb.ModelError, "shared-vectors"):
        rb.mul_m(arm, d, x, x)
    with refused(rb.ModelError, "vector-shape"):
        rb.solve_m(arm, d, x, x.astype(np.float32))


@pytest.mark.parametrize("read", [rb.solve_m, rb.mul_m])
def test_a_function_refuses_a_read_only_vector_for_its_result(arm, read):
    d = rb.make_data(arm)
    rb.fwd_position(arm, d)
    rb.factor_m(arm, d)
    before = arm.qpos0.copy()
    with refused(rb.ModelError, "vector-shape"):
        read(arm, d, arm.qpos0, np.ones(arm.nv))
    assert np.array_equal(arm.qpos0, before)


@pytest.mark.parametrize("source", [None, 5, [], {}])
def test_a_source_that_is_neither_a_path_nor_text_is_refused(source):
    for reader in (rb.load_urdf, rb.load):
        with refused(rb.ParameterError, "not-a-source"):
            reader(source)
    with refused(rb.ParameterError, "not-a-description"):
        rb.build(source)


@pytest.mark.parametrize("call", [rb.crb, rb.factor_m, rb.mass_matrix, rb.kinematics])
def test_a_function_refuses_arguments_that_are_not_a_model_and_its_data(arm, call):
    d = rb.make_data(arm)
    for m, other in ((None, d), (d, arm), ("arm", d)):
        with pytest.raises(rb.ModelError):
            call(m, other)
    with refused(rb.ModelError, "not-a-model"):
        rb.make_data(None)


def test_specialize_refuses_an_argument_that_is_not_a_model(arm):
    s = rb.specialize(arm, functions=())
    for other in (s, None, "robot.urdf", rb.make_data(arm)):
        with refused(rb.ModelError, "not-a-model"):
            rb.specialize(other)


def test_body_id_finds_a_body_by_its_name_or_number(arm):
    assert arm.body_id(3) == arm.body_id(np.int64(3)) == arm.body_id(arm.body_names[3]) == 3
    for name in (arm.nbody, -1, None, True, 1.5, [1], "nobody"):
        with refused(rb.ModelError, "unknown-body"):
            arm.body_id(name)
    with refused(rb.ModelError, "unknown-body"):
        arm.body_id(None)


def test_a_copy_of_a_model_or_data_is_independent_of_the_original(arm):
    m = copy.copy(arm)
    m.opt.timestep = 0.25
    assert arm.opt.timestep != 0.25
    n, e = copy.deepcopy((m, rb.make_data(m)))
    rb.step(n, e)
    assert e.time == 0.25
    alone = copy.deepcopy(rb.make_data(m))
    rb.step(m, alone)
    assert alone.time == 0.25


@pytest.mark.parametrize("floating", [True, False])
def test_a_quaternion_of_length_zero_acts_as_the_identity(floating):
    m = rb.load_urdf(bundled_robot("seven_dof_arm"), floating_base=floating)
    d, zero = rb.make_data(m), rb.make_data(m)
    zero.qpos = 0.0
    rb.step(m, d, 5)
    rb.step(m, zero, 5)
    assert np.array_equal(d.qpos, zero.qpos)
    assert np.isfinite(zero.qpos).all()


def test_the_joint_of_a_floating_base_gets_another_name_if_a_joint_has_its_name():
    urdf = f"""<robot name="r"><link name="a">{BRICK}</link><link name="b">{BRICK}</link>
        <joint name="root_joint" type="continuous"><parent link="a"/><child link="b"/></joint>
        </robot>"""
    assert rb.load_urdf(urdf, floating_base=True).jnt_names == ("root_joint_", "root_joint")


def test_a_refusal_names_only_the_joint_without_inertia():
    links = "".join(
        f"<link name='l{i}'>{BRICK if i < 3 else ''}</link><joint name='j{i}' type='continuous'>"
        f"<parent link='{f'l{i - 1}' if i else 'a'}'/><child link='l{i}'/></joint>"
        for i in range(4)
    )
    urdf = f"<robot name='r'><link name='a'/>{links}</robot>"
    with refused(rb.DescriptionError, "no-inertia", "joint 'j3'"):
        rb.load_urdf(urdf)
    m = rb.load_urdf(urdf, strict=False)
    assert np.flatnonzero(m.dof_armature).tolist() == [3]


def test_inertia_that_vanishes_only_at_qpos0_is_accepted():
    # at zero j0 and j2 have the same axis, and a rotation of j1 makes the axes different
    urdf = f"""<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
        <link name="d">{BRICK}</link>
        <joint name="j0" type="continuous"><axis xyz="0 0 1"/><parent link="a"/><child link="b"/>
        </joint><joint name="j1" type="continuous"><axis xyz="1 0 0"/><parent link="b"/>
        <child link="c"/></joint><joint name="j2" type="continuous"><axis xyz="0 0 1"/>
        <parent link="c"/><child link="d"/></joint></robot>"""
    m = rb.load_urdf(urdf)
    assert (m.dof_inertia0 > 0.0).all()
    assert not m.dof_armature.any()


def test_negative_inertia_is_not_repaired():
    wrong = (
        '<inertial><mass value="0"/>'
        '<inertia ixx="-1" iyy="-1" izz="-1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    urdf = f"""<robot name="r"><link name="a"/><link name="b">{wrong}</link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    for strict in (True, False):
        with refused(rb.DescriptionError, "negative-inertia", "joint 'j'"):
            rb.load_urdf(urdf, strict=strict)


def test_a_description_accepts_numpy_arrays():
    link = Link("b", Inertial(1.0, Pose(np.zeros(3), np.array([1.0, 0, 0, 0])), np.ones(6) * 0.1))
    joint = Joint("j", "continuous", "a", "b", Pose([1, 0, 0]), np.array([0.0, 0.0, 1.0]))
    m = rb.build(Description("r", (Link("a"), link), (joint,)))
    assert m.body_pos[1].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("axis", ["0.001 0 -1", "0 1e-5 -1", "0 0 -1", "0.6 0 -0.8"])
def test_the_plane_of_a_planar_joint_is_normal_to_its_axis(axis):
    urdf = f"""<robot name="p"><link name="a"/><link name="b">{BRICK}</link>
        <joint name="j" type="planar"><axis xyz="{axis}"/><parent link="a"/><child link="b"/>
        </joint></robot>"""
    m = rb.load_urdf(urdf)
    basis = m.jnt_basis[0].reshape(3, 3)
    assert np.allclose(basis @ basis.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(basis) == pytest.approx(1.0)
    assert np.allclose(basis[2], m.jnt_axis[0], atol=1e-15)


@pytest.mark.filterwarnings("ignore:.* no longer a finite number")
def test_one_call_and_many_calls_give_equal_numbers_of_warnings(arm):
    at_once, singly = rb.make_data(arm), rb.make_data(arm)
    at_once.qpos[0] = singly.qpos[0] = np.nan
    rb.step(arm, at_once, 10)
    for _ in range(10):
        rb.step(arm, singly)
    assert at_once.nbad == singly.nbad == 10 * arm.nv


def test_a_joint_inertia_that_becomes_negative_is_counted_in_nbad():
    # the inertia of j is izz of the body at zero, and iyy after k has turned by a right angle
    links = Link("a"), Link("b"), Link("c", Inertial(1.0, inertia=(1.0, -1.0, 1.0, 0, 0, 0)))
    joints = (
        Joint("j", "revolute", "a", "b", axis=(0.0, 0.0, 1.0)),
        Joint("k", "revolute", "b", "c", axis=(1.0, 0.0, 0.0)),
    )
    m = rb.build(Description("r", links, joints, base="a"))
    d = rb.make_data(m)
    rb.forward_dynamics(m, d)
    assert d.nbad == 0
    d.qpos = [0.0, np.pi / 2]
    rb.forward_dynamics(m, d)
    assert d.nbad == 1


def test_the_time_constant_of_a_limit_spring_is_at_least_two_timesteps(arm):
    m = smoothly(copy.copy(arm))
    m.opt.timestep = 0.05  # longer than the spring's time constant of 20 ms
    d = rb.make_data(m)
    j = int(np.flatnonzero(m.jnt_limited)[0])
    d.qpos[j] = m.jnt_range[j, 1] + 0.1
    rb.passive(m, d)
    inertia, t = m.dof_inertia0[j], 2.0 * m.opt.timestep
    assert d.qfrc_passive[j] == pytest.approx(-0.1 * inertia / t**2, rel=1e-12)


@pytest.mark.parametrize(("look_up", "kind"), [("jnt_id", "joint"), ("frame_id", "frame")])
def test_the_error_about_an_unknown_name_suggests_a_name(arm, look_up, kind):
    names = arm.jnt_names if kind == "joint" else arm.frame_names
    with refused(rb.ModelError, f"unknown-{kind}") as caught:
        getattr(arm, look_up)(f"{names[1]}x")
    assert "(did you mean " in str(caught.value)


def test_a_floating_root_with_the_name_world_gets_another_body_name():
    urdf = """<robot name="w"><link name="world"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    m = rb.load_urdf(urdf, floating_base=True)
    assert m.body_names == ("world", "world_link")
    assert m.frame_names == ("world",)


def test_a_joint_with_far_less_inertia_than_other_joints_causes_a_warning():
    heavy = '<mass value="100"/><inertia ixx="9" iyy="9" izz="9" ixy="0" ixz="0" iyz="0"/>'
    light = (
        '<mass value="1e-9"/>'
        '<inertia ixx="1e-13" iyy="1e-13" izz="1e-13" ixy="0" ixz="0" iyz="0"/>'
    )
    urdf = f"""<robot name="l"><link name="a"/><link name="b"><inertial>{heavy}</inertial></link>
        <link name="c"><inertial>{light}</inertial></link>
        <joint name="strong" type="continuous"><parent link="a"/><child link="b"/></joint>
        <joint name="weak" type="continuous"><parent link="b"/><child link="c"/></joint></robot>"""
    found = [f for f in rb.load_urdf(urdf).findings if f.code == "tiny-inertia"]
    assert [f.element for f in found] == ["joint 'weak'"]


def _free(ixx):
    inertia = f'<inertia ixx="{ixx}" iyy="1e-2" izz="1e-2" ixy="0" ixz="0" iyz="0"/>'
    return f"""<robot name="r"><link name="a"><inertial><mass value="1"/>{inertia}
        </inertial></link></robot>"""


@pytest.mark.filterwarnings("ignore:.* turns at")
@pytest.mark.parametrize("ixx", ["1e-19", "0"])
def test_the_state_of_a_repaired_free_body_stays_finite(ixx):
    m = rb.load_urdf(_free(ixx), floating_base=True, strict=False)
    (found,) = m.findings
    assert (found.code, found.severity) == ("tiny-inertia", "warning")
    assert found.message.endswith(f"repaired with an armature of {m.dof_armature.max():.2g}")
    _shake(m)


def test_the_state_of_a_repaired_ball_joint_stays_finite():
    rod = rb.Inertial(0.0, inertia=(0.0, 1e-2, 1e-2, 0.0, 0.0, 0.0))
    system = rb.SystemBuilder("s").body("a", rod).joint("j", "spherical", "base", "a")
    m = rb.build(system.description(), strict=False)
    (found,) = m.findings
    assert (found.code, found.severity) == ("no-inertia", "warning")
    assert found.message.endswith(f"repaired with an armature of {m.dof_armature.max():.2g}")
    _shake(m)


def test_a_strict_load_reports_the_possible_repair():
    (found,) = rb.load_urdf(_free("1e-19"), floating_base=True).findings
    assert "strict=False (rbdyn check --repair" in found.message


def test_strict_false_repairs_a_urdf_and_is_refused_for_a_saved_model(tmp_path):
    path = tmp_path / "light.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    with refused(rb.DescriptionError, "no-inertia", "joint 'j'"):
        rb.load(path)
    m = rb.load(path, strict=False)
    assert m.dof_armature.max() > 0.0
    rb.save(m, tmp_path / "light.npz")
    with refused(rb.ParameterError, "bad-strict", "strict"):
        rb.load(tmp_path / "light.npz", strict=False)


@pytest.mark.parametrize("floating_base", [False, True])
def test_the_state_of_the_repaired_icub_stays_finite(floating_base):
    m = rb.load_urdf(find("icub.urdf"), floating_base, strict=False)
    assert m.dof_inertia0.min() > 1e-6  # without the repair: 2e-13
    _shake(m)


def _shake(m):
    """Take 1000 steps of 1 ms under random efforts; the state must stay finite."""
    d, rng = rb.make_data(m), np.random.default_rng(1)
    for _ in range(1000):
        d.qfrc_applied[:] = rng.uniform(-1.0, 1.0, m.nv)
        rb.step(m, d)
    assert np.isfinite([*d.qpos, *d.qvel]).all()


def driven(times, positions, **fields):
    inertial = Inertial(1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    motion = Trajectory(times, positions, **fields)
    joint = Joint("j", "revolute", "a", "b", motion=motion, line=7)
    return Description("r", (Link("a"), Link("b", inertial)), (joint,), base="a")


@pytest.mark.parametrize(
    ("times", "positions", "refusal"),
    [
        ((0, 1e-300, 1), (0, 1, 2), ("out-of-range", "joint 'j'")),
        ((0, 1, 2), (0, 1e308, -1e308), ("out-of-range", "joint 'j'")),
        ((0, 1e100), (0, 1), ("out-of-range", "joint 'j'")),
        ((0, 1e-9, 1), (0, 1, 2), ("bad-trajectory", "joint 'j'")),
        (
            (0, 1e-3, 1),
            (0, 1, 2),
            ("bad-trajectory", "joint 'j'"),
        ),
    ],
)
def test_a_trajectory_with_numbers_too_extreme_for_a_spline_is_refused(times, positions, refusal):
    with refused(rb.DescriptionError, *refusal, line=7):
        rb.build(driven(times, positions))


@pytest.mark.parametrize(
    ("times", "positions", "periodic"),
    [
        ((0, 1, 2), (1e6, 1e6, 1e6), False),  # rounding alone exceeds the range
        ((0, 0.1, 1), (0, 1, 0), False),  # a plain spline overshoots by six ranges
        ((1.7e9, 1.7e9 + 0.01, 1.7e9 + 0.02), (0, 1, 0), True),  # like stamps of a clock
        ((0, 1e-9), (0, 1), False),  # another check refuses jumps
    ],
)
def test_a_trajectory_that_a_spline_can_follow_is_accepted(times, positions, periodic):
    m = rb.build(driven(times, positions, periodic=periodic))
    assert np.isfinite(m.knot_coef).all()
    assert m.knot_coef[:, 0] == pytest.approx(positions, rel=1e-9, abs=1e-9)


def ring(**fields):
    """Return a loop of three joints; the joint `far` with these fields closes the loop."""
    inertial = Inertial(1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    links = (Link("a"), Link("b", inertial), Link("c", inertial))
    near = Joint("j", "revolute", "a", "b"), Joint("k", "revolute", "a", "c")
    far = {"name": "far", "type": "revolute", "parent": "b", "child": "c"} | fields
    return Description("r", links, (*near, Joint(**far)), base="a")


def test_a_mimic_joint_of_a_description_has_no_dof_unless_mimic_is_false():
    """This Description is made in Python, without a URDF."""
    follower = Joint("k", "revolute", "b", "c", mimic=Mimic("j"))
    given = ring()
    described = Description("r", given.links, (given.joints[0], follower), base="a")
    m, free = rb.build(described), rb.build(described, mimic=False)
    assert (m.nv, free.nv) == (1, 2)
    assert m.findings == free.findings == ()
