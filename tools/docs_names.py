# SPDX-License-Identifier: Apache-2.0
"""Generate docs/reference/names.md from the tables of names of other libraries."""

from __future__ import annotations

from rbdyn_ros.other_names import LIBRARIES, Owner

HEAD = """\
# From MuJoCo and Pinocchio

This page lists our names for the names of [MuJoCo](https://mujoco.readthedocs.io) and \
[Pinocchio](https://github.com/stack-of-tasks/pinocchio). `tools/docs.py` generates the tables \
from `rbdyn_ros/other_names.py`. The AttributeError for `d.ctrl`, `m.lowerPositionLimit` or \
`rb.mj_step` gives the same names. Fields that have MuJoCo's name [mean the same](fields.md).

```python
import rbdyn_ros as rb

m = rb.load("seven_dof_arm")  # a file, or the name of an installed robot
d = rb.make_data(m)
d.joint("elbow_pitch").qpos = 0.5  # named access as in MuJoCo's bindings
rb.forward(m, d)
print(d.body("forearm").xpos, m.joint("elbow_pitch").range)
heavy = m.replaced(body_mass=1.2 * m.body_mass, body_inertia=1.2 * m.body_inertia)
```

**A Model is read-only**, apart from `m.opt`. `m.replaced(...)` returns a changed copy: masses \
and inertias, friction, damping, limits, stiffness \
([all fields with an r](fields.md#arrays-of-a-model)). `rb.with_payload` adds a load, \
`rb.with_actuators` motors and gears. A Data belongs to one Model, so make a new Data for the copy.

**Keyframes** are the `<group_state>` elements of an SRDF, and the `keyframes` of a \
[scene file](yaml_files.md#scene). `m.key_names` lists them, `m.key("ready").qpos` has the \
positions; `rb.make_data(m, key="ready")` and `rb.reset_data_keyframe(m, d, "ready")` start there.

These conventions differ:

| here | there |
|---|---|
"""

#: Differences between our fields and the fields of the other libraries.
DIFFERENCES = (
    (
        (
            "A body is a link that moves. Links on fixed joints are frames: `rb.frame_pose(m, "
            "d, name)`."
        ),
        "MuJoCo, too, fuses such links when it reads a URDF; Pinocchio calls them frames",
    ),
    (
        (
            "`rb.inverse`, `rb.rne` and `rb.aba` write into d and return None. "
            "`rb.mass_matrix`, `rb.gravity_term` and others return an array."
        ),
        "MuJoCo's functions write into data, Pinocchio's functions return an array",
    ),
    (
        "`d.M` is the lower triangle by rows; `rb.mass_matrix(m, d)` is the square matrix.",
        "Pinocchio's `data.M` is square",
    ),
    (
        (
            "`rb.linearise(m, d)` is in continuous time, `rb.linearise(m, d, timestep=h)` in "
            "discrete time."
        ),
        "`mjd_transitionFD` is in discrete time",
    ),
    (
        "Rows of `rb.frame_jacobian` are angular, then linear.",
        "Pinocchio's rows are linear, then angular; `mj_jac` fills two matrices",
    ),
    (
        "A free joint has 7 positions with a wxyz quaternion.",
        "Pinocchio's quaternion is xyzw",
    ),
)

TITLES: dict[Owner, str] = {
    "rb": "functions",
    "Model": "fields of the model",
    "Data": "fields of the data",
}


def names_page() -> str:
    """Return the page of other libraries' names as Markdown."""
    parts = [HEAD + "".join(f"| {ours} | {theirs} |\n" for ours, theirs in DIFFERENCES)]
    for library, tables in LIBRARIES.items():
        for owner, rows in tables.items():
            lines = [f"## {library}: {TITLES[owner]}\n", f"| {library} | here |", "|---|---|"]
            lines += [f"| `{name}` | {_code(ours)} |" for name, ours in sorted(rows.items())]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _code(ours: str) -> str:
    """Return our name as code, without the clause that explains it."""
    words, comma, more = ours.partition(", which")
    return f"`{words}`{comma}{more}"
