# SPDX-License-Identifier: Apache-2.0
"""Ordinary uses of an arm, each a function of an armed loop; none may end in a fault.

    python test/control/uses.py [--robots FILE,...] [--uses NAME,...] [--modes NAME,...]

runs all uses, or only the named ones, and prints the faults.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script

import numpy as np
from battery import motion, rubbed
from closed_loop import BENT, FILES, SEVEN, ClosedLoop, model

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.motion.planning import quintic
from rbdyn_ros.errors import RbdynError

FOLLOWING = ("computed_torque", "impedance")
HOLDING = ("hold", *FOLLOWING)
MODES = ("gravity", *HOLDING)
#: Rate at which a hand accelerates joints to its own velocity [1/s].
GRIP = 20.0
#: Interval at which a hand changes its force [s].
TOUCH = 0.002
#: Share of an effort limit that gravity and a push may use together.
BORNE = 0.9
#: The link that carries payloads and is pushed, for each robot file.
TOOL = {
    "ur5_robot.urdf": "tool0",
    "panda.urdf": "panda_hand",
    "kinova.urdf": "j2s6s200_end_effector",
    SEVEN: "tool_flange",
}
#: Postures with aligned joints, and stretched postures.
SINGULAR = {
    "ur5_robot.urdf": (0.3, -1.2, 0.0, -0.4, 0.0, 0.4),
    "panda.urdf": (0.0, 0.4, 0.0, -0.3, 0.0, 0.6, 0.0, 0.01),
    "kinova.urdf": (0.3, 2.2, 1.4, 0.5, np.pi, 0.2),
    SEVEN: (0.3, 0.6, 0.0, 0.0, 0.0, 0.0, 0.2),
}


@dataclasses.dataclass(frozen=True)
class Use:
    """An ordinary use of an arm.

    Attributes:
        act: generator that runs an armed loop and yields Traces.
        modes: modes in which the use is tried.
        given: keyword arguments of the loop.
        file_given: function of a robot file that returns more keyword arguments of the loop.
    """

    act: Callable
    modes: tuple[str, ...] = MODES
    given: dict = dataclasses.field(default_factory=dict)
    file_given: Callable = lambda _: {}


USES: dict[str, Use] = {}


def use(*modes, file_given=lambda _: {}, **given):
    """Return a decorator that registers a function as an ordinary use with the function's name."""

    def add(act):
        USES[act.__name__] = Use(act, modes or MODES, given, file_given)
        return act

    return add


def loop_of(file, mode, use):
    """Return an armed loop for a use, in a mode, after its bumpless start."""
    m = model(file)
    given = {"gate": {"blend_time": 0.05}} | use.given | use.file_given(file)
    if mode == "impedance":
        M = rb.mass_matrix(m, at(m, given.get("qpos", BENT[file])))
        felt = 1.0 / np.diag(np.linalg.inv(M))  # inertia of each joint while the others are free
        given |= {"impedance_stiffness": 400.0 * felt, "impedance_damping": 40.0 * felt}
    loop = ClosedLoop(m, mode=mode, **given).arm()
    loop.run(0.2)
    return loop


def at(m, qpos):
    """Return a Data with these positions."""
    d = rb.make_data(m)
    d.qpos[:] = qpos
    return d


def fault_of(file, name, mode):
    """Run a use; return its fault's code ("" for none) and the speed as a share of a limit."""
    ordinary = USES[name]
    loop = loop_of(file, mode, ordinary)
    limits, fastest = loop.gate.limits, 0.0
    for trace in ordinary.act(loop):
        share = np.abs(trace.qvel[:, limits.dofs]) / limits.velocity
        fastest = max(fastest, float(share.max()))
        if loop.controller.fault is not None:
            return loop.controller.fault.code, fastest
    armed = loop.controller.armed and loop.answer is not None
    return "" if armed else "silent", fastest


# the parts of the uses


