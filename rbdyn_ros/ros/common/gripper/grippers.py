# SPDX-License-Identifier: Apache-2.0
"""Grippers that move one joint: limits, presets (config/grippers.yaml) and goals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.yaml_files.kinds import Name, Number, ValuePlace
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table
from rbdyn_ros.description.yaml_files.text import parse
from rbdyn_ros.dynamics.commanded import reason_passive
from rbdyn_ros.errors import (
    Finding,
    ParameterError,
    apart,
    did_you_mean,
    exactly,
    listing,
    quote,
    refusal,
)
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.settings.parameters import Parameter, group
from rbdyn_ros.share import share_dir

FILE = Path("config", "grippers.yaml")
#: Topic for goals of all grippers of a robot: position, largest velocity and effort of a joint.
TOPIC = "gripper_commands"
#: A goal may exceed the stroke by this rounding error of decimals [rad or m].
ON_LIMIT = 1e-9

PARAMETERS = group(
    "grippers",
    Parameter("grippers", (), "joints of grippers, or presets such as franka_hand "
        "(config/grippers.yaml), each with the actions gripper_cmd and parallel_gripper_cmd"),
    Parameter("gripper.goal_tolerance", 0.01,
        "distance from the goal at which a gripper has reached it", "rad or m", 0.0, 10.0),
    Parameter("gripper.allow_stalling", False, "a goal also succeeds if the gripper stalls"),
    Parameter("gripper.stall_velocity_threshold", 0.001, "speed below which a gripper may have "
        "stalled",
        "rad/s or m/s", 0.0, 10.0),
    Parameter("gripper.stall_timeout", 1.0, "time below gripper.stall_velocity_threshold after "
        "which a gripper has stalled", "s", 0.0, 1e6),
    Parameter("gripper.timeout", 0.0, "time after which a goal is aborted; 0: never", "s", 0.0,
        1e6),
    Parameter("gripper.max_effort", 0.0, "largest effort if a goal gives no effort; 0: the limit "
        "of the joint or the preset", "N or N m", 0.0, 1e6),
    Parameter("gripper.max_velocity", 0.0, "largest speed if a goal gives no speed; 0: the "
        "limit of the joint", "rad/s or m/s", 0.0, 1e3),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GripperPreset:
    """Data of a commercial gripper, from config/grippers.yaml.

    Attributes:
        joint: name of the joint that moves it; in a robot the name may have a prefix.
        closed, open: positions of this joint [rad or m].
        width: distance between the fingers when the gripper is open [m]; when closed it is 0.
        source: address of the document with these values.
        force: largest force between the fingers [N]; infinite: no limit.
    """

    joint: str
    closed: float
    open: float
    width: float
    source: str
    force: float = math.inf

    @property
    def slope(self) -> float:
        """Change of the width per change of the position [m/rad or 1]."""
        return self.width / (self.open - self.closed)


PRESETS = ByName(
    Table(
        "gripper",
        (
            Key("joint", Name(), "name of the joint, without a prefix", needed=True),
            Key("closed", Number(), "position of the joint where the fingers meet", needed=True),
            Key("open", Number(), "position of the joint where the gripper is open", needed=True),
            Key("width", Number(above=0.0, unit="m"), "distance of the open fingers", needed=True),
            Key("force", Number(above=0.0, unit="N"), "largest force between the fingers"),
            Key("source", Name(), "address of the document with these values", needed=True),
        ),
        make=GripperPreset,
    ),
    "gripper",
    element="gripper",
)


@cache
def gripper_presets() -> Mapping[str, GripperPreset]:
    """Return all presets of config/grippers.yaml by name.

    Raises:
        DescriptionError: with all errors of the file, each with its line.
    """
    path, audit = share_dir() / FILE, Audit()
    node = parse(path.read_bytes(), str(path), audit, "a list of grippers")
    found = PRESETS.read(node, ValuePlace(audit))
    audit.raise_errors(str(path))
    return dict(found or {})


@dataclass(frozen=True, slots=True)
class GripperGoal:
    """The goal of a gripper, its speed and its largest effort.

    Attributes:
        position: position of its joint [rad or m].
        velocity: largest speed [rad/s or m/s].
        effort: largest effort [N m or N].
    """

    position: float
    velocity: float
    effort: float


@dataclass(frozen=True, slots=True)
class Gripper:
    """One joint that opens and closes fingers; mimic joints follow it.

    Attributes:
        joint: name of the joint.
        lower, upper: the stroke [rad or m].
        velocity, effort: limits of the joint [rad/s or m/s, N m or N].
        most_velocity, most_effort: limits of a goal that names no limits.
        preset: has the width of the gripper; None: the width is not known.
    """

    joint: str
    lower: float
    upper: float
    velocity: float
    effort: float
    most_velocity: float
    most_effort: float
    preset: GripperPreset | None = None

    def width(self, position: float) -> float:
        """Return the distance between the fingers [m], or NaN if it is not known."""
        preset = self.preset
        return math.nan if preset is None else preset.slope * (position - preset.closed)

    def force(self, effort: float) -> float:
        """Return the force between the fingers at a measured effort [N], or NaN if it is unknown.

        Both do the same work: force * d width = effort * d position.
        """
        return math.nan if self.preset is None else abs(effort / self.preset.slope)

    def goal(
        self, position: float, velocity: float | None = None, effort: float | None = None
    ) -> GripperGoal:
        """Return a checked goal, with velocity and effort clamped to the limits of the joint.

        None: the default velocity or effort.

        Raises:
            RbdynError: a number is not finite, the position is outside the stroke, or a limit is
                not above 0.
        """
        if not math.isfinite(position):
            raise refusal(self._text("position", position, "a finite number"))
        if not self.lower - ON_LIMIT <= position <= self.upper + ON_LIMIT:
            found, low, high = apart(position, self.lower, self.upper)
            raise refusal(
                f"the position of gripper {quote(self.joint)} is {found}, outside its stroke from "
                f"{low} to {high}"
            )
        for kind, limit in (("velocity", velocity), ("effort", effort)):
            if limit is not None and not (math.isfinite(limit) and limit > 0.0):
                raise refusal(self._text(f"largest {kind}", limit, "a finite number above 0"))
        fastest = self.most_velocity if velocity is None else min(velocity, self.velocity)
        strongest = self.most_effort if effort is None else min(effort, self.effort)
        return GripperGoal(position, fastest, strongest)

    def staying(self, position: float) -> GripperGoal:
        """Return the goal to stay at a measured position [m or rad], clamped to the stroke."""
        place = min(max(position, self.lower), self.upper)
        return GripperGoal(place, self.most_velocity, self.most_effort)

    def goal_of(
        self,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> GripperGoal:
        """Return the goal of a sensor_msgs/JointState, whose name may be empty.

        Raises:
            RbdynError: the message names another joint or has more than one number of a kind, or
                `goal` refuses it.
        """
        if list(names) not in ([], [self.joint]):
            raise refusal(f"it names {listing(names)}; the gripper moves {quote(self.joint)}")
        if len(position) != 1:
            raise refusal(f"it has {len(position)} positions; the gripper takes one")
        limits = []
        for kind, given in (("velocities", velocity), ("efforts", effort)):
            if len(given) > 1:
                raise refusal(f"it has {len(given)} {kind}; the gripper takes one or none")
            limits.append(given[0] if len(given) else None)
        return self.goal(position[0], *limits)

    def _text(self, kind: str, value: float, allowed: str) -> str:
        return (
            f"the {kind} of gripper {quote(self.joint)} is {exactly(value)}; allowed is {allowed}"
        )


def grippers_of(m: Model, values: SimpleNamespace) -> tuple[Gripper, ...]:
    """Return the grippers that the parameters name.

    Raises:
        ParameterError: a gripper cannot be moved.
    """
    limits = getattr(values, "gripper.max_velocity"), getattr(values, "gripper.max_effort")
    found = tuple(gripper_of(m, name, *limits) for name in values.grippers)
    joints = [gripper.joint for gripper in found]
    for joint in joints:
        if joints.count(joint) > 1:
            raise _error(joint, f"joint {quote(joint)} is named twice")
    return found


def gripper_of(m: Model, name: str, max_velocity: float = 0.0, max_effort: float = 0.0) -> Gripper:
    """Return a gripper by the name of its joint or preset.

    Args:
        m: the Model.
        name: name of the joint, or of the preset.
        max_velocity: velocity of a goal that names no velocity [rad/s or m/s]; 0: limit of the
            joint.
        max_effort: effort of a goal that names no effort [N or N m]; 0: limit of the joint or the
            preset.

    Raises:
        ParameterError: there is no such gripper, or it cannot be moved.
    """
    preset = None if name in m.jnt_names else gripper_presets().get(name)
    joint = name if preset is None else _joint_of(m, name, preset)
    if joint not in m.jnt_names:
        known = [*m.jnt_names, *gripper_presets()]
        raise _error(
            name,
            f"there is no joint and no preset {quote(name)}{did_you_mean(name, known)}; the "
            f"presets are {', '.join(gripper_presets())}",
        )
    j = m.jnt_names.index(joint)
    if reason := _reason_not(m, j):
        raise _error(name, f"joint {quote(joint)} {reason}")
    lower, upper = map(float, m.jnt_range[j])
    velocity, effort = float(m.jnt_velocity[j]), float(m.jnt_effort[j])
    strongest = effort if preset is None else min(effort, preset.force * abs(preset.slope))
    return Gripper(
        joint,
        lower,
        upper,
        velocity,
        effort,
        min(velocity, max_velocity or math.inf),
        min(strongest, max_effort or math.inf),
        preset,
    )


def presets_of(m: Model) -> tuple[str, ...]:
    """Return the names of the presets that fit exactly one joint of a robot."""
    presets = gripper_presets().items()
    return tuple(name for name, preset in presets if len(_joints_of(m, preset)) == 1)


def _joints_of(m: Model, preset: GripperPreset) -> list[str]:
    """Return the joints of a robot that a preset can move."""
    # the name is the preset's joint, alone or after a prefix that ends with _ or /
    return [
        str(joint)
        for joint, mimicked in zip(m.jnt_names, m.jnt_mimic, strict=True)
        if mimicked < 0 and f"/{joint}".endswith((f"_{preset.joint}", f"/{preset.joint}"))
    ]


def _joint_of(m: Model, name: str, preset: GripperPreset) -> str:
    """Return the joint of a robot that a preset moves, or raise ParameterError."""
    ends = _joints_of(m, preset)
    if len(ends) == 1:
        return ends[0]
    found = listing(ends) if ends else "none of its joints"
    raise _error(
        name,
        f"preset {quote(name)} moves a joint whose name ends with {quote(preset.joint)}; in the "
        f"robot that is {found}. Name the joint itself",
    )


def _reason_not(m: Model, j: int) -> str:
    """Return a reason why joint j cannot move a gripper, or ""; it follows the joint's name."""
    if m.jnt_mimic[j] >= 0:
        leader = m.jnt_names[m.jnt_mimic[j]]
        return f"mimics joint {quote(str(leader))}; name that joint"
    if m.jnt_dofnum[j] != 1:
        return "does not have one coordinate"
    if reason := reason_passive(m, j):
        return reason
    if not all(map(math.isfinite, m.jnt_range[j])):
        return "has no position limits, so its stroke is not known"
    if not math.isfinite(m.jnt_effort[j]):
        return "has no effort limit"
    return ""


def _error(name: str, text: str) -> ParameterError:
    text = f"parameter 'grippers': {text}."
    return ParameterError(Finding("grippers", text, "error", "grippers", None, name))
