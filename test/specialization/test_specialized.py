# SPDX-License-Identifier: Apache-2.0
"""Options of specialised code can change, and unsuitable Models and arguments are refused."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from support import mechanisms, robots, specialised, specialised_models
from support.refusals import refused
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.specialization import trace
from rbdyn_ros.specialization.functions import FUNCTIONS, traced
from rbdyn_ros.specialization.programs import symbols

BOX = specialised_models.BODY

pytestmark = pytest.mark.usefixtures("registered")


def pendulum(**joint):
    builder = rb.SystemBuilder("pendulum").body("a", BOX).body("b", BOX)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0), damping=0.8, **joint)
    builder.joint("second", "revolute", "a", "b", axis=(1, 0, 0), xyz=(0.4, 0, 0), stiffness=3.0)
    return rb.build(builder)


def compare_steps(s, d, steps=3):
    """Assert that steps with the current options agree with the engine; return qvel."""
    m = s.model
    ours, theirs = d.copy(), d.copy()
    s.step(ours, steps)
    rb.step(m, theirs, steps)
    assert ours.qvel == pytest.approx(theirs.qvel, rel=1e-12, abs=1e-12)
    assert ours.qpos == pytest.approx(theirs.qpos, rel=1e-12, abs=1e-12)
    assert ours.time == theirs.time
    return ours.qvel.copy()


def test_options_are_read_at_each_call():
    """Each change takes effect at the next call, as in the engine, and can be undone."""
    m = pendulum()
    s = rb.specialize(m)
    d = specialised.random_data(m, 1, seed=31)[0]
    first = compare_steps(s, d)
    seen = [first]
    for name, value in (
        ("timestep", 0.004), ("integrator", "rk4"), ("passive", False), ("integrator", "euler"),
        ("gravity", (3.0, 0.0, 9.0)), ("passive", True), ("timestep", 1e-4),
    ):  # fmt: skip
        setattr(m.opt, name, value)
        seen.append(compare_steps(s, d))
    m.opt.gravity[0] = -20.0  # this changes gravity in place
    seen.append(compare_steps(s, d))
    for a, b in itertools.pairwise(seen):
        assert np.abs(a - b).max() > 1e-9
    m.opt.timestep, m.opt.integrator, m.opt.gravity = 0.001, "implicit_damping", (0, 0, -9.81)
    assert specialised.same_bits(compare_steps(s, d), first)


def test_options_of_other_functions_may_change():
    """Forward dynamics depends on `passive`, and at joint limits on the timestep."""
    m = pendulum(limit=rb.Limit(-0.1, 0.1))
    m = smoothly(m.replaced(jnt_solref=np.full((m.njnt, 2), (1e-4, 1.0))))
    s = rb.specialize(m, functions=("forward_dynamics",))
    d = rb.make_data(m)
    d.qpos, d.qvel = (0.2, 0.3), (1.0, -1.0)
    seen = []
    for name, value in (("timestep", 0.001), ("timestep", 0.01), ("passive", False)):
        setattr(m.opt, name, value)
        ours, theirs = d.copy(), d.copy()
        s.forward_dynamics(ours)
        rb.forward_dynamics(m, theirs)
        assert ours.qacc == pytest.approx(theirs.qacc, rel=1e-11)
        seen.append(ours.qacc[0])
    assert len(set(seen)) == 3


def test_a_symbolic_timestep_is_read_at_every_step():
    """Another timestep takes effect without new code."""
    m = pendulum()
    s = rb.specialize(m, symbolic=("timestep",))
    assert s.symbolic == ("gravity", "timestep")
    d = specialised.random_data(m, 1, seed=32)[0]
    compare_steps(s, d)
    before = dict(s._addresses)
    m.opt.timestep = 0.007
    compare_steps(s, d)
    assert s._addresses == before


def test_two_specialised_objects_of_one_model_agree():
    m = pendulum()
    d = specialised.random_data(m, 1, seed=33)[0]
    first, second = rb.specialize(m), rb.specialize(m, symbolic=("timestep", "dof_damping"))
    a, b = d.copy(), d.copy()
    first.step(a)
    second.step(b)
    assert a.qpos == pytest.approx(b.qpos, rel=1e-14)
    assert repr(first) == "<Specialized 'pendulum'>"


def contact():
    return rb.load_urdf(robots.find("ur5_robot.urdf"), strict=False, contact=True)


def trajectory():
    builder = rb.SystemBuilder("told").body("a", BOX).joint("lift", "prismatic", "base", "a")
    builder.drive("lift", rb.Trajectory((0.0, 1.0, 2.0), ((0.0,), (0.2,), (0.1,))))
    return rb.build(builder)


@pytest.mark.parametrize(
    "make",
    [
        contact,
        lambda: rb.build(mechanisms.grashof()),
        trajectory,
    ],
    ids=["contact", "loop", "trajectory"],
)
def test_unsuitable_models_are_refused(make):
    m = make()
    for name in specialised.NAMES:
        with refused(ModelError, "not-traceable", f"'{m.name}'"):
            traced(m, name, (), specialised.numbers_of(m, name))
    with refused(ModelError, "not-traceable", f"'{m.name}'") as caught:
        rb.specialize(m)
    assert "rb.step(m, d)" in str(caught.value)  # the message suggests a valid call


def test_driven_dofs_are_refused():
    """Only a Data with driven dofs is refused; another Data of the same Model is not."""
    m = pendulum()
    s = rb.specialize(m)
    d, other = rb.make_data(m), rb.make_data(m)
    rb.set_drive(m, d, "first", "velocity", 1.0)
    before = d.buffer.copy()
    for call in (s.step, s.forward_dynamics):
        with refused(ModelError, "not-traceable", "'pendulum'"):
            call(d)
    assert d.buffer.tobytes() == before.tobytes()
    s.inverse(d)
    s.step(other)
    assert other.time > 0.0
    rb.set_drive(m, d, "first", "force")
    s.step(d)
    assert d.time > 0.0


@pytest.mark.parametrize("name", ["stepp", "energy", ""])
def test_unknown_functions_are_refused(name):
    m = pendulum()
    with refused(ParameterError, "specialize", name):
        rb.specialize(m, functions=("step", name))


@pytest.mark.parametrize("wrong", ["step", None, 5, [1], [["step"]], [None], b"step", object()])
@pytest.mark.parametrize("what", ["functions", "symbolic"])
def test_names_that_are_not_a_list_of_strings_are_refused(what, wrong):
    with refused(ParameterError, "specialize", what):
        rb.specialize(pendulum(), **{what: wrong})


def test_data_of_another_model_is_refused():
    m = pendulum()
    s = rb.specialize(m, functions=())
    for d in (rb.make_data(pendulum()), rb.make_data(m.replaced()), None, 5, m):
        calls = []
        for name in specialised.NAMES:
            more = (0,) * FUNCTIONS[name].numbers
            more = more[:1]  # the reference has a default
            calls.append(lambda name=name, more=more, d=d: getattr(s, name)(d, *more))
        for call in calls:
            with refused(ModelError, "data-of-other-model"):
                call()


@pytest.mark.parametrize("count", [-1, 1.5, "2", None, 2**62, np.float64(1.0), [1]])
def test_bad_numbers_of_steps_are_refused(count):
    m = pendulum()
    s, d = rb.specialize(m, functions=()), rb.make_data(m)
    with refused(ParameterError, "nstep", "nstep"):
        s.step(d, count)
    assert d.time == 0.0


def test_unknown_frames_and_references_are_refused():
    m = pendulum()
    s, d = rb.specialize(m, functions=()), rb.make_data(m)
    for frame in ("nobody", -1, m.nframe, 1.0, None, True):
        for call in (s.frame_pose, s.frame_jacobian):
            with refused(ModelError, "unknown-frame", str(frame)):
                call(d, frame)
    for reference in ("here", None, 1, ["local"]):
        with refused(ParameterError, "unknown-reference", "reference"):
            s.frame_jacobian(d, "a", reference)


def test_functions_that_are_not_specialised_are_refused():
    """These functions write fields that specialised code does not compute."""
    m = pendulum()
    s, d = rb.specialize(m, functions=()), rb.make_data(m)
    for call, name in ((rb.forward, "forward"), (rb.energy, "energy"), (rb.rne, "rne")):
        with refused(ModelError, "not-specialised", name):
            call(s, d)
    with refused(ModelError, "not-a-model"):
        rb.make_data(s)


def test_a_pickled_data_has_no_specialised_timestep():
    """The code's address is valid only in this process, where a copy keeps it."""
    m = pendulum()
    d = rb.make_data(m)
    rb.specialize(m).install(d)
    assert d.step_stage == d.copy().step_stage == copy.copy(d).step_stage != 0
    twins = pickle.loads(pickle.dumps((m, d))), copy.deepcopy((m, d))
    for model, data in twins:
        assert data.step_stage == 0
        rb.step(model, data, 2)
        compare_steps(rb.specialize(model), data)


