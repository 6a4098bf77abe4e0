# SPDX-License-Identifier: Apache-2.0
"""Derivatives of traces agree with differences, and derivatives of the dynamics with the toolbox.

Programs are evaluated operation by operation, without a code generator. The toolbox differentiates
in closed form, but refuses some Models and has no derivatives of timesteps. Both are compared with
differences of order eight along the coordinates of qvel.

The tolerance against the toolbox is 1e-13 of the largest entry, or 64 nv cond(M) eps if that is
more, because M^-1 amplifies rounding by cond(M). Against differences it is 1e-11, which is 100 eps
of values up to a hundred times the derivative.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support import forests, robots, specialised, states, trees
from support.compare import Comparison, with_inverse
from support.differences import by_entry, by_position, derivative
from support.refusals import refused
from support.smooth import smoothly, with_soft_limits

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Link, Spring
from rbdyn_ros.engine.compiler.jit import select
from rbdyn_ros.specialization import dynamics_derivatives as traced
from rbdyn_ros.specialization.derivatives import jacobian
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

EXACT, DIFFERENCE = 1e-13, 1e-11
STATE = ("time", "qpos", "qvel")


def computed(whole, inputs):
    """Return the flat array that a Program fills from `inputs`, arrays of one state by name."""
    rows = {name: np.reshape(values, (1, -1)) for name, values in inputs.items()}
    return specialised.filled(whole, rows)[0]


def slopes_of(f, point):
    """Return the derivatives of f(x, y) at a point by x, by y, and along (0.5, -2)."""
    graph = SymbolGraph()
    x, y = (graph.enter(("input", "x", k)) for k in range(2))
    along = [{x.number: 1.0}, {y.number: 1.0}, {x.number: 0.5, y.number: -2.0}]
    slopes = jacobian(graph, [f(x, y)], along)
    return computed(program(graph, {"out": slopes}, fused=False), {"x": np.asarray(point, float)})


RULES = {
    "sum": lambda x, y: x + y + x,
    "difference": lambda x, y: 3.0 - (x - y),
    "product": lambda x, y: x * y * x * 2.5,
    "quotient": lambda x, y: x / y,
    "by a number": lambda x, y: x / 3.0 + y,
    "of a number": lambda x, y: 2.0 / x + y,
    "negative": lambda x, y: -(x * y),
    "sqrt": lambda x, y: np.sqrt(x * y),
    "sin": lambda x, y: np.sin(x * y),
    "cos": lambda x, y: np.cos(x * y),
    "tan": lambda x, y: np.tan(x * y),
    "exp": lambda x, y: np.exp(x * y),
    "log": lambda x, y: np.log(x * y),
    "tanh": lambda x, y: np.tanh(x * y),
    "floor": lambda x, y: np.floor(x * y) * x,
    "fabs, above": lambda x, y: np.fabs(x * y),
    "fabs, below": lambda x, y: abs(-x * y),
    "arctan2": lambda x, y: 2.0 * np.arctan2(x, y),
    "arctan2, behind": lambda x, y: np.arctan2(x, -y),
    "arctan2 by a number": lambda x, y: np.arctan2(y, 1.5) + x,
    "choice": lambda x, y: select(x < y, x * x, y * x),
    "other choice": lambda x, y: select(y <= x, x * x, y * x),
    "choice of a number": lambda x, y: select(x != y, 2.0, x) * y,
}


@pytest.mark.parametrize("name", RULES)
def test_each_differentiation_rule_agrees_with_differences(name):
    f, point = RULES[name], np.array([0.7, 1.3])
    by_x = derivative(lambda s: f(point[0] + s, point[1]), h=5e-3)
    by_y = derivative(lambda s: f(point[0], point[1] + s), h=5e-3)
    with Comparison("rules", name) as case:
        case.close("slopes", slopes_of(f, point), [by_x, by_y, 0.5 * by_x - 2.0 * by_y], 1e-12)


def test_derivatives_are_defined_at_kinks_and_edges():
    assert slopes_of(lambda x, _: np.fabs(x), (0.0, 1.0))[0] == 1.0
    assert slopes_of(lambda x, _: np.sqrt(x), (0.0, 1.0))[0] == np.inf
    assert np.isnan(slopes_of(lambda x, _: np.sqrt(x * x), (0.0, 1.0))[0])
    assert np.isnan(slopes_of(lambda x, y: x * y, (np.nan, 1.0))[1])


def test_the_operand_that_is_not_selected_has_no_effect_on_derivatives():
    """At zero the square root has no derivative, but select() takes its other operand."""

    def length(x, y):
        root = np.sqrt(x * x + y * y)
        return select(root > 1e-8, root, 0.0)

    assert np.array_equal(slopes_of(length, (0.0, 0.0)), np.zeros(3))
    assert slopes_of(length, (3.0, 4.0)) == pytest.approx([0.6, 0.8, -1.3], rel=1e-15)


def test_independent_outputs_have_zero_derivatives_and_add_no_operation():
    graph = SymbolGraph()
    x, y, z = (graph.enter(("input", "x", k)) for k in range(3))
    output = np.sin(x) * y
    before = len(graph.operations)
    slopes = jacobian(graph, [output, 3.0, x], [{z.number: 1.0}, {x.number: 0.0}])
    assert (slopes == 0.0).all()
    assert len(graph.operations) == before
    (by_y,) = jacobian(graph, [output], [{y.number: 1.0}])[0]
    # the derivative is an existing symbol
    assert graph.operations[by_y.number] == ("sin", x.number)
    assert len(graph.operations) == before
    assert jacobian(graph, [], [{x.number: 1.0}]).shape == (0, 1)
    assert jacobian(graph, [output], []).shape == (1, 0)


def test_a_given_derivative_replaces_the_computed_derivative():
    graph = SymbolGraph()
    x, y = (graph.enter(("input", "x", k)) for k in range(2))
    inner = x * y
    along = [{x.number: 1.0, inner.number: 0.0}, {inner.number: y, x.number: 0.0}]
    slopes = jacobian(graph, [inner * x, inner], along)
    found = computed(program(graph, {"out": slopes}, fused=False), {"x": (3.0, 5.0)})
    assert found.tolist() == [15.0, 15.0, 0.0, 5.0]


def found(kernel, m, d, inputs, shape, symbolic=()):
    """Return the array that a traced kernel fills; the options in `symbolic` are inputs, too."""
    tracing = Tracing(m, symbolic)

    def run():
        data, out = tracing.data(inputs), np.full(shape, 0.0, object)
        uncompiled(kernel)(tracing.m, data, out)
        return {"out": out}

    whole = program(tracing.graph, tracing.trace(run), fused=False)
    values = {name: getattr(d, name) for name in inputs}
    values |= {name: getattr(m.opt, name) for name in symbolic}
    return computed(whole, values).reshape(shape)


def inverse_slopes(m, d):
    return found(traced.inverse_derivatives, m, d, (*STATE, "qacc"), (3, m.nv, m.nv))


def forward_slopes(m, d):
    return found(traced.forward_derivatives, m, d, given(d), (3, m.nv, m.nv))


def step_slopes(m, d):
    return found(traced.step_derivatives, m, d, given(d), (2 * m.nv, 3 * m.nv))


def given(d):
    """Return the names of the inputs of the dynamics, with xfrc_applied only if it is not zero."""
    return (*STATE, "qfrc_applied", *(("xfrc_applied",) if d.xfrc_applied.any() else ()))


FLAT = ("revolute", "helical", "universal", "cylindrical", "spherical_ypr", "planar", "prismatic")
CURVED = ("floating", "spherical", "planar_fp", "planar_fs", "sixdof_fp", "sixdof_fs", "revolute")
FORESTS = {
    "curved": {"kinds": CURVED, "seed": 31, "offsets": 0.5},
    "coupled": {"kinds": (*FLAT, *FLAT), "seed": 32, "coupled": True, "losses": True},
    "reversed": {"kinds": forests.SINGLE[:3] * 3, "seed": 33, "reversals": 0.6, "coupled": True},
}
ROBOTS = {"ur5_robot.urdf": False, "panda.urdf": False, "talos_reduced.urdf": True}


def softly(m):
    """Return the Model with smooth laws of dry friction and joint limits, and soft limits."""
    return smoothly(with_soft_limits(m))


def in_motion(name):
    """Return a Model and a Data; all states within 0.05 take the same branches."""
    if name in ROBOTS:
        m = rb.load_urdf(robots.find(name), floating_base=ROBOTS[name], strict=False)
    else:
        m = rb.build(forests.forest(**FORESTS[name]))
    m = softly(m)
    d = rb.make_data(m)
    if name in ROBOTS:
        states.randomise(m, d, 2)
        # dry friction has no smooth derivative near zero velocity, so all joints move
        d.qvel = np.where(d.qvel < 0.0, -1.0, 1.0) * (0.5 + np.abs(d.qvel))
    else:
        forests.randomise(m, d, 1)
    states.apply_reasonable_forces(m, d)
    return m, d


@pytest.mark.parametrize("name", [*FORESTS, *ROBOTS])
def test_derivatives_agree_with_the_toolbox(name):
    m, d = in_motion(name)
    inverse, forward = inverse_slopes(m, d), forward_slopes(m, d)
    expected = rb.inverse_derivatives(m, d)
    tolerance = with_inverse(EXACT, expected[2], m.nv)
    with Comparison("traced derivatives", name) as case:
        for k, by in enumerate(("dq", "dv", "dqacc")):
            case.close(f"inverse, {by}", inverse[k], expected[k], EXACT)
        expected = rb.forward_derivatives(m, d)
        for k, by in enumerate(("dq", "dv", "dtau")):
            case.close(f"forward, {by}", forward[k], expected[k], tolerance)


def sprung(kind):
    """Return a tree with a spring in the first joint, and damping and friction in all joints."""
    tree = trees.auto_tree(3, kinds=(kind, "revolute", "universal"), seed=5, shuffle=False)
    losses = {"damping": 0.2, "friction": 0.3}
    first, *others = (replace(joint, **losses) for joint in tree.joints)
    return replace(tree, joints=(replace(first, stiffness=3.0), *others))


def stopped_ball():
    tree = trees.auto_tree(2, kinds=("spherical", "revolute"), seed=5, shuffle=False)
    ball, arm = tree.joints
    return replace(tree, joints=(replace(ball, limit=rb.Limit(0.0, 0.3)), arm))


def tied():
    tree = trees.auto_tree(3, kinds=("universal", "spherical", "revolute"), seed=5, shuffle=False)
    ends = ("base", tree.links[-1].name)
    rope = Spring("rope", *ends, (0.1, 0.2, 0.3), (0.2, 0.1, 0.1), 30.0, 2.0, 0.2)
    return replace(tree, springs=(rope,))


def turned_round():
    kinds = ("universal", "cylindrical", "spherical", "revolute")
    return trees.auto_tree(4, kinds=kinds, seed=9, shuffle=False, reversals=1.0)


def racks():
    kinds = ("rack_pinion", "spherical_ypr")
    return trees.auto_tree(2, kinds=kinds, seed=9, shuffle=False, offsets=0.5)


def geared():
    """Return the SystemBuilder of a tree whose gears couple joints with and without actuators."""
    system = rb.SystemBuilder("geared", base="base")
    inertial = rb.shapes.box((0.3, 0.1, 0.2), mass=2.0, at=rb.pose((0.2, 0.1, 0.0)))
    ends = ("base", "a", "b", "c")
    for k, (parent, child) in enumerate(pairwise(ends)):
        system.body(child, inertial)
        turned = {"axis": (0.0, 0.6, 0.8), "xyz": (0.3, 0.1, 0.0), "damping": 0.1}
        system.joint(f"j{k}", "revolute", parent, child, actuated=k != 1, friction=0.3, **turned)
    return system.gear("one", {"j0": 1.0, "j1": -1.7}, 0.2).gear("two", {"j0": 0.5, "j2": 1.1})


REFUSED = {f"{kind}, sprung": lambda kind=kind: sprung(kind) for kind in CURVED[:-1]} | {
    "ball with a stop": stopped_ball,
    "spring between points": tied,
    "reversed joints of several dofs": turned_round,
    "racks and pinions": racks,
    "gears": geared,
}


def refused_in_motion(name):
    m = softly(rb.build(REFUSED[name]()))
    m.opt.integrator = "euler"  # its damping is explicit, as in the derivatives
    with refused(rb.ModelError, "no-derivative", "inverse_derivatives"):
        rb.inverse_derivatives(m, rb.make_data(m))
    d = rb.make_data(m)
    states.randomise(m, d, 3)
    d.qvel = np.where(d.qvel < 0.0, -1.0, 1.0) * (0.5 + np.abs(d.qvel))
    states.apply_reasonable_forces(m, d)
    return m, d


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_the_toolbox_refuses_have_traced_derivatives(name):
    m, d = refused_in_motion(name)
    qacc = d.qacc.copy()

    def inverse():
        d.qacc = qacc
        rb.inverse(m, d)
        return d.qfrc_inverse

    def forward():
        rb.forward_dynamics(m, d)
        return d.qacc

    dq, dv, da = inverse_slopes(m, d)
    with Comparison("traced derivatives", name) as case:
        case.close("inverse, dq", dq, by_position(m, d, inverse), DIFFERENCE)
        case.close("inverse, dv", dv, by_entry(d.qvel, inverse), DIFFERENCE)
        # inverse is linear in qacc, so a long difference has little error
        case.close("inverse, dqacc", da, by_entry(qacc, inverse, 1.0), DIFFERENCE)
        M = rb.mass_matrix(m, d)
        if m.nefc == 0:
            case.close("inverse, M", da, M, EXACT)
        dq, dv, dtau = forward_slopes(m, d)
        tolerance = max(DIFFERENCE, 100.0 * with_inverse(EXACT, M, m.nv))
        case.close("forward, dq", dq, by_position(m, d, forward), tolerance)
        case.close("forward, dv", dv, by_entry(d.qvel, forward), tolerance)
        case.close("forward, dtau", dtau, by_entry(d.qfrc_applied, forward), tolerance)


def step_differences(m, d, h):
    """Return the derivative (2 nv, 3 nv) of a timestep by differences with the step size h."""
    nv = m.nv
    end = d.copy()
    rb.step(m, end)

    def change(x):
        moved, shift = d.copy(), np.zeros(nv)
        states.move(m, moved, 1.0, x[:nv])
        moved.qvel, moved.qfrc_applied = d.qvel + x[nv : 2 * nv], d.qfrc_applied + x[2 * nv :]
        rb.step(m, moved)
        rb.differentiate_pos(m, shift, 1.0, end.qpos, moved.qpos)
        return np.concatenate([shift, moved.qvel - end.qvel])

    return np.stack([derivative(lambda s, e=e: change(s * e), h) for e in np.eye(3 * nv)], -1)


def compare_step_slopes(name, m, d, integrator, h=1e-2):
    # long timesteps show terms of higher order
    m.opt.integrator, m.opt.timestep = integrator, 0.005
    found_slopes, expected = step_slopes(m, d), step_differences(m, d, h)
    nv, dtau = m.nv, rb.inverse_mass_matrix(m, d)
    tolerance = max(DIFFERENCE, 100.0 * with_inverse(EXACT, np.linalg.inv(dtau), nv))
    with Comparison("derivatives of a step", f"{name}, {integrator}") as case:
        for row, rows in (("position", slice(None, nv)), ("velocity", slice(nv, None))):
            for k, by in enumerate(("position", "velocity", "force")):
                columns = slice(k * nv, (k + 1) * nv)
                ours, theirs = found_slopes[rows, columns], expected[rows, columns]
                case.close(f"{row} by {by}", ours, theirs, tolerance, least=1e-3)


@pytest.mark.parametrize("name", ["curved", "coupled", "ur5_robot.urdf", "panda.urdf"])
def test_derivatives_of_a_step_equal_differences(name):
    compare_step_slopes(name, *in_motion(name), "implicit_damping")


def test_timestep_and_gravity_may_be_inputs():
    m, d = in_motion("coupled")
    m.opt.timestep = 0.004
    shape, inputs = (2 * m.nv, 3 * m.nv), ("timestep", "gravity")
    given_later = found(traced.step_derivatives, m, d, given(d), shape, inputs)
    tolerance = with_inverse(EXACT, rb.mass_matrix(m, d), m.nv)
    with Comparison("derivatives of a step", "options as inputs") as case:
        case.close("A, B", given_later, step_slopes(m, d), tolerance)


def test_derivatives_of_a_step_with_explicit_damping_equal_differences():
    m, d = in_motion("coupled")
    compare_step_slopes("coupled", m, d, "euler")


@pytest.mark.parametrize("name", REFUSED)
def test_a_step_of_a_model_that_the_toolbox_refuses_has_derivatives(name):
    # implicit damping contains dry friction over speed, which needs shorter differences
    compare_step_slopes(name, *refused_in_motion(name), "implicit_damping", h=5e-3)


@pytest.mark.parametrize(
    "kinds", [("spherical", "revolute"), ("planar_fs", "helical"), ("spherical_ypr", "prismatic")]
)
def test_derivatives_of_a_runge_kutta_step_equal_differences(kinds):
    tree = trees.auto_tree(2, kinds=kinds, seed=5, shuffle=False)
    losses = tuple(replace(joint, damping=0.2) for joint in tree.joints)
    m = rb.build(replace(tree, joints=losses))
    d = rb.make_data(m)
    states.randomise(m, d, 3)
    d.xfrc_applied = 0.0
    states.apply_reasonable_forces(m, d)
    compare_step_slopes(", ".join(kinds), m, d, "rk4")
    compare_step_slopes(", ".join(kinds), m, d, "implicit_damping")


@pytest.mark.parametrize(
    ("kernel", "fields", "function"),
    [
        (traced.inverse_derivatives, ("qfrc_inverse",), rb.inverse),
        (traced.forward_derivatives, ("qacc",), rb.forward_dynamics),
        (traced.step_derivatives, ("qpos", "qvel"), rb.step),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_differentiated_results_are_written_too(kernel, fields, function):
    m, d = in_motion("coupled")
    m.opt.integrator = "euler"  # its damping is explicit, as in the derivatives

    shape = (2 * m.nv, 3 * m.nv) if function is rb.step else (3, m.nv, m.nv)

    def values(symbolic, data, out):
        kernel(symbolic, data, np.full(shape, 0.0, object))
        out[:] = np.concatenate([getattr(data, field) for field in fields])

    d.xfrc_applied = 0.0
    sizes = [len(getattr(d, field)) for field in fields]
    left = found(values, m, d, (*STATE, "qacc", "qfrc_applied"), (sum(sizes),))
    function(m, d)
    expected = np.concatenate([getattr(d, field) for field in fields])
    with Comparison("traced derivatives", f"values of {function.__name__}") as case:
        case.close("values", left, expected, with_inverse(EXACT, rb.mass_matrix(m, d), m.nv))


def test_a_robot_that_cannot_move_has_empty_derivatives():
    base = rb.build(Description("post", (Link("base"),), ()))
    d = rb.make_data(base)
    assert inverse_slopes(base, d).shape == (3, 0, 0)
    assert forward_slopes(base, d).shape == (3, 0, 0)
    assert step_slopes(base, d).shape == (0, 0)
