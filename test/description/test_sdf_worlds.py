# SPDX-License-Identifier: Apache-2.0
"""SDF worlds: models become robots, free objects and obstacles of a scene."""

import numpy as np
import pytest
from fuzz.targets import FOLDER
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import MeshFile, read_appearance
from rbdyn_ros.description.source import opened
from rbdyn_ros.errors import DescriptionError, ParameterError

YARD = FOLDER / "good/sdf.world.sdf"
BALL = "<collision name='c'><geometry><sphere><radius>.5</radius></sphere></geometry></collision>"
BOX = "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"


def loaded(body, tmp_path, version="1.11", **how):
    path = tmp_path / "yard.sdf"
    path.write_text(f'<sdf version="{version}"><world name="yard">\n{body}\n</world></sdf>')
    return rb.load(path, **how)


def model(name, body, at="0 0 0 0 0 0", more=""):
    return f"<model name='{name}'>{more}<pose>{at}</pose>{body}</model>"


def link(name, body="", at="0 0 0 0 0 0"):
    return f"<link name='{name}'><pose>{at}</pose>{body}</link>"


def hinge(parent, child, name="j"):
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f"<joint name='{name}' type='revolute'>{ends}<axis><xyz>0 1 0</xyz></axis></joint>"


STATIC = "<static>true</static>"


def test_the_parts_of_a_world_are_read():
    m = rb.load(YARD)
    assert m.jnt_names == ("swing/hinge", "ball")
    assert m.geom_names == ("ball", "post/l/c", "ground", "post/l/d")
    assert m.qpos0[1:4].tolist() == [0.0, 0.0, 3.0]
    assert m.geom_pos[m.geom_id("post/l/d")].tolist() == [2.0, 0.0, 1.0]
    found = opened(YARD)
    assert found.is_scene
    assert [*found.parts.robots] == ["post", "swing"]
    assert found.description.objects == ("ball",)


def test_a_ball_falls_onto_the_ground_of_its_world():
    m = rb.load(YARD)
    d = rb.make_data(m)
    for _ in range(3000):
        rb.step(m, d)
    assert d.qpos[3] == pytest.approx(0.1, abs=1e-4)


def test_a_ball_rests_on_a_static_model(tmp_path):
    """A cylinder cannot be an obstacle, so a static one, placed by frames, becomes a link."""
    tube = "<geometry><cylinder><radius>1</radius><length>1</length></cylinder></geometry>"
    body = "<frame name='spot'><pose>3 0 0 0 0 0</pose></frame>"
    post = f"<model name='post'>{STATIC}<pose relative_to='spot'>0 0 1 0 0 0</pose>"
    body += post + link("l", f"<collision name='c'>{tube}</collision>") + "</model>"
    body += "<model name='ball'><pose relative_to='post'>0 0 1.01 0 0 0</pose>"
    body += link("l", BALL) + "</model>"
    m = loaded(body, tmp_path)
    d = rb.make_data(m)
    assert d.qpos[:3].tolist() == [3.0, 0.0, 2.01]
    for _ in range(1000):
        rb.step(m, d)
    np.testing.assert_allclose(d.qpos[:3], (3, 0, 2), atol=1e-4)


def test_the_links_of_a_model_touch_each_other_only_with_self_collide(tmp_path):
    body = link("a", BALL, "0 0 1 0 0 0") + link("b", BALL, "0 0 1.5 0 0 0")
    m = loaded(model("pair", body), tmp_path)
    assert m.jnt_names == ("pair/a", "pair/b")
    assert m.ndistance == 0
    with refused(DescriptionError, "object-overlaps"):
        loaded(model("pair", body, more="<self_collide>true</self_collide>"), tmp_path)
    robot = body + link("c", at="0 0 1 0 0 0") + hinge("c", "a") + hinge("a", "b", "k")
    two = model("quiet", robot) + model(
        "loud", robot, "9 0 0 0 0 0", "<self_collide>1</self_collide>"
    )
    m = loaded(two, tmp_path)
    names = [{m.geom_names[g].partition("/")[0] for g in pair} for pair in m.distance_geom]
    assert {"quiet"} not in names
    assert {"quiet", "loud"} in names


