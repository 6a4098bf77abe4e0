# SPDX-License-Identifier: Apache-2.0
"""The keys of a policy file. Units are SI."""

from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import (
    Either,
    List,
    Name,
    Number,
    NumberList,
    OneOf,
    Whole,
)
from rbdyn_ros.description.yaml_files.tables import Key, table
from rbdyn_ros.policies.spec import TERMS

#: Largest number of observed values of a term.
LONGEST = 1000


def _each(kind: Number) -> Either:
    """Return the kind of a value that is one number for all entries, or a list of numbers."""
    return Either(scalar=kind, items=NumberList(each=kind))


def _range(name: str, unit: str, doc: str) -> Key:
    return Key(name, NumberList(2, Number(unit=unit)), doc)


TERM = table(
    "observation term",
    Key("term", OneOf(tuple(TERMS)), "the observed quantity", needed=True),
    Key("scale", _each(Number()), "factor of the term, after `clip`; default 1"),
    Key("clip", NumberList(2), "the smallest and the largest number; default: none"),
    Key("history", Whole(1, LONGEST), "number of latest values, the oldest first", default=1),
    Key("period", Number(above=0.0, unit="s"), "period of gait_phase", default=1.0),
)
ACTION = table(
    "action",
    Key("scale", _each(Number()), "position targets are offset + scale action", needed=True),
    Key("offset", _each(Number()), "offset of position targets; default: `default_position`"),
    Key("clip", Number(above=0.0), "largest absolute value of an action, before `scale`"),
)
COMMAND = table(
    "command",
    _range("forward", "m/s", "range of the velocity forwards"),
    _range("left", "m/s", "range of the velocity to the left"),
    _range("turn", "rad/s", "range of the rate of turning about the vertical"),
)
GAIN = Number(low=0.0)
DIALECT = Dialect(
    "rbdyn_policy",
    "a policy file",
    "not-a-policy-file",
    table(
        "policy file",
        Key("network", Name("an ONNX file"), "network, relative to this file", needed=True),
        Key("joints", List(Name("the name of a joint"), "joint", 1),
            "joints in the network's order", needed=True),
        Key("rate", Number(above=0.0, high=1e4, unit="Hz"), "actions per second", needed=True),
        Key("default_position", _each(Number()), "default positions of the joints; default 0"),
        Key("stiffness", _each(GAIN), "stiffness of the joints", needed=True),
        Key("damping", _each(GAIN), "damping of the joints", needed=True),
        Key("action", ACTION, "how the network's numbers become position targets", needed=True),
        Key("observation", List(TERM, "term", 1),
            "the numbers that the network gets, in order", needed=True),
        Key("command", COMMAND, "range of velocity commands; default: not limited"),
    ),
)  # fmt: skip
