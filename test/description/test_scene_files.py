# SPDX-License-Identifier: Apache-2.0
"""Scene files are read strictly; errors name their line."""

import io
from pathlib import Path

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.scene_files.scene import is_scene
from rbdyn_ros.description.source import opened, read

SCENE = Path("config/scenes/gripper.yaml")
ARM = Path("config/robots/seven_dof_arm.urdf").absolute()
FULL = f"""rbdyn_scene: 1
name: kitchen
robots:
  left: {{file: {ARM}, xyz: [0, 1, 0], start: {{elbow_pitch: 0.5}}, surface: soft,
         self_collision: true, box: franka@127.0.0.2}}
  right: {{file: {ARM}, xyz: [0, -1, 0], rpy: [0, 0, 1.5], floating_base: true}}
surfaces:
  soft: {{friction: 1.5, restitution: 0.2}}
objects:
  cube: {{box: {{size: [0.1, 0.1, 0.1]}}, mass: 0.5, xyz: [3, 0, 1], quat: [0.8, 0.6, 0, 0]}}
  bar: {{parts: [{{sphere: {{radius: 0.1}}}}, {{sphere: {{radius: 0.1}}, xyz: [1, 0, 0]}}],
        density: 100, xyz: [3, 2, 1], surface: soft}}
  stone: {{points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], mass: 2, xyz: [5, 0, 1]}}
floor: {{height: -0.5}}
obstacles:
  step: {{box: {{size: [1, 1, 0.1]}}, xyz: [9, 0, 0]}}
"""


@pytest.fixture
def write(tmp_path):
    def file(text):
        path = tmp_path / "scene.yaml"
        path.write_text(text)
        return path

    return file


def test_the_bundled_scene_is_read():
    assert is_scene(SCENE)
    m = rb.load(SCENE)
    assert m.name == "gripper"
    assert m.jnt_names == ("lift", "left", "right", "cube", "ball")
    assert m.geom_names[m.ngeomlink :] == ("floor", "table")
    looks = read_appearance(SCENE)
    links = {look.link for look in looks.visuals}
    assert links == {"mount", "hand", "left_finger", "right_finger", "cube", "ball"}
    assert all(look.link in m.frame_names for look in (*looks.visuals, *looks.collisions))


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffrbdyn_scene: 1\nobjects: {ball: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 2]}}\n",
        "{rbdyn_scene: 1, objects: {ball: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 2]}}}",
        "{objects: {ball: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 2]}}, 'rbdyn_scene': 1}",
    ],
)
def test_a_scene_may_begin_with_a_byte_order_mark_or_a_brace(write, text):
    scene = write(text)
    assert is_scene(scene)
    assert rb.load(scene).jnt_names == ("ball",)


def test_the_appearance_of_a_scene_includes_files_and_meshes(write, tmp_path):
    triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    (tmp_path / "stone.obj").write_text(triangle)
    scene = write(
        "rbdyn_scene: 1\nobjects:\n  stone: {file: stone.obj, mass: 1, xyz: [0, 0, 1]}\n"
        f"  arm: {{file: {SCENE.absolute().with_suffix('.urdf')}, xyz: [3, 0, 1]}}\n"
    )
    m, looks = rb.load(scene), read_appearance(scene)
    assert m.geom_names[0] == "stone"
    links = {look.link for look in looks.visuals}
    assert links == {"stone", "arm", "arm/hand", "arm/left_finger", "arm/right_finger"}
    (tmp_path / "stone.obj").unlink()
    assert [finding.code for finding in read_appearance(scene).findings] == ["mesh-missing"]
    recursive = write("rbdyn_scene: 1\nrobot: scene.yaml\n")
    with refused(rb.DescriptionError, "not-a-mechanism"):
        rb.load(recursive)
    assert read_appearance(recursive).visuals == ()


