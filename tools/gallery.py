"""Draw the joint library: one picture of every type, and of what else ties joints together.

    python tools/gallery.py [FOLDER]

The body that a joint carries is drawn at some of its positions, pale to solid, as the engine
places it. Arrows are the columns of S there: what one unit of each velocity does.
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

#: Pictures by name: the types of JOINT_SPECS, a user-defined one, and what else ties bodies.
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
