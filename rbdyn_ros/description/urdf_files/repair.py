# SPDX-License-Identifier: Apache-2.0
"""Write the repairs of `strict=False` into the text of a URDF, where URDF can express them."""

import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from rbdyn_ros.description.parts.bounds import BOUNDS, OUT_OF_RANGE
from rbdyn_ros.description.parts.joint_types import URDF_TYPES
from rbdyn_ros.description.urdf_files import schema, versions
from rbdyn_ros.description.urdf_files.collisions import SHAPES
from rbdyn_ros.description.urdf_files.document import Document, first_child, is_element, remove

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_LARGEST = BOUNDS["limit"].high

#: Attributes that hold numbers, including those of shapes.
_NUMERIC = {
    name for spec in schema.SCHEMA.values() for name, count in spec.kinds.items() if count
} | {*("size", "radius", "length", "scale", "rgba", "value")}
#: Elements whose numbers and types are read; other elements, such as <gazebo>, stay unchanged.
_PARTS = ("link", "joint", *schema.LOOPS, "material")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_COMMA_BEHIND = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?,")


def corrected_text(text: str, continuous: bool = False) -> tuple[str, list[str]]:
    """Return the text of a URDF with decimal points and joint types as URDF writes them.

    Args:
        text: text of a URDF, which may be refused.
        continuous: whether to make revolute joints with the limits 0 and 0, which cannot move,
            continuous.

    Returns:
        The text, and a sentence for each correction.
    """
    document = Document(text)
    done = [*_with_points(document), *_with_types(document)]
    if continuous:
        done += _unlocked(document)
    return (document.text(), done) if done else (text, [])


def _read_elements(document: Document) -> "Iterator[Element]":
    """Yield the elements of links, joints and materials; URDF defines no other elements."""
    for part in document.root:
        if any(is_element(part, tag) for tag in _PARTS):
            yield from part.iter("*")


def _with_points(document: Document) -> Iterator[str]:
    """Write decimal points for decimal commas, and single blanks; yield a sentence for each."""
    for element in _read_elements(document):
        for name in _NUMERIC.intersection(element.attrib):
            old = element.get(name, "")
            new = " ".join(map(_with_point, old.split()))
            if "," in old and "," not in new:
                element.set(name, new)
                yield f"{document.place(element)} {name} is now '{new}', not '{old}'"


def _with_point(word: str) -> str:
    if _DECIMAL_COMMA.fullmatch(word):
        return word.replace(",", ".")
    return word[:-1] if _COMMA_BEHIND.fullmatch(word) else word


def _with_types(document: Document) -> Iterator[str]:
    """Write the types of joints in lower case; yield a sentence for each change."""
    for joint in _read_elements(document):
        kind = joint.get("type", "")
        if is_element(joint, "joint") and kind not in URDF_TYPES and kind.lower() in URDF_TYPES:
            joint.set("type", kind.lower())
            yield f"{document.place(joint)} type is now '{kind.lower()}', not '{kind}'"


def _unlocked(document: Document) -> Iterator[str]:
    """Make revolute joints with the limits 0 and 0 continuous; yield a sentence for each."""
    for joint in document.joints.values():
        limit = first_child(joint, "limit")
        if joint.get("type") != "revolute" or limit is None:
            continue
        ends = [limit.get(name, "0") for name in ("lower", "upper")]
        if all(re.fullmatch(r"\s*[+-]?0*\.?0*\s*", end) for end in ends):
            joint.set("type", "continuous")
            for name in {"lower", "upper"}.intersection(limit.attrib):
                del limit.attrib[name]
            yield f"{document.place(joint)} is continuous now: its limits were 0 and 0"


def repaired_text(text: str, codes: Collection[str]) -> str:
    """Return the text of a URDF with repairs; comments, order and other elements are kept.

    The version of a file is not raised if it is unknown, or if the file has words of a newer
    version, which are ignored so far.

    Args:
        text: text of a URDF.
        codes: codes of the errors that ``strict=False`` repairs.
    """
    document = Document(text)
    raised = max(
        (repair(document) for code, repair in _REPAIRS.items() if code in codes),
        default=versions.FIRST,
    )
    newer = (schema.QUATERNION, *schema.NEW_LIMITS)
    has_newer = any(
        name in element.attrib for element in document.root.iter("*") for name in newer
    )
    version = document.root.get("version")
    if raised > versions.version_in(version) and versions.is_known(version) and not has_newer:
        document.root.set("version", f"{raised[0]}.{raised[1]}")
    return document.text()


def _make_continuous(document: Document) -> versions.Version:
    """Make each revolute joint without a limit continuous; return the version that this needs."""
    for joint in document.joints.values():
        if joint.get("type") == "revolute" and first_child(joint, "limit") is None:
            joint.set("type", "continuous")
    return versions.FIRST


def _leave_out(_document: Document) -> versions.Version:
    """Change nothing: the returned version of URDF allows a missing limit."""
    return versions.WITH_JERK


def _remove_limits(document: Document) -> versions.Version:
    """Remove limits that are too large; return the version of URDF that this needs."""
    newer = versions.version_in(document.root.get("version")) >= versions.WITH_JERK
    for joint in document.joints.values():
        limit = first_child(joint, "limit")
        for name in (*schema.UNLIMITED, *schema.NEW_LIMITS) if newer else schema.UNLIMITED:
            if limit is not None and abs(float(limit.get(name, "0"))) > _LARGEST:
                del limit.attrib[name]
    return versions.WITH_JERK


def _remove_mimics(document: Document) -> versions.Version:
    """Remove each <mimic> without a leader; return the version of URDF that this needs."""
    for joint in document.joints.values():
        mimic = first_child(joint, "mimic")
        if mimic is not None and mimic.get("joint") not in document.joints:
            remove(mimic)
    return versions.FIRST


def _remove_shapes(document: Document) -> versions.Version:
    """Remove collisions of an unknown shape; return the version of URDF that this needs."""
    for link in document.links.values():
        for part in [part for part in link if is_element(part, "collision")]:
            geometry = first_child(part, "geometry")
            if geometry is not None and not any(_known(shape) for shape in geometry):
                remove(part)
    return versions.FIRST


def _known(shape: "Element") -> bool:
    return any(is_element(shape, tag) for tag in SHAPES)


#: The function that repairs each finding; it returns the version of URDF that the repair needs.
_REPAIRS: dict[str, Callable[[Document], versions.Version]] = {
    "missing-limit": _make_continuous,
    "missing-attribute": _leave_out,
    OUT_OF_RANGE: _remove_limits,
    "mimic-unknown": _remove_mimics,
    "unknown-shape": _remove_shapes,
}
