"""Former names of arrays of a Model: views of the new ones, with a warning."""

import re

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.model.former_names import OF_OBSTACLES, RENAMED


def room():
    system = rb.SystemBuilder("room", base="world")
    system.body("ball", rb.shapes.sphere(0.1, mass=1.0)).joint("j", "floating", "world", "ball")
    system.geometry("ball", "ball", rb.Sphere(0.1)).floor(friction=0.4)
    block = rb.Box((1.0, 1.0, 1.0))
    return rb.build(system.obstacle("block", block, origin=rb.pose((5, 0, 0))))


@pytest.mark.parametrize("name", OF_OBSTACLES)
def test_an_array_of_obstacles_is_the_end_of_one_of_all_geometries(name):
    m, new = room(), OF_OBSTACLES[name]
    with pytest.warns(DeprecationWarning, match=re.escape(f"m.{new}[m.ngeomlink:]")) as caught:
        found = getattr(m, name)
    assert caught[0].filename == __file__
    assert len(found) == m.nobstacle == 2
    np.testing.assert_array_equal(found, getattr(m, new)[1:])
    if name != "obstacle_names":
        assert not found.flags.writeable


@pytest.mark.parametrize("name", RENAMED)
def test_the_arrays_of_all_geometries_are_the_arrays_of_geometries(name):
    m = room()
    with pytest.warns(DeprecationWarning, match=rf"m\.{RENAMED[name]}$"):
        assert getattr(m, name) is getattr(m, RENAMED[name])


def test_replacements_of_obstacles_have_their_former_names():
    m = room()
    with pytest.warns(DeprecationWarning, match="geom_velocity") as caught:
        moving = m.replaced(obstacle_velocity=[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    assert caught[0].filename == __file__
    assert moving.geom_velocity.tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    with pytest.warns(DeprecationWarning, match="geom_friction"):
        assert m.replaced(obstacle_friction=[0.1, 0.2]).geom_friction.tolist() == [0.8, 0.1, 0.2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_replacements_that_do_not_fit_are_refused():
    m = room()
    with refused(rb.ModelError, "model-array", "obstacle_friction"):
        m.replaced(obstacle_friction=[0.1])
    with refused(rb.ModelError, "model-array", "obstacle_friction"):
        m.replaced(obstacle_friction=[0.1, 0.2], geom_friction=[0.8, 0.1, 0.2])
    with refused(rb.ModelError, "model-array", "geom_friction"):
        m.replaced(obstacle_friction=[0.1, -0.2])
    with refused(rb.ModelError, "model-array", "obstacle_type"):
        m.replaced(obstacle_type=[0, 6])


def test_only_obstacles_leave_friction_to_the_other_geometry():
    with refused(rb.ModelError, "model-array", "geom_friction"):
        room().replaced(geom_friction=[np.inf, 0.4, 0.4])
