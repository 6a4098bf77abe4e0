# SPDX-License-Identifier: Apache-2.0
"""The hash of a Model."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NAME_DIMS

#: Fields (numbers of robots, and filters) that sha256 leaves out, because geom_touches and
#: push_geom contain their effect.
_NOT_HASHED = (
    "key_qpos",
    *("jnt_class", "jnt_acceleration", "jnt_deceleration", "jnt_jerk"),
    *("geom_robotid", "geom_contype", "geom_conaffinity", "exclude_geom"),
    *("distance_geom", "distance_adr", "distance_num"),
)

#: Sizes of the fields and lists of geometries.
_OF_GEOMETRIES = (
    *("ngeom", "ngeommoving", "nvert", "nedge", "nfield", "nheight", "nface"),
    *("ntrimesh", "ntrivert", "ntriangle", "ntribox", "ntristar"),
)


def fingerprint(m: Any) -> str:
    """Return the SHA-256 of the names and arrays of a Model, without the options.

    Fields that older versions lacked are left out if they have no effect, so that the hash does
    not change: jnt_class, which follows from the addresses; limits of planned motions; filters
    that exclude nothing; and geometries that nothing can touch.
    """
    idle = () if m.ncontact > 0 else _OF_GEOMETRIES
    unnamed = (*idle, "nkey")
    names = [m.names[name] for name, dim in NAME_DIMS.items() if dim not in unnamed]
    digest = hashlib.sha256("\0".join(itertools.chain(*names)).encode())
    for field in MODEL_FIELDS:
        values = getattr(m, field.name)
        if field.name in _NOT_HASHED or field.dims[0] in idle:
            continue
        if field.name == "geom_touches":
            if (values == 1).all():
                continue
            # the label is needed because push_geom may have the same bytes
            digest.update(b"geom_touches")
        digest.update(values.tobytes())
    return digest.hexdigest()
