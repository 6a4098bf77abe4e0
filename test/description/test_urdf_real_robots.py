# SPDX-License-Identifier: Apache-2.0
"""Every URDF of example-robot-data is read as by Pinocchio, if Pinocchio reads it."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

from rbdyn_ros.description.robot_files import read
from rbdyn_ros.errors import DescriptionError


def _folder():
    places = [Path(entry) / "cmeel.prefix" for entry in sys.path if entry]
    spec = importlib.util.find_spec("example_robot_data")
    if spec is not None and spec.origin:
        places += list(Path(spec.origin).resolve().parents)[:6]
    for place in places:
        robots = place / "share/example-robot-data/robots"
        if robots.is_dir():
            return robots
    return None


ROBOTS = _folder()
FILES = sorted(ROBOTS.glob("**/*.urdf")) if ROBOTS else []
REFUSED = {
    "alex_psyonic_hands.urdf": {"mimic-unknown"},
    "ur3.urdf": {"missing-name", "no-links"},
}

pytestmark = pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")


def name_of(path):
    return str(path.relative_to(ROBOTS))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_real_robots_are_read_or_refused_as_listed(path):
    expected = REFUSED.get(path.name)
    if expected is None:
        robot = read(path)
        assert len(robot.links) == len(robot.joints) + 1
    else:
        with pytest.raises(DescriptionError) as caught:
            read(path)
        assert {finding.code for finding in caught.value.findings} == expected
    if path.name != "ur3.urdf":
        relaxed = read(path, strict=False)
        repaired = {f.code for f in relaxed.findings if f.severity == "warning"}
        assert expected is None or expected <= repaired


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_joints_and_inertias_of_real_robots_agree_with_pinocchio(path):
    pinocchio = pytest.importorskip("pinocchio")
    try:
        model = pinocchio.buildModelFromUrdf(str(path))
    except (ValueError, RuntimeError) as error:
        pytest.skip(f"Pinocchio does not read it: {error}")
    if path.name == "ur3.urdf":
        pytest.skip("it has neither a name nor links; Pinocchio reads an empty model")
    robot = read(path, strict=False)
    moving = {joint.name: joint for joint in robot.joints if joint.type != "fixed"}
    assert set(moving) == set(list(model.names)[1:])
    bodies = {frame.name for frame in model.frames if frame.type == pinocchio.FrameType.BODY}
    frames = {f"{sensor.name}_frame" for sensor in robot.sensors}
    assert {link.name for link in robot.links} - frames == bodies
    mass = math.fsum(link.inertial.mass for link in robot.links if link.inertial)
    assert mass == pytest.approx(math.fsum(body.mass for body in model.inertias))
    for index, name in enumerate(model.names):
        if index == 0 or model.joints[index].nq != 1:
            continue
        joint, q, v = moving[name], model.joints[index].idx_q, model.joints[index].idx_v
        assert joint.limit.lower == model.lowerPositionLimit[q]
        assert joint.limit.upper == model.upperPositionLimit[q]
        assert joint.limit.velocity == model.velocityLimit[v]
        assert joint.limit.effort == model.upperEffortLimit[v]
        assert joint.damping == model.damping[v]


@pytest.mark.parametrize("path", FILES[::4], ids=name_of)
def test_frames_agree_with_pinocchio(path):
    """Pinocchio fuses fixed joints, so joints directly after a fixed joint are not compared."""
    pinocchio = pytest.importorskip("pinocchio")
    if path.name == "ur3.urdf":
        pytest.skip("it has neither a name nor links")
    robot = read(path, strict=False)
    model = pinocchio.buildModelFromUrdf(str(path))
    above = {joint.child: joint.type for joint in robot.joints}
    for joint in robot.joints:
        if joint.type == "fixed" or above.get(joint.parent) == "fixed":
            continue
        w, x, y, z = joint.origin.quat
        rotation = pinocchio.Quaternion(w, x, y, z).matrix()
        placement = model.jointPlacements[model.getJointId(joint.name)]
        assert placement.translation == pytest.approx(joint.origin.pos, abs=1e-12)
        assert placement.rotation == pytest.approx(rotation, abs=1e-12)
