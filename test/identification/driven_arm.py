# SPDX-License-Identifier: Apache-2.0
"""A hanging arm with actuators, which moves in sweeps; drives and encoders are recorded."""

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.actuators import read_actuators_text
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.model.declared.actuators import CURRENT, TWIST, TWIST_RATE

LINK = """<link name="{}"><inertial><origin xyz="0 0 -0.2"/><mass value="{}"/><inertia
ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/>
<origin xyz="0 0 {}"/><axis xyz="{}"/>
<limit lower="-2" upper="2" velocity="2" effort="100"/></joint>"""
URDF = "\n".join(
    [
        '<robot name="hanging"><link name="base"/>',
        *(LINK.format(*one) for one in (("turret", 2), ("upper", 3), ("fore", 2))),
        JOINT.format("yaw", "base", "turret", 0, "0 0 1"),
        JOINT.format("shoulder", "turret", "upper", 0, "0 1 0"),
        JOINT.format("elbow", "upper", "fore", -0.4, "0 1 0"),
        "</robot>",
    ]
)

#: The shoulder's motor gives more torque than its drive assumes, and the elbow has backlash.
ACTUATORS = """rbdyn_actuators: 1
actuators:
  yaw:
    gear: 50
    armature: 5e-5
    motorconst: 0.05
    lugre: {coulomb: 0.01, static: 0.018, stribeck: 2.0}
    damping: 1e-4
  shoulder:
    gear: 100
    armature: 3e-5
    motorconst: 0.08
    motorconst_error: 0.08
    lugre: {coulomb: 0.02, static: 0.03, stribeck: 4.0}
    damping: 2e-4
  elbow:
    gear: -80
    armature: 2e-5
    motorconst: 0.06
    lugre: {coulomb: 0.012, static: 0.02, stribeck: 3.0}
    damping: 1e-4
    elastic: {stiffness: 3000, damping: 5, backlash: 0.01}
"""

#: Gains of the motors' servo [N m/rad, N m s/rad], and timesteps per sample.
STIFF, DAMPED, EVERY = 400.0, 40.0, 2


def arm():
    """Return the Model without actuators, and the list of its actuators."""
    m = rb.load_urdf(URDF)
    return m, read_actuators_text(ACTUATORS, m)


def driven(m, specs, motion):
    """Simulate a robot whose motors follow a motion; return the Samples. Efforts are currents."""
    path = Path(motion.time, motion.qpos, motion.qvel, motion.qacc)
    real = rb.with_actuators(m, specs)
    d, held = rb.make_data(real), rb.make_data(m)
    columns = [m.jnt_dofadr[m.jnt_id(name)] for name in motion.names]
    q, v = d.qpos.copy(), d.qvel.copy()
    q[columns] = d.qpos[columns] = motion.qpos[0]
    at, h, row = real.actuator_actadr, m.opt.timestep, np.empty((3, len(columns)))
    rows = []
    for k in range(int(motion.time[-1] / h)):
        rotor, speed = d.qpos + d.act[at + TWIST], d.qvel + d.act[at + TWIST_RATE]
        if k % EVERY == 0:
            rows.append([d.qpos, d.qvel, d.act[at + CURRENT], real.actuator_gear * rotor])
            rows[-1] = np.array(rows[-1])
        q[columns], v[columns], _ = path.sample(k * h, row)
        held.qpos[:] = q
        rb.inverse(m, held)
        d.qfrc_applied[:] = held.qfrc_inverse + STIFF * (q - rotor) + DAMPED * (v - speed)
        rb.step(real, d)
    qpos, qvel, current, angle = np.moveaxis(np.array(rows), 1, 0)
    motors = dict(zip(m.jnt_names, angle.T, strict=True))
    time = h * EVERY * np.arange(len(rows))
    return Samples(m.jnt_names, time, qpos, qvel, current, motors=motors)


def noisy(samples, share=0.01, seed=0):
    """Return Samples with white noise; its RMS is a share of the RMS of each signal."""
    rng = np.random.default_rng(seed)

    def measured(x):
        return x + share * np.sqrt((x**2).mean(axis=0)) * rng.normal(size=x.shape)

    return Samples(
        samples.names,
        samples.time,
        *(measured(x) for x in (samples.qpos, samples.qvel, samples.effort)),
        motors={name: measured(x) for name, x in samples.motors.items()},
    )
