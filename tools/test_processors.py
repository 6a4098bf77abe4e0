"""Run the tests of numerical code as if on other processors; one verdict for each.

    python tools/test_processors.py [--only NAME ...] [FOLDER ...]

Numba and our own LLVM compile for each processor in turn. One more run switches off the variants
of functions that glibc, NumPy and OpenBLAS choose by processor. Processors whose instructions
this machine cannot execute are skipped.
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

FOLDERS = ("engine", "dynamics", "specialization", "codegen", "rollouts", "control")
LIBRARIES = "libraries"
VARIANTS = (*processors.FEATURES, LIBRARIES)


def verdict(variant: str, folders: list[str], workers: str) -> str:
    """Run the tests under a variant; return its verdict."""
    if variant == LIBRARIES:
        settings = processors.oldest_libraries()
    else:
        lacking = processors.missing(variant)
        if lacking:
            return f"skipped: this machine lacks {', '.join(lacking)}"
        settings = processors.environment(variant)
    print(f"{variant}:", flush=True)
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers]
    done = subprocess.run(
        [*command, "--dist", "loadgroup", "--no-loadscope-reorder", *folders],
        env=os.environ | settings,
        cwd=REPOSITORY,
        check=False,
    )
    outcome = "passed" if done.returncode == 0 else "FAILED"
    return f"{outcome} in {time.monotonic() - begun:.0f} s"


def main() -> int:
    """Run all variants asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", default=[f"test/{name}" for name in FOLDERS])
    parser.add_argument("--only", action="append", choices=VARIANTS, help="run this one alone")
    parser.add_argument("--workers", default="auto", help="processes of pytest (default: auto)")
    given = parser.parse_args()
    verdicts = {
        variant: verdict(variant, given.folders, given.workers)
        for variant in given.only or VARIANTS
    }
    for variant, text in verdicts.items():
        print(f"{variant:16} {text}")
    return any(text.startswith("FAILED") for text in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
