"""Whatever a Python user gets wrong is answered with a sentence, and nothing is changed."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.assets import bundled_robot


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.fixture(scope="module")
def other():
    return rb.load_urdf(bundled_robot("pendulum"))


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("timestep", "0.1", "a finite number of seconds greater than 0"),
        ("timestep", None, "a finite number of seconds greater than 0"),
        ("timestep", 0.0, "a finite number of seconds greater than 0"),
        ("timestep", float("nan"), "a finite number of seconds greater than 0"),
        ("gravity", "down", "three finite numbers [m/s^2]"),
        ("gravity", [0.0, np.inf, 0.0], "three finite numbers [m/s^2]"),
        ("integrator", "heun", "one of euler, implicit_damping, rk4"),
        ("passive", "no", "True or False"),
    ],
)
def test_option(arm, option, value, allowed):
    before = repr(arm.opt)
    with pytest.raises(rb.ParameterError) as caught:
        setattr(arm.opt, option, value)
    assert str(caught.value) == f"opt.{option} is {value!r}; allowed is {allowed}."
    assert repr(arm.opt) == before


@pytest.mark.parametrize("nstep", [-1, 2.5, "3", None, 10**30])
def test_number_of_steps(arm, nstep):
    d = rb.make_data(arm)
    with pytest.raises(rb.ParameterError, match="allowed is a whole number from 0 to 2"):
        rb.step(arm, d, nstep)
    assert d.time == 0.0


def test_numpy_integers_are_whole_numbers(arm):
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
def test_data_of_another_model(arm, other, call):
    d = rb.make_data(other)
    before = d.buffer.copy()
    with pytest.raises(rb.ModelError, match=r"was not made for <Model 'seven_dof_arm'"):
        call(arm, d)
    assert np.array_equal(d.buffer, before)


def test_none_is_no_pair():
    with pytest.raises(rb.ModelError, match="None was not made for None"):
        rb.forward(None, None)


def test_data_refuses_what_does_not_fit(arm):
    d = rb.make_data(arm)
    d.qpos = 0.25
    for value in ("abc", [1.0, 2.0], np.zeros((arm.nq, 2))):
        with pytest.raises(rb.ModelError, match=r"Data\.qpos"):
            d.qpos = value
    with pytest.raises(AttributeError, match="did you mean 'qpos'"):
        d.qpso = 1.0
    with pytest.raises(rb.ModelError, match="cannot be deleted"):
        del d.qpos
    assert (d.qpos == 0.25).all()


def test_model_is_read_only(arm):
    with pytest.raises(rb.ModelError, match="a Model is read-only"):
        arm.body_mass = 1.0
    with pytest.raises(rb.ModelError, match="a Model is read-only"):
        del arm.table
    with pytest.raises(ValueError, match="read-only"):
        arm.body_mass[1] = 1.0


def test_replaced_checks_its_arrays(arm):
    with pytest.raises(rb.ModelError, match="did you mean 'dof_armature'"):
        arm.replaced(dof_amature=arm.dof_armature)
    with pytest.raises(rb.ModelError, match=r"Model.dof_armature has shape \(7,\)"):
        arm.replaced(dof_armature=[1.0])
    with pytest.raises(rb.ModelError, match="every number must be finite"):
        arm.replaced(dof_armature=arm.dof_armature * np.nan)


def test_vectors_must_not_overlap(arm):
    d = rb.make_data(arm)
    rb.fwd_position(arm, d)
    x = np.ones(arm.nv)
    with pytest.raises(rb.ModelError, match="must not share memory"):
        rb.mul_m(arm, d, x, x)
    with pytest.raises(rb.ModelError, match=r"shape \(7,\)"):
        rb.solve_m(arm, d, x, x.astype(np.float32))


@pytest.mark.parametrize(("look_up", "kind"), [("jnt_id", "joint"), ("frame_id", "frame")])
def test_unknown_name_gets_the_nearest(arm, look_up, kind):
    names = arm.jnt_names if kind == "joint" else arm.frame_names
    with pytest.raises(rb.ModelError, match=f"there is no {kind} '{names[1]}x' .did you mean"):
        getattr(arm, look_up)(f"{names[1]}x")


def test_floating_root_called_world_keeps_body_names_unique():
    urdf = """<robot name="w"><link name="world"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    m = rb.load_urdf(urdf, floating_base=True)
    assert m.body_names == ("world", "world_link")
    assert m.frame_names == ("world",)


def test_joint_far_lighter_than_the_rest_is_warned_of():
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
