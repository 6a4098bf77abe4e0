# SPDX-License-Identifier: Apache-2.0
"""Timesteps compiled for one robot, which stay valid for other payloads, gravity, stuck joints."""

import numpy as np

from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.specialized import Specialized

#: Arrays that may change while a robot moves; the code reads them, and gravity, in every step.
READ = ("body_mass", "body_ipos", "body_fullinertia", "dof_armature")
#: Arrays that are computed from READ, and that a step does not read.
UNREAD = ("body_subtreemass", "body_iquat", "body_imat", "body_inertia")
OPTIONS = ("timestep", "integrator", "passive")


class StepCode:
    """A timestep compiled for one robot, see specialization/.

    It ignores drive modes (set_drive), which are never set in the Data of a loop.

    Args:
        m: the robot; it is not changed.

    Raises:
        ModelError: the robot has contact, closed loops or stored trajectories.
    """

    def __init__(self, m: Model) -> None:
        self._model = m.replaced()
        self._address = Specialized(self._model, ("step",), READ).step_address()

    def install(self, d: Data) -> None:
        """Make a compiled loop use this code for the timesteps of this Data."""
        d.take_step_code(self._address)

    def check(self, m: Model) -> None:
        """Raise ModelError if m differs from the robot in numbers that are fixed in the code."""
        ours = self._model
        fixed = [f.name for f in MODEL_FIELDS if f.name not in READ + UNREAD]
        pairs = {name: (getattr(m, name), getattr(ours, name)) for name in fixed}
        pairs |= {name: (used, ours.functions[name]) for name, used in m.functions.items()}
        pairs |= {f"opt.{x}": (getattr(m.opt, x), getattr(ours.opt, x)) for x in OPTIONS}
        other = [name for name, (a, b) in pairs.items() if not np.array_equal(a, b)]
        if other:
            text = (
                f"the timestep was compiled for '{ours.name}'; this Model differs from it in "
                f"{', '.join(other)}, but may differ in {', '.join(READ)} and gravity only"
            )
            raise ModelError(Finding("other-model", text, "error", other[0]))
