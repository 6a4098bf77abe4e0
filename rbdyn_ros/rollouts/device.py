# SPDX-License-Identifier: Apache-2.0
"""The interface of the processor or GPU that advances the robots of a Batch."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.model.data import Data


class Device(Protocol):
    """The memory and the processor of the robots of a Batch.

    Attributes:
        nbad, diverged: see Batch.
        why: reason why the engine's own code runs; "" if code for the Model runs.
    """

    why: str

    @property
    def nbad(self) -> Ints: ...

    @property
    def diverged(self) -> Bools: ...

    def zeros(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return new memory (*shape, nsim), filled with zeros, for the field `name`."""

    def given(self, value: Any) -> Any:
        """Convert a value so that it can be assigned to an array of this device."""

    def on_host(self, values: Array) -> Array:
        """Return an array as a NumPy array."""

    def check_own(self, name: str) -> None:
        """Check that each robot can have its own values of a field of the Model.

        Raises:
            ModelError: only the engine's own code, which is not used here, can read such values.
        """

    def prepare(self, memory: Mapping[str, Array], expanded: Collection[str]) -> None:
        """Prepare the code for the options of the Model, with the addresses of the arrays.

        Args:
            memory: arrays (..., nsim), by name of the field.
            expanded: names of the fields that belong to the Model; the other fields are bound.
        """

    def chosen(self, ids: ArrayLike) -> Any:
        """Return numbers of robots, given numbers or a mask.

        Raises:
            ParameterError: a number is out of range or occurs twice, or ids is not a list of
                numbers.
        """

    def run(self, nstep: int, ids: Any) -> None:
        """Advance robots by nstep timesteps, all if `ids` is None, and compute the outputs."""

    def clear(self, rows: Any) -> None:
        """Reset the counts and the memory of friction of some robots."""

    def remember(self, d: Data, k: int) -> None:
        """Write the memory of robot k, without its state, into a Data."""

    def counted(self, name: str) -> Ints:
        """Return the counter `name` of each robot, (nsim,)."""
