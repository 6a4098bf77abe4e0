# SPDX-License-Identifier: Apache-2.0
"""The keys of a trial file. Units are SI; paths are relative to the folder of the trial."""

import math
from typing import Any

from rbdyn_ros.actuators.keys import ACTUATOR, takes_number
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import (
    Either,
    Flag,
    List,
    Name,
    Number,
    NumberList,
    OneOf,
    Owned,
    Whole,
)
from rbdyn_ros.description.yaml_files.robots import ROBOT_FILE
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table, WithKey
from rbdyn_ros.rollouts.policies import ComputedTorquePolicy, PDGravityPolicy, PDPolicy
from rbdyn_ros.trials.distributions import (
    Choice,
    Constant,
    Distribution,
    LogUniform,
    Normal,
    Uniform,
)
from rbdyn_ros.trials.references import Sine
from rbdyn_ros.trials.simulation.sampling import AXES
from rbdyn_ros.trials.trial import Allowance, Rule

#: Largest number of timesteps in a run, and between two commands.
MAX_STEPS = 10_000_000
MAX_RUNS, MAX_SEED, MAX_RECORDINGS = 10_000_000, 2**53, 1000

LAWS = {"pd": PDPolicy, "pd_gravity": PDGravityPolicy, "computed_torque": ComputedTorquePolicy}

ANY = Number(quantity="trial")
POSITIVE = Number(above=0.0, quantity="trial")
NOT_NEGATIVE = Number(low=0.0, quantity="trial")
SHARE = Number(above=0.0, below=1.0, quantity="trial")


def _number(name: str, doc: str, *, needed: bool = False) -> Key:
    return Key(name, ANY, doc, needed=needed)


_LOW = _number("low", "smallest sample", needed=True)
_HIGH = _number("high", "largest sample", needed=True)
_ENDS = (_number("low", "smallest sample"), _number("high", "largest sample"))
_NORMAL = (_number("mean", "mean", needed=True), _number("stddev", "before cut-off", needed=True))
DISTRIBUTIONS = (
    Key("uniform", Table("", (_LOW, _HIGH), make=Uniform), "all numbers are equally likely"),
    Key("loguniform", Table("", (_LOW, _HIGH), make=LogUniform), "the logarithm is uniform"),
    Key("normal", Table("", (*_NORMAL, *_ENDS), make=Normal), "cut off below low and above high"),
    Key("choice", List(ANY, "number", least=1), "numbers, one of which is drawn"),
)
_KINDS = tuple(key.name for key in DISTRIBUTIONS)


def _distribution(**given: Any) -> Distribution:
    ((kind, found),) = given.items()
    return Choice(found) if kind == "choice" else found


_DISTRIBUTION = Table("distribution", DISTRIBUTIONS, one=_KINDS, make=_distribution)
#: A number or a distribution; `distribution_of` converts the value.
SAMPLED = Either(scalar=ANY, table=_DISTRIBUTION)
BY_PART = Either(scalar=ANY, table=WithKey(_KINDS, _DISTRIBUTION, ByName(SAMPLED, "distribution")))


def distribution_of(value: float | Distribution) -> Distribution:
    """Return the distribution of a value of the kind SAMPLED."""
    return Constant(value) if isinstance(value, float) else value


def _by_part(section: str, name: str, doc: str) -> Key:
    return Key(name, Owned(BY_PART, f"{section}: {name}"), doc)


