# SPDX-License-Identifier: Apache-2.0
"""The pull of a hand: the grasped point follows the cursor for any weight of the robot."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support.robots import find
from support.rovers import TURTLEBOT3

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.share import bundled_robot

if jit.DISABLED:
    pytest.skip("the loop is compiled only", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))

from running import WALKING, commanded, walk

from rbdyn_ros.loading.standing import on_floor
from rbdyn_ros.model.connected import connected_mass
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.ros.simulator.robot.start import held_at, start_position
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.types import POSITION, Wrench
from rbdyn_ros.view.live.pull import (
    DAMPING,
    LEARNING,
    LEAST_EASE,
    MOST_LOAD,
    MOST_STIFFER,
    MOST_WEIGHTS,
    RATE,
    SAG_ANGLE,
    HandSpring,
)
from rbdyn_ros.view.scene.wrench_lines import USUAL_GRAVITY

#: Interval between the cursor positions of a browser [ticks of 1 ms].
RENEWAL = 33
WAY = np.array([0.1, -0.1, 0.1])


def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def cube():
    """Return a cube of 0.1 kg on the floor."""
    box = rb.Box((0.05, 0.05, 0.05))
    return rb.scene(objects=[rb.Object("cube", box, mass=0.1, pose=rb.pose((0.0, 0.0, 0.025)))])


def walker():
    return rb.load_urdf(find("go2.urdf"), floating_base=True, contact=True, strict=False)


def pick():
    """Return a Panda and a cube in front of it."""
    box, place = rb.Box((0.05, 0.05, 0.05)), rb.pose((0.5, 0.0, 0.025))
    return rb.scene(find("panda.urdf"), objects=[rb.Object("cube", box, mass=0.1, pose=place)])


def humanoid():
    return rb.load_urdf(find("talos_full_v2.urdf"), floating_base=True, strict=False)


CASES = [
    (arm, "tool_mount", (0.0, 0.0, 0.05)),
    (arm, "forearm", (0.05, 0.0, 0.1)),
    (arm, "wrist", (0.0, 0.04, 0.0)),
    (cube, "cube", (0.0, 0.0, 0.025)),
    (cube, "cube", (0.02, 0.0, 0.025)),
    (cube, "cube", (0.025, 0.0, 0.0)),
    (pick, "panda_hand", (0.0, 0.0, 0.1)),
    (pick, "panda_hand", (0.0, 0.1, 0.05)),
    (pick, "cube", (0.0, 0.0, 0.025)),
    (walker, "base", (0.2, 0.0, 0.05)),
    (walker, "base", (0.0, 0.05, 0.0)),
    (walker, "base", (-0.1, 0.0, 0.05)),
    (walker, "FL_foot", (0.0, 0.0, 0.0)),
    (walker, "FR_calf", (0.0, 0.0, -0.1)),
    (humanoid, "arm_left_7_link", (0.0, 0.0, 0.0)),
    (humanoid, "head_2_link", (0.0, 0.0, 0.1)),
    (humanoid, "leg_right_4_link", (0.0, 0.0, -0.2)),
    (TURTLEBOT3.model, "base", (0.0, 0.0, 0.1)),
    (TURTLEBOT3.model, "base", (0.0, 0.05, 0.1)),
    (TURTLEBOT3.model, "base", (0.03, 0.0, 0.1)),
]


@pytest.fixture
def begin():
    """Yield begin(m, qpos, **settings), which starts a stepped loop that holds a robot."""
    loops = []

    def start(m, qpos=None, **settings):
        qpos = m.qpos0 if qpos is None else qpos
        held = held_at(m, qpos).dofs
        settings = {"held": held, **WALKING, **settings}
        loops.append(Loop(m, LoopSettings(realtime="off", **settings), qpos))
        loops[-1].start()
        return loops[-1]

    yield start
    for loop in loops:
        loop.stop()


def place(loop, link, point):
    d = rb.make_data(loop.m)
    d.qpos = loop.readout.latest().qpos
    position, R = rb.frame_pose(loop.m, d, link)
    return position + R @ point


def hang(loop, link, point, share):
    """From now on, hang a load, a share of the robot's weight, from a point."""
    m = loop.m
    frame = m.frame_id(link)
    body = int(m.frame_bodyid[frame])
    at = m.frame_pos[frame] + quat_to_mat(m.frame_quat[frame]) @ point
    down = (0.0, 0.0, -share * USUAL_GRAVITY * connected_mass(m, body))
    loop.orders.push(Wrench(body, at, down, np.zeros(3), False, 100.0), "load")


