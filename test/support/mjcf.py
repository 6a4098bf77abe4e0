# SPDX-License-Identifier: Apache-2.0
"""Compare the Models of one MJCF file in this library and in MuJoCo."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.mjcf_files import mjcf
from rbdyn_ros.loading.load import complete

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

#: Numbers of coordinates and dofs of the joint types that have several.
SIZES = {"floating": (7, 6), "spherical": (4, 3)}


class Twins:
    """The Models of a file in this library and in MuJoCo, in the same state.

    Attributes:
        described: the Description of the file.
        m, d: our Model and Data, without mimic joints, dry friction and contact.
        theirs, data: MuJoCo's model and data, without constraints.
        q, v: index in our qpos and qvel of each coordinate and dof of MuJoCo.
    """

    def __init__(self, path, strict=True):
        self.described = mjcf.read(path, strict=strict)
        m = complete(self.described, strict=strict, mimic=False)
        self.m = m.replaced(dof_frictionloss=np.zeros(m.nv))
        self.d = rb.make_data(self.m)
        self.theirs = mujoco.MjModel.from_xml_path(str(path))
        off = mujoco.mjtDisableBit
        self.theirs.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.theirs)
        self.q, self.v = self._orders()
        assert len(self.v) == self.theirs.nv

    def _orders(self):
        q, v = [], []
        for joint in self.described.joints:
            if joint.type == "fixed" or joint.closes_loop:
                continue
            j = self.m.jnt_id(joint.name)
            nq, nv = SIZES.get(joint.type, (1, 1))
            q += range(self.m.jnt_qposadr[j], self.m.jnt_qposadr[j] + nq)
            v += range(self.m.jnt_dofadr[j], self.m.jnt_dofadr[j] + nv)
        return np.array(q, int), np.array(v, int)

    def move(self, seed):
        """Set a random state and random controls, or for seed 0 the start at rest."""
        rng, theirs, data = np.random.default_rng(seed), self.theirs, self.data
        qpos = theirs.qpos0.copy()
        if seed:
            mujoco.mj_integratePos(theirs, qpos, rng.uniform(-1, 1, theirs.nv), 0.7)
        data.qpos[:] = qpos
        data.qvel[:] = rng.uniform(-1, 1, theirs.nv) if seed else 0.0
        data.ctrl[:] = rng.uniform(-2, 2, theirs.nu)
        mujoco.mj_forward(theirs, data)
        self.d.qpos[self.q], self.d.qvel[self.v] = data.qpos, data.qvel
        rb.forward(self.m, self.d)

    def mass_matrices(self):
        """Return our mass matrix and MuJoCo's mass matrix, (nv, nv) each."""
        theirs = np.zeros((self.theirs.nv, self.theirs.nv))
        mujoco.mj_fullM(self.theirs, self.data, theirs)
        return rb.mass_matrix(self.m, self.d)[np.ix_(self.v, self.v)], theirs

    def check(self, rtol=1e-9):
        """Check that all results in the present state agree within `rtol`."""
        data = self.data
        ours, theirs = self.mass_matrices()
        close(ours, theirs, rtol, "mass matrix")
        close(self.d.qfrc_bias[self.v], data.qfrc_bias, rtol, "bias")
        rb.passive(self.m, self.d)  # forward uses the damping at the end of the step
        close(self.d.qfrc_passive[self.v], data.qfrc_spring + data.qfrc_damper, rtol, "passive")
        for kind, count, places in (
            ("body", self.theirs.nbody, (data.xpos, data.xmat)),
            ("site", self.theirs.nsite, (data.site_xpos, data.site_xmat)),
        ):
            for i in range(count):
                name = getattr(self.theirs, kind)(i).name
                if name and name in self.m.frame_names:
                    for mine, its in zip(rb.frame_pose(self.m, self.d, name), places, strict=True):
                        close(mine.ravel(), its[i], rtol, name)

    def check_actuators(self, rtol=1e-9):
        """Check that the efforts of the actuators agree within `rtol`."""
        servos = rb.Servos(self.m, self.described.servos)
        ours = servos.efforts(self.d, self.data.ctrl)[self.v]
        close(ours, self.data.qfrc_actuator, rtol, "actuators")


def close(ours, theirs, rtol, what):
    scale = max(np.abs(theirs).max(initial=0.0), 1.0)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=rtol * scale, err_msg=what)
