"""The law of a rollout: a built-in policy or a function of the user, ready to be traced."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.model_fields import MODEL_FIELDS, NAMES
from rbdyn_ros.rollouts.policies import (
    ComputedTorquePolicy,
    PDGravityPolicy,
    PDPolicy,
    Policy,
)
from rbdyn_ros.specialize.lanes import Lanes, compile_lanes
from rbdyn_ros.specialize.program import Program, program
from rbdyn_ros.specialize.symbolic import Objects, SymbolicData, SymbolicModel
from rbdyn_ros.specialize.symbols import UNARY, Graph, Symbol
from rbdyn_ros.specialize.trace import Tracing

Array = NDArray[np.float64]

#: Laws that are known by their class and their gains.
BUILT_IN = (PDPolicy, PDGravityPolicy, ComputedTorquePolicy)

#: The inputs of a law besides its gains.
STATE = ("time", "qpos", "qvel")
REFERENCE = "reference"
FORCES = "qfrc_applied"

#: Sizes of what is more than a plain tree.
_SURROUNDINGS = ("ngeom", "nvert", "nobstacle")
_CONSTRAINTS = ("nloop", "nlength", "npoint", "ngear", "nterm", "nroll", "nefc", "nwrench")


@dataclass(frozen=True)
class Law:
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
        known = _plain_tree(self.m)
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

    def forces(self, graph: Graph) -> Objects:
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
        try:
            found: Objects = np.array(asked(d.time, d.qpos, d.qvel, reference), object)
        except ZeroDivisionError as error:
            raise _refused("the policy divides by an exact zero") from error
        except IndexError as error:
            told = f"IndexError: {error}"
            text = f"the policy fails, given a reference of {self.width} numbers: {told}"
            raise _refused(text) from error
        if found.shape != (self.m.nv,) or not all(map(_is_number, found)):
            raise _refused(
                f"the policy returned {found!r:.200}; needed are the {self.m.nv} forces (nv,) of "
                "the joints"
            )
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
        tracing = Tracing(self.known)
        try:
            outputs = tracing.trace(lambda: {FORCES: self.forces(tracing.graph)})
        except ModelError as error:
            if error.code != "not-traceable" or isinstance(self.policy, Policy):
                raise
            raise _refused(
                f"the policy cannot become machine code: {error}; it is called with arrays of "
                f"symbols, on which it may use + - * /, a few comparisons and NumPy's "
                f"{', '.join(UNARY)}, arctan2"
            ) from None
        return program(tracing.graph, outputs)

    def compiled(self) -> Lanes:
        """Return the machine code "law", for one robot at a time."""
        return compile_lanes({"law": self.program()}, width=1)


def law_of(m: Model, policy: Any, width: int) -> Law:
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
    elif not callable(policy):
        raise _refused(
            f"policy is {policy!r:.80}; allowed are PDPolicy, PDGravityPolicy, "
            "ComputedTorquePolicy, or a function of (t, qpos, qvel, reference)"
        )
    return Law(m, policy, width)


def _plain_tree(m: Model) -> Model:
    """Return the Model without contact and constraints, which a law does not know."""
    if m.ngeom == 0 and m.nefc == 0:
        return m.replaced()
    dropped = {*_SURROUNDINGS, *_CONSTRAINTS}
    arrays = {
        each.name: getattr(m, each.name)[:0] if dropped & set(each.dims) else getattr(m, each.name)
        for each in MODEL_FIELDS
    }
    lost = ("geom_names", "obstacle_names", "loop_names", "loop_usertype", "length_names",
            "gear_names", "roll_names")  # fmt: skip
    names = {name: () if name in lost else getattr(m, name) for name in NAMES}
    return Model(m.name, arrays, names, m.replaced().opt, (), m)


def _inputs(graph: Graph, name: str, count: int) -> Objects:
    found = np.empty(count, object)
    found[:] = [graph.enter(("input", name, k)) for k in range(count)]
    return found


def _is_number(x: Any) -> bool:
    return isinstance(x, Symbol | int | float | np.number)


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("policy", text, "error", "policy"))
