"""Read the joints, loops, couplings and drives of a mechanism file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdyn_ros.description.mechanism_files.forms import AT, Form
from rbdyn_ros.description.mechanism_files.yaml_text import Items, Node, YamlTable
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Joint, Limit, Mimic, Trajectory
from rbdyn_ros.errors import listing, quote

#: Keys for the two ends of a joint and the poses of its frame there; and for a loop.
JOINT_ENDS = ("parent", "child", "origin", "child_origin")
LOOP_ENDS = ("predecessor", "successor", "X_P", "X_S")
_NUMBERS = ("damping", "friction", "armature", "stiffness")
_BOUNDS = ("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk")
_OTHERS = (
    *("type", "axis", "axis2", "limit", "limits", "rest", "actuated", "transmission"),
    *_NUMBERS,
)


def read_joints(section: YamlTable, known: Sequence[Joint], form: Form) -> list[Joint]:
    """Return the known joints, changed by the section, then the new ones."""
    joints = {joint.name: joint for joint in known}
    for name, node in section.nodes.items():
        before = joints.get(name)
        joint = _JointReader(name, section.lines[name], form, JOINT_ENDS).read(node, before)
        if joint is not None:
            joints[name] = joint
    return list(joints.values())


def read_loops(section: YamlTable, form: Form) -> list[Joint]:
    """Return the loop joints of the section."""
    loops = (
        _JointReader(name, section.lines[name], form, LOOP_ENDS).read(node)
        for name, node in section.nodes.items()
    )
    return [replace(joint, closes_loop=True) for joint in loops if joint is not None]


class _JointReader:
    """Reads one joint."""

    def __init__(self, name: str, line: int, form: Form, ends: tuple[str, ...]) -> None:
        self.name = name
        self.line = line
        self.form = form
        self.ends = ends
        self.owner = f"joint {quote(name)}"

    def read(self, node: Node, before: Joint | None = None) -> Joint | None:
        """Return the joint, changed by the file; None after an error."""
        parameters = {name for spec in JOINT_SPECS.values() for name in spec.parameters}
        allowed = (*self.ends, *AT, *_OTHERS, *sorted(parameters))
        needed = () if before is not None else ("type", *self.ends[:2])
        table = self.form.table(node, "joint", self.owner, allowed, needed)
        if table is None or not self.placed_once(table):
            self.form.audit.partial = True
            return before
        if before is not None:
            before = self.fitting(before, table)
        values = {
            key: self.value(key, below, before)
            for key, below in table.nodes.items()
            if key not in AT
        }
        if any(key in table.nodes for key in AT):
            old = Pose() if before is None else before.origin
            values[self.ends[2]] = self.form.pose(table, self.owner, old)
        if any(value is None for value in values.values()):
            self.form.audit.partial = True
            return before
        given = {key: values.pop(key) for key in list(values) if key in parameters}
        names = dict(zip(self.ends, JOINT_ENDS, strict=True))
        changes: dict[str, Any] = {names.get(key, key): value for key, value in values.items()}
        changes["line"] = self.line
        if before is None:
            return Joint(name=self.name, parameters=given, **changes)
        changes["parameters"] = {**before.parameters, **given}
        return replace(before, **changes)

    def placed_once(self, table: YamlTable) -> bool:
        """Return whether at most one key places the joint; if not, add an error."""
        origin, own = self.ends[2], [key for key in AT if key in table.nodes]
        if not own or origin not in table.nodes:
            return True
        message = f"has both {quote(own[0])} and {quote(origin)}, which place it; delete one"
        line = table.lines[origin]
        self.form.audit.error("duplicate-key", self.owner, line, message, found=origin)
        return False

    def value(self, key: str, node: Node, before: Joint | None) -> Any:
        """Return the value of a key; None after an error."""
        form, owner = self.form, self.owner
        if key in ("type", *self.ends[:2]):
            return form.name(node, key, owner)
        if key in self.ends:
            field = JOINT_ENDS[self.ends.index(key)]
            table = form.table(node, key, owner, AT)
            old = Pose() if before is None else getattr(before, field)
            return None if table is None else form.pose(table, owner, old)
        if key in ("axis", "axis2"):
            return form.vector(node, key, owner)
        if key == "limit":
            return self.limit(node, Limit() if before is None else before.limit or Limit())
        if key == "limits":
            return self.limits(node)
        if key == "actuated":
            return form.flag(node, key, owner)
        if key == "transmission":
            return self.transmission(node)
        if key == "rest" and isinstance(node, Items):
            return form.numbers(node, key, owner)
        number = form.number(node, key, owner)
        return (number,) if key == "rest" and number is not None else number

    def transmission(self, node: Node) -> tuple[tuple[float, ...], ...] | None:
        what, form = "transmission", self.form
        items = node.nodes if isinstance(node, Items) else ()
        loose = next((item for item in items if not isinstance(item, Items)), None)
        if loose is not None:
            allowed = "spatial forces, each a list of six"
            form.wrong(loose, what, self.owner, allowed, verb="holds")
            return None
        return form.items(node, what, "force", self.owner, self.force)

    def force(self, node: Node, what: str, owner: str) -> tuple[float, ...] | None:
        return self.form.numbers(node, f"{what} of the transmission", owner, 6)

    def limit(self, node: Node, before: Limit) -> Limit | None:
        if isinstance(node, Items):
            bounds = self.form.numbers(node, "limit", self.owner, 2)
            return None if bounds is None else replace(before, lower=bounds[0], upper=bounds[1])
        table = self.form.table(node, "limit", self.owner, _BOUNDS)
        if table is None:
            return None
        bounds_ = {
            key: self.form.number(below, f"{key} of the limit", self.owner, infinite=True)
            for key, below in table.nodes.items()
        }
        known = {key: value for key, value in bounds_.items() if value is not None}
        return replace(before, **known) if len(known) == len(bounds_) else None

    def limits(self, node: Node) -> tuple[Limit, ...] | None:
        if not isinstance(node, Items):
            allowed = "a list with a limit for each coordinate"
            self.form.wrong(node, "limits", self.owner, allowed, verb="are")
            return None
        limits = [self.limit(item, Limit()) for item in node.nodes]
        known = tuple(limit for limit in limits if limit is not None)
        return known if len(known) == len(limits) else None

    def fitting(self, before: Joint, table: YamlTable) -> Joint:
        """Return the joint without limits if its new type has other coordinates."""
        new_type = getattr(table.nodes.get("type"), "text", before.type)
        old, new = JOINT_SPECS[before.type], JOINT_SPECS.get(new_type)
        if new is None or (before.limit is None and not before.limits):
            return before
        if old.coordinates == new.coordinates:
            return before
        if "limit" not in table.nodes and "limits" not in table.nodes:
            message = (
                f"the limits of the former {before.type} joint are left out: "
                f"a {new_type} joint has other coordinates"
            )
            self.form.audit.add("note", "limit-left-out", self.owner, self.line, message)
        return replace(before, limit=None, limits=())


def couple(section: YamlTable, joints: Sequence[Joint], form: Form) -> list[Joint]:
    """Return the joints with the mimics of the section."""
    mimics = {}
    names = _names(joints)
    for name, node in section.nodes.items():
        owner = f"coupling {quote(name)}"
        table = form.table(node, "coupling", owner, ("follows", "ratio", "offset"), ("follows",))
        if not _exists(name, names, owner, section.lines[name], form) or table is None:
            continue
        follows = form.name(table.nodes["follows"], "follows", owner)
        factors = {
            key: form.number(table.nodes[key], key, owner)
            for key in ("ratio", "offset")
            if key in table.nodes
        }
        known = {key: value for key, value in factors.items() if value is not None}
        line = table.lines["follows"]
        if follows is not None and _exists(follows, names, owner, line, form):
            mimics[name] = Mimic(follows, **known)
    return [replace(j, mimic=mimics[j.name]) if j.name in mimics else j for j in joints]


def drive(section: YamlTable, joints: Sequence[Joint], form: Form) -> list[Joint]:
    """Return the joints with the prescribed motions of the section."""
    motions = {}
    names = _names(joints)
    for name, node in section.nodes.items():
        owner = f"drive {quote(name)}"
        motion = _motion(node, owner, form)
        if _exists(name, names, owner, section.lines[name], form) and motion is not None:
            motions[name] = motion
    return [replace(j, motion=motions[j.name]) if j.name in motions else j for j in joints]


def _motion(node: Node, owner: str, form: Form) -> Trajectory | str | None:
    if isinstance(node, YamlTable) and "function" in node.nodes:
        table = form.table(node, "drive by a function", owner, ("function",))
        return None if table is None else form.name(table.nodes["function"], "function", owner)
    keys = ("times", "positions", "periodic")
    table = form.table(node, "drive", owner, (*keys, "function"), ("times", "positions"))
    if table is None:
        return None
    times = form.numbers(table.nodes["times"], "times", owner)
    positions = _positions(table.nodes["positions"], owner, form)
    periodic: bool | None = False
    if "periodic" in table.nodes:
        periodic = form.flag(table.nodes["periodic"], "periodic", owner)
    if times is None or positions is None or periodic is None:
        return None
    return Trajectory(times, positions, periodic)


def _positions(node: Node, owner: str, form: Form) -> tuple[tuple[float, ...], ...] | None:
    if not isinstance(node, Items) or not any(isinstance(item, Items) for item in node.nodes):
        values = form.numbers(node, "positions", owner)
        return None if values is None else tuple((value,) for value in values)
    rows = [
        form.numbers(item, f"row {i} of the positions", owner)
        for i, item in enumerate(node.nodes, start=1)
    ]
    known = tuple(row for row in rows if row is not None)
    return known if len(known) == len(rows) else None


def _names(joints: Sequence[Joint]) -> set[str]:
    return {joint.name for joint in joints}


def _exists(name: str, names: set[str], owner: str, line: int, form: Form) -> bool:
    """Return whether the joint exists; if not, add an error."""
    if name in names:
        return True
    if not form.audit.partial:  # else it may be a joint that could not be read
        known = sorted(names)
        hint = form.audit.hint(name, known)
        message = f"there is no joint {quote(name)}{hint}"
        form.audit.error("unknown-joint", owner, line, message, found=name, allowed=listing(known))
    return False
