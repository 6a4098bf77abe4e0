"""The forces of a step satisfy the law, and are those of a solver that knows nothing of ours."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import contact_referee, touching

import rbdyn_ros as rb


def tumbling(shape, friction=0.8, **pose):
    m = rb.build(touching.free(shape, 2.0, rb.Surface(friction=friction)))
    return m, touching.placed(m, **pose)


def box():
    turn = Rotation.from_euler("xyz", [0.1, 0.05, 0.4])
    return tumbling(
        touching.CUBE, pos=(0, 0, 0.13), turn=turn, linear=(1, 0.3, -1), angular=(0, 3, 1)
    )


def rough_box():
    """Friction so large that it turns the box over."""
    return tumbling(touching.CUBE, 3.0, pos=(0, 0, 0.105), linear=(2, 0, -0.5))


def cylinder():
    turn = Rotation.from_euler("x", 1.5)
    return tumbling(touching.CYLINDER, pos=(0, 0, 0.12), turn=turn, linear=(1, 1, 0))


def creature():
    """A trunk with two legs, a foot on each."""
    system = rb.SystemBuilder("creature", base="world")
    system.body("trunk", rb.shapes.box((0.3, 0.2, 0.1), mass=4.0))
    system.joint("free", "floating", "world", "trunk")
    system.geometry("trunk", "trunk", rb.Box((0.3, 0.2, 0.1)))
    for name, x in (("front", 0.15), ("back", -0.15)):
        system.body(name, rb.shapes.box((0.04, 0.04, 0.3), mass=0.5, at=rb.pose((0, 0, -0.15))))
        system.joint(name, "revolute", "trunk", name, axis=(0, 1, 0), xyz=(x, 0, 0), damping=0.3)
        system.geometry(name, name, rb.Sphere(0.03), origin=rb.pose((0, 0, -0.3)))
    m = rb.build(system.floor())
    d = rb.make_data(m)
    d.qpos[7:] = (0.7, 1.2)
    d.qvel[:] = (0.5, 0.1, -0.5, 0.3, 0.1, 0.2, 1.0, -2.0)
    touching.lift(m, d, 0.005)
    return m, d


SCENES = {"box": box, "rough box": rough_box, "cylinder": cylinder, "creature": creature}


def steps_with_contact(scene, number):
    """Yield the state before and after each step with contact."""
    m, d = SCENES[scene]()
    found = 0
    while found < number:
        start = d.copy()
        rb.step(m, d, 1)
        if d.ncon > 0:
            found += 1
            yield m, start, d
    assert d.nunsolved == 0


def forces(p, d):
    """Return the written forces in the frames of the contacts."""
    return np.einsum("cij,cj->ci", p.frames, d.contact_force[: d.ncon])


@pytest.mark.parametrize("scene", SCENES)
def test_signorini_cone_and_maximum_dissipation(scene):
    """Relative to the largest force of a step; a body falls, tumbles, slides, rolls and rests."""
    slipped = rested = 0
    for m, start, d in steps_with_contact(scene, 300):
        p = contact_referee.problem(m, start)
        f = forces(p, d)
        largest = f[:, 0].max()
        if largest <= 0.0:
            continue
        u = p.free + (p.G @ f.ravel()).reshape(-1, 3)
        # u carries the rounding of G f, 1e-16 of velocities, times a slope of 1e5
        assert abs(contact_referee.law(p, u) - f).max() < 1e-6 * largest + 1e-9
        assert f[:, 0].min() >= -1e-6 * largest
        length = np.linalg.norm(f[:, 1:], axis=1)
        assert (length - p.mu * f[:, 0]).max() < 1e-6 * largest
        slips = length > 0.999 * p.mu * f[:, 0]
        work = (f[:, 1:] * u[:, 1:]).sum(axis=1)
        speed = np.linalg.norm(u[:, 1:], axis=1)
        # where it slips so fast that what it remembers no longer counts
        opposite = p.grip * speed > 1e2 * (np.linalg.norm(p.memory, axis=1) + 1e-3)
        assert work[opposite & slips] == pytest.approx(
            -(p.mu * f[:, 0] * speed)[opposite & slips], rel=1e-2, abs=1e-6 * largest
        )
        slipped += (opposite & slips & (f[:, 0] > 0.0)).any()
        rested += (speed < 1e-6).all()
    assert slipped > 1
    assert rested > 3 or scene in ("cylinder", "creature")


@pytest.mark.parametrize("scene", SCENES)
def test_a_dual_solver_finds_the_same_forces(scene):
    compared = 0
    for count, (m, start, d) in enumerate(steps_with_contact(scene, 120)):
        if count % 15:
            continue
        p = contact_referee.problem(m, start)
        expected = contact_referee.solve(p)
        assert forces(p, d) == pytest.approx(expected, abs=1e-6 * expected[:, 0].max() + 1e-9)
        compared += expected[:, 0].max() > 1.0
    assert compared >= 4
