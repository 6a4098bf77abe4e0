# SPDX-License-Identifier: Apache-2.0
"""A controller moves arms along paths and to poses, also with payloads."""

import numpy as np
import pytest
from closed_loop import BENT, FILES, ClosedLoop, armed, model
from scipy.spatial.transform import Rotation
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.control.motion.planning import quintic
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.errors import RbdynError

Q = np.array(BENT[FILES[0]])
#: An unknown payload: 2 kg, 0.1 m in front of the flange.
LOAD = ("tool0", 2.0, (0.0, 0.0, 0.1), (0.0,) * 6)


# tracking


def rms_error(mode, **settings):
    loop = armed(mode=mode, **settings)
    end = Q + np.array([1.0, 0.8, -0.9, 0.7, -1.0, 1.0])
    loop.controller.follow_path(quintic([Q, end], [0.0, 1.0]))
    trace = loop.run(1.2)
    assert loop.controller.fault is None
    np.testing.assert_allclose(loop.d.qpos, end, atol=0.05)
    return float(np.sqrt(((trace.qpos - trace.target) ** 2).mean()))


def test_computed_torque_tracks_twenty_times_closer_than_pd():
    """PD control has the same gains, multiplied by the diagonal of M at the start."""
    m = model()
    d = rb.make_data(m)
    d.qpos[:] = Q
    inertia = np.diag(rb.mass_matrix(m, d))
    pd = rms_error(
        "impedance",
        feedforward=False,
        impedance_stiffness=400.0 * inertia,
        impedance_damping=40.0 * inertia,
    )
    computed = rms_error("computed_torque")
    print(f"RMS: computed torque {1e3 * computed:.3g} mrad, PD {1e3 * pd:.3g} mrad")
    assert computed < pd / 20.0


@pytest.mark.parametrize("duration", [1.0, 3.0, 10.0])
def test_an_arm_whose_joints_stick_follows_slow_paths(duration):
    """Dry friction holds all joints.

    An effort on one joint also loads the other joints, which stick.
    """
    file = "seven_dof_arm.urdf"
    m, plant = model(file), model(file, damped=True)
    loop = ClosedLoop(m, plant, "computed_torque", arm={"friction": friction_of_robot(m, 0.9)})
    loop.arm().run(0.6)
    end = loop.d.qpos + np.array([0.5, -0.3, 0.3, 0.4, -0.4, -0.5, 0.4])
    loop.controller.follow_path(quintic([loop.d.qpos, end], [0.0, duration]))
    loop.run(duration + 0.3)
    assert loop.controller.fault is None
    # a tenth of the friction is not compensated
    np.testing.assert_allclose(loop.d.qpos, end, atol=0.08)


def friction_of_robot(m, share):
    return Friction.of(m.nv, viscous=m.dof_damping, coulomb=m.dof_frictionloss).scaled(share)


def test_a_path_may_replace_another_in_motion():
    loop = armed(mode="computed_torque")
    there = Q + 0.5
    loop.controller.follow_path(quintic([Q, there], [0.0, 1.0]))
    loop.run(0.4)
    number = loop.controller.progress().number
    # the first point is in the future, so the path begins at the target, with its velocity
    loop.controller.follow_path(Path([0.8, 1.6], [Q, Q - 0.1], np.zeros((2, 6))))
    trace = loop.run(2.0)
    assert loop.controller.progress().number == number + 1
    assert loop.controller.progress().done
    steps = np.diff(trace.target, n=2, axis=0) / loop.h**2
    # a jump of the velocity by 0.1 rad/s would be 100 rad/s^2
    assert np.abs(steps).max() < 15.0
    assert np.abs(trace.qpos - trace.target).max() < 0.01
    np.testing.assert_allclose(loop.d.qpos, Q - 0.1, atol=1e-3)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (Path([0.0, 1.0], [Q + 0.051, Q]), "path"),  # the path starts too far away
        (Path([-5.0, 1.0], [Q, Q + 0.7]), "path"),  # at time 0 this path is also too far away
        (Path([0.0, 1.0], np.zeros((2, 1))), "path"),
        (Path([0.0, 1.0], np.zeros((2, 7))), "path"),
        (Path([1e-3], [Q + 3.0], np.zeros((1, 6))), "path"),  # the path is too fast
        (Path([5e-324], [Q + 3.0], np.zeros((1, 6))), "bad-argument"),  # infinitely fast
        (Path([0.0, 0.1], [Q, Q + 1.0]), "path"),
    ],
)
@pytest.mark.parametrize("mode", ["computed_torque", "impedance"])
def test_a_path_that_cannot_be_followed_is_refused(mode, path, code):
    loop = armed(mode=mode)
    with refused(RbdynError, code):
        loop.controller.follow_path(path)
    trace = loop.run(0.1)
    np.testing.assert_allclose(trace.qpos, np.tile(Q, (100, 1)), atol=1e-3)


