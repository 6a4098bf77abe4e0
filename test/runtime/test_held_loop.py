# SPDX-License-Identifier: Apache-2.0
"""Until the first command a loop holds its robot by gravity compensation, brakes or the root."""

import dataclasses

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, walk
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.loading.standing import on_floor
from rbdyn_ros.ros.simulator.robot.start import (
    CARRIED,
    NO_FEET,
    NO_FLOOR,
    STANDING,
    held_at,
    in_stance,
    start_position,
)
from rbdyn_ros.runtime.settings import FLOATS, STANDS
from rbdyn_ros.runtime.types import EFFORT, Faults, TrajectoryOrder, Wrench

POSE = np.array([0.3, 0.9, -0.2, 0.4, 0.1, -0.5, 0.2])


def held(start, m, qpos, **settings):
    """Return a new loop that holds its robot at qpos."""
    return start(m, qpos, **(WALKING | settings), held=held_at(m, qpos).dofs)


def walker(contact):
    m = rb.load_urdf(find("go2.urdf"), floating_base=True, contact=contact, strict=False)
    start = start_position(m, {})
    return m, on_floor(m, start) if contact else start


def test_the_start_position_of_a_walker_is_the_stance_of_its_srdf_on_the_floor():
    m = rb.load("go2", floating_base=True, contact=True)
    given = {"initial_positions.FL_hip_joint": 0.0675}
    rough = start_position(m, given)
    qpos = on_floor(m, in_stance(m, rough, given))
    assert m.key_names == ("standing",)
    assert qpos[m.jnt_qposadr[m.jnt_id("FL_hip_joint")]] == 0.0675
    calves = [m.jnt_qposadr[m.jnt_id(f"{leg}_calf_joint")] for leg in ("FL", "FR", "RL", "RR")]
    assert qpos[calves].tolist() == [-1.44] * 4
    assert qpos[2] == pytest.approx(0.335, abs=1e-3)  # height of the stance
    assert held_at(m, qpos).text == STANDING
    assert not bundled_arm().nkey
    assert in_stance(bundled_arm(), POSE, {}) is POSE


def test_a_held_arm_stays_in_its_pose_up_to_rounding(start):
    m = bundled_arm()
    assert held_at(m, POSE).dofs.tolist() == [FLOATS] * m.nv
    loop = held(start, m, POSE)
    assert np.abs(walk(loop, 1000)[-1].qpos - POSE).max() < 1e-9
    assert loop.holding


def test_a_held_arm_moves_under_a_push_and_comes_to_rest(start):
    loop = held(start, bundled_arm(), POSE)
    loop.orders.push(Wrench(7, np.zeros(3), np.array([30.0, 20.0, 10.0]), np.zeros(3), False, 0.1))
    moved = walk(loop, 100)[-1]
    assert np.abs(moved.qpos - POSE).max() > 0.05
    rest = walk(loop, 3000)[-1]
    assert np.abs(rest.qvel).max() < 1e-3 * np.abs(moved.qvel).max()


def test_the_loop_holds_each_joint_until_the_first_command_for_it(start):
    m = bundled_arm()
    loop = held(start, m, POSE, command_timeout=0.01)
    loop.orders.command(commanded([3], EFFORT, effort=0.0))
    state = walk(loop, 300)[-1]
    assert abs(state.qpos[3] - POSE[3]) > 0.1  # this joint has no effort
    assert loop.holding
    loop.orders.command(commanded(np.arange(m.nv), EFFORT, effort=0.0))
    walk(loop, 300)
    assert not loop.holding
    state = loop.readout.latest()
    assert not state.effort.any()
    loop.plant.reset()
    assert loop.holding
    assert np.abs(walk(loop, 500)[-1].qpos - POSE).max() < 1e-9


@pytest.mark.parametrize("delay", [0, 20])
def test_a_release_also_ends_commands_with_lent_true_that_are_still_delayed(start, delay):
    """A command without `lent` for joint 2 and a trajectory for joint 4 still act afterwards."""
    loop = held(start, bundled_arm(), POSE)
    loop.plant.set_faults(dataclasses.replace(Faults.none(7), command_delay=1e-3 * delay))
    loop.orders.command(commanded([1, 2, 4], EFFORT, effort=0.1), lent=True)
    walk(loop, 30)
    loop.orders.command(commanded([1, 2, 4], EFFORT, effort=0.3), lent=True)
    loop.orders.command(commanded(2, EFFORT, effort=0.2))
    there = np.full((2, 1), POSE[4])
    loop.orders.track(
        TrajectoryOrder(np.array([4]), np.array([0.0, 9.0]), there, 0 * there, 0 * there, 1)
    )
    walk(loop, 1)
    loop.orders.release(hold=True)
    states = walk(loop, 60)
    assert not {0.1, 0.3} & {state.effort[1] for state in states}
    assert (states[-1].effort[2], states[-1].tracking, states[-1].stale) == (0.2, True, 5)
    assert loop.holding
    loop.orders.let_go()
    states = walk(loop, 30)
    assert not loop.holding
    assert (states[-1].effort[1], states[-1].effort[2], states[-1].tracking) == (0.0, 0.2, True)


