# SPDX-License-Identifier: Apache-2.0
"""Springs in joints, spring-dampers and limits of multi-dof joints have the right forces."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from support import states, trees
from support.compare import Comparison

import rbdyn_ros as rb

BODY = rb.shapes.box((0.6, 0.2, 0.3), mass=1.5, at=rb.pose((0.2, 0.1, -0.1)))

#: The robot of ours() as MJCF: springs in a slide, a hinge and a ball joint, a spring from body a
#: to body c, and a spring from the world to body b.
MJCF = """
<mujoco><compiler angle="radian"/>
  <option timestep="0.001" integrator="Euler">
    <flag contact="disable" eulerdamp="disable"/>
  </option>
  <worldbody>
    <site name="w" pos="0.1 -0.3 0.5"/>
    <body name="a"><joint type="slide" axis="0 0 1" stiffness="20" springref="0.1"/>
      <inertial pos="0.2 0.1 -0.1" mass="1.5" diaginertia="0.01625 0.05625 0.05"/>
      <site name="a" pos="0.1 0.2 0.3"/>
      <body name="b" pos="0.3 0 0.1">
        <joint type="hinge" axis="0 1 0" stiffness="5" springref="0.4" ref="0"/>
        <inertial pos="0.2 0.1 -0.1" mass="1.5" diaginertia="0.01625 0.05625 0.05"/>
        <site name="b" pos="-0.1 0 0.1"/>
        <body name="c" pos="0 0.2 0"><joint type="ball" stiffness="3" {ball}/>
          <inertial pos="0.2 0.1 -0.1" mass="1.5" diaginertia="0.01625 0.05625 0.05"/>
          <site name="c" pos="0 0.4 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial stiffness="30" damping="2" springlength="0.2">
      <site site="a"/><site site="c"/>
    </spatial>
    <spatial stiffness="10" damping="0.5" springlength="0">
      <site site="w"/><site site="b"/>
    </spatial>
  </tendon>
