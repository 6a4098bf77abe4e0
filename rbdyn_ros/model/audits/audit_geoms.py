# SPDX-License-Identifier: Apache-2.0
"""Check the arrays of geometries of a Model that come from files or users."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import NamedArrays
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.geometries import MOST_BITS, MOST_HEIGHTS
from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.description.parts.triangles import MOST_TRIANGLES
from rbdyn_ros.model.audits.number_rules import endless_friction
from rbdyn_ros.model.geometry.geoms import END_CORNERS, NO_LINK, TERRAIN, GeomType
from rbdyn_ros.model.geometry.pushing import FACE_CORNERS

#: Allowed types of geometries of links, and of obstacles.
OF_LINKS = [kind for kind in GeomType if kind not in (GeomType.PLANE, *TERRAIN)]
OF_WORLD = list(GeomType)
#: Fields of bit masks with 31 bits.
MASKS = ("geom_contype", "geom_conaffinity")
#: Fields that hold counts of height fields.
FIELD_COUNTS = ("field_nrow", "field_ncol")
#: Number of corners that kernels expect of each type; a mesh has any number above 0.
CORNERS = {
    GeomType.PLANE: 0,
    GeomType.HFIELD: 0,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.CYLINDER: 2 * END_CORNERS,
    GeomType.BOX: 8,
    GeomType.TRIMESH: 0,
}
#: Number of sizes of each type; a plane and a mesh have no sizes.
SIZES = {
    GeomType.HFIELD: 2,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.CYLINDER: 2,
    GeomType.BOX: 3,
}
#: Upper bound of any length of a checked geometry [m].
LONGEST = 10.0 * BOUNDS["contact length"].high
_LENGTHS = ("geom_size", "geom_rbound")
#: Largest error of the orthogonality of a rotation.
TOLERANCE = 1e-9


def audit_geom_arrays(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for every invalid type, length, rotation and factor.

    Args:
        arrays: arrays of the right shapes; audit_arrays.py checks the indices.
        audit: receives the errors.
    """
    _audit_order(arrays, audit)
    _audit_sizes(arrays, audit)
    R = arrays["geom_mat"].reshape(-1, 3, 3)
    with np.errstate(all="ignore"):  # NaN is reported elsewhere
        apart = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(initial=0.0)
        turned = (np.linalg.det(R) > 0.0).all()
    if not (apart <= TOLERANCE and turned):
        wrong_array(audit, "geom_mat", "has a matrix that is not a rotation")
    if why := endless_friction(arrays):
        wrong_array(audit, "geom_friction", why)


def _audit_order(arrays: NamedArrays, audit: Audit) -> None:
    """Add errors if the geometries have a wrong order, body or type.

    Moving geometries must come first, and obstacles last.
    """
    types, bodies, frames = arrays["geom_type"], arrays["geom_bodyid"], arrays["geom_frameid"]
    fixed, free = bodies == 0, frames == NO_LINK
    if (np.diff(fixed.astype(np.int64)) < 0).any():
        wrong_array(audit, "geom_bodyid", "has a geometry of the world before a moving one")
    if (np.diff(free.astype(np.int64)) < 0).any():
        wrong_array(audit, "geom_frameid", "has an obstacle before a geometry of a link")
    known = (frames >= 0) & (frames < len(arrays["frame_bodyid"]))
    if bodies[free].any() or (arrays["frame_bodyid"][frames[known]] != bodies[known]).any():
        wrong_array(audit, "geom_bodyid", "must be the body of the link, or 0 for an obstacle")
    if not (np.isin(types[~free], OF_LINKS).all() and np.isin(types[free], OF_WORLD).all()):
        wrong_array(audit, "geom_type", "has an entry that is not an allowed geometry type")


def _audit_sizes(arrays: NamedArrays, audit: Audit) -> None:
    types = arrays["geom_type"]
    for name in _LENGTHS:
        if not ((arrays[name] >= 0.0) & (arrays[name] <= LONGEST)).all():
            wrong_array(audit, name, f"has a length outside 0 to {LONGEST:.0f} m")
    for kind, number in SIZES.items():
        if (arrays["geom_size"][types == kind, :number] == 0.0).any():
            wrong_array(audit, "geom_size", f"has a {_word(kind)} with a size of 0")
    corners = arrays["geom_vertnum"]
    for kind, number in CORNERS.items():
        if (corners[types == kind] != number).any():
            corner = "corner" if number == 1 else "corners"
            message = f"must give {number} {corner} to a {_word(kind)}"
            wrong_array(audit, "geom_vertnum", message)
    if (corners[types == GeomType.MESH] == 0).any():
        wrong_array(audit, "geom_vertnum", "must give corners to a mesh")


