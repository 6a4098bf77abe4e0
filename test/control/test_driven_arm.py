# SPDX-License-Identifier: Apache-2.0
"""Arms whose own controllers carry gravity, Coriolis forces and friction, behind their drivers."""

import numpy as np
import pytest
from closed_loop import BENT, FILES, ClosedLoop, model
from driven_arm import DrivenArm
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm import actuation
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws.joint_laws import (
    ComputedTorque,
    GravityCompensation,
    JointImpedance,
    PDGravity,
)
from rbdyn_ros.control.motion.planning import quintic
from rbdyn_ros.dynamics.entry import Entry, handles
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.presets import preset_files, presets_in

UR5, PANDA = FILES[0], FILES[1]
Q = np.array(BENT[UR5])
#: A preset for each driver that takes efforts, and the URDF of the arm.
DRIVERS = {"ur5e": UR5, "fr3": PANDA, "rizon4": PANDA}
SPEED = np.array([0.8, -0.9, 1.1, 0.7, -1.0, 0.6])
MOVED = {"robot_compensates_coriolis": True}

each_driver = pytest.mark.parametrize("name", DRIVERS)


def laws(arm):
    return (
        ComputedTorque(arm, 100.0, 20.0),
        JointImpedance(arm, 50.0, 5.0),
        PDGravity(arm, 50.0, 5.0),
        GravityCompensation(arm, 3.0),
    )


def target(m, qpos, qvel):
    wanted = Target(m.nv)
    wanted.qpos[: m.nq], wanted.qvel[:] = qpos + 0.1, 0.5 * qvel
    return wanted


@pytest.mark.parametrize("gravity", [False, True])
def test_commands_leave_out_the_terms_that_the_robot_compensates(gravity):
    """The command plus C qvel (plus g) is the effort of the same law without compensation."""
    m = model()
    bare = Arm(m).bare
    d = rb.make_data(bare)
    d.qpos, d.qvel = Q, SPEED
    added = rb.coriolis_term(bare, d)
    assert np.abs(added).max() > 1.0  # [N m]
    added += gravity * rb.gravity_term(bare, d)
    helped = Arm(m, robot_compensates_gravity=gravity, **MOVED)
    for plain, law in zip(laws(Arm(m)), laws(helped), strict=True):
        wanted = target(m, Q, SPEED)
        expected = plain(Q, SPEED, wanted).copy()
        np.testing.assert_allclose(law(Q, SPEED, wanted) + added, expected, rtol=0, atol=1e-12)


def test_commands_contain_the_payload_that_the_robot_does_not_compensate():
    m = model()
    load = ("tool0", 2.0, (0.0, 0.0, 0.1))
    own = Arm(m).bare
    d = rb.make_data(own)
    d.qpos, d.qvel = Q, SPEED
    bare = rb.coriolis_term(own, d)
    helped, alone = Arm(m, **MOVED).with_payload(*load), Arm(m).with_payload(*load)
    effort = alone.inverse_dynamics(Q, SPEED, 0.0 * Q, np.empty(6))
    command = helped.command(effort.copy(), Q, SPEED)
    np.testing.assert_allclose(command + bare, effort, rtol=0, atol=1e-12)


def test_a_command_and_the_compensation_of_the_robot_add_up_to_the_effort():
    m, found = model(), np.empty(6)
    arm = Arm(m, friction=Friction.of(6, 2.0, 0.5), robot_compensates_gravity=True, **MOVED)
    effort = np.array([10.0, -20.0, 5.0, 1.0, -2.0, 0.5])
    command = arm.command(effort.copy(), Q, SPEED)
    d = rb.make_data(arm.bare)
    at = *handles(arm.bare, d), arm.actuation.handle
    Entry(actuation.applied).call(*at, command, Q, SPEED, found)
    np.testing.assert_allclose(found, effort, rtol=0, atol=1e-12)
    assert not arm.is_plain
    assert not Arm(m, **MOVED).is_plain
    twin = arm.with_payload("tool0", 1.0, (0, 0, 0)).twin()
    assert twin.robot_compensates_coriolis
    assert twin.robot_compensates_gravity
    at_rest = arm.without_own(effort.copy(), Q)
    still = arm.without_own(effort.copy(), Q, np.zeros(6))
    np.testing.assert_allclose(at_rest, still, rtol=0, atol=1e-12)


def started(name, mode="gravity", given=None, **more):
    """Return an armed loop with the driver of a preset, after its bumpless start."""
    loop = DrivenArm.behind(name, model(DRIVERS[name]), given, mode=mode, **more).arm()
    loop.run(0.6)
    return loop


@each_driver
def test_an_arm_with_a_driver_floats(name):
    loop = started(name)
    rest = loop.d.qpos.copy()
    trace = loop.run(2.0)
    assert np.abs(trace.qpos - rest).max() < 1e-3
    assert loop.controller.fault is None
    np.testing.assert_allclose(trace.effort, 0.0, atol=1e-6)


def moved(loop, way, time=1.5):
    """Follow a path by `way` from the present position; return the largest tracking error."""
    start = loop.d.qpos[loop.dofs].copy()
    loop.controller.follow_path(quintic([start, start + way], [0.0, time]))
    trace = loop.run(time + 0.5)
    assert loop.controller.fault is None, loop.controller.status()
    return np.abs(trace.qpos[:, loop.dofs] - trace.target[:, loop.dofs]).max()


