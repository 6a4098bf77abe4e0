"""The same robot in Pinocchio, and its joint coordinates translated into ours.

Pinocchio: quaternions xyzw; a free-flyer's velocity in body axes, translation first; a
continuous joint is (cos, sin); an unlimited planar joint is (x, y, cos, sin). Ours: MuJoCo's,
with a free joint's translation in the axes of its predecessor.

With v_pin = B v_ours: tau_ours = B^T tau_pin, M_ours = B^T M_pin B and
a_pin = B a_ours + Bdot v_ours.
"""

import numpy as np
import pytest

from rbdyn_ros.model.joints import JointType
from support.states import joint_slices
from support.trees import rotation

pin = pytest.importorskip("pinocchio", reason="pin is not installed")


def load(path, floating_base=False):
    """Load a URDF; mimic joints are ordinary ones, as Pinocchio does unless told otherwise."""
    if floating_base:
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    return pin.buildModelFromUrdf(str(path))


class Twin:
    """Pinocchio's model beside ours, at one state.

    Args:
        m, d: our Model and Data at some qpos and qvel.
        model: Pinocchio's.
    """

    def __init__(self, m, d, model):
        self.model, self.data = model, model.createData()
        self.q, self.B = pin.neutral(model), np.zeros((model.nv, m.nv))
        Bdot = np.zeros((model.nv, m.nv))
        for j, name in enumerate(m.jnt_names):
            theirs = model.joints[model.getJointId(name)]
            q, v = joint_slices(m, j)
            rows = slice(theirs.idx_v, theirs.idx_v + theirs.nv)
            self.q[theirs.idx_q : theirs.idx_q + theirs.nq] = _position(
                m.jnt_type[j], d.qpos[q], theirs.nq
            )
            self.B[rows, v], Bdot[rows, v] = _velocity(m.jnt_type[j], d.qpos[q], d.qvel[v])
        self.v = self.B @ d.qvel
        self.drift = Bdot @ d.qvel

    def mass_matrix(self):
        M = pin.crba(self.model, self.data, self.q)
        M = np.triu(M) + np.triu(M, 1).T  # only the upper triangle is promised
        return self.B.T @ M @ self.B

    def rnea(self, qacc):
        a = self.B @ qacc + self.drift
        return self.B.T @ pin.rnea(self.model, self.data, self.q, self.v, a)

    def aba(self, qfrc):
        tau = np.linalg.solve(self.B.T, qfrc)
        a = pin.aba(self.model, self.data, self.q, self.v, tau)
        return np.linalg.solve(self.B, a - self.drift)

    def frame_poses(self):
        """Return name -> (position, rotation) of the frame of every link."""
        pin.framesForwardKinematics(self.model, self.data, self.q)
        return {
            frame.name: (self.data.oMf[k].translation, self.data.oMf[k].rotation)
            for k, frame in enumerate(self.model.frames)
            if frame.type == pin.FrameType.BODY
        }


def _position(kind, q, nq):
    if kind == JointType.FREE:
        return np.concatenate([q[:3], q[4:], q[3:4]])
    if kind == JointType.HINGE and nq == 2:
        return np.array([np.cos(q[0]), np.sin(q[0])])
    assert len(q) == nq, f"no translation for joint type {kind} with {nq} positions"
    return q


def _velocity(kind, q, v):
    """Return the block of B and of its time derivative."""
    n = len(v)
    B, Bdot = np.eye(n), np.zeros((n, n))
    if kind == JointType.FREE:
        R = rotation(q[3:]).as_matrix()
        B[:3, :3] = R.T
        Bdot[:3, :3] = -np.cross(v[3:], R.T, axisb=0, axisc=0)  # dR^T/dt = -[w x] R^T
    return B, Bdot
