# SPDX-License-Identifier: Apache-2.0
"""A robot file becomes a floating or a fixed part of a scene, or is refused."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import WORLD, Description, Link
from rbdyn_ros.description.scenes.entities import with_entity
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.loading.load import complete

EMPTY = Description("scene", (Link(WORLD),), (), base=WORLD)
AT = rb.Pose((1.0, 2.0, 3.0), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)))


def sdf(body, more=""):
    return f"<sdf version='1.11'><model name='thing'>{more}{body}</model></sdf>"


def mjcf(world, more=""):
    return f"<mujoco><worldbody>{world}</worldbody>{more}</mujoco>"


def solid(name, shape, at="0 0 0 0 0 0"):
    geometry = f"<geometry>{shape}</geometry>"
    return f"<collision name='{name}'><pose>{at}</pose>{geometry}</collision>"


def link(name, more="", at="0 0 0 0 0 0"):
    return f"<link name='{name}'><pose>{at}</pose>{more}</link>"


def joint(parent, child, name="j", kind="revolute"):
    axis = "<axis><xyz>0 0 1</xyz></axis>" * (kind != "fixed")
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f"<joint name='{name}' type='{kind}'>{ends}{axis}</joint>"


BOX, POST, GROUND = (
    "<box><size>0.2 0.4 0.6</size></box>",
    "<cylinder><radius>0.1</radius><length>1</length></cylinder>",
    "<plane/>",
)
STATIC = "<static>true</static>"
ARM = link("base", solid("c", BOX)) + link("tip") + joint("base", "tip")
LEGS = "<body name='trunk' pos='0 0 1'><freejoint name='free'/><geom size='0.1'/>{}</body>"
LEG = "<body name='leg'><joint name='j'/><geom size='0.1' pos='1 0 0'/></body>"
DRIVE = "<actuator><motor joint='j'/></actuator>"
KEY = "<keyframe><key name='up' qpos='0 0 2 1 0 0 0 0.5'/></keyframe>"
#: For each file: its text, the kind of part that it becomes (or words of the error), and its
#: number of degrees of freedom. All joints count as actuated.
FILES = {
    "box.sdf": (sdf(link("l", solid("c", BOX))), "object", 6),
    "arm.sdf": (sdf(ARM), "object", 7),
    "crane.sdf": (sdf(ARM + joint("world", "base", "foot", "fixed")), "robot", 1),
    "wall.sdf": (sdf(link("l", solid("c", BOX), "0 0 1 0 0 0"), STATIC), "robot", 0),
    "flat.sdf": (sdf(link("l", solid("c", BOX)), STATIC), "obstacle", 0),
    "ground.sdf": (sdf(link("l", solid("c", GROUND)), STATIC), "obstacle", 0),
    "table.sdf": (sdf(link("l", solid("c", BOX) + solid("d", POST)), STATIC), "robot", 0),
    "room.sdf": (
        sdf(link("l", solid("c", BOX) + solid("d", GROUND)), STATIC),
        "terrain or a plane",
        0,
    ),
    "pieces.sdf": (sdf(link("a") + link("b")), "link 'a' moves in its world", 0),
    "ball.xml": (mjcf(LEGS.format("")), "object", 6),
    "ball.mjcf": (mjcf(LEGS.format("")), "object", 6),
    "legs.xml": (mjcf(LEGS.format(LEG), DRIVE + KEY), "object", 7),
    "arm.xml": (mjcf(LEG, DRIVE), "robot", 1),
    "post.xml": (mjcf("<body pos='0 0 1'><geom size='0.1'/></body>"), "robot", 0),
    "mast.xml": (mjcf("<body><geom size='0.1'/></body>"), "obstacle", 0),
    "posts.xml": (mjcf("<geom size='0.1'/><geom size='0.1' pos='1 0 0'/>"), "robot", 0),
}


def spawned(name, tmp_path, acts):
    path = tmp_path / name
    path.write_text(FILES[name][0])
    return with_entity(EMPTY, rb.Object("x", path, pose=AT), acts=acts)


@pytest.mark.parametrize("name", FILES)
def test_the_root_of_a_file_is_free_or_fixed_or_refused(name, tmp_path):
    _, kind, count = FILES[name]
    if kind not in ("object", "robot", "obstacle"):
        with pytest.raises(DescriptionError, match=kind):
            spawned(name, tmp_path, acts=True)
        return
    scene = spawned(name, tmp_path, acts=True)
    found = {
        "object": scene.objects,
        "robot": scene.robots,
        "obstacle": tuple(one.name for one in scene.obstacles),
    }
    assert [key for key, names in found.items() if names == ("x",)] == [kind]
    m = complete(scene)
    assert m.nv == count
    d = rb.make_data(m)
    rb.forward(m, d)
    if kind != "obstacle":
        position, rotation = rb.frame_pose(m, d, "x")
        assert position == pytest.approx(AT.pos)
        assert rotation[:, 0] == pytest.approx([0.0, 1.0, 0.0])


HIGH = "<pose>0 0 5 0 0 0</pose>"


@pytest.mark.parametrize("more", ["", STATIC, HIGH, STATIC + HIGH])
@pytest.mark.parametrize("body", ["box", "arm"])
def test_a_model_of_sdf_stands_where_gazebo_puts_it(body, more, tmp_path):
    """The object's pose replaces the model's pose; the link keeps its pose in the model."""
    free = solid("c", BOX), "0 0 1 0 0 0"
    text = sdf(link("l", *free) + (link("tip") + joint("l", "tip")) * (body == "arm"), more)
    (tmp_path / "x.sdf").write_text(text)
    for shape in (text, tmp_path / "x.sdf"):
        scene = with_entity(EMPTY, rb.Object("x", shape, pose=AT), acts=True)
        m = complete(scene)
        d = rb.make_data(m)
        rb.forward(m, d)
        assert rb.frame_pose(m, d, "x")[0] == pytest.approx((1.0, 2.0, 3.0))
        assert rb.frame_pose(m, d, "x/l")[0] == pytest.approx((1.0, 2.0, 4.0))


def test_an_obstacle_has_the_pose_of_its_object(tmp_path):
    for name in ("flat.sdf", "ground.sdf", "mast.xml"):
        one = spawned(name, tmp_path, acts=False).obstacles[0]
        assert (one.name, one.origin) == ("x", AT)


def test_the_corners_of_a_static_mesh_include_the_pose_of_its_link(tmp_path):
    """The link of a triangle is at a height of 1 m, and rotated by 90 degrees about z."""
    corners = "v 1 0 0\nv 2 0 0\nv 1 1 0\nf 1 2 3\n"
    (tmp_path / "t.obj").write_text(corners)
    mesh = solid("c", "<mesh><uri>t.obj</uri></mesh>")
    (tmp_path / "t.sdf").write_text(sdf(link("l", mesh, "0 0 1 0 0 1.5707963267948966"), STATIC))
    one = with_entity(EMPTY, rb.Object("x", tmp_path / "t.sdf", pose=AT)).obstacles[0]
    assert one.origin == AT
    expected = [[0.0, 1.0, 1.0], [0.0, 2.0, 1.0], [-1.0, 1.0, 1.0]]
    assert sorted(one.shape.vertices.tolist()) == pytest.approx(np.array(sorted(expected)))


@pytest.mark.parametrize("name", ["post.xml", "posts.xml", "wall.sdf", "table.sdf"])
def test_fixed_parts_without_actuators_are_refused(name, tmp_path):
    with pytest.raises(DescriptionError, match="among the obstacles of the scene"):
        spawned(name, tmp_path, acts=False)


def test_a_long_chain_of_fixed_links_is_read():
    links = "".join(f"<link name='l{k}'/>" for k in range(2000))
    joints = "".join(
        f"<joint name='j{k}' type='fixed'><parent link='{f'l{k - 1}' if k else 'world'}'/>"
        f"<child link='l{k}'/></joint>"
        for k in range(2000)
    )
    box = "<collision><geometry><box size='1 1 1'/></geometry></collision>"
    last = links.replace("<link name='l1999'/>", f"<link name='l1999'>{box}</link>")
    text = f"<robot name='chain'><link name='world'/>{last}{joints}</robot>"
    scene = with_entity(EMPTY, rb.Object("x", text, pose=AT), acts=True)
    assert scene.obstacles[0].origin == AT


def test_a_keyframe_loses_the_joint_that_the_scene_replaces(tmp_path):
    states = spawned("legs.xml", tmp_path, acts=True).states
    assert [state.positions for state in states] == [{"x/j": 0.5}]


@pytest.mark.parametrize("name", ["arm.xml"])
def test_an_object_without_actuators_that_cannot_float_is_refused(name, tmp_path):
    with pytest.raises(DescriptionError, match="link 'leg' moves in its world"):
        spawned(name, tmp_path, acts=False)


@pytest.mark.parametrize("name", ["box.sdf", "arm.sdf", "ball.xml", "legs.xml"])
def test_an_object_of_a_scene_is_a_file_of_any_format(name, tmp_path):
    (tmp_path / name).write_text(FILES[name][0])
    m = rb.scene(objects=[rb.Object("x", tmp_path / name, pose=AT)])
    assert m.jnt_names[0] == "x"
    assert m.nv == FILES[name][2]


def test_a_world_is_not_an_object(tmp_path):
    path = tmp_path / "yard.sdf"
    path.write_text("<sdf version='1.11'><world name='yard'/></sdf>")
    with pytest.raises(DescriptionError, match=r"`rbdyn sim WORLD\.sdf` simulates it"):
        with_entity(EMPTY, rb.Object("x", path))


def test_a_robot_is_loaded_from_the_text_of_an_sdf_as_from_its_file(tmp_path):
    text = FILES["arm.sdf"][0]
    (tmp_path / "arm.sdf").write_text(text)
    m, same = rb.load_urdf(text), rb.load(tmp_path / "arm.sdf")
    assert m.jnt_names == same.jnt_names
    assert (m.body_mass == same.body_mass).all()
    assert rb.load_urdf(text.encode()).nv == 1


def test_a_text_may_include_models_only_by_name(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part/model.sdf").write_text(FILES["arm.sdf"][0])
    text = "<sdf version='1.11'><include><uri>{}</uri></include></sdf>"
    assert rb.load_urdf(text.format("model://part"), package_dirs=tmp_path).nv == 1
    for uri in ("part", "part/model.sdf", f"{tmp_path}/part", f"file://{tmp_path}/part"):
        with refused(DescriptionError, "include-outside"):
            rb.load_urdf(text.format(uri), package_dirs=tmp_path)


def test_a_long_comment_does_not_hide_the_format(tmp_path):
    text = f"<!-- {'x' * 70_000} -->{FILES['ball.xml'][0]}"
    (tmp_path / "ball.xml").write_text(text)
    assert rb.load_urdf(text).nv == rb.load(tmp_path / "ball.xml").nv == 6


WELDED = "<equality><weld name='glue' body1='trunk'/></equality>"


@pytest.mark.parametrize("more", [WELDED, WELDED.replace("weld", "connect")])
def test_an_object_that_an_equality_connects_to_its_own_world_is_refused(more, tmp_path):
    more = more.replace("<connect", "<connect anchor='0 0 0'")
    (tmp_path / "x.xml").write_text(mjcf(LEGS.format(""), more))
    with pytest.raises(DescriptionError, match="'glue' connects it to its own world"):
        with_entity(EMPTY, rb.Object("x", tmp_path / "x.xml", pose=AT))


def test_parts_of_the_world_in_the_file_of_an_object_are_left_out_with_a_warning(tmp_path):
    floor = "<geom name='floor' type='plane' size='1 1 1'/><site name='mark' pos='1 0 0'/>"
    pairs = "<contact><exclude body1='world' body2='trunk'/></contact>"
    text = mjcf(floor + LEGS.format(""), KEY.replace(" 0.5", "") + pairs)
    (tmp_path / "x.xml").write_text(text)
    scene = with_entity(EMPTY, rb.Object("x", tmp_path / "x.xml", pose=AT), acts=True)
    assert scene.objects == ("x",)
    assert [link.name for link in scene.links] == [WORLD, "x"]
    assert [f.code for f in scene.findings if f.severity == "warning"] == ["world-left-out"]
    assert complete(scene).nv == 6


def test_a_file_whose_fixed_links_close_a_loop_is_read(tmp_path):
    bodies = "".join(f"<body name='{name}'><geom size='0.1'/></body>" for name in "ab")
    welds = "<equality><weld body1='a' body2='b'/><weld body1='b' body2='a'/></equality>"
    (tmp_path / "x.xml").write_text(mjcf(bodies, welds))
    scene = with_entity(EMPTY, rb.Object("x", tmp_path / "x.xml", pose=AT), acts=True)
    assert scene.robots == ("x",)