def _word(kind: GeomType) -> str:
    """Return the word for a type in messages."""
    words = {GeomType.HFIELD: "height field", GeomType.TRIMESH: "triangle mesh"}
    return words.get(kind, kind.name.lower())


def audit_geom_lists(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for lists of height fields, corners, pairs or faces that do not fit together.

    Args:
        arrays: arrays that have passed audit_geom_arrays, with counts that add up.
        audit: receives the errors.
    """
    _audit_fields(arrays, audit)
    _audit_triangles(arrays, audit)
    for name in MASKS:
        if ((arrays[name] < 0) | (arrays[name] > MOST_BITS)).any():
            wrong_array(audit, name, f"has a number outside 0 to {MOST_BITS}")
    number = arrays["geom_vertnum"]
    corners = np.repeat(np.repeat(number, number), arrays["vert_edgenum"])
    if ((arrays["edge_vert"] < 0) | (arrays["edge_vert"] >= corners)).any():
        wrong_array(audit, "edge_vert", "has a corner that is not of the same geometry")
    for name in ("exclude_geom", "push_geom"):
        pairs = arrays[name]
        if (pairs[:, 0] >= pairs[:, 1]).any():
            wrong_array(audit, name, "has a pair that is not ascending")
    _audit_pushing(arrays, audit)


def _audit_fields(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for height fields whose heights do not fit their rows and columns."""
    rows, columns = arrays["field_nrow"], arrays["field_ncol"]
    for name in FIELD_COUNTS:
        if ((arrays[name] < 2) | (arrays[name] > MOST_HEIGHTS)).any():
            wrong_array(audit, name, f"has a number outside 2 to {MOST_HEIGHTS}")
            return
    number = rows * columns
    if number.max(initial=0) > MOST_HEIGHTS or number.sum() != len(arrays["field_height"]):
        wrong_array(audit, "field_height", "has another length than rows times columns")
    if np.count_nonzero(arrays["geom_type"] == GeomType.HFIELD) != len(rows):
        wrong_array(audit, "field_nrow", "does not have one number per height field")


def _audit_triangles(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for triangle meshes whose triangles do not match their corners."""
    corners, triangles = arrays["trimesh_vertnum"], arrays["trimesh_facenum"]
    if ((triangles < 1) | (triangles > MOST_TRIANGLES)).any():
        wrong_array(audit, "trimesh_facenum", f"has a number outside 1 to {MOST_TRIANGLES}")
        return
    if np.count_nonzero(arrays["geom_type"] == GeomType.TRIMESH) != len(triangles):
        wrong_array(audit, "trimesh_facenum", "does not have one number per triangle mesh")
    if corners.sum() != len(arrays["trimesh_vert"]):
        wrong_array(audit, "trimesh_vertnum", "does not add up to the number of corners")
    if triangles.sum() != len(arrays["trimesh_face"]):
        wrong_array(audit, "trimesh_facenum", "does not add up to the number of triangles")
        return
    most, faces = np.repeat(corners, triangles)[:, None], arrays["trimesh_face"]
    if ((faces < 0) | (faces >= most)).any():
        wrong_array(audit, "trimesh_face", "has a corner that is not of the same mesh")


def _audit_pushing(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for pushing pairs (push_geom) that the kernels cannot process."""
    pairs, body = arrays["push_geom"], arrays["geom_bodyid"]
    order = pairs[:, 0] * len(body) + pairs[:, 1]
    if (np.diff(order) <= 0).any():
        wrong_array(audit, "push_geom", "is not ascending")
    flat = np.isin(arrays["geom_type"][pairs], (GeomType.PLANE, *TERRAIN))
    if flat.any() or (body[pairs[:, 0]] == body[pairs[:, 1]]).any():
        wrong_array(audit, "push_geom", "has a plane, terrain, or two geometries of one body")
    number = arrays["geom_facenum"]
    if (number[arrays["geom_type"] != GeomType.MESH] > 0).any():
        wrong_array(audit, "geom_facenum", "has faces of a geometry that is not a mesh")
    if (arrays["face_vertnum"] > FACE_CORNERS).any():
        wrong_array(audit, "face_vertnum", f"has a face of more than {FACE_CORNERS} corners")
    corners = np.repeat(np.repeat(arrays["geom_vertnum"], number), arrays["face_vertnum"])
    if (arrays["face_vert"] >= corners).any():
        wrong_array(audit, "face_vert", "has a corner that is not of the same geometry")


def wrong_array(audit: Audit, name: str, message: str) -> None:
    """Add an error about an array to `audit`."""
    audit.error("bad-array", name, None, f"the array {message}")
