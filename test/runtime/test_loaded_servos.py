# SPDX-License-Identifier: Apache-2.0
"""Servos and the policy `hold` withstand contact, pushes, friction and unmodelled masses."""

import dataclasses

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, walk
from support.robots import find, load
from support.rovers import EACH, SKID_STEER, TURTLEBOT3, TURTLEBOT4

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.preparation import servo_times
from rbdyn_ros.runtime.types import POSITION, VELOCITY, Command, Wrench

#: Settings of a stepped loop whose commands expire after 50 ms.
PAUSING = WALKING | {"command_timeout": 0.05}
#: Time until a loaded joint has the commanded speed [ticks of 1 ms].
SOON = 300


def push(loop, body, force, seconds=1e3):
    """Push a body at its origin by a force [N] in world axes for `seconds`."""
    zero = np.zeros(3)
    loop.orders.push(Wrench(body, zero, np.array(force, float), zero, False, seconds))


def drive(loop, rover, speeds):
    """Command the speed of each wheel [rad/s]; return the dofs of the wheels."""
    n = len(rover.left)
    wheels = 6 + np.arange(n)
    zero = np.zeros(n)
    speeds = np.array(speeds, float)
    loop.orders.command(Command(wheels, np.full(n, VELOCITY), zero, speeds, zero, zero, zero))
    return wheels


WHEELS = [
    (TURTLEBOT3, (-3.0, 3.0)),
    (TURTLEBOT3, (6.0, 6.0)),
    (TURTLEBOT3, (0.3, 0.3)),
    (TURTLEBOT4, (-3.0, 3.0)),
    (TURTLEBOT4, (6.0, 6.0)),
    (SKID_STEER, (-5.0, 5.0, -5.0, 5.0)),
    (SKID_STEER, (-1.0, 1.0, -1.0, 1.0)),
    (SKID_STEER, (3.0, 3.0, 3.0, 3.0)),
]


@pytest.mark.parametrize(
    ("rover", "speeds"), WHEELS, ids=[f"{r.name} {s[0]:g} {s[1]:g}" for r, s in WHEELS]
)
def test_wheels_on_a_floor_turn_at_the_commanded_speed(start, rover, speeds):
    loop = start(rover.model(), **WALKING)
    walk(loop, 50)
    wheels = drive(loop, rover, speeds)
    late = walk(loop, SOON + 200)[SOON:]
    found = np.array([state.qvel[wheels] for state in late])
    assert np.abs(found / speeds - 1.0).max() < 0.01


def test_wheels_that_slip_on_ice_turn_at_the_commanded_speed(start):
    """The wheels slip for about a second, until the robot has the speed of the rims."""
    ice = dataclasses.replace(SKID_STEER, friction=0.1)
    loop = start(ice.model(), **WALKING)
    walk(loop, 50)
    speed = 0.7 * ice.velocity
    wheels = drive(loop, ice, np.full(4, speed))
    states = walk(loop, 3000)
    slip = [1.0 - np.hypot(*state.qvel[:2]) / (speed * ice.radius) for state in states]
    assert slip[100] > 0.5
    assert abs(slip[-1]) < 0.02
    found = np.array([state.qvel[wheels] for state in states[SOON:]])
    assert np.abs(found / speed - 1.0).max() < 0.02
    assert np.abs(found[-500:] / speed - 1.0).max() < 1e-3


def go(loop, rover, side, forward, turn):
    """Drive 2 m at `forward` [m/s] or turn 90 degrees; return the states and the wheels' dofs."""
    speed = np.where(rover.left, forward - turn * side, forward + turn * side) / rover.radius
    wheels = drive(loop, rover, speed)
    states = []
    while True:
        states += walk(loop, 25)
        travelled = states[-1].qpos[:2] - states[0].qpos[:2]
        done = np.hypot(*travelled) if forward else abs(turned(states))
        if done >= (2.0 if forward else np.pi / 2):
            drive(loop, rover, 0.0 * speed)
            return states + walk(loop, 300), wheels


def heading(state):
    w, x, y, z = state.qpos[3:7]
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def turned(states):
    return np.unwrap([heading(states[0]), heading(states[-1])])[-1] - heading(states[0])


