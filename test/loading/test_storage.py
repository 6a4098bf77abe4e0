"""A Model in a file: exact, and safe to read whoever wrote it."""

import io
import json
import zipfile

import numpy as np
import pytest
from support import robots, states, trees
from support.systems import everything, register, swing, twist

import rbdyn_ros as rb
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.loading import arrays as arrays_judge
from rbdyn_ros.loading import storage
from rbdyn_ros.loading.storage import load_model, save
from rbdyn_ros.model import callbacks
from rbdyn_ros.model.callbacks import MOTIONS
from rbdyn_ros.model.geoms import GeomType
from rbdyn_ros.model.model_fields import DERIVED, MODEL_FIELDS, NAMES, PRIMARY, SIZES

STORED = [field for field in MODEL_FIELDS if not field.derived]
INTS = [field.name for field in STORED if field.kind == "int"]
FLOATS = [field.name for field in STORED if field.kind == "float"]


@pytest.fixture(scope="module")
def m():
    register()
    return rb.build(everything())


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
    """Return the codes of the error that loading must raise."""
    with pytest.raises(rb.RbdynError) as caught:
        load_model(path)
    return [finding.code for finding in caught.value.findings]


def message(path):
    with pytest.raises(rb.RbdynError) as caught:
        load_model(path)
    return str(caught.value)


# exact


def demand_equal(a, b):
    assert a.sha256() == b.sha256()
    for field in MODEL_FIELDS:
        assert getattr(a, field.name).tobytes() == getattr(b, field.name).tobytes()
    assert (a.name, a.names, a.findings) == (b.name, b.names, b.findings)
    assert repr(a.opt) == repr(b.opt)


def test_the_example_has_a_bit_of_everything(m):
    for size in SIZES:
        assert getattr(m, size) > 0, size
    assert m.findings
    assert m.jnt_reversed.any()
    assert not m.jnt_actuated.all()
    assert m.dof_transmission.any()
    assert m.jnt_mimic[m.jnt_id("echo")] == m.jnt_id("sway")  # of a driven joint
    assert m.jnt_mimic[m.jnt_id("slide")] == m.jnt_id("door")  # by way of another
    assert set(m.length_closed.tolist()) == {0, 1}
    assert rb.JointType.WELD in m.loop_type
    d = rb.make_data(m)
    rb.forward(m, d)
    assert d.efc_rank == m.nefc


def test_what_was_saved_is_loaded(m, tmp_path):
    kept = m.replaced()
    kept.opt.timestep, kept.opt.gravity = 1 / 3000, (0.1, 0.2, -1 / 3)
    kept.opt.integrator, kept.opt.passive = "rk4", False
    save(kept, tmp_path / "model.npz")
    demand_equal(load_model(tmp_path / "model.npz"), kept)
    demand_equal(rb.load(tmp_path / "model.npz"), kept)


def test_it_moves_alike(m, saved):
    twin = load_model(saved)
    d, e = rb.make_data(m), rb.make_data(twin)
    for model, data in ((m, d), (twin, e)):
        states.randomise(model, data, 1, speed=0.1)
        data.qfrc_applied = 0.0
        data.xfrc_applied = 0.0
        rb.step(model, data, 20)
    assert np.isfinite(d.qpos).all()
    assert d.buffer.tobytes() == e.buffer.tobytes()


