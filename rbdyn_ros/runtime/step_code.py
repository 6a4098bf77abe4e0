"""Timesteps by code made for one robot, whatever its payloads, gravity and stuck joints are."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.model_fields import MODEL_FIELDS
from rbdyn_ros.specialization.specialized import Specialized

#: What is exchanged while a robot moves: the code reads it in every step, and gravity as well.
READ = ("body_mass", "body_ipos", "body_fullinertia", "dof_armature")
#: Follows from that; a step reads nothing of it.
DERIVED = ("body_subtreemass", "body_iquat", "body_imat", "body_inertia")
OPTIONS = ("timestep", "integrator", "passive")


class StepCode:
    """A timestep compiled for a robot, see specialize/.

    It knows nothing of driven dofs (set_drive); those of a Data that a loop has never are.

    Args:
        m: the robot; it stays as it is.

    Raises:
        ModelError: it has what cannot be specialised: contact, loops, stored trajectories.
    """

    def __init__(self, m: Model) -> None:
        self._model = m.replaced()
        Specialized(self._model, ("step",), READ).install()

    def install(self, m: Model) -> None:
        """Let loops that run a Model take their timesteps by this code.

        Raises:
            ModelError: the Model differs in more than the code reads.
        """
        ours = self._model
        fixed = [f.name for f in MODEL_FIELDS if f.name not in READ + DERIVED]
        pairs = {name: (getattr(m, name), getattr(ours, name)) for name in fixed}
        pairs |= {name: (used, ours.functions[name]) for name, used in m.functions.items()}
        pairs |= {f"opt.{x}": (getattr(m.opt, x), getattr(ours.opt, x)) for x in OPTIONS}
        other = [name for name, (a, b) in pairs.items() if not np.array_equal(a, b)]
        if other:
            text = (
                f"the timestep was compiled for '{ours.name}', from which this Model differs in "
                f"{', '.join(other)}; it may differ in {', '.join(READ)} and gravity"
            )
            raise ModelError(Finding("other-model", text, "error", other[0]))
        m.set_step_code(ours.step_stage)
