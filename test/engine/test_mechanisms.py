# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with closed loops agree with closed-form solutions, and drift little in long runs.

The tolerances are a few times the measured drifts; `-s` prints the drift of each run.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from support import mechanisms
from support.mechanisms import Drift, allowed_velocity, started

import rbdyn_ros as rb

#: For each mechanism: its start, and for 60 s of Runge-Kutta with 1 ms the allowed position error
#: [m or rad] and the allowed change of energy, relative to the largest kinetic energy.
AWAY = {
    "grashof": ({"A": 1.0}, 1e-9, 1e-6),
    "crank_slider": ({"A": 1.0}, 1e-9, 1e-5),
    "watt": ({"A": 1.0}, 1e-8, 1e-4),
    "spatial_slider_crank": ({"A": 1.0}, 1e-9, 1e-6),
    "bricard": ({"hinge_1": -2.0}, 1e-12, 1e-9),
    "gripper": ({}, 1e-8, 1e-5),
    "wedge": ({}, 1e-9, 1e-9),
    "rack": ({}, 1e-12, 1e-12),
}

#: For each mechanism, away from singular poses: rank and rows of K, and degrees of freedom.
RANKS = {
    "grashof": (2, 5, 1),
    "parallelogram": (2, 5, 1),
    "change_point": (2, 5, 1),
    "crank_slider": (2, 5, 1),
    "watt": (2, 5, 1),
    "five_bar": (2, 5, 2),
    "spatial_slider_crank": (3, 3, 1),
    "delta": (15, 15, 3),
    "bricard": (4, 5, 1),
    "gripper": (2, 2, 1),
    "pantograph": (2, 5, 2),
    "wedge": (1, 1, 8),
    "screw_jack": (1, 5, 1),
    "rack": (1, 5, 1),
    "ball": (3, 3, 3),
    "disk": (3, 3, 3),
}


def model(name, integrator="rk4", **how):
    m = rb.build(getattr(mechanisms, name)(**how))
    m.opt.integrator = integrator
    return m


def q(m, d, name):
    return d.qpos[m.jnt_qposadr[m.jnt_id(name)]]


def at(m, d, link, *point):
    """Return the world position of a point, which is given in the frame of a link."""
    place, R = rb.frame_pose(m, d, link)
    return place + R @ np.array(point)


def moving(m, d, times=40, steps=25):
    """Yield d after every `steps` steps, `times` times in all, with updated poses of bodies."""
    for _ in range(times):
        rb.step(m, d, steps)
        rb.kinematics(m, d)
        yield d


@pytest.mark.parametrize("name", RANKS)
def test_mechanisms_have_the_listed_rank_and_mobility(name):
    m = model(name)
    # start away from qpos0, which may be a singular pose
    start = rb.random_qpos(m, np.random.default_rng(3)) if m.nroll == 0 else m.qpos0
    if name == "delta":
        start = mechanisms.delta_at(m, np.array([0.03, -0.05, -0.5]))
    d = started(m, qpos=start)
    rb.forward(m, d)
    assert (d.efc_rank, m.nefc, m.nv - d.efc_rank) == RANKS[name]
    singular = np.linalg.svd(d.efc_J, compute_uv=False)
    assert np.linalg.matrix_rank(d.efc_J, tol=1e-8 * singular[0]) == d.efc_rank


def test_the_four_bar_follows_its_closed_form():
    """The rocker's end is where circles about B and D intersect, on the initial side."""
    m = model("grashof")
    crank, coupler, rocker, ground = 0.1, 0.25, 0.2, 0.3
    d = started(m, A=1.0)
    d.qvel = allowed_velocity(m, d, np.array([40.0, 0.0, 0.0]))
    turned = []
    for _ in moving(m, d):
        A, B, D = (q(m, d, name) for name in "ABD")
        diagonal = np.array([ground - crank * np.cos(A), -crank * np.sin(A)])
        length = np.hypot(*diagonal)
        direction = np.arctan2(diagonal[1], diagonal[0])
        near_D = np.arccos((rocker**2 + length**2 - coupler**2) / (2 * rocker * length))
        near_B = np.arccos((coupler**2 + length**2 - rocker**2) / (2 * coupler * length))
        np.testing.assert_allclose(_wrapped(D - (direction + np.pi - near_D)), 0.0, atol=1e-8)
        np.testing.assert_allclose(_wrapped(A + B - (direction + near_B)), 0.0, atol=1e-8)
        turned.append(A)
    assert np.ptp(turned) > 2 * np.pi, "the crank of Grashof's four-bar has made no full turn"


