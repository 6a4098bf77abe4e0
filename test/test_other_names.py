# SPDX-License-Identifier: Apache-2.0
"""A name of MuJoCo or Pinocchio raises an error that suggests our name."""

import re

import pytest

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.other_names import LIBRARIES, foreign
from rbdyn_ros.share import bundled_robot

ROWS = [
    (library, owner, name, ours)
    for library, tables in LIBRARIES.items()
    for owner, rows in tables.items()
    for name, ours in rows.items()
]

#: Names that the installed libraries may lack: a module that needs a display, and an old field.
ELSEWHERE = ("viewer", "qM")


@pytest.fixture(scope="module")
def owners():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    return {"rb": rb, "Model": m, "Data": rb.make_data(m)}


@pytest.fixture(scope="module")
def theirs():
    """Return objects of the other libraries by library, as reference for their names."""
    mujoco, pinocchio = pytest.importorskip("mujoco"), pytest.importorskip("pinocchio")
    m = mujoco.MjModel.from_xml_path(str(bundled_robot("seven_dof_arm")))
    p = pinocchio.buildModelFromUrdf(str(bundled_robot("seven_dof_arm")))
    return {
        "MuJoCo": {"rb": mujoco, "Model": m, "Data": mujoco.MjData(m)},
        "Pinocchio": {"rb": pinocchio, "Model": p, "Data": p.createData()},
    }


@pytest.mark.parametrize(("library", "owner", "name", "ours"), ROWS)
def test_a_name_of_another_library_raises_an_error_with_our_name(
    library, owner, name, ours, owners
):
    with pytest.raises(AttributeError) as caught:
        getattr(owners[owner], name)
    assert f"for {library}'s {name} use {ours}" in str(caught.value)
    assert not hasattr(owners[owner], name)
    assert name not in dir(owners[owner])


@pytest.mark.parametrize(("library", "owner", "name", "ours"), ROWS)
def test_each_listed_name_of_another_library_exists_there(library, owner, name, ours, theirs):
    if name not in ELSEWHERE:
        assert hasattr(theirs[library][owner], name)


@pytest.mark.parametrize(("library", "owner", "name", "ours"), ROWS)
def test_each_suggested_name_exists(library, owner, name, ours, owners):
    words = re.findall(r"\b(rb|m|d)\.(\w+)", ours)
    assert words or ours.startswith("name in")
    for short, word in words:
        owner = {"rb": "rb", "m": "Model", "d": "Data"}[short]
        assert hasattr(owners[owner], word), word


def test_no_field_has_a_listed_name_of_another_library():
    """The property that raises the error would hide a field with the same name."""
    assert foreign("Data").isdisjoint(field.name for field in DATA_FIELDS)
    m = rb.load_urdf(bundled_robot("pendulum"))
    assert foreign("Model").isdisjoint(vars(m))


def test_the_error_about_an_assignment_suggests_the_right_function_or_field(owners):
    m, d = owners["Model"], owners["Data"]
    with pytest.raises(rb.ModelError, match=r"m\.replaced\(body_mass=\.\.\.\)"):
        m.body_mass = 1.0
    with pytest.raises(rb.ModelError, match=r"rb\.with_actuators"):
        m.actuator_gear = 1.0
    with pytest.raises(AttributeError, match=r"use d\.qfrc_applied"):
        d.ctrl = 1.0
