# SPDX-License-Identifier: Apache-2.0
"""SDF models, in any notation of frames, equal the same robots in URDF."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import pose, rpy_from_quat
from rbdyn_ros.description.source import read
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS

EXACT = 1e-12

#: A tree with revolute, prismatic, mimic and fixed joints, and with rotated inertial frames.
URDF = """<robot name="arm">
  <link name="base"><inertial><origin xyz="0.1 0 0.2" rpy="0.3 0 0.1"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0 0 0.2" rpy="0 0.4 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.05" ixy="0" ixz="0.01" iyz="0"/></inertial></link>
  <link name="slide"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="wheel"><inertial><mass value="0.3"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"><inertial><mass value="0.2"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/>
    <parent link="base"/><child link="upper"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-1" upper="2" effort="10" velocity="3"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="rail" type="prismatic"><origin xyz="0 0.1 0.4" rpy="0 1.2 0"/>
    <parent link="upper"/><child link="slide"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.5" effort="100" velocity="1"/></joint>
  <joint name="spin" type="continuous"><origin xyz="0.2 0 0" rpy="0 0 1"/>
    <parent link="slide"/><child link="wheel"/><axis xyz="1 0 0"/>
    <limit effort="5" velocity="8"/><mimic joint="shoulder" multiplier="2" offset="0.5"/></joint>
  <joint name="flange" type="fixed"><origin xyz="0 0 0.1" rpy="0.5 0 0"/>
    <parent link="wheel"/><child link="tool"/></joint>
</robot>"""


def inertial(mass, inertia, at=""):
    tags = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    rows = "".join(f"<{tag}>{x}</{tag}>" for tag, x in zip(tags, inertia, strict=False))
    return f"<inertial>{at}<mass>{mass}</mass><inertia>{rows}</inertia></inertial>"


INERTIALS = {
    "base": inertial(2, (0.1, 0.2, 0.15, 0.01, 0, 0.02), "<pose>0.1 0 0.2 0.3 0 0.1</pose>"),
    "upper": inertial(1, (0.1, 0.1, 0.05, 0, 0.01, 0), "<pose>0 0 0.2 0 0.4 0</pose>"),
    "slide": inertial(0.5, (0.01, 0.02, 0.025)),
    "wheel": inertial(0.3, (0.01, 0.02, 0.025)),
    "tool": inertial(0.2, (0.001, 0.001, 0.001)),
}
AXES = {
    "shoulder": "<axis><xyz>0 0.6 0.8</xyz><limit><lower>-1</lower><upper>2</upper>"
    "<effort>10</effort><velocity>3</velocity></limit>"
    "<dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis>",
    "rail": "<axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>0.5</upper>"
    "<effort>100</effort><velocity>1</velocity></limit></axis>",
    "spin": "<axis><xyz>1 0 0</xyz><limit><lower>-1e16</lower><upper>1e16</upper>"
    '<effort>5</effort><velocity>8</velocity></limit><mimic joint="shoulder">'
    "<multiplier>2</multiplier><offset>0.7</offset><reference>0.1</reference></mimic></axis>",
    "flange": "",
}
#: For each joint: type, parent, child, and the joint's frame in the parent.
JOINTS = {
    "shoulder": ("revolute", "base", "upper", "0 0 0.3 0.1 0.2 0.3"),
    "rail": ("prismatic", "upper", "slide", "0 0.1 0.4 0 1.2 0"),
    "spin": ("revolute", "slide", "wheel", "0.2 0 0 0 0 1"),
    "flange": ("fixed", "wheel", "tool", "0 0 0.1 0.5 0 0"),
}


def document(body, version="1.11", name="arm"):
    return f'<sdf version="{version}"><model name="{name}">{body}</model></sdf>'


def joint(name, more="", parent="", child=""):
    kind, above, below, _ = JOINTS[name]
    ends = f"<parent>{parent or above}</parent><child>{child or below}</child>"
    return f'<joint name="{name}" type="{kind}">{more}{ends}{AXES[name]}</joint>'


def link(name, at=""):
    return f'<link name="{name}">{at}{INERTIALS[name]}</link>'


def links(place):
    """Return the XML of the links; `place` returns the <pose> of each joint's child."""
    found = [link("base")]
    found += [link(below, place(name, *JOINTS[name])) for name, (_, _, below, _) in JOINTS.items()]
    return "".join(found)


