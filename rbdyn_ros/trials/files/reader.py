"""Read a trial from a YAML file.

    rbdyn_trial: 1                  # version of this format
    name: arm with payloads         # default: the name of the file
    robot: arm.urdf                 # .urdf, .xacro, mechanism or scene .yaml, .npz of rb.save
    floating_base: false
    contact: false                  # of the <collision> elements of a .urdf
    runs: 1000
    first_seed: 0                   # the seeds are 0 to 999
    duration: 5.0                   # [s]
    timestep: 0.001                 # [s], default: of the robot

    controller:
      law: computed_torque          # pd, pd_gravity or computed_torque
      stiffness: 100                # one number, or one per joint by name
      damping: 20
      limit: true                   # default false: efforts are limited by the simulator only
      # traced: laws.py:swing       # or a function that is compiled
      # python: policy.py:control   # or one that every run calls in a process of its own
      rate: 1000                    # [Hz], default: every timestep

    reference:                      # by joint; the others stay at the start of the robot
      elbow: 0.5                    # a step at time 0
      wrist: {times: [0, 2], positions: [0, 1], smooth: true}
      waist: {amplitude: 0.3, frequency: 0.5, offset: 0.1}

    start:                          # by joint: numbers or distributions
      position: {elbow: {normal: {mean: 0, stddev: 0.1, low: -1, high: 1}}}
      velocity: {elbow: {uniform: {low: -0.1, high: 0.1}}}
    payload: {link: tool, mass: {uniform: {low: 0, high: 3}}, x: 0, y: 0, z: 0.05}
    vary:
      dof_damping: {elbow: {loguniform: {low: 0.1, high: 10}}}
      body_mass: {hand: {normal: {mean: 1, stddev: 0.1, low: 0}}}
    faults:
      command_delay: {choice: [0, 0.002, 0.004]}
      position_noise: 1e-4

    measures:
      settling_band: 0.02
      smoothness: {python: measures.py:smoothness}
    limits:                         # one number: at most
      tracking_rms: 0.05
      base_height: {min: 0.3}
    verdict: {pass_rate: 0.99, confidence: 0.95}      # default: every run must pass
    process: {time: 60, memory: 2048}     # of a run of a python controller [s], [MiB]
    recordings: 3                   # of failed runs, as MCAP; default 0

Files are found from the folder of this file. docs/guides/trials.md describes all keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.description.files import read_bytes
from rbdyn_ros.description.mechanism_files.yaml_text import Node, Scalar, YamlTable, parse
from rbdyn_ros.description.urdf_files.guard import refuse
from rbdyn_ros.errors import RbdynError, quote
from rbdyn_ros.loading.load import load as load_model
from rbdyn_ros.loading.robot_names import robot_by_name
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.policies import (
    ComputedTorquePolicy,
    PDGravityPolicy,
    PDPolicy,
    Policy,
)
from rbdyn_ros.trials.files.forms import TrialForm
from rbdyn_ros.trials.files.sampled import SampledReader
from rbdyn_ros.trials.python_code import PythonCode
from rbdyn_ros.trials.references import Path, Sine, Waypoints, reference_table
from rbdyn_ros.trials.simulation.measures import MEASURES, OF_BASE
from rbdyn_ros.trials.simulation.simulated import floating_base
from rbdyn_ros.trials.trial import Allowance, Controller, Joints, Limit, Rule, Trial

VERSION = "rbdyn_trial"
KEYS = (
    VERSION, "name", "robot", "floating_base", "contact", "runs", "first_seed", "duration",
    "timestep", "controller", "reference", "start", "payload", "vary", "faults", "measures",
    "limits", "verdict", "process", "recordings",
)  # fmt: skip
NEEDED = (VERSION, "robot", "duration", "controller")

LAWS = {"pd": PDPolicy, "pd_gravity": PDGravityPolicy, "computed_torque": ComputedTorquePolicy}

MAX_RUNS, MAX_STEPS, MAX_SEED, MAX_RECORDINGS = 10_000_000, 10_000_000, 2**53, 1000


def load(path: str | FilePath) -> Trial:
    """Read a trial file. The Python files that it names are read, but not run.

    Args:
        path: of the file.

    Raises:
        DescriptionError: with all errors of the document, each with its line; or the robot is
            refused.
    """
    path = FilePath(path)
    data = read_bytes(path, "a .yaml file", "the path of a trial file")
    audit = Audit()
    top = parse(data, str(path), audit, "a trial")
    version = top.nodes.get(VERSION)
    if getattr(version, "text", None) != "1":
        line = top.line if version is None else top.lines[VERSION]
        message = f"this is not a trial file: it does not have '{VERSION}: 1' at the top"
        refuse("not-a-trial", message, str(path), line, allowed=f"{VERSION}: 1")
    trial = _Reader(top, path, audit).trial()
    audit.raise_errors(str(path))
    assert trial is not None
    return trial


def with_runs(trial: Trial, runs: int) -> Trial:
    """Return the trial with another number of runs.

    Raises:
        ParameterError: the number is not allowed.
    """
    return replace(trial, runs=count("runs", runs, 1, MAX_RUNS))


class _Reader:
    """Reads one document."""

    def __init__(self, top: YamlTable, path: FilePath, audit: Audit) -> None:
        self._top, self._path, self._audit = top, path, audit
        self._form, self._urdf = TrialForm(audit, path.parent), ""

    def trial(self) -> Trial | None:
        """Return the trial; None after an error."""
        self._form.table(self._top, "trial", "", KEYS, NEEDED)
        m = self._robot()
        duration = self._number("duration", 0.0, above=True)
        if m is None or duration is None:
            return None
        step = float(m.opt.timestep)
        nstep = round(duration / step)
        if not 1 <= nstep <= MAX_STEPS:
            allowed = f"from {step:g} to {MAX_STEPS * step:g}"
            self._form.wrong(self._top.nodes["duration"], "duration", "", f"a time {allowed} s")
            return None
        varied, link = SampledReader(self._form, m, duration).varied(self._top)
        band, functions = self._measures()
        settings: dict[str, Any] = {
            "controller": self._controller(m),
            "reference": reference_table(m, nstep, self._reference(m)),
            "varied": varied,
            "payload_link": link,
            "settling_band": band,
            "functions": functions,
            "limits": self._limits(m, functions),
            "rule": self._rule(),
            "allowance": self._allowance(),
            "urdf": self._urdf,
        }
        for key, low, high in (
            ("runs", 1, MAX_RUNS),
            ("first_seed", 0, MAX_SEED),
            ("recordings", 0, MAX_RECORDINGS),
        ):
            if key in self._top.nodes:
                node = self._top.nodes[key]
                settings[key] = self._form.whole_within(node, key, "", low, high)
        if self._audit.errors:
            return None
        return Trial(self._name(), str(self._path), m, nstep, **settings)

    def _name(self) -> str:
        node = self._top.nodes.get("name")
        found = None if node is None else self._form.name(node, "name", "")
        return found or self._path.stem

    def _number(self, key: str, low: float, *, above: bool = False) -> float | None:
        node = self._top.nodes.get(key)
        return None if node is None else self._form.within(node, key, "", low, above=above)

    def _flag(self, key: str) -> bool:
        node = self._top.nodes.get(key)
        return node is not None and self._form.flag(node, key, "") is True

    def _robot(self) -> Model | None:
        """Return the Model, with the timestep of the trial."""
        node = self._top.nodes.get("robot")
        name = None if node is None else self._form.name(node, "robot", "")
        floating_base, contact = self._flag("floating_base"), self._flag("contact")
        step = self._number("timestep", 0.0, above=True)
        if node is None or name is None:
            return None
        try:
            file = self._path.parent / name
            if not file.suffix and not file.exists():
                file = robot_by_name(name)
            m = load_model(file, floating_base=floating_base, contact=contact)
            if file.suffix == ".urdf":
                self._urdf = file.read_text(encoding="utf-8", errors="replace")
        except RbdynError as error:
            self._audit.error("bad-robot", "robot", node.line, str(error), found=name)
            return None
        if step is not None:
            m.opt.timestep = step
        return m

    # the controller

    def _controller(self, m: Model) -> Controller | None:
        kinds, form = ("law", "traced", "python"), self._form
        keys = (*kinds, "stiffness", "damping", "limit", "rate")
        node = self._top.nodes.get("controller")
        table = None if node is None else form.table(node, "controller", "", keys)
        if table is None:
            return None
        given = [kind for kind in kinds if kind in table.nodes]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            message = f"has {found} of {', '.join(kinds)}; it must have exactly one"
            self._audit.error("bad-controller", "controller", table.line, message, found=found)
            return None
        every = self._every(m, table)
        if given[0] == "law":
            policy = self._policy(m, table)
            return None if policy is None else Controller(policy, every=every)
        for key in ("stiffness", "damping", "limit"):
            if key in table.nodes:
                message = f"{key} belongs to a law; a function has its own numbers"
                self._audit.error("unknown-key", "controller", table.lines[key], message)
        code = form.code(table.nodes[given[0]], given[0], "controller")
        traced = given[0] == "traced"
        return None if code is None else Controller(None, code, traced, every)

    def _every(self, m: Model, table: YamlTable) -> int:
        """Return the timesteps from one command to the next."""
        node = table.nodes.get("rate")
        rate = None if node is None else self._form.within(node, "rate", "controller", 0.0,
                                                           above=True)  # fmt: skip
        if node is None or rate is None:
            return 1
        every = 1.0 / (rate * float(m.opt.timestep))
        if every < 0.999 or abs(every - round(every)) > 1e-6 * every:
            base = 1.0 / float(m.opt.timestep)
            allowed = f"{base:g} Hz, the rate of the timesteps, divided by 1, 2, 3, ..."
            self._form.wrong(node, "rate", "controller", allowed)
            return 1
        return round(every)

    def _policy(self, m: Model, table: YamlTable) -> Policy | None:
        form, owner = self._form, "controller"
        name = form.name(table.nodes["law"], "law", owner)
        if name is None or form.known(name, LAWS, "law", owner, table.lines["law"]) is None:
            return None
        limit = "limit" in table.nodes and form.flag(table.nodes["limit"], "limit", owner) is True
        gains = []
        for key in ("stiffness", "damping"):
            if key not in table.nodes:
                self._audit.error("missing-key", owner, table.line, f"it has no key '{key}'")
                continue
            gains.append(self._gain(m, table.nodes[key], key))
        if len(gains) < 2 or any(gain is None for gain in gains):
            return None
        return LAWS[name](gains[0], gains[1], limit)

    def _gain(self, m: Model, node: Node, key: str) -> Any:
        """Return a gain, one number or (nv,)."""
        if not isinstance(node, YamlTable):
            return self._form.within(node, key, "controller", 0.0)
        joints, gains = Joints.of(m), np.zeros(m.nv)
        for joint, below in node.nodes.items():
            line = node.lines[joint]
            if self._form.known(joint, joints.names, "joint", key, line) is None:
                return None
            value = self._form.within(below, f"{key} of {quote(joint)}", "controller", 0.0)
            if value is None:
                return None
            gains[joints.dofadr[joints.names.index(joint)]] = value
        return gains

    # the motion

    def _reference(self, m: Model) -> Mapping[str, Path]:
        node, names = self._top.nodes.get("reference"), Joints.of(m).names
        if node is None:
            return {}
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "reference", "", "a table of joints")
            return {}
        found: dict[str, Path] = {}
        for joint, below in node.nodes.items():
            owner = "reference"
            if self._form.known(joint, names, "joint", owner, node.lines[joint]) is None:
                continue
            path = self._path_of(joint, below)
            if path is not None:
                found[joint] = path
        return found

    def _path_of(self, joint: str, node: Node) -> Path | None:
        form, owner = self._form, f"reference of {quote(joint)}"
        if isinstance(node, Scalar):
            value = form.number(node, "position", owner)
            return None if value is None else Waypoints((0.0,), (value,), smooth=False)
        if isinstance(node, YamlTable) and "times" in node.nodes:
            return self._waypoints(node, owner)
        keys = ("amplitude", "frequency", "offset")
        table = form.table(node, "motion", owner, keys, keys[:2])
        if table is None:
            return None
        given = {key: form.number(below, key, owner) for key, below in table.nodes.items()}
        values = {key: value for key, value in given.items() if value is not None}
        return Sine(**values) if len(values) == len(given) else None

    def _waypoints(self, node: YamlTable, owner: str) -> Waypoints | None:
        form, keys = self._form, ("times", "positions", "smooth")
        table = form.table(node, "motion", owner, keys, keys[:2])
        if table is None:
            return None
        times = form.numbers(table.nodes["times"], "times", owner)
        positions = form.numbers(table.nodes["positions"], "positions", owner)
        smooth = True
        if "smooth" in table.nodes:
            smooth = form.flag(table.nodes["smooth"], "smooth", owner) is True
        if not times or positions is None:
            return None
        if len(times) != len(positions) or (np.diff(times) <= 0.0).any():
            message = (
                f"it has {len(times)} times and {len(positions)} positions; allowed are as many "
                "of both, and increasing times"
            )
            self._audit.error("bad-motion", owner, table.line, message)
            return None
        return Waypoints(times, positions, smooth)

    # measures and limits

    def _measures(self) -> tuple[float, dict[str, PythonCode]]:
        node, functions, band = self._top.nodes.get("measures"), dict[str, PythonCode](), 0.02
        if node is None:
            return band, functions
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "measures", "", "a table of names")
            return band, functions
        for name, below in node.nodes.items():
            owner = f"measure {quote(name)}"
            if name == "settling_band":
                band = self._form.within(below, name, "", 0.0, above=True) or band
                continue
            if name in MEASURES:
                message = "it is built in; choose another name for your own"
                self._audit.error("duplicate-measure", owner, node.lines[name], message)
                continue
            table = self._form.table(below, "measure", owner, ("python",), ("python",))
            code = table and self._form.code(table.nodes["python"], "python", owner)
            if code:
                functions[name] = code
        return band, functions

    def _limits(self, m: Model, functions: Mapping[str, PythonCode]) -> dict[str, Limit]:
        node, limits = self._top.nodes.get("limits"), dict[str, Limit]()
        if node is None:
            return limits
        if not isinstance(node, YamlTable):
            self._form.wrong(node, "limits", "", "a table of measures")
            return limits
        known = [name for name in MEASURES if name not in OF_BASE or floating_base(m) >= 0]
        known += functions
        for name, below in node.nodes.items():
            if self._form.known(name, known, "measure", "limits", node.lines[name]) is None:
                continue
            limit = self._limit(name, below)
            if limit is not None:
                limits[name] = limit
        return limits

    def _limit(self, name: str, node: Node) -> Limit | None:
        owner = f"limit of {name}"
        if not isinstance(node, YamlTable):
            value = self._form.number(node, "largest value", owner)
            return None if value is None else Limit(high=value)
        table = self._form.table(node, "limit", owner, ("min", "max"))
        if table is None:
            return None
        given = {key: self._form.number(x, key, owner) for key, x in table.nodes.items()}
        if None in given.values():
            return None
        low, high = given.get("min"), given.get("max")
        if not given or (low is not None and high is not None and low > high):
            self._form.wrong(node, "limit", owner, "a min, a max of at least that, or both")
            return None
        return Limit(-np.inf if low is None else low, np.inf if high is None else high)

    def _rule(self) -> Rule:
        node, found = self._top.nodes.get("verdict"), dict[str, Any]()
        if node is None:
            return Rule()
        table = self._form.table(node, "verdict", "", ("pass_rate", "confidence"))
        for key, below in table.nodes.items() if table else ():
            value = self._form.within(below, key, "verdict", 0.0, 1.0, above=True)
            if key == "confidence" and value == 1.0:
                self._form.wrong(below, key, "verdict", "a number below 1")
            found[key] = value
        return Rule(**found)

    def _allowance(self) -> Allowance:
        node, found = self._top.nodes.get("process"), dict[str, Any]()
        if node is None:
            return Allowance()
        table = self._form.table(node, "process", "", ("time", "memory"))
        for key, below in table.nodes.items() if table else ():
            found[key] = self._form.within(below, key, "process", 0.0, above=True)
        return Allowance(**found)
