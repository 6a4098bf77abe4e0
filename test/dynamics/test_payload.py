# SPDX-License-Identifier: Apache-2.0
"""rb.with_payload agrees with a file that has the load, and with Pinocchio."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS

MASS, COM = 1.7, (0.03, -0.05, 0.11)
INERTIA = (0.021, 0.019, 0.008, 0.0011, -0.0007, 0.0023)
#: Fields that are not compared: a body with two equal moments has arbitrary principal axes.
#: Inertia matrices are compared instead.
AXES = ("body_iquat", "body_imat")


def laden(path, link):
    """Return the URDF of a robot with the load as a link, which is fixed to `link`."""
    robot = ET.parse(path).getroot()
    load = ET.SubElement(robot, "link", name="the_load")
    inertial = ET.SubElement(load, "inertial")
    ET.SubElement(inertial, "origin", xyz=" ".join(map(repr, COM)))
    ET.SubElement(inertial, "mass", value=repr(MASS))
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    ET.SubElement(inertial, "inertia", dict(zip(names, map(repr, INERTIA), strict=True)))
    joint = ET.SubElement(robot, "joint", name="load_mount", type="fixed")
    ET.SubElement(joint, "parent", link=link)
    ET.SubElement(joint, "child", link="the_load")
    return ET.tostring(robot, encoding="unicode")


def inertias(m):
    axes = m.body_imat.reshape(-1, 3, 3)
    return np.einsum("nij,nj,nkj->nik", axes, m.body_inertia, axes)


@needs_robots
@pytest.mark.parametrize(
    ("file", "link", "floating"),
    [
        ("ur5_robot.urdf", "tool0", False),
        ("panda.urdf", "panda_hand", False),
        ("panda.urdf", "panda_leftfinger", False),
        ("talos_reduced.urdf", "gripper_left_base_link", True),
    ],
)
def test_a_payload_equals_the_same_load_in_the_robot_file(file, link, floating):
    path = find(file)
    plain = rb.load_urdf(path, floating_base=floating, strict=False)
    loaded = with_payload(plain, link, MASS, COM, INERTIA)
    whole = rb.load_urdf(laden(path, link), floating_base=floating, strict=False)
    for field in MODEL_FIELDS:
        name = field.name
        if name.startswith("body_") and name not in AXES:
            ours, theirs = getattr(loaded, name), getattr(whole, name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14, err_msg=name)
        elif not name.startswith(("body_", "frame_", "dof_inertia0")):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(plain, name), name)
    np.testing.assert_allclose(inertias(loaded), inertias(whole), rtol=1e-12, atol=1e-14)
    assert loaded.body_mass.sum() == pytest.approx(plain.body_mass.sum() + MASS, rel=1e-14)
    _same_motion(loaded, whole)


def _same_motion(a, b):
    rng = np.random.default_rng(5)
    qpos = rb.random_qpos(a, rng)
    qvel, tau = rng.normal(size=a.nv), rng.normal(size=a.nv)
    found = []
    for m in (a, b):
        d = rb.make_data(m)
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = qpos, qvel, tau
        rb.forward(m, d)
        found.append(d.qacc.copy())
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


@needs_robots
def test_two_payloads_agree_with_pinocchio():
    pin = pytest.importorskip("pinocchio")
    path = find("ur5_robot.urdf")
    m = with_payload(rb.load_urdf(path), "tool0", MASS, COM, INERTIA)
    m = with_payload(m, "forearm_link", 0.6, (0.0, 0.1, 0.0))
    model = pin.buildModelFromUrdf(str(path))
    matrix = np.array(
        [[0.021, 0.0011, -0.0007], [0.0011, 0.019, 0.0023], [-0.0007, 0.0023, 0.008]]
    )
    for name, mass, com, inertia in (
        ("tool0", MASS, COM, matrix),
        ("forearm_link", 0.6, (0.0, 0.1, 0.0), np.zeros((3, 3))),
    ):
        frame = model.frames[model.getFrameId(name)]
        load = pin.Inertia(mass, np.array(com), inertia)
        model.appendBodyToJoint(frame.parentJoint, load, frame.placement)
    rng = np.random.default_rng(1)
    d, data = rb.make_data(m), model.createData()
    d.qpos[:], d.qvel[:], d.qacc[:] = rng.normal(size=(3, 6))
    rb.inverse(m, d)
    theirs = pin.rnea(model, data, d.qpos, d.qvel, d.qacc)
    np.testing.assert_allclose(d.qfrc_inverse, theirs, rtol=1e-11, atol=1e-11)


@pytest.fixture
def arm():
    return rb.load_urdf("config/robots/seven_dof_arm.urdf")


def test_a_payload_without_mass_changes_nothing(arm):
    same = with_payload(arm, "hand", 0.0, (1.0, 0.0, 0.0))
    assert same.sha256() == arm.sha256()
    assert same is not arm


def test_a_model_with_a_payload_has_its_own_copy_of_the_options(arm):
    arm.opt.gravity = (0.0, 0.0, -1.62)
    loaded = with_payload(arm, "hand", 1.0, (0.0, 0.0, 0.0))
    assert loaded.opt.gravity.tolist() == [0.0, 0.0, -1.62]
    loaded.opt.gravity = (0.0, 0.0, -9.81)
    assert arm.opt.gravity.tolist() == [0.0, 0.0, -1.62]


def test_a_payload_does_not_change_the_layout_of_data(arm):
    loaded = with_payload(arm, "hand", 1.0, (0.0, 0.0, 0.0))
    assert loaded.data_offsets == arm.data_offsets
    assert loaded.data_slots == arm.data_slots


@pytest.mark.parametrize(
    ("given", "error", "code", "element"),
    [
        ({"frame": "hnd"}, rb.ModelError, "unknown-frame", "hnd"),
        ({"frame": "base_link"}, rb.ParameterError, "payload", "base_link"),
        ({"mass": float("nan")}, rb.ParameterError, "bad-argument", ""),
        ({"mass": -1.0}, rb.ParameterError, "payload", "payload"),
        ({"com": (0.0, 0.0)}, rb.ParameterError, "bad-argument", ""),
        ({"com": (0.0, float("inf"), 0.0)}, rb.ParameterError, "bad-argument", ""),
        ({"inertia": (1.0, 1.0, 2.5, 0.0, 0.0, 0.0)}, rb.ParameterError, "payload", "payload"),
        ({"inertia": (1.0, 1.0, 1.0, 1.5, 0.0, 0.0)}, rb.ParameterError, "payload", "payload"),
        (
            {"mass": 0.0, "inertia": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)},
            rb.ParameterError,
            "payload",
            "payload",
        ),
        ({"mass": 1e300, "com": (1e300, 0.0, 0.0)}, rb.ParameterError, "payload", "payload"),
    ],
)
def test_impossible_inertias_are_refused(arm, given, error, code, element):
    arguments = {"frame": "hand", "mass": 1.0, "com": (0.0, 0.0, 0.0)} | given
    with refused(error, code, element):
        with_payload(arm, **arguments)
