# SPDX-License-Identifier: Apache-2.0
"""The public functions of (m, d): they check their arguments and call engine kernels."""

import copyreg
import warnings

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import (
    check_mass_matrix,
    check_pair,
    check_vector,
    in_pieces,
    public,
    whole_steps,
)
from rbdyn_ros.dynamics.too_much import texts_of
from rbdyn_ros.engine import forward as _forward
from rbdyn_ros.engine.joints.ypr import NEAR_SINGULAR
from rbdyn_ros.engine.quantities import energy as _energy
from rbdyn_ros.engine.quantities import joint_forces as _joint_forces
from rbdyn_ros.engine.step import passive as _passive
from rbdyn_ros.engine.tree import crb as _crb
from rbdyn_ros.engine.tree import kinematics as _kinematics
from rbdyn_ros.engine.tree import rne as _rne
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.data import Data, restored
from rbdyn_ros.model.model import FEW_STEPS, Model, check_model

kinematics = public(_kinematics.kinematics)
com_pos = public(_kinematics.com_pos)
com_vel = public(_kinematics.com_vel)
passive = public(_passive.passive)
bias_force = public(_rne.bias_force)
rne = public(_rne.rne)
aba = public(_forward.aba)
energy = public(_energy.energy)
fwd_position = public(_forward.fwd_position)
fwd_velocity = public(_forward.fwd_velocity)
fwd_acceleration = public(_forward.fwd_acceleration)
forward = public(_forward.forward)
make_constraint = public(_forward.make_constraint)
joint_forces = public(_joint_forces.joint_forces)
forward_dynamics = public(_forward.forward_dynamics)
inverse = public(_forward.inverse)
inverse_with_xfrc = public(_forward.inverse_with_xfrc)

_step = public(_forward.step)
_crb_stage = public(_crb.crb)
_factor_m = public(_crb.factor_m)
_solve_ltdl = public(_crb.solve_ltdl)
_mul_m = public(_crb.mul_m)


def make_data(m: Model, key: str | int | None = None) -> Data:
    """Return a Data in its initial state: qpos0 or a keyframe of m, and zeros in all other fields.

    qpos0 is the zero position, even for a joint whose limits exclude it; a note in m.findings
    lists such joints. `rbdyn sim` starts them within their limits.

    Args:
        m: the Model.
        key: name or number of a keyframe, see m.key_names; None: qpos0.

    Raises:
        ModelError: m is not a Model, or the keyframe is unknown.
    """
    check_model(m, "make_data")
    d = Data(m)
    if key is not None:
        reset_data_keyframe(m, d, key)
    return d


def _unpickled(m: Model, buffer: Array) -> Data:
    return restored(m, buffer)


# unpickling finds the function by name and thereby imports the engine, which a Data needs
copyreg.pickle(Data, lambda d: (_unpickled, (d.model, d.buffer)))


def reset_data(m: Model, d: Data) -> None:
    """Reset a Data to its initial state: qpos0, and zeros in all other fields, including time."""
    check_pair(m, d)
    d.reset()


def reset_data_keyframe(m: Model, d: Data, key: str | int) -> None:
    """Reset a Data to the positions of a keyframe, and all other fields, including time, to zero.

    Args:
        m: the Model; m.key_names lists its keyframes, and m.key(name).qpos are the positions.
        d: the Data.
        key: name or number of the keyframe.

    Raises:
        ModelError: d was not made for m, or the keyframe is unknown.
    """
    check_pair(m, d)
    d.reset(m.key_qpos[m.key_id(key)])


