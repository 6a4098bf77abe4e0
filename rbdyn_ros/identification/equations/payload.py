# SPDX-License-Identifier: Apache-2.0
"""Identify a payload of a known arm from the additional efforts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.identification.data.motion import Motion, dofs_of
from rbdyn_ros.identification.equations.inertia import bodies_of, change_of_frame
from rbdyn_ros.identification.equations.iterations import deviations, silent, solved
from rbdyn_ros.identification.equations.reduced import equations
from rbdyn_ros.identification.equations.residuals import Residuals, validate
from rbdyn_ros.identification.equations.solve import Prior
from rbdyn_ros.identification.equations.unknowns import unknowns_of
from rbdyn_ros.identification.equations.warnings import payload_warnings
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat

#: Weak prior of a payload: 1 kg at the origin of the link, with second moments of 5e-3 kg m^2.
EXPECTED = np.array([1.0, 0.0, 0.0, 0.0, 5e-3, 0.0, 5e-3, 0.0, 0.0, 5e-3])


@dataclass(frozen=True, slots=True, eq=False)
class PayloadEstimate:
    """A rigid body fixed to a link; its values are arguments of rb.with_payload.

    Attributes:
        link: name of the link.
        mass: mass of the body [kg].
        com: (3,) centre of mass in the frame of the link [m].
        inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about com, in the axes of the link [kg m^2].
        std: (10,) standard deviations of m, m c, and of Ixx Ixy Iyy Ixz Iyz Izz about the origin
            of the link; infinite where the motion does not determine them.
        com_std: (3,) upper bounds of the standard deviations of com, or infinite [m].
        condition: condition number of the equations, with columns scaled to length 1.
        friction: friction of all dofs.
        before: residuals of the motion without the payload.
        after: residuals with the payload.
        warnings: messages about the recording and the result.
    """

    link: str
    mass: float
    com: Array
    inertia: Array
    std: Array
    com_std: Array
    condition: float
    friction: Friction
    before: Residuals
    after: Residuals
    warnings: tuple[str, ...] = ()


def identify_payload(
    m: Model,
    motion: Motion,
    link: str | int,
    *,
    friction: Friction | None = None,
    smoothing: float = 0.01,
    strength: float = 0.01,
    rest: ArrayLike | None = None,
) -> PayloadEstimate:
    """Identify a rigid body that was fixed to a link while a motion was recorded.

    Args:
        m: the arm without the payload, as identified before.
        motion: motion with the payload.
        link: name or number of the link that carries the payload.
        friction: known friction of all dofs; None: it is identified, too.
        smoothing: see identify, for identified friction.
        strength: see identify; the prior is a ball of 1 kg at the origin of the link.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.

    Raises:
        ModelError: for the reasons of check_identifiable, or the link is unknown.
        ParameterError: no joint of the motion moves the link, the motion does not fit the Model,
            its efforts are all 0, its numbers are too large, or an argument is not allowed.
    """
    dofs, f = dofs_of(m, motion), m.frame_id(link)
    weight = finite("the strength", strength, above=0.0, element="")
    unknowns = unknowns_of(m, motion, dofs, friction, smoothing, (), rest)
    prior = Prior(EXPECTED[None], unknowns.positive, unknowns.scale)
    before = validate(m, unknowns.friction, motion, rest=rest)
    own = validate(m, Friction.of(m.nv), motion, rest=rest).predicted
    # unknowns.effort() already subtracts the known friction
    own -= m.dof_armature[dofs] * motion.qacc
    eqs = equations(m, unknowns, unknowns.effort() - own, at_link(m, f, dofs))
    if not eqs.effects()[:, :10].any():
        raise _not_carried(m.frame_names[f])

    def residuals(x: Array) -> Residuals:
        mass, com, inertia = (values[0] for values in bodies_of(x[None, :10]))
        loaded = with_payload(m, f, float(mass), com, as_six(inertia))
        return validate(loaded, unknowns.found(x[10:])[0], motion, rest=rest)

    x, sigma = solved(eqs, prior, weight, unknowns, residuals, silent)
    mass, com, inertia = (values[0] for values in bodies_of(x[None, :10]))
    std, number = deviations(eqs.weighted(sigma)[0], 10)
    after = residuals(x)
    return PayloadEstimate(
        link=m.frame_names[f],
        mass=float(mass),
        com=com,
        inertia=as_six(inertia),
        std=std[:10],
        com_std=(std[1:4] + np.abs(com) * std[0]) / mass,  # an upper bound for any correlation
        condition=number,
        friction=unknowns.found(x[10:])[0],
        before=before,
        after=after,
        warnings=tuple(payload_warnings(unknowns, float(mass), std[:10], number, after)),
    )


def at_link(m: Model, f: int, dofs: Ints) -> Array:
    """Return the map (N, 10) from parameters in a link frame to parameters of all bodies.

    Raises:
        ParameterError: none of the degrees of freedom (n,) moves the link.
    """
    body = above = int(m.frame_bodyid[f])
    moving = set(m.dof_bodyid[dofs].tolist())
    while above > 0 and above not in moving:
        above = int(m.body_parentid[above])
    if above == 0:
        raise _not_carried(m.frame_names[f])
    turn = np.zeros((10 * (m.nbody - 1), 10))
    R = np.asarray(quat_to_mat(m.frame_quat[f]))
    turn[10 * (body - 1) : 10 * body] = change_of_frame(R, m.frame_pos[f])
    return turn


def _not_carried(link: str) -> ParameterError:
    text = (
        f"no joint of the motion carries link '{link}', so a payload there has no effect; "
        "allowed are links that move"
    )
    return ParameterError(Finding("payload", text, "error", link))
