# SPDX-License-Identifier: Apache-2.0
"""Errors in SDF files name their line; unused elements are noted once."""

import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import DescriptionError

LINKS = '<link name="a"/><link name="b"/>'


def model(body, version="1.11"):
    """Return an SDF with a model; `body` begins on line 2."""
    return f'<sdf version="{version}"><model name="m">\n{body}\n</model></sdf>'


def joint(more="", kind="revolute", parent="a", child="b"):
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'{LINKS}\n<joint name="j" type="{kind}">{ends}{more}</joint>'


def axis(text):
    return joint(f"<axis>{text}</axis>")


def collision(text):
    return f'<link name="a">\n<collision name="c">{text}</collision></link>'


def shape(text):
    return collision(f"<geometry>{text}</geometry>")


def circle(tag, attribute):
    """Return two elements whose `attribute` names the other element."""
    pairs = (("a", "b"), ("b", "a"))
    if tag == "link":
        return "\n".join(f'<link name="{x}"><pose {attribute}="{y}"/></link>' for x, y in pairs)
    rows = (f'<frame name="{x}1" {attribute}="{y}1"/>' for x, y in pairs)
    return joint(child="a1") + "".join(rows)


def at(text, more=""):
    return f'<link name="a"><pose {more}>{text}</pose></link>'


def mask(text):
    bits = f"<surface><contact><collide_bitmask>{text}</collide_bitmask></contact></surface>"
    return collision(f"<geometry><sphere/></geometry>{bits}")


def include(uri):
    return f"<include><uri>{uri}</uri></include>"


OTHER = '<model name="n"><link name="c"/></model>'
FAR = f'{LINKS}{OTHER}\n<joint name="j" type="fixed"><parent>a</parent><child>n::d</child></joint>'
SKEW = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>1 1 0</xyz></axis2>"
BODY = "<gearbox_reference_body>a</gearbox_reference_body>"
POINTS = "<polyline><point>0 0</point><point>1 0</point></polyline>"
TURN = 'rotation_format="{}"'
#: Mistakes in a model: the text, and the code and line of the first error.
MISTAKES = {
    "two links of one name": ('<link name="a"/>\n<link name="a"/>', "duplicate-name", 3),
    "a reserved name": ('<link name="__a__"/><link name="b"/>', "reserved-name", 2),
    "a link without a name": ("<link/><link name='b'/>", "missing-name", 2),
    "a pose of five numbers": (at("1 2 3 4 5"), "bad-number", 2),
    "a pose that is nan": (at("nan 0 0 0 0 0"), "not-finite", 2),
    "another rotation": (at("0 0 0 0 0 0", TURN.format("axis")), "bad-value", 2),
    "a zero quaternion": (at("0 0 0 0 0 0 0", TURN.format("quat_xyzw")), "zero-quaternion", 2),
    "an unknown frame": (at("0 0 0 0 0 0", 'relative_to="c"'), "unknown-frame", 2),
    "poses in a circle": (circle("link", "relative_to"), "frame-cycle", 3),
    "frames attached in a circle": (circle("frame", "attached_to"), "frame-cycle", 3),
    "a joint to a frame that another model lacks": (FAR, "unknown-frame", 3),
    "a child that does not exist": (joint(child="c"), "unknown-frame", 3),
    "no child": (joint().replace("<child>b</child>", ""), "missing-element", 3),
    "an unknown type": (joint(kind="slider"), "unknown-joint-type", 3),
    "a zero axis": (axis("<xyz>0 0 0</xyz>"), "zero-axis", 3),
    "an axis in no frame": (axis('<xyz expressed_in="c">0 0 1</xyz>'), "unknown-frame", 3),
    "skew axes": (joint(SKEW, "revolute2"), "skew-axes", 3),
    "two axes": (joint("<axis/><axis/>"), "duplicate-element", 3),
    "a limit that is a word": (axis("<limit><lower>low</lower></limit>"), "bad-number", 3),
    "an unknown leader": (axis('<mimic joint="k"/>'), "unknown-frame", 3),
    "a second axis as leader": (axis('<mimic joint="j" axis="axis2"/>'), "mimic-axis", 3),
    "a gearbox without joints": (joint(BODY, "gearbox"), "bad-gearbox", 3),
    "a negative mass": (
        '<link name="a"><inertial><mass>-1</mass></inertial></link>',
        "negative-mass",
        2,
    ),
    "no shape for an inertia": (
        '<link name="a"><inertial auto="true"/></link>',
        "auto-inertial",
        2,
    ),
    "a collision without a shape": (collision(""), "missing-element", 3),
    "two shapes": (shape("<box/><sphere/>"), "duplicate-element", 3),
    "an unknown shape": (shape("<torus/>"), "unknown-shape", 3),
    "a plane that moves": (shape("<plane/>"), "moving-plane", 3),
    "a mesh without a name": (shape("<mesh/>"), "missing-element", 3),
    "a mesh that does not exist": (shape("<mesh><uri>a.stl</uri></mesh>"), "mesh-missing", 3),
    "a mesh outside": (shape("<mesh><uri>../a.stl</uri></mesh>"), "mesh-outside", 3),
    "no height field": (shape("<heightmap><uri>a.png</uri></heightmap>"), "bad-height-field", 3),
    "a mask that is no number": (mask("x"), "bad-number", 3),
    "a polyline of two points": (shape(POINTS), "missing-element", 3),
    "an include that does not exist": (include("model://nowhere"), "include-missing", 2),
    "an include outside of the folder": (include("../../etc"), "include-outside", 2),
    "an include outside of a model": (include("model://m/../.."), "include-outside", 2),
    "an include of the folder of models": (include("model://"), "include-outside", 2),
    "an include of an address without a name": (include("https:////"), "include-outside", 2),
    "an include above a package": (include("package://../m"), "include-outside", 2),
    "an include from the net": (include("https://a.org/models/b"), "include-address", 2),
    "an include of itself": (include("robot.sdf"), "include-cycle", 2),
}
#: Files with mistakes.
FILES = {
    "no model": ('<sdf version="1.11"/>', "missing-element", 1),
    "another root": ("<robot/>", "not-sdf", 1),
    "an old version": (model(LINKS, "1.3"), "sdf-version", 1),
    "no version": (model(LINKS).replace(' version="1.11"', ""), "sdf-version", 1),
    "an entity": ('<!DOCTYPE x [<!ENTITY a "b">]><sdf/>', "doctype", 1),
    "two models": (
        model(LINKS).replace("</sdf>", '\n<model name="n"/></sdf>'),
        "several-models",
        4,
    ),
    "an unknown placement": (
        model(LINKS).replace('"m"', '"m" placement_frame="nowhere"'),
        "unknown-frame",
        1,
    ),
    **{name: (model(body), code, line) for name, (body, code, line) in MISTAKES.items()},
}