def test_a_rigid_model_is_one_object(tmp_path):
    fixed = "<joint name='j' type='fixed'><parent>a</parent><child>b</child></joint>"
    body = link("a", BALL) + link("b", BALL, "0 0 2 0 0 0") + fixed
    m = loaded(model("table", body, "0 0 5 0 0 0"), tmp_path)
    assert m.jnt_names == ("table",)
    assert "table/b" in m.frame_names
    assert m.body_mass[1] == 2.0


def test_joints_of_the_world_connect_models(tmp_path):
    body = model("one", link("a"), "0 0 3 0 0 0") + model("two", link("b"), "0 0 2 0 0 0")
    body += hinge("one::a", "two::b", "link") + hinge("world", "one::a", "hang")
    m = loaded(body, tmp_path)
    assert m.nv == 2
    d = rb.make_data(m)
    rb.forward(m, d)
    assert sorted(d.xpos[1:, 2].tolist()) == [2.0, 3.0]


def test_a_joint_to_a_static_model_connects_to_the_world(tmp_path):
    body = model("wall", link("l", BOX, "0 0 1 0 0 0"), "1 0 0 0 0 0", STATIC)
    body += model("door", link("d"), "1 0 3 0 0 0") + hinge("wall::l", "door::d", "hang")
    m = loaded(body, tmp_path)
    assert m.jnt_names == ("door/hang",)
    assert m.geom_pos[m.geom_id("wall")].tolist() == [1.0, 0.0, 1.0]
    d = rb.make_data(m)
    rb.forward(m, d)
    assert d.xpos[1].tolist() == [1.0, 0.0, 3.0]


@pytest.mark.parametrize("own", ["true", "false"])
@pytest.mark.parametrize("given", ["true", "false", ""])
def test_an_include_can_make_its_model_static(tmp_path, own, given):
    body = model("part", link("l", BALL), more=f"<static>{own}</static>")
    (tmp_path / "part.sdf").write_text(f"<sdf version='1.11'>{body}</sdf>")
    says = f"<static>{given}</static>" if given else ""
    m = loaded(f"<include><uri>part.sdf</uri>{says}</include>", tmp_path)
    assert m.nv == (0 if (given or own) == "true" else 6)


