"""Functions of the user that kernels call by their address: joint types and motions.

A Model keeps their names; the addresses of machine code are looked up when it is made, so they
differ from process to process and are never stored. engine/joints/user.py compiles and registers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.errors import Finding, ModelError, did_you_mean

#: Names are few and short: what a kernel is given for a joint.
MAX_PARAMETERS = 8
MAX_DOFS = 6

#: Where E, r, the columns of S, and those of S_dot begin in a row of Data.user_joint; its length.
E_AT = 0
R_AT = E_AT + 9
S_AT = R_AT + 3
S_DOT_AT = S_AT + 6 * MAX_DOFS
ROW = S_DOT_AT + 6 * MAX_DOFS


#: Stages that are compiled only when a Model needs them: each returns its address when called.
#: engine/optional.py enters them here, for a Model cannot know the engine.
STAGE_MAKERS: dict[str, Callable[[], int]] = {}


def stage_address(name: str) -> int:
    """Return the address of an optional stage."""
    if name not in STAGE_MAKERS:  # nothing has imported the engine yet
        importlib.import_module("rbdyn_ros.engine.forward")
    return STAGE_MAKERS[name]()


@dataclass(frozen=True, slots=True)
class Callback:
    """A registered function.

    Attributes:
        address: of its machine code; a number of its own where nothing is compiled.
        function: the Python function it was made from.
        nv: degrees of freedom of the joint type, or coordinates of the motion.
        plain: does what the machine code does, on four arrays of Python objects.
        keep: what must live as long as the machine code.
    """

    address: int
    function: Callable[..., None]
    nv: int
    plain: Callable[..., None]
    keep: Any = None


JOINTS: dict[str, Callback] = {}
MOTIONS: dict[str, Callback] = {}

#: All that were ever registered: a Model may still call what a newer one has replaced.
_KEPT: list[Callback] = []


def register(known: dict[str, Callback], name: str, callback: Callback) -> None:
    """Enter a callback among JOINTS or MOTIONS, in the place of one with the same name."""
    _KEPT.append(callback)
    known[name] = callback


def by_address(address: int) -> Callback:
    """Return the callback of an address."""
    return next(callback for callback in _KEPT if callback.address == address)


def registered_joint(name: str, nv: int | None = None) -> Callback:
    """Return a user-defined joint type.

    Raises:
        ModelError: if nobody has registered it, or with other degrees of freedom than nv.
    """
    return _registered(name, nv, JOINTS, "joint type", "register_joint")


def registered_motion(name: str, nv: int | None = None) -> Callback:
    """Return a motion.

    Raises:
        ModelError: if nobody has registered it, or with other coordinates than nv.
    """
    return _registered(name, nv, MOTIONS, "motion", "register_motion")


def _registered(
    name: str, nv: int | None, known: dict[str, Callback], kind: str, how: str
) -> Callback:
    if name not in known:
        hint = did_you_mean(name, known)
        text = f"the {kind} '{name}' is not registered{hint}; call rbdyn_ros.{how} before"
        code = f"unknown-{kind.replace(' ', '-')}"
        raise ModelError(Finding(code, text, "error", name, None, name))
    found = known[name]
    if nv not in (None, found.nv):
        text = f"the {kind} '{name}' is registered with {found.nv} coordinates, {nv} are needed"
        raise ModelError(Finding("other-size", text, "error", name, None, str(found.nv), str(nv)))
    return found
