# SPDX-License-Identifier: Apache-2.0
"""Bodies on a moving belt with Coulomb friction agree with closed-form solutions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import touching
from support.refusals import refused

import rbdyn_ros as rb

MASS, MU, SPEED, H = 2.0, 0.4, 0.5, 0.001
PULL = MU * touching.G


def belt(velocity=(SPEED, 0.0, 0.0), rpy=(0.0, 0.0, 0.0), shape=None, mass=MASS):
    """Return a Model of a free body, by default a point, on a plane whose surface moves."""
    skin = rb.Surface(friction=MU)
    system = touching.free(shape or touching.POINT, mass, skin, floor=False)
    m = rb.build(
        system.obstacle("belt", rb.Plane(), origin=rb.pose(rpy=rpy), velocity=tuple(velocity))
    )
    m.opt.timestep = H
    return m


def settled(m, height=0.0):
    """Return Data of the body at rest on the belt, when the belt starts."""
    still = m.replaced(geom_velocity=np.zeros((2, 3)))
    still.opt.timestep = H
    before = touching.placed(still, (0.0, 0.0, height))
    rb.step(still, before, 500)
    d = rb.make_data(m)
    d.qpos[:], d.qvel[:] = before.qpos, before.qvel
    return d


def test_a_belt_accelerates_a_body_by_mu_g_until_it_no_longer_slips():
    m = belt()
    d = settled(m)
    slipping = int(SPEED / (PULL * H))
    rb.step(m, d, slipping)
    assert d.qvel[0] == pytest.approx(slipping * H * PULL, rel=1e-6)
    rb.step(m, d, 10)
    start = d.qpos[0]
    rb.step(m, d, 1000)
    assert abs(d.qvel[0] - SPEED) < 1e-12
    # the solver is accurate to 1e-10
    assert d.qpos[0] - start == pytest.approx(1000 * H * SPEED, rel=1e-10)
    assert np.abs(d.qvel[1:]).max() < 1e-12
    assert abs(d.contact_force[0, 0]) < 1e-9
    assert d.nunsolved == 0


def test_half_of_the_work_of_a_belt_becomes_kinetic_energy():
    """The other half of the belt's work becomes heat by slip."""
    m = belt()
    d, impulse = settled(m), 0.0
    for _ in range(300):
        rb.step(m, d)
        impulse += H * d.contact_force[0, 0]
    assert impulse == pytest.approx(MASS * SPEED, rel=1e-9)
    assert impulse * SPEED == pytest.approx(2.0 * 0.5 * MASS * d.qvel[0] ** 2, rel=1e-9)


def test_a_box_reaches_the_speed_of_the_belt_after_the_time_of_the_closed_form():
    m = belt(shape=rb.Box((0.2, 0.2, 0.1)))
    d = settled(m, 0.05)
    steps = 0
    while d.qvel[0] < SPEED * (1.0 - 1e-6) and steps < 1000:
        rb.step(m, d)
        steps += 1
    # the box rocks by micrometres when the belt starts
    assert steps * H == pytest.approx(SPEED / PULL, rel=0.02)
    rb.step(m, d, 2000)
    assert abs(d.qvel[0] - SPEED) < 1e-9
    assert np.abs(d.qvel[1:]).max() < 1e-9


def test_a_belt_carries_a_body_uphill_without_slip():
    angle = np.arctan(0.9 * MU)
    m = belt((-SPEED, 0.0, 0.0), rpy=(0.0, angle, 0.0))
    along = np.array([-np.cos(angle), 0.0, np.sin(angle)])
    d = touching.placed(m, (0.0, 0.0, 0.0), linear=tuple(SPEED * along))
    rb.step(m, d, 1000)
    v = d.qvel[:3].copy()
    rb.step(m, d, 1000)
    assert v == pytest.approx(SPEED * along, abs=1e-9)
    assert d.qvel[:3] == pytest.approx(v, abs=1e-12)


