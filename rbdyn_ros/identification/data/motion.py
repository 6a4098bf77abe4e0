# SPDX-License-Identifier: Apache-2.0
"""A recorded motion of joints with its efforts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.checks.numbers import Shape, finite
from rbdyn_ros.control.arm.arm import check_arm
from rbdyn_ros.errors import Finding, ModelError, ParameterError, counted, did_you_mean, quote
from rbdyn_ros.model.model import Model

#: Code of the findings about a motion.
CODE = "bad-motion"

#: Larger numbers could give parameters beyond the range of a Model.
LARGEST = 1e50
#: Efforts above this fraction of the limit are saturated.
SATURATED = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Samples of the joints of a robot, one per row.

    Attributes:
        names: names of the joints (n,), in the order of the columns.
        time: (p,) increasing times of the samples [s].
        qpos, qvel, qacc: (p, n) motion of the joints [rad or m; per s; per s^2].
        effort: (p, n) efforts of the drives at the joints [N m or N].
        fast_qvel: (P, n) velocities before downsampling [rad/s or m/s]; None: qvel was not
            downsampled.
        thin: function that filters and downsamples rows (P, n) to (p, n) as was done with the
            efforts; None if and only if fast_qvel is None.
        kept: (p, n) False for unusable efforts: the drive was saturated, or the recording has a
            gap; None: all efforts are usable.

    Raises:
        ParameterError: a shape is wrong, a number is not finite, time does not increase, a name
            is empty or repeated, or there are fewer than two samples.
    """

    names: tuple[str, ...]
    time: Array
    qpos: Array
    qvel: Array
    qacc: Array
    effort: Array
    fast_qvel: Array | None = None
    thin: Callable[[Array], Array] | None = None
    kept: Bools | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _names(self.names))
        time = _rows("time", self.time, (None,))
        if len(time) < 2:
            raise _motion_error(
                f"a motion has {counted(len(time), 'sample')}; it needs at least 2"
            )
        late = np.flatnonzero(np.diff(time) <= 0.0)
        if len(late):
            i = int(late[0])
            raise _motion_error(
                f"the time of sample {i + 1} is {time[i + 1]!s} s after {time[i]!s} s; "
                "time must increase"
            )
        object.__setattr__(self, "time", time)
        for kind in ("qpos", "qvel", "qacc", "effort"):
            rows = _rows(kind, getattr(self, kind), (len(time), len(self.names)))
            object.__setattr__(self, kind, rows)
        if (self.fast_qvel is None) != (self.thin is None):
            raise _motion_error(
                "fast_qvel and thin of a motion belong together; give both or neither"
            )
        if self.fast_qvel is not None:
            fast = _rows("fast_qvel", self.fast_qvel, (None, len(self.names)))
            object.__setattr__(self, "fast_qvel", fast)
        if self.kept is not None:
            object.__setattr__(self, "kept", _marks(self.kept, self.qpos.shape))

    def of_velocity(self, function: Callable[[Array], Array]) -> Array:
        """Return the values (p, n) of a function of the velocities, filtered like the efforts.

        The filter also smooths the steps of dry friction. So the function is evaluated at the
        velocities before downsampling, if there are any, and then filtered ("parallel filtering").

        Args:
            function: maps velocities (k, n) to (k, n), row by row.

        Raises:
            ParameterError: the motion's `thin` returns another shape or numbers that are not
                finite.
        """
        if self.fast_qvel is None or self.thin is None:
            return np.asarray(function(self.qvel), np.float64)
        rows = np.asarray(self.thin(function(self.fast_qvel)), np.float64)
        if rows.shape != self.qvel.shape or not np.isfinite(rows).all():
            raise _motion_error(
                f"thin of a motion returns the shape {rows.shape}; expected finite numbers of "
                f"the shape {self.qvel.shape}"
            )
        return rows


def check_identifiable(m: Model) -> None:
    """Raise ModelError unless a Model is an arm (see check_arm) without springs."""
    check_arm(m)
    if m.nspring > 0 or m.nstiff > 0:
        text = f"'{m.name}' cannot be identified: it has springs, which are not supported"
        raise ModelError(Finding("not-an-arm", text))


