# SPDX-License-Identifier: Apache-2.0
"""A saved Model is loaded exactly, and a file from any source can be loaded safely."""

import io
import itertools
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from support import robots, states, trees
from support.refusals import refused, worded
from support.systems import everything, register, swing, twist

import rbdyn_ros as rb
from rbdyn_ros.description.parts.geometries import Exclusion, GroupState
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.loading import storage
from rbdyn_ros.loading.keyframes import with_keys
from rbdyn_ros.loading.storage import load_model, save
from rbdyn_ros.model.audits import audit_arrays, audit_geoms
from rbdyn_ros.model.declared import callbacks
from rbdyn_ros.model.declared.callbacks import MOTIONS
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import (
    DERIVED,
    MODEL_FIELDS,
    NAMES,
    PRIMARY,
    SIZES,
    UNLIMITED,
)
from rbdyn_ros.model.geometry.geoms import GeomType

# `everything` starts inside its obstacles
pytestmark = pytest.mark.filterwarnings("ignore:.*are pressed:RuntimeWarning")

STORED = [field for field in MODEL_FIELDS if not field.derived]
INTS = [field.name for field in STORED if field.kind == "int"]
FLOATS = [field.name for field in STORED if field.kind == "float"]


@pytest.fixture(scope="module")
def m():
    register()
    ball = np.random.default_rng(1).normal(size=(60, 3))
    ball *= 0.1 / np.linalg.norm(ball, axis=1)[:, None]
    system = everything()
    pebble = rb.Geometry("pebble", "marble", rb.Points(tuple(map(tuple, ball))))
    excluded = (Exclusion("pebble", "sole"),)
    hills = rb.Obstacle("hills", rb.HeightField([[0.0, 0.1, 0.0], [0.0, 0.0, 0.1]], (1.0, 1.0)))
    corners = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    faces = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
    rock = rb.Obstacle("rock", rb.TriangleMesh(corners, faces))
    far = (replace(x, origin=rb.pose((0.0, 0.0, -50.0))) for x in (hills, rock))
    more = {
        "geometries": (*system.geometries, pebble),
        "obstacles": (*system.obstacles, *far),
    }
    robots = (system.base,)
    built = rb.build(replace(system, exclusions=excluded, robots=robots, **more))
    single = (built.jnt_dofnum == 1) & (built.jnt_class == JointClass.FREE)
    joint = built.jnt_names[int(np.flatnonzero(single)[0])]
    built = with_keys(built, [GroupState("ready", {joint: 0.1})])
    built.opt.timestep = 1 / 3000
    return rb.with_actuators(built, [rb.ActuatorSpec(joint, gear=2.0, delay=0.001)])


@pytest.fixture
def saved(m, tmp_path):
    path = tmp_path / "model.npz"
    save(m, path)
    return path


def unpacked(path):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file}
    return json.loads(arrays.pop("header").tobytes()), arrays


def pack(path, header, arrays):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    np.savez(path, header=np.frombuffer(text, np.uint8), **arrays)


def refusal(path):
    """Load a file that must be refused; return the code of each finding."""
    with pytest.raises(rb.RbdynError) as caught:
        load_model(path)
    return [finding.code for finding in caught.value.findings]


def found(path):
    """Load a file that must be refused; return code and element of each finding."""
    with pytest.raises(rb.RbdynError) as caught:
        load_model(path)
    for finding in caught.value.findings:
        worded(finding.code, finding.message)
    return [(finding.code, finding.element) for finding in caught.value.findings]


# saving and loading


def assert_equal(a, b):
    assert a.sha256() == b.sha256()
    for field in MODEL_FIELDS:
        assert getattr(a, field.name).tobytes() == getattr(b, field.name).tobytes()
    assert (a.name, a.names, a.findings) == (b.name, b.names, b.findings)
    assert repr(a.opt) == repr(b.opt)


