# SPDX-License-Identifier: Apache-2.0
"""Compute the parameters of a rollout whose robots carry different payloads."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.checks.inertials import as_matrix, as_six
from rbdyn_ros.dynamics.payload import (
    check_calculable,
    check_rigid_bodies,
    payload_frame,
    refused_payload,
)
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat

Params = dict[str, dict[str, Array]]


def payload_params(
    m: Model, frame: str | int, mass: ArrayLike, com: ArrayLike, inertia: ArrayLike = (0.0,) * 6
) -> Params:
    """Return the parameters of robots that each carry a rigid body, fixed to a link.

    A row equals, up to rounding, the arrays of the Model that with_payload returns.

    Args:
        m: the Model.
        frame: name or number of the link to which the payload is fixed.
        mass: mass of the payload, (nbatch,) or one number [kg].
        com: centre of mass of the payload in the frame, (nbatch, 3) or (3,) [m].
        inertia: Ixx Iyy Izz Ixy Ixz Iyz about the payload's centre of mass, in the axes of the
            frame, (nbatch, 6) or (6,) [kg m^2].

    Raises:
        ModelError: the frame is unknown.
        ParameterError: a rigid body cannot have these numbers, or the link is fixed to the world.
    """
    f = payload_frame(m, frame)
    b = int(m.frame_bodyid[f])
    load, com, inertia = _checked(mass, com, inertia)
    turn = quat_to_mat(m.frame_quat[f])
    with np.errstate(all="ignore"):  # check_calculable refuses an overflow
        place = m.frame_pos[f] + com @ turn.T
        place = np.where(
            load[:, None] > 0.0, place, m.body_ipos[b]
        )  # without mass the centre of mass has no effect
        both, centre, whole = _lumped(m, b, load, place, turn @ as_matrix(inertia) @ turn.T)
        # check the moments as with_payload does, so that both refuse the same payloads
        second = load[:, None] * place * place
    check_calculable(_called, both, centre, whole, second)
    name = m.body_names[b]
    return {
        "body_mass": {name: both},
        "body_ipos": {name: centre},
        "body_fullinertia": {name: as_six(whole)},
    }


def _lumped(
    m: Model, b: int, load: Array, place: Array, moment: Array
) -> tuple[Array, Array, Array]:
    """Return masses (n,), centres (n, 3) and inertias (n, 3, 3) of a body with payloads."""
    own, own_place = m.body_mass[b], m.body_ipos[b]
    both = own + load
    share = np.divide(load, both, out=np.zeros_like(load), where=both > 0.0)
    # the inertia of two bodies about their common centre of mass is the sum of both inertias plus
    # the inertia of the reduced mass at their distance
    apart = place - own_place
    square = np.einsum("ni,ni->n", apart, apart)[:, None, None] * np.eye(3)
    steiner = (own * share)[:, None, None] * (square - apart[:, :, None] * apart[:, None, :])
    centre = own_place + share[:, None] * apart
    return both, centre, as_matrix(m.body_fullinertia[b]) + moment + steiner


def _checked(mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> tuple[Array, Array, Array]:
    """Return masses (n,), centres (n, 3), inertias (n, 6); raise if a body cannot have them."""
    given = {"mass": (mass, ()), "com": (com, (3,)), "inertia": (inertia, (6,))}
    found = [_rows(what, *each) for what, each in given.items()]
    count = max(map(len, found))
    for what, values in zip(given, found, strict=True):
        if len(values) not in (1, count):
            text = f"the {what} of the payload has {len(values)} rows, another input has {count}"
            raise refused_payload(f"{text}; allowed is one row per robot, or one for all")
    masses, places, inertias = (np.broadcast_to(x, (count, *x.shape[1:])) for x in found)
    check_rigid_bodies(masses, inertias, _called)
    return masses, places, inertias


def _rows(what: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return one row per robot or one for all; raise ParameterError for other shapes."""
    values = finite(f"the {what} of the payload", given, None)
    if values.shape == shape:
        return values.reshape(1, *shape)
    if values.ndim != len(shape) + 1 or values.shape[1:] != shape or len(values) == 0:
        allowed = "one number or (nbatch,)" if not shape else f"{shape} or (nbatch, {shape[0]})"
        text = f"the {what} of the payload has the shape {values.shape}; allowed are {allowed}"
        raise refused_payload(text)
    return values


def _called(row: int) -> str:
    return f"the payload of robot {row}"
