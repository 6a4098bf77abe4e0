"""Read the controller of a trial: a law with its gains, a function or a node of the user."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.description.yaml_files.text import Node, YamlTable
from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.policies import (
    ComputedTorquePolicy,
    PDGravityPolicy,
    PDPolicy,
    Policy,
)
from rbdyn_ros.trials.files.forms import MAX_STEPS, TrialForm
from rbdyn_ros.trials.files.user_nodes import NodeReader
from rbdyn_ros.trials.trial import Controller, Joints

LAWS = {"pd": PDPolicy, "pd_gravity": PDGravityPolicy, "computed_torque": ComputedTorquePolicy}
KINDS = ("law", "traced", "python", "node")
OF_LAW = ("stiffness", "damping", "limit")


class ControllerReader:
    """Reads the section `controller`.

    Args:
        form: reads nodes.
        m: the robot, with the timestep of the trial.
    """

    def __init__(self, form: TrialForm, m: Model) -> None:
        self._form, self._m = form, m

    def controller(self, section: Node | None) -> Controller | None:
        """Return the controller; None after an error."""
        form, keys = self._form, (*KINDS, *OF_LAW, "rate")
        table = None if section is None else form.table(section, "controller", "", keys)
        if table is None:
            return None
        given = [kind for kind in KINDS if kind in table.nodes]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            message = f"has {found} of {', '.join(KINDS)}; it must have exactly one"
            form.audit.error("bad-controller", "controller", table.line, message, found=found)
            return None
        every = self._every(table)
        if given[0] == "law":
            policy = self._policy(table)
            return None if policy is None else Controller(policy, every=every)
        for key in OF_LAW:
            if key in table.nodes:
                message = f"{key} belongs to a law; a controller of yours has its own numbers"
                form.audit.error("unknown-key", "controller", table.lines[key], message)
        if given[0] == "node":
            node = NodeReader(form, self._m).node(table.nodes["node"])
            return None if node is None else Controller(every=every, node=node)
        code = form.code(table.nodes[given[0]], given[0], "controller")
        traced = given[0] == "traced"
        return None if code is None else Controller(None, code, traced, every)

    def _every(self, table: YamlTable) -> int:
        """Return the timesteps from one command to the next."""
        node = table.nodes.get("rate")
        rate = None if node is None else self._form.within(node, "rate", "controller", 0.0,
                                                           above=True)  # fmt: skip
        if node is None or rate is None:
            return 1
        every = 1.0 / max(rate * float(self._m.opt.timestep), 1.0 / MAX_STEPS)
        if every < 0.999 or abs(every - round(every)) > 1e-6 * every:
            base = 1.0 / float(self._m.opt.timestep)
            allowed = f"{base:g} Hz, the rate of the timesteps, divided by 1, 2, 3, ..."
            self._form.wrong(node, "rate", "controller", allowed)
            return 1
        return round(every)

    def _policy(self, table: YamlTable) -> Policy | None:
        form, owner = self._form, "controller"
        name = form.name(table.nodes["law"], "law", owner)
        if name is None or form.known(name, LAWS, "law", owner, table.lines["law"]) is None:
            return None
        limit = "limit" in table.nodes and form.flag(table.nodes["limit"], "limit", owner) is True
        gains = []
        for key in ("stiffness", "damping"):
            if key not in table.nodes:
                form.audit.error("missing-key", owner, table.line, f"it has no key '{key}'")
                continue
            gains.append(self._gain(table.nodes[key], key))
        if len(gains) < 2 or any(gain is None for gain in gains):
            return None
        return LAWS[name](gains[0], gains[1], limit)

    def _gain(self, node: Node, key: str) -> Any:
        """Return a gain, one number or (nv,)."""
        if not isinstance(node, YamlTable):
            return self._form.within(node, key, "controller", 0.0)
        joints, gains = Joints.of(self._m), np.zeros(self._m.nv)
        for joint, below in node.nodes.items():
            line = node.lines[joint]
            if self._form.known(joint, joints.names, "joint", key, line) is None:
                return None
            value = self._form.within(below, f"{key} of {quote(joint)}", "controller", 0.0)
            if value is None:
                return None
            gains[joints.dofadr[joints.names.index(joint)]] = value
        return gains
