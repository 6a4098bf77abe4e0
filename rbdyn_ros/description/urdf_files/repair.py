# SPDX-License-Identifier: Apache-2.0
"""Write the repairs of `strict=False` into the text of a URDF, where URDF can say them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from rbdyn_ros.description.parts.bounds import BOUNDS, OUT_OF_RANGE
from rbdyn_ros.description.urdf_files.collisions import SHAPES
from rbdyn_ros.description.urdf_files.document import Document, first_child, is_element, remove
from rbdyn_ros.description.urdf_files.schema import NEW_LIMITS, UNLIMITED
from rbdyn_ros.description.urdf_files.versions import (
    FIRST,
    WITH_JERK,
    Version,
    version_in,
)

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_LARGEST = BOUNDS["limit"].high


def repaired_text(text: str, codes: Collection[str]) -> str:
    """Return the text of a URDF with repairs; comments, order and other elements are kept.

    A repair that raises the version of the file is left out if the file has words of a newer
    version, which are ignored so far.

    Args:
        text: of a URDF that is read with ``strict=False``.
        codes: of the findings of that reading.
    """
    document = Document(text)
    raised = max(
        (repair(document) for code, repair in _REPAIRS.items() if code in codes), default=FIRST
    )
    if raised > version_in(document.root.get("version")) and "newer-attribute" not in codes:
        document.root.set("version", f"{raised[0]}.{raised[1]}")
    return document.text()


def _make_continuous(document: Document) -> Version:
    """A revolute joint without a limit is continuous."""
    for joint in document.joints.values():
        if joint.get("type") == "revolute" and first_child(joint, "limit") is None:
            joint.set("type", "continuous")
    return FIRST


def _leave_out(_document: Document) -> Version:
    """A limit that is missing is no limit in files of a version that makes it optional."""
    return WITH_JERK


def _remove_limits(document: Document) -> Version:
    """A limit that is too large is no limit."""
    newer = version_in(document.root.get("version")) >= WITH_JERK
    for joint in document.joints.values():
        limit = first_child(joint, "limit")
        for name in (*UNLIMITED, *NEW_LIMITS) if newer else UNLIMITED:
            if limit is not None and abs(float(limit.get(name, "0"))) > _LARGEST:
                del limit.attrib[name]
    return WITH_JERK


def _remove_mimics(document: Document) -> Version:
    """A joint whose leader does not exist is an ordinary joint."""
    for joint in document.joints.values():
        mimic = first_child(joint, "mimic")
        if mimic is not None and mimic.get("joint") not in document.joints:
            remove(mimic)
    return FIRST


def _remove_shapes(document: Document) -> Version:
    """A collision of an unknown shape is left out."""
    for link in document.links.values():
        for part in [part for part in link if is_element(part, "collision")]:
            geometry = first_child(part, "geometry")
            if geometry is not None and not any(_known(shape) for shape in geometry):
                remove(part)
    return FIRST


def _known(shape: Element) -> bool:
    return any(is_element(shape, tag) for tag in SHAPES)


#: The repair of each finding; it returns the version of URDF that it needs.
_REPAIRS: dict[str, Callable[[Document], Version]] = {
    "missing-limit": _make_continuous,
    "missing-attribute": _leave_out,
    OUT_OF_RANGE: _remove_limits,
    "mimic-unknown": _remove_mimics,
    "unknown-shape": _remove_shapes,
}
