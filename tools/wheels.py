# SPDX-License-Identifier: Apache-2.0
"""Ask pip whether all dependencies have wheels for platforms that the tests do not run on.

Nothing is installed. It prints the table of docs/reference/support.md:

    .venv/bin/python tools/wheels.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
#: Dependencies in pure Python of which PyPI has only the source.
SOURCES = ("urdf_parser_py", "empy")


class Platform(NamedTuple):
    """A platform: its name, and the tags of wheels that it accepts."""

    name: str
    tags: tuple[str, ...]


def linux(processor: str) -> Platform:
    """Return the platform of Linux with glibc 2.28."""
    tags = tuple(f"manylinux_2_{minor}_{processor}" for minor in (28, 27, 26, 24, 17))
    return Platform(f"Linux {processor}", (*tags, f"manylinux2014_{processor}"))


APPLE = Platform("macOS 12 arm64", ("macosx_12_0_arm64", "macosx_11_0_arm64"))
#: The requests to pip for each platform.
ROWS = (
    (linux("x86_64"), "sim,record,plot,control,identify"),
    (linux("x86_64"), "ros-jazzy"),
    (linux("aarch64"), ""),
    (linux("aarch64"), "view,record,plot,identify"),
    (linux("aarch64"), "control"),
    (APPLE, ""),
    (APPLE, "view,record,plot,control,identify"),
)


def main() -> None:
    """Print a table: yes, or the first dependency without a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        pip("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(ROOT), *SOURCES)
        (wheel,) = Path(folder).glob("rbdyn_ros-*.whl")
        print("| platform | extras |", " | ".join(PYTHONS), "|")
        print("|---" * (2 + len(PYTHONS)) + "|")
        for platform, extras in ROWS:
            answers = [answer(platform, python, wheel, extras) for python in PYTHONS]
            print(f"| {platform.name} | {extras} |", " | ".join(answers), "|", flush=True)


def answer(platform: Platform, python: str, wheel: Path, extras: str) -> str:
    """Return "yes" if pip finds all wheels, else the requirement that it does not find."""
    tags = [word for tag in platform.tags for word in ("--platform", tag)]
    wanted = f"rbdyn_ros{f'[{extras}]' if extras else ''} @ {wheel.as_uri()}"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"),
            *("--target", str(wheel.parent / "nowhere"), "--find-links", str(wheel.parent)),
            *("--only-binary=:all:", "--implementation", "cp", "--python-version", python),
            *(*tags, wanted),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return "yes"
    missing = re.search(r"No matching distribution found for ([\w.-]+)", done.stderr)
    if missing is None:
        sys.exit(done.stderr)
    return f"no {missing[1]}"


def pip(*arguments: str) -> None:
    """Run pip; end the program if pip fails."""
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)


if __name__ == "__main__":
    main()
