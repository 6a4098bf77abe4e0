# SPDX-License-Identifier: Apache-2.0
"""A trial: many runs of a robot and a controller, which differ in sampled numbers."""

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rbdyn_ros import __version__
from rbdyn_ros.actuators import ActuatorsDocument, with_actuators
from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.source import opened
from rbdyn_ros.dynamics.commanded import commanded_joints
from rbdyn_ros.errors import quote
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.policies import Policy
from rbdyn_ros.trials.distributions import Distribution
from rbdyn_ros.trials.python_code import PythonCode


@dataclass(frozen=True)
class Joints:
    """The joints that a trial controls and judges: all joints that accept commands.

    Attributes:
        names: their names.
        numbers: (n,), numbers of the joints in the Model.
        qposadr, dofadr: (n,), the joints' entries in qpos and qvel.
    """

    names: tuple[str, ...]
    numbers: Ints
    qposadr: Ints
    dofadr: Ints

    @classmethod
    def of(cls, m: Model) -> "Joints":
        """Return the joints of a Model."""
        numbers = commanded_joints(m)
        names = tuple(m.jnt_names[j] for j in numbers)
        return cls(names, numbers, m.jnt_qposadr_all[numbers], m.jnt_dofadr_all[numbers])


@dataclass(frozen=True)
class UserProgram:
    """The user's program, which answers states in lock-step: a ROS node, or a client of a box.

    Attributes:
        command: words of the command line; with a package, the executable and its arguments.
        package: ROS package of the executable, or "".
        folder: folder in which the program starts.
        joints: joints whose commands each tick awaits; empty: all joints that accept efforts.
        files: hash of the files in `folder` that the command names, or "".
        box: name of the control box that the program connects to; "" for a ROS node.
    """

    command: tuple[str, ...]
    package: str = ""
    folder: str = "."
    joints: tuple[str, ...] = ()
    files: str = ""
    box: str = ""

    @property
    def noun(self) -> str:
        """The word for the program in messages."""
        return "program" if self.box else "node"

    @property
    def written(self) -> str:
        """A text with everything that determines the commands of the program."""
        box = f" {self.box}" if self.box else ""
        return f"{self.command} {self.package} {self.joints} {self.files}{box}"

    @property
    def why_not_here(self) -> str:
        """The reason why this machine cannot run the program that the trial has read, or ""."""
        if not Path(self.folder).is_dir():
            where = quote(self.folder, 200)
            return f"there is no folder {where}, in which the {self.noun} starts"
        if hash_of_files(self.folder, self.command) != self.files:
            text = f"files in the command of the {self.noun} have changed since the trial"
            return f"{text} was read, or this machine has other files"
        return ""


