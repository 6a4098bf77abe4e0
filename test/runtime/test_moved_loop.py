# SPDX-License-Identifier: Apache-2.0
"""When objects of a loop change, the other parts keep their state and future bit for bit."""

import dataclasses
import os

import numpy as np
import pytest
from running import WALKING, commanded, walk
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.scenes.entities import with_entity, without_entity
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.description.source import read
from rbdyn_ros.loading.load import complete
from rbdyn_ros.runtime.port import Port
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.types import EFFORT, POSITION, Faults, TrajectoryOrder, Wrench

SCENE = "config/scenes/gripper.yaml"
PENDULUM = """<robot name="p"><link name="base"><inertial><mass value="2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="rod"><inertial>
<origin xyz="0 0 -0.4"/><mass value="0.7"/>
<inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
</joint></robot>"""
FAR = rb.Object("far", rb.Box((0.1, 0.1, 0.1)), mass=0.2, pose=rb.pose((50.0, 0.0, 40.0)))


def scene():
    described = read(SCENE)
    return described, complete(described)


def go_on(loop, described, of_new=None):
    """Exchange the objects of a loop; return the states sent meanwhile. of_new(m): new Faults."""
    base = complete(described, before=loop.m)
    read_states = []

    def drain(_):
        while (state := loop.readout.next_state(0.0)) is not None:
            read_states.append(state)

    loop.move(base, base, base.qpos0, drain, of_new=of_new and of_new(base))
    return read_states


def noisy(nv):
    none = Faults.none(nv)
    noise = np.zeros(nv)
    noise[:3] = 1e-3
    return dataclasses.replace(
        none,
        command_delay=0.004,
        command_jitter=0.003,
        command_drop=0.2,
        state_delay=0.002,
        state_jitter=0.004,
        encoder_noise=noise,
        effort_noise=100 * noise,
    )


def set_going(loop, faults=noisy):
    """Give a loop faults and orders of all kinds, some of which still act afterwards."""
    loop.plant.set_faults(faults(loop.m.nv))
    loop.orders.command(commanded(np.arange(1), POSITION, position=-0.1))
    walk(loop, 300)  # the cube and the ball lie on the table
    points = np.array([[0.01, 0.01], [0.02, 0.02]])
    times = np.array([0.03, 0.2])
    loop.orders.track(TrajectoryOrder(np.array([1, 2]), times, points, 0 * points, 0 * points, 3))
    cube = loop.m.body_id("cube")
    zero = np.zeros(3)
    loop.orders.push(Wrench(cube, zero, np.array([0.3, 0.1, 0.0]), zero, False, 0.06))
    walk(loop, 15)
    loop.orders.command(commanded(np.arange(1), EFFORT, effort=3.0))


def seen(states, m):
    """Return the data of states for the parts of m, which come first in a larger Model."""
    return [
        (
            *(s.tick, s.epoch, s.measured_tick, s.stale, s.tracking),
            *(part[: m.nv].tolist() for part in (s.qvel, s.effort, s.qacc, s.stick_qfrc)),
            *(part[: m.nv].tolist() for part in (s.measured_position, s.measured_velocity)),
            *(part[: m.nbody].tolist() for part in (s.xfrc, s.contact)),
            s.qpos[: m.nq].tolist(),
            s.stick[:, 1:].tolist(),
        )
        for s in states
    ]


def future(start, change, ticks=60):
    described, m = scene()
    loop = start(m, **WALKING)
    set_going(loop)
    if change is not None:
        change(loop, described)
    states = walk(loop, ticks)
    return loop, seen(states, m), states


def test_a_new_object_leaves_the_motion_of_other_parts_unchanged_to_the_bit(start):
    _, expected, _ = future(start, None)
    loop, got, states = future(start, lambda loop, d: go_on(loop, with_entity(d, FAR)))
    assert got == expected
    at = loop.m.jnt_qposadr[loop.m.jnt_id("far")]
    fallen = 40.0 - states[-1].qpos[at + 2]
    assert fallen == pytest.approx(0.5 * 9.81 * 0.06**2, rel=0.05)