def load(text, tmp_path, **how):
    folder = tmp_path / "here"
    folder.mkdir(exist_ok=True)
    path = folder / "robot.sdf"
    path.write_text(text)
    return rb.load(path, contact=True, **how)


@pytest.mark.parametrize("name", FILES)
def test_the_error_about_a_mistake_names_its_line(tmp_path, name):
    text, code, line = FILES[name]
    with pytest.raises(DescriptionError) as caught:
        load(text, tmp_path)
    first = caught.value.findings[0]
    with refused(DescriptionError, [finding.code for finding in caught.value.findings]):
        raise caught.value
    assert (first.code, first.line) == (code, line), str(caught.value)
    assert "robot.sdf" in str(caught.value)


@pytest.mark.parametrize("scheme", ["model://x/", "package://x/", "package://../"])
def test_an_absolute_path_in_a_model_is_refused(tmp_path, scheme):
    secret = tmp_path / "secret.sdf"
    secret.write_text(model(LINKS))
    with refused(DescriptionError, "include-outside", line=2):
        load(model(include(f"{scheme}{secret}")), tmp_path)


@pytest.mark.parametrize("uri", ["model://tip", "tip", "tip/model.sdf"])
def test_a_symbolic_link_out_of_the_folder_of_a_model_is_refused(tmp_path, uri):
    secret, folder = tmp_path / "secret.sdf", tmp_path / "here/tip"
    secret.write_text(model(LINKS))
    folder.mkdir(parents=True)
    (folder / "model.sdf").symlink_to(secret)
    with refused(DescriptionError, "include-outside", line=2):
        load(model(include(uri)), tmp_path)