def way(loop, size):
    """Return displacements of up to `size` [rad or m] towards the middle of each joint's range."""
    wanted = np.sign(motion(loop, 1.0)[loop.dofs])
    limits = loop.gate.limits
    room = np.where(np.isfinite(limits.upper - limits.lower), limits.upper - limits.lower, 6.0)
    return wanted * np.minimum(size, 0.2 * room)


def go(loop, steps, time):
    """Start a path from the present target through points displaced by `steps`, in a time [s]."""
    start = loop.controller.progress().desired[0].copy()
    points = np.stack([start, *(start + step for step in steps)])
    loop.controller.follow_path(quintic(points, np.linspace(0.0, time, len(points))))


def time_of(loop, step, share):
    """Return the time [s] of a quintic displacement that reaches a share of a velocity limit."""
    return float((1.875 * np.abs(step) / (share * loop.gate.limits.velocity)).max())


def file_of(loop):
    return next(file for file in FILES if loop.plant.name in file)


def acceleration_by(loop, force):
    """Return joint efforts and joint accelerations due to a force at the tool [N, world axes]."""
    J = rb.frame_jacobian(loop.plant, loop.d, TOOL[file_of(loop)])[3:]
    push = J.T @ np.asarray(force, float)
    own = at(loop.plant, loop.d.qpos)
    return push, np.linalg.solve(rb.mass_matrix(loop.plant, own), push)


def pull(loop, direction, acceleration):
    """Push the tool so strongly that one joint would accelerate at this rate [rad/s^2].

    In mode hold, 40 rad/s^2 displace the arm by 0.1 rad. The push is smaller if gravity and the
    push together would exceed the share BORNE of an effort limit, as for a heavy iiwa.
    """
    push, found = acceleration_by(loop, direction)
    push *= acceleration / np.abs(found).max()
    own = at(loop.plant, loop.d.qpos)
    held, most = np.abs(rb.gravity_term(loop.plant, own))[loop.dofs], loop.gate.limits.effort
    # a push of 5 % of the limit is always allowed
    room = np.maximum(BORNE * most - held, 0.05 * most)
    loop.push[:] = push / max(1.0, float(np.max(np.abs(push[loop.dofs]) / room)))


def bearable(loop):
    """Return the mass [kg] under which the arm sags by 0.05 rad, but at most 1 kg."""
    _, found = acceleration_by(loop, (0.0, 0.0, -9.81))
    return min(1.0, 20.0 / np.abs(found).max())


def carry(loop, mass):
    """Let the plant carry a mass [kg] (0 for none) at its tool; return the link of the tool."""
    link, bare = TOOL[file_of(loop)], model(file_of(loop))
    plant = Arm(bare).with_payload(link, mass, (0, 0, 0)).m if mass else bare
    plant = plant.replaced()
    plant.opt.gravity, plant.opt.passive = loop.plant.opt.gravity, loop.plant.opt.passive
    d = at(plant, loop.d.qpos)
    d.qvel[:] = loop.d.qvel
    loop.plant, loop.d = plant, d
    return link


def gripped(loop, wanted):
    """Run for TOUCH while a hand drives joints to velocities (nv,); return the Trace."""
    m, v = loop.plant, loop.d.qvel
    sticking = m.dof_frictionloss * m.opt.passive * (np.abs(v) < 0.01)
    M = rb.mass_matrix(m, at(m, loop.d.qpos))
    loop.push[:] = M @ (GRIP * (wanted - v)) + sticking * np.sign(wanted)
    return loop.run(TOUCH)


def hand(loop, share, rate, duration, joints=slice(None)):
    """Yield Traces while a hand moves joints to and fro, at up to a share of velocity limits."""
    limits = loop.gate.limits
    fastest = np.zeros(loop.plant.nv)
    fastest[limits.dofs] = share * limits.velocity * np.sign(way(loop, 1.0))
    fastest[np.setdiff1d(limits.dofs, limits.dofs[joints])] = 0.0
    for t in np.arange(0.0, duration, TOUCH):
        yield gripped(loop, fastest * np.sin(rate * t))
    loop.push[:] = 0.0
    yield loop.run(0.3)


