# SPDX-License-Identifier: Apache-2.0
"""README and docs are correct: their Python code runs, their names exist, and their links work."""

import re
import xml.etree.ElementTree as ET

import pytest
import yaml
from support import documents, robots
from support.documents import ROOT, blocks, of_language, page_names, text_of

import rbdyn_ros as rb
from rbdyn_ros import trials
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.policies.reader import read_policy_text

README = text_of("README.md")
LANGUAGES = {"python", "bash", "console", "text", "yaml", "xml", "c", "cpp"}


@pytest.mark.parametrize("page", page_names())
def test_every_block_has_a_known_language(page):
    """docs/index.md says how blocks of each language are tested."""
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block.where}: '{block.info}' is an unknown language"


def with_python(page):
    return any(not block.source for block in of_language(page, "python"))


@pytest.mark.parametrize("page", list(filter(with_python, page_names())))
def test_python_blocks_of_a_page_run_in_turn(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = {"__name__": "page"}
    for block in of_language(page, "python"):
        if not block.source:
            # with empty lines before the block, errors have the line numbers of the page
            code = compile("\n" * block.line + block.text, page, "exec")
            exec(code, found)
    if page == "README.md":
        assert found["M"].shape == (7, 7)
        assert found["rotation"].shape == (3, 3)


SHOWN = [
    block for page in page_names() for block in blocks(page) if block.source and not block.is_saved
]


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.where)
def test_a_quoted_part_of_a_file_is_in_the_file(block):
    wanted = [line.strip() for line in block.text.splitlines()]
    lines = [line.strip() for line in (ROOT / block.source).read_text().splitlines()]
    starts = (k for k, line in enumerate(lines) if line == wanted[0])
    assert any(lines[k : k + len(wanted)] == wanted for k in starts), (
        f"{block.where} is not what {block.source} says"
    )


YAML = [block for page in page_names() for block in of_language(page, "yaml")]


@pytest.mark.parametrize("block", YAML, ids=lambda block: block.where)
def test_yaml_blocks_are_valid(block, tmp_path, monkeypatch):
    """Mechanisms and sensors can be read, and the names of parameters exist."""
    content = yaml.safe_load(block.text)
    assert isinstance(content, dict), "a block of YAML is a mapping"
    if "rbdyn_mechanism" in content:
        (tmp_path / "arm.urdf").write_text(arm_of(content))
        (tmp_path / "mechanism.yaml").write_text(block.text)
        from rbdyn_ros.description.source import read

        assert isinstance(read(tmp_path / "mechanism.yaml"), Description)
    elif "rbdyn_scene" in content:
        (tmp_path / "arm.urdf").write_text(arm_of({"robot": "arm.urdf"}))
        if "panda" in block.text:
            if not robots.FILES:
                pytest.skip("example-robot-data is not installed")
            (tmp_path / "robots").symlink_to(robots.find("panda.urdf").parents[2])
        (tmp_path / "scene.yaml").write_text(block.text)
        assert rb.load(tmp_path / "scene.yaml").nobstacle > 0
    elif "rbdyn_trial" in content:
        text = block.text.replace(": ../", f": {ROOT}/config/")
        (tmp_path / "trial.yaml").write_text(text)
        assert trials.load(tmp_path / "trial.yaml").limits
    elif "rbdyn_columns" in content:
        from rbdyn_ros.identification.data.columns import DIALECT

        audit = Audit()
        DIALECT.read(DIALECT.parse(block.text, block.where, audit), audit)
        assert not audit.errors
    elif "rbdyn_policy" in content:
        assert read_policy_text(block.text).terms
    elif "rbdyn_actuators" in content:
        from rbdyn_ros.actuators import read_actuators_text

        arm = rb.load_urdf(ROOT / "config/robots/seven_dof_arm.urdf")
        assert read_actuators_text(block.text, arm)
    elif "sensors" in content:
        from rbdyn_ros.description.source import read
        from rbdyn_ros.sensors import read_sensors_text

        robot = ROOT / "config/robots/seven_dof_arm.urdf"
        if "panda_" in block.text:
            robot = robots.find("panda.urdf")
        assert read_sensors_text(block.text, rb.load_urdf(robot), read(robot))
    else:
        assert list(parameters(content)), f"{block.where} has no parameters"
        for name in parameters(content):
            assert name in KNOWN_PARAMETERS or name.startswith("initial_positions"), name


