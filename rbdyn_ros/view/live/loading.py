"""A robot as it came from the other process: its Model, its looks, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.errors import Finding, RbdynError, quote
from rbdyn_ros.loading.load import complete
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.live.link import Cast

#: Warnings of a robot that are told; of those beyond, how many they are.
MOST_TOLD = 8


def load(cast: Cast) -> tuple[Model, Appearance]:
    """Return the robot of a cast, and its looks.

    What moves was read before, so looks that cannot be read are only worth a warning: the robot is
    shown by its inertias then.
    """
    m = complete(cast.description, cast.floating_base, cast.strict)
    source = cast.text or cast.path
    if source is None:
        return m, Appearance()
    try:
        return m, read_appearance(source, folder=cast.folder)
    except RbdynError as error:
        text = f"what it looks like cannot be read, so its inertias are shown: {error}"
        return m, Appearance(findings=(Finding("no-looks", text, "warning"),))


def warning_of(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return what of the looks of robots cannot be shown, as one text; empty: nothing.

    Args:
        findings: by the name of the robot.
    """
    lines = []
    for name, found in findings.items():
        if found:
            lines.append(f"looks of {quote(name)}:")
            lines += [f"  {finding}" for finding in found[:MOST_TOLD]]
        if len(found) > MOST_TOLD:
            lines.append(f"  and {len(found) - MOST_TOLD} more")
    return "\n".join(lines)
