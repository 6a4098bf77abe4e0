"""Audit the arrays of geometries and obstacles of a Model from outside."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Ints, NamedArrays
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.checks.bounds import BOUNDS
from rbdyn_ros.description.checks.geometries import MOST_BITS, MOST_HEIGHTS
from rbdyn_ros.model.geometries import FACE_CORNERS
from rbdyn_ros.model.geoms import RIM, GeomType

#: Fields of types, and their allowed types.
GEOM_TYPES: dict[str, list[GeomType]] = {
    "geom_type": [kind for kind in GeomType if kind > GeomType.HFIELD],
    "obstacle_type": [GeomType.PLANE, GeomType.HFIELD, GeomType.SPHERE, GeomType.BOX],
    "geom_type_all": list(GeomType),
}
#: Fields of 31 bits.
MASKS = ("geom_contype_all", "geom_conaffinity_all")
#: Counts of height fields.
FIELD_COUNTS = ("field_nrow", "field_ncol")
#: Number of corners of each type, on which kernels rely; a mesh has any number.
CORNERS = {
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.CYLINDER: 2 * RIM,
    GeomType.BOX: 8,
}
#: Number of sizes of each type; a plane and a mesh have none.
SIZES = {
    GeomType.HFIELD: 2,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.CYLINDER: 2,
    GeomType.BOX: 3,
}
#: More than any length of a checked geometry [m].
LONGEST = 10.0 * BOUNDS["contact length"].high
_LENGTHS = (
    *("geom_size", "geom_rbound", "geom_radius", "obstacle_size"),
    *("geom_size_all", "geom_rbound_all"),
)
_ROTATIONS = ("geom_mat", "obstacle_mat", "geom_mat_all")
#: Rotations are orthogonal to better than this.
TOLERANCE = 1e-9


def audit_geom_arrays(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for every invalid type, length, rotation and factor.

    Args:
        arrays: of the right shapes; audit_arrays.py audits the indices.
        audit: receives the errors.
    """
    for name, kinds in GEOM_TYPES.items():
        if not np.isin(arrays[name], kinds).all():
            wrong_array(audit, name, "has an entry that is not an allowed geometry type")
    fixed = arrays["geom_bodyid"] == 0
    if fixed.any() and len(arrays["push_geom"]) == 0:
        wrong_array(audit, "geom_bodyid", "has a geometry of the world, which does not move")
    if (np.diff(fixed.astype(np.int64)) < 0).any():
        wrong_array(audit, "geom_bodyid", "has a geometry of the world before a moving one")
    _audit_sizes(arrays, audit)
    for kind, number in CORNERS.items():
        if (arrays["geom_vertnum"][arrays["geom_type"] == kind] != number).any():
            message = f"gives a {kind.name.lower()} a number of corners other than {number}"
            wrong_array(audit, "geom_vertnum", message)
    for name in _ROTATIONS:
        R = arrays[name].reshape(-1, 3, 3)
        with np.errstate(all="ignore"):  # NaN is reported elsewhere
            apart = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(initial=0.0)
            turned = (np.linalg.det(R) > 0.0).all()
        if not (apart <= TOLERANCE and turned):
            wrong_array(audit, name, "has a matrix that is not a rotation")


def _audit_sizes(arrays: NamedArrays, audit: Audit) -> None:
    for name in _LENGTHS:
        if not ((arrays[name] >= 0.0) & (arrays[name] <= LONGEST)).all():
            wrong_array(audit, name, f"has a length outside 0 to {LONGEST:.0f} m")
    for types in GEOM_TYPES:
        name = types.replace("type", "size")
        for kind, number in SIZES.items():
            if (arrays[name][arrays[types] == kind, :number] == 0.0).any():
                wrong_array(audit, name, f"has a {kind.name.lower()} with a size of 0")


