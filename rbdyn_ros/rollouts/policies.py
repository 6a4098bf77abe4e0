# SPDX-License-Identifier: Apache-2.0
"""Feedback laws for rollouts: joint forces from a state and a row of a reference.

The laws are the kernels of dynamics.laws, traced and compiled. Like the controller of a real
robot, they use the Model given to rollout instead of each robot's true parameters. They ignore
passive forces, contact and constraints.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics import laws
from rbdyn_ros.dynamics.commanded import reason_passive
from rbdyn_ros.engine.compiler.jit import select
from rbdyn_ros.errors import bad_argument
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.uncompiled import uncompiled

_GAINS = ("stiffness", "damping")


class Policy:
    """Base class of the built-in laws.

    The reference of a step holds the target qpos, then qvel, then qacc. A shorter reference is
    extended by zeros. A joint without an actuator, such as a floating base, gets no force; its
    target is part of the reference, but has no effect.

    Args:
        stiffness: position gain, 0 or more: one number, (nv,), or one row per robot, (nbatch, nv)
            or (nbatch, 1).
        damping: velocity gain, in the same shapes.
        limit: whether forces are limited to m.jnt_effort.

    Raises:
        ParameterError: a gain is negative or not a number.
    """

    #: Parts of the reference, in order.
    wants: tuple[str, ...] = ("qpos", "qvel")
    #: True if the law depends on the bodies of the robot, not only on its joints.
    needs_bodies = True
    #: Kernel of (m, d, target, gains, effort), see dynamics.laws.
    kernel: Any = None

    def __init__(self, stiffness: ArrayLike, damping: ArrayLike, limit: bool = False) -> None:
        self.gains = {
            name: _checked(name, gain)
            for name, gain in zip(_GAINS, (stiffness, damping), strict=True)
        }
        self.limit = bool(limit)

    def widths(self, m: Model) -> list[int]:
        """Return the allowed lengths of a reference."""
        sizes = [m.nq if name == "qpos" else m.nv for name in self.wants]
        return list(itertools.accumulate(sizes))

    def forces(self, m: Any, d: Any, reference: Objects, gains: Mapping[str, Objects]) -> Objects:
        """Return the forces (nv,) as symbols.

        Args:
            m: a symbolic Model, for tracing.
            d: a Data whose time, qpos and qvel are symbols.
            reference: a row of the reference, as symbols.
            gains: symbols (nv,) by name.
        """
        padded = np.full(m.nq + 2 * m.nv, 0.0, object)
        padded[: len(reference)] = reference
        target = np.full((3, m.nq), 0.0, object)
        target[0] = padded[: m.nq]
        target[1, : m.nv], target[2, : m.nv] = padded[m.nq :].reshape(2, m.nv)
        forces = np.full(m.nv, 0.0, object)
        both = np.array([gains[name] for name in _GAINS], object)
        uncompiled(self.kernel)(m, d, target, both, forces)
        for k in range(m.nv):
            joint = m.dof_jntid[k]
            largest = m.jnt_effort[joint] if self.limit else np.inf
            forces[k] = 0.0 if reason_passive(m, joint) else _limited(forces[k], largest)
        return forces


class PDPolicy(Policy):
    """K (qpos_d - qpos) + D (qvel_d - qvel): a spring and a damper in every joint.

    differentiate_pos computes the position error, so the law is valid for every joint type.

    Args:
        stiffness: K [N m/rad or N/m], see Policy.
        damping: D [N m s/rad or N s/m].
        limit: whether forces are limited to m.jnt_effort.
    """

    needs_bodies = False
    kernel = staticmethod(laws.pd)


class PDGravityPolicy(Policy):
    """K (qpos_d - qpos) + D (qvel_d - qvel) + g.

    Args:
        stiffness: K [N m/rad or N/m], see Policy.
        damping: D [N m s/rad or N s/m].
        limit: whether forces are limited to m.jnt_effort.

    Source: Takegaki, Arimoto, A new feedback method for dynamic control of manipulators, 1981.
    """

    kernel = staticmethod(laws.pd_gravity)


class ComputedTorquePolicy(Policy):
    """M (qacc_d + Kd (qvel_d - qvel) + Kp (qpos_d - qpos)) + C qvel + g.

    Args:
        stiffness: Kp [1/s^2], see Policy.
        damping: Kd [1/s]; 2 sqrt(Kp) is critical.
        limit: whether forces are limited to m.jnt_effort.

    Source: Luh, Walker, Paul, Resolved-acceleration control, 1980; RBDA section 5.1.
    """

    wants = ("qpos", "qvel", "qacc")
    kernel = staticmethod(laws.computed_torque)


def _checked(name: str, gain: ArrayLike) -> Array:
    values = finite(name, gain, None, 0.0)
    if values.ndim > 2 or values.size == 0:
        text = (
            f"{name} has the shape {values.shape}; allowed are one number, (nv,), (nbatch, nv) "
            "and (nbatch, 1)"
        )
        raise bad_argument(name, text)
    return values


def _limited(force: Any, largest: float) -> Any:
    if not np.isfinite(largest):
        return force
    chosen = uncompiled(select)
    return chosen(force > largest, largest, chosen(force < -largest, -largest, force))