def test_a_path_needs_a_tracking_mode_an_armed_arm_and_no_fault():
    path = Path([0.0, 1.0], [Q, Q])
    loop = ClosedLoop(model(), mode="hold")
    with refused(RbdynError, "mode", "hold"):
        loop.controller.follow_path(path)
    loop.controller.set_mode("computed_torque")
    with refused(RbdynError, "not-armed"):
        loop.controller.follow_path(path)
    loop.arm()
    loop.controller.follow_path(path)
    loop.tick(position=np.full(6, np.nan))
    with refused(RbdynError, "fault", "finite"):
        loop.controller.follow_path(path)
    assert "finite" in loop.controller.progress().failed
    framed = armed(mode="impedance", frame="tool0")
    with refused(RbdynError, "mode", "tool0"):
        framed.controller.follow_path(path)


def test_an_arm_too_far_from_its_target_is_stopped():
    loop = armed(mode="hold", stiffness=4.0, damping=4.0)
    loop.push[0] = 8.0
    trace = loop.run(3.0)
    assert loop.controller.fault.code == "tracking"
    off = np.abs(trace.qpos[:, 0] - Q[0])
    assert off.max() > 0.2
    assert "tracking_tolerance is 0.2" in loop.controller.fault.text
    free = armed(mode="hold", stiffness=4.0, damping=4.0, tracking_tolerance=0.0)
    free.push[0] = 8.0
    free.run(1.0)
    assert free.controller.fault is None


def test_no_new_target_for_too_long_is_a_fault():
    loop = armed(mode="computed_torque", target_timeout=0.3)
    loop.run(1.0)
    assert loop.controller.fault is None  # no path has ended yet, so the timeout has not begun
    loop.controller.follow_path(quintic([Q, Q + 0.1], [0.0, 0.5]))
    loop.run(0.75)
    assert loop.controller.fault is None
    loop.controller.follow_path(quintic([Q + 0.1, Q], [0.0, 0.5]))
    loop.run(0.75)
    assert loop.controller.fault is None
    loop.run(0.1)
    assert loop.controller.fault.code == "target"
    loop.run(0.5)
    assert loop.controller.status().endswith("holding")


# payloads


def loaded(mode, **keywords):
    plant = Arm(model()).with_payload(*LOAD).m
    loop = ClosedLoop(model(), plant, mode=mode, arm_tolerance=25.0, **keywords).arm()
    loop.run(0.6)
    return loop


def test_an_arm_sags_under_an_unknown_payload_but_not_under_a_known_payload():
    """An unknown 2 kg payload lets a floating arm fall and a held arm sag by g / (M Kp)."""
    floating, held = loaded("gravity"), loaded("hold")
    start = floating.d.qpos.copy()
    floating.run(1.0)
    assert np.abs(floating.d.qpos - start).max() > 0.2
    held.run(1.0)
    assert 0.01 < np.abs(held.d.qpos - Q).max() < 0.1
    before = held.answer.copy()
    held.controller.set_payload(*LOAD)
    trace = held.run(2.0)
    np.testing.assert_allclose(held.d.qpos, Q, atol=1e-4)
    bumps = np.diff(np.vstack([before, trace.effort]), axis=0)
    assert np.abs(bumps).max() < 0.1  # half a second blends 10 N m into the effort
    held.controller.set_mode("gravity")
    held.run(0.6)
    rest = held.d.qpos.copy()
    held.run(2.0)
    assert np.abs(held.d.qpos - rest).max() < 1e-3


@pytest.mark.parametrize("mass", [20.0, 1e6, 1e150, 1e308])
def test_a_payload_too_heavy_to_hold_is_refused(mass):
    """Such a payload would accelerate the arm upwards at its effort limits."""
    loop = armed()
    with refused(RbdynError, "too-heavy"):
        loop.controller.set_payload("tool0", mass, (0, 0, 0), (0,) * 6)
    trace = loop.run(1.0)
    assert np.isfinite(trace.effort).all()
    np.testing.assert_allclose(loop.d.qpos, Q, atol=1e-3)


