# SPDX-License-Identifier: Apache-2.0
"""Implicit integrators use velocity-dependent forces at the end or in the middle of a step.

Coriolis and centrifugal forces are quadratic in the velocities, so central differences give their
Jacobian exactly, without the formulas of the engine. test_steps_mujoco.py compares whole steps
of `implicit` with MuJoCo's integrator of this name.
"""

from dataclasses import replace

import numpy as np
import pytest
from support import mechanisms, states, trees
from support.compare import Comparison, with_inverse
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Mimic, Trajectory
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.model.declared.callbacks import STAGE_MAKERS
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.declared.options import Options
from rbdyn_ros.share import bundled_robot

SHARES = {"implicit": 1.0, "implicit_midpoint": 0.5}
each_integrator = pytest.mark.parametrize("integrator", SHARES)
UNSUPPORTED = ("rack_pinion",)
KINDS = tuple(kind for kind in trees.LIBRARY if kind not in UNSUPPORTED)


def check_step(m, integrator, where, d=None):
    """Assert that the acceleration of a step agrees with dense algebra."""
    m.opt.integrator, m.opt.timestep = integrator, 0.01
    if d is None:
        d = rb.make_data(m)
        states.randomise(m, d, 7, speed=2.0)
        states.apply_reasonable_forces(m, d)
    D, start = states.bias_slopes(m, d), d.qvel.copy()
    states.at_present(m, d)
    force = rb.mass_matrix(m, d) @ d.qacc
    viscosity = np.diag(d.dof_viscosity)
    A = rb.mass_matrix(m, d) + 0.01 * (viscosity + SHARES[integrator] * D)
    expected = np.linalg.solve(A, force)
    tolerance = with_inverse(1e-12, A, 1)
    rb.step(m, d)
    rest = np.ones(m.nv, bool)
    # implicit_midpoint also corrects momenta (test_flight.py)
    if integrator == "implicit_midpoint":
        rest = ~np.isin(m.dof_bodyid, [*m.flight_bodyid, *m.flight_rootid])
    with Comparison("implicit", f"{where}, {integrator}") as case:
        case.close("qacc_step", d.qacc_step[rest], expected[rest], tolerance)
        if m.nypr == 0:  # steps of yaw-pitch-roll joints keep their angular velocity (ypr.py)
            case.close("qvel", d.qvel[rest], (start + 0.01 * expected)[rest], tolerance)
    assert d.nbad == 0


@each_integrator
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_solves_with_the_velocity_jacobian(kind, integrator):
    kinds = (kind, "revolute")
    m = trees.build(trees.auto_tree(6, 1.3, kinds=kinds, seed=3, damping=0.3, shuffle=False))
    check_step(m, integrator, kind)


@each_integrator
def test_implicit_steps_include_mimic_and_driven_joints(integrator):
    """The step is right with mimic joints, and with a joint that is driven over time."""
    description = trees.auto_tree(9, 1.5, kinds=trees.SIMPLE, seed=5, reversals=0.3, damping=0.2)
    fields = {
        "joint3": {"motion": Trajectory((0.0, 1.0, 2.0), (0.0, 0.8, -0.5)), "damping": 0.0},
        "joint4": {"mimic": Mimic("joint2", -0.6, 0.1)},
        "joint8": {"mimic": Mimic("joint4", 1.5)},
    }
    joints = tuple(replace(j, **fields.get(j.name, {})) for j in description.joints)
    m = rb.build(replace(description, joints=joints))
    assert (m.ndrive, m.nmimic) == (1, 2)
    check_step(m, integrator, "couplings")


@each_integrator
def test_implicit_steps_give_driven_dofs_their_velocities(integrator):
    """Driven dofs get the given velocity; the other dofs satisfy their rows of the equations."""
    m = trees.build(trees.auto_tree(6, 1.3, kinds=trees.SIMPLE, seed=2, damping=0.2))
    m.opt.integrator, m.opt.timestep = integrator, 0.01
    d = rb.make_data(m)
    states.randomise(m, d, 4)
    D, start = states.bias_slopes(m, d), d.qvel.copy()
    states.at_present(m, d)
    M, force = rb.mass_matrix(m, d).copy(), rb.mass_matrix(m, d) @ d.qacc
    rb.set_drive(m, d, "joint3", "velocity", 0.7)
    rb.step(m, d)
    given = m.jnt_dofadr[m.jnt_id("joint3")]
    A = M + 0.01 * (np.diag(d.dof_viscosity) + SHARES[integrator] * D)
    A[given], force[given] = np.eye(m.nv)[given], (0.7 - start[given]) / 0.01
    assert d.qvel[given] == pytest.approx(0.7, rel=1e-12)
    with Comparison("implicit", "drive") as case:
        case.close("qacc_step", d.qacc_step, np.linalg.solve(A, force), with_inverse(1e-12, A, 1))


