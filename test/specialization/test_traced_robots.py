# SPDX-License-Identifier: Apache-2.0
"""Straight-line code of every function agrees with the engine, for most robots only nightly.

NumPy evaluates the operations, for several states at once. Machine code must be compiled, so it is
tested on fewer robots (test_row_code.py, test_lanes.py). Derivatives of a timestep, which the
engine does not have, are in test_trace_derivatives.py.
"""

import numpy as np
import pytest
from support import robots, specialised
from support.compare import Comparison
from support.refusals import refused
from support.robots import each_family, needs_robots
from support.smooth import with_soft_limits

import rbdyn_ros as rb

INTEGRATORS = ("implicit_damping", "euler", "rk4")
STATES = 2

#: Robots with mimic joints, which are also loaded with their couplings.
COUPLED = ("panda.urdf", "pr2.urdf", "tiago_pro.urdf", "talos_full_v2.urdf")

#: For each function the differentiated field, and an index of specialised.tolerances. The index 0
#: is for results that contain M^-1.
DERIVATIVES = {"inverse_derivatives": ("qfrc_inverse", 1), "forward_derivatives": ("qacc", 0)}

#: A robot with more than a million operations in the forward derivatives on a floating base.
TOO_LARGE = "tiago_dual.urdf"

each_base = pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])


def compare_functions(m, names, where):
    specialised.compare_with_engine(m, specialised.random_data(m, STATES, seed=1), names, where)


@needs_robots
@each_family
def test_traced_functions_equal_the_engine(path):
    """The base and the integrator change from robot to robot."""
    number = robots.LOADABLE.index(path)
    floating = number % 2 == 0
    m = with_soft_limits(robots.load(path, floating_base=floating))
    m.opt.integrator = INTEGRATORS[number % 3]
    compare_functions(m, specialised.NAMES, f"{path.name}, floating: {floating}")


@needs_robots
@each_family
def test_inverse_derivatives_of_a_robot_are_traced(path):
    """Half of the robots have a floating base. The forward derivatives below contain the inverse
    derivatives of all floating bases.
    """
    floating = robots.LOADABLE.index(path) % 2 == 1
    m = robots.load(path, floating_base=floating)
    compare_derivatives(m, "inverse_derivatives", f"{path.name}, floating: {floating}")


@needs_robots
@each_family
def test_forward_derivatives_of_a_robot_are_traced(path):
    """To save time, all robots have a floating base; test_trace_derivatives.py has fixed bases."""
    m = robots.load(path, floating_base=True)
    if path.name == TOO_LARGE:
        with refused(rb.ModelError, "not-traceable", f"'{m.name}'"):
            specialised.program_of(m, "forward_derivatives")
    else:
        compare_derivatives(m, "forward_derivatives", f"{path.name}, floating: True")


def compare_derivatives(m, name, where):
    """Assert that traced derivatives in random states agree with the toolbox.

    Errors of derivatives by q are relative to at least the largest differentiated value. For
    example, rotating a single body changes none of its forces, so their derivative is only
    rounding.
    """
    field, inverted = DERIVATIVES[name]
    rows = specialised.random_data(m, STATES, seed=2)
    whole = specialised.program_of(m, name, fused=False)
    slopes = specialised.filled(whole, specialised.given(m, rows))
    with Comparison("specialised", where) as case:
        for k, d in enumerate(rows):
            theirs = getattr(rb, name)(m, d)
            ours = slopes[k].reshape(3, m.nv, m.nv)
            limit, least = specialised.tolerances(m, d)[inverted], np.abs(getattr(d, field))
            case.close(f"{name}, by q", ours[0], theirs[0], limit, least.max(initial=0.0))
            case.close(f"{name}, by v", ours[1], theirs[1], limit)
            case.close(f"{name}, by the third", ours[2], theirs[2], limit)


@each_base
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", COUPLED)
def test_coupled_robots_are_traced(name, integrator, floating):
    m = rb.load_urdf(robots.find(name), floating_base=floating, strict=False)
    assert m.nmimic > 0
    m.opt.integrator = integrator
    names = specialised.NAMES if integrator == "rk4" else ("step",)
    compare_functions(m, names, f"{name}, coupled, {integrator}, floating: {floating}")
