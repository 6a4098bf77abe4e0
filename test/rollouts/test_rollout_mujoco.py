# SPDX-License-Identifier: Apache-2.0
"""Rollouts of many robots with different forces agree with mujoco.rollout for some steps."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")
import mujoco
from mujoco import rollout as theirs
from support import mujoco_twin
from support.robots import find, load, needs_robots
from support.rollouts import light_forces, starts

from rbdyn_ros.rollouts.rollout import rollout

NBATCH, NSTEP = 6, 20

#: Tolerance as a share of the largest entry.
#: Accelerations agree to 1e-10 (test/engine/test_stages_mujoco.py), and qvel integrates their
#: errors over only 0.02 s (20 steps of 1 ms).
TOLERANCE = 1e-10


@needs_robots
@pytest.mark.parametrize("specialize", [True, False])
@pytest.mark.parametrize(("file", "floating"), [("ur5_robot.urdf", False), ("solo12.urdf", True)])
def test_rollouts_agree_with_mujoco(file, floating, specialize):
    path = find(file)
    m = load(path, floating)
    m = m.replaced(dof_frictionloss=0.0 * m.dof_damping, jnt_limited=0 * m.jnt_limited)
    mm = mujoco_twin.from_urdf(path, floating)
    mm.opt.timestep, mm.opt.integrator = m.opt.timestep, mujoco.mjtIntegrator.mjINT_EULER
    # this is our implicit_damping
    mm.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    qpos, qvel = starts(m, NBATCH)
    ctrl = light_forces(m, (NBATCH, NSTEP))
    time = np.zeros((NBATCH, 1))
    state, _ = theirs.rollout(
        mm, [mujoco.MjData(mm)], np.concatenate([time, qpos, qvel], axis=1), ctrl,
        control_spec=int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
    )  # fmt: skip
    found = rollout(m, qpos, qvel, ctrl, nstep=NSTEP, specialize=specialize,
                    outputs=("time", "qpos", "qvel"))  # fmt: skip
    ours = np.concatenate([found.time[:, :, None], found.qpos, found.qvel], axis=2)
    assert state.shape == ours.shape
    np.testing.assert_allclose(ours, state, rtol=0.0, atol=TOLERANCE * np.abs(state).max())