def test_the_example_model_uses_every_feature(m):
    others = {"ncone", "nflight", "nflighttree", "nflying", "nfree", "nblock"}
    for size in set(SIZES) - others:
        assert getattr(m, size) > 0, size
    assert m.findings
    assert m.jnt_reversed.any()
    assert not m.jnt_actuated.all()
    assert m.dof_transmission.any()
    assert m.jnt_mimic[m.jnt_id("echo")] == m.jnt_id("sway")  # sway has a prescribed motion
    # slide mimics finger, which mimics door
    assert m.jnt_mimic[m.jnt_id("slide")] == m.jnt_id("door")
    assert set(m.length_closed.tolist()) == {0, 1}
    assert rb.JointType.WELD in m.loop_type
    d = rb.make_data(m)
    rb.forward(m, d)
    assert d.efc_rank == m.nefc


def test_a_saved_model_is_loaded_exactly(m, tmp_path):
    kept = m.replaced()
    kept.opt.gravity, kept.opt.passive = (0.1, 0.2, -1 / 3), False
    save(kept, tmp_path / "model.npz")
    assert_equal(load_model(tmp_path / "model.npz"), kept)
    assert_equal(rb.load(tmp_path / "model.npz"), kept)


def test_a_loaded_model_moves_identically(m, saved):
    twin = load_model(saved)
    d, e = rb.make_data(m), rb.make_data(twin)
    for model, data in ((m, d), (twin, e)):
        states.randomise(model, data, 1, speed=0.1)
        data.qfrc_applied = 0.0
        data.xfrc_applied = 0.0
        rb.step(model, data, 20)
    assert np.isfinite(d.qpos).all()
    assert d.buffer.tobytes() == e.buffer.tobytes()


