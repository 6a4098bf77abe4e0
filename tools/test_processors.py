# SPDX-License-Identifier: Apache-2.0
"""Run the numerical tests as if on other processors; print one verdict per variant.

    python tools/test_processors.py [--workers N] [VARIANT or FOLDER ...]
    python tools/test_processors.py znver3 specialization

A variant is a processor, for which Numba and our LLVM compile, or `libraries`: the functions that
glibc, NumPy and OpenBLAS choose on the oldest processors. A folder is a folder of test/. The
arguments select variants and folders; without arguments, all variants run the tests of all
numerical folders. A processor with instructions that this machine lacks is skipped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "test"))

from support import processors  # noqa: E402  it is found by the path above

LIBRARIES = "libraries"
VARIANTS = (*processors.FEATURES, LIBRARIES)
NUMERICAL = ("engine", "dynamics", "specialization", "codegen", "rollouts", "control")


def verdict(variant: str, folders: list[str], workers: str) -> str:
    """Run the tests of folders under a variant; return its verdict."""
    if variant == LIBRARIES:
        settings = processors.oldest_libraries()
    elif lacking := processors.missing(variant):
        return f"skipped: this machine lacks {', '.join(lacking)}"
    else:
        settings = processors.environment(variant)
    print(f"{variant}: {' '.join(folders)}", flush=True)
    begun = time.monotonic()
    options = ("-q", "-n", workers, "--dist", "loadgroup", "--no-loadscope-reorder")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(f"test/{folder}" for folder in folders)],
        env=os.environ | settings,
        cwd=REPOSITORY,
        check=False,
    )
    outcome = "passed" if done.returncode == 0 else "FAILED"
    return f"{outcome} in {time.monotonic() - begun:.0f} s"


def main() -> int:
    """Run the selected variants; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"variants ({', '.join(VARIANTS)}) and folders of test/ (default: "
        f"all variants, and {', '.join(NUMERICAL)})",
    )
    parser.add_argument("--workers", default="auto", help="processes of pytest (default: auto)")
    given = parser.parse_args()
    variants = [name for name in given.names if name in VARIANTS] or VARIANTS
    folders = [name for name in given.names if name not in VARIANTS] or list(NUMERICAL)
    for folder in folders:
        if not (REPOSITORY / "test" / folder).is_dir():
            parser.error(
                f"'{folder}' is neither a variant ({', '.join(VARIANTS)}) nor a folder of test/"
            )
    verdicts = {variant: verdict(variant, folders, given.workers) for variant in variants}
    for variant, text in verdicts.items():
        print(f"{variant:16} {text}")
    return any(text.startswith("FAILED") for text in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