def test_the_crank_slider_follows_its_closed_form():
    m = model("crank_slider")
    d = started(m, A=1.0)
    d.qvel = allowed_velocity(m, d, np.array([15.0, 0.0, 0.0]))
    for _ in moving(m, d):
        A = q(m, d, "A")
        x = 0.1 * np.cos(A) + np.sqrt(0.3**2 - (0.1 * np.sin(A)) ** 2)
        assert q(m, d, "guide") == pytest.approx(x, abs=1e-9)


def test_the_middle_of_the_coupler_of_watts_linkage_follows_watts_curve():
    """In polar coordinates r^2 = b^2 - (a sin t +- sqrt(c^2 - a^2 cos^2 t))^2."""
    a, b, c = 0.2, 0.25, 0.1
    m = model("watt", half_ground=a, rocker=b, half_coupler=c)
    d = started(m, A=1.0)
    for _ in moving(m, d):
        x, _, z = at(m, d, "coupler", c, 0, 0)
        t = np.arctan2(z, x)
        root = np.sqrt(max(c**2 - (a * np.cos(t)) ** 2, 0.0))
        errors = [x * x + z * z - b**2 + (a * np.sin(t) + s * root) ** 2 for s in (1, -1)]
        assert min(np.abs(errors)) < 1e-9


def test_the_middle_of_the_coupler_of_watts_linkage_moves_nearly_straight():
    """Near its inflection the curve deviates from its tangent by the distance to the fifth power.

    As a^2 = b^2 + c^2, the rockers are perpendicular to the coupler in the middle position.
    """
    b, c = 0.25, 0.05
    m = model("watt", half_ground=np.hypot(b, c), rocker=b, half_coupler=c)
    middle = np.arctan2(c, b)
    start, way = np.array([middle, -np.pi / 2, middle + np.pi]), []
    for turn in np.linspace(-0.2, 0.2, 21):
        d = started(m, qpos=start + turn * np.array([1.0, -1.0, 1.0]), A=middle + turn)
        rb.kinematics(m, d)
        way.append(at(m, d, "coupler", c, 0, 0)[[0, 2]])
    way = np.array(way)
    along = way[-1] - way[0]
    length = np.hypot(*along)
    aside = np.abs((way - way[0]) @ np.array([-along[1], along[0]])) / length
    assert length > 0.07
    assert aside.max() < 2e-3 * length


def test_the_spatial_slider_crank_follows_its_closed_form():
    m = model("spatial_slider_crank", crank=0.1, rod=0.4, offset=0.15)
    d = started(m, A=1.0)
    d.qvel = allowed_velocity(m, d, np.array([12.0, 0.0, 0.0, 0.0]))
    side = np.sign(q(m, d, "guide") - 0.1 * np.cos(1.0))
    for _ in moving(m, d):
        A = q(m, d, "A")
        x = 0.1 * np.cos(A) + side * np.sqrt(0.4**2 - (0.1 * np.sin(A)) ** 2 - 0.15**2)
        assert q(m, d, "guide") == pytest.approx(x, abs=1e-9)


def test_a_rod_that_spins_about_itself_does_not_change_the_other_motion():
    """With a ball joint at both ends the rod can spin, which is a second degree of freedom."""
    ways = []
    for idle in (False, True):
        m = model("spatial_slider_crank", idle_spin=idle)
        d = started(m, A=1.0, speed=0.0)
        rb.forward(m, d)
        assert m.nv - d.efc_rank == 1 + idle
        rb.step(m, d, 500)
        ways.append([q(m, d, "A"), q(m, d, "guide")])
    # the rod is 2 cm thick, so its spin takes a little energy
    np.testing.assert_allclose(ways[0], ways[1], atol=5e-4)