def test_a_model_saved_twice_gives_the_same_bytes(m, tmp_path):
    for name in ("a.npz", "b.npz"):
        save(m, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@robots.needs_robots
@pytest.mark.parametrize("name", ["talos_reduced.urdf", "ur5_robot.urdf", "romeo.urdf"])
def test_real_robots_are_saved_and_loaded(name, tmp_path):
    m = robots.load(robots.find(name), floating_base=True)
    save(m, tmp_path / "robot.npz")
    assert_equal(load_model(tmp_path / "robot.npz"), m)


def test_models_without_joints_or_without_a_mass_matrix_can_be_saved(tmp_path):
    stone = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
    stone.opt.integrator = "rk4"
    chain = trees.build(trees.auto_tree(2100, kinds=trees.HINGES))
    assert chain.nM == 0
    for m in (stone, chain):
        save(m, tmp_path / "model.npz")
        assert_equal(load_model(tmp_path / "model.npz"), m)


# functions of the user


def test_a_changed_joint_type_is_refused(saved):
    def stiff(_q, _qd, _p, _E, _r, S, _S_dot):
        S[2, 0] = 1.0  # S does not fit the pose now

    try:
        rb.register_joint("storage_twist", parameters=("lead",))(stiff)
        with refused(rb.ModelError, "user-function", "joint 'screw'"):
            load_model(saved)
    finally:
        register()


def test_an_unregistered_joint_type_is_refused(saved, monkeypatch):
    monkeypatch.delitem(callbacks.JOINTS, "storage_twist")
    with refused(rb.ModelError, "unknown-joint-type", "storage_twist"):
        load_model(saved)


def test_an_unregistered_motion_is_refused(saved, monkeypatch):
    monkeypatch.delitem(callbacks.MOTIONS, "storage_swing")
    with refused(rb.ModelError, "unknown-motion", "storage_swing"):
        load_model(saved)


def test_registered_functions_of_another_size_are_refused(saved):
    try:
        # as in a process that has not registered them
        del MOTIONS["storage_swing"], JOINT_SPECS["storage_twist"]
        rb.register_motion("storage_swing", nv=2)(swing)
        assert found(saved) == [("bad-array", "jnt_motion_name")]
        rb.register_joint("storage_twist", nv=2)(twist)
        assert ("bad-array", "dof_armature") in found(saved)
    finally:
        MOTIONS.pop("storage_swing", None), JOINT_SPECS.pop("storage_twist", None)
        register()


# indices of a hostile file


def test_every_stored_index_has_a_range():
    listed = (audit_arrays.FLAGS, audit_arrays.INDICES, audit_arrays.SHARES)
    checked = [*itertools.chain(*listed), *audit_arrays.TYPES, "jnt_mimic", "jnt_class"]
    checked += ["geom_type", "geom_frameid", "geom_robotid", "actuator_delay"]
    checked += [*audit_geoms.MASKS, *audit_geoms.FIELD_COUNTS]
    checked += ["trimesh_vertnum", "trimesh_facenum", "trimesh_face"]
    assert sorted(checked) == sorted(INTS)


def test_a_file_holds_no_derived_field(saved):
    _, arrays = unpacked(saved)
    assert sorted(arrays) == sorted(PRIMARY)


@pytest.mark.parametrize("name", DERIVED)
def test_derived_fields_in_a_file_are_refused(m, saved, name):
    header, arrays = unpacked(saved)
    pack(saved, header, arrays | {name: getattr(m, name)})
    assert refusal(saved) == ["unknown-field"]


@pytest.mark.parametrize("name", [name for name in INTS if name not in audit_geoms.MASKS])
def test_an_index_out_of_range_is_refused(saved, name):
    """An index at the start, in the middle or at the end is too low or too high."""
    header, arrays = unpacked(saved)
    good = arrays[name].copy()
    places = {0, good.size // 2, good.size - 1}
    for place in places:
        for value in (-2, -(2**63), good.max() + 1000, 2**40, 2**63 - 1):
            arrays[name] = good.copy()
            arrays[name].flat[place] = value
            pack(saved, header, arrays)
            assert "bad-array" in refusal(saved), (place, value)


@pytest.mark.parametrize("parts", [3, pytest.param(12, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", INTS)
def test_a_changed_index_is_refused_or_can_be_simulated(saved, name, parts):
    """If the changed file is not refused, its Model can be simulated."""
    header, arrays = unpacked(saved)
    good = arrays[name].copy()
    for place in range(0, good.size, 1 + good.size // parts):
        now = int(good.flat[place])
        for value in {now - 1, now + 1, 0, int(good.max())} - {now}:
            arrays[name] = good.copy()
            arrays[name].flat[place] = value
            pack(saved, header, arrays)
            try:
                other = load_model(saved)
            except rb.DescriptionError:
                continue
            run(other)


def run(m):
    d = rb.make_data(m)
    rb.forward(m, d)
    rb.inverse(m, d)
    rb.energy(m, d)
    rb.joint_forces(m, d)
    rb.step(m, d, 2)
    assert m.nloop == m.graph.N_L


@pytest.mark.parametrize("kind", list(rb.JointType))
def test_a_joint_of_another_type_is_refused_or_can_be_stepped(m, saved, kind):
    header, arrays = unpacked(saved)
    good = arrays["jnt_type"].copy()
    for j in range(m.njnt):
        arrays["jnt_type"] = good.copy()
        arrays["jnt_type"][j] = kind
        pack(saved, header, arrays)
        try:
            run(load_model(saved))
        except rb.DescriptionError:
            assert kind != good[j]


@pytest.mark.parametrize("j", ["cross", "sway", "joint4"])
def test_a_limit_on_a_joint_that_cannot_have_a_limit_is_refused(m, saved, j):
    header, arrays = unpacked(saved)
    arrays["jnt_limited"][m.jnt_id(j)] = 1
    arrays["jnt_range"][m.jnt_id(j)] = (-1.0, 1.0)
    pack(saved, header, arrays)
    assert ("bad-array", "jnt_limited") in found(saved)


def test_a_spring_on_a_driven_joint_is_refused(m, saved):
    header, arrays = unpacked(saved)
    arrays["jnt_stiffness"][m.jnt_id("sway")] = 1.0
    pack(saved, header, arrays)
    assert ("bad-array", "jnt_stiffness") in found(saved)


def test_a_limit_of_a_ball_joint_is_refused(m, saved):
    header, arrays = unpacked(saved)
    ball = m.jnt_type.tolist().index(rb.JointType.BALL)
    arrays["limit_dofid"][0] = m.jnt_dofadr[ball]
    pack(saved, header, arrays)
    assert ("bad-array", "limit_dofid") in found(saved)


@pytest.mark.parametrize(
    ("follower", "followed"),
    [("slide", "finger"), ("finger", "finger"), ("door", "cross"), ("cross", "door")],
)
def test_couplings_in_a_chain_or_of_several_coordinates_are_refused(m, saved, follower, followed):
    header, arrays = unpacked(saved)
    arrays["jnt_mimic"][m.jnt_id(follower)] = m.jnt_id(followed)
    pack(saved, header, arrays)
    assert found(saved) == [("bad-array", "jnt_mimic")]


def test_an_additional_mimic_joint_is_refused(m, saved):
    header, arrays = unpacked(saved)
    arrays["jnt_mimic"][m.jnt_id("worm")] = m.jnt_id("door")
    pack(saved, header, arrays)
    assert ("bad-array", "jnt_class") in found(saved)


@pytest.mark.parametrize(("joint", "coordinate"), [("air", 3), ("joint3", 0), ("cross", 2)])
def test_a_gear_needs_a_position(m, saved, joint, coordinate):
    header, arrays = unpacked(saved)
    j = m.jnt_id(joint)
    arrays["term_jntid"][0], arrays["term_coord"][0] = j, coordinate
    pack(saved, header, arrays)
    assert found(saved) == [("bad-array", "term_coord")]


@pytest.mark.parametrize("kind", list(rb.JointType))
def test_a_loop_changed_to_another_type_is_refused_or_can_be_simulated(m, saved, kind):
    """If the changed file is not refused, its Model can be simulated."""
    header, arrays = unpacked(saved)
    good = arrays["loop_type"].copy()
    for i in range(m.nloop):
        arrays["loop_type"] = good.copy()
        arrays["loop_type"][i] = kind
        pack(saved, header, arrays)
        try:
            run(load_model(saved))
        except rb.DescriptionError:
            assert kind != good[i]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("length_pointnum", [1, 4]),
        ("gear_termnum", [0]),
        ("loop_bodyid", [[2, 2], [0, 1]]),
        ("jnt_actuated", 2),
        ("roll_bodyid", 26),
        ("jnt_class", 0),
    ],
)
def test_invalid_constraints_are_refused(saved, name, value):
    header, arrays = unpacked(saved)
    arrays[name][...] = value
    pack(saved, header, arrays)
    assert ("bad-array", name) in found(saved)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("geom_bodyid", 0),
        ("geom_type", 0),
        ("geom_type", 4),
        ("geom_frameid", -2),
        ("geom_frameid", 1 << 20),
        ("geom_robotid", -2),
        ("geom_vertnum", 0),
        ("geom_size", -1.0),
        ("geom_size", 0.0),
        ("geom_size", 1.1e6),
        ("geom_size", 1e300),
        ("geom_solref", 0.0),
        ("geom_solref", [0.01, -1.0]),
        ("geom_mass0", -1.0),
        ("geom_stiffness", -1.0),
        ("geom_rbound", -1.0),
        ("geom_friction", -1.0),
        ("geom_friction", np.inf),
        ("geom_velocity", np.nan),
        ("geom_mat", 1.0),
        ("geom_mat", np.diag([1.0, 1.0, -1.0]).ravel()),
        ("geom_bodyid", 1),
        ("geom_vertnum", 1),
        ("exclude_geom", 1),
        ("geom_contype", -1),
        ("field_nrow", 1),
        ("field_ncol", 1 << 21),
        ("geom_conaffinity", 1 << 31),
    ],
)
def test_invalid_geometries_are_refused(saved, name, value):
    header, arrays = unpacked(saved)
    arrays[name][...] = value
    pack(saved, header, arrays)
    assert ("bad-array", name) in found(saved)


@pytest.mark.parametrize(
    ("kind", "number"), [("SPHERE", 1), ("CAPSULE", 2), ("CYLINDER", 24), ("BOX", 8)]
)
def test_geometries_have_the_corners_of_their_type(m, saved, kind, number):
    """A kernel reads two corners of a capsule without a check of their number."""
    header, arrays = unpacked(saved)
    arrays["geom_type"][: m.ngeomlink] = GeomType.MESH  # a mesh may have any number of corners
    for g in range(m.ngeomlink):
        arrays["geom_type"][g] = GeomType[kind]
        pack(saved, header, arrays)
        if m.geom_vertnum[g] == number:
            load_model(saved)
        else:
            assert ("bad-array", "geom_vertnum") in found(saved)
        arrays["geom_type"][g] = GeomType.MESH


def test_a_capsule_of_one_corner_is_refused(saved):
    """A mesh has one corner more instead, so the total number is right."""
    header, arrays = unpacked(saved)
    kinds = arrays["geom_type"].tolist()
    capsule, mesh = kinds.index(GeomType.CAPSULE), kinds.index(GeomType.MESH)
    arrays["geom_vertnum"][[capsule, mesh]] += (-1, 1)
    pack(saved, header, arrays)
    assert found(saved) == [("bad-array", "geom_vertnum")]


@pytest.mark.parametrize("name", ["geom_damping", "geom_viscosity"])
def test_negative_damping_and_viscosity_of_geometries_are_kept(saved, name):
    header, arrays = unpacked(saved)
    arrays[name][:] = -1.0
    pack(saved, header, arrays)
    assert (getattr(load_model(saved), name) == -1.0).all()


def test_a_driven_joint_without_a_motion_is_refused(m, saved):
    header, arrays = unpacked(saved)
    names = header["names"]["jnt_motion_name"]
    names[names.index("storage_swing")] = ""
    pack(saved, header, arrays)
    assert found(saved) == [("bad-array", "drive_knotnum")]


def test_a_prescribed_motion_of_a_free_joint_is_refused(m, saved):
    header, arrays = unpacked(saved)
    header["names"]["jnt_motion_name"][m.jnt_id("door")] = "storage_swing"
    pack(saved, header, arrays)
    assert found(saved) == [("bad-array", "jnt_motion_name")]


@pytest.mark.parametrize(
    ("names", "element"),
    [
        (("qpos0", "qpos_spring"), "qpos0"),
        (("drive_knotnum", "drive_period", "dof_transmission"), "drive_knotnum"),
        (("knot_time", "knot_coef"), "drive_knotnum"),
        (("point_bodyid", "point_pos"), "length_pointnum"),
        (("term_jntid", "term_coord", "term_factor"), "gear_termnum"),
    ],
)
@pytest.mark.parametrize("change", [lambda a: a[:-1], lambda a: np.concatenate([a, a[-1:]])])
def test_arrays_that_all_have_the_same_wrong_length_are_refused(saved, names, element, change):
    header, arrays = unpacked(saved)
    for name in names:
        arrays[name] = change(arrays[name])
    if "qpos0" in names:
        arrays["key_qpos"] = change(arrays["key_qpos"].T).T
    pack(saved, header, arrays)
    assert ("bad-array", element) in found(saved)


# shapes and numbers of fields


@pytest.mark.parametrize("field", STORED, ids=lambda field: field.name)
def test_arrays_of_another_shape_are_refused(saved, field):
    header, arrays = unpacked(saved)
    good = arrays[field.name]
    for bad in (good[:-1], good[None], good.ravel()[:0], np.concatenate([good, good])):
        pairs = field.name in ("exclude_geom", "push_geom")
        any_number = pairs and bad.shape[1:] == (2,)
        if bad.shape == good.shape or any_number:
            continue
        arrays[field.name] = bad
        pack(saved, header, arrays)
        assert set(refusal(saved)) <= {"bad-shape", "bad-array"}


@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_infinity_are_refused(saved, name):
    header, arrays = unpacked(saved)
    good = arrays[name].copy()
    arrays[name].flat[0] = np.nan
    pack(saved, header, arrays)
    assert ("bad-array", name) in found(saved)
    arrays[name] = good
    place = -1 if name == "geom_friction" else 0  # the last entry belongs to an obstacle
    arrays[name].flat[place] = -np.inf if name.endswith("_range") else np.inf
    pack(saved, header, arrays)
    if name in UNLIMITED:
        load_model(saved)
    else:
        assert ("bad-array", name) in found(saved)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, ">i8", np.uint64, complex, "U8"])
