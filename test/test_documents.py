"""README and docs are true: their Python runs, tables name what there is, links lead somewhere."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_python_block_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    found = {}
    exec(code, found)
    assert found["M"].shape == (7, 7)
    assert found["rotation"].shape == (3, 3)


def test_every_parameter_is_in_the_table_with_its_default():
    parameters = yaml.safe_load((ROOT / "config/simulator.yaml").read_text())
    listed = parameters["/**"]["ros__parameters"]
    faults = {f"faults.{name}": default for name, default in listed.pop("faults").items()}
    for name, default in (listed | faults).items():
        pattern = rf"^\| `{re.escape(name)}` \| \w+(?:\[3?\])? \| `(.*?)` \|"
        row = re.search(pattern, README, re.MULTILINE)
        assert row, f"the README's table lacks parameter {name}"
        assert yaml.safe_load(row[1]) == default


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_python_blocks_of_a_page_run_in_turn(page):
    found = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(code, found)


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))],
)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


@pytest.mark.parametrize("target", ["sim", "test", "setup", "lint", "bench"])
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_files_in_commands_exist():
    blocks = "\n".join(re.findall(r"```\n(.*?)```", README, re.DOTALL))
    for word in re.findall(r"\b(?:examples|config)/[\w/.]+", blocks):
        assert (ROOT / word).exists(), f"the README runs {word}"
