# SPDX-License-Identifier: Apache-2.0
"""Inertials of simple bodies agree with closed forms and with sums over many small parts."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.refusals import refused

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.parts.poses import pose
from rbdyn_ros.description.parts.types import Inertial
from rbdyn_ros.errors import ParameterError

POINTS = 120  # number of grid points along each edge


def integrate(inside, edges):
    """Return volume and moments of inertia about the origin, by the midpoint rule on a grid."""
    axes = [(np.arange(POINTS) + 0.5) / POINTS * edge - edge / 2 for edge in edges]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    share = inside(x, y, z) * np.prod(edges) / POINTS**3
    moments = [(share * s).sum() for s in (y**2 + z**2, z**2 + x**2, x**2 + y**2)]
    return share.sum(), moments


@pytest.mark.parametrize(
    ("inertial", "inside", "edges"),
    [
        (shapes.box((1, 2, 3), density=1), lambda x, _y, _z: np.ones_like(x), (1, 2, 3)),
        (
            shapes.cylinder(0.5, 2, density=1),
            lambda x, y, _z: x**2 + y**2 < 0.25,
            (1, 1, 2),
        ),
        (
            shapes.sphere(0.5, density=1),
            lambda x, y, z: x**2 + y**2 + z**2 < 0.25,
            (1, 1, 1),
        ),
        (
            shapes.capsule(0.5, 1.5, density=1),
            lambda x, y, z: x**2 + y**2 + np.maximum(abs(z) - 0.75, 0) ** 2 < 0.25,
            (1, 1, 2.5),
        ),
    ],
    ids=["box", "cylinder", "sphere", "capsule"],
)
def test_shapes_agree_with_numeric_integration(inertial, inside, edges):
    volume, moments = integrate(inside, edges)
    # on the grid a curved surface has steps, of about (1 / POINTS)^(3/2) of the volume
    assert inertial.mass == pytest.approx(volume, rel=2e-3)
    assert inertial.inertia[:3] == pytest.approx(moments, rel=2e-3)
    assert inertial.inertia[3:] == (0.0, 0.0, 0.0)


def test_shapes_agree_with_closed_forms():
    box = shapes.box((0.1, 0.4, 0.9), mass=36.0)  # the tumbling brick of Kajita et al., 6.1.2
    assert box.inertia[:3] == pytest.approx((2.91, 2.46, 0.51), rel=1e-14)
    ball = shapes.sphere(2.0, mass=5.0)
    assert ball.inertia[:3] == pytest.approx([8.0] * 3, rel=1e-15)
    rod = shapes.cylinder(1e-9, 6.0, mass=1.0)
    assert rod.inertia[:2] == pytest.approx((3.0, 3.0), rel=1e-14)


def test_a_short_capsule_is_a_sphere():
    capsule = shapes.capsule(0.3, 1e-12, density=1000.0)
    sphere = shapes.sphere(0.3, density=1000.0)
    assert capsule.mass == pytest.approx(sphere.mass, rel=1e-11)
    assert capsule.inertia == pytest.approx(sphere.inertia, rel=1e-11)


def test_the_top_has_the_mass_and_inertia_of_its_formula():
    r, a, c = 0.2, 0.05, 0.2
    top = shapes.top(r, a, c)
    mass = math.pi * r**2 * a * 2.7e3
    assert top.mass == pytest.approx(mass, rel=1e-15)
    assert top.origin.pos == (0.0, 0.0, c)
    expected = mass * np.array([(a**2 + 3 * r**2) / 12, (a**2 + 3 * r**2) / 12, r**2 / 2])
    assert top.inertia[:3] == pytest.approx(expected, rel=1e-14)
    assert shapes.top(r, a, c, mass=2.0).mass == 2.0
    lying = shapes.top(r, a, c, at=pose((1, 0, 0), (0, math.pi / 2, 0)))
    assert lying.origin.pos == pytest.approx((1 + c, 0, 0), abs=1e-15)


def about_origin(inertial):
    w, x, y, z = inertial.origin.quat
    R = Rotation.from_quat([x, y, z, w]).as_matrix()
    xx, yy, zz, xy, xz, yz = inertial.inertia
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    c = np.array(inertial.origin.pos)
    return I + inertial.mass * (c @ c * np.eye(3) - np.outer(c, c))


def test_combine_adds_masses_and_moments():
    parts = (
        shapes.box((1, 2, 3), mass=1.0, at=pose((1, 0, 0), (0.1, 0.2, 0.3))),
        shapes.sphere(0.5, mass=2.0, at=pose((0, -1, 0.5))),
        shapes.capsule(0.1, 1.0, mass=3.0, at=pose((0, 0, 2), (1.0, 0, 0))),
    )
    whole = shapes.combine(*parts)
    assert whole.mass == 6.0
    com = sum(part.mass * np.array(part.origin.pos) for part in parts) / 6.0
    assert whole.origin.pos == pytest.approx(com, abs=1e-15)
    expected = sum(about_origin(part) for part in parts)
    assert np.allclose(about_origin(whole), expected, rtol=0, atol=1e-13)


def test_two_combined_halves_make_a_box():
    halves = [shapes.box((1, 2, 1), mass=2.0, at=pose((x, 0, 0))) for x in (0.5, 1.5)]
    whole = shapes.combine(*halves)
    expected = shapes.box((2, 2, 1), mass=4.0, at=pose((1, 0, 0)))
    assert whole.origin == expected.origin
    assert whole.inertia == pytest.approx(expected.inertia, abs=1e-15)
    assert shapes.combine(halves[0]) is halves[0]
    assert shapes.combine(Inertial(0.0), Inertial(0.0)) == Inertial(0.0)


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (
            lambda: shapes.sphere(1.0),
            ("density-or-mass", ""),
        ),
        (
            lambda: shapes.box((1, 1, 1), density=1, mass=1),
            ("density-or-mass", ""),
        ),
        (
            lambda: shapes.cylinder(0.0, 1.0, mass=1),
            ("bad-argument", ""),
        ),
        (
            lambda: shapes.capsule(1.0, math.nan, mass=1),
            ("bad-argument", ""),
        ),
        (
            lambda: shapes.sphere(1.0, density=-1),
            ("bad-argument", ""),
        ),
        (
            lambda: shapes.sphere(1.0, mass="heavy"),
            ("bad-argument", ""),
        ),
        (
            lambda: shapes.box((1, 1), mass=1),
            ("bad-argument", ""),
        ),
        (
            lambda: shapes.box((1, 0, 1), mass=1),
            ("bad-argument", ""),
        ),
        (
            lambda: shapes.top(1, 1, 1, at=(0, 0, 0)),
            ("bad-argument", ""),
        ),
        (shapes.combine, ("bad-argument", "")),
        (
            lambda: shapes.sphere(1e-120, density=1e-10),
            ("bad-argument", ""),
        ),
    ],
)
def test_bad_arguments_are_refused(make, refusal):
    with refused(ParameterError, *refusal):
        make()