def test_arrays_of_another_element_type_are_refused(saved, dtype):
    header, arrays = unpacked(saved)
    arrays["body_parentid"] = arrays["body_parentid"].astype(dtype)
    pack(saved, header, arrays)
    assert refusal(saved) == ["damaged-file"]


def test_an_array_of_pickled_objects_is_refused(saved):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("it was unpickled",)

    header, arrays = unpacked(saved)
    arrays["body_mass"] = np.array([Bomb()], object)
    pack(saved, header, arrays)
    assert refusal(saved) == ["damaged-file"]


def test_the_error_names_missing_and_unknown_fields(saved):
    header, arrays = unpacked(saved)
    arrays["body_mas"] = arrays.pop("body_mass")
    pack(saved, header, arrays)
    with refused(rb.DescriptionError, ["missing-field", "unknown-field"], "") as caught:
        load_model(saved)
    assert "(did you mean 'body_mass'?)" in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_field_that_is_stored_twice_is_refused(saved):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("body_mass.npy", archive.read("body_mass.npy"))
    assert found(saved) == [("duplicate-field", "")]


# the header


def test_a_file_of_another_version_is_refused(saved):
    header, arrays = unpacked(saved)
    header["version"] = 99
    pack(saved, header, arrays)
    with refused(rb.DescriptionError, "other-version", found="99", allowed="12"):
        load_model(saved)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rb.load_urdf("config/robots/seven_dof_arm.urdf", contact=True),
        lambda: rb.with_actuators(
            rb.load_urdf("config/robots/seven_dof_arm.urdf"), "config/actuators.yaml"
        ),
        lambda: rb.scene("config/scenes/gripper.urdf"),
    ],
    ids=["an arm", "actuators", "robots of a scene"],
)
def test_loading_a_saved_model_gives_the_same_model(make, tmp_path):
    made = make()
    save(made, tmp_path / "model.npz")
    assert_equal(load_model(tmp_path / "model.npz"), made)