@pytest.mark.parametrize(("name", "runs"), [("kinematics", 2), ("step", 2**4)])
def test_a_kernel_that_needs_too_many_runs_for_its_branches_is_refused(monkeypatch, name, runs):
    """A user's joint with a branch needs 2 runs of a kernel, and 2^4 of a Runge-Kutta step."""
    m = specialised_models.model("user_defined")
    m.opt.integrator = "rk4"
    monkeypatch.setattr(trace, "MAX_RUNS", runs)
    traced(m, name)
    monkeypatch.setattr(trace, "MAX_RUNS", runs - 1)
    with refused(ModelError, "not-traceable", "'user'"):
        traced(m, name)


def test_too_many_operations_are_refused(monkeypatch):
    """Tracing stops soon after the bound."""
    m = specialised_models.model("quadruped")
    monkeypatch.setattr(symbols, "MAX_OPERATIONS", 1000)
    graphs = []
    monkeypatch.setattr(
        trace, "SymbolGraph", lambda: graphs.append(symbols.SymbolGraph()) or graphs[-1]
    )
    with refused(ModelError, "not-traceable", f"'{m.name}'"):
        traced(m, "step")
    assert len(graphs[0].operations) <= 1100


def test_a_too_large_matrix_is_refused():
    """The matrix is refused before tracing, as in rb.mass_matrix."""
    builder = rb.SystemBuilder("long")
    for k in range(2001):  # the lower triangle has more than two million entries
        builder.body(f"b{k}", BOX)
        parent = f"b{k - 1}" if k else "base"
        builder.joint(f"j{k}", "revolute", parent, f"b{k}", xyz=(0.1, 0, 0))
    m = rb.build(builder)
    s, d = rb.specialize(m, functions=()), rb.make_data(m)
    with refused(ModelError, "no-mass-matrix", "mass_matrix") as theirs:
        rb.mass_matrix(m, d)
    with refused(ModelError, "no-mass-matrix", "mass_matrix") as ours:
        s.mass_matrix(d)
    assert str(ours.value) == str(theirs.value)


def test_a_pickled_specialised_object_compiles_again():
    m = rb.load_urdf("config/robots/pendulum.urdf")
    again = pickle.loads(pickle.dumps(rb.specialize(m, (), ("timestep",))))
    assert again.symbolic == ("gravity", "timestep")
    d = rb.make_data(again.model)
    again.step(d, 3)
    assert d.time == pytest.approx(3 * again.model.opt.timestep, rel=1e-15)


def test_programs_with_unknown_frames_and_references_are_refused():
    s = rb.specialize(rb.load_urdf("config/robots/pendulum.urdf"), ())
    for frame in (9999, -5):
        with refused(rb.ModelError, "unknown-frame", str(frame)):
            s.program("frame_pose", frame)
    with refused(rb.ParameterError, "unknown-reference", "reference"):
        s.program("frame_jacobian", 0, 77)