def by_parents():
    """Return an SDF in which links are placed relative to parents, and joints have no poses."""
    place = links(lambda _, _k, above, _b, at: f'<pose relative_to="{above}">{at}</pose>')
    return document(place + "".join(map(joint, JOINTS)))


def by_joints():
    """Return an SDF in which joints are placed relative to parents, and links at their joints."""
    own = "".join(
        joint(name, f'<pose relative_to="{above}">{at}</pose>')
        for name, (_, above, _, at) in JOINTS.items()
    )
    return document(own + links(lambda name, *_: f'<pose relative_to="{name}"/>'))


def by_frames():
    """Return an SDF in which joints name frames that are attached to parents and children."""
    frames, own = "", ""
    for name, (_, above, below, at) in JOINTS.items():
        x, y, z, *rpy = map(float, at.split())
        w, *xyz = pose(rpy=tuple(rpy)).quat
        numbers = " ".join(repr(number) for number in (x, y, z, *xyz, w))
        frames += f'<frame name="at_{name}" attached_to="{above}">'
        frames += f'<pose rotation_format="quat_xyzw">{numbers}</pose></frame>'
        frames += f'<frame name="of_{below}" attached_to="{below}"/>'
        own += joint(name, "", f"at_{name}", f"of_{below}")
    return document(frames + links(lambda name, *_: f'<pose relative_to="at_{name}"/>') + own)


def in_model_frame(version):
    """Return an SDF of an old version, with poses and axes in the model's frame."""
    m = rb.load_urdf(URDF, mimic=False)
    d = rb.make_data(m)
    rb.forward(m, d)
    text, own = link("base"), ""
    for name, (kind, above, below, _) in JOINTS.items():
        frame = m.frame_id(below)
        body = m.frame_bodyid[frame]
        base = d.xmat[body].reshape(3, 3)
        R, at = base @ rotation(m.frame_quat[frame]), d.xpos[body] + base @ m.frame_pos[frame]
        numbers = " ".join(repr(float(x)) for x in (*at, *rpy_from_quat(quaternion(R))))
        text += link(below, f"<pose>{numbers}</pose>")
        axis = AXES[name].replace("<mimic", "<!--").replace("</mimic>", "-->")
        if kind != "fixed":
            own_axis = [float(x) for x in axis.partition("<xyz>")[2].partition("<")[0].split()]
            turned = " ".join(repr(float(x)) for x in R @ own_axis)
            head, _, rest = axis.partition("<xyz>")
            flag = "<use_parent_model_frame>1</use_parent_model_frame>" if version > "1.4" else ""
            axis = f"{head}<xyz>{turned}</xyz>{flag}{rest.partition('</xyz>')[2]}"
        ends = f"<parent>{above}</parent><child>{below}</child>"
        own += f'<joint name="{name}" type="{kind}">{ends}{axis}</joint>'
    return document(text + own, version)


def rotation(quat):
    w, *v = quat
    skew = np.cross(np.eye(3), v)
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def quaternion(R):
    w = math.sqrt(max(0.0, 1.0 + np.trace(R))) / 2.0
    xyz = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w)
    return (w, *xyz)


def loaded(text, tmp_path, name="robot.sdf", **how):
    path = tmp_path / name
    path.write_text(text)
    return rb.load(path, **how)


def assert_same(m, other, tolerance=EXACT):
    """Assert that two Models have equal arrays; only principal axes of inertia may differ."""
    assert m.jnt_names == other.jnt_names
    assert m.body_names == other.body_names
    assert m.frame_names == other.frame_names
    for field in MODEL_FIELDS:
        mine, its = np.asarray(getattr(m, field.name)), np.asarray(getattr(other, field.name))
        assert mine.shape == its.shape, field.name
        if field.name in ("body_iquat", "body_imat"):
            continue
        if mine.dtype.kind == "f":
            same = np.isclose(mine, its, rtol=0, atol=tolerance, equal_nan=True)
            assert same.all(), field.name
        else:
            assert (mine == its).all(), field.name
    np.testing.assert_allclose(tensors(m), tensors(other), rtol=0, atol=tolerance)


