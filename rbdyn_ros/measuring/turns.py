# SPDX-License-Identifier: Apache-2.0
"""Time jobs in turns in one process: A B C A B C ...

If the speed of the machine drifts, it drifts for all jobs; the ratios of their times stay valid.
"""

import statistics
import time
from collections.abc import Callable, Sequence

from rbdyn_ros.dynamics import stages as api
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.model.model import Model

Job = Callable[[int], None]  # a function that runs its work n times

ROUNDS = 15

#: Names of two jobs: many timesteps in one call, and one timestep in each call.
STEPS, TICK = "step(m, d, n)", "step(m, d)"


def in_turns(
    jobs: Sequence[Job],
    seconds: float = 0.02,
    rounds: int = ROUNDS,
    after_round: Callable[[], object] = lambda: None,
) -> list[list[float]]:
    """Return for each job a list with the time of one run in each round [us].

    Args:
        jobs: the jobs; each runs once before the first round, to compile its kernels.
        seconds: approximate time for a job in a round [s].
        rounds: number of rounds.
        after_round: function to call after each round.
    """
    counts = [_count_for(job, seconds) for job in jobs]
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, count, row in zip(jobs, counts, times, strict=True):
            start = time.perf_counter()
            job(count)
            row.append((time.perf_counter() - start) / count * 1e6)
        after_round()
    return times


def _count_for(job: Job, seconds: float) -> int:
    job(1)  # compiles, and fills caches
    count = 1
    while True:
        start = time.perf_counter()
        job(count)
        spent = time.perf_counter() - start
        if spent > seconds / 2:
            return max(1, int(count * seconds / spent))
        count *= 2


def median_ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Return the median over all rounds of theirs / ours; if it is above 1, we are faster."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))


def repeated(call: Callable[[], object], reset: Callable[[], object] = lambda: None) -> Job:
    """Return a job that calls `reset`, then calls `call` n times."""

    def job(n: int) -> None:
        reset()
        for _ in range(n):
            call()

    return job


def stepped(step: Callable[[int], object], reset: Callable[[], object] = lambda: None) -> Job:
    """Return a job that calls `reset`, then `step` once with n, the number of steps."""

    def job(n: int) -> None:
        reset()
        step(n)

    return job


def our_jobs(m: Model) -> dict[str, Job]:
    """Return the jobs of a robot by name; all jobs start at rest at qpos0.

    Friction and limits of joints follow the smooth law, because the peers' constraints are off.
    """
    m = m.replaced()
    m.opt.exact_stops = False
    d = api.make_data(m)

    def reset() -> None:
        api.reset_data(m, d)

    jobs = {
        STEPS: stepped(lambda n: api.step(m, d, n), reset),
        TICK: repeated(lambda: api.step(m, d), reset),
        "forward": repeated(lambda: api.forward(m, d), reset),
        "forward_dynamics": repeated(lambda: api.forward_dynamics(m, d), reset),
        "inverse": repeated(lambda: api.inverse(m, d), reset),
        "mass_matrix": repeated(lambda: mass_matrix(m, d), reset),
        "kinematics": repeated(lambda: api.kinematics(m, d), reset),
    }
    if m.nM == 0 and m.nv > 0:  # M is too large to be stored
        del jobs["mass_matrix"]
    return jobs
