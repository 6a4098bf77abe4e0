"""The law of a rollout: a built-in policy or a function of the user, ready to be traced."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.plain_tree import plain_tree
from rbdyn_ros.rollouts.policies import (
    ComputedTorquePolicy,
    PDGravityPolicy,
    PDPolicy,
    Policy,
)
from rbdyn_ros.specialization.functions import STATE
from rbdyn_ros.specialization.lanes import Lanes, compile_lanes
from rbdyn_ros.specialization.numpy_ops import SymbolArray
from rbdyn_ros.specialization.program import Program, program
from rbdyn_ros.specialization.symbolic import Objects, SymbolicData, SymbolicModel
from rbdyn_ros.specialization.symbols import ALLOWED, Symbol, SymbolGraph
from rbdyn_ros.specialization.trace import Tracing

#: Laws that are known by their class and their gains.
BUILT_IN = (PDPolicy, PDGravityPolicy, ComputedTorquePolicy)

#: What a law is given besides the state and its gains, and what it leaves.
REFERENCE = "reference"
APPLIED = "qfrc_applied"


@dataclass(frozen=True)
class RolloutLaw:
    """A policy for one Model and references of one length.

    Attributes:
        m: the Model.
        policy: a Policy, or a function of (t, qpos, qvel, reference).
        width: of the reference.
    """

    m: Model
    policy: Policy | Callable[..., Any]
    width: int

    @functools.cached_property
    def known(self) -> Model:
        """The robot as the law knows it: a plain tree without passive forces."""
        known = plain_tree(self.m)
        known.opt.passive = False
        return known

    @property
    def gains(self) -> Mapping[str, Array]:
        """By name, what robots may have of their own."""
        return self.policy.gains if isinstance(self.policy, Policy) else {}

    @property
    def key(self) -> Any:
        """What decides the law for a Model and its options; None if nobody knows."""
        if isinstance(self.policy, Policy) and type(self.policy) in BUILT_IN:
            return type(self.policy), self.policy.limit, self.width
        return None  # what a class of the user's keeps is not known

    def forces(self, graph: SymbolGraph) -> Objects:
        """Return the forces (nv,) as symbols; called while a trace runs."""
        d = SymbolicData(self.known, graph, STATE)
        reference = _inputs(graph, REFERENCE, self.width)
        if isinstance(self.policy, Policy):
            gains = {name: _inputs(graph, name, self.m.nv) for name in self.gains}
            model = SymbolicModel(self.known, graph, {})
            return self.policy.forces(model, d, reference, gains)
        return self._asked(d, reference)

    def _asked(self, d: Any, reference: Objects) -> Objects:
        asked: Any = self.policy
        given = (x.view(SymbolArray) for x in (d.qpos, d.qvel, reference))
        try:
            found: Objects = np.array(asked(d.time, *given), object)
        except ZeroDivisionError as error:
            raise _refused("the policy divides by an exact zero") from error
        except IndexError as error:
            told = f"IndexError: {error}; by conditions np.where chooses"
            text = f"the policy fails, given a reference of {self.width} numbers: {told}"
            raise _refused(text) from error
        needed = f"needed are the {self.m.nv} forces (nv,) of the joints"
        if found.shape != (self.m.nv,):
            raise _refused(f"the policy returned an array of shape {found.shape}; {needed}")
        for x in found:
            if not _is_number(x):
                told = f"the policy returned a {type(x).__name__} among its forces"
                raise _refused(f"{told}; {needed}")
            d.time.graph.number(x)  # raises if it is not of this call
        return found

    def demand_alike(self) -> None:
        """Raise ParameterError unless the law is the same whenever it is asked."""
        if self.key is None and repr(self.program()) != repr(self.program()):
            raise _refused(
                "the policy is another one when it is called again; it may depend on time, qpos, "
                "qvel and its reference alone, and keep nothing between calls"
            )

    def program(self) -> Program:
        """Return the law alone.

        Raises:
            ParameterError: the user's function cannot be traced, or returns something else.
        """
        tracing = Tracing(self.known, what="the policy")
        try:
            outputs = tracing.trace(lambda: {APPLIED: self.forces(tracing.graph)})
        except ModelError as error:
            if error.code != "not-traceable" or isinstance(self.policy, Policy):
                raise
            raise _refused(
                f"{error}; it is called with arrays of symbols, on which it may use {ALLOWED}"
            ) from None
        return program(tracing.graph, outputs)

    def compiled(self) -> Lanes:
        """Return the machine code "law", for one robot at a time."""
        return compile_lanes({"law": self.program()}, width=1)


def law_of(m: Model, policy: Any, width: int) -> RolloutLaw:
    """Return the law of a policy.

    Raises:
        ParameterError: it is none, or takes no reference of that width.
        ModelError: it has to know more than a plain tree.
    """
    if isinstance(policy, Policy):
        allowed = policy.widths(m)
        if width not in allowed:
            name, wants = type(policy).__name__, ", ".join(policy.wants)
            raise _refused(
                f"ctrl has rows of {width} numbers; {name} takes {wants} of the joints, from the "
                f"first one on: {', '.join(map(str, allowed))} numbers"
            )
        # without its constraints a robot needs other forces than with them, and joints without an
        # actuator, of which a loop has many, would lose their share: it would not even hold still
        if policy.needs_bodies and m.nefc > 0:
            text = (
                f"{type(policy).__name__} needs a plain tree, and '{m.name}' has constraints; "
                "PDPolicy does without"
            )
            raise ModelError(Finding("constraints", text, "error", "policy"))
    elif not callable(policy) or isinstance(policy, type):
        raise _refused(
            f"policy is {policy!r:.80}; allowed are a PDPolicy(stiffness, damping), "
            "PDGravityPolicy, ComputedTorquePolicy, or a function of (t, qpos, qvel, reference)"
        )
    elif not _takes_four(policy):
        text = (
            f"the policy takes {inspect.signature(policy)}; it is given (t, qpos, qvel, reference)"
        )
        raise _refused(text)
    return RolloutLaw(m, policy, width)


def _takes_four(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(*range(4))
    except TypeError:
        return False
    except ValueError:  # it does not say; tracing will tell
        return True
    return True


def _inputs(graph: SymbolGraph, name: str, count: int) -> Objects:
    found = np.empty(count, object)
    found[:] = [graph.enter(("input", name, k)) for k in range(count)]
    return found


def _is_number(x: Any) -> bool:
    return isinstance(x, Symbol | int | float | np.integer | np.floating)


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("policy", text, "error", "policy"))