def tensors(m):
    """Return the inertias (n, 3, 3) about centres of mass, in the axes of the bodies."""
    R = np.asarray(m.body_imat).reshape(-1, 3, 3)
    return R @ (m.body_inertia[:, :, None] * R.transpose(0, 2, 1))


@pytest.mark.parametrize("write", [by_parents, by_joints, by_frames])
def test_an_sdf_gives_the_model_of_its_urdf(tmp_path, write):
    assert_same(loaded(write(), tmp_path), rb.load_urdf(URDF))


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.6"])
def test_axes_of_old_versions_are_in_the_model_frame(tmp_path, version):
    m = loaded(in_model_frame(version), tmp_path)
    assert_same(m, rb.load_urdf(URDF, mimic=False), 1e-9)


def test_a_floating_base_equals_the_floating_base_of_a_urdf(tmp_path):
    m = loaded(by_joints(), tmp_path, floating_base=True)
    assert_same(m, rb.load_urdf(URDF, floating_base=True))


def test_nested_models_and_placement_frames_are_read(tmp_path):
    """A nested model is a gripper, placed by a frame of its own; its names get a prefix."""
    inner = f'<link name="palm"><pose>0.1 0.2 0.3 0 0 0.5</pose>{INERTIALS["tool"]}</link>'
    nested = '<model name="hand" placement_frame="palm"><pose relative_to="tool">0 0 0.1 0 0 0'
    nested += f"</pose>{inner}</model>"
    fixed = (
        '<joint name="hold" type="fixed"><parent>tool</parent><child>hand::palm</child></joint>'
    )
    m = loaded(by_joints().replace("</model>", f"{nested}{fixed}</model>"), tmp_path)
    palm, tool = m.frame_id("hand/palm"), m.frame_id("tool")
    assert m.frame_bodyid[palm] == m.frame_bodyid[tool]
    offset = rotation(m.frame_quat[tool]).T @ (m.frame_pos[palm] - m.frame_pos[tool])
    np.testing.assert_allclose(offset, (0, 0, 0.1), atol=1e-15)
    np.testing.assert_allclose(m.frame_quat[palm], m.frame_quat[tool], atol=1e-15)


def test_included_models_equal_models_in_place(tmp_path):
    """A model included by folder, by model.config or with merge equals the same model in place."""
    folder = tmp_path / "models/tip"
    folder.mkdir(parents=True)
    (folder / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    )
    (folder / "old.sdf").write_text("<sdf")
    tip = document(f'<link name="tool"><pose>9 9 9 0 0 0</pose>{INERTIALS["tool"]}</link>', "1.10")
    (folder / "new.sdf").write_text(tip)
    at = '<placement_frame>tool</placement_frame><pose relative_to="flange"/>'
    include = f'<include merge="true"><uri>model://tip</uri>{at}</include>'
    own = link("tool", '<pose relative_to="flange"/>')
    assert own in by_joints()
    assert_same(loaded(by_joints().replace(own, include), tmp_path), rb.load_urdf(URDF))
    named = include.replace(' merge="true"', "").replace("<uri>", "<name>end</name><uri>")
    text = by_joints().replace(own, named).replace("<child>tool<", "<child>end::tool<")
    m = loaded(text, tmp_path)
    assert "end/tool" in m.frame_names
    address = "https://fuel.gazebosim.org/1.0/owner/models/tip/3"
    m = loaded(text.replace("model://tip", address), tmp_path)
    assert "end/tool" in m.frame_names