def step(m: Model, d: Data, nstep: int = 1) -> None:
    """Advance d by nstep timesteps of m.opt.timestep; the loop is compiled.

    Afterwards qpos, qvel and time are those of the new state, while derived fields and qacc are
    those of the start of the last timestep, as in MuJoCo. One call with n steps and n calls with
    one step give the same bits.

    Each of these causes gives a RuntimeWarning, once for a Data:

    - a yaw-pitch-roll joint comes near its singularity;
    - contact forces often do not converge, or contacts do not fit in their list;
    - rigid contacts are too deep, or a spring is too stiff for the timestep;
    - a body on a free or ball joint rotates by more than half a radian in a timestep;
    - the energy more than doubles in the last timestep without a cause;
    - the state is no longer finite.

    Raises:
        ParameterError: nstep is not a whole number, 0 or more and less than 2^62.
        ModelError: d was not made for m.
        KeyboardInterrupt: within 0.1 s or eight timesteps after Ctrl-C, whichever is longer; d is
            at the end of a timestep.
    """
    if type(nstep) is not int or not 0 <= nstep <= FEW_STEPS:
        _many_steps(m, d, nstep)
        return
    if found := _step(m, d, nstep):
        _warn(m, d, found)


def _many_steps(m: Model, d: Data, nstep: int) -> None:
    nstep = whole_steps(nstep)
    check_pair(m, d, "step")
    found = 0

    def advance(n: int) -> None:
        nonlocal found
        found |= _step(m, d, n)

    if nstep <= m.steps_at_once:
        advance(nstep)
    else:
        in_pieces(advance, nstep, m.steps_at_once)
    if found:
        _warn(m, d, found, stacklevel=4)


_NEAR = (
    f"a yaw-pitch-roll joint is near its singularity, |cos(pitch)| < {NEAR_SINGULAR:g}, where "
    "its rates are huge and timesteps less accurate; d.nsingular counts them. A spherical joint "
    "has no singularity"
)
_UNSOLVED = (
    "the contact forces of more than a tenth of the timesteps have not converged, so friction was "
    "inexact in them; d.nunsolved counts them. Look for friction above 1, or take shorter "
    "timesteps"
)


def _warn(m: Model, d: Data, found: int, stacklevel: int = 3) -> None:
    """Give the warnings of `step`; warn only once per Data of contacts that do not fit."""
    texts = []
    if found & _forward.SINGULAR:
        texts.append(_NEAR)
    if found & _forward.UNSOLVED:
        texts.append(_UNSOLVED)
    if found & _forward.DROPPED and "full" not in vars(d):
        vars(d)["full"] = True
        texts.append(
            f"{d.ndropped} contacts do not fit in the list of {m.ncontact} and do not act; "
            "d.ndropped counts them. Use simpler geometries, or fewer of them"
        )
    texts += texts_of(m, d, found)
    for text in texts:
        message = f"'{m.name}', t = {d.time:.6g} s: {text}"
        warnings.warn(message, RuntimeWarning, stacklevel=stacklevel)


def crb(m: Model, d: Data) -> None:
    """Write crb and M by the composite-rigid-body algorithm. Call `com_pos` first.

    Raises:
        ModelError: the Model is too large to have M.
    """
    check_mass_matrix(m, d, "crb")
    _crb_stage(m, d)


def factor_m(m: Model, d: Data) -> None:
    """Write qLD and qLDiagInv, the L^T D L factors of M. Call `crb` first.

    Raises:
        ModelError: the Model is too large to have M.
    """
    check_mass_matrix(m, d, "factor_m")
    _factor_m(m, d)


def solve_m(m: Model, d: Data, x: Array, y: Array) -> None:
    """Write x = M^-1 y, both (nv,). Call `factor_m` first.

    Raises:
        ModelError: an array has the wrong shape or type, or M is too large.
    """
    check_mass_matrix(m, d, "solve_m")
    check_vector(y, m.nv)
    check_vector(x, m.nv, written=True)
    x[:] = y
    _solve_ltdl(m, d, x)


def mul_m(m: Model, d: Data, y: Array, x: Array) -> None:
    """Write y = M x, both (nv,). Call `crb` first.

    Raises:
        ModelError: an array has the wrong shape or type, the arrays overlap, or M is too large.
    """
    check_mass_matrix(m, d, "mul_m")
    check_vector(x, m.nv)
    check_vector(y, m.nv, written=True)
    if np.may_share_memory(x, y):
        raise ModelError(Finding("shared-vectors", "mul_m: x and y must not share memory"))
    _mul_m(m, d, x, y)