_COMMAND = List(Name(), "word", least=1)
NODE = Table(
    "node",
    (
        Key("command", _COMMAND, "words of the node's command line"),
        Key("package", Name(), "ROS package of the executable, instead of `command`"),
        Key("executable", Name(), "executable of `package`"),
        Key("arguments", List(Name(), "argument"), "arguments of `executable`", default=()),
        Key(
            "joints",
            List(Name(), "joint"),
            "joints that each tick waits for; default: all",
            default=(),
        ),
    ),
)
_GAIN = Either(scalar=NOT_NEGATIVE, table=ByName(NOT_NEGATIVE, "gain"))
_CODE = Name("a file and a function such as policy.py:control")
CONTROLLER = Table(
    "controller",
    (
        Key("law", OneOf(tuple(LAWS), "unknown-law"), "a law that is compiled"),
        Key("traced", _CODE, "FILE:FUNCTION, which is compiled"),
        Key("python", _CODE, "FILE:FUNCTION, which every run calls in a separate process"),
        Key("node", Owned(NODE, "node"), "a ROS node, which the simulator runs in lock-step"),
        Key("command", _COMMAND, "words of a program that connects to a control box"),
        Key("box", Name(), "the control box of a command: franka, ur, or left/ur of a scene"),
        Key("stiffness", _GAIN, "stiffness of a law, one number or by joint"),
        Key("damping", _GAIN, "damping of a law, one number or by joint"),
        Key("limit", Flag(), "the law limits its efforts; default false"),
        Key("rate", POSITIVE, "rate of commands [Hz]; default: every timestep"),
    ),
    one=("law", "traced", "python", "node", "command"),
    code="bad-controller",
    owner="controller",
)
WAYPOINTS = Table(
    "motion",
    (
        Key("times", NumberList(None, ANY), "times of the positions, rising [s]", needed=True),
        Key(
            "positions", NumberList(None, ANY), "positions at these times [rad or m]", needed=True
        ),
        Key("smooth", Flag(), "quintics between positions; false: steps", default=True),
    ),
)
SINE = Table(
    "motion",
    (
        _number("amplitude", "amplitude of the sine [rad or m]", needed=True),
        _number("frequency", "frequency of the sine [Hz]", needed=True),
        _number("offset", "mean of the sine [rad or m]; default 0"),
    ),
    make=Sine,
)
REFERENCE = ByName(
    Either(scalar=ANY, table=WithKey(("times",), WAYPOINTS, SINE)), "joint", "reference of"
)
START = Table(
    "start", tuple(_by_part("start", key, f"{key} by joint") for key in ("position", "velocity"))
)
PAYLOAD = Table(
    "payload",
    (
        Key("link", Name(), "link that carries the payload", needed=True),
        Key("mass", SAMPLED, "mass [kg]", needed=True),
        *(
            Key(axis, SAMPLED, "place of the payload's centre of mass, in the link [m]")
            for axis in AXES
        ),
    ),
    owner="payload",
)
#: Fields of the Model that may differ between runs, and whether they belong to a body or a joint.
PARAMETERS = {
    "body_mass": "body",
    "dof_armature": "joint",
    "dof_damping": "joint",
    "dof_frictionloss": "joint",
    "jnt_stiffness": "joint",
}
ACTUATORS = "actuators"


def _of_actuators() -> Table:
    """Return the table of the actuators' numbers that may differ between runs."""
    section, rows = f"vary: {ACTUATORS}", []
    for key in ACTUATOR.keys:
        if isinstance(key.kind, Table):
            inner = tuple(
                Key(row.name, Owned(BY_PART, f"{section}: {key.name}.{row.name}"), row.doc)
                for row in key.kind.keys
            )
            rows.append(Key(key.name, Table(key.name, inner), key.doc))
        elif takes_number(key.kind):
            rows.append(_by_part(section, key.name, key.doc))
    return Table("actuators that vary", tuple(rows), owner=section)


