"""The text of a URDF with identified inertias and friction in the place of its own.

All else stays as it is, to the byte: comments, order, meshes, extensions of simulators.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.description.types import Inertial
from rbdyn_ros.description.urdf_files import guard, urdf
from rbdyn_ros.dynamics.toolbox.regressors import inertial_parameters
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.identification.encodings import encoding_of
from rbdyn_ros.identification.inertia import (
    bodies_of,
    change_of_frame,
    parameters_of,
    pseudo_inertia,
)
from rbdyn_ros.identification.motion import demand_identifiable
from rbdyn_ros.identification.spans import (
    Span,
    indentation,
    line_end,
    replaced,
    spans,
    with_attributes,
)
from rbdyn_ros.loading.load import load_urdf
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat

Array = NDArray[np.float64]
Edit = tuple[int, int, bytes]

STEP = b"  "  # of indentation


def patched_urdf(text: str, m: Model) -> str:
    """Return a URDF whose bodies, damping and Coulomb friction are those of a Model.

    The inertia of a body goes into the link its joint moves, less that of the links fixed to it,
    which keep their own. Where the rest could not be a rigid body (the body is identified as
    lighter than a tool that is fixed to it, say) these lose their `<inertial>`, and the link has
    the inertia of all. Bodies and joints that are as in the text stay untouched. A joint that
    follows another keeps its friction unless the joint it follows is identified as having less
    than that; then it has none. URDF has no place for rotor inertia.

    Args:
        text: of the URDF that m came from; xacro is to be expanded before.
        m: as identified.

    Returns:
        The text; load_urdf makes a Model with the masses, centres, inertias, dof_damping and
        dof_frictionloss of m of it.

    Raises:
        DescriptionError: the text is no URDF, with every error of the document.
        ModelError: as demand_identifiable.
        ParameterError: the text is of another robot than m, or is no text.
    """
    demand_identifiable(m)
    if not isinstance(text, str) or not urdf.is_text(text):
        raise _refused(f"the text of a URDF is needed, got {text!r:.80}")
    old = load_urdf(text, strict=False, mimic=m.nmimic > 0)
    for kind in ("body_names", "jnt_names", "frame_names"):
        if getattr(old, kind) != getattr(m, kind):
            raise _refused(f"the URDF is of another robot: its {kind} are not those of '{m.name}'")
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    document = text[start:].encode()
    parts = spans(document)
    inertials = {link.name: link.inertial for link in urdf.read_text(text, strict=False).links}
    edits = _inertia_edits(document, parts, inertials, old, m)
    edits += _friction_edits(document, parts, old, m)
    return text[:start] + replaced(document, edits).decode()


def patched_urdf_bytes(data: bytes, m: Model) -> bytes:
    """Return the bytes of a URDF file, patched as patched_urdf does.

    Encoding, byte order mark and ends of lines are those of the file.

    Args:
        data: of the file that m came from; xacro is to be expanded before.
        m: as identified.

    Raises:
        DescriptionError: the bytes are no URDF.
        ModelError: as demand_identifiable.
        ParameterError: as patched_urdf, or the bytes cannot be written again as they were.
    """
    if not isinstance(data, bytes):
        raise _refused(f"the bytes of a URDF are needed, got {data!r:.80}")
    text = guard.decode(data, "")
    mark, encoding = encoding_of(data, text)
    return mark + patched_urdf(text, m).encode(encoding)


def _inertia_edits(
    document: bytes,
    parts: Mapping[tuple[str, str], Span],
    inertials: Mapping[str, Inertial | None],
    old: Model,
    m: Model,
) -> list[Edit]:
    edits = []
    wanted, is_now = (inertial_parameters(r).reshape(-1, 10) for r in (m, old))
    for k in np.flatnonzero((wanted != is_now).any(axis=1)).tolist():
        name = m.body_names[k + 1]
        fixed = {
            m.frame_names[f]: _in_body(m, f, inertial)
            for f in np.flatnonzero(m.frame_bodyid == k + 1).tolist()
            if m.frame_names[f] != name and (inertial := inertials[m.frame_names[f]])
        }
        own = wanted[k] - sum(fixed.values(), np.zeros(10))
        if not _possible(own):
            own = wanted[k]
            spent = (parts["link", other].children["inertial"] for other in fixed)
            edits += [_without(document, span) for span in spent]
        edits.append(_with_inertial(document, parts["link", name], own))
    return edits


def _in_body(m: Model, f: int, inertial: Inertial) -> Array:
    """Return the parameters (10,) of a link, in its body."""
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
    """Return whether a rigid body has these parameters."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(x[None])[0])[0] > 0.0)


