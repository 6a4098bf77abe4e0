# SPDX-License-Identifier: Apache-2.0
"""Functions return changed copies of a world; the tests need no loop and no node."""

from dataclasses import fields, replace

import numpy as np
import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.scene_files.scene import parts_of
from rbdyn_ros.loading.load import complete
from rbdyn_ros.ros.common.graph.source import Source
from rbdyn_ros.ros.simulator.services.world_files import read_world
from rbdyn_ros.ros.simulator.world import changes
from rbdyn_ros.ros.simulator.world.places import Places
from rbdyn_ros.ros.simulator.world.world import TEXT, EntityInfo, WorldFile

BALL = rb.Object("ball", rb.Sphere(0.05), mass=0.1, pose=rb.pose((0.5, 0.0, 1.0)))
LOW = rb.Object("low", rb.Sphere(0.05), mass=0.1, pose=rb.pose((0.5, 0.0, 0.02)))
CRATE = rb.Obstacle("crate", rb.Box((0.1, 0.1, 0.1)), rb.pose((0.9, 0.0, 0.5)))
FILE = WorldFile("shelf", "", "rbdyn_scene: 1\nobstacles:\n  shelf: {sphere: {radius: 0.1}}\n")


@pytest.fixture(scope="module")
def begin():
    arm = robot_files.read("config/robots/seven_dof_arm.urdf", contact=True)
    m = complete(arm)
    return changes.begun(Source(arm, ""), False, m, np.array(m.qpos0), True)


@pytest.fixture(scope="module")
def world(begin):
    """Return the arm's world with a ball and a crate."""
    with_ball = changes.spawned(begin, BALL, None, begin.m.qpos0)
    return changes.spawned(with_ball, CRATE, None, with_ball.m.qpos0)


def places(world):
    return Places(world.m, world.m.qpos0, 0.0)


def loaded(world):
    audit = Audit()
    return changes.loaded(world.as_loaded, world, FILE, parts_of(FILE.text, TEXT, audit))[0]


CHANGES = {
    "spawned": lambda w: changes.spawned(w, LOW, None, w.m.qpos0),
    "without": lambda w: changes.without(w, "ball", "crate"),
    "moved": lambda w: changes.with_obstacle_moved(w, "crate", rb.pose((2, 0, 2)), w.m.qpos0),
    "belt": lambda w: changes.with_belt(w, "crate", (0.1, 0.0, 0.0)),
    "attached": lambda w: changes.attached(w, "ball", "tool_flange", places(w)),
    "info": lambda w: changes.with_info(w, "ball", EntityInfo(0, "red", ())),
    "alone": lambda w: changes.robots_alone(w.as_loaded, w),
    "loaded": loaded,
}


def parts(world):
    """Return the values of a world's fields, with copies of dictionaries."""
    values = (getattr(world, field.name) for field in fields(world))
    return [dict(value) if isinstance(value, dict) else value for value in values]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_does_not_modify_the_current_world(world, change):
    before, bits = parts(world), world.m.sha256()
    after = CHANGES[change](world)
    assert after is not world
    assert all(a is b or a == b for a, b in zip(parts(world), before, strict=True))
    assert world.m.sha256() == bits
    assert (after.m is world.m) == (change == "info")


@pytest.mark.parametrize("change", sorted({*CHANGES} - {"alone", "loaded"}))
def test_a_reset_of_the_world_undoes_every_change(begin, world, change):
    assert world.as_loaded is begin
    assert CHANGES[change](world).as_loaded is begin


def test_a_reset_of_a_loaded_world_returns_to_that_world(world):
    other = loaded(world)
    assert other.as_loaded is other
    assert {one.name for one in other.loose.obstacles} == {"shelf", "floor"}
    assert (other.spawned, other.attached) == ({}, ())


def test_a_new_object_is_raised_out_of_the_floor_also_after_a_reset(begin):
    low = changes.spawned(begin, LOW, None, begin.m.qpos0)
    at = low.m.jnt_qposadr[low.m.jnt_id("low")] + 2
    assert low.m.qpos0[at] == low.start[at] == pytest.approx(0.05, abs=1e-8)


def test_detaching_one_pair_keeps_the_other_attachments(world):
    one = changes.attached(world, "ball", "tool_flange", places(world))
    two = changes.attached(one, "ball", "world", places(one))
    assert [weld.to for weld in changes.detached(two, "tool_flange", "ball").attached] == [
        two.attached[1].to
    ]
    assert changes.released(two).attached == ()
    assert changes.released(world) is world


CUP = "rbdyn_scene: 1\nobjects:\n  cup: {mesh: {file: package://cups/cup.obj}, mass: 1}\n"


def test_a_loaded_world_finds_meshes_in_the_packages_of_the_start(begin, tmp_path):
    (tmp_path / "cups").mkdir()
    (tmp_path / "cups/cup.obj").write_text(
        "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    )
    (tmp_path / "pot.urdf").write_text(
        '<robot name="pot"><link name="pot"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<mesh filename="package://cups/cup.obj"/></geometry></collision></link></robot>'
    )
    with refused(rb.DescriptionError, "package-not-found"):
        read_world("", CUP, None)
    file, parts = read_world("", CUP, None, package_dirs=[tmp_path])
    pot = rb.Object("pot", tmp_path / "pot.urdf", pose=rb.pose((0.0, 2.0, 1.0)))
    parts = replace(
        parts, objects=[*parts.objects, replace(pot, name="jar", pose=rb.pose((0.0, -2.0, 1.0)))]
    )
    with refused(rb.DescriptionError, "package-not-found"):
        changes.loaded(begin, begin, file, parts)
    start = replace(begin, package_dirs=[tmp_path])
    world, _ = changes.loaded(start, start, file, parts)
    assert {"cup", "jar"} <= {*world.loose.objects}
    assert "pot" in changes.spawned(world, pot, None, world.m.qpos0).loose.objects


def test_spawning_too_many_objects_is_refused(begin, monkeypatch):
    monkeypatch.setattr(changes, "MOST_SPAWNED", 2)
    world = begin
    for k in range(2):
        ball = replace(BALL, name=f"ball{k}", pose=rb.pose((2.0, k, 1.0)))
        world = changes.spawned(world, ball, None, world.m.qpos0)
    with refused(rb.RbdynError, "too-many-objects"):
        changes.spawned(world, CRATE, None, world.m.qpos0)
    world = changes.without(world, "ball0")
    changes.spawned(world, CRATE, None, world.m.qpos0)
