"""Arms by name: the interfaces of their drivers, from config/arms/*.yaml.

A preset gives defaults of parameters and the names of topics. Every fact names its source, and
none was tried on an arm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, listing, quote
from rbdyn_ros.loading.assets import share_dir

FOLDER = Path("config", "arms")
#: What every file tells beside arms, driver and joints.
FACTS = ("takes_efforts", "firmware", "rate", "measured_effort")
GROUPS = ("topics", "parameters")


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement about a driver.

    Attributes:
        value: what counts.
        source: address of the document that says so.
        note: in what sense.
    """

    value: Any
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ArmPreset:
    """Defaults for the arms behind one driver.

    Attributes:
        name: of the arm.
        driver: its ROS 2 driver.
        joints: names of its joints, without a prefix.
        facts: takes_efforts, firmware, rate [Hz], measured_effort.
        topics: name of the driver's topic by that of this controller.
        parameters: parameters of the controller.
        traps: what is easily done wrong.
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
        """Values of the parameters."""
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
        """Raise ParameterError if efforts shall be sent to a driver that takes none."""
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
    """Yield the presets of all arms of a file."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    facts = {name: Fact(**found[name]) for name in FACTS}
    topics, parameters = (
        {name: Fact(**fact) for name, fact in found[group].items()} for group in GROUPS
    )
    traps = tuple(Fact(**trap) for trap in found["traps"])
    for name in found["arms"]:
        yield ArmPreset(
            name, found["driver"], tuple(found["joints"]), facts, topics, parameters, traps
        )


def preset_of(name: str) -> ArmPreset:
    """Return the preset of an arm.

    Raises:
        ParameterError: there is none, with the nearest name.
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
        preset: the preset.
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
            lines.append(f"  topic {name} is {topics[name]}, explicitly, not {fact.value}")
        else:
            lines.append(f"  topic {name} is {fact.value}: {fact.note}")
    return "\n".join(lines)


def _written(value: Any) -> str:
    """Return a value as ROS writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
