# SPDX-License-Identifier: Apache-2.0
"""A robot's first moving link touches a table in the robot's URDF only on request."""

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import DescriptionError, ParameterError

BOX = (
    '<collision name="{0}_box"><origin xyz="{1}"/>'
    '<geometry><box size="{2}"/></geometry></collision>'
)
INERTIAL = (
    '<inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
#: A boom rotates about y on a post, at a height of 1 m, above a table whose top is at 0.6 m. The
#: post overlaps the boom.
URDF = f"""<robot name="boom">
<link name="post">{BOX.format("post", "0 0 0.5", "0.1 0.1 1.1")}</link>
<link name="table">{BOX.format("table", "0 0 0", "0.4 1 0.2")}</link>
<joint name="stands" type="fixed"><parent link="post"/><child link="table"/>
<origin xyz="0.6 0 0.5"/></joint>
<link name="boom">{INERTIAL}{BOX.format("boom", "0.5 0 0", "1 0.1 0.1")}</link>
<joint name="hinge" type="continuous"><parent link="post"/><child link="boom"/>
<origin xyz="0 0 1"/><axis xyz="0 1 0"/><dynamics damping="0.5" friction="0"/></joint>
</robot>"""
ENABLED = '<robot name="boom"><enable_collisions link1="boom" link2="table"/></robot>'
DISABLED = ENABLED.replace("</robot>", '<disable_collisions link1="table" link2="boom"/></robot>')
SCENE = "rbdyn_scene: 1\nfloor: false\nrobot: {file: boom.urdf, furniture: [table]}\n"
NO_FLOOR = rb.Contact(obstacles=())
WITH_TABLE = rb.Contact(obstacles=(), furniture=("table",))


def end_of_fall(m):
    """Return the angle by which the boom has fallen after 3 s [rad]."""
    d = rb.make_data(m)
    rb.step(m, d, 3000)
    return float(d.qpos[0])


def lies_on_the_table(m):
    """Return whether the boom, of half thickness 0.05 m, ends on an edge of the table."""
    near, far = 0.4, 0.8
    turns = [np.arctan2(0.4, x) - np.arcsin(0.05 / np.hypot(0.4, x)) for x in (near, far)]
    return end_of_fall(m) == pytest.approx(min(turns), abs=1e-3)


def scene_of(tmp_path, text=SCENE):
    (tmp_path / "boom.urdf").write_text(URDF)
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    return path


def test_a_first_moving_link_passes_through_links_fixed_to_its_base():
    for srdf in (False, DISABLED):
        turned = end_of_fall(rb.load_urdf(URDF, contact=NO_FLOOR, srdf=srdf))
        assert turned == pytest.approx(np.pi / 2, abs=0.2)


def test_an_srdf_or_an_rb_contact_lets_the_first_moving_link_touch_a_table():
    assert lies_on_the_table(rb.load_urdf(URDF, contact=NO_FLOOR, srdf=ENABLED))
    assert lies_on_the_table(rb.load_urdf(URDF, contact=WITH_TABLE, srdf=False))


def test_a_scene_file_lets_the_first_moving_link_touch_a_table(tmp_path):
    m = rb.load(scene_of(tmp_path))
    assert lies_on_the_table(m)
    several = (
        "rbdyn_scene: 1\nfloor: false\nrobots:\n"
        "  a: {file: boom.urdf}\n  b: {file: boom.urdf, furniture: [table], xyz: [0, 5, 0]}\n"
    )
    m = rb.load(scene_of(tmp_path, several))
    d = rb.make_data(m)
    rb.step(m, d, 3000)
    assert d.qpos[0] == pytest.approx(np.pi / 2, abs=0.2)
    assert d.qpos[1] < 0.5


def test_distances_and_collisions_include_the_table():
    m = rb.load_urdf(URDF, contact=WITH_TABLE, srdf=False)
    pairs = {frozenset((one.geom1, one.geom2)) for one in rb.collisions(m, rb.make_data(m), 10.0)}
    assert pairs == {frozenset(("boom_box", "table_box"))}


@pytest.mark.parametrize(
    ("names", "code"), [(("boom",), "bad-furniture"), (("tabel",), "unknown-geometry")]
)
def test_moving_or_unknown_links_cannot_be_furniture(names, code):
    with refused(DescriptionError, code, "contact"):
        rb.load_urdf(URDF, contact=rb.Contact(furniture=names))


def test_furniture_must_be_a_tuple_of_names():
    with refused(ParameterError, "wrong-kind", "contact"):
        rb.load_urdf(URDF, contact=rb.Contact(furniture="table"))
