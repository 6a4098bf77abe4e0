# SPDX-License-Identifier: Apache-2.0
"""A crank slider moves in the same way whichever joint closes its loop.

All joints have armature, damping, springs and limits. The reference is the equation of motion for
the crank angle: M a + M' w^2 / 2 is the effort minus gravity, damping and springs. M is the sum of
m v^2 + I w^2 + armature q'^2 over links and joints, with velocities per unit crank speed.
"""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rbdyn_ros as rb
from rbdyn_ros.actuators.specs import ActuatorSpec

CRANK, ROD = 0.1, 0.3
MASSES = {"crank": 1.0, "rod": 0.5, "slider": 0.8}
JOINTS = "ABCD"
ENDS = {
    "A": ("revolute", "ground", "crank", 0.0),
    "B": ("revolute", "crank", "rod", CRANK),
    "C": ("revolute", "rod", "slider", ROD),
    "D": ("prismatic", "ground", "slider", CRANK + ROD),
}
ORDERS = list(itertools.permutations(JOINTS))
ARMATURE = np.array([1e-3, 2e-3, 3e-3, 0.2])
DAMPING = np.array([0.02, 0.03, 0.01, 0.5])
STIFFNESS = np.array([0.3, 0.2, 0.1, 20.0])
START, SPEED, EFFORT = 1.0, 2.0, 0.2
STEP = 1e-30  # step of complex-step derivatives


def crank_slider(order=JOINTS, rod_apart=False, **properties):
    """Return a crank slider whose joints are added in this order, so the last closes the loop.

    Hinges are about y: at the angle q the crank points to (cos q, 0, -sin q). With `rod_apart` the
    rod consists of two links, joined by a fixed joint.
    """
    bar = {
        name: rb.shapes.box(
            (length, 0.02, 0.02), mass=MASSES[name], at=rb.pose((length / 2, 0, 0))
        )
        for name, length in (("crank", CRANK), ("rod", ROD))
    }
    system = rb.SystemBuilder("crank_slider", base="ground").body("crank", bar["crank"])
    system.body("slider", rb.shapes.box((0.05, 0.05, 0.05), mass=MASSES["slider"]))
    if rod_apart:
        at = rb.pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
        system.body("rod").body("weight", rb.shapes.combine(bar["rod"]))
        system.joint("fixed", "fixed", "rod", "weight", origin=at, child_origin=at)
    else:
        system.body("rod", bar["rod"])
    for name in order:
        kind, parent, child, x = ENDS[name]
        axis = (1, 0, 0) if kind == "prismatic" else (0, 1, 0)
        system.joint(name, kind, parent, child, xyz=(x, 0, 0), axis=axis, **properties[name])
    return system


def properties(**more):
    """Return keyword arguments of each joint: distant limits, armature, damping and a spring."""
    found = {}
    for k, name in enumerate(JOINTS):
        numbers = {"armature": ARMATURE[k], "damping": DAMPING[k], "stiffness": STIFFNESS[k]}
        found[name] = {"limit": (-60, 60), **numbers, **more.get(name, {})}
    return found


def positions(crank):
    """Return the positions of the four joints and the angle of the rod, for a crank angle."""
    rod = -np.arcsin(CRANK * np.sin(crank) / ROD)
    slider = CRANK * np.cos(crank) + ROD * np.cos(rod) - CRANK - ROD
    return np.array([crank, rod - crank, -rod, slider]), rod


def rates(crank):
    return positions(crank + STEP * 1j)[0].imag / STEP


def inertia(crank):
    z = crank + STEP * 1j
    rod = positions(z)[1]
    middle = np.array(
        [
            CRANK * np.cos(z) + ROD / 2 * np.cos(rod),
            -CRANK * np.sin(z) - ROD / 2 * np.sin(rod),
        ]
    )
    v, w, q = middle.imag / STEP, rod.imag / STEP, rates(crank)
    turns = {name: MASSES[name] * (length**2 + 0.02**2) / 12 for name, length in
             (("crank", CRANK), ("rod", ROD))}  # fmt: skip
    whole = turns["crank"] + MASSES["crank"] * CRANK**2 / 4
    whole += turns["rod"] * w**2 + MASSES["rod"] * v @ v + MASSES["slider"] * q[3] ** 2
    return whole + ARMATURE @ q**2


def weight(crank):
    """Return the torque of gravity at the crank."""
    z = crank + STEP * 1j
    rod = positions(z)[1]
    height = -MASSES["crank"] * CRANK / 2 * np.sin(z)
    height += MASSES["rod"] * (-CRANK * np.sin(z) - ROD / 2 * np.sin(rod))
    return -9.81 * height.imag / STEP