PARAMETER_ROW = r"^\| `([\w.]+)` \| \w+(?:\[\d?\])? \| `"
REFERENCE = "".join(
    text_of(f"docs/reference/{node}.md") for node in ("simulator", "arm_controller", "policy_node")
)
KNOWN_PARAMETERS = set(re.findall(PARAMETER_ROW, REFERENCE, re.MULTILINE))


def parameters(content):
    """Yield the names of parameters in a ROS parameter file."""
    for key, value in content.items():
        if key == "ros__parameters":
            yield from value
        elif isinstance(value, dict):
            yield from parameters(value)


def arm_of(content):
    """Return the URDF of the arm that the mechanism in docs/guides/mechanisms.md changes."""
    links = ["base", "link_a", "link_b", "link_c", "tool", "carriage", "table"]
    joints = ["joint_1", "joint_3", "joint_4", "joint_5", "lead_screw", "turntable"]
    assert content["robot"] == "arm.urdf"
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="1"/>{inertia}</inertial>'
    parts = [f'<link name="{link}">{inertial}</link>' for link in links]
    parts += [
        f'<joint name="{joint}" type="continuous"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/></joint>'
        for joint, parent, child in zip(joints, links[:-1], links[1:], strict=True)
    ]
    return f'<robot name="arm">{"".join(parts)}</robot>'


@pytest.mark.parametrize(
    "block",
    [block for page in page_names() for block in of_language(page, "xml")],
    ids=lambda block: block.where,
)
def test_xml_blocks_are_well_formed(block):
    ET.fromstring(f"<page>{block.text}</page>")


@pytest.mark.parametrize("page", page_names())
def test_link_targets_exist(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose(page)):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


def test_the_index_links_to_every_page():
    pages = [page for page in page_names() if page.count("/") == 2]
    assert [
        page for page in pages if page.removeprefix("docs/") not in text_of("docs/index.md")
    ] == []


def prose(page):
    """Return a page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", page_names())
def test_nested_lists_are_indented_by_four_spaces(page):
    """With a smaller indent mkdocs would show nested lists and tables as plain text."""
    assert not re.findall(r"^ {1,3}(?:[-*|]|\d+\.).*", prose(page), re.MULTILINE)


@pytest.mark.parametrize("target", ["sim", "test", "setup", "lint", "bench", "docs"])
def test_make_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_files_in_commands_exist():
    """Files in commands that are not run must exist, too."""
    for page in page_names():
        for block in of_language(page, "bash", "console"):
            for word in re.findall(r"(?<![\w/.])(?:examples|config)/[\w/.]+", block.text):
                assert (ROOT / word).exists(), f"{block.where} names {word}"


TOP_FOLDERS = {path.name for folder in (ROOT, ROOT / "rbdyn_ros") for path in folder.iterdir()}
GENERATED = {"test/messages.txt"}  # `make messages` writes it
#: This file has the names of plugins, which look like paths.
PLUGIN_FILE = ROOT / "rbdyn_hardware/rbdyn_hardware.xml"
KNOWN = GENERATED | {*re.findall('class name="(.+?)"', PLUGIN_FILE.read_text())}


def exists(path):
    """Return whether a path, which may lack .msg, exists below the root or the package."""
    interface = re.sub("^rbdyn_interfaces/(?=[A-Z])", "rbdyn_interfaces/*/", path) + ".*"
    patterns = (path, f"rbdyn_ros/{path}", interface)
    return path in KNOWN or any(True for each in patterns for _ in ROOT.glob(each))


@pytest.mark.parametrize("page", [*page_names(), "pyproject.toml"])
def test_named_files_exist(page):
    """Paths in the repository or the package exist. In pyproject.toml only comments are read."""
    text = text_of(page)
    if page == "pyproject.toml":
        text = "\n".join(re.findall("#.*", text))
    named = re.findall(r"(?<![\w/.:~-])(?:[\w.-]+/)+[\w.*-]*[\w*]", text)
    missing = {path for path in named if path.split("/")[0] in TOP_FOLDERS and not exists(path)}
    assert not missing, f"{page} names {sorted(missing)}"


def test_a_block_is_split_into_commands():
    text = 'a b  # c\n# only a comment\nd \\\n  e\npython -c "\nf\n"\n'
    assert documents.commands(text) == ["a b  # c", "d   e", 'python -c "\nf\n"']