def test_an_armed_arm_accepts_only_confirmed_payloads_and_only_at_rest():
    """A payload of 5 kg that does not exist would lift the arm."""
    loop = armed()
    with refused(RbdynError, "effort-mismatch"):
        loop.controller.set_payload("tool0", 5.0, (0, 0, 0), (0,) * 6)
    trace = loop.run(1.0)
    assert loop.controller.fault is None
    np.testing.assert_allclose(trace.qpos, np.tile(Q, (len(trace.qpos), 1)), atol=1e-3)
    loop.kick(0.5, 0)
    loop.run(0.02)
    with refused(RbdynError, "moving"):
        loop.controller.set_payload("tool0", 0.1, (0, 0, 0), (0,) * 6)
    assert not loop.controller.arm.payloads


def test_an_unknown_payload_is_held_after_a_tracking_fault():
    """The brake keeps the feedback effort that holds the load; the model alone would drop it."""
    loop = loaded("hold")
    before = loop.d.qpos.copy()
    loop.controller._trip(Fault("tracking", "as if it were too far from its target"))
    trace = loop.run(1.5)
    assert np.abs(trace.qpos - before).max() < 0.05
    assert loop.controller.status().endswith("holding")


# poses


def pose(place, turn):
    return np.vstack([turn, place])


def framed(**keywords):
    loop = armed(mode="impedance", frame="tool0", **keywords)
    d = rb.make_data(loop.plant)
    d.qpos[:] = loop.d.qpos
    place, turn = frame_pose(loop.plant, d, "tool0")
    return loop, place.copy(), turn.copy()


def test_a_pose_is_accepted_and_reached():
    loop, place, turn = framed()
    for _ in range(4):
        place += [0.0, 0.02, 0.03]
        turn = Rotation.from_rotvec([0.0, 0.0, 0.1]).as_matrix() @ turn
        loop.controller.set_pose(pose(place, turn))
        loop.run(1.0)
    loop.run(2.0)
    d = rb.make_data(loop.plant)
    d.qpos[:] = loop.d.qpos
    there, turned = frame_pose(loop.plant, d, "tool0")
    np.testing.assert_allclose(there, place, atol=2e-3)
    assert Rotation.from_matrix(turned @ turn.T).magnitude() < 1e-2


def test_distant_and_invalid_poses_are_refused():
    loop, place, turn = framed()
    bad = [pose(np.add(place, [0.101, 0, 0]), turn)]
    bad.append(pose(place, Rotation.from_rotvec([0.0, 0.51, 0.0]).as_matrix() @ turn))
    bad += [pose(place, R) for R in (turn * 1.1, turn * 0.0, -turn, turn + 1e-3)]
    for k in range(4):
        bad.append(pose(place, turn))
        bad[-1][k, 1] = np.nan
    for wrong in bad:
        with refused(RbdynError, "pose"):
            loop.controller.set_pose(wrong)
    trace = loop.run(0.5)
    np.testing.assert_allclose(trace.qpos, np.tile(Q, (500, 1)), atol=1e-3)
    with refused(RbdynError, "pose", "impedance.frame"):
        armed(mode="impedance").controller.set_pose(pose(place, turn))
    with refused(RbdynError, "mode", "hold"):
        armed(mode="hold").controller.set_pose(pose(place, turn))


def test_a_stream_of_poses_ends_near_a_blocked_arm():
    """If all poses were accepted, the many small steps would wind up the spring."""
    loop, place, turn = framed()
    accepted = 0
    with refused(RbdynError, "pose"):
        for _ in range(100):
            place += [0.01, 0.0, 0.0]
            loop.controller.set_pose(pose(place, turn))
            accepted += 1
    assert accepted in (9, 10)  # the accepted poses lead 0.1 m away, less the small sag of the arm


def test_a_heavy_arm_does_not_oscillate_when_its_effort_rate_saturates():
    """A goal replaces another goal during the motion, so the target stops at once."""
    m = model()
    grown = {name: 5.0 * getattr(m, name) for name in ("body_mass", "body_inertia", "jnt_effort")}
    loop = ClosedLoop(m.replaced(**grown), mode="computed_torque", gate={"blend_time": 0.05}).arm()
    loop.run(0.2)
    for step, time in ((0.4, 0.6), (-0.08, 1.9)):
        start = loop.controller.progress().desired[0].copy()
        loop.controller.follow_path(quintic(np.stack([start, start + step]), np.array([0.0, 1.5])))
        trace = loop.run(time)
    assert loop.controller.fault is None
    assert np.abs(trace.qvel).max() < 1.0  # with one effort rate for all joints it would be 2.5
    assert np.abs(trace.qpos[-1] - trace.target[-1]).max() < 1e-3