def test_one_model_is_one_file(m, tmp_path):
    for name in ("a.npz", "b.npz"):
        save(m, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@robots.needs_robots
@pytest.mark.parametrize("name", ["talos_reduced.urdf", "ur5_robot.urdf", "romeo.urdf"])
def test_real_robots(name, tmp_path):
    m = robots.load(robots.find(name), floating_base=True)
    save(m, tmp_path / "robot.npz")
    demand_equal(load_model(tmp_path / "robot.npz"), m)


def test_models_of_no_joint_and_of_too_many_for_a_mass_matrix(tmp_path):
    stone = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
    chain = trees.build(trees.auto_tree(2100, kinds=trees.HINGES))
    assert chain.nM == 0
    for m in (stone, chain):
        save(m, tmp_path / "model.npz")
        demand_equal(load_model(tmp_path / "model.npz"), m)


# functions of the user


def test_a_joint_type_that_is_wrong_now(saved):
    def stiff(_q, _qd, _p, _E, _r, S, _S_dot):
        S[2, 0] = 1.0  # but the pose does not change

    try:
        rb.register_joint("storage_twist", parameters=("lead",))(stiff)
        with pytest.raises(rb.ModelError, match=r"the jcalc of 'storage_twist' has S\[2, 0\] = 1"):
            load_model(saved)
    finally:
        register()


def test_a_joint_type_that_is_not_registered(saved, monkeypatch):
    monkeypatch.delitem(callbacks.JOINTS, "storage_twist")
    with pytest.raises(rb.ModelError, match="joint type 'storage_twist' is not registered"):
        load_model(saved)


def test_a_motion_that_is_not_registered(saved, monkeypatch):
    monkeypatch.delitem(callbacks.MOTIONS, "storage_swing")
    with pytest.raises(rb.ModelError, match="motion 'storage_swing' is not registered"):
        load_model(saved)


def test_functions_of_another_size(saved):
    try:
        del MOTIONS["storage_swing"], JOINT_SPECS["storage_twist"]  # as in another process
        rb.register_motion("storage_swing", nv=2)(swing)
        assert "registered for 2 coordinates, not 1" in message(saved)
        rb.register_joint("storage_twist", nv=2)(twist)
        assert "dof_armature: has 58 entries; the joints make it 59" in message(saved)
    finally:
        MOTIONS.pop("storage_swing", None), JOINT_SPECS.pop("storage_twist", None)
        register()


# indices of a hostile file


def test_every_stored_index_has_a_range():
    assert sorted(arrays_judge.FREE_FIELDS) == sorted(INTS)


def test_a_file_holds_no_derived_field(saved):
    _, arrays = unpacked(saved)
    assert sorted(arrays) == sorted(PRIMARY)


@pytest.mark.parametrize("name", DERIVED)
def test_derived_fields_in_a_file_are_refused(m, saved, name):
    header, arrays = unpacked(saved)
    pack(saved, header, arrays | {name: getattr(m, name)})
    assert refusal(saved) == ["unknown-field"]


@pytest.mark.parametrize("name", INTS)
def test_index_out_of_range(saved, name):
    """At the first, the last and one more place: too low, too high, and far beyond."""
    header, arrays = unpacked(saved)
    good = arrays[name].copy()
    places = {0, good.size // 2, good.size - 1}
    for place in places:
        for value in (-2, -(2**63), good.max() + 1000, 2**40, 2**63 - 1):
            arrays[name] = good.copy()
            arrays[name].flat[place] = value
            pack(saved, header, arrays)
            assert "bad-array" in refusal(saved), (place, value)


@pytest.mark.parametrize("name", INTS)
def test_index_changed_within_its_range(saved, name):
    """It is refused, or it is another Model that can be simulated."""
    header, arrays = unpacked(saved)
    good = arrays[name].copy()
    for place in range(0, good.size, 1 + good.size // 12):
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
def test_every_type_on_every_joint(m, saved, kind):
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
def test_a_limit_on_a_joint_that_has_none(m, saved, j):
    header, arrays = unpacked(saved)
    arrays["jnt_limited"][m.jnt_id(j)] = 1
    arrays["jnt_range"][m.jnt_id(j)] = (-1.0, 1.0)
    pack(saved, header, arrays)
    assert "jnt_limited: limits a joint that has no limit of its own" in message(saved)


def test_a_spring_on_a_driven_joint(m, saved):
    header, arrays = unpacked(saved)
    arrays["jnt_stiffness"][m.jnt_id("sway")] = 1.0
    pack(saved, header, arrays)
    assert "jnt_stiffness: gives a spring to a joint that has no freedom" in message(saved)


def test_a_limit_on_a_coordinate_that_is_no_position(m, saved):
    header, arrays = unpacked(saved)
    ball = m.jnt_type.tolist().index(rb.JointType.BALL)
    arrays["limit_dofid"][0] = m.jnt_dofadr[ball]
    pack(saved, header, arrays)
    assert "limit_dofid: limits a coordinate that is no position" in message(saved)


@pytest.mark.parametrize(
    ("follower", "followed"),
    [("slide", "finger"), ("finger", "finger"), ("door", "cross"), ("cross", "door")],
)
def test_couplings_in_a_chain_or_of_several_coordinates(m, saved, follower, followed):
    header, arrays = unpacked(saved)
    arrays["jnt_mimic"][m.jnt_id(follower)] = m.jnt_id(followed)
    pack(saved, header, arrays)
    assert message(saved) == (
        f"{saved}: jnt_mimic: couples joints of more than one coordinate, or in a chain"
    )


def test_a_joint_more_that_follows(m, saved):
    header, arrays = unpacked(saved)
    arrays["jnt_mimic"][m.jnt_id("worm")] = m.jnt_id("door")
    pack(saved, header, arrays)
    assert "jnt_class: does not follow from the driven joints and the leaders" in message(saved)


@pytest.mark.parametrize(("joint", "coordinate"), [("air", 3), ("joint3", 0), ("cross", 2)])
def test_a_gear_on_what_is_no_position(m, saved, joint, coordinate):
    header, arrays = unpacked(saved)
    j = m.jnt_id(joint)
    arrays["term_jntid"][0], arrays["term_coord"][0] = j, coordinate
    pack(saved, header, arrays)
    told = f"{saved}: term_coord: has {coordinate}, which is no position of joint {j}"
    assert message(saved) == told


@pytest.mark.parametrize("kind", list(rb.JointType))
def test_every_type_on_every_loop(m, saved, kind):
    """Its equations are then of another number, or it is another Model that can be simulated."""
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
    ("name", "value", "told"),
    [
        ("length_pointnum", [1, 4], "has an entry that is not from 2 to 5"),
        ("gear_termnum", [0], "has an entry that is not from 1 to 3"),
        ("loop_bodyid", [[2, 2], [0, 1]], "has a loop that begins and ends at one body"),
        ("jnt_actuated", 2, "has an entry that is not from 0 to 1"),
        ("roll_bodyid", 26, "has an entry that is not from 0 to 25"),
        ("jnt_class", 0, "does not follow from the driven joints and the leaders"),
    ],
)
def test_constraints_that_mean_nothing(saved, name, value, told):
    header, arrays = unpacked(saved)
    arrays[name][...] = value
    pack(saved, header, arrays)
    assert f"{name}: {told}" in message(saved)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("geom_bodyid", 0, "has a geometry of the world, which does not move"),
        ("geom_type", 0, "has an entry that is no type of a geometry there"),
        ("obstacle_type", 5, "has an entry that is no type of a geometry there"),
        ("geom_vertnum", 0, "has an entry that is not from 1 to 38"),
        ("geom_size", -1.0, "holds a number that is less than zero"),
        ("geom_size", 0.0, "holds a sphere of a length of 0"),
        ("geom_size", 1.1e6, "holds a length of more than 1000000 m"),
        ("obstacle_size", 0.0, "holds a box of a length of 0"),
        ("obstacle_size", 1e300, "holds a length of more than 1000000 m"),
        ("geom_solref", 0.0, "holds a number that is not above zero"),
        ("geom_solref", [0.01, -1.0], "holds a number that is not above zero"),
        ("geom_mass0", 0.0, "holds a number that is not above zero"),
        ("geom_stiffness", -1.0, "holds a number that is less than zero"),
        ("geom_rbound", -1.0, "holds a number that is less than zero"),
        ("geom_friction", -1.0, "holds a number that is less than zero"),
        ("obstacle_friction", -1.0, "holds a number that is less than zero"),
        ("geom_mat", 1.0, "holds a matrix that is no rotation"),
        ("obstacle_mat", np.diag([1.0, 1.0, -1.0]).ravel(), "holds a matrix that is no rotation"),
    ],
)
def test_geometries_that_mean_nothing(saved, name, value, told):
    header, arrays = unpacked(saved)
    arrays[name][...] = value
    pack(saved, header, arrays)
    assert f"{name}: {told}" in message(saved)


