"""Read the numbers of actuators that differ between the runs of a trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdyn_ros.actuators.document import ActuatorsDocument, Place
from rbdyn_ros.actuators.keys import PARAMETERS
from rbdyn_ros.description.yaml_files.text import Node
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.distributions import Choice, Constant, Distribution, Normal
from rbdyn_ros.trials.files.forms import TrialForm
from rbdyn_ros.trials.trial import Varied, whole_steps

ACTUATORS = "actuators"

#: Stands for a sample without a bound.
HUGE = 1e9


@dataclass(frozen=True)
class _Given:
    """A distribution and its line."""

    distribution: Distribution
    line: int


class VariedActuators:
    """Reads `vary: actuators`, and tries its samples in the actuators file.

    Args:
        form: reads nodes.
        m: the robot, without actuators.
        document: the actuators file.
    """

    def __init__(self, form: TrialForm, m: Model, document: ActuatorsDocument) -> None:
        self._form, self._m, self._document = form, m, document

    def varied(self, node: Node) -> Iterator[Varied]:
        """Yield the varied values; samples that the actuators file could not have are errors."""
        found = dict(self._given(node))
        for joint in self._document.joints:
            self._check({place: x for place, x in found.items() if place[0] == joint})
        for (joint, key), given in found.items():
            yield Varied(ACTUATORS, key, joint, given.distribution)

    def _given(self, node: Node) -> Iterator[tuple[Place, _Given]]:
        form, groups = self._form, _groups()
        table = form.table(node, "actuators that vary", "vary", groups)
        for key, below in table.nodes.items() if table else ():
            if not groups[key]:
                yield from self._by_joint(key, below)
                continue
            inner = form.table(below, key, f"vary: {ACTUATORS}", groups[key])
            for name, given in inner.nodes.items() if inner else ():
                yield from self._by_joint(f"{key}.{name}", given)

    def _by_joint(self, key: str, node: Node) -> Iterator[tuple[Place, _Given]]:
        owner, joints = f"vary: {ACTUATORS}: {key}", self._document.joints
        for joint, found, line in self._form.by_part(node, joints, "joint", owner):
            yield (joint, key), _Given(found, line)

    def _check(self, given: Mapping[Place, _Given]) -> None:
        """Add an error for each distribution of a joint with an impossible sample.

        A rule of an actuators file is about one number, or about two of which one must be the
        larger. So each end of a distribution is tried with the low ends of the others.
        """
        lines = {place: -number for number, place in enumerate(given, 1)}  # tell whose it is
        low = {place: self._tried(place, each)[0] for place, each in given.items()}
        wrong: dict[Place, str] = {}
        for place, each in given.items():
            for sample in self._tried(place, each):
                for error in self._document.errors(self._m, {**low, place: sample}, lines):
                    own = [p for p, line in lines.items() if line == error.line]
                    wrong.setdefault(own[0] if own else place, error.message)
        for (joint, key), why in wrong.items():
            self._refuse(joint, key, given[joint, key], why)

    def _tried(self, place: Place, given: _Given) -> list[float]:
        """Return samples of a distribution that are possible only if all of them are, rising."""
        distribution = given.distribution
        if isinstance(distribution, Constant | Choice):
            values = getattr(distribution, "values", distribution.range)
            return sorted(set(values))
        low, high = (min(max(x, -HUGE), HUGE) for x in distribution.range)
        if place[1] == "delay":
            low, high = whole_steps(low, self._m), whole_steps(high, self._m)
        return sorted({low, high, min(max(0.0, low), high)})

    def _refuse(self, joint: str, key: str, given: _Given, why: str) -> None:
        low, high = given.distribution.range
        samples = f"is {low:g}" if low == high else f"has samples from {low:g} to {high:g}"
        message = f"'{joint}' {samples}; {why}"
        if isinstance(given.distribution, Normal) and math.isinf(high - low):
            message += "; a normal distribution takes `low` and `high`"
        owner = f"vary: {ACTUATORS}: {key}"
        self._form.audit.error("bad-distribution", owner, given.line, message)


def _groups() -> dict[str, tuple[str, ...]]:
    """Return the keys of an actuator with the keys below them, if any."""
    found: dict[str, tuple[str, ...]] = {}
    for parameter in PARAMETERS:
        key, _, below = parameter.partition(".")
        found[key] = (*found.get(key, ()), below) if below else ()
    return found
