# SPDX-License-Identifier: Apache-2.0
"""Load a robot that the simulation has sent: its Model, its appearance and warnings."""

from collections.abc import Mapping, Sequence

from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.errors import Finding, RbdynError, quote
from rbdyn_ros.loading.load import complete
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.live.link import Cast

#: Largest number of warnings shown for a robot; further warnings are only counted.
MOST_WARNINGS = 8


def load(cast: Cast) -> tuple[Model, Appearance]:
    """Return the robot of a cast and its appearance.

    If the appearance cannot be read, boxes of the inertias replace it, with a warning.
    """
    m = complete(cast.description, cast.floating_base, cast.strict)
    source = cast.text or cast.path
    if source is None:
        return m, Appearance()
    try:
        return m, read_appearance(source, folder=cast.folder, package_dirs=cast.package_dirs)
    except RbdynError as error:
        text = f"its appearance cannot be read, so its inertias are shown: {error}"
        return m, Appearance(findings=(Finding("no-looks", text, "warning"),))


def moved(cast: Cast, before: Model, looks: Appearance) -> tuple[Model, Appearance]:
    """Return the Model of a robot after its objects changed, and its appearance.

    The new appearance is the part of the first appearance whose links still exist.

    Args:
        cast: the robot with the new objects.
        before: last Model of the robot.
        looks: first appearance of the robot.

    Raises:
        RbdynError: the Model cannot be made.
    """
    m = complete(cast.description, cast.floating_base, cast.strict, before=before)
    return m, looks.of_links(set(m.frame_names))


def warning_of(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return the warnings about the appearance of robots as one text, or "" without warnings.

    Args:
        findings: warnings by the name of the robot.
    """
    lines = []
    for name, found in findings.items():
        if found:
            lines.append(f"appearance of {quote(name)}:")
            lines += [f"  {finding}" for finding in found[:MOST_WARNINGS]]
        if len(found) > MOST_WARNINGS:
            lines.append(f"  and {len(found) - MOST_WARNINGS} more")
    return "\n".join(lines)
