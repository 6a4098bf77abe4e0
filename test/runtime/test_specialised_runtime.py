# SPDX-License-Identifier: Apache-2.0
"""A loop with specialised steps has the motion of a loop with steps of the engine."""

import dataclasses

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, states_until, walk
from support import mechanisms, robots
from support.refusals import refused
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.errors import ModelError
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.step_code import StepCode
from rbdyn_ros.runtime.types import EFFORT, IMPEDANCE, POSITION, Faults, Wrench

LOAD = 1.5, (0.02, -0.01, 0.1), (0.01, 0.012, 0.005, 0.001, 0.0, -0.001)
#: Tolerance as a share of the largest entry, for rounding over some hundred steps. Engine and
#: specialised code fuse different multiply-adds; one unit in the last place of 20 rad/s is 4e-15.
ROUNDING = 1e-12


def ur5():
    return robots.load(robots.find("ur5_robot.urdf"))


def panda():
    return rb.load_urdf(robots.find("panda.urdf"))  # one finger mimics the other


def floating():
    return rb.load_urdf(robots.find("go2.urdf"), floating_base=True)


def last_link(m):
    return m.frame_names[int(np.flatnonzero(m.frame_bodyid == m.nbody - 1)[0])]


def with_gravity(m, gravity):
    changed = m.replaced()
    changed.opt.gravity = gravity
    return changed


def stuck(m, *dofs):
    return dataclasses.replace(Faults.none(m.nv), stuck=np.isin(np.arange(m.nv), dofs))


def moved(loop, ticks=60):
    return np.array([[*s.qpos, *s.qvel, *s.effort] for s in walk(loop, ticks)])


def eventful(loop):
    """Give a loop each kind of command and change; return positions, velocities and efforts."""
    m = loop.m
    every = np.arange(m.nv)
    rows = [moved(loop)]
    held = {"stiffness": 20.0, "damping": 2.0, "position": 0.2}
    loop.orders.command(commanded(every, IMPEDANCE, **held))
    rows.append(moved(loop))
    loaded = rb.with_payload(m, last_link(m), *LOAD)
    loop.plant.exchange(loaded)
    rows.append(moved(loop))
    loop.plant.exchange(with_gravity(loaded, (1.0, -2.0, 3.0)))
    rows.append(moved(loop))
    loop.plant.set_faults(stuck(m, m.nv - 2))
    rows.append(moved(loop))
    loop.orders.push(Wrench(m.nbody - 1, np.ones(3) * 0.1, np.ones(3), np.ones(3), True, 0.02))
    rows.append(moved(loop))
    loop.plant.set_faults(Faults.none(m.nv))
    loop.plant.exchange(m)
    rows.append(moved(loop))
    loop.orders.command(commanded(every, POSITION, 0.1))  # each joint has a servo
    rows.append(moved(loop))
    return np.concatenate(rows)


@pytest.mark.parametrize(
    ("robot", "settings"),
    [
        (bundled_arm, {}),
        (ur5, {"control_decimation": 3}),
        (ur5, {"integrator": "rk4"}),
        (panda, {"integrator": "euler"}),
        (floating, {}),
    ],
)
def test_a_specialised_loop_moves_like_the_engine_after_each_command_and_change(
    start, robot, settings
):
    m = smoothly(robot())
    settings = dict(settings)
    m.opt.integrator = settings.pop("integrator", "implicit_damping")
    plain = start(m, **WALKING, **settings)
    special = start(m, **WALKING, **settings, specialize=True)
    expected, found = eventful(plain), eventful(special)
    assert plain.plant._d.step_stage == 0
    assert special.plant._d.step_stage != 0
    assert np.abs(np.diff(expected[:, : m.nq], axis=0)).max() > 1e-4
    within = ROUNDING * max(1.0, np.abs(expected).max())
    # on a tumbling robot, rounding decides whether a servo finds that a load is lost
    end = -40 if robot is floating else None
    np.testing.assert_allclose(found[:end], expected[:end], rtol=0.0, atol=within)


def test_a_tiny_change_of_the_payload_exceeds_the_tolerance(start):
    """A millionth of a kilogram more moves the arm by over a thousand tolerances."""
    m, ends = bundled_arm(), []
    for more in (0.0, 1e-6):
        loop = start(m, **WALKING, specialize=True)
        mass, com, inertia = LOAD
        loop.plant.exchange(rb.with_payload(m, "tool_flange", mass + more, com, inertia))
        ends.append(moved(loop, 200)[-1])
    assert np.abs(ends[1] - ends[0]).max() > 1e3 * ROUNDING


def test_a_specialised_run_repeats_bit_for_bit_with_any_decimation(start):
    ends = []
    for decimation in (1, 1, 5):
        settings = WALKING | {"control_decimation": decimation}
        loop = start(bundled_arm(), **settings, specialize=True)
        ends.append(walk(loop, 300 // decimation)[-1].qpos)
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


def test_a_specialised_loop_with_a_diverged_state_stops_until_a_reset(start):
    loop = start(bundled_arm(), **WALKING, specialize=True)
    loop.orders.command(commanded(0, EFFORT, effort=np.nan))
    loop.time.request_steps(3)
    last = states_until(loop, lambda state: state.fault >= 0)[-1]
    assert np.isfinite([*last.qpos, *last.qvel]).all()
    loop.plant.reset()
    assert np.isfinite(moved(loop, 20)).all()


def test_options_that_change_after_the_start_of_a_loop_have_no_effect(start):
    """The loop keeps the timestep and the integrator that the options had at the start."""
    m = bundled_arm()
    loop = start(m, **WALKING, specialize=True)
    m.opt.timestep, m.opt.integrator = 5e-3, "rk4"
    assert walk(loop, 10)[-1].time == pytest.approx(10e-3, abs=1e-12)


@pytest.mark.parametrize("option", ["timestep", "integrator", "passive"])
def test_an_exchange_for_a_model_with_other_options_is_refused(start, option):
    m = bundled_arm()
    loop = start(m, **WALKING, specialize=True)
    before, other = loop.plant.m, m.replaced()
    setattr(other.opt, option, {"timestep": 2e-3, "integrator": "rk4", "passive": False}[option])
    with refused(ModelError, "other-model", f"opt.{option}"):
        loop.plant.exchange(other)
    assert loop.plant.m is before


def test_step_code_refuses_the_model_of_another_robot():
    m = bundled_arm()
    stiff = m.replaced(dof_damping=m.dof_damping + 1.0)
    with refused(ModelError, "other-model", "dof_damping"):
        StepCode(m).check(stiff)


REFUSED = {
    "contact": lambda: rb.load_urdf(robots.find("go2.urdf"), contact=True),
    "loop": lambda: rb.build(mechanisms.grashof()),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_specialised_loop_of_a_robot_without_specialised_code_is_refused(why):
    with refused(ModelError, "not-traceable"):
        Loop(REFUSED[why](), LoopSettings(realtime="off", specialize=True))


def test_a_cart_under_a_constant_force_moves_by_the_closed_form(start):
    """The reference is the closed form of semi-implicit Euler steps."""
    loop = start(rail(), **WALKING, specialize=True)
    loop.orders.command(commanded(0, EFFORT, effort=3.0))
    q = np.array([state.qpos[0] for state in walk(loop, 100)])
    n = np.arange(1, 101)
    np.testing.assert_allclose(q, 0.5 * 3.0 / 2.0 * n * (n + 1) * 1e-6, rtol=1e-12)