@pytest.mark.parametrize(
    "header",
    [b"", b"[]", b"{}", b'{"format": "x"}', b"\xff", b"[" * 100_000, b"9" * 10_000, b"null"],
    ids=lambda text: text[:12].decode("latin-1"),
)
def test_the_header_of_another_format_is_refused(saved, header):
    _, arrays = unpacked(saved)
    pack(saved, header, arrays)
    assert refusal(saved)[0] in ("not-a-model-file", "damaged-file")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", None),
        ("name", "\ud800"),
        ("names", None),
        ("names", {}),
        ("names", dict.fromkeys(NAMES, 3)),
        ("names", {key: [["x"]] for key in NAMES}),
        ("names", {key: [] for key in NAMES}),
        ("options", None),
        ("options", {"timestep": -1.0}),
        ("options", {"timestep": 10**400}),
        ("options", {"gravity": [10**400] * 3}),
        ("options", {"gravity": [float("nan")] * 3}),
        ("options", {"integrator": []}),
        ("options", {"colour": "red"}),
        ("findings", None),
        ("findings", [3]),
        ("findings", [{"code": 1, "message": "x"}]),
        ("findings", [{"code": "x", "message": "x", "severity": "loud"}]),
        ("findings", [{"code": "x", "message": "x", "severity": []}]),
        ("findings", [{"code": "x", "message": "x", "line": "3"}]),
    ],
)
def test_a_wrong_header_is_refused(saved, key, value):
    header, arrays = unpacked(saved)
    header[key] = value
    pack(saved, header, arrays)
    assert set(refusal(saved)) <= {"bad-header", "bad-shape"}


