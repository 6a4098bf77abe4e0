# SPDX-License-Identifier: Apache-2.0
"""rollout: many robots of one Model over many steps, on all cores."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.cluster import LostError, connected
from rbdyn_ros.errors import Finding, RbdynError, bad_argument, did_you_mean
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.rollouts import arguments
from rbdyn_ros.rollouts.contact_step import MEMORY, ContactStep
from rbdyn_ros.rollouts.driver import Rows
from rbdyn_ros.rollouts.job import Job, Robots, remembered, slots_of, step_code, step_rows
from rbdyn_ros.rollouts.law import APPLIED, REFERENCE, RolloutLaw, law_of
from rbdyn_ros.rollouts.limits import warn_of_limits, warn_of_timestep
from rbdyn_ros.rollouts.outputs import check_memory, output_shapes
from rbdyn_ros.rollouts.params import FIELDS, Columns, columns
from rbdyn_ros.rollouts.policies import Policy
from rbdyn_ros.rollouts.pool import Pool
from rbdyn_ros.rollouts.shards import Arguments, divided


@dataclass(frozen=True)
class Rollout:
    """The outputs of robots, which are also attributes: r.qpos is (nbatch, rows, nq).

    Row k belongs to the state after (k + 1) * every steps.

    Attributes:
        outputs: dict from name to (nbatch, rows, ...); the arrays are views into one array.
        diverged: (nbatch,), True if qpos or qvel is not finite at the end.
        nbad: (nbatch,), how often the inertia of a dof was not positive, as Data.nbad.
    """

    outputs: dict[str, Array]
    diverged: Bools
    nbad: Ints

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


def rollout(
    m: Model,
    qpos0: ArrayLike,
    qvel0: ArrayLike,
    ctrl: ArrayLike | None = None,
    *,
    nstep: int,
    params: Mapping[str, Any] | None = None,
    policy: Policy | Callable[..., Any] | None = None,
    outputs: Sequence[str] = ("qpos", "qvel"),
    every: int = 1,
    threads: int | None = None,
    specialize: bool = True,
    progress: bool = True,
    ray: str | bool | None = None,
) -> Rollout:
    """Advance nbatch robots of a Model by nstep timesteps; return their outputs.

    Arguments with a batch axis (qpos0, qvel0, ctrl, params and the gains of the policy) have a row
    for each robot; arguments without a batch axis are shared by all robots. The results of a robot
    do not depend, bit for bit, on the other robots or the number of threads, even if another robot
    diverges. All robots start at time 0. Memory is needed for the outputs, the initial states, the
    parameters, and ctrl in its given shape.

    Args:
        m: the Model; its options apply to all robots.
        qpos0: positions at the start, (nq,) or (nbatch, nq).
        qvel0: velocities at the start, (nv,) or (nbatch, nv).
        ctrl: qfrc_applied [N m or N] of each step, or the reference of the policy: (n,),
            (nstep, n), (nbatch, nstep, n) or (nbatch, 1, n). None: no forces.
        nstep: number of timesteps.
        params: parameters that differ between robots, by field: body_mass, body_ipos,
            body_fullinertia, dof_armature, dof_damping, dof_frictionloss, dof_inertia0,
            jnt_stiffness, gravity; with specialize=False also actuator_*, see Batch.expand. A
            value is an array of the Model's shape or (nbatch, ...), or a mapping from names of
            bodies or joints to an entry or to (nbatch, ...) entries.
        policy: law of the forces: PDPolicy, PDGravityPolicy, ComputedTorquePolicy, or a function
            of (t, qpos, qvel, reference) that returns forces (nv,); None: ctrl holds the forces.
            The function is called only a few times, with arrays of symbols, and then compiled.
        outputs: any of qpos, qvel, time, qfrc_applied (of the last step), and xpos, xmat, xipos,
            subtree_com, cvel, energy (of the new state).
        every: number of steps per row of outputs; must divide nstep.
        threads: number of threads; None: one per core.
        specialize: whether to compile code for this Model that advances several robots side by
            side, and cache it on disk. Dry friction and limits of joints then follow the smooth
            law, as in rb.specialize; robots that touch planes with spheres have the law of
            rb.step, as in rb.Batch. False: use the engine's own code, which follows
            m.opt.exact_stops and also supports Models that cannot be specialised; without a policy
            it gives the bits of rb.step. With m.opt.exact_stops off, both codes give the same
            results up to rounding.
        progress: whether to show a progress bar if the output is a terminal.
        ray: address of a Ray cluster whose machines advance the robots instead, with the same
            results: 'auto' or True (the cluster of this machine), HOST:PORT of `ray start`, or
            ray://HOST:PORT. The cluster must be on a trusted network. If a machine is lost, its
            robots are advanced on another machine. A policy that is a function must be in a module
            that all machines have, or in the program itself.

    Raises:
        ParameterError: an argument is not allowed, or Ray is not installed or does not answer.
        ModelError: the Model cannot be specialised, or m is not a Model.
        KeyboardInterrupt: within about a tenth of a second after Ctrl-C.
    """
    check_model(m, "rollout")
    nstep, every = arguments.steps(nstep, every)
    threads = arguments.thread_count(threads)
    shapes = output_shapes(m, outputs)
    qpos = arguments.state("qpos0", qpos0, m.nq)
    qvel = arguments.state("qvel0", qvel0, m.nv)
    rows = arguments.control(ctrl, nstep, None if policy is not None else m.nv)
    law = law_of(m, policy, rows.shape[2]) if policy is not None else None
    own = columns(m, params)
    start = [Columns.whole(name, x) for name, x in (("qpos", qpos), ("qvel", qvel))]
    given = [*start, *own, *(_gains(m, law) if law else [])]
    nbatch = arguments.batch_size({"ctrl": len(rows), **_counts(given)})
    widths = {name: int(np.prod(shape, dtype=int)) for name, shape in shapes.items()}
    check_memory(nbatch, nstep // every, sum(widths.values()))
    if ray is not None and ray is not False:
        numbers = None if ctrl is None else np.asarray(ctrl, np.float64)
        common = {"nstep": nstep, "every": every, "outputs": tuple(outputs),
                  "specialize": specialize, "threads": 1, "progress": False}  # fmt: skip
        given_all = Arguments(m, qpos, qvel, numbers, params, policy, common)
        return _on_ray(ray, given_all, nbatch, shapes, progress)
    forces = (APPLIED,) if law is None and rows.shape[2] > 0 else ()
    places = {each.array: each.places.tolist() for each in own}
    step = step_code(m, places, law, forces, outputs, specialize)
    robots = Robots.new(nbatch, np.zeros((1, remembered(step)), np.int64))
    given += [Columns.whole(name, np.zeros((1, n))) for name, n in (("time", 1), ("act", m.na))]
    if isinstance(step, ContactStep):
        given.append(Columns.whole(MEMORY, np.zeros((1, step.memory_size))))
    job = Job(step, robots, m.work, given, (), (m.nq, m.nv))
    ctrl_rows = step_rows(step, REFERENCE if law else APPLIED, rows, nbatch)
    out = np.empty((nbatch, nstep // every, sum(widths.values())))
    with (
        _bar(nbatch * nstep, progress) as shown,
        contextlib.closing(Pool(threads, "rollout")) as pool,
    ):
        job.run(
            pool, nstep, every, ctrl=ctrl_rows, out=Rows(out, slots_of(step, widths)), shown=shown
        )
    result = _result(out, shapes, widths, robots)
    warn_of_timestep(m, result.qvel[:, -1] if "qvel" in shapes else None, stacklevel=2)
    if specialize and m.ncontact == 0 and "qpos" in shapes:
        warn_of_limits(m, result.qpos[:, -1], "specialize=False", stacklevel=2, start=qpos)
    return result


def _on_ray(
    address: str | bool,
    given: Arguments,
    nbatch: int,
    shapes: Mapping[str, tuple[int, ...]],
    progress: bool,
) -> Rollout:
    """Advance the robots on the machines of a cluster."""
    nstep, every = given.common["nstep"], given.common["every"]
    found = {name: np.empty((nbatch, nstep // every, *shape)) for name, shape in shapes.items()}
    robots, done = Robots.new(nbatch, np.zeros((1, 0), np.int64)), 0
    with connected(address) as cluster, _bar(nbatch * nstep, progress) as shown:
        shards = ((part, given.of(part)) for part in divided(nbatch, cluster.cores))
        common = given.m, given.common
        for (part, _), result in cluster.run(rollout_of_task, common, shards, _lost):
            for name, array in found.items():
                array[part] = result.outputs[name]
            robots.diverged[part], robots.nbad[part] = result.diverged, result.nbad
            done += part.stop - part.start
            if shown is not None:
                shown(done * nstep)
    speeds = found["qvel"][:, -1] if "qvel" in shapes else None
    warn_of_timestep(given.m, speeds, stacklevel=3)
    if given.common["specialize"] and given.m.ncontact == 0 and "qpos" in shapes:
        ends = found["qpos"][:, -1]
        warn_of_limits(given.m, ends, "specialize=False", stacklevel=3, start=given.qpos)
    return Rollout(found, robots.diverged, robots.nbad)


def rollout_of_task(shared: tuple[Model, dict[str, Any]], shard: tuple[slice, Any]) -> Rollout:
    """Return the rollout of some robots; called in a process of Ray."""
    m, common = shared
    return rollout(m, **shard[1], **common)


def _lost(shard: tuple[slice, Any], error: LostError) -> Rollout:
    part = shard[0]
    text = f"robots {part.start} to {part.stop - 1} are not advanced: {error}"
    raise RbdynError(Finding("robots-lost", text, "error", "ray")) from error


@contextlib.contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Callable[[int], None] | None]:
    """Open a progress bar if wanted.

    Yield a function that shows the finished robot-steps, or None.
    """
    if not wanted:
        yield None
        return
    # imported here, because the library of the progress bar is slow to import
    from rbdyn_ros.report import progress

    with progress.bar(
        total, desc="rollout", unit="step", unit_scale=True, delay=progress.PATIENCE
    ) as bar:
        yield lambda done: bar.update(done - bar.n)


def _result(
    out: Array, shapes: Mapping[str, tuple[int, ...]], widths: Mapping[str, int], robots: Robots
) -> Rollout:
    """Return the outputs as views of one array."""
    outputs, begin = {}, 0
    for name, shape in shapes.items():
        end = begin + widths[name]
        outputs[name] = out[:, :, begin:end].reshape(*out.shape[:2], *shape)
        begin = end
    return Rollout(outputs, robots.diverged, robots.nbad)


def _gains(m: Model, law: RolloutLaw) -> list[Columns]:
    """Return the gains as rows (nbatch or 1, nv), or raise ParameterError."""
    found = []
    for name, values in law.gains.items():
        if values.ndim > 0 and values.shape[-1] not in (1, m.nv):
            text = (
                f"{name} of the policy has the shape {values.shape}; allowed are one number, "
                f"({m.nv},), (nbatch, {m.nv}) and (nbatch, 1)"
            )
            raise bad_argument(name, text)
        rows = np.atleast_2d(values)
        full = np.broadcast_to(rows, (len(rows), m.nv))
        found.append(Columns.whole(name, full))
    return found


def _counts(given: Sequence[Columns]) -> dict[str, int]:
    """Return the number of robots of each argument, by its name."""
    called = {"qpos": "qpos0", "qvel": "qvel0"} | {name: f"params['{name}']" for name in FIELDS}
    return {called.get(each.array, each.array): len(each.values) for each in given}