# paths


@use(*FOLLOWING)
def slow_path(loop):
    go(loop, [way(loop, 0.1)], 2.0)
    yield loop.run(2.3)


@use(*FOLLOWING)
def fast_path(loop):
    step = way(loop, 0.5)
    time = time_of(loop, step, 0.8)
    go(loop, [step], time)
    yield loop.run(time + 0.3)


@use(*FOLLOWING)
def path_there_and_back(loop):
    step = way(loop, 0.3)
    time = 2.5 * time_of(loop, step, 0.5)
    go(loop, [step, 0.0 * step], time)
    yield loop.run(time + 0.3)


@use(*FOLLOWING)
def path_of_many_points(loop):
    step = way(loop, 0.2)
    go(loop, [0.3 * step, step, 0.5 * step, 0.8 * step, 0.2 * step], 3.0)
    yield loop.run(3.3)


@use(*FOLLOWING)
def one_joint_after_the_other(loop):
    step = way(loop, 0.2)
    for k in range(len(step)):
        one = np.where(np.arange(len(step)) == k, step, 0.0)
        time = time_of(loop, one, 0.3)
        if not time:
            continue
        go(loop, [one], time)
        yield loop.run(time + 0.05)


@use(*FOLLOWING)
def tiny_steps(loop):
    for sign in (1.0, -1.0, 1.0):
        go(loop, [sign * way(loop, 0.005)], 0.2)
        yield loop.run(0.3)


@use(*FOLLOWING)
def preempted_goal(loop):
    go(loop, [way(loop, 0.4)], 1.5)
    yield loop.run(0.6)
    go(loop, [-0.2 * way(loop, 0.4)], 1.5)
    yield loop.run(1.9)


@use(*FOLLOWING)
def goals_preempted_again_and_again(loop):
    for size in (0.3, -0.1, 0.2, -0.2, 0.1):
        go(loop, [size * way(loop, 1.0)], 1.5)
        yield loop.run(0.3)
    yield loop.run(1.5)


@use(*FOLLOWING)
def cancelled_goal(loop):
    step = way(loop, 0.4)
    go(loop, [step], time_of(loop, step, 0.6))
    yield loop.run(0.3)
    loop.controller.stop_following()
    yield loop.run(0.8)


@use(*FOLLOWING)
def goal_beside_the_state(loop):
    start = loop.d.qpos[loop.dofs] + 0.2 * way(loop, 0.2)
    loop.controller.follow_path(quintic([start, start + way(loop, 0.2)], [0.0, 1.5]))
    yield loop.run(1.8)


@use(*FOLLOWING)
def goal_far_beside_the_state(loop):
    """If the controller refuses the goal, another path follows."""
    start = loop.d.qpos[loop.dofs] + way(loop, 0.2)
    try:
        loop.controller.follow_path(quintic([start, start + way(loop, 0.1)], [0.0, 1.5]))
    except RbdynError:
        go(loop, [way(loop, 0.2)], 1.5)
    yield loop.run(1.8)


@use(*FOLLOWING)
def path_to_the_limits(loop):
    limits, start = loop.gate.limits, loop.d.qpos[loop.dofs].copy()
    goal = np.where(np.isfinite(limits.upper), limits.upper - 0.005, start)
    # only the wrist moves, for other joints would cause a collision or load the wrist
    alone = np.arange(len(goal)) == len(goal) - 1
    step = np.where(alone, goal - start, 0.0)
    time = max(time_of(loop, step, 0.5), 0.5)
    go(loop, [step], time)
    yield loop.run(time + 0.5)


@use("computed_torque")
def path_through_a_singular_pose(loop):
    """In mode impedance, gains that suit the first posture would shake the Kinova here."""
    step = np.asarray(SINGULAR[file_of(loop)])[loop.dofs] - loop.d.qpos[loop.dofs]
    time = time_of(loop, step, 0.15)
    go(loop, [step, 0.7 * step], 1.3 * time)
    yield loop.run(1.3 * time + 0.3)


