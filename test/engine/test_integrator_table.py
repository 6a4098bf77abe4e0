# SPDX-License-Identifier: Apache-2.0
"""Each cell of the table in docs/explanation/integrators.md is tested."""

import numpy as np
import pytest
from support import mechanisms, trees
from support.documents import ROOT
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.codegen.functions import Wanted, c_functions
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.model.declared.options import INTEGRATORS

IMPLICIT = ("implicit", "implicit_midpoint")
SWAY = rb.Trajectory((0.0, 1.0, 2.0), ((0.0,), (0.4,), (-0.2,)))


def arm(driven=False):
    """Return a Model of two bars, which all integrators and code generators support."""
    s = rb.SystemBuilder("arm", base="ground")
    s.body("upper", mechanisms.bar(0.3)).body("lower", mechanisms.bar(0.2))
    s.joint("A", "revolute", "ground", "upper", **mechanisms.HINGE)
    s.joint("B", "revolute", "upper", "lower", xyz=(0.3, 0, 0), **mechanisms.HINGE)
    return rb.build(s.drive("A", SWAY) if driven else s)


def on_floor():
    s = rb.SystemBuilder("box", base="world").body("box", rb.shapes.box((0.2,) * 3, mass=2.0))
    s.joint("free", "floating", "world", "box", xyz=(0, 0, 0.11))
    return rb.build(s.geometry("hull", "box", rb.Box((0.2,) * 3)).floor())


def step(m, integrator):
    m.opt.integrator = integrator
    d = rb.make_data(m)
    rb.step(m, d, 100)
    assert np.isfinite(d.qpos).all()
    return d


def set_drive(integrator):
    m = arm()
    m.opt.integrator = integrator
    d = rb.make_data(m)
    rb.set_drive(m, d, "A", "velocity", 1.0)
    rb.step(m, d, 100)
    assert d.qvel[0] == pytest.approx(1.0)


def made(make):
    """Return a function that gets an integrator's name, and calls make(m) for the arm with it."""

    def cell(integrator):
        m = arm()
        m.opt.integrator = integrator
        make(m)

    return cell


def contact(integrator):
    d = step(on_floor(), integrator)
    assert d.ncon > 0


def rollout(m):
    return rb.rollout(m, m.qpos0, np.zeros(m.nv), nstep=5)


def rack():
    return trees.build(trees.auto_tree(3, 1.3, kinds=("rack_pinion",), seed=3))


REFUSED_OPTION = (ParameterError, "option-integrator")
REFUSED_CODE = (ModelError, "not-traceable")

#: For each row: a function that tries the feature with an integrator, and the refusal of implicit
#: integrators or None.
ROWS = {
    "loops": (lambda name: step(rb.build(mechanisms.grashof()), name), REFUSED_OPTION),
    "driven over time": (lambda name: step(arm(driven=True), name), None),
    "set_drive": (set_drive, None),
    "contact": (contact, None),
    "joint types": (lambda name: step(rack(), name), REFUSED_OPTION),
    "specialize": (made(lambda m: rb.specialize(m, ("step",))), REFUSED_CODE),
    "step_derivatives": (made(lambda m: rb.specialize(m, ("step_derivatives",))), REFUSED_CODE),
    "rollout": (made(rollout), REFUSED_CODE),
    "C": (made(lambda m: c_functions(m, Wanted(("step",)))), REFUSED_CODE),
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("row", ROWS)
def test_each_cell_of_the_integrator_table_is_true(row, integrator):
    run, refusal = ROWS[row]
    if refusal is None or integrator not in IMPLICIT:
        run(integrator)
        return
    with refused(*refusal) as caught:
        run(integrator)
    assert f"'{integrator}'" in str(caught.value)


def test_the_page_on_integrators_names_each_integrator_and_each_refusal():
    page = (ROOT / "docs/explanation/integrators.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|") and "refused" in line]
    assert len(rows) == 4  # constraints, joint types, specialize, C
    assert all(f"`{name}`" in page for name in INTEGRATORS)
