# SPDX-License-Identifier: Apache-2.0
"""Write the generated files: docs/reference/, config/*.yaml, the SROS2 policy, the table of arms.

    python tools/docs.py            write them
    python tools/docs.py --check    list outdated files; exit status 1 if a file is outdated

The sources of these files are the declarations of fields, the docstrings, and the tables of
parameters, of keys of YAML files, of packets of control boxes, and of names of other libraries.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs_api import api_page
from docs_arms import arms_page
from docs_box import box_page
from docs_fields import fields_page
from docs_files import files_page
from docs_names import names_page
from docs_parameters import ROOT, parameter_files
from docs_policy import policy_text

FOLDER = ROOT / "docs" / "reference"


def pages() -> dict[Path, str]:
    """Return the text of every generated file."""
    return {
        FOLDER / "fields.md": fields_page(),
        FOLDER / "api.md": api_page(),
        FOLDER / "control_box.md": box_page(),
        FOLDER / "yaml_files.md": files_page(),
        FOLDER / "names.md": names_page(),
        ROOT / "config/sros2/policy.xml": policy_text(),
        **parameter_files(),
        **arms_page(),
    }


def outdated() -> list[Path]:
    """Return the generated files that are missing or outdated."""
    return [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated files.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    if parser.parse_args().check:
        for path in outdated():
            print(f"{path} is outdated: run `python tools/docs.py`", file=sys.stderr)
        return 1 if outdated() else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