def test_an_object_that_is_added_and_deleted_changes_no_bit_of_the_motion(start):
    def change(loop, described):
        go_on(loop, with_entity(described, FAR))
        walk(loop, 20)
        go_on(loop, described)

    _, _, expected = future(start, lambda loop, _: walk(loop, 20))
    _, _, got = future(start, change)
    assert [s.hash() for s in got] == [s.hash() for s in expected]
    assert [s.row.tobytes() for s in got] == [s.row.tobytes() for s in expected]


def test_an_object_falls_when_the_object_below_is_deleted(start):
    described, _ = scene()
    lower = rb.Object("lower", rb.Box((0.1, 0.1, 0.1)), mass=1.0, pose=rb.pose((2, 0, 0.05)))
    upper = rb.Object("upper", rb.Box((0.1, 0.1, 0.1)), mass=1.0, pose=rb.pose((2, 0, 0.15)))
    both = with_entity(with_entity(described, lower), upper)
    loop = start(complete(both), **WALKING)
    walk(loop, 300)
    assert height(loop, "upper") == pytest.approx(0.15, abs=1e-4)
    go_on(loop, without_entity(both, "lower"))
    assert height(loop, "upper") == pytest.approx(0.15, abs=1e-4)
    walk(loop, 600)
    assert height(loop, "upper") == pytest.approx(0.05, abs=1e-4)
    assert "lower" not in loop.m.jnt_names


def height(loop, name):
    return loop.readout.latest().qpos[loop.m.jnt_qposadr[loop.m.jnt_id(name)] + 2]


def test_a_wrench_acts_on_its_body_after_another_body_is_deleted(start):
    described, m = scene()
    loop = start(m, **WALKING)
    zero, force = np.zeros(3), np.array([0.0, 0.0, 0.1])
    for name in ("cube", "ball"):
        loop.orders.push(Wrench(m.body_id(name), zero, force, zero, False, 10.0))
    go_on(loop, without_entity(described, "cube"))
    state = walk(loop, 3)[-1]
    assert [w.body for w in loop.orders.wrenches()] == [loop.m.body_id("ball")]
    assert state.xfrc[loop.m.body_id("ball")].tolist() == [0.0, 0.0, 0.1, 0.0, 0.0, 0.0]


def test_a_change_that_fails_between_two_ticks_has_no_effect(start):
    """Delayed commands and measurements also stay unchanged."""

    def refuse(_):
        raise RuntimeError

    def change(loop, described):
        base = complete(without_entity(described, "cube"), before=loop.m)
        with pytest.raises(RuntimeError):
            loop.move(base, base, base.qpos0, refuse)

    _, expected, _ = future(start, None)
    _, got, _ = future(start, change)
    assert got == expected


def test_an_object_whose_joint_is_in_shared_memory_cannot_be_deleted(start):
    described, m = scene()
    given = LoopSettings(realtime="off", **WALKING)
    port = Port(f"moved{os.getpid()}", m, {"lift": True, "cube": False}, (), given, 1_000_000)
    loop = start(m, port=port, **WALKING)
    with refused(rb.RbdynError, "request"):
        go_on(loop, without_entity(described, "cube"))
    assert (loop.m, len(walk(loop, 3))) == (m, 3)
    go_on(loop, without_entity(described, "ball"))
    assert walk(loop, 3)[-1].m is loop.m
    loop.stop()
    port.close()


def test_a_loop_that_has_stopped_cannot_change_its_objects(start):
    described, m = scene()
    loop = start(m, **WALKING)
    loop.stop()
    with refused(rb.RbdynError, "request"):
        go_on(loop, described)


def without_ball(states, m):
    """Return the data of states without data of the ball, which is the scene's last object."""
    q, k = m.jnt_qposadr[m.jnt_id("ball")], m.jnt_dofadr[m.jnt_id("ball")]
    assert (q, k) == (m.nq - 7, m.nv - 6)
    return [
        (
            *(s.stale, s.tracking, s.time),
            *(part[:k].tolist() for part in (s.qvel, s.effort, s.qacc, s.stick_qfrc)),
            *(part[: m.body_id("ball")].tolist() for part in (s.xfrc, s.contact)),
            s.qpos[:q].tolist(),
        )
        for s in states
    ]


