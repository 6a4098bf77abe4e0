# SPDX-License-Identifier: Apache-2.0
"""Kane's babyboot: two links without a loop, with published angles after 10 s of chaotic motion.

Rod A swings about x, and plate B rotates on A about the rod's axis z. Source: T. Kane and
D. Levinson, Dynamics: Theory and Applications. MotionGenesis published the numbers.
"""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link

GRAM, CM = 1e-3, 1e-2
GRAM_CM2 = GRAM * CM * CM


def babyboot():
    rod = Inertial(10 * GRAM, Pose((0.0, 0.0, -7.5 * CM)), (50 * GRAM_CM2, 0, 0, 0, 0, 0))
    moments = (2500 * GRAM_CM2, 500 * GRAM_CM2, 2000 * GRAM_CM2, 0.0, 0.0, 0.0)
    plate = Inertial(100 * GRAM, Pose((0.0, 0.0, -20 * CM)), moments)
    return Description(
        "babyboot",
        (Link("ceiling"), Link("A", rod), Link("B", plate)),
        (
            Joint("qA", "continuous", "ceiling", "A", axis=(1.0, 0.0, 0.0)),
            Joint("qB", "continuous", "A", "B", axis=(0.0, 0.0, 1.0)),
        ),
    )


def total_energy(m, d):
    d = d.copy()
    rb.forward(m, d)
    rb.energy(m, d)
    return d.energy.sum()


def test_the_babyboot_moves_as_published():
    m = rb.build(babyboot(), strict=False)
    m.opt.gravity = (0.0, 0.0, -9.81)
    m.opt.integrator = "rk4"
    m.opt.timestep = 1e-4
    d = rb.make_data(m)
    d.qpos = np.radians([90.0, 1.0])
    before = total_energy(m, d)
    rb.step(m, d, 100_000)
    error = np.degrees(d.qpos) - [-61.312983340691, -929.47789677244]
    rates = d.qvel - [-6.7440081040646, -2.7795690128833]
    drift = total_energy(m, d) - before
    print("errors [deg]", error, "[rad/s]", rates, "energy drift [J]", drift)
    # the motion is chaotic, so rounding errors grow to some 1e-6 deg in 10 s; another engine with
    # RK4 and this timestep has errors of 1.7e-7 and 1.3e-6 deg
    assert np.abs(error[0]) < 1e-6
    assert np.abs(error[1]) < 5e-6
    assert np.abs(rates).max() < 1e-6
    # ten times the expected rounding: 1e5 steps with energies of 0.3 J, eps 0.3 sqrt(1e5) = 2e-14
    assert abs(drift) < 2e-13, drift
    assert d.time == pytest.approx(10.0, abs=1e-9)