@pytest.mark.parametrize("rover", EACH, ids=lambda rover: rover.name)
def test_a_rover_drives_a_square_of_two_metres_by_wheel_speeds(start, rover):
    loop = start(rover.model(), **WALKING)
    walk(loop, 50)
    fastest = 0.7 * rover.velocity * rover.radius
    begin = loop.readout.latest().qpos[:2]
    for _ in range(4):
        for forward, turn in ((min(fastest, 0.5), 0.0), (0.0, 1.0)):
            states, wheels = go(loop, rover, rover.track / 2.0, forward, turn)
            effort = np.abs([state.effort[wheels] for state in states])
            assert np.median(effort) < 0.6 * rover.effort
            assert np.abs([state.qvel[wheels] for state in states]).max() < 1.5 * rover.velocity
            if forward:
                assert np.hypot(*(states[-1].qpos[:2] - states[0].qpos[:2])) < 2.2
            else:
                assert turned(states) == pytest.approx(np.pi / 2, abs=0.15)
    # each turn has an error of up to 5 degrees, and each side takes up to 25 ms too long
    assert np.hypot(*(states[-1].qpos[:2] - begin)) < 0.5


@pytest.mark.parametrize("limit", [0.002, 0.02])
def test_states_name_a_joint_whose_speed_needs_more_than_its_effort_limit(start, limit):
    """0.002 N m cannot overcome the caster's friction; 0.02 N m takes over 0.3 s to start up."""
    m = TURTLEBOT4.model()
    weak = m.replaced(jnt_effort=np.where(m.jnt_effort == TURTLEBOT4.effort, limit, m.jnt_effort))
    loop = start(weak, **WALKING)
    walk(loop, 50)
    wheels = drive(loop, TURTLEBOT4, (6.0, 6.0))
    states = walk(loop, SOON)
    assert (np.abs([state.effort[wheels] for state in states]) <= limit).all()
    assert np.abs(states[-1].qvel[wheels] / 6.0 - 1.0).max() > 0.01
    named = {m.jnt_names[m.dof_jntid[s.saturated]] for s in states if s.saturated >= 0}
    assert named <= {"left0_joint", "right0_joint"}
    assert sum(state.saturated >= 0 for state in states) > 0.9 * SOON


UR5 = np.array([0.0, -1.2, 1.5, -1.0, -1.57, 0.3])


def test_an_arm_in_hold_stays_within_a_milliradian_under_a_push(start):
    loop = start(load(find("ur5_robot.urdf")), UR5, **PAUSING, on_timeout="hold")
    walk(loop, 100)
    push(loop, loop.m.nbody - 1, (0.0, 0.0, -20.0), 5.0)
    q = np.array([state.qpos for state in walk(loop, 5000)])
    assert np.abs(q - UR5).max() < 1e-3
    assert np.abs(q[100:] - UR5).max() < 1e-4
    assert np.abs(q[-1] - UR5).max() < 1e-9
    q = np.array([state.qpos for state in walk(loop, 500)])
    assert np.abs(q - UR5).max() < 1e-3
    assert np.abs(q[-1] - UR5).max() < 1e-9


#: Loads as shares of the effort limit.
LOADS = (0.1, 0.3, 0.6, 0.8, 0.95)


