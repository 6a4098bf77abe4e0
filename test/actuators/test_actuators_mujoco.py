# SPDX-License-Identifier: Apache-2.0
"""A motor moves as MuJoCo's dcmotor. Both integrators have order 1, so small steps must agree."""

import mujoco
import numpy as np
import pytest

import rbdyn_ros as rb

XML = """<mujoco><option timestep="{h}" gravity="0 0 0" integrator="implicitfast"/><worldbody>
<body><joint name="j" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia=".02 .02 .02"/>
</body></worldbody><actuator><dcmotor joint="j" gear="10" armature="1e-4" resistance="0.5"
motorconst="0.05 0.05" inductance="0.002 0" thermal="3 5 0 0 25 25" cogging="0.002 7 0.3"
lugre="5 0.01 0.01 0.02 3" damping="1e-5" input="ff" controller="0 0 0 0 0 {volts}"/></actuator>
</mujoco>"""


@pytest.mark.parametrize("volts", [4.0, 24.0])
def test_a_motor_moves_as_in_mujoco(one, volts):
    spec = rb.ActuatorSpec(
        "j", gear=10.0, armature=1e-4, motorconst=(0.05, 0.05), resistance=0.5, inductance=0.002,
        thermal=(3.0, 5.0, 0.0, 25.0, 25.0), cogging=(0.002, 7.0, 0.3),
        lugre=(5.0, 0.01, 0.01, 0.02, 3.0), damping=1e-5, voltage=volts,
    )  # fmt: skip
    errors = []
    for h in (4e-4, 2e-4, 1e-4):
        model = mujoco.MjModel.from_xml_string(XML.format(h=h, volts=volts))
        data, twin = mujoco.MjData(model), rb.with_actuators(one, [])
        twin.opt.timestep = h
        m = rb.with_actuators(twin, [spec])
        d = rb.make_data(m)
        for n in range(round(0.4 / h)):
            torque = 1.5 if n < 0.2 / h else -0.3
            data.ctrl[0], d.qfrc_applied[0] = torque / 10.0, torque
            mujoco.mj_step(model, data)
            rb.step(m, d)
        heat, bristle, current = data.act
        theirs = np.array([data.qpos[0], data.qvel[0], current, heat, bristle])
        ours = np.array([d.qpos[0], d.qvel[0], d.act[0], d.act[1], d.act[2]])
        errors.append(np.abs(ours / theirs - 1.0).max())
    assert errors[2] < 5e-3
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.4)
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.4)
