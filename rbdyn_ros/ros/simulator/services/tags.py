"""The filter of entities and worlds by their tags: simulation_interfaces/TagsFilter."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rbdyn_ros.errors import refusal


def tags_filter(wanted: Any) -> Callable[[Collection[str]], bool]:
    """Return whether tags pass simulation_interfaces/TagsFilter; without tags it passes all.

    Raises:
        RbdynError: the mode is unknown.
    """
    modes = {wanted.FILTER_MODE_ANY: any, wanted.FILTER_MODE_ALL: all}
    if wanted.filter_mode not in modes:
        raise refusal(f"filter_mode is {wanted.filter_mode}; allowed are 0 (any) and 1 (all)")
    matches, words = modes[wanted.filter_mode], tuple(wanted.tags)
    return lambda tags: not words or matches(word in tags for word in words)
