"""Read the actuators of a robot from a YAML file.

    rbdyn_actuators: 1              # version of this format
    actuators:
      shoulder:                     # a joint with one degree of freedom
        gear: 100                   # default 1; negative: it turns the other way
        armature: 2.5e-5            # inertia of the rotor [kg m^2]
        motorconst: [0.07, 0.07]    # Kt [N m/A], Ke [V s/rad], or one number for both
        motorconst_error: 0.05      # the motor gives 5 % more torque than the drive assumes
        resistance: 0.4             # [Ohm]
        inductance: 2e-4            # [H]
        voltage: 48                 # largest voltage of the drive [V]
        saturation: {torque: 2.0}   # or {current: 30}: of the drive [N m, A]
        torque_speed: [[0, 2.0], [300, 2.0], [450, 0]]      # [rad/s, N m]
        thermal: {resistance: 2.5, capacitance: 60, tempcoef: 0.0039, reftemp: 25, ambient: 25}
        derating: [100, 130]        # the largest current falls from the first to the second [C]
        cogging: {amplitude: 0.01, poles: 14, phase: 0}
        lugre: {coulomb: 0.02, static: 0.03, stribeck: 2.0, stiffness: 30, damping: 0}
        damping: 1e-5               # viscous friction [N m s/rad]
        elastic: {stiffness: 2e4, damping: 10, backlash: 0.001}       # of the gear, at the joint
        delay: 0.003                # [s]
        resolution: 0.05            # steps of the commanded effort of the joint [N m]

Units are SI, temperatures in C. All keys may be left out. specs.py describes them.
"""

from __future__ import annotations

from pathlib import Path

from rbdyn_ros.actuators.file_parts import ELASTIC, SATURATION, THERMAL, Part, read_parts
from rbdyn_ros.actuators.specs import COGGING, LUGRE, ActuatorSpec, delay_steps
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import YamlTable, check_version, parse
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.errors import exactly, quote
from rbdyn_ros.model.actuators import MAX_DELAY
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model

VERSION = "rbdyn_actuators"

#: Keys with one number of 0 or more.
_NUMBERS = ("armature", "resistance", "inductance", "damping", "resolution", "delay")
#: The other keys.
_OTHERS = (
    *("gear", "motorconst", "motorconst_error", "voltage", "saturation", "torque_speed"),
    *("thermal", "derating", "cogging", "lugre", "elastic"),
)
#: All keys of an actuator that hold one number, or may.
PARAMETERS = (
    *_NUMBERS,
    *("gear", "motorconst", "motorconst_error", "voltage"),
    *(f"saturation.{key}" for key in SATURATION),
    *(f"thermal.{key}" for key in THERMAL),
    *(f"cogging.{key}" for key in COGGING),
    *(f"lugre.{key}" for key in LUGRE),
    *(f"elastic.{key}" for key in ELASTIC),
)


def read_actuators(path: str | Path, m: Model) -> tuple[ActuatorSpec, ...]:
    """Read an actuators file.

    Args:
        path: of the file.
        m: the robot, with the timestep that it will be simulated with.

    Returns:
        The actuators, in the order of the file.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    return read_actuators_text(read_file(path), m, source=str(path))


def read_file(path: str | Path) -> bytes:
    """Return the content of an actuators file.

    Raises:
        DescriptionError: it cannot be read.
    """
    return read_bytes(Path(path), "a .yaml file", "the path of an actuators file")


def parse_actuators(text: str | bytes, source: str, audit: Audit) -> YamlTable:
    """Return the nodes of an actuators file, whose version is right."""
    top = parse(text, source, audit, "an actuators file")
    check_version(top, VERSION, source, "an actuators file", "not-an-actuators-file")
    return top


def read_actuators_text(
    text: str | bytes, m: Model, *, source: str = "<text>"
) -> tuple[ActuatorSpec, ...]:
    """Read actuators from text; result and errors as for read_actuators.

    Args:
        text: the document.
        m: the robot.
        source: name of the document, for messages.
    """
    audit = Audit()
    specs = read_table(parse_actuators(text, source, audit), m, audit)
    audit.raise_errors(source)
    return specs


def read_table(top: YamlTable, m: Model, audit: Audit) -> tuple[ActuatorSpec, ...]:
    """Read actuators from the nodes of a document; audit receives the errors."""
    return _Reader(Form(audit), m).actuators(top)


class _Reader:
    def __init__(self, form: Form, m: Model) -> None:
        self.form, self.m = form, m

    def actuators(self, top: YamlTable) -> tuple[ActuatorSpec, ...]:
        """Return the actuators of a document."""
        whole = self.form.table(top, "actuators file", "", (VERSION, "actuators"), ("actuators",))
        if whole is None:
            return ()
        table = whole.nodes["actuators"]
        if not isinstance(table, YamlTable):
            self.form.wrong(table, "list of actuators", "", "a table of joints")
            return ()
        found = [self.actuator(name, table) for name in table.nodes]
        return tuple(spec for spec in found if spec is not None)

    def actuator(self, name: str, all_joints: YamlTable) -> ActuatorSpec | None:
        """Return the actuator of a joint; None if there is an error."""
        owner, before = f"actuator {quote(name)}", len(self.form.audit.findings)
        self.check_joint(name, owner, all_joints.lines[name])
        node = all_joints.nodes[name]
        table = self.form.table(node, "actuator", owner, (*_NUMBERS, *_OTHERS))
        if table is None:
            return None
        part = Part(self.form, owner, table)
        numbers = {key: part.number(key) for key in _NUMBERS if key in table.nodes}
        values = read_parts(part, numbers)
        self.check_delay(part)
        if len(self.form.audit.findings) > before:
            return None
        return ActuatorSpec(name, **values)

    def check_joint(self, name: str, owner: str, line: int) -> None:
        """Add an error unless a joint can have an actuator."""
        m, audit = self.m, self.form.audit
        if name not in m.jnt_names:
            hint = audit.hint(name, m.jnt_names)
            message = f"the robot has no moving joint {quote(name)}{hint}"
            audit.error("unknown-joint", owner, line, message, found=name)
            return
        j = m.jnt_id(name)
        why = ""
        if m.jnt_mimic[j] >= 0:
            leader = quote(m.jnt_names[m.jnt_mimic[j]])
            why = f"the joint is a mimic joint; allowed is its leader {leader}"
        elif m.jnt_class[j] != JointClass.FREE:
            why = "the joint has a prescribed motion; allowed are joints that forces move"
        elif m.jnt_dofnum[j] != 1:
            number = m.jnt_dofnum[j]
            why = f"the joint has {number} degrees of freedom; allowed are joints with one"
        if why:
            audit.error("unfit-joint", owner, line, why, found=name)

    def check_delay(self, part: Part) -> None:
        """Add an error unless the delay is a number of timesteps."""
        delay, h = part.number("delay") if "delay" in part else 0.0, self.m.opt.timestep
        steps = delay_steps(delay, h)
        if steps is None or steps > MAX_DELAY:
            allowed = f"a multiple of the timestep {exactly(h)} s, at most {MAX_DELAY} of them"
            part.wrong("delay", allowed)
