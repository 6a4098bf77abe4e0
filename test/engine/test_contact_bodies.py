"""Contact between moving bodies: momentum, impacts, stacks, grasps, the law of the forces."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import contact_referee, robots, touching
from support.refusals import refused

import rbdyn_ros as rb

BALL = rb.Sphere(0.1)
CUBE = rb.Box((0.1, 0.1, 0.1))
CUBE_OF_5_CM = rb.Box((0.05, 0.05, 0.05))
G = touching.G


def bodies(*parts, floor=True):
    """Return a Model of free bodies, each a shape, its mass and its surface."""
    system = rb.SystemBuilder("bodies", base="world")
    for n, (shape, mass, surface) in enumerate(parts):
        system.body(f"b{n}", touching.solid(shape, mass))
        system.joint(f"j{n}", "floating", "world", f"b{n}")
        system.geometry(f"g{n}", f"b{n}", shape, surface=surface)
    m = rb.build(system.floor() if floor else system)
    if not floor:
        m.opt.gravity = (0.0, 0.0, 0.0)
    return m


def at(m, places, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0)):
    """Return a Data with free bodies at these places, unturned."""
    d = rb.make_data(m)
    d.qpos.reshape(-1, 7)[:, :3] = places
    d.qpos.reshape(-1, 7)[:, 3:] = (1.0, 0.0, 0.0, 0.0)
    d.qvel.reshape(-1, 6)[:, :3] = linear
    d.qvel.reshape(-1, 6)[:, 3:] = angular
    return d


def stack(number):
    """Return cubes on top of each other, not quite above each other."""
    m = bodies(*[(CUBE, 1.0, None)] * number)
    return m, at(m, [(0.003 * (n % 3), 0.002 * (n % 2), 0.05 + 0.1 * n) for n in range(number)])


def momentum(m, d):
    """Return momentum and angular momentum about the origin of free bodies, and their energy."""
    rb.forward(m, d)
    linear, angular, energy = np.zeros(3), np.zeros(3), 0.0
    for i, twist in enumerate(d.qvel.reshape(-1, 6), start=1):
        axes = d.ximat[i].reshape(3, 3)
        v, w = twist[:3], d.xmat[i].reshape(3, 3) @ twist[3:]
        spin = axes @ (m.body_inertia[i] * (axes.T @ w))
        linear += m.body_mass[i] * v
        angular += np.cross(d.xipos[i], m.body_mass[i] * v) + spin
        energy += 0.5 * (m.body_mass[i] * v @ v + w @ spin)
    return linear, angular, energy


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_two_balls_keep_their_momentum(restitution):
    skin = rb.Surface(restitution=restitution, friction=0.0 if restitution == 1.0 else 0.8)
    m = bodies((BALL, 1.0, skin), (BALL, 3.0, skin), floor=False)
    d = at(m, [(0, 0, 0), (0.25, 0.05, 0.02)], [(2, 0, 0), (-1, 0.2, 0)], [(1, 2, 3), (0, 0, 0)])
    start = momentum(m, d)
    rb.step(m, d, 100)
    end = momentum(m, d)
    assert d.qvel[0] < 0.0
    assert end[0] == pytest.approx(start[0], abs=1e-12)
    assert end[1] == pytest.approx(start[1], abs=1e-12)
    if restitution == 1.0:
        assert end[2] == pytest.approx(start[2], rel=1e-11)
    else:
        assert end[2] < 0.9 * start[2]


def test_two_boxes_exchange_opposite_impulses():
    """Forces are equal and opposite at each point, and so are their moments about the origin."""
    m = bodies((CUBE, 1.0, None), (CUBE, 50.0, None), floor=False)
    d = at(m, [(0, 0, 0), (0.13, 0.03, 0.04)], [(3, 0, 0), (0, 0, 0)], [(4, 5, 6), (0, 0, 0)])
    seen = 0
    for _ in range(60):
        rb.step(m, d, 1)
        if d.nmutual:
            moments, forces = d.cfrc_contact[:, :3], d.cfrc_contact[:, 3:]
            about_origin = moments + np.cross(d.subtree_com, forces)
            size = abs(forces).max() + 1e-300
            assert abs(forces.sum(axis=0)).max() < 1e-13 * size
            assert abs(about_origin.sum(axis=0)).max() < 1e-13 * size
            seen += 1
    assert seen > 0


def cradle(gap, shift=0.0):
    """Five balls of which the first one hits the others; return the speeds afterwards."""
    m = bodies(*[(BALL, 1.0, rb.Surface(friction=0.0, restitution=1.0))] * 5, floor=False)
    d = at(m, [(shift + (0.2 + gap) * n - 0.05 * (n == 0), 0.0, 0.0) for n in range(5)])
    d.qvel[0] = 1.0
    rb.step(m, d, 200)
    return d.qvel.reshape(-1, 6)[:, 0]


@pytest.mark.parametrize("gap", [1e-9, 1e-6, 1e-3])
def test_newtons_cradle(gap):
    """Balls that do not touch pass the blow on, one impact after the other."""
    assert cradle(gap) == pytest.approx([0, 0, 0, 0, 1], abs=1e-11)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0 / 3.0, 7.0])
def test_balls_of_a_cradle_that_touch_keep_the_energy(shift):
    """Rounding decides which of them touch, and so which leave together.

    An impact is rigid to 1e-4.
    """
    speeds = cradle(0.0, shift)
    assert speeds.sum() == pytest.approx(1.0, abs=1e-11)
    assert (speeds**2).sum() == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(speeds) > -1e-3).all()


def test_a_stack_of_ten_comes_to_rest():
    m, d = stack(10)
    rb.step(m, d, 5000)
    assert abs(d.qvel).max() < 1e-9
    assert (d.ncon, d.nmutual, d.nunsolved) == (40, 36, 0)
    assert d.contact_dist[:40].min() > -1.5e-5
    assert d.solver_niter == 1
    # each carries what stands on it
    floor = d.cfrc_contact[1:, 5]
    assert floor == pytest.approx(np.full(10, G), rel=1e-6)


def test_a_stack_of_fifty_stands():
    """The shock of the start dies out; what is left is the sway of a tall column, at 0.4 Hz."""
    m, d = stack(50)
    start = d.qpos.copy()
    fastest = 0.0
    for _ in range(200):
        rb.step(m, d, 10)
        fastest = max(fastest, abs(d.qvel).max())
    assert fastest < 0.1
    assert abs(d.qpos - start).max() < 1e-3
    assert d.nunsolved == 0
    assert abs(d.qvel).max() < 2e-3
    assert d.cfrc_contact[1:, 5] == pytest.approx(np.full(50, G), rel=1e-2)


def hand():
    """A palm on a vertical slide with two fingers, and a cube on the floor between them."""
    system = rb.SystemBuilder("hand", base="world").floor()
    system.body("palm", rb.shapes.box((0.1, 0.1, 0.02), mass=1.0))
    system.joint("lift", "prismatic", "world", "palm", axis=(0, 0, 1), xyz=(0, 0, 0.225))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        size, xyz = (0.01, 0.02, 0.05), (0.06 * sign, 0, -0.2)
        system.body(side, rb.shapes.box(size, mass=0.1))
        system.joint(
            side, "prismatic", "palm", side, axis=(-sign, 0, 0), xyz=xyz, damping=10.0
        ).geometry(side, side, rb.Box(size))
    size = (0.05, 0.05, 0.05)
    system.body("cube", rb.shapes.box(size, mass=0.2)).joint("free", "floating", "world", "cube")
    m = rb.build(system.geometry("cube", "cube", rb.Box(size)))
    d = rb.make_data(m)
    d.qpos[3:] = (0, 0, 0.025, 1, 0, 0, 0)
    return m, d


def held(m, d, height):
    """Set the forces of the hand: 8 N at each finger, the palm goes to a height."""
    d.qfrc_applied[0] = 1.4 * G + 2000.0 * (height - d.qpos[0]) - 150.0 * d.qvel[0]
    d.qfrc_applied[1:3] = 8.0


def test_a_hand_lifts_a_cube_without_slip():
    m, d = hand()
    for n in range(3000):
        held(m, d, 0.1 * min(max(n - 300, 0) / 700, 1.0))
        rb.step(m, d, 1)
        if n == 1999:
            start = d.qpos[5] - d.qpos[0]
    assert d.qpos[5] > 0.12
    assert (d.nmutual, d.ncon) == (8, 8)
    assert abs(d.qpos[5] - d.qpos[0] - start) < 1e-12  # 1e-6 um in a second
    assert d.cfrc_contact[1:4, 5].sum() == pytest.approx(-0.2 * G, rel=1e-6)
    assert d.cfrc_contact[4, 5] == pytest.approx(0.2 * G, rel=1e-6)


def test_a_cube_stays_in_a_hand_that_shakes():
    """Friction carries up to 0.8 of what it can, ten times a second, up and down."""
    m, d = hand()
    for n in range(2000):
        held(m, d, 0.1 * min(max(n - 300, 0) / 700, 1.0))
        rb.step(m, d, 1)
    start, base = d.qpos[5] - d.qpos[0], d.qpos[0]
    most = 0.8 * (2 * 8.0 * m.geom_friction[0]) / 0.2 - G
    w = 2.0 * np.pi * 10.0
    load = 0.0
    for n in range(2000):
        t = n * m.opt.timestep
        held(m, d, base + most / w**2 * (np.cos(w * t) - 1.0))
        d.qfrc_applied[0] += 1.4 * -most * np.cos(w * t) - 150.0 * most / w * np.sin(w * t)
        rb.step(m, d, 1)
        load = max(load, abs(d.cfrc_contact[4, 5]))
    assert load == pytest.approx(0.8 * 2 * 8.0 * m.geom_friction[0], rel=0.05)
    for _ in range(1000):
        held(m, d, base)
        rb.step(m, d, 1)
    assert abs(d.qpos[5] - d.qpos[0] - start) < 1e-9


def test_friction_turns_with_the_hand():
    """The memory is in the axes of the finger: gravity that turns instead is the same."""
    m = bodies((rb.Box((1.0, 1.0, 0.1)), 1000.0, None), (CUBE, 1.0, None), floor=False)
    d = at(m, [(0, 0, 0), (0, 0, 0.1)])
    d.qvel[5] = 2.0  # the plate turns about its normal, and the cube with it
    d.qvel[11] = 2.0
    d.xfrc_applied[2, 2] = -10.0
    rb.step(m, d, 1571)
    angle = 2.0 * np.arctan2(d.qpos[6], d.qpos[3])
    own = 2.0 * np.arctan2(d.qpos[13], d.qpos[10])
    assert angle == pytest.approx(np.pi, abs=2e-3)
    assert own == pytest.approx(angle, abs=1e-9)


@pytest.mark.parametrize("masses", [(1.0, 1e4), (1e4, 1.0), (1.0, 1e4, 1.0, 1e4)], ids=str)
def test_masses_of_1_to_10000(masses):
    m = bodies(*((CUBE, mass, None) for mass in masses))
    d = at(m, [(0.003 * n, 0.0, 0.05 + 0.1 * n) for n in range(len(masses))])
    rb.step(m, d, 1000)
    assert np.isfinite(d.qpos).all()
    assert abs(d.qvel).max() < 3.0
    assert d.nbad == 0


def arms(couple=False):
    """A floating trunk with two arms, which clap a free cube between them."""
    system = rb.SystemBuilder("arms", base="world").floor(-0.4)
    trunk = (0.2, 0.3, 0.4)
    system.body("trunk", rb.shapes.box(trunk, mass=5.0)).geometry("trunk", "trunk", rb.Box(trunk))
    system.joint("free", "floating", "world", "trunk")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name, parent, xyz, length in (
            ("upper", "trunk", (0.1, 0.15 * sign, 0.1), 0.3),
            ("lower", f"{side} upper", (0.3, 0, 0), 0.2),
        ):
            middle = rb.pose((length / 2, 0, 0))
            bar = rb.shapes.box((length, 0.04, 0.04), mass=0.4, at=middle)
            system.body(f"{side} {name}", bar).joint(
                f"{side} {name}", "revolute", parent, f"{side} {name}",
                axis=(0, 0, 1), xyz=xyz, damping=0.1,
            )  # fmt: skip
        origin = rb.pose((0.1, 0, 0))
        system.geometry(side, f"{side} lower", rb.Box((0.2, 0.04, 0.04)), origin=origin)
    if couple:
        for name in ("upper", "lower"):
            system.couple(f"right {name}", f"left {name}", ratio=-1.0)
    system.body("cube", rb.shapes.box((0.1, 0.1, 0.1), mass=0.4))
    system.joint("cube", "floating", "world", "cube").geometry("cube", "cube", CUBE)
    m = rb.build(system, contact=rb.Contact(self_collision=True))
    d = rb.make_data(m)
    first = m.jnt_qposadr_all[m.jnt_id("cube")]
    d.qpos[first : first + 4] = (0.45, 0.0, 0.1, 1.0)
    for k in range(m.nv):
        name = m.jnt_names[m.dof_jntid[k]]
        d.qfrc_applied[k] = {"l": -3.0, "r": 3.0}.get(name[0], 0.0) if " " in name else 0.0
    return m, d


def clap(m, d):
    """Step until the arms touch the cube."""
    for _ in range(400):
        rb.step(m, d, 1)
        if d.nmutual > 0:
            return
    raise AssertionError("the arms touch nothing")


def three_boxes(masses, friction=0.8):
    skin = rb.Surface(friction=friction)
    m = bodies(*((CUBE, mass, skin) for mass in masses))
    d = at(m, [(0, 0, 0.05), (0.02, 0.01, 0.17), (-0.01, 0.03, 0.3)])
    d.qvel[6:12] = (1, 0.3, -0.5, 1, 2, 0.5)
    return m, d


def three_balls():
    m = bodies((BALL, 1.0, None), (BALL, 3.0, None), (BALL, 0.5, None))
    places = [(0, 0, 0.1), (0.15, 0.05, 0.25), (-0.1, 0.1, 0.4)]
    return m, at(m, places, [(1, 0, 0), (0, 0, -1), (0, 0, 0)])


SCENES = {
    "balls": three_balls,
    "boxes": lambda: three_boxes((1.0, 1.0, 1.0)),
    "masses": lambda: three_boxes((1.0, 20.0, 0.1), 0.3),
    "arms": arms,
    "coupled arms": lambda: arms(couple=True),
}


@pytest.mark.parametrize("scene", SCENES)
def test_forces_satisfy_the_law(scene):
    """Signorini, cone and maximum dissipation, and what a dual solver finds."""
    m, d = SCENES[scene]()
    compared = steps = 0
    for n in range(350):
        start = d.copy()
        rb.step(m, d, 1)
        if d.nmutual == 0 or n % 2:
            continue
        p = contact_referee.problem(m, start)
        f = np.einsum("cij,cj->ci", p.frames, d.contact_force[: d.ncon])
        u = p.free + (p.G @ f.ravel()).reshape(-1, 3)
        largest = f[:, 0].max()
        assert f[:, 0].min() >= -1e-6 * largest
        # u carries the rounding of G f, times a slope of 1e6
        assert abs(contact_referee.law(p, u) - f).max() < 1e-6 * largest + 1e-8
        steps += 1
        if steps % 20 == 1 and largest > 0.1:
            expected = contact_referee.solve(p)
            assert f == pytest.approx(expected, abs=2e-6 * largest)
            compared += 1
    assert d.nunsolved == 0
    assert steps > 10
    assert compared > 0


def bits(d):
    return (
        d.qpos.tobytes() + d.qvel.tobytes() + d.contact_force.tobytes() + d.stick_force.tobytes()
    )


def test_one_step_at_a_time_copies_and_resets_are_the_same():
    m, d = three_boxes((1.0, 2.0, 0.5))
    single, again = d.copy(), d.copy()
    rb.step(m, d, 200)
    for _ in range(200):
        rb.step(m, single, 1)
    assert bits(single) == bits(d)
    rb.step(m, again, 150)
    copied = again.copy()
    rb.step(m, copied, 50)
    assert bits(copied) == bits(d)
    rb.reset_data(m, again)
    start = three_boxes((1.0, 2.0, 0.5))[1]
    again.qpos, again.qvel = start.qpos, start.qvel
    rb.step(m, again, 200)
    assert bits(again) == bits(d)


@pytest.mark.parametrize("integrator", ["implicit", "implicit_midpoint"])
def test_implicit_integrators_take_this_step(integrator):
    """Without the Coriolis terms, as implicit_damping does."""
    ends = []
    for name in ("implicit_damping", integrator):
        m, d = arms()
        clap(m, d)
        m.opt.integrator = name
        rb.step(m, d, 1)
        ends.append(bits(d))
    assert ends[0] == ends[1]


def test_rk4_takes_this_step():
    m, d = arms()
    m.opt.integrator = "rk4"
    clap(m, d)
    assert np.isfinite(d.qvel).all()
    assert d.nunsolved == 0


def test_a_drive_pushes_a_cube():
    """A driven slide moves a cube in front of it, whatever its friction."""
    system = rb.SystemBuilder("pusher", base="world").floor()
    system.body("ram", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
    system.joint("slide", "prismatic", "world", "ram", axis=(1, 0, 0), xyz=(0, 0, 0.06))
    system.geometry("ram", "ram", CUBE)
    system.body("cube", rb.shapes.box((0.1, 0.1, 0.1), mass=2.0))
    system.joint("free", "floating", "world", "cube").geometry("cube", "cube", CUBE)
    m = rb.build(system)
    d = rb.make_data(m)
    d.qpos[1:] = (0.101, 0, 0.05, 1, 0, 0, 0)
    rb.set_drive(m, d, "slide", "velocity", 0.1)
    rb.step(m, d, 500)
    assert d.qvel[0] == pytest.approx(0.1, abs=1e-12)
    assert d.qvel[1] == pytest.approx(0.1, abs=1e-6)
    rb.forward(m, d)
    # the drive carries what the cube pushes back, near its friction on the floor
    assert d.qfrc_drive[0] == pytest.approx(-d.cfrc_contact[1, 3], rel=1e-6)
    assert d.qfrc_drive[0] == pytest.approx(0.8 * 2.0 * G, rel=0.1)


def test_a_closed_loop_pushes_a_ball():
    """Two arms whose tips a loop joint connects push a ball: the loop stays closed."""
    system = rb.SystemBuilder("loop", base="world")
    for name, x in (("crank", 0.0), ("rocker", 0.3)):
        bar = rb.shapes.box((0.02, 0.02, 0.3), mass=0.5, at=rb.pose((0, 0, 0.15)))
        system.body(name, bar)
        system.joint(name, "revolute", "world", name, axis=(0, 1, 0), xyz=(x, 0, 0))
    bar = rb.shapes.box((0.3, 0.02, 0.02), mass=0.5, at=rb.pose((0.15, 0, 0)))
    system.body("coupler", bar)
    system.joint("coupler", "revolute", "crank", "coupler", axis=(0, 1, 0), xyz=(0, 0, 0.3))
    ends = rb.pose((0.3, 0, 0)), rb.pose((0, 0, 0.3))
    system.loop(
        "closing", "revolute", "coupler", "rocker", axis=(0, 1, 0), X_P=ends[0], X_S=ends[1]
    )
    tip = rb.pose((0, 0, 0.3))
    system.geometry("tip", "rocker", rb.Sphere(0.03), origin=tip)
    system.body("ball", rb.shapes.sphere(0.05, mass=1.0))
    system.joint("ball", "floating", "world", "ball").geometry("ball", "ball", rb.Sphere(0.05))
    m = rb.build(system)
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    first = m.jnt_qposadr_all[m.jnt_id("ball")]
    d.qpos[first : first + 4] = (0.39, 0.0, 0.3, 1.0)
    d.qfrc_applied[0] = 2.0
    touched = 0
    for _ in range(300):
        rb.step(m, d, 1)
        touched += d.nmutual
        rb.forward(m, d)
        assert abs(d.efc_pos).max() < 1e-9
    assert touched > 10
    speed = d.qvel[m.jnt_dofadr_all[m.jnt_id("ball")]]
    assert speed > 0.05
    assert d.nunsolved == 0


def test_a_pile_that_is_too_large_is_refused(monkeypatch):
    m, _ = three_balls()
    saved = pickle.dumps(m)
    monkeypatch.setattr("rbdyn_ros.model.sizes.MAX_SKYLINE", 100)
    with refused(rb.DescriptionError, "no-contact-matrix"):
        three_balls()
    with refused(rb.ModelError, "no-contact-matrix"):
        pickle.loads(saved)


def test_rollouts_are_the_steps_of_the_engine():
    m, d = stack(3)
    run = rb.rollout(m, d.qpos, d.qvel, nstep=100, specialize=False, progress=False)
    rb.step(m, d, 100)
    assert d.nmutual == 8
    assert np.array_equal(np.ravel(run.qpos)[-m.nq :], d.qpos)


@robots.needs_robots
def test_a_panda_holds_a_cube_for_a_minute():
    """Its fingers, of which one follows the other, hold 0.1 kg; the arm turns at first."""
    cube = rb.Object("cube", CUBE_OF_5_CM, mass=0.1, pose=rb.pose((0.5, 0.0, 0.025)))
    m = rb.scene(robots.find("panda.urdf"), objects=[cube], strict=False)
    d = rb.make_data(m)
    names = [*(f"panda_joint{n}" for n in range(1, 8)), "panda_finger_joint1", "cube"]
    at, of = ([int(a[m.jnt_id(name)]) for name in names] for a in (m.jnt_qposadr, m.jnt_dofadr))
    arm, dofs, place = at[:7], of[:7], at[8]
    start = np.array([0, -0.3, 0, -2.2, 0, 2.0, 0.785])
    d.qpos[arm], d.qpos[at[7]] = start, 0.0255
    rb.kinematics(m, d)
    tip, turn = rb.frame_pose(m, d, "panda_hand_tcp")
    d.qpos[place : place + 3] = tip
    d.qpos[place + 3 : place + 7] = touching.wxyz(Rotation.from_matrix(turn))
    stiffness, damping = np.repeat((600.0, 30.0), (4, 3)), np.repeat((30.0, 1.5), (4, 3))
    rb.forward(m, d)
    held = []
    for n in range(65_000):
        wanted = start + min(n / 1500, 1.0) * np.array([0.6, 0.3, 0, 0.3, 0, 0.2, 1.2])
        d.qfrc_applied[dofs] = d.qfrc_bias[dofs] - damping * d.qvel[dofs]
        d.qfrc_applied[dofs] += stiffness * (wanted - d.qpos[arm])
        d.qfrc_applied[of[7]] = -40.0
        rb.step(m, d, 1)
        if n in (4_999, 64_999):
            rb.kinematics(m, d)
            tip, turn = rb.frame_pose(m, d, "panda_hand_tcp")
            held.append(turn.T @ (d.qpos[place : place + 3] - tip))
    assert d.nmutual == 8
    assert d.nunsolved == 0
    assert abs(held[1] - held[0]).max() < 60.0 * 1e-12  # 1e-6 um/s
    assert d.cfrc_contact[-1, 5] == pytest.approx(0.1 * G, rel=1e-3)
