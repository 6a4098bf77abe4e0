# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn info`: print versions and permissions on this machine, for bug reports."""

import argparse
import json
from collections.abc import Iterable
from typing import Any

from rbdyn_ros.commands.inventory import inventory
from rbdyn_ros.commands.line.common import DONE, flag
from rbdyn_ros.commands.line.parser import Commands

#: Extras that the table leaves out: ROS 2 has its own row, and the last two are for developers.
_NOT_LISTED = ("ros", "ros-jazzy", "sim", "test", "docs")

EPILOG = """\
Examples:
  rbdyn info
  rbdyn info --json > machine.json

A missing package is not an error. Exit status: 0."""


def add_info(commands: Commands) -> None:
    command = commands.add_parser(
        "info",
        help="versions, cache, extras, ROS 2 and permissions on this machine",
        epilog=EPILOG,
    )
    flag(command, "--json", "print JSON")
    command.set_defaults(run=_info)


def _info(options: argparse.Namespace) -> int:
    found = inventory()
    print(json.dumps(found, indent=2) if options.json else info_text(found))
    return DONE


def info_text(found: dict[str, Any]) -> str:
    """Return the table for the terminal."""
    python, cores = found["python"], found["cores"]
    libraries = (f"{name} {version or 'missing'}" for name, version in found["libraries"].items())
    rows = [
        ("rbdyn_ros", found["version"]),
        ("Python", f"{python['version']}, {python['path']}"),
        ("libraries", ", ".join(libraries)),
        ("system", found["platform"]),
        ("processor", f"{found['processor']}, {cores} core{'' if cores == 1 else 's'}"),
        *_cache_rows(found["cache"]),
        *_extra_rows(found["extras"]),
        *_ros_rows(found["ros"]),
        ("messages", _listed(found["messages"], "missing")),
        *_permission_rows(found["permissions"]),
        ("robots", ", ".join(found["robots"]) or "none: the data files are not installed"),
    ]
    return "\n".join(f"{name:<14}{text}".rstrip() for name, text in rows)


Row = tuple[str, str]


def _cache_rows(cache: dict[str, Any]) -> Iterable[Row]:
    if cache["path"] is None:
        yield "cache", f"not used: {cache['reason']}"
        return
    mib, others = (cache[key] / 2**20 for key in ("bytes", "other_versions_bytes"))
    yield "cache", f"{cache['path']}, {mib:.1f} MiB; other versions {others:.1f} MiB"
    yield "compiled", _listed(cache["compiled"], "at first use")


def _listed(there: dict[str, bool], otherwise: str) -> str:
    """Return the names of installed items, then the missing items with the hint `otherwise`."""
    having = [name for name, is_there in there.items() if is_there]
    lacking = [name for name, is_there in there.items() if not is_there]
    parts = [", ".join(having)] if having else []
    return "; ".join([*parts, *([f"{otherwise}: {', '.join(lacking)}"] if lacking else [])])


def _extra_rows(extras: dict[str, dict[str, str | None]]) -> Iterable[Row]:
    for name, needed in sorted(extras.items()):
        if name in _NOT_LISTED:
            continue
        missing = [package for package, version in needed.items() if version is None]
        there = (f"{package} {version}" for package, version in needed.items() if version)
        hint = f'pip install "rbdyn_ros[{name}]"'
        install = f"missing {', '.join(missing)} ({hint})"
        yield f"[{name}]", install if missing else ", ".join(there)


def _ros_rows(ros: dict[str, Any]) -> Iterable[Row]:
    if "error" in ros:
        yield "ROS 2", f"not found: {ros['error']}"
        return
    yield "ROS 2", f"{ros['distro'] or 'distribution unknown'}, {ros['rmw']}, {ros['rclpy']}"


def _permission_rows(permissions: dict[str, str]) -> Iterable[Row]:
    if "error" in permissions:
        yield "real time", f"unknown: {permissions['error']}"
        return
    granted = (f"{what}: {f'no ({no})' if no else 'yes'}" for what, no in permissions.items())
    yield "real time", ", ".join(granted)