def test_a_scene_file_with_every_key_is_read(write):
    assert read(write(FULL)).self_collision
    assert opened(write(FULL)).boxes == ("left/franka@127.0.0.2",)
    m = rb.load(write(FULL))
    assert m.name == "kitchen"
    names = [name for name in m.jnt_names if not name.startswith(("left/", "right/"))]
    assert names == ["cube", "bar", "stone"]
    assert m.qpos0[m.jnt_qposadr[m.jnt_id("left/elbow_pitch")]] == 0.5
    at = m.jnt_qposadr[m.jnt_id("cube")]
    np.testing.assert_allclose(m.qpos0[at : at + 7], (3.0, 0.0, 1.0, 0.8, 0.6, 0.0, 0.0))
    assert m.geom_names[m.ngeomlink :] == ("floor", "step")
    assert m.geom_pos[m.ngeomlink :][0].tolist() == [0.0, 0.0, -0.5]
    friction = dict(zip(m.geom_names, m.geom_friction, strict=True))
    assert (friction["bar_0"], friction["cube"]) == (1.5, 0.8)
    assert [m.body_mass[m.body_names.index(name)] for name in ("cube", "stone")] == [0.5, 2.0]


ERRORS = {
    "objects:\n  a: {box: {size: [1, 1, 1]}, mass: 1, xyz: [0, 0, 2], colour: red}":
        ("unknown-key", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, mass: 0, xyz: [0, 0, 2]}": ("bad-argument", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, xyz: [0, 0, 2]}": ("density-or-mass", 3),
    "objects:\n  a: {xyz: [0, 0, 2], mass: 1}": ("bad-shape", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, sphere: {radius: 1}, mass: 1}": ("bad-shape", 3),
    "objects:\n  a: {box: {size: [1, 1]}, mass: 1}": ("bad-value", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, mass: .nan}": ("bad-value", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, mass: 1, surface: rubbr}": ("unknown-surface", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, mass: 1, quat: [1, 1, 0, 0]}": ("bad-quaternion", 3),
    "objects:\n  a: {box: {size: [1, 1, 1]}, mass: 1, quat: [1, 0, 0, 0], rpy: [0, 0, 1]}":
        ("duplicate-key", 3),
    "objects:\n  a: {sphere: {radius: 1}, mass: 1}\n  a: {sphere: {radius: 1}, mass: 1}":
        ("duplicate-key", 4),
    "surfaces:\n  s: {friction: -1}\nobjects:\n  a: {sphere: {radius: 1}, mass: 1, surface: s}":
        ("negative-friction", 3),
    "surfaces:\n  s: {restitution: 2}\nobjects:\n  a: {sphere: {radius: 1}, mass: 1, surface: s}":
        ("large-restitution", 3),
    "surfaces:\n  s: {slippery: 2}": ("unknown-key", 3),
    "surfaces:\n  unused: {friction: -1}": ("negative-friction", 3),
    "objects:\n  a: {sphere: {radius: 1}, mass: 1}\nobstacles:\n  a: {sphere: {radius: 1}}":
        ("duplicate-name", 5),
    f"robot: {{file: {ARM}}}\nobjects:\n  world: {{sphere: {{radius: 1}}, mass: 1}}":
        ("duplicate-name", 4),
    "objects: [a]": ("bad-value", 2),
    "object:\n  a: {}": ("unknown-key", 2),
    "robot: missing.urdf": ("no-such-file", 2),
    "robot: {xyz: [0, 0, 0]}": ("missing-key", 2),
    "robot: scene.yaml": ("not-a-mechanism", 2),
    f"robot: {{file: {ARM}, box: kuka}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, box: franka@127.0.0}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, box: [franka]}}": ("bad-value", 2),
    "robots: {'': {file: a.urdf}}": ("missing-name", 2),
    "robot: a.urdf\nrobots: {b: {file: c.urdf}}": ("duplicate-key", 3),
    "floor: {depth: 1}": ("unknown-key", 2),
    f"robot: {{file: {ARM}, surfaces: [a]}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, exclude: [a]}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, filters: [a]}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, filters: {{a: {{contype: 1.5}}}}}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, filters: {{a: {{}}}}}}": ("unknown-geometry", 2),
    "objects:\n  a: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 2], filter: {group: 1}}":
        ("unknown-key", 3),
    "obstacles:\n  a: {sphere: {radius: 1}, filter: {conaffinity: 4294967296}}":
        ("bad-filter", 3),
    "obstacles:\n  a: {sphere: {radius: 1}}\nexclude: [[a, b]]": ("unknown-geometry", 4),
    "exclude: [a]": ("bad-value", 2),
    "obstacles:\n  a: {height_field: {file: scene.yaml, size: [1, 1]}}": ("bad-height-field", 3),
    "obstacles:\n  a: {height_field: {file: none.csv, size: [1, 1]}}": ("bad-height-field", 3),
    "obstacles:\n  a: {height_field: {file: a.png, size: [1, 1]}}": ("bad-height-field", 3),
    "obstacles:\n  a: {height_field: {file: a.csv, size: [1, 1], height: 1}}":
        ("bad-height-field", 3),
    "obstacles:\n  a: {height_field: {file: a.csv, size: [1]}}": ("bad-value", 3),
    "obstacles:\n  a: {height_field: {file: a.csv}}": ("missing-key", 3),
    f"robot: {{file: {ARM}, floating_base: maybe}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, self_collision: 1}}": ("bad-value", 2),
    f"robot: {{file: {ARM}, start: {{elbow: 1}}}}": ("unknown-joint", 2),
    f"robot: {{file: {ARM}, start: {{elbow_pitch: 99}}}}": ("bad-start", 2),
    "objects:\n  a: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 2]}\n"
    "  b: {sphere: {radius: 1}, mass: 1, xyz: [0, 0, 3]}": ("object-overlaps", 3),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_of_a_scene_file_name_their_line(write, text):
    code, line = ERRORS[text]
    with pytest.raises(rb.DescriptionError) as error:
        rb.load(write(f"rbdyn_scene: 1\n{text}\n"))
    assert (code, line) in [(f.code, f.line) for f in error.value.findings], str(error.value)
    assert str(error.value.source).endswith("scene.yaml")


def test_wrong_versions_and_options_of_a_scene_are_refused(write):
    with refused(rb.DescriptionError, "bad-version", line=1):
        rb.load(write("rbdyn_scene: 2\n"))
    scene = write("rbdyn_scene: 1\nobjects: {a: {sphere: {radius: 1}, mass: 1}}\n")
    assert rb.load(scene, contact=True).ngeomlink == 1
    with refused(rb.ParameterError, "scene-base", "floating_base"):
        rb.load(scene, floating_base=True)
    with refused(rb.ParameterError, "scene-contact", "contact"):
        rb.load(scene, contact=rb.Contact())
    assert not is_scene("config/robots/seven_dof_arm.urdf")
    assert not is_scene("missing.yaml")


FIELD = (
    "rbdyn_scene: 1\nfloor: false\n"
    "objects: {a: {sphere: {radius: 0.1}, mass: 1, xyz: [0, 0, 9]}}\n"
)


def test_height_fields_are_files_of_numbers_or_pictures(write, tmp_path):
    (tmp_path / "hills.csv").write_text("0, 1, 2\n\n3, 4, 5.5\n")
    (tmp_path / "hills.png").write_bytes(picture([[0, 51, 102], [153, 204, 255]]))
    for text, heights in (
        ("{file: hills.csv, size: [4, 2]}", [0.0, 1.0, 2.0, 3.0, 4.0, 5.5]),
        ("{file: hills.png, size: [4, 2], height: 5}", [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]),
    ):
        m = rb.load(write(FIELD + f"obstacles: {{hills: {{height_field: {text}}}}}\n"))
        np.testing.assert_allclose(m.field_height, heights)
        assert (m.field_nrow[0], m.field_ncol[0]) == (2, 3)
        assert m.geom_size[m.ngeomlink :][0].tolist() == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("text", ["1, 2\n3", "1, a\n2, 3", "1, nan\n2, 3", "1, 2", "", "\xff\xfe"])
def test_a_file_of_heights_that_is_not_a_grid_of_numbers_is_refused(write, tmp_path, text):
    (tmp_path / "hills.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(rb.DescriptionError) as error:
        rb.load(write(FIELD + "obstacles: {b: {height_field: {file: hills.csv, size: [4, 2]}}}\n"))
    codes = {finding.code for finding in error.value.findings}
    assert codes <= {"bad-height-field", "bad-heights"}


def picture(grey):
    """Return the bytes of a PNG file with these grey values."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.array(grey, np.uint8)).save(file, "png")
    return file.getvalue()
