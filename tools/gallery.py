# SPDX-License-Identifier: Apache-2.0
"""Draw the gallery: one picture for every joint type and every other constraint.

    python tools/gallery.py [FOLDER]

The moved body is drawn at several of its positions, pale to solid, as the engine computes them.
Arrows are the columns of S at the last position: the motion of one unit of each velocity.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import gallery_joints
import gallery_ties
from shown import Shown, draw

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "joints"

#: Pictures by name: the types of JOINT_SPECS, a user-defined type, and other constraints.
PICTURES: dict[str, Callable[[], Shown]] = {
    make.__name__: make
    for module in (gallery_joints, gallery_ties)
    for make in vars(module).values()
    if inspect.isfunction(make) and make.__module__ == module.__name__ and make.__name__[0] != "_"
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        draw(make(), folder / f"{name}.png")
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
