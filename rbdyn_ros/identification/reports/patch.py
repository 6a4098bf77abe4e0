# SPDX-License-Identifier: Apache-2.0
"""Write identified inertias and friction into a URDF.

Comments, the order of elements, other attributes and other elements are kept.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.description.reading import guard
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.description.urdf_files.document import Document, child_of, first_child, remove
from rbdyn_ros.description.urdf_files.schema import QUATERNION
from rbdyn_ros.dynamics.toolbox.regressors import inertial_parameters
from rbdyn_ros.errors import Finding, ParameterError, shown
from rbdyn_ros.identification.data.motion import check_identifiable
from rbdyn_ros.identification.equations.inertia import (
    bodies_of,
    change_of_frame,
    parameters_of,
    pseudo_inertia,
)
from rbdyn_ros.loading.load import load_urdf
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


def patched_urdf(text: str, m: Model) -> str:
    """Return a URDF with the bodies, damping and Coulomb friction of a Model.

    The link that a joint moves gets the inertia of its body minus the inertias of the links fixed
    to it, which stay as they are. If no rigid body could have the difference, for example because
    the body is identified as lighter than its tool, the fixed links lose their `<inertial>` and
    the moving link gets the whole inertia. Unchanged bodies and joints are not touched. A mimic
    joint keeps its friction unless its leader is identified with less friction; then the mimic
    joint has no friction. URDF cannot hold rotor inertias, offsets and Stribeck friction.

    Args:
        text: the URDF that m was loaded from, with xacro expanded.
        m: the identified Model.

    Returns:
        The URDF. Comments, order, other attributes and other elements are kept; quotes and white
        space inside tags may change. load_urdf gives a Model with the masses, centres of mass,
        inertias, dof_damping and dof_frictionloss of m.

    Raises:
        DescriptionError: the text is not a URDF, with every error of the document.
        ModelError: for the reasons of check_identifiable.
        ParameterError: the argument is not a string, or the URDF is of another robot.
    """
    check_identifiable(m)
    if not isinstance(text, str) or not urdf.is_text(text):
        raise _patch_error(f"expected the text of a URDF, got {shown(text)}")
    old = load_urdf(text, strict=False, mimic=m.nmimic > 0)
    for kind in ("body_names", "jnt_names", "frame_names"):
        if getattr(old, kind) != getattr(m, kind):
            raise _patch_error(f"the URDF is of another robot: its {kind} differ from '{m.name}'")
    inertials = {link.name: link.inertial for link in urdf.read_text(text, strict=False).links}
    document = Document(text)
    _patch_inertias(document, inertials, old, m)
    _patch_friction(document, old, m)
    return document.text()


def patched_urdf_bytes(data: bytes, m: Model) -> bytes:
    """Return the bytes of a URDF file, patched as patched_urdf does, in the file's encoding.

    Args:
        data: content of the file that m was loaded from, with xacro expanded.
        m: the identified Model.

    Raises:
        DescriptionError: the bytes are not a URDF.
        ModelError: for the reasons of check_identifiable.
        ParameterError: for the reasons of patched_urdf.
    """
    if not isinstance(data, bytes):
        raise _patch_error(f"expected the bytes of a URDF, got {shown(data)}")
    text = guard.decode(data, "")
    return patched_urdf(text, m).encode(guard.encoding_of(data), "xmlcharrefreplace")


def _patch_inertias(
    document: Document, inertials: Mapping[str, Inertial | None], old: Model, m: Model
) -> None:
    wanted, present = (inertial_parameters(r).reshape(-1, 10) for r in (m, old))
    for k in np.flatnonzero((wanted != present).any(axis=1)).tolist():
        name = m.body_names[k + 1]
        fixed = {
            m.frame_names[f]: _in_body(m, f, inertial)
            for f in np.flatnonzero(m.frame_bodyid == k + 1).tolist()
            if m.frame_names[f] != name and (inertial := inertials[m.frame_names[f]])
        }
        own = wanted[k] - sum(fixed.values(), np.zeros(10))
        if not _possible(own):
            own = wanted[k]
            for other in fixed:
                element = first_child(document.links[other], "inertial")
                assert element is not None  # the link of this body has an inertial
                remove(element)
        _write_inertial(document.links[name], own)


def _in_body(m: Model, f: int, inertial: Inertial) -> Array:
    """Return the inertial parameters (10,) of a link in its body frame."""
    x, J = inertial, np.zeros((1, 4, 4))
    xx, yy, zz, xy, xz, yz = x.inertia
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    J[0, :3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
    J[0, 3, 3] = x.mass
    in_link = change_of_frame(np.asarray(quat_to_mat(x.origin.quat)), np.asarray(x.origin.pos))
    in_body = change_of_frame(np.asarray(quat_to_mat(m.frame_quat[f])), m.frame_pos[f])
    parameters: Array = in_body @ in_link @ parameters_of(J)[0]
    return parameters


def _possible(x: Array) -> bool:
    """Return whether a rigid body can have these inertial parameters."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(x[None])[0])[0] > 0.0)


def _write_inertial(link: "Element", x: Array) -> None:
    mass, com, matrix = (values[0] for values in bodies_of(x[None]))
    xx, yy, zz, xy, xz, yz = as_six(matrix)
    inertial = child_of(link, "inertial")
    # child_of inserts a new element at the front, so a new <inertial> gets the usual order
    inertia, weight, origin = (child_of(inertial, tag) for tag in ("inertia", "mass", "origin"))
    origin.set("xyz", " ".join(repr(float(value)) for value in com))
    origin.set("rpy", "0 0 0")
    origin.attrib.pop(QUATERNION, None)
    _set(weight, value=mass)
    _set(inertia, ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)


def _patch_friction(document: Document, old: Model, m: Model) -> None:
    for k, j in enumerate(m.dof_jntid.tolist()):
        damping, friction = float(m.dof_damping[k]), float(m.dof_frictionloss[k])
        if (damping, friction) == (old.dof_damping[k], old.dof_frictionloss[k]):
            continue
        mimics = [
            (abs(float(m.jnt_mimic_ratio[i])), document.joints[m.jnt_names[i]])
            for i in np.flatnonzero((m.jnt_mimic >= 0) & (m.jnt_dofadr == k)).tolist()
        ]
        own_damping = damping - sum(r * r * _dynamics(e, "damping") for r, e in mimics)
        own_friction = friction - sum(r * _dynamics(e, "friction") for r, e in mimics)
        if own_damping < 0.0 or own_friction < 0.0:
            own_damping, own_friction = damping, friction
            for _, joint in mimics:
                if first_child(joint, "dynamics") is not None:
                    _set(child_of(joint, "dynamics"), damping=0.0, friction=0.0)
        dynamics = child_of(document.joints[m.jnt_names[j]], "dynamics")
        _set(dynamics, damping=own_damping, friction=own_friction)


def _dynamics(joint: "Element", name: str) -> float:
    dynamics = first_child(joint, "dynamics")
    return 0.0 if dynamics is None else float(dynamics.get(name, 0.0))


def _set(element: "Element", **values: float) -> None:
    for name, value in values.items():
        element.set(name, repr(float(value)))


def _patch_error(text: str) -> ParameterError:
    return ParameterError(Finding("bad-patch", text, "error", "urdf"))
