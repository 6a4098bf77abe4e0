# SPDX-License-Identifier: Apache-2.0
"""The comments in a header name the right axes and gravity, and have numbers with all digits."""

from dataclasses import replace

import numpy as np
import pytest
from support.c_code import code_of
from support.trees import LIBRARY, auto_tree, build

import rbdyn_ros as rb
from rbdyn_ros.codegen.header import FORCES, header
from rbdyn_ros.codegen.names import shown
from rbdyn_ros.control.arm.arm import mounted_gravity
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.share import bundled_robot

ALL = ("gravity", "bias", "inverse", "forward", "step", "mass_matrix", "kinematics", "jacobian")
MOUNTING = (0.1, -0.2, 1 / 3)


def said(code):
    """Return the header of generated code as one line, without the asterisks of comments."""
    return " ".join(header(code).replace("\n *", "").split())


def arm(**more):
    return rb.load_urdf(bundled_robot("seven_dof_arm"), **more)


def everything(m, **more):
    return code_of(m, *ALL, frames=("hand",), external_forces=True, **more)


def mounted():
    """Return the generated code for an arm on a tilted base."""
    m = arm()
    m.opt.gravity = mounted_gravity(MOUNTING)
    return replace(everything(m), mounting=MOUNTING)


def test_the_header_of_a_mounted_arm_gives_vectors_in_the_axes_of_its_base_link():
    text = said(mounted())
    gravity = ", ".join(repr(x) for x in mounted_gravity(MOUNTING).tolist())
    assert (
        f"Gravity: {gravity} m/s^2 in the axes of the base link, mounted with roll, pitch, yaw "
        "0.1, -0.2, 0.3333333333333333 rad."
    ) in text
    for words in (
        "at its centre of mass, base link axes, row by row",
        "Poses of all bodies in the base link.",
        "rotation matrices from body to base link, each",
        "origin [m/s], in base link axes",
        "0 is the base link.",
    ):
        assert words in text
    assert "world" not in text


@pytest.mark.parametrize("more", [{}, {"floating_base": True}], ids=["fixed", "floating"])
def test_the_header_of_an_arm_without_mounting_gives_poses_in_the_world(more):
    text = said(everything(arm(**more)))
    assert "Gravity: 0, 0, -9.81 m/s^2 in the world." in text
    assert "Poses of all bodies in the world." in text
    assert "base link" not in text


@pytest.mark.parametrize(("floats", "whose"), [(False, "base link"), (True, "world")])
def test_the_header_names_the_axes_of_a_gravity_argument(floats, whose):
    text = said(everything(arm(floating_base=floats), gravity_input=True))
    assert f"Gravity is an argument, in the axes of the {whose}. Damping" in text
    assert text.count(f"g: gravitational acceleration in the axes of the {whose} [m/s^2]") == 5
    assert f"Poses of all bodies in the {whose}." in text
    assert "9.81" not in text


def test_the_header_mentions_a_force_only_if_the_robot_has_it():
    for function, heavy, passive in (
        ("gravity", True, False), ("bias", True, False), ("inverse", True, True),
        ("forward", True, True), ("step", True, True), ("mass_matrix", False, False),
        ("kinematics", False, False),
    ):  # fmt: skip
        text = said(code_of(arm(), function))
        assert ("Gravity" in text) == heavy
        assert ("Damping, friction" in text) == passive


def test_a_comment_of_the_header_lists_the_sizes_that_the_functions_need():
    m = arm()
    for function, words in (
        ("gravity", "Lengths of q and v."),
        ("kinematics", "Length of q, number of bodies."),
    ):
        assert f"/* {words} */" in said(code_of(m, function))
    assert "/* Lengths of q and v, number of bodies. */" in said(everything(m))


def test_the_header_gives_the_axes_of_forces():
    m = build(auto_tree(len(LIBRARY), 2.0, kinds=LIBRARY, seed=3, shuffle=False))
    assert set(FORCES) <= {JointType(kind) for kind in m.jnt_type} | {JointType.FREE}
    text = said(code_of(m, "forward"))
    for name, kind in zip(m.jnt_names, m.jnt_type, strict=True):
        line = text.partition(f"Joint '{name}'")[2].partition("*/")[0]
        forces = FORCES.get(JointType(kind))
        assert ("; in tau " in line) == (forces is not None)
        assert forces is None or f"; in tau {forces}." in line
    assert "tau: forces in the joints [N m for angles, N for distances], see the joints ab" in text
    assert "in tau" not in said(code_of(m, "kinematics", "mass_matrix"))
    text = said(code_of(arm(), "forward"))
    assert "in tau" not in text
    assert "tau: forces in the joints [N m for angles, N for distances] a (output):" in text


def test_the_header_names_the_axes_of_free_joint_forces():
    """For a free joint, tau has the weight in world axes and the torque about it in body axes."""
    m = arm(floating_base=True)
    d = rb.make_data(m)
    d.qpos[3:7] = np.array([0.1, 0.5, -0.7, 0.5])  # the length of this quaternion is 1
    rb.kinematics(m, d)
    tau = rb.gravity_term(m, d)
    weight = -m.body_subtreemass[0] * m.opt.gravity
    np.testing.assert_allclose(tau[:3], weight, atol=1e-9)
    turn = d.xmat[1].reshape(3, 3)
    moments = [
        np.cross(position - d.xpos[1], -mass * m.opt.gravity)
        for position, mass in zip(d.xipos, m.body_mass, strict=True)
    ]
    np.testing.assert_allclose(tau[3:6], turn.T @ sum(moments), atol=1e-9)


@pytest.mark.parametrize(
    ("value", "text"),
    [(-2.0, "-2"), (0.1, "0.1"), (-0.123456789, "-0.123456789"), (1e22, "1e+22"),
     (np.float64(0.1 + 0.2), "0.30000000000000004"), (0.0, "0"), (1234567.0, "1234567")],
)  # fmt: skip
def test_numbers_in_comments_have_the_fewest_digits_that_read_back_exactly(value, text):
    assert shown(value) == text
