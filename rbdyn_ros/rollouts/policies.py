"""Feedback laws for rollouts: from a state and a row of a reference to the joints' forces.

A law is traced, as the engine's kernels are, and runs as machine code. What it knows of the robot
is the Model that rollout is given, not the parameters in which its robots differ from that: so it
is with the controller of a real robot. It knows no passive forces, no contact and no constraints.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.engine import forward, integrate
from rbdyn_ros.engine.jit import select
from rbdyn_ros.engine.quantities import terms
from rbdyn_ros.errors import bad_argument
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.uncompiled import uncompiled

_GAINS = ("stiffness", "damping")


class Policy:
    """What the built-in laws have in common.

    The reference of a step is qpos, then qvel, then qacc wanted; what is left out at its end is
    zero. A joint without an actuator, such as that of a floating base, gets no force; positions
    are wanted of it all the same, and have no effect.

    Args:
        stiffness: gain of the positions: one number, (nv,), or for every robot a row (nbatch, nv)
            or (nbatch, 1). 0 or more.
        damping: gain of the velocities, likewise.
        limit: whether forces end at m.jnt_effort.

    Raises:
        ParameterError: a gain is negative or no number.
    """

    #: what may be wanted
    wants: tuple[str, ...] = ("qpos", "qvel")
    #: what it must know of the robot: more than its joints
    needs_bodies = True

    def __init__(self, stiffness: ArrayLike, damping: ArrayLike, limit: bool = False) -> None:
        self.gains = {
            name: _checked(name, gain)
            for name, gain in zip(_GAINS, (stiffness, damping), strict=True)
        }
        self.limit = bool(limit)

    def widths(self, m: Model) -> list[int]:
        """Return how long a reference may be."""
        sizes = [m.nq if name == "qpos" else m.nv for name in self.wants]
        return list(itertools.accumulate(sizes))

    def forces(self, m: Any, d: Any, reference: Objects, gains: Mapping[str, Objects]) -> Objects:
        """Return the forces (nv,) as symbols.

        Args:
            m: the Model, as kernels are traced on it.
            d: a Data whose time, qpos and qvel are symbols.
            reference: symbols.
            gains: by name, (nv,) symbols.
        """
        wanted = np.full(m.nq + 2 * m.nv, 0.0, object)
        wanted[: len(reference)] = reference
        e, de = np.full(m.nv, 0.0, object), wanted[m.nq : m.nq + m.nv] - d.qvel
        uncompiled(integrate.differentiate_pos)(m, e, 1.0, d.qpos, wanted[: m.nq])
        feedback = gains["stiffness"] * e + gains["damping"] * de
        forces = self._forces(m, d, wanted[m.nq + m.nv :], feedback)
        for k in range(m.nv):
            joint = m.dof_jntid[k]
            most = m.jnt_effort[joint] if self.limit else np.inf
            forces[k] = _limited(forces[k], most) if m.jnt_actuated[joint] else 0.0
        return forces

    def _forces(self, m: Any, d: Any, qacc: Objects, feedback: Objects) -> Objects:
        """Return the forces for an acceleration wanted and what feedback adds."""
        raise NotImplementedError


class PDPolicy(Policy):
    """K (qpos_d - qpos) + D (qvel_d - qvel): a spring and a damper in every joint.

    The difference of positions is that of differentiate_pos: right for every type of joint.

    Args:
        stiffness: K [N m/rad or N/m], see Policy.
        damping: D [N m s/rad or N s/m].
        limit: whether forces end at m.jnt_effort.
    """

    needs_bodies = False

    def _forces(self, m: Any, d: Any, qacc: Objects, feedback: Objects) -> Objects:  # noqa: ARG002
        return feedback


class PDGravityPolicy(Policy):
    """K (qpos_d - qpos) + D (qvel_d - qvel) + g.

    Args:
        stiffness: K [N m/rad or N/m], see Policy.
        damping: D [N m s/rad or N s/m].
        limit: whether forces end at m.jnt_effort.

    Source: Takegaki, Arimoto, A new feedback method for dynamic control of manipulators, 1981.
    """

    def _forces(self, m: Any, d: Any, qacc: Objects, feedback: Objects) -> Objects:  # noqa: ARG002
        gravity = np.full(m.nv, 0.0, object)
        uncompiled(terms.gravity_term)(m, d, gravity)
        return feedback + gravity


class ComputedTorquePolicy(Policy):
    """M (qacc_d + Kd (qvel_d - qvel) + Kp (qpos_d - qpos)) + C qvel + g.

    Args:
        stiffness: Kp [1/s^2], see Policy.
        damping: Kd [1/s]; 2 sqrt(Kp) is critical.
        limit: whether forces end at m.jnt_effort.

    Source: Luh, Walker, Paul, Resolved-acceleration control, 1980; RBDA section 5.1.
    """

    wants = ("qpos", "qvel", "qacc")

    def _forces(self, m: Any, d: Any, qacc: Objects, feedback: Objects) -> Objects:
        d.qacc[:] = qacc + feedback
        uncompiled(forward.inverse)(m, d)
        return np.array(d.qfrc_inverse)


def _checked(name: str, gain: ArrayLike) -> Array:
    values = finite(name, gain, None)
    if values.ndim > 2 or values.size == 0 or (values < 0.0).any():
        text = (
            f"{name} is {np.array2string(values, threshold=8)}; allowed are numbers of 0 or more: "
            "one, (nv,), (nbatch, nv) or (nbatch, 1)"
        )
        raise bad_argument(name, text)
    return values


def _limited(force: Any, most: float) -> Any:
    if not np.isfinite(most):
        return force
    return uncompiled(select)(force > most, most, uncompiled(select)(force < -most, -most, force))
