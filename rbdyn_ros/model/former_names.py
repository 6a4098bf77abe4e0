"""Former names of a Model's arrays, for one release: views that warn and name the new field.

Until 1.0.0 obstacles had arrays of their own (obstacle_*), and so had all geometries together
(geom_*_all). Now geom_* has all of them, obstacles last.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbdyn_ros.errors import Finding, ModelError

#: Arrays of obstacles, and the fields whose last entries they are.
OF_OBSTACLES = {
    "obstacle_fieldid": "geom_fieldid",
    "obstacle_friction": "geom_friction",
    "obstacle_mat": "geom_mat",
    "obstacle_names": "geom_names",
    "obstacle_pos": "geom_pos",
    "obstacle_size": "geom_size",
    "obstacle_type": "geom_type",
    "obstacle_velocity": "geom_velocity",
}

#: Arrays of obstacles that could be replaced.
REPLACEABLE = ("obstacle_friction", "obstacle_velocity")

#: Other attributes, and their names now.
RENAMED = {
    **{
        f"geom_{part}_all": f"geom_{part}"
        for part in (
            *("bodyid", "conaffinity", "contype", "faceadr", "facenum", "half", "mat", "names"),
            *("numbers", "pos", "rbound", "size", "type", "vertadr", "vertfar", "vertnum"),
        )
    },
    "ngeomall": "ngeom",
    "nvertall": "nvert",
    "vert_pos_all": "vert_pos",
}


def former_view(name: str) -> property:
    """Return the property of a Model that stands for a former name."""
    new = OF_OBSTACLES.get(name) or RENAMED[name]

    def view(m: Any) -> Any:
        _warn(name, new)
        return getattr(m, new)[m.ngeomlink :] if name in OF_OBSTACLES else getattr(m, new)

    return property(view, doc=f"Former name of {new}.")


def with_new_names(m: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return replacements of a Model's arrays in which those of obstacles have their new names.

    Raises:
        ModelError: an array of obstacles has a wrong shape, or its field is given as well.
    """
    found = {name: values for name, values in arrays.items() if name not in REPLACEABLE}
    for name in arrays.keys() - found.keys():
        new = OF_OBSTACLES[name]
        _warn(name, new, stacklevel=4)
        whole = np.array(getattr(m, new))
        shape, given = whole[m.ngeomlink :].shape, np.shape(arrays[name])
        if given != shape or new in arrays:
            text = f"Model.{name} has shape {shape} and is now the end of {new}, got {given}"
            raise ModelError(Finding("model-array", text, "error", name))
        whole[m.ngeomlink :] = arrays[name]
        found[new] = whole
    return found


def _warn(name: str, new: str, stacklevel: int = 3) -> None:
    part = f"{new}[m.ngeomlink:]" if name in OF_OBSTACLES else new
    text = f"Model.{name} is deprecated and goes with the next release: use m.{part}"
    warnings.warn(text, DeprecationWarning, stacklevel)
