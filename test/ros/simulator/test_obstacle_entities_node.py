# SPDX-License-Identifier: Apache-2.0
"""Obstacles of a scene are entities of a running simulator."""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")

from geometry_msgs.msg import Vector3
from simulation_interfaces import srv
from simulation_interfaces.msg import EntityCategory, EntityState
from standard_services import done, refused

pytestmark = pytest.mark.skipif(
    not hasattr(srv, "SetEntityInfo"), reason="simulation_interfaces is older than rbdyn_ros"
)

SCENE = "config/scenes/gripper.yaml"
OK, NOT_FOUND, FAILED, INVALID_POSE = 1, 2, 4, 101


@pytest.fixture
def place(ask):
    def call(name, xyz, spin=0.0):
        state = EntityState()
        at = state.pose.position
        at.x, at.y, at.z = map(float, xyz)
        state.twist.angular.z = spin
        flags = {"set_pose": True, "set_twist": True}
        known = srv.SetEntityState.Request.get_fields_and_field_types()
        given = {key: value for key, value in flags.items() if key in known}
        return ask("SetEntityState", entity=name, state=state, **given)

    return call


def position(ask, name):
    at = done(ask("GetEntityState", entity=name)).state.pose.position
    return at.x, at.y, at.z


def found(ask, kind, *points):
    filters = srv.GetEntities.Request().filters
    filters.bounds.type = kind
    filters.bounds.points = [Vector3(x=float(x), y=float(y), z=float(z)) for x, y, z in points]
    return done(ask("GetEntities", filters=filters)).entities


def test_an_obstacle_of_the_scene_can_be_found_moved_and_deleted(simulate, peer, ask, place):
    simulate("--scene", SCENE, "--paused", "--ros-args", "-p", "on_timeout:=hold")
    before = peer.trigger("simulator/state_hash")
    info = done(ask("GetEntityInfo", entity="table")).info
    assert info.category.category == EntityCategory.CATEGORY_STATIC_OBJECT
    x, y, z = position(ask, "table")
    high, low = done(ask("GetEntityBounds", entity="table")).bounds.points
    assert (z + high.z, high.z, low.z) == pytest.approx((0.3, z, -z))
    refused(ask("GetEntityBounds", entity="floor"), FAILED, "has no bounds")

    # a region below z = 0 contains only the floor
    box, ball = 1, 3
    assert found(ask, ball, (x, y, z), (0.01, 0, 0)) == ["table"]
    assert found(ask, ball, (50, 0, -1), (0.5, 0, 0)) == ["floor"]
    assert found(ask, ball, (50, 0, 1), (0.5, 0, 0)) == []
    assert found(ask, box, (50, 0, -1), (51, 1, -2)) == ["floor"]
    assert found(ask, box, (50, 0, 1), (51, 1, 2)) == []

    refused(place("table", (x, y, z), spin=1.0), FAILED, "its twist must be zero")
    refused(place("table", (x, y, z + 0.02)), INVALID_POSE, "inside 'cube'")
    refused(place("table", (x, y, math.nan)), INVALID_POSE, "nan")
    assert position(ask, "table") == (x, y, z)
    assert peer.trigger("simulator/state_hash") == before

    # the cube falls as far as the table is lowered, then to the floor
    top = position(ask, "cube")[2]
    done(place("table", (x, y, z - 0.1)))
    assert position(ask, "table") == pytest.approx((x, y, z - 0.1))
    peer.pause(False)
    peer.until(lambda: abs(position(ask, "cube")[2] - top + 0.1) < 1e-3)
    done(ask("DeleteEntity", entity="table"))
    refused(ask("GetEntityState", entity="table"), NOT_FOUND, "'table'")
    peer.until(lambda: position(ask, "cube")[2] < 0.1)
    peer.pause(True)

    done(ask("ResetSimulation"))
    assert done(ask("GetEntities")).entities == ["gripper", "cube", "ball", "floor", "table"]
    assert position(ask, "table") == (x, y, z)
    assert peer.trigger("simulator/state_hash") == before


def test_deleting_an_entity_deletes_the_info_that_was_set_for_it(simulate, peer, ask):
    simulate("--scene", SCENE, "--paused")
    request = srv.SetEntityInfo.Request(entity="cube")
    request.info.category.category = EntityCategory.CATEGORY_OBJECT
    request.info.tags = ["red"]
    for name in ("cube", "gripper"):
        done(ask("SetEntityInfo", entity=name, info=request.info))
    filters = srv.GetEntities.Request().filters
    filters.tags.tags = ["red"]
    assert done(ask("GetEntities", filters=filters)).entities == ["gripper", "cube"]
    done(ask("DeleteEntity", entity="cube"))
    done(ask("ResetSimulation"))
    assert "cube" in done(ask("GetEntities")).entities
    assert done(ask("GetEntities", filters=filters)).entities == []
