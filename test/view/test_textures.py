# SPDX-License-Identifier: Apache-2.0
"""Textures are at the right places of boxes and meshes, and bad images are refused."""

import numpy as np
import pytest
from PIL import Image
from support.drawing import needs_renderer

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.meshes import textures
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.sensors import ColorSpec
from rbdyn_ros.view.render.projection import looking
from rbdyn_ros.view.render.renderer import Renderer
from rbdyn_ros.view.scene.scene import VISUALS, Scene

pytest.importorskip("collada")

#: Colours of the image's quarters: red and green above blue and yellow.
COLORS = {"red": (200, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 200), "yellow": (200, 200, 0)}
QUARTERS = np.array([["red", "green"], ["blue", "yellow"]])

BOX = '<box size="1 1 1"/>'
TEXTURE = '<texture filename="quarters.png"/>'
MATERIAL = f'<material name="m"><color rgba="0 1 1 1"/>{TEXTURE}</material>'

#: A square in the y-z plane; seen from +x, the square has an upright image.
OBJ = """mtllib m.mtl
v 0.5 -0.5 -0.5
v 0.5 0.5 -0.5
v 0.5 0.5 0.5
v 0.5 -0.5 0.5
vt 0 0
vt 1 0
vt 1 1
vt 0 1
usemtl paint
f 1/1 2/2 3/3 4/4
"""
MTL = "newmtl paint\nKd 0 1 1\nmap_Kd {}\n"

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_images><image id="i"><init_from>{}</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="common"><phong><diffuse><texture texture="t" texcoord="U"/></diffuse></phong>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="pic"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0.5 -0.5 -0.5 0.5 0.5 -0.5 0.5 0.5 0.5 0.5 -0.5 0.5
</float_array><technique_common><accessor source="#pa" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<source id="u"><float_array id="ua" count="8">0 0 1 0 1 1 0 1</float_array>
<technique_common><accessor source="#ua" count="4" stride="2"><param name="S" type="float"/>
<param name="T" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="2" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#u" offset="1" set="0"/>
<p>0 0 1 1 2 2 0 0 2 2 3 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g">
<bind_material><technique_common><instance_material symbol="m" target="#pic"/></technique_common>
</bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder that has the image of four quarters in two formats."""
    image = np.array([[COLORS[name] for name in row] for row in QUARTERS], np.uint8)
    image = image.repeat(64, axis=0).repeat(64, axis=1)
    Image.fromarray(image).save(tmp_path / "quarters.png")
    Image.fromarray(image).save(tmp_path / "quarters.jpg", quality=95)
    return tmp_path


def appearance(folder, geometry, material=""):
    """Return the Model of a robot with one visual, and the robot's appearance."""
    text = (
        f'<robot name="r"><link name="base"/><joint name="turn" type="continuous">'
        f'<parent link="base"/><child link="thing"/></joint><link name="thing"><inertial>'
        f'<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"<visual><geometry>{geometry}</geometry>{material}</visual></link></robot>"
    )
    return rb.load_urdf(text, strict=False), read_appearance(text, folder=folder)


def mesh(folder, name, data):
    (folder / name).write_text(data)
    return f'<mesh filename="{name}"/>'


def quarters_seen(m, looks, eye):
    """Return the names of the colours in the quarters of a face, as seen from a point `eye`."""
    camera = ColorSpec("eye", "base", rate=1.0, near=0.1, far=9.0, width=64, height=64,
                       intrinsics=(125.0, 125.0, 31.5, 31.5))  # fmt: skip
    with Renderer(m, looks) as renderer:
        assert renderer.findings == ()
        picture = renderer.draw(Instant.still(m, m.qpos0), camera, looking(eye, (0.0, 0.0, 0.0)))
    names, values = list(COLORS), np.array(list(COLORS.values()), float)
    pixels = picture[[20, 44]][:, [20, 44]].astype(float)[:, :, None]
    shade = (pixels * values).sum(axis=3) / (
        np.linalg.norm(pixels, axis=3) * np.linalg.norm(values, axis=1)
    )
    assert (shade.max(axis=2) > 0.9).all()  # the sun makes colours whiter
    return [[names[k] for k in row] for row in shade.argmax(axis=2)]


@needs_renderer
@pytest.mark.parametrize("eye", [(3, 0, 0), (-3, 0, 0), (0, 3, 0), (0, -3, 0)])
def test_each_side_of_a_box_has_an_upright_image(folder, eye):
    assert quarters_seen(*appearance(folder, BOX, MATERIAL), eye) == QUARTERS.tolist()


@needs_renderer
def test_both_ends_of_a_box_have_the_image(folder):
    """On both ends y is upward in the image; a camera below the box has -y upward."""
    m, looks = appearance(folder, BOX, MATERIAL)
    assert quarters_seen(m, looks, (0, 0, 3)) == QUARTERS.tolist()
    assert quarters_seen(m, looks, (0, 0, -3)) == QUARTERS[::-1, ::-1].tolist()


