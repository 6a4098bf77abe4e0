# SPDX-License-Identifier: Apache-2.0
"""Divide the robots of a rollout into parts for other machines."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.arrays import Array
from rbdyn_ros.cluster import PER_CORE
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.params import params_of
from rbdyn_ros.rollouts.policies import Policy

#: Smallest number of robots in a part; for fewer robots a task would cost more than it saves.
LEAST = 64


@dataclass(frozen=True)
class Arguments:
    """The checked arguments of a rollout.

    Attributes:
        m: the Model.
        qpos: (nbatch or 1, nq), initial positions.
        qvel: (nbatch or 1, nv), initial velocities.
        ctrl: the given array, or None.
        params: the given parameters, or None.
        policy: the given policy, or None.
        common: the arguments that all robots share, by name.
    """

    m: Model
    qpos: Array
    qvel: Array
    ctrl: Any
    params: Mapping[str, Any] | None
    policy: Policy | Callable[..., Any] | None
    common: dict[str, Any]

    def of(self, robots: slice) -> dict[str, Any]:
        """Return the arguments of some robots."""
        policy, ctrl = self.policy, self.ctrl
        if ctrl is not None and ctrl.ndim == 3 and len(ctrl) > 1:
            ctrl = ctrl[robots]
        rows = [x[robots] if len(x) > 1 else x for x in (self.qpos, self.qvel)]
        return {
            "qpos0": rows[0],
            "qvel0": rows[1],
            "ctrl": ctrl,
            "params": params_of(self.m, self.params, robots),
            "policy": _policy_of(policy, robots) if isinstance(policy, Policy) else policy,
        }


def _policy_of(policy: Policy, robots: slice) -> Policy:
    """Return the law of some robots, with their gains."""
    some = copy.copy(policy)
    some.gains = {
        name: gain[robots] if gain.ndim == 2 and len(gain) > 1 else gain
        for name, gain in policy.gains.items()
    }
    return some


def divided(nbatch: int, cores: int) -> Iterator[slice]:
    """Divide robots into parts for `cores` cores; the results do not depend on the division."""
    size = max(LEAST, -(-nbatch // (PER_CORE * cores)))
    for first in range(0, nbatch, size):
        yield slice(first, min(first + size, nbatch))