@pytest.mark.parametrize("law", ["hold", "position"])
@pytest.mark.parametrize("friction", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("share", LOADS)
def test_a_joint_withstands_each_load_below_its_effort_limit(start, law, friction, share):
    """The joint moves by less than 1 mm and returns, unless friction needs all the effort."""
    limit = 20.0
    m = rail(limit=rb.Limit(effort=limit, velocity=2.0), friction=friction)
    loop = start(
        m, **PAUSING | {"command_timeout": 0.05 if law == "hold" else 1e6}, on_timeout="hold"
    )
    if law == "position":
        loop.orders.command(commanded(0, POSITION, 0.0))
    walk(loop, 100)
    push(loop, 1, (share * limit, 0.0, 0.0), 1.5)
    loaded, unloaded = walk(loop, 1500), walk(loop, 1000)
    stays = 1e-9 if friction == 0.0 else 2e-5 if share * limit + friction < limit else 1e-3
    for states in (loaded, unloaded):
        q = np.array([state.qpos[0] for state in states])
        assert np.abs(q).max() < 1e-3
        assert np.abs(q[-500:]).max() < stays
    assert loaded[-1].effort[0] == pytest.approx(-share * limit, abs=1e-6 + friction)
    assert np.abs([state.effort[0] for state in unloaded[-500:]]).max() < 1e-6 + friction


@pytest.mark.parametrize("law", ["hold", "position"])
@pytest.mark.parametrize("share", LOADS)
def test_an_arm_withstands_each_load_below_its_effort_limits(start, law, share):
    m = load(find("ur5_robot.urdf"))
    d = placed(m, UR5)
    hand, down = m.nbody - 1, np.array([0.0, 0.0, -1.0])
    weight, pushed = (
        rb.gravity_term(m, d),
        rb.frame_jacobian(m, d, m.body_names[hand])[3:].T @ down,
    )
    force = share * np.min((m.jnt_effort - np.abs(weight)) / np.maximum(np.abs(pushed), 1e-9))
    settings = PAUSING | {"command_timeout": 0.05 if law == "hold" else 1e6}
    loop = start(m, UR5, **settings, on_timeout="hold")
    if law == "position":
        loop.orders.command(commanded(np.arange(6), POSITION, UR5))
    walk(loop, 100)
    push(loop, hand, force * down, 1.5)
    loaded, unloaded = walk(loop, 1500), walk(loop, 1000)
    for states in (loaded, unloaded):
        q = np.array([state.qpos for state in states])
        assert np.abs(q - UR5).max() < 5e-3
        assert np.abs(q[-500:] - UR5).max() < 1e-9
    assert loaded[-1].effort == pytest.approx(weight - force * pushed, abs=1e-6)


def test_a_hold_under_a_load_brakes_in_the_same_way_as_without_a_load(start):
    """The joint brakes with q'' = -q' / 0.1 s; a push of half its weight has no effect on that."""
    ends = []
    for force in (0.0, 10.0):
        loop = start(rail(), **PAUSING, on_timeout="hold")
        loop.orders.command(commanded(0, VELOCITY, velocity=0.5))
        states = walk(loop, 50)
        if force:
            push(loop, 1, (force, 0.0, 0.0))
        states += walk(loop, 1500)
        last = next(i for i, state in enumerate(states) if state.stale)
        speeds = np.array([state.qvel[0] for state in states[last - 1 :]])
        if not force:
            expected = speeds[0] * (1.0 - 1e-3 / 0.1) ** np.arange(len(speeds))
            np.testing.assert_allclose(speeds, expected, rtol=1e-9)
        assert abs(speeds[-1]) < 1e-6
        ends.append(states[-1].qpos[0])
    assert ends[1] == pytest.approx(ends[0], abs=2e-3)


def test_a_hold_stays_where_a_push_has_stopped_the_joint(start):
    loop = start(rail(limit=rb.Limit(effort=5.0)), **PAUSING, on_timeout="hold")
    loop.orders.command(commanded(0, VELOCITY, velocity=0.5))
    walk(loop, 55)
    push(loop, 1, (-100.0, 0.0, 0.0), 0.01)  # this push stops the joint
    states = walk(loop, 1000)
    stopped = next(state.qpos[0] for state in states if state.qvel[0] <= 0.0)
    assert states[-1].qpos[0] == pytest.approx(stopped, abs=1e-3)


def test_a_held_joint_slips_under_more_than_its_effort_and_returns_slowly(start):
    m = rail(limit=rb.Limit(effort=20.0, velocity=0.5))
    loop = start(m, **PAUSING, on_timeout="hold")
    walk(loop, 100)
    push(loop, 1, (40.0, 0.0, 0.0), 0.1)
    away = walk(loop, 100)[-1].qpos[0]
    states = walk(loop, 1000)
    assert away > 0.03
    assert min(state.qvel[0] for state in states) > -0.5 * 1.05
    assert states[-1].qpos[0] > away
    assert abs(states[-1].qvel[0]) < 1e-6


def test_a_hold_keeps_a_joint_with_backlash_in_place(start):
    play = 0.01
    spec = rb.ActuatorSpec(
        "x", gear=10.0, armature=1e-4, stiffness=5000.0, gear_damping=20.0, backlash=play
    )
    loop = start(rb.with_actuators(rail(), [spec]), **PAUSING, on_timeout="hold")
    walk(loop, 100)
    push(loop, 1, (10.0, 0.0, 0.0), 1.0)
    held = np.array([state.qpos[0] for state in walk(loop, 2000)])
    assert np.abs(held).max() < play
    assert np.ptp(held[500:900]) < 1e-6
    assert np.ptp(held[1500:]) < play


def elastic(damping, play=0.0):
    """Return a mass on a rail with an elastic gear; the rotor oscillates at 700 rad/s."""
    gear = {"gear": 10.0, "armature": 1e-4, "stiffness": 5000.0, "gear_damping": damping}
    return rb.with_actuators(rail(), [rb.ActuatorSpec("x", **gear, backlash=play)])


@pytest.mark.parametrize("law", ["hold", "position"])
@pytest.mark.parametrize("play", [0.0, 0.01])
@pytest.mark.parametrize(("damping", "way"), [(20.0, 4e-4), (3.0, 8e-4), (1.0, 6e-3), (0.3, 0.1)])
def test_a_servo_behind_a_soft_gear_is_as_slow_as_the_gear_needs(start, damping, way, play, law):
    """With 1 N s/m, a servo with a time constant of 10 ms would diverge within a second."""
    settings = PAUSING | {"command_timeout": 0.05 if law == "hold" else 1e6}
    loop = start(elastic(damping, play), **settings, on_timeout="hold")
    if law == "position":
        loop.orders.command(commanded(0, POSITION, 0.0))
    walk(loop, 100)
    push(loop, 1, (10.0, 0.0, 0.0), 5.0)
    q = np.array([state.qpos[0] for state in walk(loop, 5000)])
    assert np.abs(q).max() < way
    assert np.abs(q[-500:]).max() < max(0.01 * way, 1e-6)


@pytest.mark.parametrize("law", ["hold", "position"])
@pytest.mark.parametrize("lag", [{"delay": 0.02}, {"inductance": 0.04, "resistance": 2.0}])
def test_a_servo_with_a_slow_drive_holds_a_load_without_oscillation(start, lag, law):
    spec = rb.ActuatorSpec("x", gear=10.0, armature=1e-4, **lag)
    settings = PAUSING | {"command_timeout": 0.05 if law == "hold" else 1e6}
    loop = start(rb.with_actuators(rail(), [spec]), **settings, on_timeout="hold")
    if law == "position":
        loop.orders.command(commanded(0, POSITION, 0.0))
    walk(loop, 100)
    push(loop, 1, (10.0, 0.0, 0.0), 4.0)
    q = np.array([state.qpos[0] for state in walk(loop, 4000)])
    assert np.abs(q).max() < 0.04
    assert np.abs(q[-500:]).max() < 1e-4


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"gear_damping": 20.0}, 0.01),
        ({"gear_damping": 1.0}, 2.0 / (0.5 * (100.0 + 0.5))),
        ({"gear_damping": 0.0}, 1.0),
        ({"stiffness": 0.0, "delay": 0.02}, 0.08),
        ({"stiffness": 0.0, "inductance": 0.01, "resistance": 2.0}, 0.02),
    ],
)
def test_the_time_constant_of_a_servo_follows_from_its_drive(spec, expected):
    gear = {"gear": 10.0, "armature": 1e-4, "stiffness": 5000.0}
    m = rb.with_actuators(rail(), [rb.ActuatorSpec("x", **gear | spec)])
    assert servo_times(m, 0.01, 1e-3) == pytest.approx([expected])


