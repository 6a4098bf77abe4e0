# SPDX-License-Identifier: Apache-2.0
"""Rewrite exports of training frameworks as policy files.

Isaac Lab: the deploy.yaml that unitree_rl_lab writes next to the ONNX file. mjlab: the metadata in
the ONNX file. legged_gym: the configuration with which unitree_rl_gym runs a policy in MuJoCo.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.yaml_files.kinds import ValuePlace
from rbdyn_ros.description.yaml_files.tables import Given
from rbdyn_ros.description.yaml_files.text import YamlTable, parse
from rbdyn_ros.errors import DescriptionError, Finding, counted, listing, quote
from rbdyn_ros.policies.export_keys import ISAAC_LAB, LEGGED_GYM, SomeKeys
from rbdyn_ros.policies.network import metadata_of
from rbdyn_ros.policies.spec import TERMS

#: Our names of observation terms, by their names in other frameworks or versions.
ALIASES = {
    "joint_pos": "joint_pos_rel",
    "joint_vel": "joint_vel_rel",
    "actions": "last_action",
    "command": "velocity_commands",
}
#: Action rate of a policy whose metadata has no rate; mjlab's tasks use it [Hz].
RATE = 50.0
#: Period of the gait of legged_gym's humanoids [s].
GAIT = 0.8
#: Isaac Lab's tag for "all joints".
ALL = b"!!python/object/apply:builtins.slice [null, null, null]"

Words = dict[str, Any]


def as_policy_file(path: Path, data: bytes, network: str | Path, joints: Sequence[str]) -> bytes:
    """Return the text of a policy file, made from an export; return a policy file unchanged.

    Args:
        path: path of the file.
        data: content of the file; not used for an ONNX file.
        network: path of the ONNX file; empty: the path in the export.
        joints: names of the joints, for exports without names.

    Raises:
        DescriptionError: the export lacks a value, or has an unsuitable value.
    """
    if path.suffix == ".onnx":
        return _written(_of_mjlab(path))
    plain = data.replace(ALL, b"[]")
    audit = Audit()
    top = parse(plain, str(path), audit, "a policy file")
    if "observations" in top.nodes:
        return _written(_of_isaac_lab(_read(ISAAC_LAB, top, path, audit), path, joints))
    if "kps" in top.nodes:
        given = _read(LEGGED_GYM, top, path, audit)
        return _written(_of_legged_gym(given, path, bool(network), joints))
    return data


def _read(table: SomeKeys, top: YamlTable, path: Path, audit: Audit) -> Given:
    given = table.read_table(top, ValuePlace(audit))
    audit.raise_errors(str(path))
    assert isinstance(given, Given)
    return given


def _written(table: Words) -> bytes:
    return json.dumps({"rbdyn_policy": 1} | table, indent=1).encode()


def _refuse(path: Path, code: str, message: str, found: str = "", allowed: str = "") -> NoReturn:
    raise DescriptionError(Finding(code, message, found=found, allowed=allowed), str(path))


def _named(joints: Sequence[str], count: int, path: Path) -> list[str]:
    """Return the names of joints as a list.

    Raise DescriptionError unless there are `count` names.
    """
    if len(joints) != count:
        message = (
            f"the export has numbers for {counted(count, 'joint')} but no names, and the "
            f"number of given names is {len(joints)}; give the names in the order of the robot's "
            "own interface"
        )
        _refuse(path, "joint-names", message, found=str(len(joints)), allowed=str(count))
    return list(joints)


def _check_lengths(path: Path, count: int, **lists: Sequence[float]) -> None:
    for key, numbers in lists.items():
        if len(numbers) != count:
            message = f"{key} has {counted(len(numbers), 'number')} for {counted(count, 'joint')}"
            _refuse(path, "bad-value", message, found=str(len(numbers)), allowed=str(count))


def _term(name: str, path: Path, **more: Any) -> Words:
    known = ALIASES.get(name, name)
    if known not in TERMS:
        message = f"the observation {quote(name)} is unknown; known are {', '.join(TERMS)}"
        _refuse(path, "unknown-term", message, found=name, allowed=", ".join(TERMS))
    return {"term": known} | {key: value for key, value in more.items() if value not in (None, ())}


def _of_isaac_lab(given: Given, path: Path, joints: Sequence[str]) -> Words:
    """Return an Isaac Lab export as a policy file's keys and values, in the network's order."""
    order, places = given["joint_ids_map"], len(given["stiffness"])
    names = _named(joints, places, path)
    if len(set(order)) != len(order) or max(order, default=0) >= places:
        message = f"joint_ids_map must have different numbers below {places}, one for each joint"
        _refuse(path, "bad-order", message)
    action = given["actions"]["JointPositionAction"]
    _check_lengths(path, places, damping=given["damping"])
    _check_lengths(
        path,
        len(order),
        default_joint_pos=given["default_joint_pos"],
        scale=action["scale"],
        offset=action["offset"],
    )
    for key in ("clip", "joint_ids"):
        if action.get(key):
            message = f"{key} of JointPositionAction is set; only exports without it are read"
            _refuse(path, "unknown-action", message, found=key)
    ranges = given.get("commands", {}).get("base_velocity", {}).get("ranges", {})
    command = {"lin_vel_x": "forward", "lin_vel_y": "left", "ang_vel_z": "turn"}
    return {
        "network": "../exported/policy.onnx",
        "joints": [names[i] for i in order],
        "rate": 1.0 / given["step_dt"],
        "default_position": given["default_joint_pos"],
        "stiffness": [given["stiffness"][i] for i in order],
        "damping": [given["damping"][i] for i in order],
        "action": {"scale": action["scale"], "offset": action["offset"]},
        "observation": [
            _term(name, path, **term | {"period": term.pop("params", {}).get("period")})
            for name, term in given["observations"].items()
        ],
        "command": {our: ranges[name] for name, our in command.items() if ranges.get(name)},
    }


def _of_legged_gym(given: Given, path: Path, other: bool, joints: Sequence[str]) -> Words:
    """Return a legged_gym export as a policy file's keys and values.

    The size of the observation determines its layout.
    """
    count = len(given["default_angles"])
    names = _named(joints, count, path)
    _check_lengths(path, count, kps=given["kps"], kds=given["kds"])
    network = given["policy_path"]
    if not other and ("{" in network or not network.endswith(".onnx")):
        message = (
            f"policy_path is {quote(network)}; export the policy as ONNX and name that file as "
            "the network"
        )
        _refuse(path, "not-onnx", message, allowed="an .onnx file")
    layouts = {9: "", 11: "gait_phase", 12: "base_lin_vel"}
    extra = given["num_obs"] - 3 * count
    if extra not in layouts:
        sizes = ", ".join(str(3 * count + number) for number in layouts)
        message = f"num_obs is {given['num_obs']}; known are {sizes} for {count} joints"
        _refuse(path, "unknown-layout", message, allowed=sizes)
    terms = [
        _term("base_ang_vel", path, scale=given["ang_vel_scale"]),
        _term("projected_gravity", path),
        _term("velocity_commands", path, scale=given["cmd_scale"]),
        _term("joint_pos_rel", path, scale=given["dof_pos_scale"]),
        _term("joint_vel_rel", path, scale=given["dof_vel_scale"]),
        _term("last_action", path),
    ]
    if layouts[extra] == "base_lin_vel":
        terms.insert(0, _term("base_lin_vel", path, scale=given["lin_vel_scale"]))
    if layouts[extra] == "gait_phase":
        terms.append(_term("gait_phase", path, period=GAIT))
    return {
        "network": given["policy_path"],
        "joints": names,
        "rate": 1.0 / (given["simulation_dt"] * given["control_decimation"]),
        "default_position": given["default_angles"],
        "stiffness": given["kps"],
        "damping": given["kds"],
        "action": {"scale": given["action_scale"]},
        "observation": terms,
    }


def _of_mjlab(path: Path) -> Words:
    found: Mapping[str, str] = metadata_of(path)
    keys = ("joint_names", "joint_stiffness", "joint_damping", "default_joint_pos")
    needed = (*keys, "observation_names", "action_scale")
    if missing := [name for name in needed if name not in found]:
        message = (
            f"the metadata of the ONNX file has no {listing(missing)}, which mjlab writes; "
            "write a policy file that names the network"
        )
        _refuse(path, "missing-metadata", message, allowed=", ".join(needed))
    return {
        "network": path.name,
        "joints": found["joint_names"].split(","),
        "rate": RATE,
        "default_position": _numbers(found, "default_joint_pos", path),
        "stiffness": _numbers(found, "joint_stiffness", path),
        "damping": _numbers(found, "joint_damping", path),
        "action": {"scale": _numbers(found, "action_scale", path)},
        "observation": [_term(name, path) for name in found["observation_names"].split(",")],
    }


def _numbers(found: Mapping[str, str], name: str, path: Path) -> list[float]:
    try:
        return [float(text) for text in found[name].split(",")]
    except ValueError:
        text = found[name]
        message = f"the metadata {name} is {quote(text)}, not numbers with commas between them"
        _refuse(path, "bad-value", message, found=text)
