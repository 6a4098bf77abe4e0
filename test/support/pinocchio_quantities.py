# SPDX-License-Identifier: Apache-2.0
"""Compute the results of the dynamics toolbox by Pinocchio, in our joint coordinates.

With v_pin = B v_ours, a matrix X that maps velocities to forces becomes B^T X B. Derivatives also
need the derivative dB[:, :, k] of B along dof k. Pinocchio's velocities are [linear; angular].
"""

import functools

import numpy as np

from rbdyn_ros.model.declared.joints import JointType
from support import states
from support.differences import derivative
from support.pinocchio_twin import Twin, _translated, pin

REFERENCES = {
    "world": pin.WORLD,
    "local": pin.LOCAL,
    "local_world_aligned": pin.LOCAL_WORLD_ALIGNED,
}


def swapped(X):
    """Return X with its rows [linear; angular] in the order [angular; linear]."""
    return np.concatenate([X[3:], X[:3]])


def whole(upper):
    """Return the symmetric matrix with this upper triangle; Pinocchio fills no other entries."""
    return np.triu(upper) + np.triu(upper, 1).T


class Quantities(Twin):
    """The quantities of the toolbox, computed by Pinocchio, in our coordinates."""

    def __init__(self, m, d, model):
        super().__init__(m, d, model)
        self.m, self.qpos, self.qvel = m, d.qpos.copy(), d.qvel.copy()
        self.a = self.B @ d.qacc + self.drift

    def ours(self, function, *arguments):
        """Return the generalised forces of a function of Pinocchio in our coordinates."""
        return self.B.T @ function(self.model, self.data, self.q, *arguments)

    # terms

    def coriolis_matrix(self):
        C = pin.computeCoriolisMatrix(self.model, self.data, self.q, self.v).copy()
        return self.B.T @ (C @ self.B + self.their_mass() @ self.B_dot)

    def their_mass(self):
        return whole(pin.crba(self.model, self.data, self.q))

    def inverse_mass_matrix(self):
        X = whole(pin.computeMinverse(self.model, self.data, self.q))
        return np.linalg.solve(self.B, np.linalg.solve(self.B, X).T)

    # frames

    def frame(self, name):
        return self.model.getFrameId(name, pin.FrameType.BODY)

    def jacobian(self, name, reference):
        where = REFERENCES[reference]
        return swapped(
            pin.computeFrameJacobian(self.model, self.data, self.q, self.frame(name), where)
            @ self.B
        )

    def jacobian_dot(self, name, reference):
        frame, where = self.frame(name), REFERENCES[reference]
        J = pin.computeFrameJacobian(self.model, self.data, self.q, frame, where).copy()
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q, self.v)
        pin.updateFramePlacements(self.model, self.data)
        rate = pin.getFrameJacobianTimeVariation(self.model, self.data, frame, where)
        return swapped(rate @ self.B + J @ self.B_dot)

    def frame_motion(self, name, reference):
        """Return the velocity and acceleration (6,) of a frame."""
        frame, where = self.frame(name), REFERENCES[reference]
        pin.forwardKinematics(self.model, self.data, self.q, self.v, self.a)
        velocity = pin.getFrameVelocity(self.model, self.data, frame, where)
        aligned = reference == "local_world_aligned"
        get = pin.getFrameClassicalAcceleration if aligned else pin.getFrameAcceleration
        acceleration = get(self.model, self.data, frame, where)
        return swapped(velocity.vector), swapped(acceleration.vector)

    # centre of mass and momentum

    def joint(self, body):
        """Return Pinocchio's number of the joint that carries our body."""
        return self.model.getJointId(self.m.jnt_names[body - 1]) if body else 0

    def com(self, body=0):
        """Return a subtree's centre of mass in the world, its velocity and its Jacobian."""
        number = self.joint(body)
        J = pin.jacobianSubtreeCenterOfMass(self.model, self.data, self.q, number).copy()
        pin.centerOfMass(self.model, self.data, self.q, self.v, True)
        place = self.data.oMi[number]
        velocity = place.rotation @ self.data.vcom[number]
        return place.act(self.data.com[number]), velocity, J @ self.B

    def momentum(self):
        """Return the momentum (6,), its Jacobian (6, nv), and its time derivative at qacc = 0."""
        A = pin.ccrba(self.model, self.data, self.q, self.v).copy()
        h = self.data.hg.vector.copy()
        rate = pin.dccrba(self.model, self.data, self.q, self.v).copy()
        return swapped(h), swapped(A @ self.B), swapped(rate @ self.v + A @ self.drift)

    # regressors

    def columns(self):
        """Return the index of each of our inertial parameters in Pinocchio's parameters."""
        joints = [self.joint(body) - 1 for body in range(1, self.m.nbody)]
        return np.concatenate([10 * j + np.arange(10) for j in joints] or [np.zeros(0)]).astype(
            int
        )

    def parameters(self):
        return np.concatenate(
            [inertia.toDynamicParameters() for inertia in list(self.model.inertias)[1:]]
            or [np.zeros(0)]
        )

    # derivatives

    @functools.cached_property
    def slopes(self):
        """Return differences for dB/dq (nv, nv, nv), d drift/dq and d drift/dv (nv, nv)."""
        m, n = self.m, self.model.nv
        dB, dq, dv = np.zeros((n, m.nv, m.nv)), np.zeros((n, m.nv)), np.zeros((n, m.nv))
        for j, name in enumerate(m.jnt_names):
            if m.jnt_dofnum[j] < 3 or m.jnt_type[j] == JointType.YPR:
                continue  # B of this joint is constant
            theirs = self.model.joints[self.model.getJointId(name)]
            rows = slice(theirs.idx_v, theirs.idx_v + theirs.nv)
            q, v = states.joint_slices(m, j)
            kind, turned_round = JointType(m.jnt_type[j]), m.jnt_reversed[j]
            dB[rows, v, v], dq[rows, v], dv[rows, v] = _joint_slopes(
                kind, turned_round, self.qpos[q], self.qvel[v], theirs.nq
            )
        return dB, dq, dv

    @property
    def B_dot(self):
        return self.slopes[0] @ self.qvel

    def inverse_derivatives(self, qacc):
        """Return the derivatives of tau = B^T tau_pin(q, B v, B qacc + drift) by q, v and qacc."""
        dB, drift_q, drift_v = self.slopes
        model, data = self.model, self.data
        tau = pin.rnea(model, data, self.q, self.v, self.a).copy()
        by_q, by_v, M = pin.computeRNEADerivatives(model, data, self.q, self.v, self.a)
        M = whole(M)
        dq = by_q @ self.B + by_v @ _along(dB, self.qvel) + M @ (_along(dB, qacc) + drift_q)
        dq = self.B.T @ dq + np.einsum("ijk,i->jk", dB, tau)
        return dq, self.B.T @ (by_v @ self.B + M @ drift_v), self.B.T @ M @ self.B

    def forward_derivatives(self, qfrc):
        """Return the derivatives of qacc in B qacc + drift = a_pin(q, B v, B^-T qfrc)."""
        dB, drift_q, drift_v = self.slopes
        model, data = self.model, self.data
        tau = np.linalg.solve(self.B.T, qfrc)
        a = pin.aba(model, data, self.q, self.v, tau).copy()
        qacc = np.linalg.solve(self.B, a - self.drift)
        by_q, by_v, X = pin.computeABADerivatives(model, data, self.q, self.v, tau)
        X = whole(X)
        turned = np.linalg.solve(self.B.T, np.einsum("ijk,i->jk", dB, tau))
        dq = by_q @ self.B + by_v @ _along(dB, self.qvel) - X @ turned
        dq -= _along(dB, qacc) + drift_q
        solved = [dq, by_v @ self.B - drift_v, np.linalg.solve(self.B, X).T]
        return [np.linalg.solve(self.B, matrix) for matrix in solved]


def _joint_slopes(kind, is_reversed, q, v, nq):
    """Return the derivatives of one joint's block of B by q, and of its drift by q and v."""

    def by_position(unit):
        def at(s):
            moved = states.moved(kind, q, s * unit)
            _, block, drift = _translated(kind, is_reversed, moved, v, nq)
            return np.column_stack([block, drift])

        return derivative(at)

    def by_velocity(unit):
        return derivative(lambda s: _translated(kind, is_reversed, q, v + s * unit, nq)[2])

    units = np.eye(len(v))
    both = np.stack([by_position(unit) for unit in units], -1)
    return both[:, :-1], both[:, -1], np.stack([by_velocity(unit) for unit in units], -1)


def _along(dB, x):
    """Return the derivative of B x by every dof, at constant x."""
    return np.einsum("ijk,j->ik", dB, x)
