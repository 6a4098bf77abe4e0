# SPDX-License-Identifier: Apache-2.0
"""On these joint paths a frame moves along lines within limits; impossible paths are refused."""

import numpy as np
import pytest
from closed_loop import BENT, model
from scipy.spatial.transform import Rotation
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.motion.cartesian_motion import CartesianLimits
from rbdyn_ros.control.motion.cartesian_path import cartesian_path
from rbdyn_ros.errors import ParameterError, RbdynError

UR5, FRAME = "ur5_robot.urdf", "tool0"
LIMITS = CartesianLimits(0.2, 0.5, 0.6, 2.0)
FINE = 4001
REFUSED, BAD = "cartesian-path", "bad-argument"


class Bent:
    """A UR5 in a bent posture, and the pose of its tool."""

    def __init__(self, file=UR5, frame=FRAME):
        self.m, self.frame = model(file), frame
        self.d = rb.make_data(self.m)
        self.d.qpos = BENT[file]
        self.place, self.turn = rb.frame_pose(self.m, self.d, frame)

    def path(self, ways, turns=None, limits=LIMITS, **more):
        positions = self.place + np.atleast_2d(ways)
        return cartesian_path(self.m, self.d, self.frame, positions, turns, limits, **more)

    def poses(self, path):
        """Return finely spaced times of a path, and positions and rotations of the frame then."""
        times, rows = np.linspace(0.0, path.duration, FINE), np.empty((3, path.positions.shape[1]))
        d, found = rb.make_data(self.m), []
        for t in times:
            d.qpos = path.sample(t, rows)[0]
            found.append(rb.frame_pose(self.m, d, self.frame))
        return times, np.array([p for p, _ in found]), np.array([R for _, R in found])


@pytest.mark.parametrize(
    ("way", "duration"),
    [
        (0.3, 0.3 / 0.2 + 1.5 * 0.2 / 0.6),
        (0.02, 2.0 * np.sqrt(1.5 * 0.02 / 0.6)),  # this line is too short to reach the speed limit
    ],
)
def test_a_line_is_straight_and_within_its_limits(way, duration):
    arm = Bent()
    along = np.array([-0.6, 0.0, 0.8])
    times, places, turns = arm.poses(arm.path(way * along))
    assert times[-1] == pytest.approx(duration, rel=1e-12)
    share = (places - arm.place) @ along
    # the tolerance is the error of cubic splines between points 5 ms apart
    assert np.abs(places - arm.place - share[:, None] * along).max() < 2e-7
    assert np.abs(turns - arm.turn).max() < 2e-7
    assert share[-1] == pytest.approx(way, abs=1e-8)
    speed = np.gradient(share, times)
    assert speed.max() == pytest.approx(min(0.2, 2.0 * way / duration), rel=1e-3)
    assert np.abs(np.gradient(speed, times)).max() == pytest.approx(0.6, rel=1e-2)
    assert abs(speed[1]) < 1e-3


def test_a_rotation_keeps_its_axis_and_moves_no_point_of_the_frame():
    arm = Bent()
    axis = np.array([0.6, 0.8, 0.0])
    goal = Rotation.from_rotvec(0.7 * axis).as_matrix() @ arm.turn
    path = arm.path([0.0, 0.0, 0.0], goal)
    assert path.duration == pytest.approx(0.7 / 0.5 + 1.5 * 0.5 / 2.0)
    _, places, turns = arm.poses(path)
    turned = Rotation.from_matrix(turns @ arm.turn.T).as_rotvec()
    assert np.abs(places - arm.place).max() < 2e-7
    assert np.abs(turned - (turned @ axis)[:, None] * axis).max() < 2e-7
    assert (turned @ axis)[-1] == pytest.approx(0.7, abs=1e-8)


CORNERS = np.array([[-0.15, 0.0, 0.0], [-0.15, 0.0, 0.15], [-0.3, 0.1, 0.15], [-0.15, 0.0, 0.15]])


