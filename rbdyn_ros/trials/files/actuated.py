# SPDX-License-Identifier: Apache-2.0
"""Read the numbers of actuators that differ between the runs of a trial."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdyn_ros.actuators.document import ActuatorsDocument, Place
from rbdyn_ros.actuators.keys import ACTUATOR
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.yaml_files.tables import Given, Table
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.distributions import Choice, Constant, Distribution, Normal
from rbdyn_ros.trials.files.keys import ACTUATORS
from rbdyn_ros.trials.files.values import read_by_part
from rbdyn_ros.trials.trial import Varied, whole_steps

#: Replaces an infinite bound of samples.
HUGE = 1e9


@dataclass(frozen=True)
class _Given:
    """A distribution and its line in the trial file."""

    distribution: Distribution
    line: int


class VariedActuators:
    """Reads `vary: actuators`, and checks that the actuators file allows the samples.

    Args:
        m: the robot, without actuators.
        document: the actuators file.
    """

    def __init__(self, m: Model, document: ActuatorsDocument) -> None:
        self._m, self._document = m, document

    def varied(self, table: Given) -> Iterator[Varied]:
        """Yield the varied values.

        Add an error for samples that are not allowed in the actuators file.
        """
        found = dict(self._given(table))
        for joint in self._document.joints:
            own = {place: each for place, each in found.items() if place[0] == joint}
            self._check(own, table.audit)
        for (joint, key), given in found.items():
            yield Varied(ACTUATORS, key, joint, given.distribution)

    def _given(self, table: Given) -> Iterator[tuple[Place, _Given]]:
        joints = self._document.joints
        for key, value in table.items():
            groups = isinstance(value, Given) and isinstance(ACTUATOR.rows[key].kind, Table)
            inner = value if groups else table
            for name in value if groups else (key,):
                whole = f"{key}.{name}" if groups else key
                owner = f"vary: {ACTUATORS}: {whole}"
                for joint, found, line in read_by_part(inner, name, joints, "joint", owner):
                    yield (joint, whole), _Given(found, line)

    def _check(self, given: Mapping[Place, _Given], audit: Audit) -> None:
        """Add an error for each distribution of a joint with an impossible sample.

        A rule of an actuators file concerns one number, or requires one number to be larger than
        another. So each end of a distribution is tested together with the low ends of the others.
        """
        # negative line numbers tell which sample an error belongs to
        lines = {place: -number for number, place in enumerate(given, 1)}
        low = {place: self._tried(place, each)[0] for place, each in given.items()}
        wrong: dict[Place, str] = {}
        for place, each in given.items():
            for sample in self._tried(place, each):
                for error in self._document.errors(self._m, {**low, place: sample}, lines):
                    own = [p for p, line in lines.items() if line == error.line]
                    wrong.setdefault(own[0] if own else place, error.message)
        for (joint, key), reason in wrong.items():
            _refuse(joint, key, given[joint, key], reason, audit)

    def _tried(self, place: Place, given: _Given) -> list[float]:
        """Return samples in ascending order; if these are allowed, all samples are allowed."""
        distribution = given.distribution
        if isinstance(distribution, Constant | Choice):
            values = getattr(distribution, "values", distribution.range)
            return sorted(set(values))
        low, high = (min(max(x, -HUGE), HUGE) for x in distribution.range)
        if place[1] == "delay":
            low, high = whole_steps(low, self._m), whole_steps(high, self._m)
        return sorted({low, high, min(max(0.0, low), high)})


def _refuse(joint: str, key: str, given: _Given, reason: str, audit: Audit) -> None:
    low, high = given.distribution.range
    samples = f"is {low:g}" if low == high else f"has samples from {low:g} to {high:g}"
    message = f"'{joint}' {samples}; {reason}"
    if isinstance(given.distribution, Normal) and math.isinf(high - low):
        message += "; bound a normal distribution by `low` and `high`"
    audit.error("bad-distribution", f"vary: {ACTUATORS}: {key}", given.line, message)
