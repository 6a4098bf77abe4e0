# SPDX-License-Identifier: Apache-2.0
"""The report on self-collision, and the SRDF with the pairs of links that need no check."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rbdyn_ros.report.words import aligned

#: Largest number of rows of one kind in a report.
MOST_ROWS = 20

LinkPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CollisionSamples:
    """How often pairs of links overlap in random poses, by the names of the links.

    Attributes:
        samples: number of poses, besides qpos0.
        seed: seed of the random poses.
        adjacent: pairs that a joint connects, which are not sampled.
        default: pairs that overlap at qpos0, with the share of samples in which they overlap.
        always: other pairs that overlap in nearly all samples.
        never: pairs that never overlap.
        sometimes: all other pairs, with the share of samples in which they overlap.
        left_out: pairs of the lists above that the simulation leaves out: links of one body, or of
            two bodies that a joint connects.
        unlimited: pairs that overlap in no sample, but may overlap elsewhere: a joint without
            limits lies between them, such as a mobile base.
    """

    samples: int
    seed: int
    adjacent: tuple[LinkPair, ...]
    default: dict[LinkPair, float]
    always: dict[LinkPair, float]
    never: tuple[LinkPair, ...]
    sometimes: dict[LinkPair, float]
    left_out: tuple[LinkPair, ...]
    unlimited: tuple[LinkPair, ...]


def self_collision_text(found: CollisionSamples) -> list[str]:
    """Return the lines of a report."""
    lines = [f"self-collision in {found.samples} random poses (seed {found.seed})"]
    groups: list[tuple[str, Mapping[LinkPair, float]]] = [
        ("overlap at qpos0", found.default),
        ("always overlap", found.always),
        ("sometimes overlap", found.sometimes),
    ]
    for what, pairs in groups:
        lines.append(f"  pairs of links that {what}: {len(pairs)}{':' if pairs else ''}")
        ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
        rows = [("", first, second, f"{100 * part:.3g} %") for (first, second), part in ranked]
        lines += aligned(rows[:MOST_ROWS]) if rows else []
        if len(rows) > MOST_ROWS:
            lines.append(f"    and {len(rows) - MOST_ROWS} more")
    lines.append(f"  pairs that never overlap: {len(found.never)}")
    lines.append(f"  pairs that a joint connects: {len(found.adjacent)}")
    hidden = [pair for pair in found.left_out if pair in found.sometimes]
    if hidden:
        lines += [
            f"  of the pairs that sometimes overlap, the simulation leaves out {len(hidden)},",
            "    where fixed joints make links one body; MoveIt and arm_controller test them:",
            f"    {_named(hidden)}",
        ]
    if found.unlimited:
        lines += [
            f"  {len(found.unlimited)} more overlap in no sample, but may overlap elsewhere. A",
            "    joint without limits lies between them, so that no SRDF should disable them:",
            f"    {_named(found.unlimited)}",
        ]
    return [*lines, ""]


def _named(pairs: Sequence[LinkPair]) -> str:
    """Return the names of pairs of links, or only the first names of a long list."""
    names = ", ".join(f"{first} and {second}" for first, second in pairs[:MOST_ROWS])
    return names + (", ..." if len(pairs) > MOST_ROWS else "")


def self_collision_data(found: CollisionSamples) -> dict[str, Any]:
    """Return the samples for JSON: pairs as lists, some with the share of overlapping samples."""
    return {
        "samples": found.samples,
        "seed": found.seed,
        "adjacent": [list(pair) for pair in found.adjacent],
        "default": [[*pair, part] for pair, part in found.default.items()],
        "always": [[*pair, part] for pair, part in found.always.items()],
        "never": [list(pair) for pair in found.never],
        "sometimes": [[*pair, part] for pair, part in found.sometimes.items()],
        "left_out": [list(pair) for pair in found.left_out],
        "unlimited": [list(pair) for pair in found.unlimited],
    }


def srdf_text(robot: str, found: CollisionSamples) -> str:
    """Return an SRDF that disables the pairs that are neighbours, or overlap always or never.

    Pairs that overlap at qpos0 are disabled too, with the reason `Default`, as MoveIt's assistant
    does.
    """
    return srdf_document(robot, disabled_pairs(found), "rbdyn check")


def srdf_document(robot: str, lines: Iterable[str], writer: str) -> str:
    """Return an SRDF of a robot with these lines, and a comment that names the writer."""
    head = '<?xml version="1.0" encoding="UTF-8"?>', f"<!-- by {writer} -->"
    return "\n".join([*head, xml_tag("robot", name=robot), *lines, "</robot>", ""])


def disabled_pairs(
    found: CollisionSamples, allowed: Iterable[LinkPair] = (), enabled: Collection[LinkPair] = ()
) -> list[str]:
    """Return the lines of an SRDF about self-collision; see srdf_text.

    Args:
        found: pairs of links that were sampled.
        allowed: further pairs that may overlap, each with its names in order.
        enabled: pairs that are not disabled, whatever the samples show.
    """
    groups: list[tuple[str, Iterable[LinkPair]]] = [
        ("Adjacent", found.adjacent),
        ("Default", found.default),
        ("Always", found.always),
        ("Never", found.never),
    ]
    reasons = dict.fromkeys(allowed, "User")
    reasons |= {pair: reason for reason, pairs in groups for pair in pairs}
    rows = sorted((*pair, why) for pair, why in reasons.items() if pair not in enabled)
    return [
        f"  <!-- {found.samples} random poses, seed {found.seed} -->",
        *(
            "  " + xml_tag("disable_collisions", "/", link1=first, link2=second, reason=reason)
            for first, second, reason in rows
        ),
    ]


def xml_tag(element: str, end: str = "", /, **attributes: str) -> str:
    """Return the start tag of an element; `end` is "/" for an empty element."""
    # it is imported here because it loads ssl too, which takes long
    from xml.sax.saxutils import quoteattr

    given = [f"{key}={quoteattr(value)}" for key, value in attributes.items()]
    return f"<{' '.join([element, *given])}{end}>"