def dof_names(m: Model) -> tuple[str, ...]:
    """Return the names of the joints with a dof, in the order of the dofs (nv,)."""
    return tuple(m.jnt_names[j] for j in m.dof_jntid)


def dofs_of(m: Model, motion: Motion) -> Ints:
    """Return the dof of every column of a motion, (n,).

    Raises:
        ModelError: for the reasons of check_identifiable.
        ParameterError: the argument is not a Motion, or names a joint without a dof of its own.
    """
    check_identifiable(m)
    if not isinstance(motion, Motion):
        raise ParameterError(Finding("not-a-motion", f"expected a Motion, got {motion!r:.80}"))
    numbers = {name: k for k, name in enumerate(dof_names(m))}
    for name in motion.names:
        if name not in numbers:
            reason = "is a mimic joint" if name in m.jnt_names else "is not a joint of the robot"
            raise _motion_error(
                f"joint {quote(name)} of the motion {reason}{did_you_mean(name, numbers)}; "
                f"allowed are {', '.join(list(numbers)[:20])}"
            )
    return np.array([numbers[name] for name in motion.names], np.int64)


def of_dofs(m: Model, dofs: Ints, columns: ArrayLike, rest: ArrayLike = 0.0) -> Array:
    """Return columns (p, n) of some dofs as columns (p, nv); all other dofs are at `rest`."""
    columns = np.asarray(columns, np.float64)
    rows = np.empty((len(columns), m.nv))
    rows[:] = rest
    rows[:, dofs] = columns
    return rows


def kept_samples(m: Model, motion: Motion, dofs: Ints) -> Bools:
    """Return a mask (p, n) of the samples that are usable and below the effort limit."""
    limits = m.jnt_effort[m.dof_jntid[dofs]]
    usable = np.where(limits > 0.0, SATURATED * limits, np.inf)
    below: Bools = np.abs(motion.effort) < usable
    return below if motion.kept is None else below & motion.kept


def resting(m: Model, rest: ArrayLike | None) -> Array:
    """Return the positions (nv,) of joints that are not in a motion; None means qpos0.

    Raises:
        ParameterError: rest is not nv finite numbers.
    """
    if rest is None:
        return np.asarray(m.qpos0, np.float64)
    if np.ndim(rest) != 1:
        raise _motion_error(f"rest is {rest!r:.80}; allowed are {m.nv} positions, one per joint")
    return finite("rest", rest, (m.nv,))


def check_calculable(*arrays: Array) -> None:
    """Raise ParameterError if numbers of a motion, or the sum of their squares, overflow."""
    with np.errstate(all="ignore"):
        sizes = [np.linalg.norm(array) for array in arrays]
    if not np.isfinite(sizes).all():
        raise beyond_calculation()


def beyond_calculation() -> ParameterError:
    """Return the error of a motion whose numbers overflow."""
    text = "numbers of the motion or of gravity are so large that calculations overflow"
    return ParameterError(Finding(CODE, text, "error", "motion"))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) == 0:
        raise _motion_error(
            f"names of a motion are {names!r:.80}; allowed is a list of joint names"
        )
    return chosen(names, names, "joint", _blank, code=CODE, element="motion", prefix="names: ")


def _blank(name: str) -> str:
    return "" if name.strip() else "has an empty name"


def _rows(kind: str, values: object, shape: Shape) -> Array:
    return finite(f"motion.{kind}", values, shape, -LARGEST, LARGEST, code=CODE, element="motion")


def _marks(values: object, shape: tuple[int, ...]) -> Bools:
    """Return read-only booleans (p, n), or raise ParameterError for other arrays."""
    marks = np.array(values)
    if marks.dtype != np.bool_ or marks.shape != shape:
        raise _motion_error(
            f"kept of a motion is {marks.dtype} of the shape {marks.shape}; allowed is bool of "
            f"the shape {shape}"
        )
    marks.flags.writeable = False
    return marks


def _motion_error(text: str) -> ParameterError:
    return ParameterError(Finding(CODE, text, "error", "motion"))
