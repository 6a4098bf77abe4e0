# SPDX-License-Identifier: Apache-2.0
"""The gallery lists every joint type, and its table agrees with the engine."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.model.declared.joints import JOINT_KINDS, TYPE_OF_NAME, JointType
from rbdyn_ros.textbook import joint_models

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/gallery.md").read_text(encoding="ascii")
PICTURES = ROOT / "docs" / "pictures" / "joints"
ROWS = {
    name: [cell.strip() for cell in rest.split("|")]
    for name, rest in re.findall(
        r"^\| !\[(\w+)\]\(\.\./pictures/joints/\1\.png\) \| (.*) \|$", PAGE, re.MULTILINE
    )
}
CONSTANTS = {"pitch": 0.3, "radius": 0.4, "lift": 0.2, "lobes": 2.0}
UNITS = {f"e{k + 1}": column for k, column in enumerate(np.eye(6))}


@pytest.fixture(scope="module")
def gallery():
    known = dict(JOINT_SPECS)
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import gallery

        gallery.PICTURES["barrel_cam"]()  # this picture registers a joint type
        yield gallery
    finally:
        sys.path.remove(str(ROOT / "tools"))
        for name in set(JOINT_SPECS) - set(known):
            del JOINT_SPECS[name]


def test_every_joint_type_has_a_row_and_a_picture():
    listed = {name for name in ROWS if len(ROWS[name]) == 6} - {"barrel_cam"}
    assert listed == set(TYPE_OF_NAME)
    assert set(TYPE_OF_NAME) <= set(JOINT_SPECS)
    assert {path.stem for path in PICTURES.glob("*.png")} == set(ROWS)


def test_every_picture_of_the_tool_is_stored_and_on_the_page(gallery):
    assert set(gallery.PICTURES) == set(ROWS)
    for name in ROWS:
        picture = (PICTURES / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert 2_000 < len(picture) < 40_000, name


@pytest.mark.parametrize("name", ["helical", "loop", "barrel_cam"])
def test_a_stored_picture_is_up_to_date(name, gallery, tmp_path):
    """Pictures may differ slightly, because versions of Matplotlib and Pillow do."""
    from PIL import Image

    gallery.draw(gallery.PICTURES[name](), tmp_path / "again.png")
    with Image.open(tmp_path / "again.png") as one, Image.open(PICTURES / f"{name}.png") as other:
        difference = np.asarray(one.convert("RGB"), int) - np.asarray(other.convert("RGB"), int)
    assert np.abs(difference).mean() < 1.0


def vectors(cell, values):
    """Return the vectors (6, n) in a cell such as `e1, h e3 + e6`; `values` has h."""
    columns = []
    for text in cell.strip("`").split(", "):
        if text != "-":
            turned = re.sub(r"\bE (e\d)", r"turn(\1)", text)
            columns.append(eval(re.sub(r"(?<=\w) (?=\w)", " * ", turned), {}, values))
    return np.array(columns).reshape(-1, 6).T


@pytest.mark.parametrize("name", [*TYPE_OF_NAME, "barrel_cam"])
def test_subspaces_agree_with_the_engine(name, gallery):
    _, S, T, flat, takes, _ = ROWS[name]
    if name == "fixed":
        assert (S, vectors(T, UNITS).tolist()) == ("-", np.eye(6).tolist())
        return
    axes = {"universal": {"axis": (1, 0, 0), "axis2": (0, 1, 0)}}.get(name, {})
    if not axes and "axis" in takes:
        axes = {"axis": (0, 0, 1)} | ({"axis2": (1, 0, 0)} if "axis2" in takes else {})
    parameters = {key: CONSTANTS[key] for key in JOINT_SPECS[name].parameters}
    m = sys.modules["shown"].one_joint(name, **axes, **parameters)
    q = rb.random_qpos(m, np.random.default_rng(3))
    joint = rb.jcalc(m, "joint", q)
    values = UNITS | {"turn": lambda v: np.kron(np.eye(2), joint.E) @ v, "h": 0.3, "r": 0.4}
    for k, angle in enumerate(q[:3]):
        number = "" if k == 0 else str(k + 1)
        values |= {f"c{number}": np.cos(angle), f"s{number}": np.sin(angle)}
    values["k"] = 0.2 * np.sin(2.0 * q[0])  # k = lift / 2 * lobes * sin(lobes q)
    assert vectors(S, values) == pytest.approx(joint.S, abs=1e-12)
    written = vectors(T, values)
    assert np.linalg.matrix_rank(written) == written.shape[1] == 6 - joint.S.shape[1]
    assert np.abs(written.T @ joint.S).max(initial=0.0) < 1e-12
    assert m.jnt_kind(0).flat == (flat == "yes")


@pytest.mark.parametrize("name", TYPE_OF_NAME)
def test_the_page_has_arguments_and_code_of_each_type(name):
    shown, _, _, flat, takes, code = ROWS[name]
    assert shown == f"`{name}`"
    spec = JOINT_SPECS[name]
    axes = {0: set(), 1: {"axis"}, 2: {"axis", "axis2"}}[spec.axes]
    words = set(re.findall(r"axis2?|`\w+`", takes))
    assert words == axes | {f"`{parameter}`" for parameter in spec.parameters}
    kind, file, function = code.split(", ")
    assert JointType[kind.strip("`")] == TYPE_OF_NAME[name]
    text = (ROOT / "rbdyn_ros/engine/joints" / file).read_text()
    assert re.search(rf"\b{kind.strip('`')}\b", text) or name == "fixed"
    assert hasattr(joint_models, function.strip("`"))
    assert JOINT_KINDS[TYPE_OF_NAME[name]].flat == (flat == "yes")


@pytest.mark.parametrize("name", [name for name in ROWS if len(ROWS[name]) == 4])
def test_the_page_has_the_equations_of_each_constraint(name, gallery):
    call, _, equations, file = ROWS[name]
    assert gallery.PICTURES[name]().m.nefc == int(equations)
    assert hasattr(rb.SystemBuilder, call.strip("`").partition("(")[0])
    assert (ROOT / "rbdyn_ros" / file).exists()


def test_every_example_is_on_its_page():
    page = (ROOT / "docs/guides/examples.md").read_text(encoding="ascii")
    for path in (ROOT / "examples").glob("*.py"):
        assert f"](../../examples/{path.name})" in page
        book = f"](../../examples/notebooks/{path.stem}.ipynb)"
        assert (book in page) == (ROOT / f"examples/notebooks/{path.stem}.ipynb").exists()