@pytest.mark.parametrize(
    ("address", "mass"),
    [
        ("https://fuel.gazebosim.org/1.0/OpenRobotics/models/Big Ball", 10.0),
        ("https://fuel.gazebosim.org/1.0/OpenRobotics/models/Big%20Ball/9", 9.0),
        ("https://fuel.gazebosim.org/1.0/OpenRobotics/models/Big Ball/tip", 10.0),
        ("https://app.gazebosim.org/OpenRobotics/fuel/models/Big Ball", 10.0),
        ("https://fuel.gazebosim.org/1.0/OpenRobotics/models/Big Ball/8", None),
        ("https://fuel.gazebosim.org/1.0/Another/models/Big Ball", None),
        ("https://fuel.gazebosim.org/1.0/../models/Big Ball", None),
    ],
)
def test_a_fuel_uri_is_read_from_the_fuel_cache(tmp_path, monkeypatch, address, mass):
    cache = tmp_path / "cache"
    monkeypatch.setenv("GZ_FUEL_CACHE_PATH", str(cache))
    place = cache / "fuel.gazebosim.org/openrobotics/models/big ball"
    for version in (9, 10):
        (place / str(version)).mkdir(parents=True)
        inertial = f"<link name='l'><inertial><mass>{version}</mass></inertial></link>"
        (place / str(version) / "model.sdf").write_text(document(inertial))
    text = f"<sdf version='1.9'><include><uri>{address}</uri></include></sdf>"
    (tmp_path / "robot.sdf").write_text(text)
    if mass is None:
        with refused(DescriptionError, "include-address"):
            rb.load(tmp_path / "robot.sdf")
        return
    m = rb.load(tmp_path / "robot.sdf", floating_base=True)
    assert m.body_mass[1] == mass


def test_a_model_nested_in_a_merged_include_keeps_its_name(tmp_path):
    inner = f'{link("tool")}<model name="hand">{link("wheel")}</model>'
    (tmp_path / "part.sdf").write_text(document(inner))
    ends = "<parent>tool</parent><child>hand::wheel</child>"
    text = '<include merge="true"><uri>part.sdf</uri></include>'
    text += f'<joint name="j" type="continuous">{ends}<axis/></joint>'
    m = loaded(document(text), tmp_path)
    assert m.jnt_names == ("j",)
    assert "hand/wheel" in m.frame_names


@pytest.mark.parametrize("flag", ["true", "false"])
def test_self_collide_of_a_nested_model_is_used_at_any_depth(tmp_path, flag):
    inner = f"<self_collide>{flag}</self_collide>{link('tool')}"
    path = tmp_path / "robot.sdf"
    path.write_text(document(f'<model name="u"><model name="v">{inner}</model></model>'))
    assert read(path).self_collision == (flag == "true")


def two(kind, axes="", more="", at=""):
    """Return an SDF of two links of 1 kg with a joint; the first link is fixed to the world."""
    body = "".join(
        f'<link name="{name}">{place}{inertial(1, (0.1, 0.1, 0.1))}</link>'
        for name, place in (("a", ""), ("b", at))
    )
    body += f'<joint name="j" type="{kind}"><parent>a</parent><child>b</child>{axes}{more}</joint>'
    return document(body)


def placed(m, q):
    d = rb.make_data(m)
    d.qpos[:] = q
    rb.forward(m, d)
    return d.xpos[1], d.xmat[1].reshape(3, 3)


@pytest.mark.parametrize(
    ("tag", "value"), [("screw_thread_pitch", 0.02), ("thread_pitch", -2 * math.pi / 0.02)]
)
def test_a_screw_moves_its_pitch_in_a_turn(tmp_path, tag, value):
    m = loaded(two("screw", "<axis><xyz>0 0 1</xyz></axis>", f"<{tag}>{value}</{tag}>"), tmp_path)
    np.testing.assert_allclose(placed(m, [2 * math.pi])[0], (0, 0, 0.02), atol=1e-15)


def test_a_universal_joint_turns_about_its_first_axis_first(tmp_path):
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    for kind in ("universal", "revolute2"):
        _, R = placed(loaded(two(kind, axes), tmp_path), [0.3, 0.4])
        first, second = (pose(rpy=rpy).quat for rpy in ((0.3, 0, 0), (0, 0.4, 0)))
        np.testing.assert_allclose(R, rotation(first) @ rotation(second), atol=1e-15)


def test_a_ball_joint_can_be_away_from_its_child(tmp_path):
    m = loaded(
        two("ball", more="<pose>0 0 0.5 0 0 0</pose>", at="<pose>0 0 1 0 0 0</pose>"), tmp_path
    )
    half = math.sqrt(0.5)
    # the joint makes a quarter turn about x, 1.5 m from the child
    pos, R = placed(m, [half, half, 0.0, 0.0])
    assert m.nv == 3
    at = pos + R @ m.frame_pos[m.frame_id("b")]
    np.testing.assert_allclose(at, (0, 0.5, 1.5), atol=1e-15)
    np.testing.assert_allclose(pos, (0, 0, 1.5), atol=1e-15)


