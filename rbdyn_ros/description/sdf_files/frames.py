# SPDX-License-Identifier: Apache-2.0
"""The frames of an SDF: their poses, and the links to which they are attached.

A pose of SDF is relative to a named frame. Without a name, the pose of a joint is relative to its
child, the pose of a frame to the frame that it is attached to, and any other pose to the frame of
the model (sdformat.org, pose semantics).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement
from rbdyn_ros.errors import listing, quote

MODEL_FRAME, WORLD = "__model__", "world"


@dataclass(eq=False, slots=True)
class Frame:
    """A frame that has a name.

    Attributes:
        kind: world, model, link, joint or frame.
        full: its name, with the names of the models around it.
        scope: the scope that has its name.
        part: its element; None: it is the world, or a model that is merged.
        pose: its pose in the frame `relative_to`.
        relative_to: name of a frame; empty: by the rule of its kind.
        attached_to: the attribute of a frame, the child of a joint, or the canonical link of a
            model.
        placement: for a model, the frame inside it that has the pose; empty: the model has the
            pose itself.
    """

    kind: str
    full: str
    scope: "Scope"
    part: SdfElement | None
    pose: Pose = IN_PLACE
    relative_to: str = ""
    attached_to: str = ""
    placement: str = ""

    def error(self, code: str, message: str, **of: str) -> None:
        """Add an error about this frame."""
        part = self.part or self.scope.part
        part.error(code, message, **of)


class Scope:
    """The names inside a model or a world.

    Args:
        part: the element <model> or <world>.
        prefix: prefix of the full names of its parts.
        parent: the scope around it; None: it is the world.

    Attributes:
        frames: frames by name; the first frame is the frame of the model or the world.
        models: the nested models by name.
        inner: the nested models, also merged models.
        depth: the number of scopes around it.
        is_static: whether the links never move.
        collides: whether the links of the model touch each other.
        lights: lights of included files, each with the element that has its pose.
    """

    def __init__(self, part: SdfElement, prefix: str, parent: "Scope | None") -> None:
        self.part, self.prefix, self.parent = part, prefix, parent
        self.frames: dict[str, Frame] = {}
        self.models: dict[str, Scope] = {}
        self.inner: list[Scope] = []
        self.lights: list[tuple[SdfElement, SdfElement]] = []
        self.is_static = self.collides = False
        self.depth: int = 0 if parent is None else parent.depth + 1
        kind = "world" if parent is None else "model"
        self.origin = Frame(kind, prefix.rstrip("/"), self, part)
        self.frames[MODEL_FRAME if parent else WORLD] = self.origin

    def add(self, name: str, frame: Frame) -> None:
        """Add a frame, or an error if its name is taken."""
        if not name:
            frame.error("missing-name", f"a <{frame.kind}> has no name", allowed="a name")
        elif name == WORLD or (name.startswith("__") and name.endswith("__")):
            text = f"the name {quote(name)} is reserved; choose another"
            frame.error("reserved-name", text, found=name)
        elif name in self.frames:
            text = f"another part of {self.part.owner} has this name, too; choose another"
            frame.error("duplicate-name", text, found=name)
        else:
            self.frames[name] = frame

    def walk(self) -> "Iterator[Scope]":
        """Yield the scope and all scopes inside, in the order of the file."""
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting += reversed(scope.inner)

    def find(self, name: str) -> Frame | None:
        """Return the frame of a name, or None; :: separates the names of nested models."""
        scope: Scope = self
        *models, last = name.split("::")
        for model in models:
            inner = scope.models.get(model)
            if inner is None:
                return None
            scope = inner
        if name == WORLD:
            while scope.parent is not None:
                scope = scope.parent
        return scope.frames.get(last)

    def known(self, name: str, user: Frame | SdfElement, role: str) -> Frame | None:
        """Return the frame of a name.

        If there is none, report an error at `user`, which refers to the frame, and return None.
        `role` is the frame's part in the message, for example "relative_to".
        """
        found = self.find(name)
        if found is None:
            names = list(self.frames)
            audit = self.part.audit
            text = f"its {role} {quote(name)} is not a frame of {self.part.owner}"
            hint = audit.hint(name, names)
            user.error("unknown-frame", f"{text}{hint}", found=name, allowed=listing(names))
        return found


@dataclass(slots=True)
class FramePlaces:
    """Finds the pose and the link of frames; each frame with an error is reported once."""

    _poses: dict[Frame, dict[Frame, Pose]] = field(default_factory=dict)
    _broken: set[Frame] = field(default_factory=set)

    def pose(self, frame: Frame, top: Frame) -> Pose:
        """Return the pose of a frame in the frame `top` above; the identity after an error."""
        known = self._poses.setdefault(top, {top: IN_PLACE})
        path: list[Frame] = []
        seen: set[Frame] = set()
        while frame not in known:
            path.append(frame)
            seen.add(frame)
            above = self._above(frame)
            if above is None or above in seen:
                if above is not None:
                    self._cycle(frame, above, path)
                known[frame] = IN_PLACE
                path.pop()
                break
            frame = above
        at = known[frame]
        for below in reversed(path):
            at = known[below] = compose(at, self._own(below))
        return at

    def between(self, frame: Frame, base: Frame, top: Frame) -> Pose:
        """Return the pose of a frame in the frame `base`; `top` is a frame above both."""
        if frame is base:
            return IN_PLACE
        return compose(inverse(self.pose(base, top)), self.pose(frame, top))

    def _own(self, frame: Frame) -> Pose:
        """Return the pose of a frame in the frame above it."""
        if not frame.placement:
            return frame.pose
        inside = frame.scope.known(frame.placement, frame, "placement_frame")
        if inside is None or inside is frame:
            return frame.pose
        return compose(frame.pose, inverse(self.pose(inside, frame)))

    def _above(self, frame: Frame) -> Frame | None:
        """Return the frame to which the pose of a frame is relative, or None for the world."""
        scope = frame.scope
        if frame is scope.origin:
            if scope.parent is None:
                return None
            scope = scope.parent
        if frame.relative_to:
            return scope.known(frame.relative_to, frame, "relative_to") or scope.origin
        if frame.kind in ("joint", "frame") and frame.attached_to:
            return scope.find(frame.attached_to) or scope.origin
        return scope.origin

    def _cycle(self, frame: Frame, above: Frame, path: list[Frame]) -> None:
        around = [*path[path.index(above) :], above] if above in path else [*path, above]
        if self._broken.isdisjoint(around):
            names = " -> ".join(one.full for one in around[:8])
            more = " -> ..." if len(around) > 8 else ""
            frame.error("frame-cycle", f"its pose is relative to itself: {names}{more}")
        self._broken.update(around)

    def link(self, frame: Frame | None) -> Frame | None:
        """Return the link, or the world, that a frame is attached to, or None after an error."""
        seen: dict[Frame, None] = {}  # in the order of the search
        start = frame
        while frame is not None and frame.kind not in ("link", "world"):
            if frame in seen:
                if self._broken.isdisjoint(seen) and start is not None:
                    around = [*seen, frame]
                    names = " -> ".join(one.full for one in around[:8])
                    more = " -> ..." if len(around) > 8 else ""
                    text = f"the frames that it is attached to form a loop: {names}{more}"
                    start.error("frame-cycle", text)
                self._broken.update(seen)
                return None
            seen[frame] = None
            scope = frame.scope
            if frame.attached_to:
                role = "child" if frame.kind == "joint" else "attached_to"
                frame = scope.known(frame.attached_to, frame, role)
            elif frame is not scope.origin:
                frame = scope.origin
            else:
                frame = _first_link(scope)
        return frame


def _first_link(scope: Scope) -> Frame | None:
    """Return the first link of a model or of its nested models, or None after an error."""
    for inner in scope.walk():
        for frame in inner.frames.values():
            if frame.kind == "link":
                return frame
    scope.origin.error("no-links", "the model has no link", allowed="a <link>")
    return None