@use(*HOLDING)
def modes_changed_in_turn(loop):
    c, first = loop.controller, loop.controller.mode
    for mode in ("gravity", "hold", "computed_torque", first):
        c.set_mode(mode)
        yield loop.run(0.3)


@use(*FOLLOWING)
def mode_changed_on_the_way(loop):
    step, first = way(loop, 0.4), loop.controller.mode
    go(loop, [step], time_of(loop, step, 0.5))
    yield loop.run(0.25)
    loop.controller.set_mode("hold")
    yield loop.run(0.5)
    loop.controller.set_mode(first)
    yield loop.run(0.3)


# forces


@use(*HOLDING)
def firm_contact(loop):
    for hard in (*np.linspace(0.0, 40.0, 30), *[40.0] * 40, *np.linspace(40.0, 0.0, 30)):
        pull(loop, (0.0, 0.0, 1.0), hard)
        yield loop.run(0.01)
    yield loop.run(0.5)


@use()
def leaning_on_the_arm(loop):
    for hard in np.linspace(0.0, 2.0, 30):
        pull(loop, (1.0, 0.0, -1.0), hard)
        yield loop.run(0.02)
    loop.push[:] = 0.0
    yield loop.run(0.5)


@use()
def knocks(loop):
    for _ in range(3):
        pull(loop, (0.0, 1.0, 0.0), 20.0)
        yield loop.run(0.02)
        loop.push[:] = 0.0
        yield loop.run(0.3)


@use()
def vibration(loop):
    for k in range(100):
        pull(loop, (0.0, 1.0, 0.0), 10.0 * np.sin(2.0 * np.pi * 20.0 * 0.01 * k))
        yield loop.run(0.01)
    loop.push[:] = 0.0
    yield loop.run(0.2)


@use(*FOLLOWING)
def path_into_a_soft_wall(loop):
    """A soft object stops the tool before the end of the path."""
    tool = TOOL[file_of(loop)]
    begun = rb.frame_pose(loop.plant, loop.d, tool)[0].copy()
    go(loop, [way(loop, 0.1)], 1.0)
    for _ in range(130):
        place = rb.frame_pose(loop.plant, loop.d, tool)[0]
        push, found = acceleration_by(loop, 300.0 * (begun - place))
        loop.push[:] = push * min(1.0, 40.0 / max(np.abs(found).max(), 1e-9))
        yield loop.run(0.01)


@use("gravity")
def teaching_by_hand(loop):
    yield from hand(loop, 0.3, 3.0, 2.0)


@use("gravity")
def teaching_by_hand_in_jerks(loop):
    yield from hand(loop, 0.2, 12.0, 1.5)


@use(*HOLDING)
def pushed_aside_and_let_go(loop):
    yield from hand(loop, 0.05, 5.0, 1.0)


# loads


@use(*HOLDING)
def declared_payload_picked_and_dropped(loop):
    for mass in (bearable(loop), 0.0):
        link = carry(loop, mass)
        yield loop.run(1.5)
        loop.controller.set_payload(link, mass, (0, 0, 0), (0.0,) * 6)
        yield loop.run(0.6)


@use(*FOLLOWING)
def declared_payload_carried(loop):
    mass = 0.5 * bearable(loop)
    link = carry(loop, mass)
    yield loop.run(1.5)
    loop.controller.set_payload(link, mass, (0, 0, 0), (0.0,) * 6)
    yield loop.run(0.6)
    go(loop, [way(loop, 0.3)], 1.5)
    yield loop.run(1.8)


@use()
def small_load_that_nobody_declared(loop):
    carry(loop, 0.1 * bearable(loop))
    yield loop.run(0.7)


# postures


@use(file_given=lambda file: {"qpos": SINGULAR[file]})
def singular_pose(loop):
    yield loop.run(1.0)