@pytest.mark.parametrize("policy", ["zero", "gravity", "hold"])
def test_brakes_hold_a_walker_on_a_floor(start, policy):
    m, qpos = walker(contact=True)
    assert held_at(m, qpos).dofs.tolist() == [0] * 6 + [STANDS] * 12
    loop = held(start, m, qpos, on_timeout=policy)
    state = walk(loop, 1000)[-1]
    assert np.abs(state.qpos - qpos).max() < 1e-3
    assert np.abs(state.qpos[7:] - qpos[7:]).max() < 1e-9
    weight = 9.81 * m.body_mass.sum()
    assert state.contact[:, 2].sum() == pytest.approx(weight, rel=1e-2)


def test_the_first_command_releases_the_brakes(start):
    """Servos then hold the joints of the other legs until these joints get a command."""
    m, qpos = walker(contact=True)
    loop = held(start, m, qpos)
    walk(loop, 200)
    loop.orders.command(commanded([17], EFFORT, effort=-20.0))
    state = walk(loop, 300)[-1]
    assert np.abs(state.qpos[18:] - qpos[18:]).max() > 0.1
    assert np.abs(state.qpos[7:16] - qpos[7:16]).max() < 0.05
    assert state.effort.any()
    loop.orders.command(commanded(np.arange(6, 18), EFFORT, effort=0.0))
    assert not walk(loop, 10)[-1].effort.any()


def test_the_root_of_a_robot_without_a_floor_stays_in_place_until_the_first_command(start):
    m, qpos = walker(contact=False)
    loop = held(start, m, qpos)
    assert np.abs(walk(loop, 500)[-1].qpos - qpos).max() < 1e-9
    loop.orders.command(commanded([8], EFFORT, effort=0.0))
    state, d = walk(loop, 500)[-1], rb.make_data(m)
    heights = []
    for d.qpos in (qpos, state.qpos):
        rb.forward(m, d)
        heights.append(d.subtree_com[1, 2])
    assert heights[0] - heights[1] == pytest.approx(0.5 * 9.81 * 0.25, rel=0.01)


def test_a_loop_with_a_loaded_state_holds_its_robot_with_the_same_bits(start):
    m, qpos = walker(contact=True)
    loop = held(start, m, qpos)
    walk(loop, 50)
    saved = loop.save_state()
    expected = walk(loop, 50)[-1].row.tobytes()
    loop.orders.command(commanded(np.arange(6, 18), EFFORT, effort=0.0))
    walk(loop, 50)
    loop.load_state(saved)
    assert loop.holding
    assert walk(loop, 50)[-1].row.tobytes() == expected


@pytest.mark.parametrize(
    ("file", "options", "text"),
    [
        ("panda.urdf", {}, CARRIED),
        ("go2.urdf", {"floating_base": True, "contact": True}, STANDING),
        ("go2.urdf", {"floating_base": True}, NO_FLOOR),
        ("bolt.urdf", {"floating_base": True, "contact": True}, NO_FEET),  # it cannot stand
    ],
)
def test_the_text_of_a_hold_says_what_holds_the_robot(file, options, text):
    m = rb.load_urdf(find(file), strict=False, **options)
    qpos = start_position(m, {})
    assert held_at(m, on_floor(m, qpos) if "contact" in options else qpos).text == text


def test_the_motors_of_a_held_parallel_robot_carry_the_platform(start):
    m = rb.load("examples/delta_robot.yaml")
    qpos = start_position(m, {})
    carried = held_at(m, qpos)
    motors = [int(m.jnt_dofadr[m.jnt_id(f"motor_{k}")]) for k in (1, 2, 3)]
    assert (carried.text, np.flatnonzero(carried.dofs).tolist()) == (CARRIED, motors)
    assert np.abs(walk(held(start, m, qpos), 1000)[-1].qpos - qpos).max() < 1e-9


def test_a_scene_of_objects_alone_is_not_held():
    m = rb.scene(objects=[rb.Object("cube", rb.Box((0.1, 0.1, 0.1)), mass=1.0)])
    held = held_at(m, m.qpos0)
    assert (held.text, held.dofs.any()) == ("", False)
