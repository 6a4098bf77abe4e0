# SPDX-License-Identifier: Apache-2.0
"""Generated C agrees with the engine for real robots and for trees with every joint type.

The states differ from the states in the generated test, which is also tested here.
"""

import re
import shutil

import numpy as np
import pytest
from support.c_code import Library, code_of
from support.c_compilers import COMPILERS, STRICT, needs_gcc, run
from support.compare import Comparison, with_inverse
from support.robots import find
from support.smooth import smoothly
from support.states import randomise
from support.trees import LIBRARY, auto_tree, build

import rbdyn_ros as rb
from rbdyn_ros.codegen.folder import files, write
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT

pytestmark = needs_gcc

ALL = ("gravity", "bias", "inverse", "forward", "step", "mass_matrix", "kinematics", "jacobian")

#: Allowed relative errors with double and float: the same multiple of the machine precision.
DOUBLE_ERROR, FLOAT_ERROR = 1e-12, 1e-12 / DOUBLE.eps * FLOAT.eps

ROBOTS = {
    "ur5": lambda: rb.load_urdf(find("ur5_robot.urdf")),
    "panda": lambda: rb.load_urdf(find("panda.urdf")),  # one finger mimics the other
    "anymal": lambda: rb.load_urdf(find("anymal.urdf"), floating_base=True),
    "library": lambda: build(
        auto_tree(len(LIBRARY), 2.0, kinds=LIBRARY, seed=3, damping=0.3, shuffle=False)
    ),
    "reversed": lambda: build(auto_tree(8, 1.5, kinds=LIBRARY, seed=5, reversals=0.5)),
}


def robot(name, cache={}):  # noqa: B006 - a Model is read-only
    if name not in cache:
        cache[name] = ROBOTS[name]()
    return cache[name].replaced()


def states(m, real):
    """Yield Data in 3 random states, exact in the type `real`; the last is beyond joint limits."""
    for seed in range(3):
        d = rb.make_data(m)
        randomise(m, d, seed)
        m.opt.gravity = exact(np.random.default_rng(seed).uniform(-10.0, 10.0, 3), real)
        for j in np.flatnonzero((m.jnt_limited == 1) & (m.jnt_dofnum == 1) & (m.jnt_mimic < 0)):
            lower, upper = m.jnt_range[j]
            d.qpos[m.jnt_qposadr[j]] = upper + 0.02 if seed == 2 else 0.4 * lower + 0.6 * upper
        for name in ("qpos", "qvel", "qacc", "qfrc_applied", "xfrc_applied"):
            setattr(d, name, exact(getattr(d, name), real))
        yield d


def exact(array, real):
    return np.asarray(array).astype(real.info.dtype).astype(float)


def by_engine(m, given):
    """Yield (function, output, engine's result) for the generated functions in a state `given`."""
    d = rb.make_data(m)
    for name in ("qpos", "qvel", "qacc", "qfrc_applied", "xfrc_applied"):
        setattr(d, name, getattr(given, name))
    yield "gravity", "tau", rb.gravity_term(m, d)
    yield "bias", "tau", rb.bias_term(m, d)
    rb.inverse(m, d)
    yield "inverse", "tau", d.qfrc_inverse
    yield "mass_matrix", "M", rb.mass_matrix(m, d)
    rb.kinematics(m, d)
    yield "kinematics", "xpos", d.xpos
    yield "kinematics", "xmat", d.xmat
    yield "jacobian_" + m.frame_names[-1], "J", rb.frame_jacobian(m, d, m.frame_names[-1])
    rb.forward_dynamics(m, d)
    yield "forward", "a", d.qacc
    rb.step(m, d)
    yield "step", "q_next", d.qpos
    yield "step", "v_next", d.qvel


def compare(name, real, compiler, folder):
    m = smoothly(robot(name))
    code = code_of(
        m, *ALL, real=real, frames=m.frame_names[-1:], gravity_input=True, external_forces=True
    )
    library = Library(code, compiler, folder, "-O0")
    error = DOUBLE_ERROR if real is DOUBLE else FLOAT_ERROR
    for k, given in enumerate(states(m, real)):
        # the tolerance is 2 cond(M) units in the last place
        inverting = with_inverse(error, rb.mass_matrix(m, given), real.eps / DOUBLE.eps / 32.0)
        inputs = {x: getattr(given, x) for x in ("qpos", "qvel", "qacc", "qfrc_applied")}
        inputs.update(xfrc_applied=given.xfrc_applied, gravity=m.opt.gravity)
        with Comparison(f"C {real.name}", f"{name}, state {k}") as check:
            for function, output, expected in by_engine(m, given):
                found = library.call(function, inputs)[output].astype(float)
                tolerance = inverting if function in ("forward", "step") else error
                check.close(f"{function} {output}", found, np.ravel(expected), tolerance)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ROBOTS)