def test_the_velocity_of_a_belt_is_in_the_axes_of_its_shape():
    m = belt(rpy=(0.0, 0.0, np.pi / 2))
    assert m.geom_velocity[1] == pytest.approx([0.0, SPEED, 0.0], abs=1e-15)
    d = settled(m)
    rb.step(m, d, 300)
    assert d.qvel[:3] == pytest.approx([0.0, SPEED, 0.0], abs=1e-9)


def test_a_body_with_a_moving_surface_drives_like_a_tracked_vehicle():
    """The surface moves backwards relative to the body, so the body drives forwards."""
    m = belt((0.0, 0.0, 0.0))
    m = m.replaced(geom_velocity=[[-SPEED, 0.0, 0.0], [0.0, 0.0, 0.0]])
    d = settled(m)
    turn = Rotation.from_rotvec((0.0, 0.0, 0.7))
    d.qpos[3:7] = touching.wxyz(turn)
    rb.step(m, d, 500)
    ahead = turn.apply((SPEED, 0.0, 0.0))
    assert d.qvel[:3] == pytest.approx(ahead, abs=1e-9)
    start = d.qpos[:3].copy()
    rb.step(m, d, 500)
    assert d.qpos[:3] - start == pytest.approx(500 * H * ahead, abs=1e-9)


def test_a_surface_velocity_along_the_normal_has_no_effect():
    out = []
    for velocity in ((0.0, 0.0, 0.0), (0.0, 0.0, 3.0)):
        m = belt(velocity)
        d = touching.placed(m, (0.0, 0.0, 0.01), linear=(1.0, 0.2, 0.0))
        rb.step(m, d, 300)
        out.append(np.concatenate([d.qpos, d.qvel]))
    assert np.array_equal(*out)


SCENE = """rbdyn_scene: 1
floor: false
objects:
  cube: {box: {size: [0.1, 0.1, 0.1]}, mass: 0.2, xyz: [0, 0, 0.05]}
obstacles:
  belt: {box: {size: [4, 1, 0.1]}, xyz: [0, 0, -0.05], velocity: VELOCITY}
"""


def scene_file(folder, velocity):
    path = folder / "belt.yaml"
    path.write_text(SCENE.replace("VELOCITY", velocity))
    return path


def test_a_scene_file_can_define_belts(tmp_path):
    m = rb.load(scene_file(tmp_path, "[0.3, 0.1, 0]"))
    assert m.geom_velocity.tolist() == [[0.0, 0.0, 0.0], [0.3, 0.1, 0.0]]
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    assert d.qvel[:3] == pytest.approx([0.3, 0.1, 0.0], abs=1e-6)


@pytest.mark.parametrize(
    ("velocity", "code"),
    [
        ("[0.3, 0]", "bad-value"),
        ("fast", "bad-value"),
        ("[0, .nan, 0]", "bad-value"),
        ("[1e9, 0, 0]", "out-of-range"),
    ],
)
def test_an_invalid_velocity_in_a_scene_file_is_refused_with_its_line(tmp_path, velocity, code):
    with refused(rb.DescriptionError, code, "obstacle 'belt'", line=6):
        rb.load(scene_file(tmp_path, velocity))


@pytest.mark.parametrize("velocity", [(1.0, 0.0), "fast", (np.inf, 0.0, 0.0)])
def test_an_invalid_velocity_in_python_is_refused(velocity):
    with refused(rb.ParameterError, "bad-argument"):
        rb.SystemBuilder("room").obstacle("belt", rb.Plane(), velocity=velocity)


@pytest.mark.parametrize("velocity", ["fast", None])
def test_an_obstacle_with_an_invalid_velocity_is_refused(velocity):
    ball = rb.Object("ball", rb.Sphere(0.1), mass=1.0)
    with refused(rb.DescriptionError, "not-finite", "obstacle 'belt'"):
        rb.scene(objects=[ball], obstacles=[rb.Obstacle("belt", rb.Plane(), velocity=velocity)])


@pytest.mark.parametrize("velocity", [[1.0, 0.0], [np.nan, 0.0, 0.0], [1e300, 0.0, 0.0]])
def test_replaced_refuses_an_invalid_velocity(velocity):
    with refused(rb.ModelError, "model-array", "geom_velocity"):
        belt().replaced(geom_velocity=2 * [velocity])