def test_the_joints_of_an_arm_share_the_time_constant_of_its_softest_gear(start):
    """If only the elbow had the time constant of its gear, the elbow would oscillate."""
    m = rb.with_actuators(bundled_arm(), "config/actuators.yaml")
    times = servo_times(m, 0.01, 1e-3)
    assert 0.03 < times[0] < 0.1
    assert len(set(times)) == 1
    loop = start(m, np.full(7, 0.3), **WALKING)
    loop.orders.command(commanded(np.arange(7), POSITION, 0.6))
    elbow = m.jnt_names.index("elbow_pitch")
    states = walk(loop, 3000)[-300:]
    assert np.abs([state.qvel[elbow] for state in states]).max() < 1e-3
    assert np.abs([state.qpos[elbow] - 0.6 for state in states]).max() < 1e-3


def test_a_gripper_holds_a_cube_during_a_pause_of_commands(start):
    m = rb.load("config/scenes/gripper.yaml")
    dofs = m.jnt_dofadr[[m.jnt_id(name) for name in ("lift", "left", "right")]]
    cube = m.jnt_qposadr[next(m.jnt_id(name) for name in m.jnt_names if "cube" in name)] + 2
    loop = start(m, **PAUSING, on_timeout="hold")

    def command(lift, fingers, ticks):
        goals, zero = np.array([lift, fingers, fingers]), np.zeros(3)
        for _ in range(ticks // 25):
            order = Command(dofs, np.full(3, POSITION), goals, zero, zero, zero, zero)
            loop.orders.command(order)
            states = walk(loop, 25)
        return states

    command(-0.25, 0.0, 800)
    command(-0.25, 0.05, 300)
    gripped = command(0.0, 0.05, 800)[-1]
    assert gripped.qpos[cube] > 0.5
    paused = walk(loop, 50 + 200)
    assert paused[-1].stale == 3
    assert paused[-1].effort[dofs] == pytest.approx(gripped.effort[dofs], rel=1e-3)
    assert paused[-1].qpos[cube] == pytest.approx(gripped.qpos[cube], abs=1e-6)
    states = command(0.0, 0.0, 300)  # the fingers open at once
    assert states[-1].qpos[dofs[1:]] == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("mode", [POSITION, VELOCITY])
def test_an_arm_follows_its_command_under_a_push(start, mode):
    loop = start(load(find("ur5_robot.urdf")), UR5, **WALKING)
    push(loop, loop.m.nbody - 1, (0.0, 10.0, -30.0))
    loop.orders.command(commanded(np.arange(6), mode, UR5 + 0.2, 0.3 if mode == VELOCITY else 0.0))
    states = walk(loop, SOON + 200)
    if mode == VELOCITY:
        late = np.array([state.qvel for state in states[SOON:]])
        assert np.abs(late / 0.3 - 1.0).max() < 0.01
    else:
        assert states[-1].qpos == pytest.approx(UR5 + 0.2, abs=1e-6)


def test_an_arm_tracks_a_trajectory_under_a_push(start):
    from rbdyn_ros.runtime.types import TrajectoryOrder

    loop = start(load(find("ur5_robot.urdf")), UR5, **WALKING)
    push(loop, loop.m.nbody - 1, (0.0, 10.0, -30.0))
    goals = np.stack([UR5, UR5 + 0.3])
    zero = np.zeros_like(goals)
    loop.orders.track(TrajectoryOrder(np.arange(6), np.array([0.2, 1.2]), goals, zero, zero, 5))
    states = walk(loop, 1500)
    assert states[699].qpos == pytest.approx(UR5 + 0.15, abs=1e-3)  # the middle of the way
    assert states[-1].qpos == pytest.approx(UR5 + 0.3, abs=1e-6)


@pytest.mark.parametrize("heavier", [1.0, 5.0, 30.0, 300.0])
def test_an_unmodelled_mass_does_not_make_a_servo_oscillate(start, heavier):
    """A cart pushes a block, whose mass the servo of the cart does not know."""
    box = rb.shapes.box((0.1, 0.1, 0.1), mass=0.1)
    block = rb.shapes.box((0.1, 0.1, 0.1), mass=0.1 * heavier)
    b = rb.SystemBuilder("carts", base="world").body("cart", box).body("block", block)
    fast = rb.Limit(velocity=0.5, effort=500.0)
    b.joint("x", "prismatic", "world", "cart", axis=(1, 0, 0), xyz=(-0.1, 0, 0), limit=fast)
    b.joint("y", "prismatic", "world", "block", axis=(1, 0, 0))
    for name in ("cart", "block"):
        b.geometry(f"{name} shape", name, rb.Box((0.1, 0.1, 0.1)))
    loop = start(rb.build(b), **WALKING)
    loop.orders.command(commanded(0, VELOCITY, velocity=0.2))
    speeds = np.array([state.qvel[0] for state in walk(loop, SOON + 200)])
    assert np.abs(speeds[SOON:] / 0.2 - 1.0).max() < 0.01
    assert speeds.max() < 1.2 * 0.2


def test_a_blocked_joint_follows_a_new_goal_at_once(start):
    """During 2 s at the effort limit the servo accumulates no error (no windup)."""
    wall = rb.SystemBuilder("wall", base="world").body(
        "cart", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
    )
    wall.joint("x", "prismatic", "world", "cart", limit=rb.Limit(effort=50.0, velocity=1.0))
    wall.geometry("cart shape", "cart", rb.Box((0.1, 0.1, 0.1)))
    wall.obstacle("stop", rb.Box((0.1, 1.0, 1.0)), origin=rb.pose((0.2, 0.0, 0.0)))
    loop = start(rb.build(wall), **WALKING)
    loop.orders.command(commanded(0, POSITION, 0.5))
    states = walk(loop, 2000)
    assert states[-1].qpos[0] == pytest.approx(0.1, abs=1e-6)
    assert (states[-1].effort[0], states[-1].saturated) == (50.0, 0)
    loop.orders.command(commanded(0, POSITION, -0.2))
    states = walk(loop, 500)
    assert states[40].qvel[0] < -0.5
    assert states[-1].qpos[0] == pytest.approx(-0.2, abs=1e-6)
    assert np.abs([state.qvel[0] for state in states]).max() < 1.01


def test_a_joint_at_its_effort_limit_does_not_slow_other_joints(start):
    box = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
    b = rb.SystemBuilder("two").body("a", box).body("b", box)
    b.joint("x", "prismatic", "base", "a", limit=rb.Limit(effort=5.0))
    b.joint("y", "prismatic", "a", "b", axis=(0, 1, 0))
    ends = []
    for force in (0.0, -20.0):
        loop = start(rb.build(b), **WALKING)
        loop.orders.command(commanded([0, 1], POSITION, 0.0))
        push(loop, 1, (force, 0.0, 0.0))  # more than the joint's effort limit
        walk(loop, 100)
        loop.orders.command(commanded(1, POSITION, 0.2))
        ends.append(walk(loop, 100)[-1].qpos[1])
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)


