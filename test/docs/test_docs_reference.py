# SPDX-License-Identifier: Apache-2.0
"""The generated pages are up to date, and mkdocs builds the site without warnings."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from support.documents import ROOT

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NAMES, SIZES
from rbdyn_ros.model.declared.options import OPTION_FIELDS

REFERENCE = ROOT / "docs/reference"
FIELDS = (REFERENCE / "fields.md").read_text()
API = (REFERENCE / "api.md").read_text()


def test_generated_pages_are_up_to_date():
    """If this fails, `python tools/docs.py` updates them."""
    command = [sys.executable, str(ROOT / "tools/docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_field_is_listed_once():
    """All options, sizes, arrays and names are in the tables."""
    named = [field.name for field in (*OPTION_FIELDS, *MODEL_FIELDS, *DATA_FIELDS)]
    tables, scratch = FIELDS.split("## Scratch of a Data")
    listed = re.findall(r"^\| `(\w+)`", tables, re.MULTILINE)
    listed += re.findall(r"`(\w+)` \(", scratch)
    assert sorted(listed) == sorted([*named, *SIZES, *NAMES])


def test_a_row_has_shape_unit_and_stage_of_its_field():
    row = r"| `xpos` \* | (nbody, 3) | m | origin of the body in the world | kinematics |"
    assert row in FIELDS
    assert "| `efc_rank` | int | | independent constraint equations | aba |" in FIELDS


@pytest.mark.parametrize("name", ["nv", "xpos", "cinert", "body_rootid", "qfrc_bias"])
def test_fields_marked_as_mujoco_fields_exist_in_mujoco(name):
    mujoco = pytest.importorskip("mujoco")
    assert hasattr(mujoco.MjModel, name) or hasattr(mujoco.MjData, name)
    assert re.search(rf"^\| `{name}` \\\* ", FIELDS, re.MULTILINE)


@pytest.fixture(scope="module")
def topics():
    """Return the contents of the site's API pages by title."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        from docs_api import topics

        return {topic.title: topic.page() for topic in topics()}


def test_every_public_name_is_listed(topics):
    """The names come from rbdyn_ros/__init__.pyi, not from the generator of the pages."""
    text = (ROOT / "rbdyn_ros/__init__.pyi").read_text()
    names = re.findall(r"^from \S+ import (?:\w+) as (\w+)$", text, re.MULTILINE)
    assert len(names) > 90
    pages = "".join(topics.values())
    for name in names:
        assert f"`rb.{name}`" in API, f"API lacks {name}"
        assert re.search(rf"^## rb\.{name}$", pages, re.MULTILINE), f"no topic has {name}"
        assert hasattr(rb, name)


@pytest.mark.parametrize(
    "part",
    [
        "rb.Servos.efforts(d: Data, control: ArrayLike) -> Array\n",
        "    line: int | None = None,\n",  # a field of the dataclass rb.Finding
        "rb.DescriptionError(findings: Finding | Iterable[Finding], source: str = '')\n",
    ],
)
def test_signatures_show_types_as_the_source_writes_them(topics, part):
    """The parts are from a method, from fields of a dataclass, and from an inherited __init__."""
    assert part in "".join(topics.values())


def test_docstring_sections_become_lists(topics):
    part = topics["Toolbox"].split("## rb.frame_jacobian\n")[1].split("\n## ")[0]
    assert part.strip().startswith("```text\nrb.frame_jacobian(")
    assert "- `reference`: " in part
    assert "- `ParameterError`: " in part


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site with the command of `make docs`; return its folder."""
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    env = dict(os.environ, NO_MKDOCS_2_WARNING="1", http_proxy="http://127.0.0.1:9")
    env["https_proxy"] = env["http_proxy"]  # network requests fail then
    done = subprocess.run(
        [*command, "--site-dir", str(folder)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_site(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()
    assert "make sim" in (site / "overview.html").read_text()  # this is the README
    assert 'href="api_toolbox.html"' in (site / "reference/api.html").read_text()
    assert "rb.frame_jacobian(" in (site / "reference/api_toolbox.html").read_text()


LOADED = {"stylesheet", "preload", "preconnect", "icon"}


class Loaded(HTMLParser):
    """A parser that collects the addresses that a browser loads with an HTML page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in {"script", "img", "source", "iframe"}:
            self.found.append(attributes.get("src") or "")
        elif tag == "link" and attributes.get("rel") in LOADED:
            self.found.append(attributes.get("href") or "")


def test_no_page_loads_anything_from_the_network(site):
    for page in site.rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text())
        assert [address for address in loaded.found if "//" in address] == [], page.name


def test_linked_files_are_copied_into_the_site(site):
    """Links to files of the repository lead to their copies."""
    text = (site / "guides/sensors.html").read_text()
    assert 'href="../files/config/sensors.yaml"' in text
    copied = (site / "files/config/sensors.yaml").read_text()
    assert copied == (ROOT / "config/sensors.yaml").read_text()


def test_the_makefile_builds_the_site():
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^docs:.*?(?=^\S|\Z)", makefile, re.DOTALL | re.MULTILINE)[0]
    assert "tools/docs.py" in recipe
    assert "mkdocs build --strict" in recipe
