"""Write the generated pages of the documentation, docs/reference/.

    python tools/docs.py            write them
    python tools/docs.py --check    say which are not what they should be; exit status 1 then

What the pages say stands in the code: the declarations of fields, the docstrings.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs_api import api_page
from docs_fields import fields_page

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"


def pages() -> dict[Path, str]:
    """Return the text of every generated page."""
    return {FOLDER / "fields.md": fields_page(), FOLDER / "api.md": api_page()}


def outdated() -> list[Path]:
    """Return the generated pages that are missing or say something else than the code."""
    return [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/reference.")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
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
