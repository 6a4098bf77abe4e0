"""Loops whose timesteps are code made for one robot: they move as with the engine's."""

import dataclasses

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, states_until, walk
from support import mechanisms, robots

import rbdyn_ros as rb
from rbdyn_ros.engine import jit

if jit.DISABLED:
    pytest.skip("the loop is compiled only", allow_module_level=True)

from rbdyn_ros.errors import ModelError
from rbdyn_ros.runtime.orders import EFFORT, IMPEDANCE, POSITION, Faults, Wrench
from rbdyn_ros.runtime.runtime import Runtime, Settings
from rbdyn_ros.runtime.step_code import StepCode

LOAD = 1.5, (0.02, -0.01, 0.1), (0.01, 0.012, 0.005, 0.001, 0.0, -0.001)
#: Of the largest entry. Rounding over some hundred steps: the engine and the code fuse other
#: multiply-adds; a velocity of 20 rad/s has a last place of 4e-15.
ROUNDING = 1e-12


def ur5():
    return robots.load(robots.find("ur5_robot.urdf"))


def panda():
    return rb.load_urdf(robots.find("panda.urdf"))  # a finger follows the other


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


def moved(runtime, ticks=60):
    return np.array([[*s.qpos, *s.qvel, *s.effort] for s in walk(runtime, ticks)])


def eventful(runtime):
    """Everything that is exchanged or commanded at run time; return what the robot did."""
    m = runtime.m
    every = np.arange(m.nv)
    rows = [moved(runtime)]
    held = {"stiffness": 20.0, "damping": 2.0, "position": 0.2}
    runtime.command(commanded(every, IMPEDANCE, **held))
    rows.append(moved(runtime))
    loaded = rb.with_payload(m, last_link(m), *LOAD)
    assert runtime.set_plant(loaded)
    rows.append(moved(runtime))
    assert runtime.set_plant(with_gravity(loaded, (1.0, -2.0, 3.0)))
    rows.append(moved(runtime))
    assert runtime.set_faults(stuck(m, m.nv - 2))
    rows.append(moved(runtime))
    assert runtime.push(Wrench(m.nbody - 1, np.ones(3) * 0.1, np.ones(3), np.ones(3), True, 0.02))
    rows.append(moved(runtime))
    assert runtime.set_faults(Faults.none(m.nv))
    assert runtime.set_plant(m)
    rows.append(moved(runtime))
    runtime.command(commanded(every, POSITION, 0.1))  # servos
    rows.append(moved(runtime))
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
def test_everything_that_happens_to_a_robot_moves_it_as_the_engine_does(start, robot, settings):
    m = robot()
    settings = dict(settings)
    m.opt.integrator = settings.pop("integrator", "implicit_damping")
    plain = start(m, **WALKING, **settings)
    special = start(m, **WALKING, **settings, specialize=True)
    expected, found = eventful(plain), eventful(special)
    assert (plain.plant.step_stage, m.step_stage) == (0, 0)
    assert special.plant.step_stage != 0
    assert np.abs(np.diff(expected[:, : m.nq], axis=0)).max() > 1e-4
    within = ROUNDING * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=within)


def test_each_model_that_moves_has_the_code(start):
    m = bundled_arm()
    runtime = start(m, **WALKING, specialize=True)
    code = {runtime.plant.step_stage}
    assert runtime.set_plant(rb.with_payload(m, "tool_flange", *LOAD))
    code.add(runtime.plant.step_stage)
    assert runtime.set_faults(stuck(m, 2))
    code.add(runtime.plant.step_stage)
    assert len(code) == 1
    assert 0 not in code


def test_a_payload_without_its_inertia_would_be_noticed(start):
    """How strict the comparison is: a part in a million of the load moves the arm visibly."""
    m, ends = bundled_arm(), []
    for more in (0.0, 1e-6):
        runtime = start(m, **WALKING, specialize=True)
        mass, com, inertia = LOAD
        assert runtime.set_plant(rb.with_payload(m, "tool_flange", mass + more, com, inertia))
        ends.append(moved(runtime, 200)[-1])
    assert np.abs(ends[1] - ends[0]).max() > 1e3 * ROUNDING


def test_a_run_repeats_bit_by_bit_and_decimation_changes_nothing(start):
    ends = []
    for decimation in (1, 1, 5):
        settings = WALKING | {"control_decimation": decimation}
        runtime = start(bundled_arm(), **settings, specialize=True)
        ends.append(walk(runtime, 300 // decimation)[-1].qpos)
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


def test_a_diverged_state_is_frozen_until_reset(start):
    runtime = start(bundled_arm(), **WALKING, specialize=True)
    runtime.command(commanded(0, EFFORT, effort=np.nan))
    runtime.ask_steps(3)
    last = states_until(runtime, lambda state: state.fault >= 0)[-1]
    assert np.isfinite([*last.qpos, *last.qvel]).all()
    assert runtime.reset()
    assert np.isfinite(moved(runtime, 20)).all()


def test_other_options_of_the_caller_come_too_late(start):
    """Timestep, integrator and passive are those of the start; so are their effects."""
    m = bundled_arm()
    runtime = start(m, **WALKING, specialize=True)
    m.opt.timestep, m.opt.integrator = 5e-3, "rk4"
    assert walk(runtime, 10)[-1].time == pytest.approx(10e-3, abs=1e-12)


@pytest.mark.parametrize("option", ["timestep", "integrator", "passive"])
def test_a_model_with_other_options_is_refused(start, option):
    m = bundled_arm()
    runtime = start(m, **WALKING, specialize=True)
    before, other = runtime.plant, m.replaced()
    setattr(other.opt, option, {"timestep": 2e-3, "integrator": "rk4", "passive": False}[option])
    with pytest.raises(ModelError, match=f"differs in opt.{option}; it may differ in body_mass"):
        runtime.set_plant(other)
    assert runtime.plant is before


def test_another_robot_is_refused():
    m = bundled_arm()
    stiff = m.replaced(dof_damping=m.dof_damping + 1.0)
    with pytest.raises(ModelError, match="differs in dof_damping"):
        StepCode(m).install(stiff)
    assert stiff.step_stage == 0


REFUSED = {
    "load it without contact": lambda: rb.load_urdf(robots.find("go2.urdf"), contact=True),
    "constraints depend on others": lambda: rb.build(mechanisms.grashof()),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_specialised_is_refused_before_it_moves(why):
    with pytest.raises(ModelError, match=f"cannot be specialised: .*{why}"):
        Runtime(REFUSED[why](), Settings(realtime="off", specialize=True))


def test_a_cart_moves_by_the_closed_form(start):
    """Semi-implicit Euler under a constant force, an oracle of its own."""
    runtime = start(rail(), **WALKING, specialize=True)
    runtime.command(commanded(0, EFFORT, effort=3.0))
    q = np.array([state.qpos[0] for state in walk(runtime, 100)])
    n = np.arange(1, 101)
    np.testing.assert_allclose(q, 0.5 * 3.0 / 2.0 * n * (n + 1) * 1e-6, rtol=1e-12)