def test_missing_keys_of_the_header_are_refused(saved):
    header, arrays = unpacked(saved)
    for key in ("name", "names", "options", "findings"):
        pack(saved, {k: v for k, v in header.items() if k != key}, arrays)
        assert refusal(saved) == ["bad-header"]


# the archive


def test_damaged_files_are_refused(saved):
    """A file with a changed byte is refused, or has the same Model if only a date changed."""
    good, m = saved.read_bytes(), load_model(saved)
    rng = np.random.default_rng(1)
    for length in (0, 1, 10, len(good) // 2, len(good) - 1):
        saved.write_bytes(good[:length])
        assert refusal(saved) == ["damaged-file"]
    for place in rng.integers(0, len(good), 300):
        bad = bytearray(good)
        bad[place] ^= int(rng.integers(1, 256))
        saved.write_bytes(bad)
        try:
            assert load_model(saved).sha256() == m.sha256()
        except rb.DescriptionError:
            continue


def test_a_shape_larger_than_the_content_is_refused(saved):
    header, arrays = unpacked(saved)
    arrays.pop("body_mass")
    pack(saved, header, arrays)
    with zipfile.ZipFile(saved, "a") as archive:
        text = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)}
        np.lib.format.write_array_header_1_0(text, shape)
        archive.writestr("body_mass.npy", text.getvalue())
    assert found(saved) == [("damaged-file", "")]


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_HEADER"])
def test_a_file_that_unpacks_to_too_many_bytes_is_refused(saved, monkeypatch, limit):
    monkeypatch.setattr(storage, limit, 1 << 10)
    assert refusal(saved) == ["too-large"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(saved, method):
    other = saved.with_name("other.npz")
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(other, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert found(other) == [("damaged-file", "")]


def test_files_of_other_programs_are_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    assert found(path) == [("not-a-model-file", "")]
    path.write_text("<robot/>")
    assert found(path) == [("damaged-file", "")]
    assert found(tmp_path) == [("no-such-file", "")]
    missing = tmp_path / "missing.npz"
    assert found(missing) == [("no-such-file", "")]
    assert refusal(tmp_path / "nul\0.npz") == ["no-such-file"]
    with refused(rb.ParameterError, "not-a-path"):
        load_model(3)


# writing


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("model.urdf", ("unknown-suffix", "path")),
        ("model", ("unknown-suffix", "path")),
        (None, ("not-a-path", "path")),
        (
            "/no/such/folder/m.npz",
            ("unwritable-file", "path"),
        ),
    ],
)
def test_paths_to_which_a_model_cannot_be_saved_are_refused(m, path, refusal):
    with refused(rb.ParameterError, *refusal):
        save(m, path)


def test_only_a_model_is_saved(tmp_path):
    with refused(rb.ModelError, "not-a-model"):
        save(3, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(m, saved, monkeypatch):
    before = saved.read_bytes()

    def full(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with refused(rb.ParameterError, "unwritable-file", "path"):
        save(m, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]


def test_an_old_file_is_replaced(saved):
    other = trees.build(trees.auto_tree(3))
    save(other, saved)
    assert_equal(load_model(saved), other)