def drag(loop, link, point, goal, seconds):
    """Pull like a view; return the motion of the point, three ticks a row (n, 3)."""
    spring, way = HandSpring(loop), []
    for _ in range(round(seconds * 1000) // RENEWAL):
        loop.orders.push(spring.pull(link, point, goal, 0.25), "hand")
        for _ in range(RENEWAL // 3):
            walk(loop, 3)
            way.append(place(loop, link, point))
    return np.array(way)


@pytest.mark.parametrize("load", [0.0, 0.5])
@pytest.mark.parametrize(("model", "link", "point"), CASES)
def test_the_point_follows_the_cursor_and_does_not_swing(begin, model, link, point, load):
    """The test includes a load of half the robot's weight at the point."""
    m, point = model(), np.array(point)
    qpos = start_position(m, {})
    loop = begin(m, on_floor(m, qpos) if model is walker else qpos)
    walk(loop, 50)
    start, length = place(loop, link, point), np.linalg.norm(WAY)
    hang(loop, link, point, load)
    way = drag(loop, link, point, start + WAY, 2.0)
    late = len(way) // 4  # number of samples in half a second
    assert np.linalg.norm(way[late:] - start - WAY, axis=1).max() < 0.05
    along = (way - start) @ WAY / length
    assert along.max() < 1.1 * length
    back = np.maximum.accumulate(along[late:]) - along[late:]
    assert back.max() < 0.1 * length


def test_the_load_estimated_during_a_drag_is_zero_at_the_next_drag(begin):
    """The goal leads the point by load / stiffness, at most by what the largest load needs."""
    loop = begin(cube())
    spring, up = HandSpring(loop), np.array([0.0, 0.0, 1.0])
    far = place(loop, "cube", np.zeros(3)) + up

    def lead(point, seconds):
        pull = spring.pull("cube", point, far, 0.25)
        walk(loop, round(seconds * 1000))
        return (pull.goal - far)[2] * pull.stiffness[2, 2]

    assert lead(np.zeros(3), 0.1) == 0.0
    first = LEARNING * 0.1 * 0.1 * RATE**2  # the cube rests: 0.1 kg RATE^2 times a metre
    assert lead(np.zeros(3), 0.2) == pytest.approx(min(first, MOST_LOAD * 0.981), rel=1e-3)
    assert lead(np.zeros(3), 0.3) == pytest.approx(MOST_LOAD * 0.1 * USUAL_GRAVITY)
    assert lead(np.zeros(3), 0.0) == 0.0  # the pause was longer than a pull lasts
    assert lead(0.01 * up, 0.1) == 0.0  # a pull at another point begins without a load


def test_a_thrown_cube_flies_on(begin):
    loop = begin(cube())
    walk(loop, 50)
    point = np.zeros(3)
    start = place(loop, "cube", point)
    drag(loop, "cube", point, start + np.array([0.0, 0.0, 0.5]), 0.17)
    before = loop.readout.latest()
    assert before.qvel[2] > 0.5
    loop.orders.clear_wrenches()
    after = walk(loop, 100)[-1]
    assert after.qvel[2] == pytest.approx(before.qvel[2] - 9.81 * 0.1, rel=1e-6)


def test_a_link_is_turned_to_an_orientation(begin):
    """The humanoid's head looks to its left by half a radian, and stays there."""
    m = humanoid()
    loop = begin(m)
    d = rb.make_data(m)
    d.qpos = m.qpos0
    R = rb.frame_pose(m, d, "head_2_link")[1].copy()
    c, s = np.cos(0.5), np.sin(0.5)
    goal = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ R
    drag(loop, "head_2_link", np.zeros(3), goal.reshape(-1), 2.0)
    d.qpos = loop.readout.latest().qpos
    error = rb.frame_pose(m, d, "head_2_link")[1] @ goal.T
    assert np.arccos(0.5 * (np.trace(error) - 1.0)) < SAG_ANGLE


def test_a_free_body_is_pulled_as_a_mass_on_a_spring(begin):
    """Closed form: stiffness m w^2 and damping 2 m w at the centre of mass."""
    loop = begin(cube())
    pull = HandSpring(loop).pull("cube", np.zeros(3), np.ones(3), 0.2)
    assert pull.stiffness == pytest.approx(0.1 * RATE**2 * np.eye(3), abs=1e-9)
    assert pull.lag == 2.0 * DAMPING / RATE
    assert pull.most == pytest.approx(MOST_WEIGHTS * USUAL_GRAVITY * 0.1)
    turn = HandSpring(loop).pull("cube", np.zeros(3), np.eye(3).reshape(-1), 0.2)
    assert turn.stiffness == pytest.approx(RATE**2 * 0.1 * 0.05**2 / 6.0 * np.eye(3), abs=1e-9)


def test_a_coarse_timestep_softens_the_spring(begin):
    m = cube()
    m.opt.timestep = 0.05
    pull = HandSpring(begin(m)).pull("cube", np.zeros(3), np.ones(3), 0.2)
    assert pull.stiffness == pytest.approx(0.1 * 4.0**2 * np.eye(3), abs=1e-9)


@pytest.mark.parametrize("robot", ["seven_dof_arm", "pendulum"])
def test_the_effective_mass_of_a_pull_is_at_most_the_mass_of_the_robot(begin, robot):
    """If the robot cannot move at all, as along a stretched arm, its inertia has no bound."""
    m = rb.load_urdf(bundled_robot(robot))
    loop, link = begin(m), m.body_names[-1]
    pull = HandSpring(loop).pull(link, np.zeros(3), np.zeros(3), 0.2)
    heaviest = np.linalg.eigvalsh(pull.stiffness).max() / RATE**2
    assert heaviest <= m.body_mass.sum() * (1.0 + 1e-9)
    turn = HandSpring(loop).pull(link, np.zeros(3), np.eye(3).reshape(-1), 0.2)
    light, *_, heavy = np.linalg.eigvalsh(turn.stiffness)
    assert heavy <= light * MOST_STIFFER / LEAST_EASE * (1.0 + 1e-9)


def test_a_robot_held_by_its_servos_is_pulled_as_one_body(begin):
    """A robot whose joints are all commanded to their positions is pulled as one body."""
    m = rb.load_urdf(find("go2.urdf"), floating_base=True, strict=False)
    loop = begin(m)
    loose = HandSpring(loop).pull("FL_foot", np.zeros(3), np.zeros(3), 0.2).stiffness
    joints = np.arange(6, m.nv)
    loop.orders.command(
        commanded(joints, POSITION, position=loop.readout.latest().qpos[7:].mean())
    )
    walk(loop, 2)
    stiff = HandSpring(loop).pull("FL_foot", np.zeros(3), np.zeros(3), 0.2).stiffness
    assert np.linalg.eigvalsh(stiff).min() > 3.0 * np.linalg.eigvalsh(loose).min()


def test_the_world_and_unknown_links_are_refused(begin):
    spring = HandSpring(begin(arm()))
    for link in ("base_link", "no link"):
        with pytest.raises(RbdynError):
            spring.pull(link, np.zeros(3), np.zeros(3), 0.2)
