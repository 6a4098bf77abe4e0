# SPDX-License-Identifier: Apache-2.0
"""Read the values that differ between the runs of a trial: start, payload, parameters, faults."""

from collections.abc import Collection, Iterator

import numpy as np

from rbdyn_ros.description.yaml_files.tables import Given, section
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.files.actuated import VariedActuators
from rbdyn_ros.trials.files.keys import ACTUATORS, FAULT_BOUNDS, PARAMETERS
from rbdyn_ros.trials.files.values import (
    ANY,
    NOT_NEGATIVE,
    is_known,
    line_of,
    read_by_part,
    read_distribution,
)
from rbdyn_ros.trials.trial import Joints, Varied


class SampledReader:
    """Reads the sections start, payload, vary and faults.

    Args:
        m: the robot.
        duration: simulated time of a run [s].
        actuators: the reader of varied actuators; None if the robot has no actuators.
    """

    def __init__(self, m: Model, duration: float, actuators: VariedActuators | None) -> None:
        self._m, self._duration, self._actuators = m, duration, actuators

    def varied(self, top: Given) -> tuple[tuple[Varied, ...], str]:
        """Return the varied values, and the link with the payload ("" without a payload)."""
        link = self._link(section(top, "payload"))
        start, payload, vary, faults = (
            section(top, name) for name in ("start", "payload", "vary", "faults")
        )
        found = [
            *self._start(start),
            *self._payload(payload),
            *self._parameters(vary),
            *self._faults(faults),
        ]
        loaded = self._m.body_names[self._m.frame_bodyid[self._m.frame_id(link)]] if link else ""
        for each in found:
            if each.key == "body_mass" and each.part == loaded:
                message = f"body '{loaded}' carries the payload, so its own mass cannot vary"
                top.audit.error("two-masses", "vary", top.lines["vary"], message)
        return tuple(found), link

    def _link(self, payload: Given) -> str:
        """Return the link that carries the payload, or "" without a link or after an error."""
        m, name = self._m, payload.get("link", "")
        moving = [x for f, x in enumerate(m.frame_names) if m.frame_bodyid[f] > 0]
        if not name or not is_known(
            name, moving, "moving link", payload, line_of(payload, "link")
        ):
            return ""
        return str(name)

    def _start(self, given: Given) -> Iterator[Varied]:
        names = Joints.of(self._m).names
        for key in given:
            for joint, found, _ in read_by_part(given, key, names, "joint", f"start: {key}"):
                yield Varied("start", key, joint, found)

    def _payload(self, given: Given) -> Iterator[Varied]:
        for key in given:
            if key != "link":
                bounds = NOT_NEGATIVE if key == "mass" else ANY
                found = read_distribution(given, key, key, "payload", bounds)
                if found is not None:
                    yield Varied("payload", key, "", found)

    def _parameters(self, given: Given) -> Iterator[Varied]:
        m = self._m
        free = (m.jnt_class == JointClass.FREE) & (m.jnt_dofnum == 1)
        parts: dict[str, Collection[str]] = {
            "body": m.body_names[1:],
            "joint": [m.jnt_names[j] for j in np.flatnonzero(free)],
        }
        for key in given:
            if key == ACTUATORS:
                yield from self._actuators.varied(given[key]) if self._actuators else ()
                continue
            what, owner = PARAMETERS[key], f"vary: {key}"
            for part, found, _ in read_by_part(given, key, parts[what], what, owner, NOT_NEGATIVE):
                yield Varied("vary", key, part, found)

    def _faults(self, given: Given) -> Iterator[Varied]:
        for key in given:
            low, high = FAULT_BOUNDS[key]
            bounds = (low, self._duration if high is None else high)
            found = read_distribution(given, key, key, "faults", bounds)
            if found is not None:
                yield Varied("faults", key, "", found)
