# SPDX-License-Identifier: Apache-2.0
"""Kernels read and write only arrays of their Model and Data, whatever users assign."""

import copy
import pickle

import numpy as np
import pytest
from support.refusals import refused
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.model.data import restored
from rbdyn_ros.model.declared.model_fields import CALLBACK_FIELDS, DERIVED, MODEL_FIELDS, PRIMARY
from rbdyn_ros.model.model import Model


@pytest.fixture(scope="module")
def m():
    register()
    return rb.build(everything())


def primary(m):
    return {name: getattr(m, name) for name in PRIMARY}


def arrays_of(m):
    return [m.table, *(getattr(m, field.name) for field in (*MODEL_FIELDS, *CALLBACK_FIELDS))]


@pytest.mark.parametrize(
    "made",
    [lambda m: m, copy.copy, copy.deepcopy, lambda m: m.replaced(qpos0=m.qpos0.copy()),
     lambda m: m.loops, lambda m: rb.with_payload(m, m.frame_names[-1], 0.1, (0.0, 0.0, 0.0)),
     lambda m: pickle.loads(pickle.dumps(m))],
    ids=["built", "copy", "deepcopy", "replaced", "loops", "payload", "unpickled"],
)  # fmt: skip
def test_no_flag_makes_an_array_of_a_model_writeable(m, made):
    for array in arrays_of(made(m)):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.base.setflags(write=True) if isinstance(array.base, np.ndarray) else (
                array.flags.__setattr__("writeable", True)
            )


def test_the_addresses_of_a_data_cannot_be_written(m):
    d = rb.make_data(m)
    for array in (d.stages, d.copy().stages):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
    # a base that is an array could be made writeable
    assert not isinstance(d.buffer.base, np.ndarray)
    assert not isinstance(d.stages.base, np.ndarray)
    assert len(np.frombuffer(d.buffer.base)) == len(d.buffer) == m.data_slots


def test_assigning_a_stage_changes_the_stages_of_a_data(m):
    """An assignment to step_stage also changes d.stages, which the kernels read."""
    d = rb.make_data(m)
    d.take_step_code(4711)
    assert (d.step_stage, d.copy().step_stage, d.stages[-1]) == (4711, 4711, 4711)
    d.take_step_code(0)
    rb.step(m, d)


def forged(m, name, value):
    return {**primary(m), name: value}


FORGED = {
    "body_parentid": lambda x: x + 1,
    "loop_bodyid": lambda x: x + 1000,
    "jnt_type": lambda x: x * 0 + 99,
    "jnt_mimic": lambda x: x * 0 + 2**62,
    "term_jntid": lambda x: x - 1000,
    "body_mass": lambda x: x * np.nan,
    "jnt_axis": lambda x: np.full_like(x, np.inf),
    "qpos_spring": lambda x: x[:-1],
    "frame_bodyid": lambda x: x + 0.5,
    "jnt_class": lambda x: x.astype(np.uint64) + np.uint64(2**63),
    "gear_termnum": lambda x: x.astype(object),
    "knot_time": lambda x: ["soon"] * len(x),
    "body_pos": lambda x: x + 1j,
}


@pytest.mark.parametrize("name", FORGED)
def test_wrong_arrays_given_to_the_constructor_are_refused(m, name):
    arrays = forged(m, name, FORGED[name](getattr(m, name)))
    with pytest.raises(rb.ModelError) as caught:
        rb.Model("forged", arrays, m.names)
    assert name in {finding.element for finding in caught.value.findings}


@pytest.mark.parametrize("name", ["body_mass", "dof_armature", "dof_damping"])
def test_negative_masses_armatures_and_dampings_are_refused(m, name):
    arrays = forged(m, name, getattr(m, name) - 1e6)
    with refused(rb.ModelError, "bad-array", name):
        rb.Model("forged", arrays, m.names)


def test_a_limit_that_ends_before_it_begins_is_refused(m):
    limited = np.flatnonzero(m.jnt_limited)
    upside_down = m.jnt_range.copy()
    upside_down[limited] = upside_down[limited, ::-1]
    with refused(rb.ModelError, "bad-array", "jnt_range"):
        rb.Model("forged", forged(m, "jnt_range", upside_down), m.names)


@pytest.mark.parametrize("value", [1e70, 1e300])
def test_numbers_too_large_for_a_saved_model_are_refused(m, value):
    with refused(rb.ModelError, "model-array", "dof_armature"):
        m.replaced(dof_armature=np.full(m.nv, value))


@pytest.mark.parametrize("name", ["body_parentid", "body_mass"])
def test_unpickling_checks_arrays_too(m, name):
    make, arguments = m.__reduce__()
    arguments = (arguments[0], forged(m, name, FORGED[name](getattr(m, name))), *arguments[2:])

    class Forged:
        def __reduce__(self):
            return make, arguments

    with pytest.raises(rb.ModelError):
        pickle.loads(pickle.dumps(Forged()))


