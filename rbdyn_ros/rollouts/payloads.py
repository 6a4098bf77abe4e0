"""Payloads that differ from robot to robot, as parameters of a rollout."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.description.arrays import finite
from rbdyn_ros.description.inertials import INERTIA_ALLOWED, inertia_faults
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.payload import with_payload

Array = NDArray[np.float64]
Params = dict[str, dict[str, Array]]

_FULL = [0, 3, 4, 3, 1, 5, 4, 5, 2]  # xx yy zz xy xz yz -> the matrix, row by row
_SIX = [0, 4, 8, 1, 2, 5]


def payload_params(
    m: Model, frame: str | int, mass: ArrayLike, com: ArrayLike, inertia: ArrayLike = (0.0,) * 6
) -> Params:
    """Return the parameters of robots that carry a rigid body each, fixed to one of their links.

    A row of them is what with_payload makes of the Model.

    Args:
        m: the Model.
        frame: name or number of the link the payload is fixed to.
        mass: of the payload, (nbatch,) or one number [kg].
        com: its centre of mass in the frame, (nbatch, 3) or (3,) [m].
        inertia: Ixx Iyy Izz Ixy Ixz Iyz about its centre of mass, in the axes of the frame,
            (nbatch, 6) or (6,) [kg m^2].

    Raises:
        ModelError: for an unknown frame.
        ParameterError: for numbers that no rigid body has, or a link that is fixed to the world.
    """
    with_payload(m, frame, 0.0, (0.0, 0.0, 0.0))  # refuses the frame
    f = m.frame_id(frame)
    b = int(m.frame_bodyid[f])
    load, place, moment = _checked(mass, com, inertia)
    turn = quat_to_mat(m.frame_quat[f])
    place = m.frame_pos[f] + place @ turn.T
    moment = turn @ moment[:, _FULL].reshape(-1, 3, 3) @ turn.T
    own, own_place = m.body_mass[b], m.body_ipos[b]
    both = own + load
    share = np.divide(load, both, out=np.zeros_like(load), where=both > 0.0)
    # two bodies about their common centre: their own, and the reduced mass at their distance
    apart = place - own_place
    own_moment = m.body_fullinertia[b][_FULL].reshape(3, 3)
    square = np.einsum("ni,ni->n", apart, apart)[:, None, None] * np.eye(3)
    steiner = (own * share)[:, None, None] * (square - apart[:, :, None] * apart[:, None, :])
    name = m.body_names[b]
    whole = (own_moment + moment + steiner).reshape(-1, 9)[:, _SIX]
    return {
        "body_mass": {name: both},
        "body_ipos": {name: own_place + share[:, None] * apart},
        "body_fullinertia": {name: whole},
    }


def _checked(mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> tuple[Array, Array, Array]:
    """Return masses (n,), centres (n, 3), inertias (n, 6), of bodies that there can be."""
    given = {"mass": (mass, ()), "com": (com, (3,)), "inertia": (inertia, (6,))}
    found = [_rows(what, *each) for what, each in given.items()]
    count = max(map(len, found))
    for what, values in zip(given, found, strict=True):
        if len(values) not in (1, count):
            text = f"the {what} of the payload is of {len(values)} robots, another of {count}"
            raise _refused(f"{text}; allowed is one number of robots")
    masses, places, inertias = (np.broadcast_to(x, (count, *x.shape[1:])) for x in found)
    bad = np.flatnonzero(masses < 0.0)
    if bad.size:
        text = f"the mass of the payload of robot {bad[0]} is {masses[bad[0]]:g} kg"
        raise _refused(f"{text}; allowed are 0 or more")
    bad = np.flatnonzero((masses == 0.0) & inertias.any(axis=1))
    if bad.size:
        text = f"the payload of robot {bad[0]} has no mass, so it cannot have an inertia"
        raise _refused(f"{text}; allowed are zeros")
    for fault in inertia_faults(inertias):
        told = f"the inertia of the payload of robot {fault.row} is of the principal moments"
        raise _refused(f"{told} {fault.moments} kg m^2; allowed are {INERTIA_ALLOWED}")
    return masses, places, inertias


def _rows(what: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return rows of numbers, one for each robot, or one for all."""
    values = finite(f"the {what} of the payload", given)
    if values.shape == shape:
        return values.reshape(1, *shape)
    if values.ndim != len(shape) + 1 or values.shape[1:] != shape or len(values) == 0:
        told = "one number or (nbatch,)" if not shape else f"{shape} or (nbatch, {shape[0]})"
        text = f"the {what} of the payload has the shape {values.shape}; allowed are {told}"
        raise _refused(text)
    return values


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("payload", text, "error", "payload"))