VARY = Table(
    "vary",
    (
        *(_by_part("vary", name, f"values by {part}") for name, part in PARAMETERS.items()),
        Key(ACTUATORS, _of_actuators(), "numbers of the actuators file, by joint"),
    ),
    owner="vary",
)
#: For each fault, the bounds of its samples (None: the duration of a run) and its meaning.
_FAULTS: dict[str, tuple[float, float | None, str]] = {
    "command_delay": (0.0, None, "delay of commands [s]"),
    "command_drop": (0.0, 1.0, "probability that a command is lost"),
    "state_delay": (0.0, None, "age of the state that the controller gets [s]"),
    "position_noise": (0.0, math.inf, "standard deviation of measured positions [rad or m]"),
    "velocity_noise": (0.0, math.inf, "standard deviation of measured velocities [rad/s or m/s]"),
    "effort_scale": (-math.inf, math.inf, "actual effort / commanded effort"),
}
FAULT_BOUNDS = {name: (low, high) for name, (low, high, _) in _FAULTS.items()}
_FAULT_KEYS = tuple(Key(name, SAMPLED, meaning) for name, (*_, meaning) in _FAULTS.items())
FAULTS = Table("faults", _FAULT_KEYS, owner="faults")
BAND = "settling_band"
MEASURES = ByName(
    Table("measure", (Key("python", _CODE, "FILE:FUNCTION of the measure", needed=True),)),
    "measure",
    "measure",
    own={BAND: POSITIVE},
)


class _Limits(ByName):
    def owner_of(self, name: str) -> str:
        return f"limit of {name}"


_ENDS_OF_LIMIT = (_number("min", "smallest value"), _number("max", "largest value"))
LIMITS = _Limits(Either(scalar=ANY, table=Table("limit", _ENDS_OF_LIMIT)), "measure")
VERDICT = Table(
    "verdict",
    (
        Key("pass_rate", SHARE, "share of runs that must pass; default: every run"),
        Key("confidence", SHARE, "confidence of the decision; default 0.95"),
    ),
    make=Rule,
    owner="verdict",
)
PROCESS = Table(
    "process",
    (
        Key("time", POSITIVE, "longest time of a run [s]; default 60"),
        Key("memory", POSITIVE, "largest memory of a run [MiB]; default 2048"),
    ),
    make=Allowance,
    owner="process",
)


TRIAL = Table(
    "trial",
    (
        Key("name", Name(), "name in reports; default: the name of the file"),
        Key("robot", ROBOT_FILE, "robot or scene file, saved Model, or a name", needed=True),
        Key("repair", Flag(), "repair errors of the robot where possible", default=False),
        Key("floating_base", Flag(), "the base moves freely, as in `rb.load`", default=False),
        Key("contact", Flag(), "contact of the <collision> elements of a .urdf", default=False),
        Key("exact_stops", Flag(), "exact friction and limits; default: true with contact, a node "
            "or a box"),
        Key("runs", Whole(1, MAX_RUNS), "number of runs; default 100"),
        Key("first_seed", Whole(0, MAX_SEED), "seed of the first run; default 0"),
        Key("duration", POSITIVE, "simulated time of a run [s]", needed=True),
        Key("timestep", POSITIVE, "timestep [s]; default: the timestep of the robot"),
        Key("actuators", Name("a file"), "actuators file; default: none"),
        Key("controller", CONTROLLER, "controller that commands the efforts", needed=True),
        Key("reference", REFERENCE, "motions to track; other joints hold their start position"),
        Key("start", START, "state of the joints: numbers or distributions"),
        Key("payload", PAYLOAD, "a point mass on a link"),
        Key("vary", VARY, "numbers of the Model that differ between runs"),
        Key("faults", FAULTS, "faults between controller and robot"),
        Key("measures", MEASURES, "your measures, and `settling_band`, the largest error at rest"),
        Key("limits", LIMITS, "allowed range of each measure; a single number is the upper limit"),
        Key("verdict", VERDICT, "how runs decide the verdict", default=Rule()),
        Key("process", PROCESS, "limits of a `python` controller, a node or a command",
            default=Allowance()),
        Key("recordings", Whole(0, MAX_RECORDINGS), "failed runs to record as MCAP; default 0"),
    ),
)  # fmt: skip
DIALECT = Dialect("rbdyn_trial", "a trial file", "not-a-trial", TRIAL)