</mujoco>
"""


def ours():
    return rb.build(
        rb.SystemBuilder("springs")
        .body("a", BODY)
        .body("b", BODY)
        .body("c", BODY)
        .joint("slide", "prismatic", "base", "a", axis=(0, 0, 1), stiffness=20.0, rest=0.1)
        .joint("hinge", "revolute", "a", "b", axis=(0, 1, 0), xyz=(0.3, 0, 0.1), stiffness=5.0,
               rest=0.4)
        .joint("ball", "spherical", "b", "c", xyz=(0, 0.2, 0), stiffness=3.0)
        .spring("ac", "a", "c", point1=(0.1, 0.2, 0.3), point2=(0, 0.4, 0), stiffness=30.0,
                damping=2.0, length=0.2)
        .spring("wb", "base", "b", point1=(0.1, -0.3, 0.5), point2=(-0.1, 0, 0.1), stiffness=10.0,
                damping=0.5)
    )  # fmt: skip


def test_springs_agree_with_mujoco():
    m, mm = ours(), mujoco.MjModel.from_xml_string(MJCF.format(ball=""))
    d, md = rb.make_data(m), mujoco.MjData(mm)
    for seed in range(5):
        states.randomise(m, d, seed)
        d.qfrc_applied = d.xfrc_applied = 0.0
        md.qpos, md.qvel = d.qpos, d.qvel
        rb.forward(m, d)
        mujoco.mj_forward(mm, md)
        rb.energy(m, d)
        mujoco.mj_energyPos(mm, md)
        with Comparison("springs", f"seed {seed}") as case:
            case.close("qfrc_passive", d.qfrc_passive, md.qfrc_passive, 1e-13)
            case.close("qacc", d.qacc, md.qacc, 1e-12)
            case.close("potential energy", d.energy[0], md.energy[0], 1e-13)


def test_steps_with_springs_agree_with_mujoco():
    m, mm = ours(), mujoco.MjModel.from_xml_string(MJCF.format(ball=""))
    m.opt.integrator = "euler"
    d, md = rb.make_data(m), mujoco.MjData(mm)
    d.qpos[1] = md.qpos[1] = 0.7
    rb.step(m, d, 300)
    mujoco.mj_step(mm, md, 300)
    assert d.qpos == pytest.approx(md.qpos, abs=1e-11)


@pytest.mark.parametrize("kind", trees.LIBRARY)
def test_the_force_of_a_joint_spring_is_the_derivative_of_its_energy(kind):
    """qfrc_passive equals central differences of the negative energy along each dof.

    For differences over 2e-5, and energies of about ten, truncation h^2 and rounding eps / h are
    about 1e-9.
    """
    description = trees.auto_tree(1, kinds=(kind,), seed=3)
    joint = replace(description.joints[0], stiffness=7.0, damping=0.0)
    m = rb.build(replace(description, joints=(joint,)))
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    states.randomise(m, d, 4)
    d.qvel = 0.0
    rb.forward(m, d)
    h = 1e-5
    for k in range(m.nv):
        energies = []
        for side in (h, -h):
            twin = d.copy()
            states.move(m, twin, side, np.eye(m.nv)[k])
            rb.forward(m, twin)
            rb.energy(m, twin)
            energies.append(twin.energy[0])
        slope = (energies[0] - energies[1]) / (2.0 * h)
        assert d.qfrc_passive[k] == pytest.approx(-slope, abs=1e-8)


def test_springs_keep_the_energy_without_damping():
    m = ours()
    m = m.replaced(spring_damping=np.zeros(2))
    m.opt.integrator, m.opt.timestep = "rk4", 5e-4
    d = rb.make_data(m)
    d.qpos[1] = 1.0
    rb.forward(m, d)
    rb.energy(m, d)
    start = d.energy.sum()
    rb.step(m, d, 1000)
    rb.forward(m, d)
    rb.energy(m, d)
    # the integrator's error is of order h^4 T
    assert d.energy.sum() == pytest.approx(start, abs=1e-8)


@pytest.mark.parametrize("ratio", [0.0, 0.05])
def test_a_joint_on_a_spring_is_damped_only_by_its_own_damping(ratio):
    """The joint oscillates for ten periods of 628 timesteps, as h^2 k / I = 1e-4."""
    builder = rb.SystemBuilder("wheel").body("rim", rb.shapes.box((0.2, 0.2, 0.1), mass=1.0))
    builder.joint("hinge", "revolute", "base", "rim", axis=(0, 0, 1), stiffness=1.0)
    m = rb.build(builder)
    k, inertia = 1e-4 * m.dof_inertia0[0] / 1e-3**2, m.dof_inertia0[0]
    damping = 2.0 * ratio * np.sqrt(k * inertia)
    m = m.replaced(jnt_stiffness=[k], dof_damping=[damping])
    d = rb.make_data(m)
    d.qpos = 0.3
    w, root = np.sqrt(k / inertia), np.sqrt(1.0 - ratio**2)
    for _ in range(10):
        rb.step(m, d, 628)
    t = w * d.time
    exact = np.exp(-ratio * t) * (np.cos(root * t) + ratio / root * np.sin(root * t))
    assert d.qpos[0] / 0.3 == pytest.approx(exact, rel=0.01)


def test_a_spring_of_length_zero_exerts_no_force():
    m = rb.build(
        rb.SystemBuilder("met").body("a", BODY).joint("j", "revolute", "base", "a")
        .spring("s", "base", "a", stiffness=100.0, damping=5.0, length=0.3)
    )  # fmt: skip
    d = rb.make_data(m)
    d.qvel = 1.0
    rb.forward(m, d)
    assert d.qfrc_passive[0] == 0.0
    assert np.isfinite(d.buffer).all()


def test_springs_exert_no_force_without_opt_passive():
    m = ours()
    m.opt.passive = False
    d = rb.make_data(m)
    d.qpos[1] = 1.0
    rb.forward(m, d)
    rb.energy(m, d)
    weights = 9.81 * m.body_mass @ d.xipos[:, 2]
    assert not d.qfrc_passive.any()
    assert d.energy[0] == pytest.approx(weights, rel=1e-14)


def limited(kind, **limits):
    builder = rb.SystemBuilder("limited").body("a", BODY)
    axes = {} if kind == "spherical" else {"axis": (0, 0, 1)}
    axes |= {"axis2": (1, 0, 0)} if kind == "universal" else {}
    m = rb.build(builder.joint("j", kind, "base", "a", **axes, **limits))
    m.opt.gravity = (0.0, 0.0, 0.0)
    return m


@pytest.mark.parametrize("kind", ["cylindrical", "universal"])
def test_each_coordinate_of_a_joint_has_its_own_limits(kind):
    """Only a coordinate beyond its own limit has a force."""
    m = limited(kind, limits=(rb.Limit(-0.1, 0.2), rb.Limit()))
    m.opt.exact_stops = False
    d = rb.make_data(m)
    d.qpos = (0.25, 3.0)
    states.at_present(m, d)
    t, ratio = 2.0 * m.opt.timestep, 1.0
    assert d.qfrc_passive[0] == pytest.approx(-0.05 * m.dof_inertia0[0] / (t * ratio) ** 2)
    assert d.qfrc_passive[1] == 0.0
    d.qpos = (0.19, 3.0)
    rb.forward(m, d)
    assert not d.qfrc_passive.any()


def test_the_limit_of_a_ball_joint_is_on_its_rotation_angle():
    m = limited("spherical", limit=rb.Limit(0.0, 0.5))
    m.opt.exact_stops = False
    d = rb.make_data(m)
    axis = np.array([0.6, 0.0, 0.8])
    for angle, beyond in ((0.4, 0.0), (0.5 + 1e-3, 1e-3)):
        d.qpos = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])
        states.at_present(m, d)
        t, ratio = 2.0 * m.opt.timestep, 1.0
        expected = -beyond * m.dof_inertia0 / (t * ratio) ** 2 * axis
        assert d.qfrc_passive == pytest.approx(expected, abs=1e-11)
    d.qvel = 4.0 * axis
    rb.step(m, d, 1000)
    angle = 2.0 * np.arccos(min(1.0, abs(d.qpos[0])))
    assert angle < 0.55
