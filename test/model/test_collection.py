# SPDX-License-Identifier: Apache-2.0
"""Most of the 69 URDFs of example-robot-data are loaded; the others have known errors."""

import pytest
from support import robots

import rbdyn_ros as rb

pytestmark = robots.needs_robots


def loads(path, strict):
    try:
        rb.load_urdf(path, strict=strict, floating_base=False)
    except rb.DescriptionError as error:
        return error
    return None


def test_strict_loading_accepts_most_files():
    refused = {path.name: loads(path, True) for path in robots.FILES}
    refused = {name: error for name, error in refused.items() if error}
    for name, error in refused.items():
        print(name, [finding.code for finding in error.findings])
        assert all(finding.message and finding.code for finding in error.findings)
    assert len(robots.FILES) == 69
    assert len(robots.FILES) - len(refused) >= 60


def test_relaxed_loading_accepts_all_files_but_one():
    assert [p.name for p in robots.FILES if loads(p, False)] == [robots.NO_NAME]


@pytest.mark.parametrize("name", ["romeo.urdf", "romeo_laas_small.urdf"])
def test_a_finding_names_each_repair(name):
    m = rb.load_urdf(robots.find(name), strict=False)
    repaired = {
        f.element for f in m.findings if f.code == "no-inertia" and f.severity == "warning"
    }
    moved = {f"joint '{m.jnt_names[j]}'" for j in m.dof_jntid[m.dof_armature > 0.0]}
    assert repaired == moved
    assert repaired