def test_generated_c_agrees_with_the_engine(name, compiler, tmp_path):
    compare(name, DOUBLE, compiler, tmp_path)


@pytest.mark.parametrize("name", ROBOTS)
def test_single_precision_code_is_close_to_double(name, tmp_path):
    compare(name, FLOAT, "gcc", tmp_path)


@pytest.fixture(scope="module")
def ur5():
    m = robot("ur5")
    return code_of(m, *ALL, frames=("tool0",), prefix="ur5")


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_a_step_may_overwrite_its_inputs(optimised, tmp_path):
    m = robot("ur5")
    library = Library(code_of(m, "step"), "gcc", tmp_path, optimised)
    given = next(states(m.replaced(), DOUBLE))
    inputs = {"qpos": given.qpos, "qvel": given.qvel, "qfrc_applied": given.qfrc_applied}
    apart = library.call("step", inputs)
    same = library.call("step", inputs, same=("q_next", "v_next"))
    for name in apart:
        assert np.array_equal(apart[name], same[name])


def test_forces_and_gravity_are_arguments_only_on_request(ur5):
    with_forces = code_of(ur5.m, *ALL, frames=("tool0",), external_forces=True, gravity_input=True)
    for plain, full in zip(ur5.functions, with_forces.functions, strict=True):
        more = {a.name for a in full.inputs} - {a.name for a in plain.inputs}
        pushed, heavy = plain.spec.pushed, plain.spec.heavy
        assert more == {*(["external"] if pushed else []), *(["g"] if heavy else [])}
        more_work = len(full.program.operations) - len(plain.program.operations)
        assert more_work > 20 if pushed else more_work >= 0


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("real", [DOUBLE, FLOAT], ids=lambda real: real.name)
def test_the_generated_test_passes_and_fails_for_changed_code(ur5, compiler, real, tmp_path):
    code = ur5 if real is DOUBLE else code_of(ur5.m, *ALL, real=real, frames=("tool0",))
    sources = [path for path in write(code, tmp_path) if path.suffix == ".c"]
    program = tmp_path / "program"
    build = (compiler, *STRICT, "-O0", *sources, "-lm", "-o", program)
    run(*build)
    lines = run(program).splitlines()
    assert len(lines) == len(ALL)
    for line in lines:
        assert re.fullmatch(r"\w+ +largest relative error \S+, allowed \S+: passed", line)
    text = sources[0].read_text()
    line = next(line for line in text.splitlines() if line.startswith("    tau[1] = "))
    value = line.split()[-1].rstrip(";")
    # replace a number by its negative and by NaN
    for harm in (f"-{value}", f"({value} - {value}) / ({value} - {value})"):
        changed = text.replace(line, f"    tau[1] = {harm};", 1)
        assert changed != text
        sources[0].write_text(changed)
        run(*build)
        with pytest.raises(AssertionError, match=r"gravity .*FAILED"):
            run(program)


def test_the_code_has_no_state_and_calls_only_sin_and_cos(ur5, tmp_path):
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    write(ur5, tmp_path)
    run("gcc", *STRICT, "-O0", "-c", tmp_path / "ur5_dynamics.c", "-o", tmp_path / "ur5.o")
    symbols = [line.split()[-2:] for line in run("nm", tmp_path / "ur5.o").splitlines()]
    assert {name for kind, name in symbols if kind == "U"} == {"sin", "cos"}
    ours = {name for kind, name in symbols if kind == "T"}
    assert ours == {f"ur5_{function.name}" for function in ur5.functions}
    assert {kind for kind, _ in symbols} <= {"U", "T"}, "the code has variables"


def test_the_header_compiles_as_cplusplus(ur5, tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    write(ur5, tmp_path)
    user = tmp_path / "user.cpp"
    user.write_text(
        '#include "ur5_dynamics.h"\n#include "ur5_dynamics.h"\n'
        "int main() { double q[UR5_NQ] = {}, tau[UR5_NV]; ur5_gravity(q, tau); }\n"
    )
    for path, compiler in ((tmp_path / "ur5_dynamics.c", "gcc"), (user, "g++")):
        run(compiler, "-Wall", "-Wextra", "-pedantic", "-c", path, "-o", path.with_suffix(".o"))
    objects = [tmp_path / "ur5_dynamics.o", tmp_path / "user.o"]
    run("g++", *objects, "-o", tmp_path / "user")


def test_cmake_builds_a_library_and_runs_the_test(ur5, tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    write(ur5, tmp_path)
    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, "-DCMAKE_BUILD_TYPE=Debug")
    run("cmake", "--build", build)
    assert (build / "libur5_dynamics.a").is_file()
    assert "100% tests passed" in run("ctest", "--test-dir", build)


def test_the_same_robot_gives_the_same_code(ur5):
    again = code_of(robot("ur5"), *ALL, frames=("tool0",), prefix="ur5")
    assert files(again) == files(ur5)