def test_set_state_of_one_object_does_not_change_the_motion_of_other_objects(start):
    """Commands, trajectories and wrenches act as without the change."""

    def after(place):
        _, m = scene()
        loop = start(m, **WALKING)
        set_going(loop, lambda nv: dataclasses.replace(Faults.none(nv), command_delay=0.02))
        if place:
            ball = np.arange(m.nq) >= m.nq - 7, np.arange(m.nv) >= m.nv - 6
            qpos, tick = loop.readout.latest().qpos + ball[0] * 3.0, loop.time.tick
            loop.plant.set_state(qpos, np.zeros(m.nv), *ball)
            assert loop.time.tick == tick + 1
        return without_ball(walk(loop, 60), m)

    assert after(place=True) == after(place=False)


def pendulums(described, *names):
    for name in names:
        pose = rb.pose((40.0 + len(name), 0.0, 9.0))
        described = with_entity(described, rb.Object(name, PENDULUM, pose=pose))
    return described


def test_the_noise_of_a_joint_does_not_depend_on_other_objects(start):
    """A joint that is deleted and added again has noise that depends on no other object."""

    def noise(loop):
        state, m = walk(loop, 1)[-1], loop.m
        k, q = (int(of[m.jnt_id("b/swing")]) for of in (m.jnt_dofadr, m.jnt_qposadr))
        return state.measured_position[k] - state.qpos[q]

    described, m = scene()
    seen = []
    for name in ("", "aa", "aaa"):
        loop = start(m, **WALKING)
        names = [name, "b"] if name else ["b"]
        go_on(loop, pendulums(described, *names), everywhere)
        walk(loop, 2)
        seen.append(noise(loop))
        go_on(loop, pendulums(described, "b"))
        seen.append(noise(loop))
        go_on(loop, described)
        go_on(loop, pendulums(described, "b"), everywhere)
        seen.append(noise(loop))
    assert len({round(x, 9) for x in seen}) == 3
    np.testing.assert_allclose(np.diff(np.reshape(seen, (3, 3)), axis=0), 0.0, atol=1e-12)


def everywhere(m):
    """Return Faults in which the encoders of all joints have noise."""
    return dataclasses.replace(Faults.none(m.nv), encoder_noise=np.full(m.nv, 0.01))


def test_a_loaded_state_restores_the_faults_of_deleted_joints(start):
    described, m = scene()
    loop = start(m, **WALKING)
    go_on(loop, pendulums(described, "p"))
    swing = loop.m.jnt_dofadr[loop.m.jnt_id("p/swing")]
    none = Faults.none(loop.m.nv)
    stuck, noise = none.stuck.copy(), none.encoder_noise.copy()
    stuck[swing], noise[swing] = True, 0.01
    loop.plant.set_faults(dataclasses.replace(none, stuck=stuck, encoder_noise=noise))
    walk(loop, 5)
    saved = loop.save_state()
    expected = [state.row.tobytes() for state in walk(loop, 20)]
    go_on(loop, described)
    go_on(loop, pendulums(described, "p"))
    assert not loop.plant.faults.stuck.any()
    while loop.readout.next_state(0.0):
        pass
    loop.load_state(saved)
    assert [state.row.tobytes() for state in walk(loop, 20)] == expected


def test_a_reset_clears_the_friction_memory_on_terrain(start):
    """Two cubes on a height field have the same motion after the reset as at first."""
    slope = 0.2 * np.linspace(-2.0, 2.0, 9)[None, :].repeat(9, axis=0)
    terrain = rb.Obstacle("slope", rb.HeightField(slope, (4.0, 4.0)))
    cubes = [
        rb.Object(
            name,
            rb.Box((0.2, 0.2, 0.2)),
            mass=1.0,
            pose=rb.pose((x, 0, 0.2 * x + 0.1), (0, -np.arctan(0.2), 0)),
        )
        for x, name in enumerate(("cube", "other"))
    ]
    loop = start(rb.scene(objects=cubes, obstacles=[terrain], floor=False), **WALKING)
    first = walk(loop, 30)
    assert len(first[-1].stick) == 8
    loop.plant.reset(True, True, None)
    again = walk(loop, 30)
    assert [s.qvel.tolist() for s in again] == [s.qvel.tolist() for s in first]