def closed_form(time):
    """Return angle and speed of the crank at a time [s], by the equation of motion."""

    def change(_time, state):
        crank, w = state
        q, away = rates(crank), 1e-5
        slope = (inertia(crank + away) - inertia(crank - away)) / (2 * away)
        springs = STIFFNESS * positions(crank)[0] @ q
        force = EFFORT + weight(crank) - springs - DAMPING @ q**2 * w - 0.5 * slope * w**2
        return [w, force / inertia(crank)]

    run = solve_ivp(change, (0.0, time), [START, SPEED], rtol=1e-11, atol=1e-13)
    return run.y[:, -1]


def started(m, crank=START, speed=SPEED):
    d = rb.make_data(m)
    for name, q, v in zip(JOINTS, positions(crank)[0], speed * rates(crank), strict=True):
        d.qpos[m.jnt_qposadr[m.jnt_id(name)]] = q
        d.qvel[m.jnt_dofadr[m.jnt_id(name)]] = v
    return d


def place(m, d, name):
    return d.qpos[m.jnt_qposadr[m.jnt_id(name)]]


@pytest.fixture(scope="module")
def reference():
    return closed_form(0.3)


@pytest.mark.parametrize("order", ORDERS, ids="".join)
@pytest.mark.parametrize("rod_apart", [False, True], ids=["", "rod of two links"])
def test_every_order_of_joints_follows_the_closed_form(order, rod_apart, reference):
    m = rb.build(crank_slider(order, rod_apart, **properties()))
    assert (m.nv, m.nloop) == (4, 1)
    m.opt.integrator = "rk4"
    d = started(m)
    d.qfrc_applied[m.jnt_dofadr[m.jnt_id("A")]] = EFFORT
    rb.step(m, d, 300)
    crank = d.qpos[m.jnt_qposadr[m.jnt_id("A")]], d.qvel[m.jnt_dofadr[m.jnt_id("A")]]
    np.testing.assert_allclose(crank, reference, rtol=0, atol=1e-8)  # errors are 2e-10
    np.testing.assert_allclose(
        [place(m, d, name) for name in JOINTS], positions(place(m, d, "A"))[0], atol=1e-12
    )


@pytest.mark.parametrize("order", ORDERS[::5], ids="".join)
@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_can_be_driven_by_an_actuator(order, name):
    """An effort along a joint acts on the crank times d(joint position) / d(crank angle)."""
    given = {n: {"armature": ARMATURE[k]} for k, n in enumerate(JOINTS)}
    given[name]["limit"] = rb.Limit(effort=5.0)
    m = rb.with_actuators(rb.build(crank_slider(order, **given)), [ActuatorSpec(name)])
    d = started(m, speed=0.0)
    rb.forward(m, d)
    before = d.qacc[m.jnt_dofadr[m.jnt_id("A")]]
    d.qfrc_applied[m.jnt_dofadr[m.jnt_id(name)]] = EFFORT
    rb.forward(m, d)
    change = d.qacc[m.jnt_dofadr[m.jnt_id("A")]] - before
    rate = rates(START)[JOINTS.index(name)]
    assert change == pytest.approx(EFFORT * rate / inertia(START), rel=1e-9)


@pytest.mark.parametrize("order", ORDERS[::5], ids="".join)
@pytest.mark.parametrize("name", JOINTS)
def test_the_limit_of_every_joint_stops_the_mechanism(order, name):
    k = JOINTS.index(name)
    bound = positions(START + 0.2)[0][k]
    limit = (-60.0, bound) if rates(START + 0.1)[k] > 0 else (bound, 60.0)
    m = rb.build(crank_slider(order, **properties(**{name: {"limit": limit}})))
    d = started(m, speed=0.0)
    d.qfrc_applied[m.jnt_dofadr[m.jnt_id("A")]] = 5.0
    rb.step(m, d, 1000)
    assert place(m, d, "A") == pytest.approx(START + 0.2, abs=1e-4)
    assert np.abs(d.qvel).max() < 1e-6


@pytest.mark.parametrize("order", ORDERS[::5], ids="".join)
@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_can_have_a_prescribed_motion(order, name):
    k = JOINTS.index(name)
    times = np.linspace(0.0, 0.5, 11)
    path = [float(positions(START + 0.4 * t)[0][k]) for t in times]
    wanted = rb.Trajectory(tuple(times), tuple((x,) for x in path))
    given = properties()
    given[name] = {}
    m = rb.build(crank_slider(order, **given).drive(name, wanted))
    assert (m.nv, m.nloop) == (3, 1)
    d = rb.make_data(m)
    for other, q, v in zip(JOINTS, positions(START)[0], 0.4 * rates(START), strict=True):
        j = m.jnt_id(other)
        if other != name:
            d.qpos[m.jnt_qposadr[j]], d.qvel[m.jnt_dofadr[j]] = q, v
    rb.step(m, d, 250)
    rb.kinematics(m, d)
    slider, _ = rb.frame_pose(m, d, "slider")
    expected = positions(START + 0.4 * 0.25)[0][3] + CRANK + ROD
    assert slider[0] == pytest.approx(expected, abs=1e-4)