def test_the_tip_of_a_five_bar_is_where_two_circles_meet():
    upper, lower, ground = 0.15, 0.25, 0.24
    m = model("five_bar")
    d = started(m)
    for _ in moving(m, d):
        tip = at(m, d, "lower_1", lower, 0, 0)
        for name, x in (("shoulder_1", 0.0), ("shoulder_2", ground)):
            angle = q(m, d, name)
            elbow = np.array([x + upper * np.cos(angle), 0.0, upper * np.sin(angle)])
            assert np.linalg.norm(tip - elbow) == pytest.approx(lower, abs=1e-8)
        np.testing.assert_allclose(tip, at(m, d, "lower_2", lower, 0, 0), atol=1e-8)


def test_the_bricard_linkage_follows_its_closed_form():
    m = model("bricard")
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = started(m, hinge_1=-2.0)
    d.qvel = allowed_velocity(m, d, np.array([8.0, 0, 0, 0, 0]))
    spread = []
    for _ in moving(m, d, times=60, steps=50):
        first, second = d.qpos[0::2], d.qpos[1::2]
        np.testing.assert_allclose(_wrapped(first - first[0]), 0.0, atol=1e-9)
        np.testing.assert_allclose(_wrapped(second - second[0]), 0.0, atol=1e-9)
        partners = mechanisms.bricard_partner(first[0])
        assert min(np.abs(_wrapped(second[0] - np.array(partners)))) < 1e-9
        spread.append(first[0])
    assert np.ptp(spread) > 1.0


@pytest.mark.parametrize("centre", [(0.0, 0.0, -0.5), (0.1, -0.05, -0.4), (-0.08, 0.12, -0.45)])
def test_the_delta_robot_agrees_with_its_inverse_kinematics(centre):
    m = model("delta")
    d = rb.make_data(m)
    d.qpos = mechanisms.delta_at(m, np.array(centre))
    mechanisms.see_constraints(m, d)
    assert np.abs(d.efc_pos).max() < 1e-14, "the closed form does not close all loops"
    place, R = rb.frame_pose(m, d, "platform")
    np.testing.assert_allclose(place, centre, atol=1e-14)
    np.testing.assert_allclose(R, np.eye(3), atol=1e-14)


def test_the_platform_of_a_delta_robot_moves_by_its_inverse_kinematics_without_rotation():
    m = model("delta", stiffness=10.0)
    d = started(m, qpos=mechanisms.delta_at(m, np.array([0.05, 0.0, -0.5])))
    motors = [m.jnt_qposadr[m.jnt_id(f"motor_{i}")] for i in range(3)]
    for _ in moving(m, d):
        place, R = rb.frame_pose(m, d, "platform")
        np.testing.assert_allclose(R, np.eye(3), atol=1e-8)
        np.testing.assert_allclose(d.qpos[motors], mechanisms.delta_motors(place), atol=1e-8)


def test_the_fingers_of_a_gripper_follow_its_slider():
    m = model("gripper")
    d = started(m)
    for _ in moving(m, d):
        height = q(m, d, "push") - 0.05
        # the rod connects the slider at x = 0.01 to the finger, 0.03 from the finger's pivot
        reach = np.hypot(0.03 - 0.01, -height)
        direction = np.arctan2(height, 0.01 - 0.03)
        half = np.arccos((0.03**2 + reach**2 - 0.06**2) / (2 * 0.03 * reach))
        for side in ("left", "right"):
            angle = q(m, d, side)
            assert min(abs(_wrapped(angle - direction - s * half)) for s in (1, -1)) < 1e-8


def test_the_tip_of_the_pantograph_doubles_the_path_of_its_middle():
    m = model("pantograph")
    d = started(m, qpos=mechanisms.pantograph_at(1.2, -0.9), speed=0.0)
    for _ in moving(m, d):
        middle = at(m, d, "short_1", 0.2, 0, 0)
        np.testing.assert_allclose(at(m, d, "long_2", 0.4, 0, 0), 2.0 * middle, atol=1e-8)


