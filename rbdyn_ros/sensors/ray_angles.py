# SPDX-License-Identifier: Apache-2.0
"""Read the angles of the rays of a lidar from a CSV file."""

import math
from typing import NoReturn

from rbdyn_ros.description.reading.guard import MAX_BYTES, refuse
from rbdyn_ros.errors import DescriptionError, Finding, quote
from rbdyn_ros.sensors.ray_specs import MAX_RAYS

LINES = "lines of two finite numbers, 'azimuth, elevation' in radians"


def read_angles(text: bytes, source: str) -> tuple[tuple[float, float], ...]:
    """Return the azimuth and elevation [rad] of each ray from the two numbers of each line.

    Empty lines and lines that begin with # are comments; a first line without numbers is a header.

    Raises:
        DescriptionError: another line has not exactly two finite numbers, or there are too many
            lines or none.
    """
    if len(text) > MAX_BYTES:
        refuse("too-large", f"{quote(source, 200)} is larger than {MAX_BYTES >> 20} MiB", source)
    rays = list[tuple[float, float]]()
    begun = False
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        ray = _ray(line)
        if ray is None and (begun or any(character.isdigit() for character in line)):
            _refuse_line(line, number, source)
        begun = True
        if ray is not None:
            rays.append(ray)
        if len(rays) > MAX_RAYS:
            _refuse_line(line, number, source, f"at most {MAX_RAYS} lines")
    if not rays:
        reason = f"{quote(source, 200)} has no line with numbers; allowed are {LINES}"
        raise DescriptionError(Finding("bad-angles", reason, "error", "", None, "", LINES))
    return tuple(rays)


def _ray(line: str) -> tuple[float, float] | None:
    """Return the two numbers of a line, or None unless the line has two finite numbers."""
    try:
        azimuth, elevation = map(float, line.split(","))
    except ValueError:
        return None
    return (azimuth, elevation) if math.isfinite(azimuth + elevation) else None


def _refuse_line(line: str, number: int, source: str, allowed: str = "") -> NoReturn:
    wanted = allowed or LINES
    text = f"line {number} of {quote(source, 200)} is {quote(line)}; allowed are {wanted}"
    raise DescriptionError(Finding("bad-angles", text, "error", "", None, line[:100], wanted))