def test_springs_start_positions_and_limits_are_read(tmp_path):
    axis = "<axis><xyz>0 0 2</xyz><initial_position>0.25</initial_position><dynamics>"
    axis += "<spring_stiffness>3</spring_stiffness><spring_reference>0.5</spring_reference>"
    axis += (
        "</dynamics><limit><lower>-1e20</lower><upper>2</upper><effort>-1</effort></limit></axis>"
    )
    m = loaded(two("revolute", axis), tmp_path)
    assert m.qpos0.tolist() == [0.25]
    assert m.jnt_stiffness.tolist() == [3.0]
    assert m.qpos_spring.tolist() == [0.5]
    assert m.jnt_range[0].tolist() == [-math.inf, 2.0]


def test_a_gearbox_couples_the_joints_of_its_reference_body(tmp_path):
    """The gearbox has theta_2 = -ratio theta_1, and the output joint has the opposite axis."""
    bodies = "".join(
        f'<link name="{name}">{inertial(1, (0.1, 0.1, 0.1))}</link>' for name in "abc"
    )
    turn = '<joint name="{}" type="revolute"><parent>{}</parent><child>{}</child>{}</joint>'
    z, down = (f"<axis><xyz>0 0 {x}</xyz></axis>" for x in (1, -1))
    gear = '<joint name="g" type="gearbox"><parent>b</parent><child>c</child>'
    gear += "<gearbox_ratio>5</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    gear += f"{z}{z.replace('axis', 'axis2')}</joint>"
    text = document(
        bodies + turn.format("in", "a", "b", z) + turn.format("out", "a", "c", down) + gear
    )
    m = loaded(text, tmp_path)
    d = rb.make_data(m)
    d.qpos[:] = 0.0
    d.qfrc_applied[m.jnt_dofadr[m.jnt_id("in")]] = 1.0
    rb.forward(m, d)
    speed = {name: d.qacc[m.jnt_dofadr[m.jnt_id(name)]] for name in ("in", "out")}
    assert speed["in"] > 0.0
    np.testing.assert_allclose(speed["out"], 5 * speed["in"], rtol=1e-12)


def test_auto_inertials_follow_from_the_collisions(tmp_path):
    box = "<geometry><box><size>1 2 3</size></box></geometry>"
    body = '<inertial auto="true"><density>10</density></inertial><collision name="c">'
    body += f"<pose>0 0 1 0 0 0</pose>{box}</collision>"
    m = loaded(document(f'<link name="a">{body}</link>'), tmp_path, floating_base=True)
    assert m.body_mass[1] == pytest.approx(60.0)
    np.testing.assert_allclose(m.body_ipos[1], (0, 0, 1))
    np.testing.assert_allclose(sorted(m.body_inertia[1]), [25.0, 50.0, 65.0])


def test_each_collision_has_its_own_density(tmp_path):
    """Elements keep their density if they share a line, or the line of an include."""
    box = "<geometry><box><size>1 1 1</size></box></geometry>"
    shapes = "".join(
        f'<collision name="c{x}"><pose>{x} 0 0 0 0 0</pose><density>{density}</density>{box}'
        "</collision>"
        for x, density in ((0, 100), (2, 900))
    )
    text = document(f'<link name="a"><inertial auto="true"/>{shapes}</link>')
    m = loaded(text, tmp_path, floating_base=True)
    assert m.body_mass[1] == pytest.approx(1000.0)
    np.testing.assert_allclose(m.body_ipos[1], (1.8, 0, 0))
    (tmp_path / "part.sdf").write_text(text.replace("><", ">\n<"))
    m = loaded(document("<include><uri>part.sdf</uri></include>"), tmp_path, floating_base=True)
    np.testing.assert_allclose(m.body_ipos[1], (1.8, 0, 0))