@pytest.mark.parametrize(
    ("kind", "number"), [("SPHERE", 1), ("CAPSULE", 2), ("CYLINDER", 24), ("BOX", 8)]
)
def test_geometries_have_the_corners_of_their_type(m, saved, kind, number):
    """A kernel looks at the second corner of a capsule, whatever number is told."""
    header, arrays = unpacked(saved)
    arrays["geom_type"][:] = GeomType.MESH  # which may have any number
    for g in range(m.ngeom):
        arrays["geom_type"][g] = GeomType[kind]
        pack(saved, header, arrays)
        told = f"geom_vertnum: gives a {kind.lower()} another number of corners than {number}"
        if m.geom_vertnum[g] == number:
            load_model(saved)
        else:
            assert told in message(saved)
        arrays["geom_type"][g] = GeomType.MESH


def test_a_capsule_of_one_corner(saved):
    """Which leaves one more to the mesh: all sums are right."""
    header, arrays = unpacked(saved)
    kinds = arrays["geom_type"].tolist()
    capsule, mesh = kinds.index(GeomType.CAPSULE), kinds.index(GeomType.MESH)
    arrays["geom_vertnum"][[capsule, mesh]] += (-1, 1)
    pack(saved, header, arrays)
    assert message(saved) == (
        f"{saved}: geom_vertnum: gives a capsule another number of corners than 2"
    )