def audit_all_geoms(arrays: NamedArrays, audit: Audit) -> None:
    """Add an error for arrays of all geometries that do not fit together.

    Args:
        arrays: audited by audit_geom_arrays, and their counts add up.
        audit: receives the errors.
    """
    types, bodies = arrays["geom_type_all"], arrays["geom_bodyid_all"]
    first_obstacle = len(types) - len(arrays["obstacle_type"])
    if first_obstacle < 0 or bodies[first_obstacle:].any():
        wrong_array(audit, "geom_bodyid_all", "does not end with the obstacles, on body 0")
    _audit_fields(arrays, types, first_obstacle, audit)
    if bodies[types == GeomType.PLANE].any():
        wrong_array(audit, "geom_type_all", "has a plane on a moving body")
    for name in MASKS:
        if ((arrays[name] < 0) | (arrays[name] > MOST_BITS)).any():
            wrong_array(audit, name, f"has a number outside 0 to {MOST_BITS}")
    number = arrays["geom_vertnum_all"]
    if ((number > 0) != (types == GeomType.MESH)).any():
        wrong_array(audit, "geom_vertnum_all", "is not above 0 for meshes and 0 for all others")
    corners = np.repeat(np.repeat(number, number), arrays["vert_edgenum"])
    if ((arrays["edge_vert"] < 0) | (arrays["edge_vert"] >= corners)).any():
        wrong_array(audit, "edge_vert", "has a corner that is not of the same geometry")
    for name in ("exclude_geom", "push_geom"):
        pairs = arrays[name]
        if (pairs[:, 0] >= pairs[:, 1]).any():
            wrong_array(audit, name, "has a pair that is not ascending")
    _audit_pushing(arrays, first_obstacle, audit)


def _audit_fields(arrays: NamedArrays, types: Ints, first_obstacle: int, audit: Audit) -> None:
    """Add an error for height fields whose heights do not fit their rows and columns."""
    rows, columns = arrays["field_nrow"], arrays["field_ncol"]
    is_field = arrays["obstacle_type"] == GeomType.HFIELD
    for name in FIELD_COUNTS:
        if ((arrays[name] < 2) | (arrays[name] > MOST_HEIGHTS)).any():
            wrong_array(audit, name, f"has a number outside 2 to {MOST_HEIGHTS}")
            return
    number = rows * columns
    if number.max(initial=0) > MOST_HEIGHTS or number.sum() != len(arrays["field_height"]):
        wrong_array(audit, "field_height", "has another length than rows times columns")
    if np.count_nonzero(is_field) != len(rows):
        wrong_array(audit, "field_nrow", "is not that of all height fields")
    if not np.array_equal(types[max(first_obstacle, 0) :] == GeomType.HFIELD, is_field):
        wrong_array(audit, "geom_type_all", "has other height fields than obstacle_type")
    elif (types[: max(first_obstacle, 0)] == GeomType.HFIELD).any():
        wrong_array(audit, "geom_type_all", "has a height field that is no obstacle")


def _audit_pushing(arrays: NamedArrays, first_obstacle: int, audit: Audit) -> None:
    """Add an error for pairs that push each other which the kernels could not follow."""
    pairs, body = arrays["push_geom"], arrays["geom_bodyid_all"]
    order = pairs[:, 0] * len(body) + pairs[:, 1]
    if (np.diff(order) <= 0).any():
        wrong_array(audit, "push_geom", "is not ascending")
    if (pairs >= first_obstacle).any() or (body[pairs[:, 0]] == body[pairs[:, 1]]).any():
        wrong_array(audit, "push_geom", "has an obstacle, or two geometries of one body")
    if len(pairs) > 0 and not np.array_equal(arrays["geom_bodyid"], body[:first_obstacle]):
        message = f"is not that of all {first_obstacle} geometries of links"
        wrong_array(audit, "geom_bodyid", message)
    number = arrays["geom_facenum_all"]
    if (number[arrays["geom_type_all"] != GeomType.MESH] > 0).any():
        wrong_array(audit, "geom_facenum_all", "has faces of a geometry that is no mesh")
    if (arrays["face_vertnum"] > FACE_CORNERS).any():
        wrong_array(audit, "face_vertnum", f"has a face of more than {FACE_CORNERS} corners")
    corners = np.repeat(np.repeat(arrays["geom_vertnum_all"], number), arrays["face_vertnum"])
    if (arrays["face_vert"] >= corners).any():
        wrong_array(audit, "face_vert", "has a corner that is not of the same geometry")


def wrong_array(audit: Audit, name: str, message: str) -> None:
    """Add the error of an array with wrong numbers."""
    audit.error("bad-array", name, None, message)
