"""Numbers of parts (bodies, joints, frames) by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from rbdyn_ros.errors import Finding, ModelError, did_you_mean


class PartNumbers(dict[str | int, int]):
    """The number of each part of one kind, by name and by number.

    Args:
        kind: kind of the parts, for messages.
        names: names of the parts.
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        super().__init__({name: i for i, name in enumerate(names)})
        self.update({i: i for i in range(len(names))})
        self.kind, self.names = kind, names

    def of(self, part: str | int) -> int:
        """Return the number of a part; raises ModelError with the nearest name if it is unknown.

        Unlike a look-up it refuses True and 1.0, which merely equal a number.
        """
        if isinstance(part, bool) or not isinstance(part, str | int | np.integer):
            self.__missing__(part)
        return self[part]

    def __missing__(self, part: object) -> NoReturn:
        hint = f"; allowed is a name, or a number from 0 to {len(self.names) - 1}"
        if isinstance(part, str):
            hint = did_you_mean(part, self.names)
        text = f"there is no {self.kind} {part!r}{hint}"
        raise ModelError(
            Finding(f"unknown-{self.kind}", text, "error", str(part), None, str(part))
        )