@use(*FOLLOWING, file_given=lambda file: {"qpos": SINGULAR[file]})
def path_from_a_singular_pose(loop):
    go(loop, [way(loop, 0.2)], 1.5)
    yield loop.run(1.8)


def limited_joint(limits):
    """Return the index of the last joint of the arm (not of a gripper) that has limits."""
    return int(np.flatnonzero(np.isfinite(limits.upper) & (limits.velocity > 0.3))[-1])


def at_a_limit(file, inside=1e-4):
    """Return the argument `qpos` with the last limited joint this far inside its limit."""
    q, limits = np.array(BENT[file]), Limits.of(model(file))
    k = limited_joint(limits)
    room = limits.upper[k] - limits.lower[k]
    q[limits.dofs[k]] = limits.upper[k] - min(inside, 0.3 * room)
    return {"qpos": q}


@use(file_given=at_a_limit)
def joint_at_its_limit(loop):
    yield loop.run(1.0)


@use()
def long_rest(loop):
    yield loop.run(3.0)


# friction


def friction(known, times=1.0):
    """Return a `file_given` with friction; the controller knows a share `known` of it."""

    def given(file):
        m = model(file)
        plant = rubbed(m)
        real = plant.replaced(
            dof_damping=times * plant.dof_damping,
            dof_frictionloss=times * plant.dof_frictionloss,
        )
        real.opt.passive = True
        return {"plant": real, "arm": {"friction": Friction.of_model(plant).scaled(known)}}

    return given


@use(*FOLLOWING, file_given=friction(0.9))
def path_with_known_friction(loop):
    go(loop, [way(loop, 0.3)], 1.5)
    yield loop.run(1.8)


@use(*FOLLOWING, file_given=friction(0.9, times=3.0))
def path_with_three_times_the_friction(loop):
    go(loop, [way(loop, 0.3)], 2.0)
    yield loop.run(2.3)


@use(*FOLLOWING, file_given=friction(0.9))
def creeping_path(loop):
    go(loop, [way(loop, 0.02)], 2.0)
    yield loop.run(2.3)


@use(file_given=friction(0.9))
def rest_with_friction(loop):
    yield loop.run(1.5)


def near_the_limit(file):
    """Return arguments of a loop with friction and its last joint near a limit."""
    return friction(0.9)(file) | at_a_limit(file, 0.05)


@use("gravity", file_given=near_the_limit)
def pushed_into_a_limit_by_hand(loop):
    k, wanted = limited_joint(loop.gate.limits), np.zeros(loop.plant.nv)
    for share in (0.2, -0.2):  # first against the limit, then back
        wanted[loop.dofs[k]] = share * loop.gate.limits.velocity[k]
        for _ in range(200):
            yield gripped(loop, wanted)
    loop.push[:] = 0.0
    yield loop.run(0.3)


@use("gravity", file_given=friction(0.9))
def teaching_by_hand_with_friction(loop):
    yield from hand(loop, 0.3, 3.0, 1.5)


# states


def changed(loop, duration, change):
    """Yield Traces of single ticks, with states that the function `change` returns."""
    for _ in range(round(duration / loop.h)):
        yield loop.run(loop.h, **change(loop))


def moving_with(loop, change):
    """Like `changed`, while the arm follows a path (or rests in modes without paths)."""
    if loop.controller.mode in FOLLOWING:
        go(loop, [way(loop, 0.3)], 1.2)
    yield from changed(loop, 1.5, change)


@use()
def noisy_velocities(loop):
    draw = np.random.default_rng(1)
    yield from moving_with(
        loop, lambda it: {"velocity": it.d.qvel + draw.normal(0.0, 0.02, len(it.d.qvel))}
    )