@each_integrator
def test_a_box_comes_to_rest_on_a_floor(integrator):
    """Then the contact forces at the end of a step carry the weight."""
    box = rb.SystemBuilder("box", base="world")
    box.body("box", rb.shapes.box((0.2, 0.2, 0.2), mass=2.0))
    box.joint("free", "floating", "world", "box", xyz=(0, 0, 0.12))
    box.geometry("hull", "box", rb.Box((0.2, 0.2, 0.2))).floor()
    m = rb.build(box)
    m.opt.integrator = integrator
    d = rb.make_data(m)
    rb.step(m, d, 2000)
    assert d.cfrc_contact[1, 5] == pytest.approx(2.0 * 9.81, rel=1e-6)
    assert np.abs(d.qvel).max() < 1e-6


def boxes():
    """Return three boxes that hang from each other by ball joints, without damping."""
    size = (0.1, 0.06, 0.3)
    system, last = rb.SystemBuilder("boxes", base="world"), "world"
    for k in range(3):
        name, height = f"box{k}", 0.0 if k == 0 else -size[2]
        system.body(name, rb.shapes.box(size, mass=1.0, at=rb.pose((0, 0, -size[2] / 2))))
        system.joint(f"ball{k}", "spherical", last, name, xyz=(0, 0, height))
        last = name
    return rb.build(system)


#: Energy of the boxes hanging at rest [J]: -9.81 (0.15 + 0.45 + 0.75), relative to the ceiling.
REST = -9.81 * 1.35


def energies(integrator, seed, seconds):
    """Return the energy above REST every 0.1 s for `seconds`, from rest in a random pose on.

    Semi-implicit steps compute velocities between two positions, as a leapfrog method does. So,
    except with rk4, the velocity at qpos is the mean of qvel and the next qvel.
    """
    m = boxes()
    m.opt.integrator = integrator
    d = rb.make_data(m)
    d.qpos = rb.random_qpos(m, np.random.default_rng(seed))
    at, found = d.copy(), []
    for _ in range(10 * seconds + 1):
        at.qpos, before = d.qpos, d.qvel.copy()
        rb.step(m, d)
        at.qvel = before if integrator == "rk4" else 0.5 * (before + d.qvel)
        found.append(rb.kinetic_energy(m, at) + rb.potential_energy(m, at) - REST)
        rb.step(m, d, 99)
    return np.array(found)


#: Largest allowed relative change of the energy above REST in a minute, with steps of 1 ms. The
#: motion is chaotic, so after some seconds it depends on the rounding of a processor. The worst
#: changes of 200 starts were 0.0014 % for rk4 and 5.3 % for implicit_midpoint, where a box turned
#: by 0.09 rad in a step. With euler and implicit_damping the motion is NaN after 10 to 20 s.
KEPT = {"rk4": 0.001, "implicit_midpoint": 0.1}


@pytest.mark.parametrize("integrator", KEPT)
@pytest.mark.parametrize("seed", range(10))
def test_boxes_on_ball_joints_keep_their_energy(seed, integrator):
    found = energies(integrator, seed, 60)
    assert np.abs(found - found[0]).max() < KEPT[integrator] * found[0]


def test_the_integrator_implicit_loses_energy_if_bodies_tumble():
    """As in MuJoCo, this first-order integrator dissipates energy if bodies turn fast."""
    found, peer = energies("implicit", 0, 20), energies_of_mujoco("implicit", 0, 20)
    for loss in (found, peer):
        assert loss.max() < 1.05 * loss[0]
        assert loss[-1] < 0.5 * loss[0]
    # later energies differ because rounding errors grow
    np.testing.assert_allclose(found[:10], peer[:10], rtol=1e-6)


