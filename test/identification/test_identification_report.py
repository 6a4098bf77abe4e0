# SPDX-License-Identifier: Apache-2.0
"""The report of an identification is written as text, as JSON and as a picture."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from moved_arms import ARM, recorded, rubbing, wrong
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.equations.fit import identify
from rbdyn_ros.identification.equations.payload import identify_payload
from rbdyn_ros.identification.equations.residuals import validate
from rbdyn_ros.identification.equations.warnings import NOT_HELD
from rbdyn_ros.identification.reports.figure import draw_efforts
from rbdyn_ros.identification.reports.patch import patched_urdf
from rbdyn_ros.identification.reports.report import (
    LONGEST,
    payload_dict,
    payload_text,
    report_dict,
    report_text,
)


@pytest.fixture(scope="module")
def found():
    truth = rb.load_urdf(ARM)
    return identify(wrong(truth), recorded(truth, rubbing(truth), 1, noise=0.05, samples=300))


def test_the_report_lists_errors_of_joints_and_masses_of_bodies(found):
    assert "black box" not in report_text(found, (found.before, found.after))
    text = report_text(found, (found.before, found.after, found.before))
    assert "black box" in text
    assert "efforts of the motion [N m or N]" in text
    assert "efforts of the validation motion" in text
    for i, name in enumerate(found.after.names):
        row = next(line for line in text.splitlines() if line.strip().startswith(name))
        assert f"{found.before.rms[i]:.4g}" in row
        assert f"{found.before.share[i]:.2%} -> {found.after.share[i]:.2%}" in row
    body = found.m.body_names[2]
    rows = [line for line in text.splitlines() if line.strip().startswith(body)]
    masses = f"{found.prior.body_mass[2]:.4g}", f"{found.m.body_mass[2]:.4g}"
    assert any(all(mass in row for mass in masses) for row in rows)
    assert f"{found.base.rank} base inertial parameters" in text
    assert "validation" not in report_text(found)
    assert text.isascii()


def test_joints_without_an_effort_limit_have_no_share_of_full_scale(found):
    m = found.prior.replaced(jnt_effort=np.full(found.prior.njnt, np.inf))
    motion = recorded(m, rubbing(found.prior), 1, samples=100)
    free = identify(m, motion)
    assert "nan" not in report_text(free)
    printed = json.loads(json.dumps(report_dict(free), allow_nan=False))
    assert printed["residuals"][0]["full_scale"] is None


def test_the_report_as_json_is_complete(found):
    printed = json.loads(
        json.dumps(report_dict(found, (found.before, found.after)), allow_nan=False)
    )
    assert [joint["name"] for joint in printed["joints"]] == list(found.after.names)
    assert printed["joints"][1]["viscous"] == found.friction.viscous[1]
    assert printed["bodies"][0]["identified"]["mass"] == found.m.body_mass[1]
    assert printed["bodies"][0]["prior"]["mass"] == found.prior.body_mass[1]
    assert len(printed["base_parameters"]) == found.base.rank
    assert printed["residuals"][0]["rms_after"] == found.after.rms[0]
    explained = [row.pop("explained") for row in printed["validation"]]
    variance = found.after.measured.var(axis=0)
    np.testing.assert_allclose(explained, 1.0 - found.after.rms**2 / variance)
    assert printed["validation"] == printed["residuals"]
    assert printed["warnings"] == list(found.warnings)


def test_the_report_has_a_table_of_rotors_and_offsets(found):
    assert "rotors and offsets" not in report_text(found)
    rotors = np.linspace(0.01, 0.07, 7)
    truth = rb.load_urdf(ARM).replaced(dof_armature=rotors)
    motion = recorded(truth, rubbing(truth), 1, offset=np.linspace(1.0, 3.0, 7), samples=200)
    with_them = identify(rb.load_urdf(ARM), motion, armature=True, offset=True)
    text = report_text(with_them)
    assert f"efforts of the motion {NOT_HELD} [" in text
    rows = text.split("\n\nrotors and offsets, which a URDF cannot hold")[1].splitlines()
    last = next(row for row in rows if row.strip().startswith(with_them.after.names[-1]))
    assert last.split()[1:] == ["0", "0.07", "3"]
    printed = json.loads(json.dumps(report_dict(with_them), allow_nan=False))
    assert printed["residuals_of_urdf"][6]["rms_after"] == with_them.held.rms[6]
    assert with_them.held.rms[6] == pytest.approx(np.hypot(3.0, 0.0), rel=0.2)
    # `validate` finds the same residuals of the URDF
    plain = with_them.m.replaced(dof_armature=np.zeros(7))
    np.testing.assert_array_equal(
        with_them.held.predicted, validate(plain, with_them.friction, motion).predicted
    )


@pytest.mark.parametrize("given", [False, True])
def test_stribeck_friction_is_reported_and_not_in_the_urdf(given):
    text = Path(ARM).read_text()
    m = rb.load_urdf(text)
    friction = Friction.of(7, 0.5, 1.0, 3.0)
    motion = recorded(m, friction, 1, samples=200)
    found = identify(m, motion, friction=friction if given else None, stribeck=not given)
    report = report_text(found)
    assert f"efforts of the motion {NOT_HELD} [" in report
    assert "rotors and offsets, which a URDF cannot hold" not in report
    table = report.split("\n\nfriction")[1].split("\n\n")[0].splitlines()
    assert table[1].split()[-1] == "Stribeck"
    last = -1 if given else -3  # after an identified value the row has "+- 1e-12"
    assert [float(row.split()[last]) for row in table[2:]] == [3.0] * 7
    loaded = rb.load_urdf(patched_urdf(text, found.m))
    urdf = validate(loaded, Friction.of_model(loaded), motion)
    np.testing.assert_allclose(found.held.predicted, urdf.predicted, atol=1e-6)
    assert (found.held.rms > 10.0 * found.after.rms).all()
    assert "Stribeck" not in report_text(identify(m, motion)).split("\n\nfriction")[1]


def test_a_joint_without_samples_has_no_rms_error(found):
    lost = dataclasses.replace(found.after, kept=np.zeros_like(found.after.kept))
    printed = json.dumps(report_dict(found, (lost, lost)), allow_nan=False)
    assert json.loads(printed)["validation"][0]["rms_after"] is None
    assert "nan" not in report_text(found, (lost, lost))


def test_long_names_of_combinations_are_cut(found):
    names = tuple("x" * 500 for _ in found.base.names)
    printed = report_dict(
        dataclasses.replace(found, base=dataclasses.replace(found.base, names=names))
    )
    assert printed["base_parameters"][0]["name"] == "x" * LONGEST + "..."


def test_the_report_of_a_payload_is_complete():
    m = rb.load_urdf(ARM)
    load = rb.with_payload(m, m.frame_names[-1], 2.0, (0.0, 0.0, 0.1), (0.01,) * 3 + (0.0,) * 3)
    motion = recorded(load, rubbing(m), 3, samples=200)
    estimate = identify_payload(m, motion, m.frame_names[-1])
    printed = json.loads(json.dumps(payload_dict(estimate), allow_nan=False))
    assert printed["mass"] == estimate.mass
    assert printed["rms_after"] == dict(
        zip(motion.names, estimate.after.rms.tolist(), strict=True)
    )
    assert printed["com_std"] == estimate.com_std.tolist()
    doubtful = dataclasses.replace(estimate, warnings=("look out",))
    assert "warnings\n  look out\n" in payload_text(doubtful)
    text = payload_text(estimate)
    assert "warnings" not in text
    assert f"payload at link '{m.frame_names[-1]}'" in text
    assert "mass            2 kg" in text
    assert "centre of mass  0 0 0.1 m" in text


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_efforts_are_drawn(found, tmp_path, suffix):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / f"efforts.{suffix}"
    draw_efforts(found.before, found.after, path)
    assert path.stat().st_size > 10_000


def test_a_picture_of_residuals_of_two_motions_is_refused(found, tmp_path):
    truth = rb.load_urdf(ARM)
    other = identify(truth, recorded(truth, rubbing(truth), 1, samples=100))
    with refused(rb.ParameterError, "bad-residuals"):
        draw_efforts(found.before, other.after, tmp_path / "a.png")
    with refused(rb.ParameterError, "unknown-suffix", "path"):
        draw_efforts(found.before, found.after, tmp_path / "a.txt")
