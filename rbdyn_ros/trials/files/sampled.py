"""Read the values that differ between the runs of a trial: start, payload, parameters, faults."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np

from rbdyn_ros.description.yaml_files.text import Node, YamlTable
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.files.actuated import ACTUATORS, VariedActuators
from rbdyn_ros.trials.files.forms import ANY, NOT_NEGATIVE, Bounds, TrialForm
from rbdyn_ros.trials.simulation.sampling import AXES, FAULTS
from rbdyn_ros.trials.trial import Joints, Varied

#: Fields of the Model that runs may differ in, and whether they belong to a body or a joint.
PARAMETERS = {
    "body_mass": "body",
    "dof_armature": "joint",
    "dof_damping": "joint",
    "dof_frictionloss": "joint",
    "jnt_stiffness": "joint",
}
SECTIONS = ("start", "payload", "vary", "faults")


class SampledReader:
    """Reads the four sections.

    Args:
        form: reads nodes.
        m: the robot.
        duration: of a run [s].
        actuators: reads the actuators that vary; None: there are none.
    """

    def __init__(
        self, form: TrialForm, m: Model, duration: float, actuators: VariedActuators | None
    ) -> None:
        self._form, self._m, self._duration = form, m, duration
        self._actuators = actuators
        self._joints = Joints.of(m).names

    def varied(self, top: YamlTable) -> tuple[tuple[Varied, ...], str]:
        """Return the varied values, and the link that carries the payload, or ""."""
        found: list[Varied] = []
        link = self._link(top)
        readers = {
            "start": self._start,
            "payload": self._payload,
            "vary": self._parameters,
            "faults": self._faults,
        }
        for section, read in readers.items():
            if section in top.nodes:
                found += read(top.nodes[section])
        loaded = (
            "" if not link else self._m.body_names[self._m.frame_bodyid[self._m.frame_id(link)]]
        )
        for each in found:
            if each.key == "body_mass" and each.part == loaded:
                message = f"body '{loaded}' carries the payload, so its own mass cannot vary"
                self._form.audit.error("two-masses", "vary", top.lines["vary"], message)
        return tuple(found), link

    def _start(self, node: Node) -> Iterator[Varied]:
        table = self._form.table(node, "start", "", ("position", "velocity"))
        for key, below in table.nodes.items() if table else ():
            yield from self._by_part("start", key, below, self._joints, "joint", ANY)

    def _link(self, top: YamlTable) -> str:
        node = top.nodes.get("payload")
        if not isinstance(node, YamlTable) or "link" not in node.nodes:
            return ""
        m, form, given = self._m, self._form, node.nodes["link"]
        name = form.name(given, "link", "payload")
        moving = [x for f, x in enumerate(m.frame_names) if m.frame_bodyid[f] > 0]
        if name is None:
            return ""
        return form.known(name, moving, "moving link", "payload", given.line) or ""

    def _payload(self, node: Node) -> Iterator[Varied]:
        keys, needed = ("link", "mass", *AXES), ("link", "mass")
        table = self._form.table(node, "payload", "", keys, needed)
        for key, below in table.nodes.items() if table else ():
            if key == "link":
                continue
            bounds = NOT_NEGATIVE if key == "mass" else ANY
            found = self._form.distribution(below, key, "payload", bounds)
            if found is not None:
                yield Varied("payload", key, "", found)

    def _parameters(self, node: Node) -> Iterator[Varied]:
        m, table = self._m, self._form.table(node, "vary", "", (*PARAMETERS, ACTUATORS))
        for key, below in table.nodes.items() if table else ():
            if key == ACTUATORS:
                yield from self._actuators.varied(below) if self._actuators else ()
                continue
            if PARAMETERS[key] == "body":
                parts: Collection[str] = m.body_names[1:]
            else:
                free = (m.jnt_class == JointClass.FREE) & (m.jnt_dofnum == 1)
                parts = [m.jnt_names[j] for j in np.flatnonzero(free)]
            yield from self._by_part("vary", key, below, parts, PARAMETERS[key], NOT_NEGATIVE)

    def _faults(self, node: Node) -> Iterator[Varied]:
        table = self._form.table(node, "faults", "", FAULTS)
        for key, below in table.nodes.items() if table else ():
            bounds = NOT_NEGATIVE
            if key.endswith("_delay"):
                bounds = (0.0, self._duration)
            elif key.endswith("_drop"):
                bounds = (0.0, 1.0)
            elif key == "effort_scale":
                bounds = (-math.inf, math.inf)
            found = self._form.distribution(below, key, "faults", bounds)
            if found is not None:
                yield Varied("faults", key, "", found)

    def _by_part(
        self, section: str, key: str, node: Node, parts: Collection[str], what: str, bounds: Bounds
    ) -> Iterator[Varied]:
        """Yield the distributions in a table by joint or body, or one for all of them."""
        for part, found, _ in self._form.by_part(node, parts, what, f"{section}: {key}", bounds):
            yield Varied(section, key, part, found)
