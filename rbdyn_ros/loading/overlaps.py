"""Pairs of one robot that overlap at the start do not push each other."""

from __future__ import annotations

import copy

import numpy as np

from rbdyn_ros.dynamics.collisions import overlap_names, start_overlaps
from rbdyn_ros.errors import Finding, listing
from rbdyn_ros.model.model import Model, unchecked_model
from rbdyn_ros.model.model_fields import PRIMARY
from rbdyn_ros.model.pushing import of_one_robot, pushing


def without_overlaps(m: Model) -> tuple[Model, list[Finding]]:
    """Return the Model without pushing pairs of one robot that overlap at qpos0, and a note."""
    own = of_one_robot(vars(m), m.push_geom)
    if not own.any():
        return m, []
    numbers = m.geom_numbers
    overlaps = {(numbers[one.geom1], numbers[one.geom2]): one for one in start_overlaps(m)}
    left_out = [overlaps[pair] for pair in map(tuple, m.push_geom.tolist()) if pair in overlaps]
    if not left_out:
        return m, []
    kept = [tuple(pair) not in overlaps for pair in m.push_geom.tolist()]
    arrays = {name: getattr(m, name) for name in PRIMARY}
    arrays |= pushing(vars(m), m.push_geom[np.array(kept, bool)])
    text = (
        f"{len(left_out)} pairs of geometries overlap at qpos0 and do not push each other: "
        f"{listing(overlap_names(left_out))}; an SRDF can disable them"
    )
    changed = unchecked_model(m.name, arrays, m.names, copy.copy(m.opt), m.findings, m)
    return changed, [Finding("start-overlaps", text, "note")]
