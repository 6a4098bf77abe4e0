"""Every function of every robot: its straight line of operations against the engine.

The operations are computed by NumPy, for some states at once; what a processor makes of them is
tested on fewer robots (test_row_code.py, test_lanes.py), for that has to be compiled.
"""

import gc

import pytest
from support import robots, specialised
from support.robots import each_robot, needs_robots

import rbdyn_ros as rb

#: With a floating base the rest is the same as without.
FLOATING = ("step", "frame_jacobian")
INTEGRATORS = ("implicit_damping", "euler", "rk4")
STATES = 2

#: joints that follow others: loaded with their couplings as well
COUPLED = ("panda.urdf", "pr2.urdf", "tiago_pro.urdf", "talos_full_v2.urdf")


@pytest.fixture(autouse=True)
def _without_interruptions():
    """A trace makes so many objects that looking for garbage takes half of the time."""
    gc.disable()
    yield
    gc.enable()


def demand_all(m, names, where):
    specialised.demand_all(m, specialised.random_data(m, STATES, seed=1), names, where)


@needs_robots
@each_robot
def test_fixed(path):
    m = robots.load(path)
    m.opt.integrator = INTEGRATORS[robots.LOADABLE.index(path) % 3]
    demand_all(m, specialised.NAMES, path.name)


@needs_robots
@each_robot
def test_floating(path):
    m = robots.load(path, floating_base=True)
    m.opt.integrator = INTEGRATORS[(1 + robots.LOADABLE.index(path)) % 3]
    demand_all(m, FLOATING, f"{path.name}, floating")


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", COUPLED)
def test_coupled(name, integrator):
    m = rb.load_urdf(robots.find(name), strict=False)
    assert m.nmimic > 0
    m.opt.integrator = integrator
    names = specialised.NAMES if integrator == "rk4" else ("step",)
    demand_all(m, names, f"{name}, coupled, {integrator}")
