"""The sizes of a Model, from its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.geometries import MOST_AXES, MOST_FOUND
from rbdyn_ros.model.geoms import contact_capacity, skyline_entries
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model_fields import SIZES

#: The array whose length each of these sizes is.
_LENGTHS = {
    "nq": "qpos0",
    "nv": "dof_bodyid",
    "nbody": "body_parentid",
    "njnt": "jnt_type",
    "nframe": "frame_bodyid",
    "nM": "M_colind",
    "ndrive": "drive_period",
    "nmimic": "mimic_jntid",
    "nlimit": "limit_dofid",
    "nloop": "loop_type",
    "nspring": "spring_bodyid",
    "nknot": "knot_time",
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
    "nobstacle": "obstacle_type",
    "nfield": "field_nrow",
    "nheight": "field_height",
    "ngeomall": "geom_bodyid_all",
    "nvertall": "vert_pos_all",
    "nedge": "edge_vert",
    "nexclude": "exclude_geom",
    "nmeet": "meet_geom",
    "nface": "face_vertnum",
    "nfacevert": "face_vert",
    "npush": "push_geom",
}


def sizes_of(arrays: Mapping[str, NDArray[Any]], nloopdata: int) -> dict[str, int]:
    """Return the sizes SIZES, in their order.

    Args:
        arrays: all fields of a Model.
        nloopdata: numbers that a Data of the Model of the loop joints takes.
    """
    found = {name: len(arrays[array]) for name, array in _LENGTHS.items()}
    coordinates = found["ndrive"] + found["nmimic"]
    types = np.asarray(arrays["jnt_type"])
    balls = (np.asarray(arrays["jnt_limited"]) == 1) & (np.asarray(arrays["jnt_dofnum"]) == 3)
    found |= {
        "nqall": found["nq"] + coordinates,
        "nvall": found["nv"] + coordinates,
        "nstiff": int(np.count_nonzero(arrays["jnt_stiffness"])),
        "nstop": found["nlimit"]
        + int(np.count_nonzero(arrays["jnt_limited"]))
        + int(np.count_nonzero(arrays["dof_frictionloss"])),
        "ncone": int(np.sum(balls)) if found["nM"] > 0 else 0,
        "nypr": int(np.sum(types == JointType.YPR)),
        "nuser": int(np.sum(types == JointType.USER)),
        "nshare": found["nv"] if found["nefc"] > 0 else 0,
        "nlocking": found["njnt"] if found["nefc"] > 0 else 0,
        "nclosing": found["nq"] if found["nefc"] > 0 else 0,
        "nloopdata": nloopdata,
        "ntouch": found["nbody"] if found["ngeom"] > 0 else 0,
        "nsettle": found["nv"] if found["ngeom"] > 0 else 0,
        "ngeommoving": int(np.count_nonzero(arrays["geom_bodyid"])),
        "nplace": found["ngeom"] if found["npush"] > 0 else 0,
        "naxis": found["npush"] if found["npush"] <= MOST_AXES else 0,
        "nfound": min(found["npush"], MOST_FOUND),
        "ncontact": contact_capacity(arrays),
    }
    found["nskyline"] = skyline_entries(arrays)
    found["nway"] = found["nvall"] if found["nskyline"] > 0 else 0
    return {name: found[name] for name in SIZES}