def with_address(words: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    """Return the words of a command line with the IPv4 address `old` replaced by `new`."""
    there = re.compile(rf"(?<![\d.]){re.escape(old)}(?![\d.])")
    return tuple(there.sub(new, word) for word in words)


def hash_of_files(folder: str, words: tuple[str, ...]) -> str:
    """Return the hash of the files that a command line names by paths relative to `folder`."""
    found = hashlib.sha256()
    for word in words:
        file = Path(folder) / word
        if kind_of(file) == "file":
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


@dataclass(frozen=True)
class TrialRobot:
    """The file of the robot, for a simulator that itself loads the file.

    Attributes:
        file: path of a robot or scene.
        is_scene: whether the file is a scene.
        floating_base, contact, strict: see `rb.load`.
    """

    file: RobotFile
    is_scene: bool = False
    floating_base: bool = False
    contact: bool = False
    strict: bool = True

    @property
    def path(self) -> str:
        """The path of the file."""
        return str(self.file.path)

    @functools.cached_property
    def description(self) -> Description:
        """The description of the robot or scene.

        Raises:
            RbdynError: the file cannot be read.
        """
        return opened(self.file, strict=self.strict, contact=self.contact).description


@dataclass(frozen=True)
class TrialController:
    """The controller that computes the joint forces of every run.

    Attributes:
        policy: a law that is compiled, or None.
        code: a function of the user, or None.
        traced: whether the function is compiled; otherwise each run calls it in Python.
        every: number of timesteps from one command to the next.
        program: a ROS node of the user or a client of a control box, or None.
    """

    policy: Policy | None = None
    code: PythonCode | None = None
    traced: bool = False
    every: int = 1
    program: UserProgram | None = None

    @property
    def isolated(self) -> bool:
        """Return whether each run needs a separate process."""
        return self.program is not None or (self.code is not None and not self.traced)

    @property
    def written(self) -> str:
        """A text with everything that determines the commands."""
        law = self.policy
        gains = "" if law is None else {name: x.tolist() for name, x in law.gains.items()}
        kind = "" if law is None else f"{type(law).__name__} {law.limit}"
        program = "" if self.program is None else f" {self.program.written}"
        return f"{kind} {gains} {self.code} {self.traced} {self.every}{program}"


@dataclass(frozen=True)
class Varied:
    """A number that differs between runs.

    Attributes:
        section: start, vary, payload, actuators or faults.
        key: name of the number, such as position, dof_damping or lugre.coulomb.
        part: joint, body or axis that the number belongs to, or "".
        distribution: distribution of its samples.
    """

    section: str
    key: str
    part: str
    distribution: Distribution

    @property
    def name(self) -> str:
        """The name of the number in results."""
        section = "" if self.section == "vary" else f"{self.section}."
        return f"{section}{self.key}{'.' if self.part else ''}{self.part}"


def whole_steps(time: float, m: Model) -> float:
    """Return the multiple of the timestep of m that is nearest to a time [s]."""
    step = float(m.opt.timestep)
    return round(time / step) * step


@dataclass(frozen=True)
class MeasureLimit:
    """The allowed range of a measure; a run whose value is outside has failed."""

    low: float = -np.inf
    high: float = np.inf

    def holds(self, value: float | None) -> bool:
        """Return whether a value is within the limit; False for None (no finite value)."""
        return value is not None and self.low <= value <= self.high

    def __str__(self) -> str:
        parts = [f"at least {self.low:g}"] * (self.low > -np.inf)
        return " and ".join([*parts, *[f"at most {self.high:g}"] * (self.high < np.inf)])


@dataclass(frozen=True)
class Rule:
    """The rule that decides the verdict.

    Attributes:
        pass_rate: share of runs that must pass, with confidence; None: all runs must pass.
        confidence: confidence of the intervals and of the decision.
    """

    pass_rate: float | None = None
    confidence: float = 0.95


@dataclass(frozen=True)
class Allowance:
    """The time and memory that a run of a Python controller or of a program may use.

    Attributes:
        time: wall time [s].
        memory: memory that a controller may use in addition to its process's memory at the start,
            or the data segment of each process of a program [MiB].
    """

    time: float = 60.0
    memory: float = 2048.0


@dataclass(frozen=True)
class Trial:
    """A trial, as `load` reads it.

    Attributes:
        name: name in reports.
        path: path of the trial file.
        m: Model of the robot or scene, with the timestep of the trial and without actuators; the
            controller gets this Model.
        nstep: number of timesteps of a run.
        controller: the controller that is tested.
        reference: (nstep + 1, nq + 2 nv), target qpos, qvel and qacc by timestep.
        varied: the numbers that differ between runs.
        payload_link: the link to which the payload is fixed, or "".
        runs: number of runs.
        first_seed: the seeds are first_seed, first_seed + 1, ...
        settling_band: largest position error at rest [rad or m].
        functions: the user-defined measures by name.
        limits: limits by measure.
        rule: the rule of the verdict.
        allowance: limits of time and memory.
        recordings: number of failed runs to record, the worst runs.
        urdf: text of the robot's URDF, for recordings, or "".
        robot_file: the file of the robot or scene, and how it is loaded.
        actuators: content of the actuators file, or None.
    """

    name: str
    path: str
    m: Model
    nstep: int
    controller: TrialController
    reference: Array
    varied: tuple[Varied, ...] = ()
    payload_link: str = ""
    runs: int = 100
    first_seed: int = 0
    settling_band: float = 0.02
    functions: Mapping[str, PythonCode] = field(default_factory=dict)
    limits: Mapping[str, MeasureLimit] = field(default_factory=dict)
    rule: Rule = Rule()
    allowance: Allowance = Allowance()
    recordings: int = 0
    urdf: str = ""
    robot_file: TrialRobot = TrialRobot(RobotFile(""))
    actuators: ActuatorsDocument | None = None

    @property
    def seeds(self) -> range:
        """The seeds of all runs."""
        return range(self.first_seed, self.first_seed + self.runs)

    @property
    def duration(self) -> float:
        """Simulated time of a run [s]."""
        return self.nstep * float(self.m.opt.timestep)

    @functools.cached_property
    def joints(self) -> Joints:
        """The controlled and judged joints."""
        return Joints.of(self.m)

    @functools.cached_property
    def plant(self) -> Model:
        """The simulated Model: m with actuators, and room for their longest delays."""
        if self.actuators is None:
            return self.m
        delays = {
            (x.part, x.key): whole_steps(x.distribution.range[1], self.m)
            for x in self.varied
            if x.section == "actuators" and x.key == "delay"
        }
        return with_actuators(self.m, self.actuators.specs(self.m, delays))

    @functools.cached_property
    def digest(self) -> str:
        """Hash of everything that determines a run; limits of measures, time and memory do not."""
        facts = hashlib.sha256(f"{__version__} {self.m.opt!r} {self.nstep}".encode())
        for each in MODEL_FIELDS:
            facts.update(getattr(self.plant, each.name).tobytes())
        facts.update(b"" if self.actuators is None else self.actuators.text)
        facts.update(self.reference.tobytes())
        facts.update(repr((self.varied, self.payload_link, self.settling_band)).encode())
        facts.update(f"{self.controller.written} {sorted(self.functions.items())}".encode())
        return facts.hexdigest()[:16]
