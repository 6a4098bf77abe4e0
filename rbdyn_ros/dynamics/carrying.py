# SPDX-License-Identifier: Apache-2.0
"""Carry the state of a Data over to a Model with other objects, by the names of the parts.

Parts that both Models have keep positions, velocities and the memory of friction bit for bit, and
the time does not change. New parts start at the qpos0 of the new Model, at rest.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.contact_arrays import FEATURES
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.matching import Match, common_numbers

#: Dimensions whose entries belong to pairs or contacts, or are computed again in every step.
UNMATCHED = (
    "ncontact",
    "nskyline",
    "npath",
    "ngrow",
    "nisland",
    "nnear",
    "nfree",
    "nblock",
    "ngeommoving",
    "nplace",
    "nfound",
    "naxis",
    "nM",
)
#: Fields of Data that count contacts; they are not copied.
COUNTS = ("ncon", "nmutual", "ndropped", "nstick")
#: Dimensions that are 0 or equal to another dimension.
SAME = {
    "ntouch": "nbody", "nflying": "nbody", "niterate": "nv",
    "nclosing": "nq", "nlocking": "njnt", "nshare": "nv",
}  # fmt: skip


def carry_data(old: Data, new: Data, match: Match) -> None:
    """Write the state of a Data to a Data of a new Model; `match` maps the Models' parts."""
    fields = [field for field in DATA_FIELDS if field.name not in COUNTS]
    known = [field for field in fields if not set(field.dims) & {*UNMATCHED}]
    carry_fields(
        known, _views(old, known), _views(new, known), match, vars(match.old), vars(match.new)
    )
    _carry_friction(old, new, match)


def carry_fields(
    fields: Iterable[Field], old: Any, new: Any, match: Match, before: Any, now: Any
) -> None:
    """Copy the common entries of fields.

    Args:
        fields: the fields whose entries are copied.
        old: the arrays to copy from, by name.
        new: the arrays to write, by name.
        match: the match of the two Models.
        before: the sizes of the old arrays, by name.
        now: the sizes of the new arrays, by name.
    """
    for field in fields:
        axes = [_places(match, dim, before, now) for dim in field.dims]
        source, target = old[field.name], new[field.name]
        if not axes:
            target[()] = source
        elif None not in axes:
            target[np.ix_(*(a[1] for a in axes if a))] = source[np.ix_(*(a[0] for a in axes if a))]


def _views(d: Data, fields: Iterable[Field]) -> dict[str, Any]:
    return {f.name: vars(d)[f.name if f.dims else f"_{f.name}"] for f in fields}


def _places(match: Match, dim: str | int, before: Any, now: Any) -> tuple[Ints, Ints] | None:
    """Return the old and new indices of common entries along a dimension; None: not known."""
    if isinstance(dim, int):
        return np.arange(dim), np.arange(dim)
    if (name := SAME.get(dim, dim)) in match.places:
        old, new = match.places[name]
        there = (old < before[dim]) & (new < now[dim])
        return old[there], new[there]
    return (np.arange(now[dim]), np.arange(now[dim])) if before[dim] == now[dim] else None


def _carry_friction(old: Data, new: Data, match: Match) -> None:
    """Carry over the memory of contacts and the separating axes, whose pairs get new numbers."""
    pairs = _Pairs(match)
    kept = [
        (key, c)
        for c in range(old.nstick)
        if (key := pairs.new_key(int(old.stick_key[c]))) is not None
    ]
    for n, (key, c) in enumerate(sorted(kept)[: match.new.ncontact]):
        new.stick_key[n], new.stick_normal[n] = key, old.stick_normal[c]
        new.stick_force[n], new.stick_torque[n] = old.stick_force[c], old.stick_torque[c]
    vars(new)["_nstick"][()] = min(len(kept), match.new.ncontact)
    for pair in range(len(old.push_axis)):
        place = pairs.pushing(pair)
        if place is not None and place < len(new.push_axis):
            new.push_axis[place] = old.push_axis[pair]


class _Pairs:
    """Computes new numbers of pairs: first pairs with obstacles, then push_geom, then terrain."""

    def __init__(self, match: Match) -> None:
        self._old, self._new = match.old, match.new
        self._geom = common_numbers(match.old.geom_names, match.new.geom_names)
        pushing = match.new.push_geom.tolist()
        self._pushing = {(g, h): pair for pair, (g, h) in enumerate(pushing)}

    def new_key(self, key: int) -> int | None:
        """Return the key of a contact in the new Model, or None if the pair is gone."""
        pair, feature = divmod(key, FEATURES)
        old, new = self._old, self._new
        others = pair - old.ngeomlink * old.nobstacle
        if others < 0:
            found = self._with_obstacle(pair)
        elif others < old.npush:
            found = self.pushing(others)
            found = None if found is None else new.ngeomlink * new.nobstacle + found
        else:
            found = self._with_obstacle(others - old.npush)
            found = None if found is None else new.ngeomlink * new.nobstacle + new.npush + found
        return None if found is None else found * FEATURES + feature

    def _with_obstacle(self, pair: int) -> int | None:
        """Return the new number of a pair with an obstacle, or None if the pair is gone."""
        old, new = self._old, self._new
        g, o = divmod(pair, old.nobstacle)
        geom, obstacle = self._geom.get(g), self._geom.get(old.ngeomlink + o)
        gone = geom is None or obstacle is None
        return None if gone else geom * new.nobstacle + obstacle - new.ngeomlink

    def pushing(self, pair: int) -> int | None:
        """Return the new number of a pair of push_geom, or None if the pair is gone."""
        g, h = (self._geom.get(int(geom)) for geom in self._old.push_geom[pair])
        return None if g is None or h is None else self._pushing.get((g, h))