@use()
def velocities_from_a_coarse_encoder(loop):
    """Positions have steps of 1e-4 rad; velocities are their differences over 1 ms."""
    last = [loop.d.qpos.copy()]

    def change(it):
        read = np.round(it.d.qpos / 1e-4) * 1e-4
        velocity = (read - last[0]) / it.h
        last[0] = read
        return {"position": read, "velocity": velocity}

    last[0] = np.round(loop.d.qpos / 1e-4) * 1e-4
    yield from moving_with(loop, change)


@use()
def noisy_efforts(loop):
    draw, limits = np.random.default_rng(2), loop.gate.limits

    def change(it):
        noise = np.zeros(len(it.applied))
        noise[it.dofs] = draw.normal(0.0, 0.005, len(it.dofs)) * limits.effort
        return {"effort": it.applied + noise}

    yield from moving_with(loop, change)


@use()
def states_that_arrive_late(loop):
    draw = np.random.default_rng(3)
    yield from moving_with(loop, lambda it: {"arrival": it.now + int(draw.integers(0, 3_000_000))})


@use()
def lost_states(loop):
    draw = np.random.default_rng(4)
    if loop.controller.mode in FOLLOWING:
        go(loop, [way(loop, 0.3)], 1.2)
    for _ in range(150):
        loop.publish = draw.random() > 0.05
        yield loop.run(0.01 if loop.publish else 0.002)
    loop.publish = True
    yield loop.run(0.2)


def at_rate(loop, period):
    loop.h = period
    if loop.controller.mode in FOLLOWING:
        go(loop, [way(loop, 0.3)], 1.5)
    yield loop.run(1.8)


@use()
def states_at_500_hz(loop):
    yield from at_rate(loop, 0.002)


@use()
def states_at_250_hz(loop):
    yield from at_rate(loop, 0.004)


# the base


@use()
def base_that_was_moved(loop):
    """The base tilts by a degree within a second, and stays tilted."""
    g = np.array(loop.plant.opt.gravity)
    for angle in np.linspace(0.0, np.radians(1.0), 50):
        c, s = np.cos(angle), np.sin(angle)
        turned = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ g
        loop.plant.opt.gravity = tuple(turned.tolist())
        yield loop.run(0.02)
    yield loop.run(0.5)


@use()
def base_that_drives(loop):
    """The base accelerates by 0.5 m/s^2 and brakes."""
    g = np.array(loop.plant.opt.gravity)
    for speeding in (0.5, 0.0, -0.5, 0.0):
        loop.plant.opt.gravity = tuple((g - [speeding, 0.0, 0.0]).tolist())
        yield loop.run(0.4)


# arming


@use()
def armed_again_and_again(loop):
    for _ in range(3):
        loop.controller.disarm()
        yield loop.run(0.3)
        loop.controller.try_arm(loop.now)
        yield loop.run(0.3)


@use()
def moved_by_hand_while_disarmed(loop):
    loop.controller.disarm()
    yield loop.run(0.2)
    yield from hand(loop, 0.1, 6.0, 1.0)
    yield loop.run(1.0)
    loop.controller.try_arm(loop.now)
    yield loop.run(0.5)


def cases(names=None, robots=FILES, modes=MODES):
    """Yield (robot file, use, mode) for these uses (None for all), robots and modes."""
    for name in names or USES:
        for file in robots:
            for mode in USES[name].modes:
                if mode in modes:
                    yield file, name, mode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", default=",".join(FILES))
    parser.add_argument("--uses", default="")
    parser.add_argument("--modes", default=",".join(MODES))
    given = parser.parse_args()
    names = [name for name in given.uses.split(",") if name]
    count, bad = 0, 0
    for case in cases(names, given.robots.split(","), given.modes.split(",")):
        try:
            code, speed = fault_of(*case)
        except RbdynError as error:
            code, speed = f"refused: {error}"[:150], 0.0
        count += 1
        if code:
            bad += 1
            print("FAULT", *case, code, f"{100 * speed:.0f} %", flush=True)
    print(f"{count} runs of {len(names or USES)} uses, {bad} with a fault")


if __name__ == "__main__":
    main()
