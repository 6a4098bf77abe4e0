# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the dynamics and of a timestep, as kernels that are only traced.

The derivatives of rigid-body dynamics come from the toolbox, whose kernels need a third or less of
the operations of a differentiated trace. All other parts, such as passive forces, are
differentiated as traced.

Positions are differentiated along the coordinates of qvel, as in the toolbox.
"""

import copy
from typing import Any

import numpy as np

from rbdyn_ros.engine import forward
from rbdyn_ros.engine.constraints.share import share
from rbdyn_ros.engine.joints.manifold import joint_qvel
from rbdyn_ros.engine.quantities import derivatives as analytic
from rbdyn_ros.engine.step import integrate
from rbdyn_ros.engine.tree.aba import implicit_damping
from rbdyn_ros.engine.tree.crb import crb, fill_dense
from rbdyn_ros.engine.tree.rne import rne_acc
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.options import IMPLICIT_DAMPING, RK4
from rbdyn_ros.specialization.derivatives import Slopes, jacobian
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.uncompiled import uncompiled


def inverse_derivatives(m: Any, d: Any, out: Objects) -> None:
    """Write qfrc_inverse, and its derivatives by qpos, qvel and qacc, (3, nv, nv).

    The last derivative is M, except for a Model with gears, because gears carry a part of the
    forces.
    """
    along = _along_state(m, d)
    uncompiled(integrate.smooth_stages)(m, d)
    uncompiled(rne_acc)(m, d)
    if m.nefc > 0:
        uncompiled(share)(m, d)
    force = d.qfrc_inverse.copy()
    if m.nefc > 0:
        slopes = jacobian(_graph(d), force, along + _along_each(d.qacc))
        out[:] = slopes.reshape(m.nv, 3, m.nv).transpose(1, 0, 2)
    elif m.not_differentiable[0]:
        out[0], out[1] = _split(jacobian(_graph(d), force, along))
        uncompiled(crb)(m, d)
        uncompiled(fill_dense)(m, d, out[2])
    else:
        passive = jacobian(_graph(d), d.qfrc_passive, along)
        uncompiled(analytic.inverse_derivatives)(_rigid(m), d, out)
        out[:2] -= _split(passive)
    d.qfrc_inverse[:] = force


def forward_derivatives(m: Any, d: Any, out: Objects) -> None:
    """Write qacc, and its derivatives by qpos, qvel and the applied forces, (3, nv, nv)."""
    if m.not_differentiable[0]:
        along = _along_state(m, d) + _along_each(d.qfrc_applied)
        uncompiled(integrate.smooth_stages)(m, d)
        uncompiled(forward.aba)(m, d)
        slopes = jacobian(_graph(d), d.qacc, along)
        out[:] = slopes.reshape(m.nv, 3, m.nv).transpose(1, 0, 2)
    else:
        _accelerations(m, d, 0.0, out)


def step_derivatives(m: Any, d: Any, out: Objects) -> None:
    """Write A and B of one timestep side by side, (2 nv, 3 nv), with x+ = A x + B u.

    x holds changes of position, along the axes of qvel before and after the step, and changes of
    qvel; u holds changes of qfrc_applied. The step is linearised at the state in d, and advances
    qpos and qvel.
    """
    nv = m.nv
    m.opt.check_integrator()
    drifts = m.nflight > 0 and m.opt.integrator_id == IMPLICIT_DAMPING
    if m.not_differentiable[0] or drifts:
        along = _along_state(m, d) + _along_each(d.qfrc_applied)
        uncompiled(forward.substep)(m, d)
    elif m.opt.integrator_id == RK4 or m.nypr > 0:
        along = _along_trials(m, d)
    else:
        out[:] = _euler(m, d)
        return
    out[:nv] = _turned_back(m, d.qpos, jacobian(_graph(d), d.qpos, along))
    out[nv:] = jacobian(_graph(d), d.qvel, along)


class _WatchedData:
    """A Data that records the states of a step and the accelerations that led to them.

    A step sets the time last when it moves to a new state (engine/step/integrate.py). At that
    moment qpos and qvel are the new state, and qacc_step is the acceleration that led to it.
    """

    def __init__(self, d: Any) -> None:
        self.__dict__["d"], self.__dict__["moves"] = d, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.d, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.d, name, value)
        if name == "time":
            self.moves.append((_state(self.d), self.d.qacc_step.copy()))


def _along_trials(m: Any, d: Any) -> list[Slopes]:
    """Take a step with given accelerations; return the directions of state and forces.

    State n + 1 depends on the start and on the accelerations in the states 0 to n. The derivative
    of each acceleration follows as soon as the derivative of its state is known: d qacc = (d qacc
    / d qpos) dq + (d qacc / d qvel) dv + d qacc / d qfrc_applied. So the operations between states
    are differentiated as traced, and the dynamics by formulas.
    """
    graph, nv = _graph(d), m.nv
    along = _along_state(m, d) + _along_each(d.qfrc_applied)
    watched, forces, start = _WatchedData(d), d.qfrc_applied.copy(), _state(d)
    uncompiled(forward.substep)(m, watched)
    states = [start, *(state for state, _ in watched.moves)]
    dq: Any = np.eye(nv, 3 * nv)
    slopes = np.full((3, nv, nv), 0.0, object)
    for n in range(_number_of_trials(watched)):
        _put(d, states[n])
        if n > 0:
            dq = _turned_back(m, d.qpos, jacobian(graph, d.qpos, along))
        dv = jacobian(graph, d.qvel, along)
        d.qfrc_applied[:] = forces
        _accelerations(m, d, m.opt.timestep, slopes)
        rates = slopes[0] @ dq + slopes[1] @ dv
        rates[:, 2 * nv :] += slopes[2]
        _, qacc = watched.moves[n]
        for k, direction in enumerate(along):
            direction.update({a.number: rates[i, k] for i, a in enumerate(qacc)})
    _put(d, states[-1])
    return along


def _number_of_trials(watched: _WatchedData) -> int:
    """Return the number of states in which accelerations were computed.

    An Euler step sets the time once. A Runge-Kutta step sets it for each of its three trial
    states, back to the start, and forward by the whole step: five times for four accelerations.
    """
    return max(1, len(watched.moves) - 1)


def _state(d: Any) -> tuple[Any, Objects, Objects]:
    return d.time, d.qpos.copy(), d.qvel.copy()


def _put(d: Any, state: tuple[Any, Objects, Objects]) -> None:
    d.time, d.qpos[:], d.qvel[:] = state


def _euler(m: Any, d: Any) -> Objects:
    """Take an Euler step; return the derivatives of its end by start and forces, (2 nv, 3 nv).

    Keep this function consistent with engine/step/integrate.py: it is the same step, for robots
    without constraints and without bodies in flight.
    """
    h, nv = m.opt.timestep, m.nv
    by_position, slopes = along_positions(m, d), np.full((3, nv, nv), 0.0, object)
    _accelerations(m, d, h, slopes)
    # v+ = v + h a, then q+ = q (+) h v+
    dv = np.concatenate(list(slopes), axis=1) * h
    dv[:, nv : 2 * nv] += np.eye(nv)
    d.qvel[:] = d.qvel + d.qacc * h
    held = {v.number: 0.0 for v in d.qvel}
    along = [{**held, **direction} for direction in by_position + _along_each(d.qvel)]
    uncompiled(integrate.integrate_pos)(m, d.qpos, d.qvel, h)
    first, then = _columns(jacobian(_graph(d), d.qpos, along), nv)
    dq = _turned_back(m, d.qpos, then) @ dv
    dq[:, :nv] += _turned_back(m, d.qpos, first)
    return np.concatenate([dq, dv])


def _accelerations(m: Any, d: Any, step: Any, out: Objects) -> None:
    """Write qacc, and its derivatives by qpos, qvel and the applied forces, (3, nv, nv).

    In a timestep of length `step` [s], damping D is implicit:
    (M + step D) qacc = applied + passive - bias. This is the equation of a robot without passive
    forces but with more armature, for which the applied forces change by d passive - step dD qacc.
    """
    graph, along = _graph(d), _along_state(m, d)
    uncompiled(integrate.smooth_stages)(m, d)
    damping = d.dof_viscosity * uncompiled(implicit_damping)(m, step)
    changes = jacobian(graph, d.qfrc_passive, along), jacobian(graph, damping, along)
    d.qfrc_applied[:] = d.qfrc_applied + d.qfrc_passive
    uncompiled(analytic.forward_derivatives)(_rigid(m, damping), d, out)
    late = changes[0] - d.qacc[:, None] * changes[1]
    for k, change in enumerate(_columns(late, m.nv)):
        out[k] += out[2] @ change


def _rigid(m: Any, armature: Any = 0.0) -> Any:
    """Return a Model without passive forces and with more armature."""
    bare = copy.copy(m)
    bare.opt = copy.copy(m.opt)
    bare.opt.passive = 0
    bare.dof_armature = m.dof_armature + armature
    return bare


def _graph(d: Any) -> Any:
    return d.time.graph  # take the graph from the time, because qpos may be empty


def _along_state(m: Any, d: Any) -> list[Slopes]:
    """Return the directions of positions and of velocities; all other numbers are constant."""
    held = {symbol.number: 0.0 for symbol in (*d.qpos, *d.qvel)}
    return [{**held, **direction} for direction in along_positions(m, d) + _along_each(d.qvel)]


def along_positions(m: Any, d: Any) -> list[Slopes]:
    """Return directions along the coordinates of qvel: the rate of qpos per unit velocity."""
    directions: list[Slopes] = []
    for unit in np.eye(m.nv):
        rate = np.full(m.nq, 0.0, object)
        uncompiled(integrate.qpos_dot)(m, d.qpos, unit.astype(object), rate)
        directions.append({q.number: slope for q, slope in zip(d.qpos, rate, strict=True)})
    return directions


def _along_each(symbols: Objects) -> list[Slopes]:
    return [{symbol.number: 1.0} for symbol in symbols]


def _columns(slopes: Objects, width: int) -> list[Objects]:
    return [slopes[:, :width], slopes[:, width:]]


def _split(slopes: Objects) -> Objects:
    """Split derivatives by positions and by velocities, (nv, 2 nv), into (2, nv, nv)."""
    return np.stack(_columns(slopes, len(slopes)))


def _turned_back(m: Any, qpos: Objects, rates: Objects) -> Objects:
    """Return the velocities (nv, any) for rates of positions (nq, any), by inverting qpos_dot."""
    velocities = np.full((m.nv, rates.shape[1]), 0.0, object)
    for k in range(rates.shape[1]):
        for j in range(m.njnt):
            if m.jnt_class[j] == JointClass.FREE:
                uncompiled(joint_qvel)(m, j, qpos, rates[:, k], velocities[:, k])
    return velocities
