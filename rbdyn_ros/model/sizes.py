# SPDX-License-Identifier: Apache-2.0
"""The sizes of a Model, from its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.declared.actuators import state_lengths
from rbdyn_ros.model.declared.data_fields import WORD_BITS
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.declared.model_fields import SIZES
from rbdyn_ros.model.geometry.geom_pairs import MOST_AXES, MOST_FOUND, links_of

# largest number of contacts of a geometry and an obstacle, besides those at the geometry's corners
OF_BOX = 8
OF_FIELD = 32  # room for contacts of a geometry with terrain
OF_PAIR = 8  # largest number of contacts of two geometries that push each other
MOST_LISTED = 1000  # room for contacts in a Model with few geometries
OF_GEOM = 16  # room for contacts of each geometry in a Model with many geometries
MOST_LAGGED = 16  # largest number of lagged forces that Newton's method moves together

#: Largest matrix, in entries of its triangle, of a Model whose moving bodies push each other.
MAX_SKYLINE = 8_000_000

#: For each of these sizes, an array with this length.
_LENGTHS = {
    "nq": "qpos0",
    "nv": "dof_bodyid",
    "nbody": "body_parentid",
    "njnt": "jnt_type",
    "nframe": "frame_bodyid",
    "nM": "M_colind",
    "ndrive": "drive_period",
    "nmimic": "mimic_jntid",
    "nkey": "key_qpos",
    "nlimit": "limit_dofid",
    "nloop": "loop_type",
    "nspring": "spring_bodyid",
    "nknot": "knot_time",
    "nflight": "flight_bodyid",
    "nflighttree": "flight_rootid",
    "npair": "pair_entry",
    "nlength": "length_total",
    "npoint": "point_bodyid",
    "ngear": "gear_offset",
    "nterm": "term_jntid",
    "nroll": "roll_radius",
    "nefc": "efc_wrenchadr",
    "nwrench": "wrench_bodyid",
    "ngeom": "geom_bodyid",
    "nvert": "vert_pos",
    "nfield": "field_nrow",
    "nheight": "field_height",
    "ntrimesh": "trimesh_facenum",
    "ntrivert": "trimesh_vert",
    "ntriangle": "trimesh_face",
    "ntribox": "trimesh_box",
    "ntristar": "trimesh_star",
    "nedge": "edge_vert",
    "nexclude": "exclude_geom",
    "ndistance": "distance_geom",
    "nface": "face_vertnum",
    "nfacevert": "face_vert",
    "npush": "push_geom",
    "nu": "actuator_dofid",
}


def sizes_of(arrays: Mapping[str, NDArray[Any]], nloopdata: int) -> dict[str, int]:
    """Return the sizes SIZES, in their order.

    Args:
        arrays: all fields of a Model.
        nloopdata: length of a Data's row for the Model of the loop joints.
    """
    found = {name: len(arrays[array]) for name, array in _LENGTHS.items()}
    coordinates = found["ndrive"] + found["nmimic"]
    types = np.asarray(arrays["jnt_type"])
    balls = (np.asarray(arrays["jnt_limited"]) == 1) & (np.asarray(arrays["jnt_dofnum"]) == 3)
    links, contacts = links_of(arrays), contact_capacity(arrays)
    found |= {
        "nqall": found["nq"] + coordinates,
        "nvall": found["nv"] + coordinates,
        "nstiff": int(np.count_nonzero(arrays["jnt_stiffness"])),
        "nstop": found["nlimit"]
        + int(np.count_nonzero(arrays["jnt_limited"]))
        + int(np.count_nonzero(arrays["dof_frictionloss"])),
        "ncone": int(np.sum(balls)) if found["nM"] > 0 else 0,
        "nflying": found["nbody"] if found["nflight"] > 0 else 0,
        "nypr": int(np.sum(types == JointType.YPR)),
        "nuser": int(np.sum(types == JointType.USER)),
        "nshare": found["nv"] if found["nefc"] > 0 else 0,
        "nlocking": found["njnt"] if found["nefc"] > 0 else 0,
        "nclosing": found["nq"] if found["nefc"] > 0 else 0,
        "nloopdata": nloopdata,
        "ntouch": found["nbody"] if contacts > 0 else 0,
        "nlagged": MOST_LAGGED if contacts > 0 else 0,
        "niterate": found["nv"] if contacts > 0 else 0,
        "ngeommoving": int(np.count_nonzero(arrays["geom_bodyid"])),
        "ngeomlink": links,
        "nobstacle": found["ngeom"] - links,
        "nplace": _placed(arrays["push_geom"], links, found["ngeom"]),
        "naxis": found["npush"] if found["npush"] <= MOST_AXES else 0,
        "nfound": min(found["npush"], MOST_FOUND),
        "ncontact": contacts,
        "na": sum(state_lengths(arrays["actuator_delay"])),
    }
    found["nskyline"] = skyline_entries(arrays)
    found["npath"] = found["nvall"] if found["nskyline"] > 0 else 0
    found["ngrow"] = contacts if found["nskyline"] > 0 else 0
    found["nisland"] = found["nbody"] if found["nskyline"] > 0 else 0
    free = found["nskyline"] > 0 and found["nflight"] == found["nbody"] - 1
    found["nfree"] = found["nflight"] if free else 0
    found["nblock"] = found["nfree"] * (found["nfree"] - 1) // 2
    found["nnear"] = found["nisland"] * (found["nisland"] // WORD_BITS + 1)
    return {name: found[name] for name in SIZES}


def _placed(pairs: NDArray[Any], links: int, count: int) -> int:
    """Return nplace: pushing pairs contain only the first nplace geometries."""
    if len(pairs) == 0:
        return 0
    return count if (pairs >= links).any() else links


def contact_capacity(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of contacts that a Data can list, or 0 if nothing can touch."""
    pushing, links = len(arrays["push_geom"]), links_of(arrays)
    obstacles = len(arrays["geom_frameid"]) - links
    fields = len(arrays["field_nrow"]) + len(arrays["trimesh_facenum"])
    corners = arrays["geom_vertnum"][arrays["geom_bodyid"] > 0]
    touching = (corners + OF_BOX).sum() * obstacles + OF_FIELD * len(corners) * fields
    most = max(MOST_LISTED, OF_GEOM * links) if pushing else MOST_LISTED
    return int(min(touching + OF_PAIR * pushing, most))


def moving_pairs(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of pairs of geometries on two moving bodies that push each other."""
    return int((arrays["geom_bodyid"][arrays["push_geom"]] > 0).all(axis=1).sum())


def skyline_entries(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return the size of the lower triangle that contact between moving bodies needs, or 0.

    The result is also 0 if this matrix or M would be too large; too_large_matrix then refuses the
    Model.
    """
    nv = len(arrays["dof_bodyid"])
    entries = nv * (nv + 1) // 2
    fits = len(arrays["M_colind"]) > 0 and entries <= MAX_SKYLINE
    return entries if fits and moving_pairs(arrays) > 0 else 0