@pytest.mark.parametrize("name", ["geom_damping", "geom_viscosity"])
def test_less_than_zero_is_not_given(saved, name):
    header, arrays = unpacked(saved)
    arrays[name][:] = -1.0
    pack(saved, header, arrays)
    assert (getattr(load_model(saved), name) == -1.0).all()


def test_a_driven_joint_that_nothing_drives(m, saved):
    header, arrays = unpacked(saved)
    names = header["names"]["jnt_motion_name"]
    names[names.index("storage_swing")] = ""
    pack(saved, header, arrays)
    told = message(saved)
    assert f"drive_knotnum: does not say how joint {m.jnt_id('sway')} moves" in told


def test_a_motion_of_a_joint_that_is_free(m, saved):
    header, arrays = unpacked(saved)
    header["names"]["jnt_motion_name"][m.jnt_id("door")] = "storage_swing"
    pack(saved, header, arrays)
    assert f"drives joint {m.jnt_id('door')}, which is not driven" in message(saved)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("qpos0", "qpos_spring"), "qpos0: has 6"),
        (("drive_knotnum", "drive_period", "dof_transmission"),
         "drive_knotnum: "),
        (("knot_time", "knot_coef"), "drive_knotnum: adds up to 6, not to nknot, which is"),
        (("point_bodyid", "point_pos"), "length_pointnum: adds up to 5, not to npoint, which is"),
        (("term_jntid", "term_coord", "term_factor"),
         "gear_termnum: "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("change", [lambda a: a[:-1], lambda a: np.concatenate([a, a[-1:]])])
def test_lists_that_are_long_or_short_together(saved, names, told, change):
    header, arrays = unpacked(saved)
    for name in names:
        arrays[name] = change(arrays[name])
    pack(saved, header, arrays)
    assert told in message(saved)


# its shapes and numbers


@pytest.mark.parametrize("field", STORED, ids=lambda field: field.name)
def test_another_shape(saved, field):
    header, arrays = unpacked(saved)
    good = arrays[field.name]
    for bad in (good[:-1], good[None], good.ravel()[:0], np.concatenate([good, good])):
        if bad.shape == good.shape:
            continue
        arrays[field.name] = bad
        pack(saved, header, arrays)
        assert set(refusal(saved)) <= {"bad-shape", "bad-array"}


@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_infinity(saved, name):
    header, arrays = unpacked(saved)
    good = arrays[name].copy()
    arrays[name].flat[0] = np.nan
    pack(saved, header, arrays)
    assert f"{name}: holds NaN" in message(saved)
    arrays[name] = good
    arrays[name].flat[0] = np.inf
    pack(saved, header, arrays)
    if name in arrays_judge.UNLIMITED:
        load_model(saved)
    else:
        assert f"{name}: holds an infinite number" in message(saved)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, ">i8", np.uint64, complex, "U8"])
def test_another_element_type(saved, dtype):
    header, arrays = unpacked(saved)
    arrays["body_parentid"] = arrays["body_parentid"].astype(dtype)
    pack(saved, header, arrays)
    assert refusal(saved) == ["damaged-file"]


def test_nothing_is_unpickled(saved):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("it was unpickled",)

    header, arrays = unpacked(saved)
    arrays["body_mass"] = np.array([Bomb()], object)
    pack(saved, header, arrays)
    assert refusal(saved) == ["damaged-file"]