def _with_inertial(document: bytes, link: Span, x: Array) -> Edit:
    mass, com, matrix = (values[0] for values in bodies_of(x[None]))
    xx, yy, zz, xy, xz, yz = (repr(float(value)) for value in as_six(matrix))
    place = " ".join(repr(float(value)) for value in com)
    lines = [
        "<inertial>",
        f'  <origin xyz="{place}" rpy="0 0 0"/>',
        f'  <mass value="{float(mass)!r}"/>',
        f'  <inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/>',
        "</inertial>",
    ]
    before = link.children.get("inertial")
    return _put(document, link, before, "link", [line.encode() for line in lines])


def _put(document: bytes, parent: Span, before: Span | None, tag: str, lines: list[bytes]) -> Edit:
    """Return the edit that puts an element in the place of one, or first into its parent."""
    new_line = line_end(document)
    if before is not None:
        margin = new_line + indentation(document, before.begin)
        return before.begin, before.end, margin.join(lines)
    outside = new_line + indentation(document, parent.begin)
    margin = outside + STEP
    inner = margin + margin.join(lines)
    if not parent.empty:
        return parent.inside, parent.inside, inner
    opened = document[parent.begin : parent.end].removesuffix(b"/>").rstrip() + b">"
    return parent.begin, parent.end, opened + inner + outside + f"</{tag}>".encode()


def _without(document: bytes, span: Span) -> Edit:
    """Return the edit that deletes an element, and its line if nothing else is on it."""
    begin, margin = span.begin, indentation(document, span.begin)
    if document.endswith(b"\r\n", 0, begin - len(margin)):
        begin -= len(margin) + 2
    elif document.endswith(b"\n", 0, begin - len(margin)):
        begin -= len(margin) + 1
    return begin, span.end, b""


def _friction_edits(
    document: bytes, parts: Mapping[tuple[str, str], Span], old: Model, m: Model
) -> list[Edit]:
    edits = []
    for k, j in enumerate(m.dof_jntid.tolist()):
        if m.dof_damping[k] == old.dof_damping[k] and (
            m.dof_frictionloss[k] == old.dof_frictionloss[k]
        ):
            continue
        followers = [
            (abs(float(m.jnt_mimic_ratio[i])), parts["joint", m.jnt_names[i]])
            for i in np.flatnonzero((m.jnt_mimic >= 0) & (m.jnt_dofadr == k)).tolist()
        ]
        damping = float(m.dof_damping[k]) - sum(r * r * _value(s, "damping") for r, s in followers)
        friction = float(m.dof_frictionloss[k]) - sum(
            r * _value(s, "friction") for r, s in followers
        )
        if damping < 0.0 or friction < 0.0:
            damping, friction = float(m.dof_damping[k]), float(m.dof_frictionloss[k])
            rubbing = [span for _, span in followers if "dynamics" in span.children]
            edits += [_with_dynamics(document, span, 0.0, 0.0) for span in rubbing]
        span = parts["joint", m.jnt_names[j]]
        edits.append(_with_dynamics(document, span, damping, friction))
    return edits


def _value(joint: Span, name: str) -> float:
    dynamics = joint.children.get("dynamics")
    return float(dynamics.attributes.get(name, 0.0)) if dynamics else 0.0


def _with_dynamics(document: bytes, joint: Span, damping: float, friction: float) -> Edit:
    before = joint.children.get("dynamics")
    values = {"damping": repr(damping), "friction": repr(friction)}
    if before is None:
        tag = with_attributes(b"<dynamics/>", values)
        return _put(document, joint, None, "joint", [tag])
    tag = with_attributes(document[before.begin : before.inside], values)
    return before.begin, before.inside, tag


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("bad-patch", text, "error", "urdf"))
