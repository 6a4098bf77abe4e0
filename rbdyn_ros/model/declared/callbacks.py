# SPDX-License-Identifier: Apache-2.0
"""Functions that kernels call by address: user functions and optional stages.

A Model stores the names of user functions, because their addresses differ between processes.
engine/joints/user.py compiles and registers the functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.errors import Finding, ModelError, did_you_mean

#: Largest number of parameters, and of degrees of freedom, of a user-defined joint.
MAX_PARAMETERS = 8
MAX_DOFS = 6

#: Where E, r, the columns of S and the columns of S_dot begin in a row of Data.user_joint, and the
#: length of the row.
E_AT = 0
R_AT = E_AT + 9
S_AT = R_AT + 3
S_DOT_AT = S_AT + 6 * MAX_DOFS
ROW = S_DOT_AT + 6 * MAX_DOFS


#: For each optional stage, the function that compiles the stage and returns its address. The
#: engine registers these functions (engine/compiler/optional.py).
STAGE_MAKERS: dict[str, Callable[[], int]] = {}


#: Functions that check the user functions of a Model made from arrays; loading/user_joints.py
#: registers one.
MODEL_CHECKS: list[Callable[[Any], None]] = []


#: The function that computes the constants replacing.CONSTANTS; loading/inertias.py registers it.
WEIGHERS: list[Callable[[Any], Mapping[str, Any]]] = []


def weighed(m: Any) -> Mapping[str, Any]:
    """Return the fields of a Model that only the engine can compute: replacing.CONSTANTS."""
    if not WEIGHERS:  # a process that has only unpickled Models has not imported the engine yet
        importlib.import_module("rbdyn_ros.loading.inertias")
    return WEIGHERS[0](m)


def stage_address(name: str) -> int:
    """Return the address of an optional stage; the engine must be imported (make_data does)."""
    return STAGE_MAKERS[name]()


@dataclass(frozen=True, slots=True)
class Callback:
    """A registered function.

    Attributes:
        address: address of the machine code; a unique number if nothing is compiled.
        function: the user's Python function.
        nv: degrees of freedom of the joint type, or coordinates of the motion.
        plain: the same computation in Python on four arrays of objects, for symbols.
        keep: owner of the machine code; None: there is no machine code.
    """

    address: int
    function: Callable[..., None]
    nv: int
    plain: Callable[..., None]
    keep: Any = None


JOINTS: dict[str, Callback] = {}
MOTIONS: dict[str, Callback] = {}

#: All callbacks ever registered, because a Model may still call a callback that has been replaced.
_KEPT: list[Callback] = []


def register(known: dict[str, Callback], name: str, callback: Callback) -> None:
    """Add a callback to JOINTS or MOTIONS; it replaces a callback of the same name."""
    _KEPT.append(callback)
    known[name] = callback


def by_address(address: int) -> Callback:
    """Return the callback with this address."""
    return next(callback for callback in _KEPT if callback.address == address)


def registered_joint(name: str, nv: int | None = None) -> Callback:
    """Return a user-defined joint type.

    Raises:
        ModelError: the type is not registered, or its number of degrees of freedom is not nv
            (None: any number).
    """
    return _registered(name, nv, JOINTS, "joint type", "register_joint")


def registered_motion(name: str, nv: int | None = None) -> Callback:
    """Return a user-defined motion.

    Raises:
        ModelError: the motion is not registered, or its number of coordinates is not nv (None: any
            number).
    """
    return _registered(name, nv, MOTIONS, "motion", "register_motion")


def _registered(
    name: str, nv: int | None, known: dict[str, Callback], kind: str, how: str
) -> Callback:
    if name not in known:
        hint = did_you_mean(name, known)
        text = f"the {kind} '{name}' is not registered{hint}; call rbdyn_ros.{how} first"
        code = f"unknown-{kind.replace(' ', '-')}"
        raise ModelError(Finding(code, text, "error", name, None, name))
    found = known[name]
    if nv not in (None, found.nv):
        text = f"the {kind} '{name}' has {found.nv} coordinates, but {nv} are needed"
        raise ModelError(Finding("other-size", text, "error", name, None, str(found.nv), str(nv)))
    return found
