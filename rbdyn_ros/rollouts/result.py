"""The result of a rollout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import did_you_mean


@dataclass(frozen=True)
class Rollout:
    """Outputs of robots, read as attributes: r.qpos is (nbatch, rows, nq).

    Row k is the result after (k + 1) * every steps.

    Attributes:
        outputs: by name, (nbatch, rows, ...); views into one array.
        diverged: (nbatch,), whether qpos or qvel is not finite at the end.
        nbad: (nbatch,), number of times that the inertia of a dof was not positive, as Data.nbad.
    """

    outputs: dict[str, Array]
    diverged: NDArray[np.bool_]
    nbad: NDArray[np.int64]

    def __getattr__(self, name: str) -> Any:
        outputs = vars(self).get("outputs", {})
        if name in outputs:
            return outputs[name]
        hint = did_you_mean(name, outputs)
        raise AttributeError(f"this rollout has no output '{name}'{hint}; there are "
                             f"{', '.join(outputs)}")  # fmt: skip

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.outputs.items())
        return f"<Rollout of {len(self.diverged)}: {shapes}; {self.diverged.sum()} diverged>"