def test_a_servo_does_not_take_encoder_noise_for_a_load(start):
    """The loop estimates loads from the true motion, so only the servo amplifies the noise."""
    from rbdyn_ros.runtime.types import Faults

    sigma = 0.01
    noisy = dataclasses.replace(Faults.none(7), velocity_noise=np.full(7, sigma))
    loop = start(bundled_arm(), np.full(7, 0.3), **WALKING)
    loop.plant.set_faults(noisy)
    loop.orders.command(commanded(np.arange(7), POSITION, 0.3))
    states = walk(loop, 1000)
    rough = np.std(np.diff([state.effort for state in states[200:]], axis=0), axis=0)
    # the effort of a tick has the noise M 2 sigma / T, and a difference has sqrt(2) as much
    rows = np.linalg.norm(rb.mass_matrix(loop.m, placed(loop.m, 0.3)), axis=1)
    assert (rough < 1.2 * np.sqrt(2.0) * 2.0 * sigma / 0.01 * rows).all()
    assert np.abs(states[-1].qpos - 0.3).max() < 1e-3


def placed(m, q):
    d = rb.make_data(m)
    d.qpos = q
    rb.forward(m, d)
    return d


def test_runs_of_loaded_wheels_repeat_to_the_last_bit(start):
    rows = []
    for _ in range(2):
        loop = start(TURTLEBOT3.model(), **WALKING)
        drive(loop, TURTLEBOT3, (-3.0, 5.0))
        rows.append(b"".join(state.row.tobytes() for state in walk(loop, 300)))
    assert rows[0] == rows[1]


def test_a_loaded_state_restores_the_estimated_loads(start):
    loop = start(TURTLEBOT3.model(), **WALKING)
    drive(loop, TURTLEBOT3, (-3.0, 5.0))
    walk(loop, 100)
    saved = loop.save_state()
    after = [state.qpos.tobytes() for state in walk(loop, 100)]
    loop.load_state(saved)
    assert [state.qpos.tobytes() for state in walk(loop, 100)] == after


def test_the_state_of_a_joint_with_an_effort_limit_of_zero_stays_finite(start):
    loop = start(rail(limit=rb.Limit(effort=0.0)), **WALKING)
    push(loop, 1, (3.0, 0.0, 0.0))
    loop.orders.command(commanded(0, VELOCITY, velocity=0.5))
    last = walk(loop, 50)[-1]
    assert (last.fault, last.effort[0]) == (-1, 0.0)
    assert last.qvel[0] == pytest.approx(0.05 * 1.5, rel=1e-6)