def test_poses_are_passed_within_the_blend_and_lines_are_kept_elsewhere():
    arm, blend = Bent(), 0.02
    stopping = arm.path(CORNERS)
    path = arm.path(CORNERS, limits=CartesianLimits(0.2, 0.5, 0.6, 2.0, blend))
    times, places, _ = arm.poses(path)
    assert path.duration < 0.9 * stopping.duration
    nodes = np.vstack([np.zeros(3), CORNERS]) + arm.place
    near = np.linalg.norm(places[:, None] - nodes, axis=2)
    ways = np.diff(nodes, axis=0)
    along = np.clip(np.einsum("tki,ki->tk", places[:, None] - nodes[:-1], ways), 0, None)
    share = np.minimum(along / (ways**2).sum(axis=1), 1.0)
    off = np.linalg.norm(places[:, None] - nodes[:-1] - share[..., None] * ways, axis=2).min(1)
    # the frame leaves the lines only near a pose, but passes every pose within the blend
    assert near.min(axis=1)[off > 1e-6].max() < blend
    assert off.max() > 1e-3
    assert near.min(axis=0).max() < blend
    speed = np.linalg.norm(np.gradient(places, times, axis=0), axis=1)
    gain = np.linalg.norm(np.gradient(np.gradient(places, times, axis=0), times, axis=0), axis=1)
    assert speed.max() < 0.2 * (1 + 1e-3)
    assert gain.max() < 0.6 * (1 + 2e-2)
    passing = slice(*np.searchsorted(times, [0.3, times[-1] * 0.4]))
    assert speed[passing].min() > 0.02
    _, stops, _ = arm.poses(stopping)
    assert np.linalg.norm(stops[:, None] - nodes, axis=2).min(axis=0).max() < 1e-6


def test_a_path_can_be_limited_to_named_joints():
    arm = Bent("panda.urdf", "panda_hand")
    names = [name for name in arm.m.jnt_names if name.startswith("panda_joint")]
    few = [name for name in names if name != "panda_joint3"][:6]
    path = arm.path([0.0, 0.05, 0.0], joints=few)
    assert path.positions.shape[1] == 6
    arm.d.qpos[[arm.m.jnt_qposadr[arm.m.jnt_names.index(name)] for name in few]] = path.positions[
        -1
    ]
    found = rb.frame_pose(arm.m, arm.d, "panda_hand")
    np.testing.assert_allclose(found[0], arm.place + np.array([0.0, 0.05, 0.0]), atol=2e-8)


@pytest.mark.parametrize(
    ("way", "limits", "code", "words"),
    [
        (
            [0.4, 0.2, 0.0],
            LIMITS,
            REFUSED,
            "of the motion to pose 0 the frame comes no nearer than",
        ),
        ([0.0, 0.0, 0.0], LIMITS, BAD, "already at all poses of the path"),
        ([-0.2, 0.0, 0.0], CartesianLimits(5.0, 5.0, 100.0, 100.0), REFUSED, "velocity limit"),
        # this line passes a posture in which two axes of the wrist are parallel
        ([-0.5, -0.3, 0.0], CartesianLimits(0.5, 1.0, 2.0, 2.0), REFUSED, "singular posture"),
        ([1e300, 0.0, 0.0], LIMITS, BAD, "positions"),
    ],
    ids=["out of reach", "no way", "too fast", "singular", "too far"],
)
def test_paths_that_the_arm_cannot_follow_are_refused(way, limits, code, words):
    arm = Bent()
    before = arm.d.qpos.copy()
    with refused(RbdynError, code) as caught:
        arm.path(way, limits=limits)
    assert words in str(caught.value)
    assert np.array_equal(arm.d.qpos, before)


@pytest.mark.parametrize(
    ("name", "value"), [("speed", 0.0), ("blend", -1.0), ("acceleration", np.nan)]
)
def test_invalid_limits_are_refused(name, value):
    with refused(ParameterError, "bad-argument", name):
        CartesianLimits(**{name: value})