#: <surface> elements with values that obstacles cannot have.
SURFACES = {
    "<bounce><restitution_coefficient>0.8</restitution_coefficient></bounce>": "restitution",
    "<friction><torsional><patch_radius>.1</patch_radius></torsional></friction>": "torsional",
    "<friction><ode><mu>0.3</mu></ode></friction>": "",
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("shape", ["<plane/>", "<box/>", "<sphere/>"])
def test_surface_values_that_an_obstacle_cannot_have_are_reported(tmp_path, surface, shape):
    solid = f"<geometry>{shape}</geometry><surface>{surface}</surface>"
    body = link("l", f"\n<collision name='c'>{solid}</collision>")
    m = loaded(model("post", body, more=STATIC), tmp_path)
    found = [(f.severity, f.line, f.found) for f in m.findings if f.code == "surface-of-obstacle"]
    lost = SURFACES[surface]
    assert found == ([("warning", 3, lost)] if lost else [])


def test_masks_select_the_models_that_touch(tmp_path):
    def masked(name, mask, at):
        bits = f"<surface><contact><collide_bitmask>{mask}</collide_bitmask></contact></surface>"
        solid = BOX.replace("</collision>", f"{bits}</collision>")
        return model(name, link("l", solid), at)

    body = masked("a", 1, "0 0 1 0 0 0") + masked("b", 2, "0 0 1 0 0 0")
    assert loaded(body, tmp_path).ndistance == 0
    with refused(DescriptionError, ["object-overlaps"] * 2):
        loaded(body + masked("c", 3, "0 0 1 0 0 0"), tmp_path)


def test_height_fields_are_terrain(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.full((5, 5), 255, np.uint8)).save(tmp_path / "hill.png")
    field = "<heightmap><uri>hill.png</uri><size>4 4 1.5</size><pos>0 0 1</pos></heightmap>"
    ground = link("l", f"<collision name='c'><geometry>{field}</geometry></collision>")
    body = model("hill", ground, more=STATIC) + model("ball", link("l", BALL), "0 0 3.1 0 0 0")
    m = loaded(body, tmp_path)
    d = rb.make_data(m)
    for _ in range(1500):
        rb.step(m, d)
    assert d.qpos[2] == pytest.approx(3.0, abs=1e-3)


def test_a_model_has_the_gravity_of_its_world(tmp_path):
    m = loaded("<gravity>0 0 -1.6</gravity>" + model("a", link("l")), tmp_path)
    assert m.opt.gravity.tolist() == [0.0, 0.0, -1.6]
    assert rb.load(YARD).opt.gravity.tolist() == [0.0, 0.0, -9.8]
    bare = loaded(model("a", link("l")), tmp_path)
    assert bare.opt.gravity.tolist() == [0.0, 0.0, -9.81]


def test_a_world_accepts_the_options_of_a_scene():
    with refused(ParameterError, "scene-contact"):
        rb.load(YARD, contact=rb.Contact())
    with refused(ParameterError, "scene-base"):
        rb.load(YARD, floating_base=True)
    with refused(DescriptionError, "is-world"):
        rb.scene(YARD)


def test_a_scene_file_accepts_sdf_models(tmp_path):
    arm = FOLDER / "good/sdf.model.sdf"
    (tmp_path / "arm.sdf").write_bytes(arm.read_bytes())
    (tmp_path / "scene.yaml").write_text(
        "rbdyn_scene: 1\nrobot: arm.sdf\nobjects: {other: {file: arm.sdf, xyz: [3, 0, 1]}}\n"
    )
    m = rb.load(tmp_path / "scene.yaml")
    alone = rb.load(arm, contact=True)
    assert m.nv == 2 * alone.nv + 6
    assert {"upper", "other/upper", "gripper/palm"} <= {*m.frame_names}


def test_the_root_element_determines_the_format_of_an_xml_file(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_bytes(b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <robot> -->\n" + FOLDER.joinpath(
        "good/sdf.model.sdf").read_bytes())  # fmt: skip
    assert rb.load(path).nv == rb.load(FOLDER / "good/sdf.model.sdf").nv


def test_text_before_the_world_is_skipped(tmp_path):
    path = tmp_path / "yard.sdf"
    world = f"<world name='w'>{model('a', link('l'))}</world>"
    path.write_text(f"<sdf version='1.11'><!-- <model> --><![CDATA[ gz <model> ]]>{world}</sdf>")
    assert rb.load(path).jnt_names == ("a",)


def test_line_numbers_are_right_after_a_comment_with_two_dashes(tmp_path):
    """Worlds that come with Gazebo have commands with -- in comments."""
    with refused(DescriptionError, "unknown-frame", line=4):
        loaded("<!-- gz topic --\n echo -->\n<model name='a'><pose relative_to='b'/>"
               + link("l") + "</model>", tmp_path)  # fmt: skip


def test_the_appearance_of_a_world_is_read(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "two.obj").write_text(
        "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n"
    )
    mesh = "<mesh><uri>two.obj</uri><submesh><name>a</name></submesh></mesh>"
    red = "<material><diffuse>1 0 0 1</diffuse></material>"
    seen = f"<visual name='v'><pose>0 0 1 0 0 0</pose><geometry>{mesh}</geometry>{red}</visual>"
    body = model("ball", link("l", BALL + seen), "0 0 2 0 0 0")
    body += model("wall", link("l", BOX + seen), "5 0 0 0 0 0", STATIC)
    body += model("arm", link("a") + link("b", seen) + hinge("world", "a") + hinge("a", "b", "k"))
    m = loaded(body, tmp_path)
    looks = read_appearance(tmp_path / "yard.sdf")
    assert [look.link for look in looks.visuals] == ["ball", "world", "arm/b"]
    assert {look.link for look in looks.visuals} <= {*m.frame_names}
    assert [look.origin.pos for look in looks.visuals] == [(0, 0, 1), (5, 0, 1), (0, 0, 1)]
    assert {look.color for look in looks.visuals} == {(1.0, 0.0, 0.0, 1.0)}
    assert looks.visuals[0].shape == MeshFile(tmp_path / "two.obj", only=("a", False))
    assert [look.link for look in looks.collisions] == ["ball"]
    assert looks.findings == ()
