# SPDX-License-Identifier: Apache-2.0
"""Read a policy from its file or from an export of Isaac Lab, mjlab or legged_gym."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.yaml_files.tables import Given, section
from rbdyn_ros.errors import DescriptionError, counted, quote
from rbdyn_ros.policies.exports import as_policy_file
from rbdyn_ros.policies.keys import DIALECT
from rbdyn_ros.policies.spec import TERMS, ObservationTerm, PolicySpec

NO_LIMIT = (-math.inf, math.inf)


def read_policy(
    path: str | Path, *, network: str | Path = "", joints: Sequence[str] = ()
) -> PolicySpec:
    """Read the inputs and outputs of a policy's network; arguments as for policy.load_policy.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    path = Path(path)
    wanted = "a policy .yaml file or an .onnx file"
    data = b"" if path.suffix == ".onnx" else read_bytes(path, wanted, "the path of a policy")
    text = as_policy_file(path, data, network, tuple(joints))
    try:
        spec = read_policy_text(text, source=str(path), folder=path.parent)
    except DescriptionError as error:
        if text == data:
            raise
        # the errors' lines count in the generated text, which the user does not see
        findings = [replace(each, line=None) for each in error.findings]
        raise DescriptionError(findings, str(path)) from error
    return replace(spec, network=Path(network)) if network else spec


def read_policy_text(
    text: str | bytes, *, source: str = "<text>", folder: Path = Path()
) -> PolicySpec:
    """Read a policy from the text of a policy file; returns and raises the same as read_policy.

    Args:
        text: the document.
        source: name of the document, for messages.
        folder: the folder that the path of the network is relative to.
    """
    audit = Audit()
    given = DIALECT.read(DIALECT.parse(text, source, audit), audit)
    audit.raise_errors(source)  # lengths can only be compared if the lists have no errors
    spec = _spec(given, folder)
    audit.raise_errors(source)
    return spec


def _spec(given: Given, folder: Path) -> PolicySpec:
    joints = given["joints"]
    _check_names(given, joints)
    n = len(joints)
    default = _array(given, "default_position", n, 0.0)
    action, command = given["action"], section(given, "command")
    ranges = [command.get(name, NO_LIMIT) for name in ("forward", "left", "turn")]
    for name, (low, high) in zip(("forward", "left", "turn"), ranges, strict=True):
        if low > high:
            command.wrong(name, "[low, high] with low <= high")
    return PolicySpec(
        network=folder / given["network"],
        joints=joints,
        default_position=default,
        stiffness=_array(given, "stiffness", n),
        damping=_array(given, "damping", n),
        action_scale=_array(action, "scale", n),
        action_offset=_array(action, "offset", n) if "offset" in action else default,
        action_clip=action.get("clip", math.inf),
        rate=given["rate"],
        terms=tuple(_term(term, n) for term in given["observation"]),
        command_range=np.array(ranges),
    )


def _check_names(given: Given, joints: Sequence[str]) -> None:
    for name in sorted(name for name, count in Counter(joints).items() if count > 1):
        message = f"the joint {quote(name)} is listed twice; a network has one number for it"
        given.error("duplicate-name", "joints", message, found=name)


def _array(given: Given, key: str, n: int, default: float = 0.0) -> Array:
    """Return the n numbers of a key, one for each joint; one number in the file holds for all."""
    value = given.get(key, default)
    sizes = (value,) if isinstance(value, float) else value
    if len(sizes) not in (1, n):
        message = (
            f"{key} has {counted(len(sizes), 'number')} for {counted(n, 'joint')}; allowed "
            f"are 1 and {n}"
        )
        given.error("bad-value", key, message, found=str(len(sizes)), allowed=f"1 or {n}")
        return np.zeros(n)
    found: Array = np.broadcast_to(np.array(sizes, float), n).copy()
    return found


def _term(given: Given, n: int) -> ObservationTerm:
    name, scale = given["term"], given.get("scale", 1.0)
    scales = (scale,) if isinstance(scale, float) else scale
    size = TERMS[name] or n
    if len(scales) not in (1, size):
        message = f"scale of {name} has {counted(len(scales), 'number')}; allowed are 1 and {size}"
        given.error("bad-value", "scale", message, found=str(len(scales)), allowed=f"1 or {size}")
    clip = given.get("clip", NO_LIMIT)
    if clip[0] > clip[1]:
        given.wrong("clip", "[low, high] with low <= high")
    return ObservationTerm(name, tuple(scales), clip, given["history"], given["period"])
