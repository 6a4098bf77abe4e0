# SPDX-License-Identifier: Apache-2.0
"""The friction of SDF, of a <surface> or of the <gazebo> of a URDF."""

from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement

#: The friction of SDF without <mu>.
FRICTION = 1.0


def bounded(mu: float, part: SdfElement) -> float:
    """Return a coefficient of friction within the simulator's range; add a note if it changes."""
    most = BOUNDS["friction"].high
    if mu > most:
        part.note("friction-bounded", f"its friction {mu:g} is taken as {most:g}")
    return min(mu, most)
