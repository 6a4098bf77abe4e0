# SPDX-License-Identifier: Apache-2.0
"""Choose where to cut closed loops, so that no joint loses a property.

A joint that closes a loop is no joint of the spanning tree and has no coordinate, so nothing can
limit, damp or drive it. A loop is cut at the joint with the least to lose. If all its joints have
properties, a link is split: a new link gets half of the inertia and one of the two joints, and a
weld holds both halves together. Equal halves add up to the inertia of the link without rounding.
Both joints then move an inertia, and the reduced mass m1 m2 / (m1 + m2) at the weld is as large as
possible.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.geometries import Exclusion
from rbdyn_ros.description.parts.inertials import about_com, half, moved, total
from rbdyn_ros.description.parts.joint_types import FLOATING_TYPES
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse
from rbdyn_ros.description.parts.spanning import rigid_groups, span
from rbdyn_ros.description.parts.types import Description, Gear, Inertial, Joint, Limit, Link
from rbdyn_ros.errors import listing, quote

#: What a joint loses without a coordinate: nothing, its start or actuator, or a property.
NOTHING, LITTLE, MUCH = range(3)

#: A moment of inertia below this part of the largest moment counts as zero.
FLAT = 1e-9


def cut_loops(description: Description, audit: Audit) -> Description:
    """Return a description whose loops are closed by joints without properties.

    Args:
        description: checked, without errors.
        audit: receives a note for every loop whose cut the description does not determine.
    """
    if len(description.joints) < len(description.links):  # the description is a tree
        return description
    needed = _named_coordinates(description)
    losses = {joint.name: _loss(joint, needed) for joint in description.joints}
    description = _released(description, losses)
    while True:
        spanning = span(description)
        above, changed = spanning.rises(), False
        for chord in spanning.chords:
            if chord.closes_loop:
                continue
            cycle = _cycle(chord, above)
            cut = min(cycle, key=lambda joint: losses[joint.name])
            if losses[cut.name] < MUCH:
                description = _with(description, replace(cut, closes_loop=True))
                _note_joint(cut, cycle, audit)
                changed = cut is not chord
            else:
                description = _split(description, cycle, spanning.base, audit)
                changed = True
            if changed:  # the cut has changed the spanning tree
                break
        if not changed:
            return description


def _named_coordinates(description: Description) -> set[str]:
    """Return the joints whose coordinates other parts refer to."""
    gears = (part for part in description.constraints if isinstance(part, Gear))
    return {
        *(joint.mimic.joint for joint in description.joints if joint.mimic is not None),
        *(term.joint for gear in gears for term in gear.terms),
        *(term.joint for servo in description.servos for term in servo.terms),
    }


def _loss(joint: Joint, needed: Collection[str]) -> int:
    """Return how much a joint would lose with its coordinate: NOTHING, LITTLE or MUCH.

    `needed` are the joints whose coordinates other parts refer to.
    """
    limits = (*(() if joint.limit is None else (joint.limit,)), *joint.limits)
    if (
        joint.name in needed
        or (joint.type in FLOATING_TYPES and not joint.closes_loop)
        or joint.damping
        or joint.friction
        or joint.stiffness
        or joint.armature
        or joint.motion is not None
        or joint.mimic is not None
        or joint.transmission
        or any(limit != Limit() for limit in limits)
    ):
        return MUCH
    return LITTLE if joint.start or (joint.actuated and not joint.closes_loop) else NOTHING


def _released(description: Description, losses: Mapping[str, int]) -> Description:
    """Return the description without closes_loop at joints whose loss, see _loss, is MUCH."""
    lost = {j.name for j in description.joints if j.closes_loop and losses[j.name] == MUCH}
    if not lost:
        return description
    joints = tuple(
        replace(joint, closes_loop=False) if joint.name in lost else joint
        for joint in description.joints
    )
    return replace(description, base=span(description).base, joints=joints)


def _cycle(chord: Joint, above: Mapping[str, tuple[Joint, str]]) -> list[Joint]:
    """Return the joints of a loop: the chord, then from its parent round to its child.

    `above` has, by link, the joint towards the base and the next link.
    """
    out, back = (list(_path(link, above)) for link in (chord.parent, chord.child))
    while out and back and out[-1] is back[-1]:
        out.pop()
        back.pop()
    return [chord, *out, *reversed(back)]


def _path(link: str, above: Mapping[str, tuple[Joint, str]]) -> Iterator[Joint]:
    """Yield the joints that are not fixed, from a link to the base; `above` as for _cycle."""
    while link in above:
        joint, link = above[link]
        if joint.type != "fixed":
            yield joint


def _with(description: Description, *changed: Joint) -> Description:
    """Return the description with changed joints, found by their names, and new joints."""
    by_name = {joint.name: joint for joint in changed}
    joints = tuple(by_name.pop(joint.name, joint) for joint in description.joints)
    return replace(description, joints=(*joints, *by_name.values()))


def _note_joint(cut: Joint, cycle: list[Joint], audit: Audit) -> None:
    others = listing([joint.name for joint in cycle if joint is not cut])
    message = f"closes the loop with {others}; it has no property that needs a coordinate"
    if cut.start:
        message += ", and its start position follows from the others"
    audit.add("note", "loop-cut", f"joint {quote(cut.name)}", cut.line, message, found=cut.name)


@dataclass(frozen=True, slots=True)
class _Body:
    """A rigid body of a loop, and the joint of the loop that a split takes away from it.

    Attributes:
        link: the link of the body to which the joint is attached.
        frames: frames of its links, in the frame of `link`.
        inertial: inertial of the whole body, in the frame of `link`; None without mass.
    """

    joint: Joint
    link: str
    frames: Mapping[str, Pose]
    inertial: Inertial | None

    @property
    def mass(self) -> float:
        return self.inertial.mass if self.inertial is not None else 0.0

    @property
    def resists_all_turns(self) -> bool:
        if self.inertial is None:
            return False
        moments = np.linalg.eigvalsh(about_com(self.inertial))
        return bool(moments[0] > FLAT * moments[-1])


def _split(description: Description, cycle: list[Joint], base: str, audit: Audit) -> Description:
    """Return the description with one link of a loop split in two, held together by a weld.

    `cycle` are the joints of the loop, and `base` is a link that is not split.
    """
    bodies = list(_bodies(description, cycle, base))
    body = next((b for b in bodies if b.resists_all_turns), max(bodies, key=lambda b: b.mass))
    name = free_name(f"{body.link}_half", {link.name for link in description.links})
    taken = {part.name for part in (*description.joints, *description.constraints)}
    line, called = body.joint.line, free_name(f"{name}_weld", taken)
    weld = Joint(called, "fixed", body.link, name, line=line, closes_loop=True)
    if body.joint.parent in body.frames:
        joint, far = replace(body.joint, parent=name), body.joint.child
    else:
        joint, far = replace(body.joint, child=name), body.joint.parent
    links = tuple(
        replace(link, inertial=half(link.inertial))
        if link.name in body.frames and link.inertial is not None
        else link
        for link in description.links
    )
    own = half(body.inertial) if body.inertial is not None else None
    split = _with(description, joint, weld)
    others = listing([joint.name for joint in cycle])
    message = (
        f"closes the loop of {others}, which all have properties: the link {quote(body.link)} is "
        f"split, {quote(name)} is half of it"
    )
    audit.add("note", "loop-cut", f"joint {quote(called)}", line, message, found=name)
    return replace(
        split,
        links=(*links, Link(name, own, line)),
        exclusions=(*description.exclusions, *_neighbours(description, far, body)),
    )


def _bodies(description: Description, cycle: list[Joint], base: str) -> Iterator[_Body]:
    """Yield the bodies of a loop that move, the bodies at the chord first; arguments of _split."""
    group = rigid_groups(description)
    inertials = {link.name: link.inertial for link in description.links}
    chord, last = cycle[0], len(cycle) - 1
    near = group[chord.parent]
    places = []
    for k, joint in enumerate(cycle):
        if k > 0:
            ends = group[joint.parent], group[joint.child]
            near = ends[1] if ends[0] == near else ends[0]
        at_chord = k if k <= last - k else (k + 1) % len(cycle)
        places.append((min(k, last - k), near, cycle[at_chord]))
    for _, body, joint in sorted(places, key=lambda place: place[0]):
        if body == group[base]:
            continue
        link = joint.parent if group[joint.parent] == body else joint.child
        frames = _frames(description, link)
        parts = [
            moved(inertial, frame)
            for name, frame in frames.items()
            if (inertial := inertials[name]) is not None
        ]
        yield _Body(joint, link, frames, total(parts) if parts else None)


def _frames(description: Description, link: str) -> dict[str, Pose]:
    """Return the frames of the links that fixed joints connect to a link, in its frame."""
    found = {link: IN_PLACE}
    waiting = [link]
    while waiting:
        near = waiting.pop()
        for joint in description.joints:
            if (
                joint.type != "fixed"
                or joint.closes_loop
                or near not in (joint.parent, joint.child)
            ):
                continue
            across = compose(joint.origin, inverse(joint.child_origin))
            forth = joint.parent == near
            other = joint.child if forth else joint.parent
            if other not in found:
                found[other] = compose(found[near], across if forth else inverse(across))
                waiting.append(other)
    return found


def _neighbours(description: Description, far: str, body: _Body) -> Iterator[Exclusion]:
    """Yield the pairs of links that the split joint connected, which may overlap.

    `far` is the link at the joint's other end.
    """
    solid = {geometry.link for geometry in description.geometries}
    beyond = solid.intersection(_frames(description, far))
    for one in sorted(beyond):
        for other in sorted(solid.intersection(body.frames)):
            yield Exclusion(one, other, links=True)
