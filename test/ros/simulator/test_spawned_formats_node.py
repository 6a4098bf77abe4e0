# SPDX-License-Identifier: Apache-2.0
"""SDF and MJCF models are spawned into a running simulator, from a file or as text."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")

from sensor_msgs.msg import JointState
from simulation_interfaces import srv
from simulation_interfaces.msg import EntityCategory
from standard_services import done, hash_of, refused

pytestmark = pytest.mark.skipif(
    not hasattr(srv, "SpawnEntity"), reason="simulation_interfaces is older than rbdyn_ros"
)

SCENE = "config/scenes/gripper.yaml"
HINGE = (
    "<joint name='bend' type='revolute'><parent>deck</parent><child>arm</child>"
    "<axis><xyz>0 0 1</xyz><limit><lower>-3</lower><upper>3</upper><effort>5</effort></limit>"
    "</axis></joint>"
)
SOLID = (
    "<collision name='{}'><pose>0 0 {} 0 0 0</pose>"
    "<geometry><box><size>0.2 0.2 0.2</size></box></geometry></collision>"
)
ARM = (
    f"<sdf version='1.11'><model name='robo'><link name='deck'>{SOLID.format('c', 0)}</link>"
    f"<link name='arm'><pose>0 0 0.5 0 0 0</pose></link>{HINGE}</model></sdf>"
)
TABLE = (
    "<sdf version='1.11'><model name='table'><static>true</static><link name='l'>"
    f"{SOLID.format('low', 0.1)}{SOLID.format('high', 0.5)}</link></model></sdf>"
)
HIGH = (
    "<sdf version='1.11'><model name='high'><pose>0 0 5 0 0 0</pose>{}<link name='l'>"
    f"<pose>0 0 1 0 0 0</pose>{SOLID.format('c', 0)}</link></model></sdf>"
)
BALL = (
    "<mujoco><worldbody><body name='b'><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
)
WORLD = "<sdf version='1.11'><world name='yard'/></sdf>"


@pytest.fixture
def spawn(ask, tmp_path):
    def call(name, text, x, suffix=""):
        """Spawn a model given as text, or as a file with this suffix."""
        request = srv.SpawnEntity.Request(name=name, allow_renaming=True)
        resource = getattr(request, "entity_resource", request)
        if suffix:
            path = tmp_path / f"file{suffix}"
            path.write_text(text)
            resource.uri = str(path)
        else:
            resource.resource_string = text
        request.initial_pose.pose.position.x = x
        request.initial_pose.pose.position.z = 0.5
        given = {key: getattr(request, key) for key in request.get_fields_and_field_types()}
        return ask("SpawnEntity", **given)

    return call


def test_models_of_sdf_and_mjcf_are_spawned(simulate, peer, ask, spawn):
    simulator = simulate("--scene", SCENE, "--paused")
    before = hash_of(peer)
    assert done(spawn("", ARM, 3.0)).entity_name == "robo"
    done(spawn("same", ARM, 5.0, ".sdf"))
    for name in ("robo", "same"):
        states = peer.hear(JointState, f"{name}/joint_states")
        assert states[-1].name == ["bend"]
    done(spawn("desk", TABLE, 7.0, ".sdf"))
    done(spawn("ball", BALL, 9.0, ".xml"))
    done(spawn("other", BALL, 11.0))
    found = done(ask("GetEntities")).entities
    assert {"robo", "same", "desk", "ball_1", "other"} <= set(found)
    info = done(ask("GetEntityInfo", entity="other")).info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    high, low = done(ask("GetEntityBounds", entity="desk")).bounds.points
    assert (high.z, low.z) == pytest.approx((0.6, 0.0))
    at = done(ask("GetEntityState", entity="desk")).state.pose.position
    assert (at.x, at.z) == (7.0, 0.5)
    refused(ask("SetEntityState", entity="desk", set_pose=True), 4, "fixed to the world")
    for x, more in ((13.0, ""), (15.0, "<static>true</static>")):
        name = done(spawn("high", HIGH.replace("{}", more), x)).entity_name
        assert done(ask("GetEntityState", entity=name)).state.pose.position.z == 0.5
        high, low = done(ask("GetEntityBounds", entity=name)).bounds.points
        assert (high.z, low.z) == pytest.approx((1.1, 0.9))
    for name in ("robo", "same", "desk", "ball_1", "other", "high", "high_1"):
        done(ask("DeleteEntity", entity=name))
    assert hash_of(peer) == before
    simulator.end_well()


def test_a_world_in_sdf_cannot_be_spawned(simulate, peer, spawn):
    simulate("--scene", SCENE, "--paused")
    codes = srv.SpawnEntity.Response
    before = hash_of(peer)
    refused(spawn("x", WORLD, 3.0), codes.RESOURCE_PARSE_ERROR, "spawn its models one by one")
    refused(
        spawn("x", WORLD, 3.0, ".sdf"), codes.RESOURCE_PARSE_ERROR, "spawn its models one by one"
    )
    refused(
        spawn("x", WORLD, 3.0, ".world"), codes.UNSUPPORTED_FORMAT, "spawn its models one by one"
    )
    secret = ARM.replace("0.2 0.2 0.2", "hunter2")
    refused(spawn("x", secret, 3.0), codes.RESOURCE_PARSE_ERROR, "hunter2")
    answer = spawn("x", secret, 3.0, ".sdf")
    refused(answer, codes.RESOURCE_PARSE_ERROR, "the simulator logged why")
    assert "hunter2" not in answer.result.error_message
    assert hash_of(peer) == before
