# SPDX-License-Identifier: Apache-2.0
"""Read friction and stiffness of SDF, of a <surface> or of the <gazebo> of a URDF."""

from __future__ import annotations

from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement

#: The friction of SDF without <mu>, and the stiffness that stands for a rigid contact [N/m].
FRICTION, RIGID = 1.0, 1e12


def bounded(mu: float, part: SdfElement) -> float:
    """Return a coefficient of friction that the simulator can have; note another one."""
    most = BOUNDS["friction"].high
    if mu > most:
        part.note("friction-bounded", f"its friction {mu:g} is taken as {most:g}")
    return min(mu, most)


def stiffness(law: SdfElement) -> dict[str, float]:
    """Return the stiffness and the damping of a contact; none of them if it is rigid."""
    if (found := law.number("kp", default=RIGID)) < RIGID:
        return {"stiffness": found, "damping": law.number("kd", default=1.0)}
    return {}