L_SHAPE = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))
#: Shapes whose contacts use hulls: volume, height of the centre, moments about it per mass.
EXACT_SHAPES = {
    "<ellipsoid><radii>1 2 3</radii></ellipsoid>": (8 * math.pi, 0, (13 / 5, 10 / 5, 5 / 5)),
    "<cone><radius>1</radius><length>4</length></cone>":
        (4 / 3 * math.pi, -1, (3 / 20 + 3 / 80 * 16, 3 / 20 + 3 / 80 * 16, 3 / 10)),
    "<polyline>" + "".join(f"<point>{x} {y}</point>" for x, y in L_SHAPE)
    + "<height>2</height></polyline>": (6, 1, None),
    "<mesh><uri>two.obj</uri></mesh>": (1 / 6 + 8 / 6, None, None),
    "<mesh><uri>two.obj</uri><scale>-1 2 3</scale></mesh>": (9, None, None),
    "<mesh><uri>two.obj</uri><submesh><name>left</name></submesh></mesh>":
        (1 / 6, 1 / 4, (3 / 40, 3 / 40, 3 / 40)),
}  # fmt: skip


@pytest.mark.parametrize("shape", EXACT_SHAPES)
def test_auto_inertials_come_from_the_shapes_not_from_their_hulls(tmp_path, shape):
    pytest.importorskip("trimesh")
    (tmp_path / "two.obj").write_text(TWO_BOXES)
    volume, height, moments = EXACT_SHAPES[shape]
    body = f'<collision name="c"><geometry>{shape}</geometry></collision>'
    text = document(f'<link name="a"><inertial auto="true"/>{body}</link>')
    for contact in (False, True):
        m = loaded(text, tmp_path, floating_base=True, contact=contact)
        assert m.body_mass[1] == pytest.approx(1000 * volume)
        if height is not None:
            assert m.body_ipos[1][2] == pytest.approx(height)
        if moments is not None:
            diagonal = np.diag(tensors(m)[1]) / m.body_mass[1]
            np.testing.assert_allclose(diagonal, moments, rtol=1e-9)
        assert [f.code for f in m.findings].count("shape-replaced") == ("mesh" not in shape)


def test_the_auto_inertial_of_an_open_mesh_comes_from_its_hull(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "two.obj").write_text(TWO_BOXES.partition("o right")[0].replace("f 1 3 2\n", ""))
    shape = "<geometry><mesh><uri>two.obj</uri></mesh></geometry>"
    body = f'<inertial auto="true"/><collision name="c">{shape}</collision>'
    m = loaded(document(f'<link name="a">{body}</link>'), tmp_path, floating_base=True)
    assert m.body_mass[1] == pytest.approx(1000 / 6)
    assert [f.severity for f in m.findings if f.code == "open-mesh"] == ["warning"]


def test_a_link_without_numbers_has_the_defaults_of_sdf(tmp_path):
    m = loaded(document('<link name="a"/>'), tmp_path, floating_base=True)
    assert (m.body_mass[1], m.body_inertia[1].tolist()) == (1.0, [1.0, 1.0, 1.0])
    assert "default-inertial" in [finding.code for finding in m.findings]


def test_links_without_joints_float(tmp_path):
    body = "".join(
        f'<link name="{x}"><pose>0 0 {k} 0 0 0</pose></link>' for k, x in enumerate("ab")
    )
    m = loaded(document(f"<pose>5 0 0 0 0 0</pose>{body}"), tmp_path)
    assert m.nv == 12
    assert m.qpos0[:3].tolist() == [5.0, 0.0, 0.0]
    assert m.qpos0[7:10].tolist() == [5.0, 0.0, 1.0]


def test_a_closed_loop_of_joints_is_read(tmp_path):
    """A four-bar linkage has a link with two parents."""
    names = ("ground", "left", "top", "right")
    at = {"ground": "0 0 0", "left": "0 0 0", "top": "0 0 1", "right": "1 0 0"}
    body = "".join(f'<link name="{n}"><pose>{at[n]} 0 0 0</pose></link>' for n in names)
    hinge = '<joint name="{}" type="revolute"><pose relative_to="__model__">{} 0 0 0</pose>'
    hinge += "<parent>{}</parent><child>{}</child><axis><xyz>0 1 0</xyz></axis></joint>"
    for row in (("j1", "0 0 0", "ground", "left"), ("j2", "0 0 1", "left", "top"),
                ("j3", "1 0 0", "ground", "right"), ("j4", "1 0 1", "right", "top")):  # fmt: skip
        body += hinge.format(*row)
    m = loaded(document(body), tmp_path)
    assert (m.nv, len(m.loop_names)) == (3, 1)