def test_missing_and_unknown_fields_are_named(saved):
    header, arrays = unpacked(saved)
    arrays["body_mas"] = arrays.pop("body_mass")
    pack(saved, header, arrays)
    assert message(saved) == (
        f"{saved}: 2 errors\n"
        "  the file lacks 'body_mass'\n"
        "  the file holds 'body_mas', which no Model has (did you mean 'body_mass'?)"
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_field_twice(saved):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("body_mass.npy", archive.read("body_mass.npy"))
    assert message(saved) == f"{saved}: the file holds 'body_mass' more than once"


# its header


def test_another_version(saved):
    header, arrays = unpacked(saved)
    header["version"] = 99
    pack(saved, header, arrays)
    assert message(saved) == (
        f"{saved}: the file is of version '99' of the format; this release reads version 4. "
        "Build the Model again from its robot, and save that"
    )


@pytest.mark.parametrize(
    "header",
    [b"", b"[]", b"{}", b'{"format": "x"}', b"\xff", b"[" * 100_000, b"9" * 10_000, b"null"],
    ids=lambda text: text[:12].decode("latin-1"),
)
def test_no_header_of_ours(saved, header):
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
def test_a_header_that_is_wrong(saved, key, value):
    header, arrays = unpacked(saved)
    header[key] = value
    pack(saved, header, arrays)
    assert set(refusal(saved)) <= {"bad-header", "bad-shape"}


def test_what_is_left_out_of_the_header(saved):
    header, arrays = unpacked(saved)
    for key in ("name", "names", "options", "findings"):
        pack(saved, {k: v for k, v in header.items() if k != key}, arrays)
        assert refusal(saved) == ["bad-header"]


# the archive


def test_damaged_files(saved):
    """Cut short, or with a byte changed: refused, or (a date in the archive) the same Model."""
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


def test_a_shape_that_promises_more_than_there_is(saved):
    header, arrays = unpacked(saved)
    arrays.pop("body_mass")
    pack(saved, header, arrays)
    with zipfile.ZipFile(saved, "a") as archive:
        text = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)}
        np.lib.format.write_array_header_1_0(text, shape)
        archive.writestr("body_mass.npy", text.getvalue())
    assert message(saved) == (
        f"{saved}: this is no .npz file, or it is damaged: 'body_mass.npy' is not as long as it "
        "says"
    )


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_HEADER"])
def test_a_file_that_unpacks_to_too_much(saved, monkeypatch, limit):
    monkeypatch.setattr(storage, limit, 1 << 10)
    assert refusal(saved) == ["too-large"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(saved, method):
    other = saved.with_name("other.npz")
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(other, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert "is compressed in a way that save never takes" in message(other)


def test_files_of_others(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    assert message(path) == f"{path}: this file holds no Model: it has no 'header'"
    path.write_text("<robot/>")
    assert message(path) == (
        f"{path}: this is no .npz file, or it is damaged: File is not a zip file"
    )
    assert message(tmp_path) == f"the file '{tmp_path}' is not a file"
    missing = tmp_path / "missing.npz"
    assert message(missing) == f"the file '{missing}' does not exist"
    assert refusal(tmp_path / "nul\0.npz") == ["no-such-file"]
    with pytest.raises(rb.ParameterError, match="a Model is loaded from a path, not from 3"):
        load_model(3)


# writing


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("model.urdf", "a Model is written to a file .npz, not to 'model.urdf'"),
        ("model", "a Model is written to a file .npz, not to 'model'"),
        (None, "a Model is written to a path, not to None"),
        (
            "/no/such/folder/m.npz",
            "the file '/no/such/folder/m.npz' cannot be written: there is no such folder",
        ),
    ],
)
def test_where_a_model_cannot_be_saved(m, path, told):
    with pytest.raises(rb.ParameterError) as caught:
        save(m, path)
    assert str(caught.value) == told


def test_only_a_model_is_saved(tmp_path):
    with pytest.raises(rb.ModelError, match="save needs a Model, got 3"):
        save(3, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(m, saved, monkeypatch):
    before = saved.read_bytes()

    def full(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(rb.ParameterError, match="cannot be written: No space left on device"):
        save(m, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]


def test_an_old_file_is_replaced(saved):
    other = trees.build(trees.auto_tree(3))
    save(other, saved)
    demand_equal(load_model(saved), other)