def test_a_screw_jack_descends_by_many_turns():
    """The table sinks by p per rad of the nut, so (m p^2 + J) w' = m g p - c w."""
    pitch = 0.005
    m = model("screw_jack", pitch=pitch)
    d = rb.make_data(m)
    inertia, damping = 0.3 * 0.03**2 / 2 + 3.0 * pitch**2, 0.01
    push = 3.0 * 9.81 * pitch
    rate = damping / inertia
    for _ in moving(m, d, times=20, steps=500):
        turned = push / damping * (d.time - (1.0 - np.exp(-rate * d.time)) / rate)
        assert q(m, d, "spin") == pytest.approx(turned, rel=1e-7)
        assert q(m, d, "guide") == pytest.approx(-pitch * turned, rel=1e-7)
    assert turned > 20 * 2 * np.pi


def test_a_rack_moves_by_the_rolled_length_of_its_pinion():
    m = model("rack")
    d = rb.make_data(m)
    d.qvel = allowed_velocity(m, d, np.array([10.0, 0.0]))
    for _ in moving(m, d, times=20, steps=500):
        assert q(m, d, "guide") == pytest.approx(-0.05 * q(m, d, "axle"), abs=1e-14)
    assert abs(q(m, d, "axle")) > 4.0


@pytest.mark.parametrize("name", AWAY)
def test_mechanisms_keep_their_energy_for_a_minute(name, record_property):
    start, position, energy = AWAY[name]
    m = model(name)
    drift = Drift(m, started(m, speed=3.0, **start), 60.0)
    _tell(record_property, f"{name}, rk4, 60 s", drift)
    assert drift.largest < position
    assert drift.share < energy
    assert drift.ranks == {RANKS[name][0]} or name == "gripper"


def test_a_delta_robot_on_springs_keeps_its_energy_for_a_minute(record_property):
    m = model("delta", stiffness=10.0)
    d = started(m, qpos=mechanisms.delta_at(m, np.array([0.05, 0.0, -0.5])), speed=1.0)
    drift = Drift(m, d, 60.0)
    _tell(record_property, "delta on springs, rk4, 60 s", drift)
    assert drift.largest < 1e-8
    assert drift.share < 1e-5
    assert drift.ranks == {15}


@pytest.mark.parametrize("name", ["five_bar", "pantograph"])
def test_mechanisms_with_two_degrees_of_freedom_swing_without_drift(name, record_property):
    """Mechanisms that start at rest stay away from poses in which the bars are folded flat."""
    if name == "five_bar":
        m = model(name)
        d = started(m, speed=0.0, shoulder_1=-1.8, shoulder_2=-1.2)
    else:
        m = model(name, stiffness=20.0)  # else the bars fold flat
        d = started(m, speed=0.0, qpos=mechanisms.pantograph_at(-0.2, -1.0))
    drift = Drift(m, d, 10.0)
    _tell(record_property, f"{name}, rk4, 10 s", drift)
    assert drift.largest < 1e-8
    assert drift.share < 1e-5


SINGULAR = {"parallelogram": {"A": 1.0, "B": -1.0}, "change_point": {"A": 1.0}}


@pytest.mark.parametrize("name", SINGULAR)
def test_loops_stay_closed_through_singular_poses(name, record_property):
    m = model(name)
    d = started(m, speed=3.0, **SINGULAR[name])
    drift = Drift(m, d, 60.0, every=1)
    _tell(record_property, f"{name}, rk4, 60 s", drift)
    assert np.isfinite(d.buffer[: m.nq]).all()
    assert drift.largest < 1e-6
    assert drift.share < 1e-2
    # within each tenth of a second the error falls below 1e-8, despite frequent singular poses
    assert max(min(drift.pos[n : n + 100]) for n in range(0, len(drift.pos) - 100, 50)) < 1e-8
    assert drift.pos[-1] < 1e-8