SURFACE = """<surface><friction><ode><mu>0.3</mu></ode><torsional><coefficient>0.5</coefficient>
<patch_radius>0.02</patch_radius></torsional></friction>
<bounce><restitution_coefficient>0.4</restitution_coefficient></bounce>
<contact><collide_bitmask>0x6</collide_bitmask><category_bitmask>1</category_bitmask>
<ode><kp>1e5</kp><kd>20</kd></ode></contact></surface>"""


def test_surfaces_and_masks_are_read(tmp_path):
    shapes = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
    body = f'<collision name="c">{shapes}{SURFACE}</collision>'
    body += f'<collision name="d"><pose>0 0 1 0 0 0</pose>{shapes}</collision>'
    m = loaded(
        document(f'<link name="a">{body}</link>'), tmp_path, floating_base=True, contact=True
    )
    assert m.geom_names[:2] == ("a/c", "a/d")
    assert m.geom_friction[:2].tolist() == [0.3, 1.0]
    assert (m.geom_contype[0], m.geom_conaffinity[0]) == (1, 6)
    assert (m.geom_contype[1], m.geom_conaffinity[1]) == (0xFFFF, 0xFFFF)
    np.testing.assert_allclose(m.geom_torsional[0], 3 * math.pi / 16 * 0.5 * 0.02)


OTHER_SHAPES = {
    "<capsule><radius>0.1</radius><length>1</length></capsule>": (0.2, 0.2, 1.2),
    "<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>": (0.2, 0.4, 0.6),
    "<cone><radius>0.1</radius><length>1</length></cone>": (0.2, 0.2, 1.0),
    "<polyline><point>0 0</point><point>1 0</point><point>0 2</point><height>3</height>"
    "</polyline>": (1.0, 2.0, 3.0),
}


@pytest.mark.parametrize("shape", OTHER_SHAPES)
def test_shapes_that_urdf_lacks_are_read(tmp_path, shape):
    body = f'<collision name="c"><geometry>{shape}</geometry></collision>'
    m = loaded(
        document(f'<link name="a">{body}</link>'), tmp_path, floating_base=True, contact=True
    )
    if m.geom_vertnum[0] and "capsule" not in shape:
        corners = m.vert_pos[m.geom_vertadr[0] : m.geom_vertadr[0] + m.geom_vertnum[0]]
        size = np.ptp(corners, axis=0)
    else:
        size = 2 * m.geom_half[0]
    np.testing.assert_allclose(size, OTHER_SHAPES[shape], rtol=0.05)


TWO_BOXES = """o left
v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4
o right
v 10 0 0\nv 12 0 0\nv 10 2 0\nv 10 0 2\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8
"""


@pytest.mark.parametrize(("centre", "lowest"), [("false", 10.0), ("true", -1.0)])
def test_a_submesh_is_one_part_of_a_file(tmp_path, centre, lowest):
    pytest.importorskip("trimesh")
    (tmp_path / "two.obj").write_text(TWO_BOXES)
    mesh = f"<submesh><name>right</name><center>{centre}</center></submesh>"
    mesh = f"<mesh><uri>two.obj</uri>{mesh}<scale>0.5 1 1</scale></mesh>"
    body = f'<collision name="c"><geometry>{mesh}</geometry></collision>'
    text = document(f'<link name="a">{body}</link>')
    m = loaded(text, tmp_path, floating_base=True, contact=rb.Contact(obstacles=()))
    corners = m.vert_pos[m.geom_vertadr[0] :][: m.geom_vertnum[0]]
    R = m.geom_mat[0].reshape(3, 3)
    found = corners @ R.T + m.geom_pos[0]
    np.testing.assert_allclose(np.ptp(found, axis=0), (1.0, 2.0, 2.0), atol=1e-12)
    assert found[:, 0].min() == pytest.approx(0.5 * lowest)
    with refused(DescriptionError, "no-submesh"):
        loaded(text.replace("right", "middle"), tmp_path, contact=True)
