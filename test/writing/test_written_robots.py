# SPDX-License-Identifier: Apache-2.0
"""Robots written in another format are the same robots, or the loss is named."""

import numpy as np
import pytest
from support.mechanisms import crank_slider, delta, four_bar, rack, wedge
from support.refusals import refused
from support.robots import FAMILIES, SINGULAR, needs_robots, robot_id

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError

QUICK = ("a1", "baxter", "centauro", "panda", "ur5_robot")
SOUND = [path for path in FAMILIES if path.name not in SINGULAR]
each_robot = pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.nightly] * (robot_id(p) not in QUICK)) for p in SOUND],
    ids=list(map(robot_id, SOUND)),
)
SHAPES = rb.Contact(obstacles=())


def same(ours, theirs):
    """Assert that two Models have the same arrays, to rounding."""
    for name, value in vars(ours).items():
        if not isinstance(value, np.ndarray):
            continue
        other = getattr(theirs, name)
        assert value.shape == other.shape, name
        if value.dtype.kind == "f":
            # principal axes turn by the rounding of the inertia over the gap of its moments
            np.testing.assert_allclose(other, value, rtol=1e-11, atol=1e-11, err_msg=name)
        else:
            np.testing.assert_array_equal(other, value, err_msg=name)


def lost(findings):
    return {finding.message for finding in findings if finding.code == "left-out"}


@needs_robots
@each_robot
@pytest.mark.parametrize("suffix", [".urdf", ".yaml"])
def test_there_and_back_is_the_same_robot(path, suffix, tmp_path):
    written = tmp_path / f"robot{suffix}"
    rb.convert(path, written, strict=False)
    m = rb.load_urdf(path, strict=False, contact=SHAPES, srdf=suffix == ".urdf")
    same(m, rb.load(written, contact=SHAPES))


MECHANISMS = {
    "four_bar": four_bar(0.3, 0.8, 0.6, 0.7),
    "crank_slider": crank_slider(),
    "delta": delta(),
    "wedge": wedge(),
    "rack": rack(),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_file_says_what_a_builder_says(name, tmp_path):
    written = tmp_path / "robot.yaml"
    assert not lost(rb.convert(MECHANISMS[name], written))
    same(rb.build(MECHANISMS[name]), rb.load(written))


def test_what_a_format_cannot_say_is_named(tmp_path):
    system = (
        rb.SystemBuilder("losses", base="ground")
        .body("one", rb.shapes.sphere(0.1, mass=1.0))
        .joint("A", "revolute", "ground", "one", armature=0.1, stiffness=3.0)
        .spring("pull", "ground", "one", stiffness=2.0)
        .geometry("ball", "one", rb.Sphere(0.1), surface=rb.Surface(friction=0.3))
        .obstacle("floor", rb.Plane())
    )
    assert lost(rb.convert(system, tmp_path / "robot.urdf")) == {
        "joint 'A': its armature is left out: URDF cannot say it",
        "joint 'A': its stiffness is left out: URDF cannot say it",
        "spring 'pull': it is left out: URDF cannot say it",
        "geometry 'ball': its friction is left out: URDF cannot say it",
        "obstacle 'floor': it is left out: URDF cannot say it",
    }
    assert not lost(rb.convert(system, tmp_path / "robot.yaml"))
    same(rb.build(system), rb.load(tmp_path / "robot.yaml"))


@pytest.mark.parametrize(("suffix", "joint"), [("urdf", "teeth"), ("sdf", "teeth")])
def test_a_loop_without_a_word_for_it_is_named(suffix, joint, tmp_path):
    if suffix == "sdf":
        with refused(ParameterError, "not-convertible", f"joint '{joint}'"):
            rb.convert(rack(), tmp_path / "robot.sdf")
        return
    assert any(joint in text for text in lost(rb.convert(rack(), tmp_path / "robot.urdf")))


def test_a_joint_that_a_format_lacks_is_refused(tmp_path):
    system = (
        rb.SystemBuilder("screw", base="ground")
        .body("nut", rb.shapes.sphere(0.1, mass=1.0))
        .joint("thread", "helical", "ground", "nut", pitch=0.01)
    )
    for suffix in ("urdf", "xml"):
        with refused(ParameterError, "not-convertible", "joint 'thread'"):
            rb.convert(system, tmp_path / f"robot.{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_robot_is_not_replaced_by_itself(tmp_path):
    path = tmp_path / "robot.yaml"
    rb.convert(four_bar(0.1, 0.25, 0.2, 0.3), path)
    before = path.read_bytes()
    with refused(ParameterError, "same-file", "path"):
        rb.convert(path, path)
    with refused(ParameterError, "unknown-suffix", "path"):
        rb.convert(path, tmp_path / "robot.json")
    with refused(ParameterError, "unwritable-file", "path"):
        rb.convert(path, tmp_path / "nowhere" / "robot.urdf")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["robot.yaml"]