def test_a_parallelogram_starts_in_its_singular_pose_and_leaves_it():
    """At the start all bars lie on one line and K has rank 1; later K has rank 2."""
    m = model("parallelogram")
    d = rb.make_data(m)
    d.qvel = allowed_velocity(m, d, np.array([5.0, -5.0, 5.0]))
    rb.forward(m, d)
    assert d.efc_rank == 1
    rb.step(m, d, 40)
    rb.forward(m, d)
    assert d.efc_rank == 2
    assert np.abs(d.efc_pos).max() < 1e-8
    A, B, D = d.qpos
    np.testing.assert_allclose([-B, D], A, atol=1e-6)
    assert A > 0.1


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping"])
@pytest.mark.parametrize("name", [*AWAY, *SINGULAR, "five_bar", "pantograph", "screw_jack"])
def test_default_integrators_keep_loops_closed_without_energy_gain(
    name, integrator, record_property
):
    m = model(name, integrator)
    start = AWAY[name][0] if name in AWAY else SINGULAR.get(name, {})
    drift = Drift(m, started(m, speed=3.0, **start), 10.0)
    _tell(record_property, f"{name}, {integrator}, 10 s", drift)
    # the motion of the five-bar is chaotic, so rounding decides single errors after some seconds;
    # the test uses the median over the second half of the run
    assert drift.largest < 5e-5
    assert np.median(drift.pos[len(drift.pos) // 2 :]) < 1e-6
    if name != "screw_jack":  # its damper removes energy
        assert max(drift.energy) < 0.02 * drift.kinetic, "the energy has grown"


def test_the_position_error_of_an_euler_step_is_of_third_order():
    """Each step corrects the position error of the previous step, which is of order h^3."""
    left = []
    for h in (1e-3, 2.5e-4):
        m = model("grashof", "euler")
        m.opt.timestep = h
        left.append(Drift(m, started(m, speed=3.0, A=1.0), 2.0, every=round(0.01 / h)).largest)
    assert 40.0 < left[0] / left[1] < 90.0


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
@pytest.mark.parametrize("name", ["grashof", "delta", "bricard", "wedge", "screw_jack"])
def test_n_steps_at_once_equal_n_single_steps(name, integrator):
    m = model(name, integrator)
    many = started(m, speed=2.0)
    single = many.copy()
    rb.step(m, many, 200)
    for _ in range(200):
        rb.step(m, single)
    for field in ("qpos", "qvel", "qacc", "efc_pos", "efc_force"):
        assert np.array_equal(getattr(many, field), getattr(single, field)), field


def test_a_copy_of_a_mechanism_continues_like_the_original():
    m = model("delta")
    d = started(m, speed=2.0)
    rb.step(m, d, 30)
    twin = d.copy()
    rb.step(m, d, 30)
    rb.step(m, twin, 30)
    assert np.array_equal(d.buffer.view(np.int64), twin.buffer.view(np.int64))


RESTORE = """
import pickle, sys
from pathlib import Path
d = pickle.loads(Path(sys.argv[1]).read_bytes())
import rbdyn_ros as rb
rb.step(d.model, d, 3)
print(d.buffer.tobytes().hex())
"""


def test_a_data_restored_in_a_new_process_continues_like_the_original(tmp_path):
    m = rb.build(mechanisms.grashof())
    d = rb.make_data(m)
    rb.step(m, d, 3)
    file = tmp_path / "data.pickle"
    file.write_bytes(pickle.dumps(d))
    command = [sys.executable, "-c", RESTORE, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rb.step(m, d, 3)
    assert done.stdout.strip() == d.buffer.tobytes().hex()


@pytest.mark.parametrize("name", ["grashof", "screw_jack", "delta", "disk"])
def test_a_run_after_a_reset_repeats_the_first_run(name):
    m = model(name)
    d = rb.make_data(m)
    rb.step(m, d, 50)
    first = d.qpos.copy()
    rb.step(m, d, 777)
    rb.reset_data(m, d)
    rb.step(m, d, 50)
    assert np.array_equal(d.qpos, first)


@pytest.mark.parametrize("name", ["grashof", "screw_jack", "delta", "gripper", "disk", "bricard"])
def test_a_reset_clears_nan_from_a_mechanism(name):
    """A reset also clears the remembered positions of loop joints."""
    m = model(name)
    d, clean = rb.make_data(m), rb.make_data(m)
    rb.step(m, d, 5)
    d.qpos[0] = np.nan
    rb.step(m, d, 5)
    assert np.isnan(d.qpos).any()
    rb.reset_data(m, d)
    rb.step(m, d, 20)
    rb.step(m, clean, 20)
    assert np.array_equal(d.qpos, clean.qpos)


def _wrapped(angle):
    return np.mod(np.asarray(angle) + np.pi, 2.0 * np.pi) - np.pi


def _tell(record_property, name, drift):
    record_property(name, str(drift))
    print(f"{name}: {drift}")
