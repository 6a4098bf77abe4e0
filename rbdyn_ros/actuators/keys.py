# SPDX-License-Identifier: Apache-2.0
"""The keys of an actuators file. Units are SI, temperatures in C."""

from rbdyn_ros.actuators.specs import COGGING, quantity_of
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import Either, Kind, List, Number, NumberList
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table, table
from rbdyn_ros.model.declared.actuators import CURVE_POINTS

SIZE = quantity_of("")


def _number(
    name: str, unit: str, doc: str, *, needed: bool = False, default: float | None = None
) -> Key:
    kind = Number(low=0.0, quantity=quantity_of(name), unit=unit)
    return Key(name, kind, doc, needed=needed, default=default)


def _above(
    name: str, unit: str, doc: str, *, needed: bool = False, default: float | None = None
) -> Key:
    kind = Number(above=0.0, quantity=SIZE, unit=unit)
    return Key(name, kind, doc, needed=needed, default=default)


def _signed(name: str, unit: str, doc: str) -> Key:
    return Key(name, Number(quantity=SIZE, unit=unit), doc)


SATURATION = (
    _above("torque", "N m", "largest torque of the drive"),
    _above("current", "A", "largest current of the drive"),
)
THERMAL = (
    _above("resistance", "K/W", "thermal resistance from winding to ambient", needed=True),
    _above("capacitance", "J/K", "heat capacity of the winding"),
    _above("timeconst", "s", "resistance times capacitance"),
    _number("tempcoef", "1/K", "relative rise of the electrical resistance; default 0"),
    _signed("reftemp", "C", "temperature at which the winding has `resistance`; default 25"),
    _signed("ambient", "C", "temperature of the ambient; default 25"),
)
COGGING_KEYS = (
    _number(COGGING[0], "N m", "the torque is amplitude sin(poles angle + phase)", needed=True),
    _number(COGGING[1], "", "periods per revolution", needed=True),
    Key(COGGING[2], Number(quantity=SIZE, unit="rad"), "phase at the angle 0", default=0.0),
)
BRISTLES = (
    _above("coulomb", "N m", "friction while sliding fast", needed=True),
    _number("static", "N m", "friction at rest, at least `coulomb`; default: `coulomb`"),
    _above("stribeck", "rad/s", "speed of the transition; needed with `static`", default=1.0),
    _above("stiffness", "N m/rad", "stiffness of the bristles; default: static / 0.001 rad"),
    _number("damping", "N m s/rad", "damping of the bristles", default=0.0),
)
GEAR = (
    _above("stiffness", "N m/rad", "stiffness of the gear, at the joint", needed=True),
    _number("damping", "N m s/rad", "damping of the gear, at the joint", default=0.0),
    _number("backlash", "rad", "whole free play, at the joint", default=0.0),
)
ACTUATOR = table(
    "actuator",
    Key("gear", Number(nonzero=True, quantity=quantity_of("gear")),
        "revolutions of the motor per revolution of the joint; negative: it turns the other "
        "way; rad/m for a prismatic joint; default 1"),
    _number("armature", "kg m^2", "inertia of the rotor"),
    Key(
        "motorconst",
        Either(
            scalar=Number(above=0.0, quantity=SIZE),
            items=NumberList(
                2, (Number(above=0.0, quantity=SIZE), Number(low=0.0, quantity=SIZE))
            ),
        ),
        "torque constant Kt [N m/A] and back-EMF constant Ke [V s/rad], or one number for "
        "both; default: an ideal motor, whose current is its torque",
    ),
    Key("motorconst_error", Number(above=-1.0, quantity=SIZE),
        "(true - assumed) / assumed torque constant; the drive assumes `motorconst`"),
    _number("resistance", "Ohm", "resistance of the winding; default: no voltage, lag or heat"),
    _number("inductance", "H", "inductance of the winding; default: the current follows at once"),
    _above("voltage", "V", "largest voltage of the drive; default: no limit"),
    Key("saturation", Table("saturation", SATURATION), "limits of the drive; the smaller acts"),
    Key("torque_speed", List(NumberList(2, Number(quantity=SIZE)), "point", 2, CURVE_POINTS),
        "points [speed [rad/s], torque [N m]] of the largest torque; speeds rise from 0, "
        "torques must not rise"),
    Key("thermal", Table("thermal", THERMAL, one=("capacitance", "timeconst")),
        "warming of the winding; default: no heat"),
    Key("derating", NumberList(2, Number(quantity=SIZE, unit="C")),
        "the largest current falls from the first temperature to 0 at the second [C]"),
    Key("cogging", Table("cogging", COGGING_KEYS), "default: none"),
    Key("lugre", Table("lugre", BRISTLES), "dry friction; default: none"),
    _number("damping", "N m s/rad", "viscous friction"),
    Key("elastic", Table("elastic", GEAR), "default: a rigid gear without backlash"),
    _number("delay", "s", "time from a command to its effect, whole timesteps"),
    _number("resolution", "N m", "steps of the commanded effort of the joint"),
)  # fmt: skip
DIALECT = Dialect(
    "rbdyn_actuators",
    "an actuators file",
    "not-an-actuators-file",
    table(
        "actuators file",
        Key("actuators", ByName(ACTUATOR, "joint", "actuator"),
            "actuators by joint; each joint has one dof, which forces move", needed=True),
    ),
)  # fmt: skip


def takes_number(kind: Kind) -> bool:
    """Return whether a value of this kind may be a single number."""
    return isinstance(kind, Number) or (isinstance(kind, Either) and kind.scalar is not None)
