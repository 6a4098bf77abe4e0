# SPDX-License-Identifier: Apache-2.0
"""Arms by name: the interfaces of their drivers, from config/arms/*.yaml.

A preset gives defaults of parameters and the names of topics. Every fact names its source, and no
fact was tried on a real arm.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.yaml_files.kinds import (
    Flag,
    Kind,
    List,
    Name,
    Schema,
    ValuePlace,
    number_in,
)
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table
from rbdyn_ros.description.yaml_files.text import Node, parse
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, listing, quote
from rbdyn_ros.share import share_dir

FOLDER = Path("config", "arms")


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about a driver.

    Attributes:
        value: the value of a parameter, or the name of a topic.
        source: address of the document that states this value.
        note: meaning of the value.
    """

    value: Any
    source: str
    note: str = ""


class _Value(Kind):
    """The value of a parameter: a number, true, false or a name."""

    allowed = "a value"

    def value(self, node: Node) -> float | str | bool | None:
        name, number, flag = Name().value(node), number_in(node), Flag().value(node)
        if number is not None and name is not None and name.isdigit():
            return int(number)
        return flag if flag is not None else name if number is None else number

    def schema(self) -> Schema:
        return Name().schema()


def _fact(kind: Kind) -> Table:
    return Table(
        "fact",
        (
            Key("value", kind, "value of the parameter, or what the fact states", needed=True),
            Key("source", Name(), "address of the document that states this value", needed=True),
            Key("note", Name(), "meaning of the value"),
        ),
        make=Fact,
    )


FACTS = (
    Key("takes_efforts", _fact(Flag()), "whether the driver takes efforts", needed=True),
    Key("firmware", _fact(Name()), "firmware that the driver needs", needed=True),
    Key("rate", _fact(_Value()), "rate of the states [Hz]", needed=True),
    Key("measured_effort", _fact(Name()), "kind of effort in the states", needed=True),
)
PRESET = Table(
    "preset",
    (
        Key("arms", List(Name(), "arm", least=1), "names of the arms", needed=True),
        Key("driver", Name(), "ROS 2 driver of the arms", needed=True),
        Key("joints", List(Name(), "joint", least=1), "joint names without a prefix", needed=True),
        *FACTS,
        Key("topics", ByName(_fact(Name()), "fact"), "topics of the driver", needed=True),
        Key(
            "parameters",
            ByName(_fact(_Value()), "fact"),
            "parameters of the controller",
            needed=True,
        ),
        Key("traps", List(_fact(Name()), "trap"), "usual mistakes", needed=True),
    ),
)


@dataclass(frozen=True, slots=True)
class ArmPreset:
    """Defaults for the arms behind one driver.

    Attributes:
        name: name of the arm.
        driver: the ROS 2 driver.
        joints: names of the joints, without a prefix.
        facts: takes_efforts, firmware, rate [Hz], measured_effort.
        topics: for each topic of this controller, the name of the driver's topic.
        parameters: values of the controller's parameters, by name.
        traps: sentences about usual mistakes.
    """

    name: str
    driver: str
    joints: tuple[str, ...]
    facts: Mapping[str, Fact]
    topics: Mapping[str, Fact]
    parameters: Mapping[str, Fact]
    traps: tuple[Fact, ...]

    @property
    def defaults(self) -> dict[str, Any]:
        """Values of the controller's parameters, by name."""
        return {name: fact.value for name, fact in self.parameters.items()}

    def check_joints(self, names: Sequence[str]) -> None:
        """Raise ParameterError unless a robot has these joints, all with one common prefix."""
        first = self.joints[0]
        prefixes = {name[: -len(first)] for name in names if name.endswith(first)}
        missing = [
            [joint for joint in self.joints if prefix + joint not in names]
            for prefix in sorted(prefixes)
        ]
        if [] in missing:
            return
        lacking = min(missing, key=len, default=list(self.joints))
        text = (
            f"arm is {quote(self.name)}, whose driver {self.driver} has the joints "
            f"{listing(self.joints)}; the robot has no joint {quote(lacking[0])} among its joints "
            f"{listing(list(names))}; choose the arm's own robot file, or another arm"
        )
        raise ParameterError(Finding("joints-of-other-arm", text, "error", "arm", None, self.name))

    def check_sending(self, dry_run: bool) -> None:
        """Raise ParameterError if efforts are to be sent to a driver that takes no efforts."""
        fact = self.facts["takes_efforts"]
        if not dry_run and not fact.value:
            text = (
                f"arm is {quote(self.name)}, whose driver {self.driver} takes no efforts: "
                f"{fact.note} ({fact.source}); only positions (parameter "
                "output) or a dry run (dry_run:=true) are possible"
            )
            raise ParameterError(
                Finding("takes-no-efforts", text, "error", "arm", None, self.name)
            )


def preset_files() -> list[Path]:
    """Return the files of presets, sorted by name."""
    return sorted((share_dir() / FOLDER).glob("*.yaml"))


def presets_in(path: Path) -> Iterator[ArmPreset]:
    """Yield the presets of all arms of a file.

    Raises:
        DescriptionError: with all errors of the file, each with its line.
    """
    audit = Audit()
    given = PRESET.read(parse(path.read_bytes(), str(path), audit, "a preset"), ValuePlace(audit))
    audit.raise_errors(str(path))
    facts = {key.name: given[key.name] for key in FACTS}
    groups = {**given["topics"]}, {**given["parameters"]}
    for name in given["arms"]:
        yield ArmPreset(name, given["driver"], given["joints"], facts, *groups, given["traps"])


def preset_of(name: str) -> ArmPreset:
    """Return the preset of the arm with this name.

    Raises:
        ParameterError: there is no such preset; the message suggests a similar name.
    """
    known = {each.name: each for path in preset_files() for each in presets_in(path)}
    if name in known:
        return known[name]
    text = (
        f"arm is {quote(name)}{did_you_mean(name, known)}; allowed are "
        f"{', '.join(known)}, or nothing for an arm without a preset"
    )
    raise ParameterError(Finding("unknown-arm", text, "error", "arm", None, name))


def applied_text(preset: ArmPreset, given: Mapping[str, Any], topics: Mapping[str, str]) -> str:
    """Return the lines of the log: values that a preset sets, and values that override it.

    Args:
        preset: the preset that is applied.
        given: values of the parameters that were set, by name.
        topics: explicit names of topics, by name.
    """
    lines = [f"arm '{preset.name}' behind {preset.driver}; its preset was not run on the arm:"]
    for name, fact in preset.parameters.items():
        if name in given and given[name] != fact.value:
            mine, theirs = _written(given[name]), _written(fact.value)
            lines.append(f"  {name} is {mine}, set explicitly; the preset has {theirs}")
        else:
            lines.append(f"  {name} is {_written(fact.value)}: {fact.note}")
    for name, fact in preset.topics.items():
        if name in topics:
            lines.append(f"  topic {name} is {topics[name]}, set explicitly; preset: {fact.value}")
        else:
            lines.append(f"  topic {name} is {fact.value}: {fact.note}")
    return "\n".join(lines)


def _written(value: Any) -> str:
    """Return a value as a YAML file of ROS parameters writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
