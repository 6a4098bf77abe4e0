"""Read a trial from a YAML file.

    rbdyn_trial: 1                  # version of this format
    name: arm with payloads         # default: the name of the file
    robot: arm.urdf                 # .urdf, .xacro, mechanism or scene .yaml, .npz of rb.save
    floating_base: false
    contact: false                  # of the <collision> elements of a .urdf
    exact_stops: true               # of dry friction and limits; default: with contact or a node
    runs: 1000
    first_seed: 0                   # the seeds are 0 to 999
    duration: 5.0                   # [s]
    timestep: 0.001                 # [s], default: of the robot
    actuators: actuators.yaml       # motors, gears and drives of joints; default: none

    controller:
      law: computed_torque          # pd, pd_gravity or computed_torque
      stiffness: 100                # one number, or one per joint by name
      damping: 20
      limit: true                   # default false: efforts are limited by the simulator only
      # traced: laws.py:swing       # or a function that is compiled
      # python: policy.py:control   # or one that every run calls in a process of its own
      # node: {command: [python3, my_node.py]}   # or a ROS node, by the simulator in lock-step
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
      actuators:                    # keys of the actuators file with one number
        gear: {elbow: {uniform: {low: 95, high: 105}}}
        lugre: {coulomb: {uniform: {low: 0.01, high: 0.03}}}
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

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdyn_ros.actuators import ActuatorsDocument, with_actuators
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.description.mechanism_files.yaml_text import YamlTable, check_version, parse
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.scene_files.scene import is_scene
from rbdyn_ros.errors import RbdynError, exactly
from rbdyn_ros.loading.load import load as load_model
from rbdyn_ros.loading.robot_names import robot_by_name
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.files.actuated import VariedActuators
from rbdyn_ros.trials.files.controllers import ControllerReader
from rbdyn_ros.trials.files.forms import MAX_STEPS, TrialForm
from rbdyn_ros.trials.files.judgement import JudgementReader
from rbdyn_ros.trials.files.motions import MotionReader
from rbdyn_ros.trials.files.sampled import SampledReader
from rbdyn_ros.trials.references import reference_table
from rbdyn_ros.trials.trial import Joints, RobotFile, Trial, Varied

VERSION = "rbdyn_trial"
KEYS = (
    VERSION, "name", "robot", "floating_base", "contact", "exact_stops", "runs", "first_seed",
    "duration", "timestep", "actuators", "controller", "reference", "start", "payload", "vary",
    "faults", "measures", "limits", "verdict", "process", "recordings",
)  # fmt: skip
NEEDED = (VERSION, "robot", "duration", "controller")

MAX_RUNS, MAX_SEED, MAX_RECORDINGS = 10_000_000, 2**53, 1000


def load(path: str | Path) -> Trial:
    """Read a trial file. The Python files that it names are read, but not run.

    Args:
        path: of the file.

    Raises:
        DescriptionError: with all errors of the document, each with its line; or the robot is
            refused.
    """
    path = Path(path)
    data = read_bytes(path, "a .yaml file", "the path of a trial file")
    audit = Audit()
    top = parse(data, str(path), audit, "a trial")
    check_version(top, VERSION, str(path), "a trial file", "not-a-trial")
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

    def __init__(self, top: YamlTable, path: Path, audit: Audit) -> None:
        self._top, self._path, self._audit = top, path, audit
        self._form, self._urdf = TrialForm(audit, path.parent), ""
        self._file = RobotFile("")

    def trial(self) -> Trial | None:
        """Return the trial; None after an error."""
        self._form.table(self._top, "trial", "", KEYS, NEEDED)
        m = self._robot()
        duration = self._number("duration", 0.0, above=True)
        if m is None or duration is None:
            return None
        actuators = self._actuators(m)
        step = float(m.opt.timestep)
        nstep = round(min(duration / step, 2.0 * MAX_STEPS))
        if not 1 <= nstep <= MAX_STEPS:
            allowed = f"from {exactly(step)} to {exactly(MAX_STEPS * step)}"
            self._form.wrong(self._top.nodes["duration"], "duration", "", f"a time {allowed} s")
            return None
        of_actuators = None if actuators is None else VariedActuators(self._form, m, actuators)
        varied, link = SampledReader(self._form, m, duration, of_actuators).varied(self._top)
        judgement = JudgementReader(self._form, self._top)
        band, functions = judgement.measures()
        motions = MotionReader(self._form, Joints.of(m).names)
        motion = motions.reference(self._top.nodes.get("reference"))
        controllers = ControllerReader(self._form, m)
        settings: dict[str, Any] = {
            "controller": controllers.controller(self._top.nodes.get("controller")),
            "reference": reference_table(m, nstep, motion),
            "varied": varied,
            "payload_link": link,
            "settling_band": band,
            "functions": functions,
            "limits": judgement.limits(m, functions),
            "rule": judgement.rule(),
            "allowance": judgement.allowance(),
            "urdf": self._urdf,
            "robot_file": self._file,
            "actuators": actuators,
        }
        for key, low, high in (
            ("runs", 1, MAX_RUNS),
            ("first_seed", 0, MAX_SEED),
            ("recordings", 0, MAX_RECORDINGS),
        ):
            if key in self._top.nodes:
                node = self._top.nodes[key]
                settings[key] = self._form.whole_within(node, key, "", low, high)
        controller = settings["controller"]
        has_node = controller is not None and controller.node is not None
        m.opt.exact_stops = self._flag("exact_stops", m.ncontact > 0 or has_node)
        if has_node:
            self._check_node(varied)
        if self._audit.errors:
            return None
        return Trial(self._name(), str(self._path), m, nstep, **settings)

    def _actuators(self, m: Model) -> ActuatorsDocument | None:
        """Return the actuators of the robot; None without them, or after an error."""
        node, vary = (self._top.nodes.get(key) for key in ("actuators", "vary"))
        if node is None and isinstance(vary, YamlTable) and "actuators" in vary.nodes:
            message = "numbers of actuators can vary only with the key 'actuators', a file"
            self._audit.error("no-actuators", "vary", vary.lines["actuators"], message)
        name = None if node is None else self._form.name(node, "actuators", "")
        if node is None or name is None:
            return None
        try:
            found = ActuatorsDocument.load(self._path.parent / name)
            with_actuators(m, found.specs(m))
        except RbdynError as error:
            self._audit.error("bad-actuators", "actuators", node.line, str(error), found=name)
            return None
        return found

    def _check_node(self, varied: Sequence[Varied]) -> None:
        """Add errors about what the simulator node cannot do."""
        if self._file.path.endswith(".npz"):
            message = "a node needs a robot file: the simulator node loads no saved Model"
            self._audit.error("bad-robot", "robot", self._top.lines["robot"], message)
        if any(each.section == "faults" and each.key == "effort_scale" for each in varied):
            message = "the simulator node has no effort_scale"
            self._audit.error("bad-fault", "faults", self._top.lines["faults"], message)

    def _name(self) -> str:
        node = self._top.nodes.get("name")
        found = None if node is None else self._form.name(node, "name", "")
        return found or self._path.stem

    def _number(self, key: str, low: float, *, above: bool = False) -> float | None:
        node = self._top.nodes.get(key)
        return None if node is None else self._form.within(node, key, "", low, above=above)

    def _flag(self, key: str, usual: bool = False) -> bool:
        node = self._top.nodes.get(key)
        return usual if node is None else self._form.flag(node, key, "") is True

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
            if not file.suffix and not kind_of(file):
                file = robot_by_name(name)
            m = load_model(file, floating_base=floating_base, contact=contact)
            self._file = RobotFile(str(file.resolve()), is_scene(file), floating_base, contact)
            if file.suffix == ".urdf":
                self._urdf = file.read_text(encoding="utf-8", errors="replace")
        except RbdynError as error:
            self._audit.error("bad-robot", "robot", node.line, str(error), found=name)
            return None
        if step is not None:
            m.opt.timestep = step
        return m
