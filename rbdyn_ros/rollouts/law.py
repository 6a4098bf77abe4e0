# SPDX-License-Identifier: Apache-2.0
"""The law of a rollout: a built-in policy or a user function, ready to be traced."""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ModelError, ParameterError, counted
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NAME_DIMS
from rbdyn_ros.model.model import Model, unchecked_model
from rbdyn_ros.rollouts.policies import ComputedTorquePolicy, PDGravityPolicy, PDPolicy, Policy
from rbdyn_ros.specialization.functions import STATE
from rbdyn_ros.specialization.lanes import Lanes, compile_lanes
from rbdyn_ros.specialization.programs.numpy_ops import SymbolArray
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.programs.symbols import ALLOWED, Symbol, SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects, SymbolicData, SymbolicModel
from rbdyn_ros.specialization.trace import Tracing

#: Laws that are fully determined by their class and gains.
BUILT_IN = (PDPolicy, PDGravityPolicy, ComputedTorquePolicy)

#: The array that a law reads in addition to the state and its gains, and the array that it writes.
REFERENCE = "reference"
APPLIED = "qfrc_applied"

#: Sizes of a Model that are zero for a plain tree without surroundings.
_SURROUNDINGS = (
    *("ngeom", "ngeommoving", "nobstacle", "nvert", "nedge", "nfield", "nheight"),
    *("ntrimesh", "ntrivert", "ntriangle", "ntribox", "ntristar"),
    *("nexclude", "ndistance", "npush", "nface", "nfacevert"),
)
_CONSTRAINTS = ("nloop", "nlength", "npoint", "ngear", "nterm", "nroll", "nefc", "nwrench")


@dataclass(frozen=True)
class RolloutLaw:
    """A policy for one Model and for references of one length.

    Attributes:
        m: the Model.
        policy: a Policy, or a function of (t, qpos, qvel, reference).
        width: length of the reference.
    """

    m: Model
    policy: Policy | Callable[..., Any]
    width: int

    @functools.cached_property
    def known(self) -> Model:
        """The Model that the law uses: the plain tree, without passive forces and actuators."""
        known = plain_tree(self.m)
        known.opt.passive = False
        return known

    @property
    def gains(self) -> Mapping[str, Array]:
        """The gains by name, which may differ between robots."""
        return self.policy.gains if isinstance(self.policy, Policy) else {}

    @property
    def key(self) -> Any:
        """The key under which code with the law is cached, or None for a user function."""
        if isinstance(self.policy, Policy) and type(self.policy) in BUILT_IN:
            return type(self.policy), self.policy.limit, self.width
        return None  # a user function may depend on attributes that change

    def forces(
        self, graph: SymbolGraph, symbolic: Mapping[str, Collection[int]] | None = None
    ) -> Objects:
        """Return the forces (nv,) as symbols; called while a trace runs.

        Args:
            graph: the graph of the trace.
            symbolic: entries of the Model that are inputs of the trace, by name; None: no entries.
        """
        d = SymbolicData(self.known, graph, STATE)
        reference = _inputs(graph, REFERENCE, self.width)
        if isinstance(self.policy, Policy):
            gains = {name: _inputs(graph, name, self.m.nv) for name in self.gains}
            model = SymbolicModel(self.known, graph, symbolic or {})
            return self.policy.forces(model, d, reference, gains)
        return self._called(d, reference)

    def _called(self, d: Any, reference: Objects) -> Objects:
        """Return the forces that the user's function computes.

        Raises:
            ParameterError: the function raises an error, or does not return nv forces.
        """
        policy: Any = self.policy
        given = (x.view(SymbolArray) for x in (d.qpos, d.qvel, reference))
        try:
            found: Objects = np.array(policy(d.time, *given), object)
        except ZeroDivisionError as error:
            raise _refused("the policy divides by an exact zero") from error
        except IndexError as error:
            raise _refused(
                f"the policy raised IndexError: {error}; its reference has "
                f"{counted(self.width, 'number')}; to choose by a condition, use np.where"
            ) from error
        allowed = f"allowed is one force per degree of freedom, ({self.m.nv},)"
        if found.shape != (self.m.nv,):
            raise _refused(f"the policy returned an array of shape {found.shape}; {allowed}")
        for x in found:
            if not _is_number(x):
                text = f"the policy returned a {type(x).__name__} among its forces"
                raise _refused(f"{text}; {allowed}")
            d.time.graph.number(x)  # this raises an error if x is a symbol of an earlier call
        return found

    def check_repeatable(self) -> None:
        """Raise ParameterError if a second call of the user function returns other forces."""
        if self.key is None and repr(self.program()) != repr(self.program()):
            raise _refused(
                "the policy computes other forces when it is called again; it may depend only on "
                "time, qpos, qvel and its reference, and must keep nothing between calls"
            )

    def program(self) -> Program:
        """Return the operations of the law.

        Raises:
            ParameterError: the user's function cannot be traced, or does not return nv forces.
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
        ParameterError: `policy` is not a policy, or does not accept references of this width.
        ModelError: the policy supports only plain trees, and the Model has constraints.
    """
    if isinstance(policy, Policy):
        allowed = policy.widths(m)
        if width not in allowed:
            name, wants = type(policy).__name__, ", ".join(policy.wants)
            raise _refused(
                f"ctrl has rows of {width} numbers; {name} takes {wants} or the first of these: "
                f"allowed are rows of {', '.join(map(str, allowed))} numbers"
            )
        # The law would compute the forces of the tree alone, which are wrong with constraints:
        # most joints of a loop have no actuator, so the robot would not even stand still.
        if policy.needs_bodies and m.nefc > 0:
            text = (
                f"{type(policy).__name__} supports only trees, and '{m.name}' has constraints; "
                "PDPolicy supports them"
            )
            raise ModelError(Finding("constraints", text, "error", "policy"))
    elif not callable(policy) or isinstance(policy, type):
        raise _refused(
            f"policy is {policy!r:.80}; allowed are a PDPolicy(stiffness, damping), "
            "PDGravityPolicy, ComputedTorquePolicy, or a function of (t, qpos, qvel, reference)"
        )
    elif not _takes_four(policy):
        taken = inspect.signature(policy)
        raise _refused(f"the policy takes {taken}; it is called with (t, qpos, qvel, reference)")
    return RolloutLaw(m, policy, width)


def plain_tree(m: Model) -> Model:
    """Return the Model without contact, constraints and actuators, with separate options."""
    if m.ncontact == m.nefc == m.nu == 0:
        return m.replaced()
    dropped = {*_SURROUNDINGS, *_CONSTRAINTS, "nu"}
    arrays = {
        each.name: getattr(m, each.name)[:0] if dropped & set(each.dims) else getattr(m, each.name)
        for each in MODEL_FIELDS
    }
    names = {name: () if dim in dropped else getattr(m, name) for name, dim in NAME_DIMS.items()}
    return unchecked_model(m.name, arrays, names, m.replaced().opt, (), m)


def _takes_four(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(*range(4))
    except TypeError:
        return False
    # the function has no signature; tracing finds errors when it calls the function
    except ValueError:
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
