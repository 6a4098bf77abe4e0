# SPDX-License-Identifier: Apache-2.0
"""The methods of a SystemBuilder that add constraints between bodies."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rbdyn_ros.description.build.arguments import name, number, vector
from rbdyn_ros.description.parts.poses import ZERO, Vec3
from rbdyn_ros.description.parts.types import Constraint, Gear, GearTerm, Length, Roll
from rbdyn_ros.errors import exactly, not_allowed

if TYPE_CHECKING:  # Self is in typing from Python 3.11 on
    from typing_extensions import Self

Z_AXIS = (0.0, 0.0, 1.0)


class ConstraintBuilder:
    """Constraints, one method each; every method returns the builder."""

    def __init__(self) -> None:
        super().__init__()
        self._constraints: list[Constraint] = []

    def rod(
        self,
        rod: str,
        link1: str,
        link2: str,
        length: float,
        point1: Vec3 = ZERO,
        point2: Vec3 = ZERO,
    ) -> "Self":
        """Keep two points at a fixed distance, like a massless rod with ball joints at its ends.

        Args:
            rod: name of the rod.
            link1: body of the first point.
            link2: body of the second point.
            length: length of the rod [m], above 0; for coinciding points use `point`.
            point1: first point, in the frame of link1 [m].
            point2: second point, in the frame of link2 [m].

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        ends = ((link1, point1), (link2, point2))
        return self._length("rod", rod, ends, number("the length", length), closed=False)

    def band(
        self,
        band: str,
        points: Iterable[tuple[str, Vec3]],
        length: float,
        *,
        closed: bool = True,
        radius: float = 0.0,
    ) -> "Self":
        """Keep the length of a line through points of bodies: a taut band.

        Args:
            band: name of the band.
            points: in their order along the band, each a body and a point in the body frame [m].
            length: length of the whole band [m].
            closed: whether the band returns to the first point.
            radius: radius of equal disks at these points, inside a closed band [m]; 0: no disks.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        allowed = "a sequence of pairs (body, point)"
        if not isinstance(points, Iterable) or isinstance(points, str | Mapping):
            raise not_allowed(f"the list of points of the band {band!r}", points, allowed)
        corners = list(points)
        for corner in corners:
            if not isinstance(corner, tuple | list) or len(corner) != 2:
                raise not_allowed(f"a point of the band {band!r}", corner, "a pair (body, point)")
        if not isinstance(closed, bool):
            raise not_allowed("closed", closed, "True or False")
        total = centre_line(number("the length", length), number("the radius", radius), closed)
        return self._length("band", band, corners, total, closed)

    def gear(
        self,
        gear: str,
        terms: Mapping[str, float] | Iterable[tuple[str, int, float]],
        offset: float = 0.0,
    ) -> "Self":
        """Keep a weighted sum of joint positions equal to an offset.

        Args:
            gear: name of the gear.
            terms: a factor for each joint, such as {"sun": 1.0, "planet": 2.5}; or triples
                (joint, coordinate, factor) for joints with several coordinates.
            offset: the constant sum.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        allowed = "a mapping of joints to factors, or triples (joint, coordinate, factor)"
        triples: Any = terms
        if isinstance(terms, Mapping):
            triples = [(joint, 0, factor) for joint, factor in terms.items()]
        elif not isinstance(terms, Iterable):
            raise not_allowed(f"the argument terms of the gear {gear!r}", terms, allowed)
        shares = tuple(_term(gear, term) for term in triples)
        called = name("the name of a gear", gear)
        self._constraints.append(Gear(called, shares, number("the offset", offset)))
        return self

    def roll(
        self,
        roll: str,
        link: str,
        on: str,
        radius: float,
        *,
        centre: Vec3 = ZERO,
        axis: Vec3 | None = None,
        point: Vec3 = ZERO,
        normal: Vec3 = Z_AXIS,
    ) -> "Self":
        """Let a sphere, or a thin disk if it has an axis, roll on a plane without slipping.

        The arguments are the fields of types.Roll; `roll` is the name.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        self._constraints.append(
            Roll(
                name("the name of the rolling constraint", roll),
                name("the rolling body", link),
                name("the body with the plane", on),
                number("the radius", radius),
                vector("the centre", centre),
                None if axis is None else vector("the axis", axis),
                vector("the point", point),
                vector("the normal", normal),
            )
        )
        return self

    def _length(
        self,
        kind: str,
        called: str,
        corners: Iterable[tuple[str, Vec3]],
        length: float,
        closed: bool,
    ) -> "Self":
        owner = name(f"the name of a {kind}", called)
        links, points = [], []
        for place, (link, point) in enumerate(corners, start=1):
            links.append(name(f"the body of a {kind}", link))
            points.append(vector(f"point {place} of the {kind} {owner!r}", point))
        self._constraints.append(Length(owner, tuple(links), tuple(points), length, closed))
        return self


def centre_line(length: float, radius: float, closed: bool) -> float:
    """Return the length of the centre line of a band around equal disks.

    A closed band around disks of one radius is longer than the line through their centres by one
    circumference (RBDA fig 3.2c).

    Args:
        length: length of the band [m].
        radius: radius of the disks [m]; 0 for points.
        closed: whether the band has no ends.

    Raises:
        ParameterError: no such band exists.
    """
    if number("the radius", radius) < 0.0:
        raise not_allowed("the radius", radius, "0 or more")
    if radius > 0.0 and not closed:
        raise not_allowed("the radius", radius, "0 for an open band")
    around = 2.0 * math.pi * radius
    if radius > 0.0 and length <= around:
        raise not_allowed(
            "the length", length, f"more than the circumference of a disk, {exactly(around)}"
        )
    return length - around


def _term(gear: str, term: Any) -> GearTerm:
    if not isinstance(term, tuple | list) or len(term) != 3:
        raise not_allowed(
            f"a term of the gear {gear!r}", term, "a triple (joint, coordinate, factor)"
        )
    joint, coordinate, factor = term
    if not isinstance(coordinate, int) or isinstance(coordinate, bool):
        raise not_allowed(f"a coordinate of the gear {gear!r}", coordinate, "a whole number")
    what = f"a factor of the gear {gear!r}"
    return GearTerm(name(f"a joint of the gear {gear!r}", joint), number(what, factor), coordinate)
