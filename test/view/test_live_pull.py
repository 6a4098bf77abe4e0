# SPDX-License-Identifier: Apache-2.0
"""The pull of a cursor moves the grasped point to the cursor for any weight of the robot."""

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

#: Interval between two cursor positions that a browser sends [ticks of 1 ms].
RENEWAL = 33
WAY = np.array([0.1, -0.1, 0.1])


def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def cube():
    """Return the Model of a cube of 0.1 kg on the floor."""
    box = rb.Box((0.05, 0.05, 0.05))
    return rb.scene(objects=[rb.Object("cube", box, mass=0.1, pose=rb.pose((0.0, 0.0, 0.025)))])


def walker():
    return rb.load_urdf(find("go2.urdf"), floating_base=True, contact=True, strict=False)


def pick():
    """Return the Model of a Panda and of a cube in front of the Panda."""
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
    """Yield begin(m, qpos, **settings), which starts a loop that holds a robot and is stepped."""
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
    """Push a point down from now on, by a share of the robot's weight."""
    m = loop.m
    frame = m.frame_id(link)
    body = int(m.frame_bodyid[frame])
    at = m.frame_pos[frame] + quat_to_mat(m.frame_quat[frame]) @ point
    down = (0.0, 0.0, -share * USUAL_GRAVITY * connected_mass(m, body))
    loop.orders.push(Wrench(body, at, down, np.zeros(3), False, 100.0), "load")


def drag(loop, link, point, goal, seconds):
    """Pull like a view; return the positions (n, 3) of the point every three ticks."""
    spring, way = HandSpring(loop), []
    for _ in range(round(seconds * 1000) // RENEWAL):
        loop.orders.push(spring.pull(link, point, goal, 0.25), "hand")
        for _ in range(RENEWAL // 3):
            walk(loop, 3)
            way.append(place(loop, link, point))
    return np.array(way)


@pytest.mark.parametrize("load", [0.0, 0.5])
@pytest.mark.parametrize(("model", "link", "point"), CASES)
def test_a_pulled_point_follows_the_cursor_without_swinging(begin, model, link, point, load):
    """With a load, half of the robot's weight also acts at the point."""
    m, point = model(), np.array(point)
    qpos = start_position(m, {})
    loop = begin(m, on_floor(m, qpos) if model is walker else qpos)
    walk(loop, 50)
    start, length = place(loop, link, point), np.linalg.norm(WAY)
    hang(loop, link, point, load)
    way = drag(loop, link, point, start + WAY, 2.0)
    late = len(way) // 4  # number of rows in half a second
    assert np.linalg.norm(way[late:] - start - WAY, axis=1).max() < 0.05
    along = (way - start) @ WAY / length
    assert along.max() < 1.1 * length
    back = np.maximum.accumulate(along[late:]) - along[late:]
    assert back.max() < 0.1 * length


def test_the_load_that_a_drag_estimates_is_zero_at_the_next_drag(begin):
    """The goal leads the cursor by load / stiffness, where the load has a largest value."""
    loop = begin(cube())
    spring, up = HandSpring(loop), np.array([0.0, 0.0, 1.0])
    far = place(loop, "cube", np.zeros(3)) + up

    def lead(point, seconds):
        pull = spring.pull("cube", point, far, 0.25)
        walk(loop, round(seconds * 1000))
        return (pull.goal - far)[2] * pull.stiffness[2, 2]

    assert lead(np.zeros(3), 0.1) == 0.0
    first = LEARNING * 0.1 * 0.1 * RATE**2  # [N], for a cube that stays 1 m behind
    assert lead(np.zeros(3), 0.2) == pytest.approx(min(first, MOST_LOAD * 0.981), rel=1e-3)
    assert lead(np.zeros(3), 0.3) == pytest.approx(MOST_LOAD * 0.1 * USUAL_GRAVITY)
    assert lead(np.zeros(3), 0.0) == 0.0  # the last pull has ended before this pull
    assert lead(0.01 * up, 0.1) == 0.0  # a pull at another point has no load yet


def test_a_cube_flies_on_after_the_end_of_a_pull(begin):
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


def test_a_pull_turns_a_link_to_an_orientation(begin):
    """The head of a humanoid turns to the left by half a radian, and keeps this angle."""
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


def test_the_pull_of_a_free_body_has_the_spring_and_damper_of_its_mass(begin):
    """At the centre of mass the stiffness is m w^2 and the damping is 2 m w, in closed form."""
    loop = begin(cube())
    pull = HandSpring(loop).pull("cube", np.zeros(3), np.ones(3), 0.2)
    assert pull.stiffness == pytest.approx(0.1 * RATE**2 * np.eye(3), abs=1e-9)
    assert pull.lag == 2.0 * DAMPING / RATE
    assert pull.most == pytest.approx(MOST_WEIGHTS * USUAL_GRAVITY * 0.1)
    turn = HandSpring(loop).pull("cube", np.zeros(3), np.eye(3).reshape(-1), 0.2)
    assert turn.stiffness == pytest.approx(RATE**2 * 0.1 * 0.05**2 / 6.0 * np.eye(3), abs=1e-9)


def test_a_pull_with_a_coarse_timestep_has_a_softer_spring(begin):
    m = cube()
    m.opt.timestep = 0.05
    pull = HandSpring(begin(m)).pull("cube", np.zeros(3), np.ones(3), 0.2)
    assert pull.stiffness == pytest.approx(0.1 * 4.0**2 * np.eye(3), abs=1e-9)


@pytest.mark.parametrize("robot", ["seven_dof_arm", "pendulum"])
def test_the_effective_mass_of_a_pull_is_at_most_the_mass_of_the_robot(begin, robot):
    """Along a stretched arm, where the robot cannot move, the inertia itself has no bound."""
    m = rb.load_urdf(bundled_robot(robot))
    loop, link = begin(m), m.body_names[-1]
    pull = HandSpring(loop).pull(link, np.zeros(3), np.zeros(3), 0.2)
    heaviest = np.linalg.eigvalsh(pull.stiffness).max() / RATE**2
    assert heaviest <= m.body_mass.sum() * (1.0 + 1e-9)
    turn = HandSpring(loop).pull(link, np.zeros(3), np.eye(3).reshape(-1), 0.2)
    light, *_, heavy = np.linalg.eigvalsh(turn.stiffness)
    assert heavy <= light * MOST_STIFFER / LEAST_EASE * (1.0 + 1e-9)


def test_a_robot_held_by_its_servos_is_pulled_as_one_body(begin):
    """Servos hold all joints of the robot, so a pull of a foot has a far larger stiffness."""
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


def test_a_pull_of_the_world_or_of_an_unknown_link_is_refused(begin):
    spring = HandSpring(begin(arm()))
    for link in ("base_link", "no link"):
        with pytest.raises(RbdynError):
            spring.pull(link, np.zeros(3), np.zeros(3), 0.2)
