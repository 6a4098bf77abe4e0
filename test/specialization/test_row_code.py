# SPDX-License-Identifier: Apache-2.0
"""The machine code of one robot, which works on its Data, agrees with the engine.

test_traced_robots.py tests the operations without a compiler. Here Models that together need every
operation are compiled, and every method that calls the code is tried.
"""

import numpy as np
import pytest
from support import specialised, specialised_models
from support.compare import Comparison, assert_apart
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.specialization.functions import FUNCTIONS

#: The integrators to test with each Model.
STEPS = {
    "library": ("implicit_damping",),
    "balls": ("euler",),
    "springs": ("rk4",),
    "coordinates": ("implicit_damping",),
    "yaw_pitch_roll": ("rk4",),
    "user_defined": ("implicit_damping",),
    "driven": ("rk4", "euler"),
    "coupled": ("rk4",),
    "geared": ("implicit_damping",),
    "quadruped": ("implicit_damping",),
    "panda.urdf": ("implicit_damping", "rk4"),
}
#: Models with which all other functions are called too.
ALL_FUNCTIONS = ("library", "coupled", "driven")

pytestmark = pytest.mark.usefixtures("registered")


def called(s, d, name):
    """Call a function of `s` by name; return its results as flat arrays by name."""
    m, function = s.model, FUNCTIONS[name]
    if function.shape is None:
        getattr(s, name)(d)
        return specialised.left_in(d, name)
    frame = m.nframe - 1
    if name == "frame_pose":
        position, rotation = s.frame_pose(d, frame)
        return {"out": np.concatenate([rotation.reshape(-1), position])}
    more = (frame, "local") if name == "frame_jacobian" else ()
    return {"out": getattr(s, name)(d, *more).reshape(-1)}


def compare_rows(s, rows, name, where):
    m = s.model
    fields = {specialised.WHOLE.get(f, f) for f in FUNCTIONS[name].outputs}
    with Comparison("specialised code", where) as case:
        for d in rows:
            ours = d.copy()
            found = called(s, ours, name)
            theirs = specialised.generic(m, d.copy(), name)
            specialised.compare_results(case, m, d, name, found, theirs)
            for field in fields:  # all other fields must be unchanged
                setattr(ours, field, getattr(d, field))
            case.equal(f"what {name} leaves alone", ours.buffer, d.buffer)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_one_robot_equals_the_engine(name):
    m = specialised_models.model(name)
    s = rb.specialize(m, functions=())
    rows = specialised.random_data(m, 3, seed=5)
    if name == "yaw_pitch_roll":
        specialised_models.put_near_singularity(m, rows[0], 0.001)
        specialised_models.put_near_singularity(m, rows[1], -0.3)
    for integrator in STEPS[name]:
        m.opt.integrator = integrator
        compare_rows(s, rows, "step", f"{name}, {integrator}")


@pytest.mark.parametrize("name", ALL_FUNCTIONS)
def test_functions_of_one_robot_equal_the_engine(name):
    m = specialised_models.model(name)
    s = rb.specialize(m, functions=())
    rows = specialised.random_data(m, 2, seed=6)
    for function in specialised.NAMES:
        if function != "step":
            compare_rows(s, rows, function, name)


def test_ten_steps_in_one_call_give_the_bits_of_ten_single_steps():
    """A thousand steps agree with the engine up to rounding."""
    m = specialised_models.model("panda.urdf")
    s = rb.specialize(m)
    d = specialised.random_data(m, 1, seed=7)[0]
    at_once, one_by_one, method = d.copy(), d.copy(), d.copy()
    s.step(at_once, 10)
    for _ in range(10):
        s.step(one_by_one)
    s.step(method, np.int64(10))
    assert at_once.buffer.tobytes() == one_by_one.buffer.tobytes() == method.buffer.tobytes()
    assert at_once.time == pytest.approx(d.time + 10 * m.opt.timestep, rel=1e-14)
    s.step(at_once, 0)
    assert at_once.buffer.tobytes() == one_by_one.buffer.tobytes()
    ours, theirs = d.copy(), d.copy()
    s.step(ours, 1000)
    rb.step(m, theirs, 1000)
    assert np.abs(theirs.qpos - d.qpos).max() > 0.5
    assert ours.qpos == pytest.approx(theirs.qpos, abs=1e-11)
    assert ours.qvel == pytest.approx(theirs.qvel, abs=1e-10)