def test_derived_arrays_from_the_caller_are_ignored(m):
    arrays = {**primary(m), **{name: getattr(m, name) + 1000 for name in DERIVED}}
    same = rb.Model(m.name, arrays, m.names)
    assert same.sha256() == m.sha256()
    assert pickle.loads(pickle.dumps(m)).sha256() == m.sha256()


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (lambda a: a.update(name=3), "bad-names"),
        (lambda a: a.update(opt=3), "bad-options"),
        (lambda a: a.update(findings=[3]), "bad-findings"),
        (lambda a: a.update(arrays=None), "missing-field"),
        (lambda a: a["arrays"].pop("qpos0"), ["missing-field", "bad-array"]),
        (lambda a: a["arrays"].update(qpoz=0), "unknown-field"),
        (lambda a: a.update(names={}), "bad-names"),
        (lambda a: a["names"].update(body_names="world"), "bad-names"),
        (lambda a: a["names"].update(body_names=["world"]), "bad-shape"),
        (lambda a: a["names"].update(jnt_names=[3]), "bad-names"),
    ],
)
def test_wrong_arguments_of_a_model_are_refused(m, change, codes):
    arguments = {"name": "a", "arrays": primary(m), "names": dict(m.names)}
    change(arguments)
    with refused(rb.ModelError, codes):
        rb.Model(**arguments)


def test_the_arrays_of_the_caller_are_copied(m):
    arrays = {name: np.array(array) for name, array in primary(m).items()}
    same = rb.Model("same", arrays, m.names)
    arrays["body_parentid"][:] = 2**40
    assert same.sha256() == m.sha256()


def test_checks_of_user_functions_run_for_each_new_model(m, monkeypatch):
    """A joint type that was registered again must have correct derivatives in a new Model, too."""
    wrong = []
    monkeypatch.setattr("rbdyn_ros.model.model.MODEL_CHECKS", [wrong.append])
    same = rb.Model(m.name, primary(m), m.names)
    assert wrong == [same]


def test_calling_init_of_a_model_again_is_refused(m):
    d = rb.make_data(m)
    with refused(rb.ModelError, "model-read-only", "__init__"):
        Model.__init__(m, m.name, primary(m), m.names)
    rb.step(m, d)


def chain(n):
    builder = rb.SystemBuilder("chain")
    body = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
    for k in range(n):
        parent = f"b{k - 1}" if k else "base"
        builder.body(f"b{k}", body).joint(f"j{k}", "revolute", parent, f"b{k}")
    return builder


def test_functions_that_need_a_too_large_mass_matrix_are_refused(monkeypatch):
    """The arrays of M are empty in this Model, so kernels would write outside of them."""
    monkeypatch.setattr("rbdyn_ros.model.tree.inertia_pattern.MAX_M_ENTRIES", 2)
    m = rb.build(chain(3), strict=False)
    assert m.nM == 0
    d = rb.make_data(m)
    d.drive_mode = 1
    rb.step(m, d)  # drive_mode has no effect unless set_drive has set it
    assert d.copy().buffer.tobytes() == d.buffer.tobytes()
    for again in (lambda: restored(m, d.buffer), lambda: pickle.loads(pickle.dumps(d))):
        with refused(rb.ModelError, "no-mass-matrix", "drive_mode"):
            again()
    arrays = primary(m)
    mimic = {"jnt_mimic": [-1, -1, 0], "jnt_class": [0, 0, 2]}
    for name in ("qpos0", "qpos_spring", *(x for x in arrays if x.startswith("dof_"))):
        if len(arrays[name]) == 3 and name != "dof_transmission":
            mimic[name] = arrays[name][:2]
    mimic["key_qpos"] = arrays["key_qpos"][:, :2]
    with refused(rb.ModelError, "no-mass-matrix"):
        rb.Model("mimic", {**arrays, **mimic}, m.names)


@pytest.mark.parametrize("length", [1, 5])
def test_a_buffer_of_another_length_is_refused(m, length):
    with refused(rb.ModelError, "data-shape", "buffer"):
        restored(m, np.zeros(length))


def test_assignments_to_options_keep_the_memory_of_their_arrays(m):
    same = m.replaced()
    same.opt.gravity = (0.0, 0.0, -1.0)
    d = rb.make_data(same)
    addresses = same.opt.addresses
    same.opt.__init__(timestep=0.5)
    assert same.opt.addresses == addresses
    rb.step(same, d)
    assert d.time == 0.5
    with pytest.raises(ValueError, match="resize"):
        same.opt.gravity.resize(1, refcheck=False)
    with pytest.raises(AttributeError, match="_timestep"):
        same.opt._timestep = np.zeros(())