def test_symbolic_links_within_a_package_are_followed(tmp_path):
    """The links are those that colcon makes in an install space."""
    for name in ("src/pack/tip", "here/tip"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("src/pack", "here"):
        (tmp_path / name / "package.xml").write_text("<package><name>here</name></package>")
    (tmp_path / "src/pack/tip/model.sdf").write_text(model(LINKS))
    (tmp_path / "here/tip/model.sdf").symlink_to(tmp_path / "src/pack/tip/model.sdf")
    for uri in ("model://tip", "tip", "package://here/tip"):
        assert "m/a" in load(model(include(uri)), tmp_path).frame_names


def test_ten_thousand_frames_are_read(tmp_path):
    """Each frame is relative to the previous frame."""
    frames = '<frame name="f0"><pose>0 0 0 0 0 0</pose></frame>' + "".join(
        f'<frame name="f{k}"><pose relative_to="f{k - 1}">0 0 1e-3 0 0 0</pose></frame>'
        for k in range(1, 10_001)
    )
    ends = "<parent>a</parent><child>b</child>"
    deep = f'<joint name="j" type="fixed"><pose relative_to="f10000"/>{ends}</joint>'
    m = load(model(f"{frames}{LINKS.replace('b', 'b')}{deep}"), tmp_path)
    assert m.nframe == 2


def test_deeply_nested_elements_are_refused(tmp_path):
    nested = "".join(f'<model name="m{k}">' for k in range(70)) + "</model>" * 70
    with refused(DescriptionError, "too-deep"):
        load(model(nested), tmp_path)


def test_includes_that_expand_exponentially_are_refused(tmp_path):
    """Each file includes the next one ten times."""
    (tmp_path / "here").mkdir()
    for k in range(5):
        row = "".join(
            f"<include><name>n{i}</name><uri>bomb{k + 1}.sdf</uri></include>" for i in range(10)
        )
        (tmp_path / f"here/bomb{k}.sdf").write_text(model(row))
    (tmp_path / "here/bomb5.sdf").write_text(model(LINKS))
    with pytest.raises(DescriptionError) as caught:
        load(model("<include><uri>bomb0.sdf</uri></include>"), tmp_path)
    assert "too-many-includes" in {finding.code for finding in caught.value.findings}


def test_models_nested_through_includes_are_refused_beyond_a_depth(tmp_path):
    """Each file alone is within the allowed depth, but together they exceed it."""
    (tmp_path / "here").mkdir()
    for k in range(12):
        inner = LINKS if k == 11 else include(f"deep{k + 1}.sdf")
        nested = "".join(f'<model name="m{n}">' for n in range(50)) + inner + "</model>" * 50
        (tmp_path / f"here/deep{k}.sdf").write_text(f'<sdf version="1.11">{nested}</sdf>')
    with refused(DescriptionError, "too-deep", line=2) as caught:
        load(model(include("deep0.sdf")), tmp_path)
    assert "deep1.sdf, line 1" in str(caught.value)


def test_an_error_of_an_included_file_names_the_file_and_both_lines(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/part.sdf").write_text(model(joint(child="c")))
    with refused(DescriptionError, "unknown-frame", line=2) as caught:
        load(model("<include><uri>part.sdf</uri></include>"), tmp_path)
    assert "part.sdf, line 3" in str(caught.value)
    (tmp_path / "here/part.sdf").write_text("<sdf")
    with refused(DescriptionError, "malformed-xml", line=2) as caught:
        load(model("<include><uri>part.sdf</uri></include>"), tmp_path)
    assert "part.sdf, line 1" in str(caught.value)


def test_repair_leaves_out_missing_models(tmp_path):
    text = model(f"<include><uri>model://nowhere</uri></include>{joint()}")
    m = load(text, tmp_path, strict=False)
    assert m.nv == 1
    assert "include-missing" in [finding.code for finding in m.findings]


#: For each unused element: its name in the finding, and the severity of the finding, a warning
#: if the element would change the motion.
UNUSED = {
    "<plugin name='p' filename='f'><a><b/></a></plugin>": ("<model> <plugin>", "note"),
    "<link name='c'><sensor name='s' type='altimeter'/></link>": (
        '<link> <sensor type="altimeter">',
        "note",
    ),
    "<link name='c'><gravity>false</gravity></link>": ("<link> <gravity>", "warning"),
    "<link name='c'><velocity_decay/></link>": ("<link> <velocity_decay>", "warning"),
    "<link name='c'><kinematic>1</kinematic></link>": ("<link> <kinematic>", "warning"),
    "<gripper/>": ("<model> <gripper>", "note"),
    "<made_up colour='red'/>": ("<model> <made_up>", "note"),
    "<joint name='k' type='fixed'><parent>a</parent><child>b</child><physics/></joint>":
        ("<joint> <physics>", "note"),
    "<link name='c'><collision name='c'><laser_retro>1</laser_retro>"
    "<geometry><sphere/></geometry></collision></link>": ("<collision> <laser_retro>", "note"),
    "<link name='c'><inertial odd='1'/></link>": ("<inertial odd=>", "note"),
}  # fmt: skip


@pytest.mark.parametrize("text", UNUSED)
def test_the_note_about_an_unused_element_appears_once_and_names_its_line(tmp_path, text):
    what, severity = UNUSED[text]
    twice = text.replace("'c'", "'d'").replace("'k'", "'l'") if "name='c'" in text else text
    body = f"{LINKS}\n{text}" + (f"\n{twice}" if "type='fixed'" not in text else "")
    m = load(model(body), tmp_path)
    found = [finding for finding in m.findings if finding.found == what]
    assert [(finding.code, finding.severity, finding.line) for finding in found] == [
        ("not-used", severity, 3)
    ]


def test_elements_that_are_read_are_not_noted(tmp_path):
    from fuzz.targets import FOLDER

    for path in FOLDER.glob("good/sdf.*"):
        m = rb.load(path, contact=not path.name.startswith("sdf.world"))
        left = {finding.found for finding in m.findings if finding.code == "not-used"}
        assert left <= {"<model> <plugin>", "<world> <light>", "<ode> <kp>", "<ode> <kd>"}
