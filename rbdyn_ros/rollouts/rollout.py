"""rollout: many robots of one Model over many steps, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ModelError, bad_argument
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.rollouts import arguments
from rbdyn_ros.rollouts.engine_step import EngineStep
from rbdyn_ros.rollouts.job import Job, Step
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.rollouts.law import APPLIED, REFERENCE, RolloutLaw, law_of
from rbdyn_ros.rollouts.outputs import STEP_OUTPUTS, check_memory, output_shapes
from rbdyn_ros.rollouts.params import FIELDS, Columns, columns, with_springs
from rbdyn_ros.rollouts.policies import Policy
from rbdyn_ros.rollouts.result import Rollout
from rbdyn_ros.rollouts.sharing import Sharing
from rbdyn_ros.specialization.machine import check_compiler


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
) -> Rollout:
    """Advance nbatch robots of a Model by nstep timesteps; return their outputs.

    Arguments with a batch axis (qpos0, qvel0, ctrl, params and the gains of the policy) give each
    robot its own row; arguments without one are shared by all robots. The result of a robot
    depends neither on the other robots nor on the threads, to the last bit, even if another robot
    diverges. All robots start at time 0. Memory is needed for the outputs, the initial states, the
    parameters, and ctrl as given.

    Args:
        m: the Model; its options hold for all robots.
        qpos0: positions at the start, (nq,) or (nbatch, nq).
        qvel0: velocities at the start, (nv,) or (nbatch, nv).
        ctrl: qfrc_applied [N m or N] by step, or the reference of the policy: (n,), (nstep, n),
            (nbatch, nstep, n) or (nbatch, 1, n). None: no forces.
        nstep: number of timesteps.
        params: parameters that differ between robots, by field: body_mass, body_ipos,
            body_fullinertia, dof_armature, dof_damping, dof_frictionloss, jnt_stiffness, gravity.
            An array of the Model's shape or (nbatch, ...), or a mapping from the name of a body or
            joint to its entry, or (nbatch, ...) entries.
        policy: PDPolicy, PDGravityPolicy, ComputedTorquePolicy, or a function of (t, qpos, qvel,
            reference) that returns forces (nv,). It is called a few times, with arrays of symbols.
        outputs: any of qpos, qvel, time, qfrc_applied (of the last step), and of these functions
            of the new state: xpos, xmat, xipos, subtree_com, cvel, energy.
        every: number of steps per row of outputs; must divide nstep.
        threads: number of threads; None: one per core.
        specialize: compile code for this Model that advances several robots side by side, and
            cache it on disk. False: use the engine's own code, which also takes Models that cannot
            be specialised. Both give the same results up to rounding; without a policy, the
            engine's own code gives the bits of rb.step.
        progress: show a progress bar, if there is a terminal.

    Raises:
        ParameterError: an argument is not allowed.
        ModelError: the Model cannot be specialised, or m is not a Model.
        KeyboardInterrupt: after Ctrl-C, within about a tenth of a second.
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
    given = [*_states(qpos, qvel), *own, *(_gains(m, law) if law else [])]
    nbatch = arguments.batch_size({"ctrl": len(rows), **_counts(given)})
    widths = {name: int(np.prod(shape, dtype=int)) for name, shape in shapes.items()}
    check_memory(nbatch, nstep // every, sum(widths.values()))
    given_forces = law is None and rows.shape[2] > 0
    step = _step(m, own, law, given_forces, outputs, specialize)
    job = Job(step, nbatch, every, given, REFERENCE if law else APPLIED, rows, widths)
    Sharing(nbatch, nstep, step.width, m.work).run(job.worker, threads, progress)
    return job.result(shapes)


def _states(qpos: Array, qvel: Array) -> list[Columns]:
    return [
        Columns(name, np.arange(values.shape[1]), values)
        for name, values in (("qpos", qpos), ("qvel", qvel))
    ]


def _gains(m: Model, law: RolloutLaw) -> list[Columns]:
    """Return the gains as rows (nbatch or 1, nv)."""
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
        found.append(Columns(name, np.arange(m.nv), full))
    return found


def _counts(given: Sequence[Columns]) -> dict[str, int]:
    """Return the number of robots of each argument, by its name."""
    called = {"qpos": "qpos0", "qvel": "qvel0"} | {name: f"params['{name}']" for name in FIELDS}
    return {called.get(each.array, each.array): len(each.values) for each in given}


def _step(
    m: Model, own: Sequence[Columns], law: RolloutLaw | None, given: bool, outputs: Sequence[str],
    specialize: bool,
) -> Step:  # fmt: skip
    """Return the code of a step; the Model keeps it for later calls."""
    check_compiler("rollout")
    observed = tuple(name for name in outputs if name not in STEP_OUTPUTS)
    places = {each.array: tuple(each.places.tolist()) for each in own}
    key = (specialize, repr(m.opt), m.opt.gravity.tobytes(), given, observed, *places.items())
    known: dict[Any, Step] = vars(m).setdefault("rollout_code", {})
    key += (law.key,) if law else ()
    if key not in known:
        made = _made_step(with_springs(m, own), places, law, given, observed, specialize)
        if law is not None and law.key is None:  # a function of the user may change
            return made
        known[key] = made
    return known[key]


def _made_step(
    m: Model, own: Mapping[str, Sequence[int]], law: RolloutLaw | None, given: bool,
    outputs: Sequence[str], specialize: bool,
) -> Step:  # fmt: skip
    if law is not None:
        law.check_repeatable()
    if not specialize:
        return EngineStep(m, own, law, outputs)
    try:
        return LaneStep(m, own, law, given, outputs)
    except ModelError as error:
        if error.code != "not-traceable":
            raise
        text = f"{error}; specialize=False uses the engine's own code"
        raise ModelError(Finding("not-traceable", text, "error", m.name)) from None
