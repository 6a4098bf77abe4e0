# SPDX-License-Identifier: Apache-2.0
"""The contact forces of a step satisfy the contact law and agree with another solver."""

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
    """Return a sliding box with so much friction that the box topples."""
    return tumbling(touching.CUBE, 3.0, pos=(0, 0, 0.105), linear=(2, 0, -0.5))


def cylinder():
    turn = Rotation.from_euler("x", 1.5)
    return tumbling(touching.CYLINDER, pos=(0, 0, 0.12), turn=turn, linear=(1, 1, 0))


def creature():
    """Return a trunk with two legs, each with a foot."""
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


@pytest.mark.parametrize("scene", SCENES)
def test_forces_meet_the_contact_law_and_match_a_dual_solver(scene):
    """The bodies fall, tumble, slide, roll and rest."""
    m, d = SCENES[scene]()
    found = slipped = rested = passes = 0
    while found < 300:
        start = d.copy()
        rb.step(m, d, 1)
        if d.ncon == 0:
            continue
        found, passes = found + 1, passes + d.solver_niter
        if contact_referee.check_law(m, start, d) > 0.0:
            p = contact_referee.problem(m, start, d)
            f = contact_referee.written(p, d)
            slipped += contact_referee.slipping(p, f).any()
            rested += (abs(contact_referee.velocities(p, f)) < 1e-6).all()
    assert d.nunsolved == 0
    assert passes < 5 * found  # a solver with lagged forces would need more iterations
    assert slipped > 0 or scene == "rough box"
    assert rested > 3 or scene in ("cylinder", "creature")
