# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check` and `describe` list geometries and obstacles."""

import json
from functools import cache

import rbdyn_ros as rb
from rbdyn_ros.description.parts.geometries import (
    FLOOR,
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Obstacle,
    Plane,
    Points,
    Sphere,
    Surface,
)
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link
from rbdyn_ros.report import report

BALL = Inertial(2.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
TURNED = Pose((1.0, 0.0, 0.0), (0.6, 0.8, 0.0, 0.0))
DESCRIPTION = Description(
    "r",
    (Link("base"), Link("a", BALL)),
    (Joint("j", "floating", "base", "a"),),
    geometries=(
        Geometry("hull", "a", Box((1.0, 2.0, 3.0)), Pose((0.5, 0.0, 0.0))),
        Geometry("tip", "a", Sphere(0.5), surface=Surface(0.3)),
        Geometry("rim", "a", Cylinder(0.5, 2.0), surface=Surface(viscosity=4.0)),
        Geometry("leg", "a", Capsule(0.5, 2.0)),
        Geometry("web", "a", Points(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))),
        Geometry("foot", "base", Points(((0.0, 0.0, 0.0),))),
    ),
    obstacles=(
        FLOOR,
        Obstacle("wall", Plane(), TURNED, 0.25),
        Obstacle("step", Box((1.0, 1.0, 0.1))),
    ),
)


@cache
def model():
    return rb.build(DESCRIPTION)


def test_check_lists_geometries():
    lines = str(report(DESCRIPTION, model())).splitlines()
    start = lines.index("collision geometries")
    assert lines[start : start + 14] == [
        "collision geometries",
        "  name  link  shape     size                      friction",
        "  hull  a     box       edges 1 2 3 m             0.8",
        "  tip   a     sphere    radius 0.5 m              0.3",
        "  rim   a     cylinder  radius 0.5 m, length 2 m  viscous 4 N s/m",
        "  leg   a     capsule   radius 0.5 m, length 2 m  0.8",
        "  web   a     points    2 corners                 0.8",
        "  foot  base  points    1 corner                  0.8",
        "",
        "obstacles",
        "  name   shape  size             at [m]  friction",
        "  floor  plane                   0 0 0   -",
        "  wall   plane                   1 0 0   0.25",
        "  step   box    edges 1 1 0.1 m  0 0 0   -",
    ]


def test_json_contains_geometries():
    printed = json.loads(report(DESCRIPTION, model()).to_json())
    assert printed["geometries"][2] == {
        "name": "rim",
        "link": "a",
        "shape": "cylinder",
        "size": "radius 0.5 m, length 2 m",
        "friction": 0.8,
        "viscosity": 4.0,
    }
    assert [row["friction"] for row in printed["obstacles"]] == [None, 0.25, None]
    assert printed["obstacles"][1]["pos"] == [1.0, 0.0, 0.0]


def test_there_is_no_table_without_geometries():
    plain = Description("r", DESCRIPTION.links, DESCRIPTION.joints)
    m = rb.build(plain)
    assert "touch" not in str(report(plain, m))
    assert "touch" not in rb.describe(m)


def test_describe_lists_geometries():
    lines = rb.describe(model()).splitlines()
    start = lines.index("collision geometries")
    names = ["hull", "tip", "rim", "leg", "web"]
    assert [line.split()[0] for line in lines[start + 2 : start + 7]] == names
    tip = lines[start + 3].split()
    assert tip[:3] == ["tip", "1", "sphere"]
    assert tip[-2:] == ["0.3", "2"]  # a push at the sphere's centre moves the whole body, of 2 kg
    start = lines.index("obstacles")
    assert lines[start + 1 : start + 5] == [
        "  name   shape  size             at [m]  z axis         friction",
        "  floor  plane                   0 0 0   z              -",
        "  wall   plane                   1 0 0   0 -0.96 -0.28  0.25",
        "  step   box    edges 1 1 0.1 m  0 0 0   z              -",
    ]