@each_driver
def test_an_arm_with_a_driver_tracks_like_an_unloaded_arm(name):
    """The closed loop is the same, but the driver adds g and C qvel in place of the controller."""
    file = DRIVERS[name]
    plain = ClosedLoop(model(file), mode="computed_torque").arm()
    plain.run(0.6)
    way = np.resize([0.7, -0.5, 0.6, 0.8, -0.7, 0.9, 0.5], len(plain.dofs))
    way[7:] = 0.0
    if file == PANDA:
        way[-1] = 0.0  # the finger rests
    expected = moved(plain, way)
    loop = started(name, "computed_torque")
    error = moved(loop, way)
    assert error < expected + 1e-6
    assert error < 2e-3
    np.testing.assert_allclose(loop.d.qpos, plain.d.qpos, rtol=0, atol=1e-6)


def test_friction_that_the_robot_carries_is_not_compensated_again():
    """A UR5 that compensates viscous and dry friction itself tracks without our compensation."""
    way = np.array([0.7, -0.5, 0.6, 0.8, -0.7, 0.9])
    rubbing = {"friction": (0.5, 0.1)}
    carried = moved(started("ur5e", "computed_torque", **rubbing), way)
    nobody = DrivenArm(model(), ("gravity",), "torque without gravity",
                       arm={"robot_compensates_gravity": True}, effort_includes_gravity=False,
                       mode="computed_torque", **rubbing).arm()  # fmt: skip
    nobody.run(0.6)
    assert moved(nobody, way) > 2.0 * carried


def test_compensating_coriolis_forces_twice_worsens_the_tracking():
    """A controller that does not know of a Flexiv's Coriolis compensation tracks worse."""
    way = np.array([1.0, -0.8, 0.9, 0.8, -1.0, 1.0, 0.9, 0.0])
    right = started("rizon4", "computed_torque")
    wrong = started("rizon4", "computed_torque", given="fr3")
    assert moved(wrong, way, 1.0) > 2.0 * moved(right, way, 1.0)


@each_driver
def test_a_payload_set_in_the_controller_is_compensated(name):
    m = model(DRIVERS[name])
    link = "tool0" if DRIVERS[name] == UR5 else "panda_hand"
    load = (link, 1.5, (0.0, 0.0, 0.08))
    plant = Arm(m).with_payload(*load).m
    loop = DrivenArm.behind(name, m, plant=plant, mode="hold")
    loop.run(0.3)
    loop.controller.set_payload(*load, (0.0,) * 6)
    loop.controller.try_arm(loop.now)
    rest = loop.d.qpos.copy()
    trace = loop.run(2.0)
    assert loop.controller.fault is None
    assert np.abs(trace.qpos - rest).max() < 2e-3


@pytest.mark.parametrize(
    ("true", "told"), [("ur5e", "fr3"), ("ur5e", "gen3"), ("fr3", "ur5e"), ("rizon4", "ur5e")]
)
def test_a_wrong_preset_is_refused_at_arming_when_efforts_reveal_it(true, told):
    """A UR reports torques without gravity, other arms with it; they differ in every posture."""
    loop = DrivenArm.behind(true, model(DRIVERS[true]), told, mode="hold")
    loop.run(0.5)
    before = loop.d.qpos.copy()
    with refused(RbdynError, "effort-mismatch"):
        loop.controller.try_arm(loop.now)
    assert not loop.controller.armed
    loop.run(0.5)
    np.testing.assert_allclose(loop.d.qpos, before, rtol=0, atol=1e-9)


def counted_twice(mode):
    """Return an armed Panda whose controller and robot both compensate gravity."""
    m = model(PANDA)
    # torque sensors measure g in both cases, so arming succeeds, as the guide says
    loop = DrivenArm.behind("fr3", m, "gen3", mode=mode)
    loop.run(0.5)
    loop.controller.try_arm(loop.now)
    return m, loop


def test_compensating_gravity_twice_lifts_a_held_arm_by_g_over_its_stiffness():
    m, loop = counted_twice("hold")
    start = loop.d.qpos.copy()
    loop.run(3.0)
    loop.d.qvel[:] = 0.0
    # at rest M Kp (q_d - q) + g = 0, with Kp = 400 1/s^2
    d = rb.make_data(loop.plant)
    d.qpos = loop.d.qpos
    lift = np.linalg.solve(rb.mass_matrix(loop.plant, d), rb.gravity_term(loop.plant, d)) / 400.0
    assert np.abs(lift).max() > 0.02
    np.testing.assert_allclose(loop.d.qpos - start, lift, rtol=0.02, atol=1e-4)
    assert m.nv == len(lift)


def test_compensating_gravity_twice_in_a_floating_arm_is_a_fault():
    _, loop = counted_twice("gravity")
    loop.run(3.0)
    assert loop.controller.fault is not None


def test_an_arm_without_measured_efforts_is_not_armed_by_default():
    loop = DrivenArm.behind("gen3", model("kinova.urdf"))
    loop.run(0.5)
    with refused(RbdynError, "no-effort", loop.gate.limits.names[0]):
        loop.controller.try_arm(loop.now)


def test_currents_in_place_of_torques_prevent_arming():
    """The UR reports currents (use_currents_as_efforts), but its preset expects torques."""
    loop = DrivenArm(model(), (), "current", mode="hold")
    loop.run(0.5)
    with refused(RbdynError, "effort-mismatch", "shoulder_lift_joint"):
        loop.controller.try_arm(loop.now)


@each_driver
def test_the_driver_holds_the_arm_when_commands_stop(name):
    loop = started(name, "hold")
    loop.controller.disarm()
    rest = loop.d.qpos.copy()
    loop.run(1.0)
    assert np.abs(loop.d.qpos - rest).max() < 1e-3


def test_every_driver_that_takes_efforts_is_tested_here():
    takes = {
        preset.driver
        for path in preset_files()
        for preset in presets_in(path)
        if preset.facts["takes_efforts"].value
    }
    tested = {
        preset.driver
        for path in preset_files()
        for preset in presets_in(path)
        if preset.name in DRIVERS
    }
    assert tested == takes