def test_a_long_motion_stays_close_to_the_motion_of_the_engine():
    """In two seconds of a double pendulum without friction, differences grow slowly."""
    builder = rb.SystemBuilder("pendulum")
    builder.body("a", specialised_models.BODY).body("b", specialised_models.BODY)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0))
    builder.joint("second", "revolute", "a", "b", axis=(0, 1, 0), xyz=(0.5, 0, 0))
    m = rb.build(builder)
    s = rb.specialize(m)
    d, e = rb.make_data(m), rb.make_data(m)
    s.step(d, 2000)
    rb.step(m, e, 2000)
    assert np.abs(d.qpos).max() > 0.5
    assert d.qpos == pytest.approx(e.qpos, abs=1e-9)
    assert d.time == e.time


def test_methods_return_the_results_of_the_functions_of_the_package():
    m = specialised_models.model("panda.urdf")
    s = rb.specialize(m, functions=())
    d = specialised.random_data(m, 1, seed=8)[0]
    frame = m.nframe - 1
    for name in ("gravity_term", "bias_term", "mass_matrix"):
        own = getattr(s, name)(d)
        assert own == pytest.approx(getattr(rb, name)(m, d), rel=1e-11, abs=1e-11), name
    one, other = s.frame_pose(d, frame), rb.frame_pose(m, d, m.frame_names[frame])
    assert one[0] == pytest.approx(other[0], abs=1e-14)
    assert one[1] == pytest.approx(other[1], abs=1e-14)
    for reference in ("world", "local", "local_world_aligned"):
        ours = s.frame_jacobian(d, frame, reference)
        assert ours == pytest.approx(rb.frame_jacobian(m, d, frame, reference), abs=1e-13)


def test_functions_of_rb_refuse_a_specialised_object_and_name_its_method():
    m = specialised_models.model("panda.urdf")
    s = rb.specialize(m, functions=())
    d = rb.make_data(m)
    before = d.buffer.tobytes()
    calls = {name: getattr(rb, name) for name in ("step", "inverse", "gravity_term", "linearise")}
    for name, function in calls.items():
        with refused(rb.ModelError, "not-specialised", name):
            function(s, d)
    with refused(rb.ModelError, "not-specialised", "frame_pose"):
        rb.frame_pose(s, d, 0)
    assert d.buffer.tobytes() == before


def test_every_call_returns_new_arrays():
    """A later result must not overwrite an earlier result."""
    # this robot has little code
    m = rb.load_urdf(bundled_robot("pendulum"))
    s = rb.specialize(m, functions=())
    d = rb.make_data(m)
    frame = m.frame_names[-1]
    calls = {
        **dict.fromkeys(("gravity_term", "bias_term", "mass_matrix", "linearise"), ()),
        **dict.fromkeys(("frame_pose", "frame_jacobian"), (frame,)),
        **{f"{name}_derivatives": () for name in ("inverse", "forward", "step")},
    }
    public = {name: f for name, f in vars(rb.Specialized).items() if name[0] != "_"}
    returned = {x: str(getattr(f, "__annotations__", {}).get("return")) for x, f in public.items()}
    assert calls.keys() == {name for name, kind in returned.items() if "Array" in kind}
    results = []
    for _ in range(2):
        d.qpos += 0.1
        results.append({name: getattr(s, name)(d, *more) for name, more in calls.items()})
    assert rb.mass_matrix(m, d) == pytest.approx(results[1]["mass_matrix"], abs=1e-12)
    found = [x for one in results for result in one.values()
             for x in (result if isinstance(result, tuple) else (result,))]  # fmt: skip
    assert_apart(found, d.buffer)


def test_a_robot_without_dofs_has_empty_arrays():
    """Steps advance only the time."""
    m = rb.build(rb.SystemBuilder("rock").body("a", specialised_models.BODY).joint(
        "glue", "fixed", "base", "a"))  # fmt: skip
    assert m.nv == 0
    s = rb.specialize(m)
    d = rb.make_data(m)
    s.step(d, 3)
    assert d.time == pytest.approx(3 * m.opt.timestep)
    assert s.gravity_term(d).shape == (0,)
    assert s.mass_matrix(d).shape == (0, 0)
    assert s.frame_jacobian(d, m.frame_names[-1]).shape == (6, 0)


def test_threads_that_share_specialised_code_do_not_interfere():
    """The code keeps nothing between calls."""
    from concurrent.futures import ThreadPoolExecutor

    m = specialised_models.model("panda.urdf")
    s = rb.specialize(m)
    rows = specialised.random_data(m, 8, seed=9, speed=0.1)
    alone = [d.copy() for d in rows]
    for d in alone:
        s.step(d, 2000)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda d: s.step(d, 2000), rows))
    for d, e in zip(rows, alone, strict=True):
        assert specialised.same_bits(d.buffer, e.buffer)
