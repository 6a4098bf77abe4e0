# SPDX-License-Identifier: Apache-2.0
"""Hooks of mkdocs: add files from outside docs/, the pages of the API, version and repository.

The pages are written for a plain git host, where `../config/sensors.yaml` is a link to a file of
the repository. Pages at the root of the repository get names in the site: see ELSEWHERE. Every
other file is copied below files/.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))  # mkdocs loads this file by its path

from docs_api import api_page, topics  # noqa: E402

from rbdyn_ros import __version__  # noqa: E402

API = "reference/api.md"
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")

#: Pages outside docs/, by their names in the site.
ELSEWHERE = {
    "overview.md": ROOT / "README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "conduct.md": ROOT / "CODE_OF_CONDUCT.md",
    "quality.md": ROOT / "QUALITY_DECLARATION.md",
    "reporting.md": ROOT / "SECURITY.md",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show version and repository, and the pages of the API below the page with all names."""
    config.site_name = f"{config.site_name} {__version__}"
    config.repo_url = _repository() or config.repo_url
    pages = [API, *(f"reference/{topic.file}" for topic in topics())]
    (reference,) = (entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    reference[reference.index({"API": API})] = {"API": pages}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the API, the pages outside docs/, and the files that pages link to."""
    docs = Path(config.docs_dir)
    for name, path in ELSEWHERE.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    for page in list(files.documentation_pages()):
        for target in _linked(_source(docs, page.src_uri)):
            if target.is_file() and docs not in target.parents and target not in _pages():
                name = _copied(target)
                if files.get_file_from_path(name) is None:
                    files.append(File.generated(config, name, abs_src_path=str(target)))
    for topic in topics():
        name = f"reference/{topic.file}"
        files.append(File.generated(config, name, content=topic.page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to the repository by links within the site."""
    del files
    if page.file.src_uri == API:
        return api_page(linked=True)
    docs = Path(config.docs_dir)
    source = _source(docs, page.file.src_uri)

    def renamed(found: re.Match[str]) -> str:
        target = _target(source, found[2])
        if target is None:
            return found[0]
        place = _place(docs, target)
        if place is None:
            return found[0]
        start = str(Path(page.file.src_uri).parent)
        return f"{found[1]}{relpath(place, start)}{found[3] or ''}{found[4]}"

    return LINK.sub(renamed, markdown)


def _repository() -> str:
    """Return the web address of the repository from which this clone was made, if any."""
    found = subprocess.run(
        ["git", "-C", ROOT, "remote", "get-url", "origin"],
        capture_output=True,
        text=True,
        check=False,
    )
    address = found.stdout.strip().removesuffix(".git")
    return address if address.startswith("https://") else ""


def _source(docs: Path, name: str) -> Path:
    """Return the source file of a page, given its name in the site."""
    return ELSEWHERE.get(name, docs / name)


def _pages() -> set[Path]:
    return set(ELSEWHERE.values())


def _linked(source: Path) -> Iterator[Path]:
    """Yield the files and folders of the repository that a page links to."""
    for found in LINK.finditer(source.read_text(encoding="utf-8")):
        target = _target(source, found[2])
        if target is not None:
            yield target


def _target(source: Path, link: str) -> Path | None:
    """Return the repository path of a link, or None for any other link."""
    if "://" in link or link.startswith("mailto:"):
        return None
    target = (source.parent / link).resolve()
    return target if target.exists() and ROOT in target.parents else None


def _place(docs: Path, target: Path) -> str | None:
    """Return the site path of a file of the repository, or None for a folder."""
    for name, path in ELSEWHERE.items():
        if target == path:
            return name
    if docs in target.parents:
        return target.relative_to(docs).as_posix()
    return _copied(target) if target.is_file() else None


def _copied(target: Path) -> str:
    return f"files/{target.relative_to(ROOT).as_posix()}"