@needs_renderer
@pytest.mark.parametrize("image", ["quarters.png", "./quarters.jpg"])
@pytest.mark.parametrize("kind", ["obj", "dae"])
def test_a_mesh_has_the_image_that_it_names(folder, kind, image):
    (folder / "m.mtl").write_text(MTL.format(image))
    data = OBJ if kind == "obj" else DAE.format(image)
    found = appearance(folder, mesh(folder, f"m.{kind}", data), MATERIAL.replace("png", "none"))
    assert quarters_seen(*found, (3, 0, 0)) == QUARTERS.tolist()


@needs_renderer
def test_a_mesh_with_texture_coordinates_and_no_material_gets_the_image_of_the_urdf(folder):
    geometry = mesh(folder, "m.obj", OBJ)
    assert quarters_seen(*appearance(folder, geometry, MATERIAL), (3, 0, 0)) == QUARTERS.tolist()


@needs_renderer
@pytest.mark.parametrize(
    "geometry", ['<sphere radius="0.5"/>', '<cylinder radius="0.5" length="1"/>']
)
def test_the_image_of_a_round_solid_goes_once_around_it(folder, geometry):
    """The middle of the image is at +x, and the left and right edges are at -x."""
    m, looks = appearance(folder, geometry, MATERIAL)
    assert quarters_seen(m, looks, (3, 0, 0)) == QUARTERS.tolist()
    assert quarters_seen(m, looks, (-3, 0, 0)) == QUARTERS[:, ::-1].tolist()


def parts_of(m, looks):
    scene = Scene(m, looks)
    return scene.parts(VISUALS), [*looks.findings, *scene.findings]


def one_finding(m, looks):
    """Return the only finding, a warning about a texture; the shape must have its colour."""
    (part,), (finding,) = parts_of(m, looks)
    assert part.image is None
    assert part.color[:3] == (0.0, 1.0, 1.0)
    assert finding.severity == "warning"
    assert "\n" not in finding.message
    return finding


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("broken.png", b"\x89PNG\r\n\x1a\nbroken", "bad-texture"),
        ("text.jpg", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "bad-texture"),
        ("empty.png", b"", "bad-texture"),
        ("picture.gif", b"GIF89a", "mesh-format"),
        ("none.png", None, "mesh-missing"),
        ("../outside.png", None, "mesh-outside"),
        ("/etc/x.png", None, "mesh-outside"),
        ("http://a.b/x.png", None, "mesh-address"),
        ("package://none/x.png", None, "package-not-found"),
    ],
)
@pytest.mark.parametrize("kind", ["urdf", "obj"])
def test_an_unreadable_texture_causes_one_warning(folder, kind, name, data, code):
    if data is not None:
        (folder / name).write_bytes(data)
    if kind == "urdf":
        m, looks = appearance(folder, BOX, MATERIAL.replace("quarters.png", name))
    else:
        (folder / "m.mtl").write_text(MTL.format(name))
        m, looks = appearance(folder, mesh(folder, "m.obj", OBJ))
    finding = one_finding(m, looks)
    assert finding.code == code
    assert name in finding.message


def test_a_truncated_image_causes_one_warning(folder):
    data = (folder / "quarters.png").read_bytes()
    (folder / "quarters.png").write_bytes(data[: len(data) // 2])
    assert one_finding(*appearance(folder, BOX, MATERIAL)).code == "bad-texture"


@pytest.mark.parametrize(("name", "least"), [("MAX_PIXELS", 128 * 128), ("MAX_IMAGE_BYTES", 100)])
def test_a_too_large_image_causes_one_warning(folder, monkeypatch, name, least):
    monkeypatch.setattr(textures, name, least - 1)
    finding = one_finding(*appearance(folder, BOX, MATERIAL))
    assert finding.code == "texture-too-large"


def test_large_images_of_each_format_become_smaller_images_of_three_colours(folder):
    for mode in ("RGBA", "L", "P", "I;16"):
        path = folder / f"{mode}.png"
        Image.new(mode, (3000, 1000)).save(path)
        assert textures.read_texture(path).shape == (341, 1024, 3)


def test_a_texture_for_a_shape_without_texture_coordinates_causes_one_warning(folder):
    geometry = mesh(folder, "m.obj", OBJ.replace("/1", "").replace("/2", "").replace("/3", "")
                    .replace("/4", ""))  # fmt: skip
    assert "texture coordinates" in one_finding(*appearance(folder, geometry, MATERIAL)).message


def test_a_material_file_outside_the_folder_of_the_robot_is_not_read(folder):
    """The mesh then has no image, and this causes no finding."""
    inside = folder / "robot"
    inside.mkdir()
    (folder / "m.mtl").write_text(MTL.format("quarters.png"))
    geometry = mesh(inside, "m.obj", OBJ.replace("m.mtl", "../m.mtl"))
    (part,), findings = parts_of(*appearance(inside, geometry))
    assert part.image is None
    assert findings == []