def energies_of_mujoco(integrator, seed, seconds):
    """Return the same energies as `energies`, simulated by MuJoCo's integrator."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    m = boxes()
    inertia = " ".join(map(str, m.body_inertia[1]))
    body = (
        f'<joint type="ball"/><inertial pos="0 0 -0.15" mass="1" diaginertia="{inertia}" '
        'quat="{} {} {} {}"/>'
    ).format(*m.body_iquat[1])
    chain = "".join(f'<body pos="0 0 {-0.3 * (k > 0)}">{body}' for k in range(3))
    option = f'<option timestep="0.001" integrator="{integrator}"/>'
    xml = f"<mujoco>{option}<worldbody>{chain}{'</body>' * 3}</worldbody></mujoco>"
    mm = mujoco.MjModel.from_xml_string(xml)
    d, at, found = mujoco.MjData(mm), rb.make_data(m), []
    d.qpos[:] = rb.random_qpos(m, np.random.default_rng(seed))
    for _ in range(10 * seconds + 1):
        at.qpos, before = d.qpos.copy(), d.qvel.copy()
        mujoco.mj_step(mm, d)
        at.qvel = 0.5 * (before + d.qvel)
        found.append(rb.kinetic_energy(m, at) + rb.potential_energy(m, at) - REST)
        mujoco.mj_step(mm, d, 99)
    return np.array(found)


NO_TREES = {
    "loop": mechanisms.grashof,
    "gear": lambda: mechanisms.parallelogram().gear("gear", {"A": 1.0, "B": 1.0}),
    "rolling": mechanisms.ball,
}


@each_integrator
@pytest.mark.parametrize("system", NO_TREES)
def test_implicit_integrators_refuse_constraints(system, integrator):
    m = rb.build(NO_TREES[system]())
    with refused(ParameterError, "option-integrator", "integrator", found=integrator):
        m.opt.integrator = integrator
    assert m.opt.integrator == "implicit_damping"


@each_integrator
def test_implicit_integrators_refuse_joints_without_a_velocity_jacobian(integrator):
    m = trees.build(trees.auto_tree(3, 1.3, kinds=("rack_pinion",), seed=3))
    with refused(ParameterError, "option-integrator", "integrator", found=integrator):
        m.opt.integrator = integrator


def test_a_changed_model_refuses_an_integrator_that_it_does_not_support():
    m = rb.build(mechanisms.grashof())
    parts = {field: getattr(m, field) for field in ("name", "names", "findings")}
    arrays = {f.name: getattr(m, f.name) for f in MODEL_FIELDS}
    opt = Options(integrator="implicit")
    with refused(ParameterError, "option-integrator", "integrator"):
        rb.Model(parts["name"], arrays, parts["names"], opt)


@each_integrator
def test_specialising_is_refused_with_the_name_of_the_integrator(integrator):
    """C code and vectorised rollouts trace the step; implicit steps cannot be traced."""
    m = boxes()
    m.opt.integrator = integrator
    with refused(ModelError, "not-traceable") as caught:
        rb.specialize(m, ("step",))
    assert f"'{integrator}'" in str(caught.value)
    with refused(ModelError, "not-traceable"):
        rb.specialize(m, ("step_derivatives",))
    still = np.zeros((2, m.nv))
    with refused(ModelError, "not-traceable"):
        rb.rollout(m, m.qpos0, still, nstep=20)
    assert not rb.rollout(m, m.qpos0, still, nstep=20, specialize=False).diverged.any()


def test_a_copied_model_keeps_its_integrator():
    m = boxes()
    m.opt.integrator = "implicit"
    twin = m.replaced()
    d, e = rb.make_data(m), rb.make_data(twin)
    for model, data in ((m, d), (twin, e)):
        data.qvel = np.linspace(-1.0, 2.0, 9)
        rb.step(model, data, 5)
    assert twin.opt.integrator == "implicit"
    assert np.array_equal(d.qvel, e.qvel)


def test_an_integrator_is_not_set_if_its_compilation_is_interrupted(monkeypatch):
    """Otherwise a step would call code that is missing."""

    def interrupted():
        raise KeyboardInterrupt

    m = rb.load_urdf(bundled_robot("pendulum"))
    before = m.opt.integrator
    monkeypatch.setitem(STAGE_MAKERS, "implicit_stage", interrupted)
    with pytest.raises(KeyboardInterrupt):
        m.opt.integrator = "implicit"
    assert m.opt.integrator == before
