# SPDX-License-Identifier: Apache-2.0
"""Contact agrees with MuJoCo where the two contact models agree.

Both engines have compliant contacts and Coulomb friction, in MuJoCo with an elliptic cone. Results
that do not depend on the compliance must be equal.
"""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import touching

import rbdyn_ros as rb

G = touching.G
STEP = 2e-4  # MuJoCo's timestep [s]; short, so that a sliding box hops less
SHAPES = {
    "sphere": (rb.Sphere(0.1), 'type="sphere" size="0.1"', 0.1),
    "box": (rb.Box((0.4, 0.4, 0.1)), 'type="box" size="0.2 0.2 0.05"', 0.05),
}


def pair(shape, angle, friction):
    """Return (m, d) of both engines for the same body on the same slope."""
    ours, theirs, height = SHAPES[shape]
    system = touching.free(ours, 1.0, rb.Surface(friction=friction), floor=False)
    m = rb.build(system.obstacle("slope", rb.Plane(), origin=rb.pose(rpy=(0, angle, 0))))
    turn = Rotation.from_euler("y", angle)
    quat = " ".join(map(str, touching.wxyz(turn)))
    xx, yy, zz = touching.solid(ours, 1.0).inertia[:3]
    twin = mujoco.MjModel.from_xml_string(f"""
      <mujoco>
        <option timestep="{STEP}" cone="elliptic" integrator="Euler" gravity="0 0 -9.81"/>
        <default><geom friction="{friction} 0 0" condim="3" solref="0.002 1"
          solimp="0.99 0.99 0.001"/></default>
        <worldbody>
          <geom type="plane" size="9 9 1" quat="{quat}"/>
          <body quat="{quat}"><freejoint/><geom {theirs}/>
            <inertial pos="0 0 0" mass="1" diaginertia="{xx} {yy} {zz}"/></body>
        </worldbody>
      </mujoco>""")
    d, other = rb.make_data(m), mujoco.MjData(twin)
    d.qpos[:3] = other.qpos[:3] = turn.apply([0.0, 0.0, height])
    d.qpos[3:] = other.qpos[3:] = touching.wxyz(turn)
    return m, d, twin, other, turn


@pytest.mark.parametrize("shape", SHAPES)
def test_forces_at_rest_agree_with_mujoco(shape):
    m, d, twin, other, _ = pair(shape, 0.0, 0.5)
    rb.step(m, d, 1000)
    mujoco.mj_step(twin, other, round(1.0 / STEP))
    rb.forward(m, d)
    mujoco.mj_forward(twin, other)
    theirs = np.zeros(3)
    for c in range(other.ncon):
        wrench = np.zeros(6)
        mujoco.mj_contactForce(twin, other, c, wrench)
        theirs += other.contact[c].frame.reshape(3, 3).T @ wrench[:3]
    assert other.ncon == d.ncon
    assert d.cfrc_contact[1, 3:] == pytest.approx([0.0, 0.0, G], abs=1e-6)
    assert d.cfrc_contact[1, 3:] == pytest.approx(theirs, abs=1e-3)
    at = sorted(map(tuple, np.round(d.contact_pos[: d.ncon], 3)))
    assert np.array(at) == pytest.approx(
        np.array(sorted(map(tuple, np.round(other.contact.pos, 3)))), abs=2e-3
    )


@pytest.mark.parametrize(
    ("shape", "angle", "friction", "accelerates"),
    [
        ("box", 0.5, 0.3, np.sin(0.5) - 0.3 * np.cos(0.5)),
        ("box", 0.9, 0.8, np.sin(0.9) - 0.8 * np.cos(0.9)),
        ("sphere", 0.3, 0.5, 5 / 7 * np.sin(0.3)),
        ("sphere", 1.2, 0.2, np.sin(1.2) - 0.2 * np.cos(1.2)),
    ],
)
def test_accelerations_on_a_slope_agree_with_mujoco(shape, angle, friction, accelerates):
    """Our friction is exact to 1 %; MuJoCo's sliding boxes hop, with errors of 3 %."""
    m, d, twin, other, turn = pair(shape, angle, friction)
    down = turn.apply([1.0, 0.0, 0.0])
    gained = []
    rb.step(m, d, 300)
    start = d.qvel[:3] @ down
    rb.step(m, d, 500)
    gained.append(d.qvel[:3] @ down - start)
    mujoco.mj_step(twin, other, round(0.3 / STEP))
    start = other.qvel[:3] @ down
    mujoco.mj_step(twin, other, round(0.5 / STEP))
    gained.append(other.qvel[:3] @ down - start)
    assert gained[0] == pytest.approx(0.5 * G * accelerates, rel=0.01)
    assert gained[0] == pytest.approx(gained[1], rel=0.03)


def test_a_tumbling_box_ends_on_the_same_face_at_the_same_height():
    m, d, twin, other, _ = pair("box", 0.0, 0.8)
    start = Rotation.from_euler("xyz", [0.5, 0.2, 0.0])
    d.qpos[2] = other.qpos[2] = 0.3
    d.qpos[3:] = other.qpos[3:] = touching.wxyz(start)
    rb.step(m, d, 3000)
    mujoco.mj_step(twin, other, round(3.0 / STEP))
    assert d.qpos[2] == pytest.approx(other.qpos[2], abs=2e-4)
    up = [Rotation.from_quat(q[[4, 5, 6, 3]]).apply([0, 0, 1]) for q in (d.qpos, other.qpos)]
    assert up[0] == pytest.approx(up[1], abs=2e-3)
