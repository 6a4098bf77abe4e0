"""A recorded motion: what the joints did, and what efforts that took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.arm import check_arm
from rbdyn_ros.errors import Finding, ModelError, ParameterError, did_you_mean, quote
from rbdyn_ros.model.model import Model

SATURATED = 0.999  # of the effort limit


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Samples of the joints of a robot, one a row.

    Attributes:
        names: of the joints (n,), in the order of the columns.
        time: (p,) increasing [s].
        qpos, qvel, qacc: (p, n) [rad or m; per s; per s^2].
        effort: (p, n) of the drives, at the joints [N m or N].
        fast_qvel: (P, n) the velocities before they were thinned; None: qvel are all there are.
        thin: filters and thins rows (P, n) to (p, n), just as the efforts were; None with
            fast_qvel only.
        kept: (p, n) False where an effort tells nothing: the drive was saturated, or the
            recording has a gap; None: nowhere.

    Raises:
        ParameterError: for another shape, numbers that are not finite, time that does not
            increase, a name that is empty or there twice, or less than two samples.
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
        time = _finite("time", self.time, ())
        if len(time) < 2:
            raise _refused(f"a motion has {len(time)} samples; at least 2 are needed")
        late = np.flatnonzero(np.diff(time) <= 0.0)
        if len(late):
            i = int(late[0])
            raise _refused(
                f"the time of sample {i + 1} is {time[i + 1]!s} s after {time[i]!s} s; "
                "time has to increase"
            )
        object.__setattr__(self, "time", time)
        for kind in ("qpos", "qvel", "qacc", "effort"):
            rows = _finite(kind, getattr(self, kind), self.names)
            if len(rows) != len(time):
                raise _refused(
                    f"there are {len(rows)} rows of {kind} for {len(time)} samples of time"
                )
            object.__setattr__(self, kind, rows)
        if (self.fast_qvel is None) != (self.thin is None):
            raise _refused("a motion has only one of fast_qvel and thin; both or none are needed")
        if self.fast_qvel is not None:
            object.__setattr__(self, "fast_qvel", _finite("fast_qvel", self.fast_qvel, self.names))
        if self.kept is not None:
            object.__setattr__(self, "kept", _marks(self.kept, self.qpos.shape))

    def of_velocity(self, function: Callable[[Array], Array]) -> Array:
        """Return a function of velocities as the efforts have it in them, (p, n).

        A filter that takes the corners off the efforts takes them off dry friction too. So where
        there are velocities from before it was thinned, the function is of these, and filtered
        afterwards ("parallel filtering").

        Args:
            function: of velocities (k, n), answers (k, n), row by row.

        Raises:
            ParameterError: the motion's `thin` returns another shape or what is not finite.
        """
        if self.fast_qvel is None or self.thin is None:
            return np.asarray(function(self.qvel), np.float64)
        rows = np.asarray(self.thin(function(self.fast_qvel)), np.float64)
        if rows.shape != self.qvel.shape or not np.isfinite(rows).all():
            raise _refused(
                f"thin of a motion returns the shape {rows.shape}; finite numbers of the shape "
                f"{self.qvel.shape} are needed"
            )
        return rows


def check_identifiable(m: Model) -> None:
    """Raise ModelError unless a Model is an arm (see check_arm) whose joints have no springs."""
    check_arm(m)
    if m.nspring > 0 or m.nstiff > 0:
        text = f"'{m.name}' cannot be identified: it has springs; allowed are joints without"
        raise ModelError(Finding("not-an-arm", text))


def dof_names(m: Model) -> tuple[str, ...]:
    """Return the names of the joints that have a dof, in the order of the dofs (nv,)."""
    return tuple(m.jnt_names[j] for j in m.dof_jntid)


def dofs_of(m: Model, motion: Motion) -> Ints:
    """Return the dof of every column of a motion, (n,).

    Raises:
        ModelError: as check_identifiable.
        ParameterError: the motion is none, or names a joint that has no dof of its own.
    """
    check_identifiable(m)
    if not isinstance(motion, Motion):
        raise ParameterError(Finding("not-a-motion", f"a Motion is needed, got {motion!r:.80}"))
    numbers = {name: k for k, name in enumerate(dof_names(m))}
    for name in motion.names:
        if name not in numbers:
            why = "follows another one" if name in m.jnt_names else "is not one of the robot's"
            raise _refused(
                f"joint {quote(name)} of the motion {why}{did_you_mean(name, numbers)}; "
                f"allowed are {', '.join(list(numbers)[:20])}"
            )
    return np.array([numbers[name] for name in motion.names], np.int64)


def of_dofs(m: Model, dofs: Ints, columns: ArrayLike, rest: ArrayLike = 0.0) -> Array:
    """Return columns (p, n) of some joints as columns of all dofs (p, nv); others are at rest."""
    columns = np.asarray(columns, np.float64)
    rows = np.empty((len(columns), m.nv))
    rows[:] = rest
    rows[:, dofs] = columns
    return rows


def kept_samples(m: Model, motion: Motion, dofs: Ints) -> Bools:
    """Return which samples (p, n) were not marked as saturated and are below the effort limit."""
    limits = m.jnt_effort[m.dof_jntid[dofs]]
    usable = np.where(limits > 0.0, SATURATED * limits, np.inf)
    below: Bools = np.abs(motion.effort) < usable
    return below if motion.kept is None else below & motion.kept


def resting(m: Model, rest: ArrayLike | None) -> Array:
    """Return where joints stand that are not in a motion, (nv,); None: at qpos0.

    Raises:
        ParameterError: it is not nv finite numbers.
    """
    if rest is None:
        return np.asarray(m.qpos0, np.float64)
    if np.ndim(rest) != 1:
        raise _refused(f"rest is {rest!r:.80}; allowed are {m.nv} positions, one of each joint")
    return finite("rest", rest, (m.nv,))


def beyond_calculation() -> ParameterError:
    """Return the error of a motion from which nothing finite can be calculated."""
    text = "numbers of the motion or of gravity are too large to calculate with"
    return ParameterError(Finding("bad-motion", text, "error", "motion"))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) == 0:
        raise _refused(f"the names of a motion are {names!r:.80}; allowed is a list of joints")
    seen = set()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise _refused(f"a joint of a motion is called {name!r:.80}; a name is needed")
        if name in seen:
            raise _refused(f"joint {quote(name)} is named twice in a motion")
        seen.add(name)
    return tuple(names)


def _finite(kind: str, values: object, names: tuple[str, ...]) -> Array:
    """Return read-only rows of finite numbers: (p,) if there are no names, else (p, n)."""
    try:
        rows = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise _refused(f"{kind} of a motion is {values!r:.80}; numbers are needed") from None
    shape = ("p", len(names)) if names else ("p",)
    if rows.ndim != len(shape) or (names and rows.shape[1] != len(names)):
        raise _refused(f"{kind} of a motion has shape {rows.shape}; allowed is {shape}")
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        of = f" of joint {quote(names[bad[0][1]])}" if names else ""
        value = rows[tuple(bad[0])]
        raise _refused(f"{kind}{of} is {value} in sample {bad[0][0]}; a finite number is needed")
    rows.flags.writeable = False
    return rows


def _marks(values: object, shape: tuple[int, ...]) -> Bools:
    """Return read-only truth values (p, n)."""
    marks = np.array(values)
    if marks.dtype != np.bool_ or marks.shape != shape:
        raise _refused(
            f"kept of a motion is {marks.dtype} of the shape {marks.shape}; allowed is bool of "
            f"the shape {shape}"
        )
    marks.flags.writeable = False
    return marks


def _refused(text: str) -> ParameterError:
    return ParameterError(Finding("bad-motion", text, "error", "motion"))
