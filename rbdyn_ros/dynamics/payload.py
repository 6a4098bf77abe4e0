# SPDX-License-Identifier: Apache-2.0
"""Payloads: the Model of a robot with a rigid body fixed to one of its links."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.checks.inertials import as_six, inertia_faults
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.model import Model, with_arrays
from rbdyn_ros.model.tree.bodies import principal
from rbdyn_ros.model.tree.lumping import Body, Placement, lumped_inertia
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat

#: Function that returns a payload's name for messages, from its row.
Called = Callable[[int], str]


def with_payload(
    m: Model, frame: str | int, mass: float, com: ArrayLike, inertia: ArrayLike = (0.0,) * 6
) -> Model:
    """Return the Model of the robot with a rigid body fixed to one of its links.

    The new Model has the sizes, names, data layout and user functions of m, and a copy of its
    options. dof_inertia0 and geom_mass0 do not change, so limits and contacts keep their
    stiffness. For several payloads, call the function for each payload with the last result.

    Args:
        m: the Model; it does not change.
        frame: name or number of the link to which the payload is fixed.
        mass: mass of the payload [kg]; with 0 the Model is equal to m.
        com: (3,) centre of mass of the payload in the frame [m].
        inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about the payload's centre of mass, in the axes of
            the frame [kg m^2].

    Raises:
        ModelError: the frame is unknown.
        ParameterError: a rigid body cannot have these numbers, or the link is fixed to the world.
    """
    f = payload_frame(m, frame)
    body, load = int(m.frame_bodyid[f]), _rigid_body(mass, com, inertia)
    arrays = {field.name: getattr(m, field.name) for field in MODEL_FIELDS}
    if load.mass > 0.0:
        place = Placement(body, m.frame_pos[f], quat_to_mat(m.frame_quat[f]))
        arrays |= _loaded(m, body, load, place)
    return with_arrays(m, arrays, weighs=())


def payload_frame(m: Model, frame: str | int) -> int:
    """Return the number of the link that a payload is fixed to.

    Raises:
        ModelError: the frame is unknown.
        ParameterError: the link is fixed to the world.
    """
    f = m.frame_id(frame)
    if m.frame_bodyid[f] == 0:
        text = (
            f"link '{m.frame_names[f]}' is fixed to the world, so a payload there changes nothing"
            "; allowed are links that move"
        )
        raise ParameterError(Finding("payload", text, "error", m.frame_names[f]))
    return f


def _rigid_body(mass: object, com: object, inertia: object) -> Inertial:
    """Return the payload as an Inertial; raise ParameterError if it is not a rigid body."""
    kilograms = finite(
        "the mass of the payload", mass, allowed="a finite number of kg, 0 or more", element=""
    )
    x, y, z = finite("the centre of mass of the payload", com, (3,), element="").tolist()
    moments = finite("the inertia of the payload", inertia, (6,), element="").tolist()
    xx, yy, zz, xy, xz, yz = moments
    six = (xx, yy, zz, xy, xz, yz)
    check_rigid_bodies(np.array([kilograms]), np.array([six]), _alone)
    return Inertial(kilograms, Pose((x, y, z)), six)


def check_rigid_bodies(masses: Array, inertias: Array, called: Called) -> None:
    """Raise ParameterError for the first payload that is not a rigid body.

    Args:
        masses: (n,) masses [kg].
        inertias: (n, 6) xx yy zz xy xz yz [kg m^2].
        called: function that returns a payload's name from its row.
    """
    for row in np.flatnonzero(masses < 0.0).tolist():
        text = f"the mass of {called(row)} is {masses[row]:g} kg; it must not be negative"
        raise refused_payload(text)
    for row in np.flatnonzero((masses == 0.0) & inertias.any(axis=1)).tolist():
        text = f"{called(row)} has no mass, so it cannot have an inertia; allowed are zeros"
        raise refused_payload(text)
    for fault in inertia_faults(inertias):
        name = called(fault.row)
        found = f"the inertia of {name} has the principal moments {fault.moments} kg m^2"
        if fault.negative:
            raise refused_payload(f"{found}; none may be negative")
        raise refused_payload(f"{found}; the largest must not exceed the sum of the other two")


def check_calculable(called: Called, *results: Array) -> None:
    """Raise ParameterError for the first row in which a result, (n, ...), is not finite."""
    finite = [np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in results]
    for row in np.flatnonzero(~np.logical_and.reduce(finite)).tolist():
        text = f"mass, position and inertia of {called(row)} are too large to calculate with"
        raise refused_payload(text)


def refused_payload(text: str) -> ParameterError:
    """Return the error for a payload with a given text."""
    return ParameterError(Finding("payload", text, "error", "payload"))


def _alone(row: int) -> str:  # noqa: ARG001
    return "the payload"


def _loaded(m: Model, body: int, load: Inertial, place: Placement) -> dict[str, np.ndarray]:
    """Return the arrays that change when a load is fixed to a body at a placement."""
    own = Inertial(
        float(m.body_mass[body]), Pose(m.body_ipos[body]), tuple(m.body_fullinertia[body])
    )
    at_body = Placement(body, np.zeros(3), np.eye(3))
    both = Body(m.body_names[body], at_body, None, parts=[(own, at_body), (load, place)])
    with np.errstate(all="ignore"):  # check_calculable refuses an overflow
        mass, com, matrix = lumped_inertia(both)
    check_calculable(_alone, np.array([mass]), com[None], matrix[None])
    moments, axes = principal(matrix[None])
    rows = {
        "body_mass": mass,
        "body_ipos": com,
        "body_iquat": mat_to_quat(axes[0]),
        "body_imat": axes[0].reshape(9),
        "body_inertia": moments[0],
        "body_fullinertia": as_six(matrix),
    }
    arrays = {name: getattr(m, name).copy() for name in (*rows, "body_subtreemass")}
    for name, row in rows.items():
        arrays[name][body] = row
    above = body
    while above > 0:
        arrays["body_subtreemass"][above] += load.mass
        above = int(m.body_parentid[above])
    arrays["body_subtreemass"][0] += load.mass
    return arrays
