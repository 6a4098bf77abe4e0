# SPDX-License-Identifier: Apache-2.0
"""A battery of false states ("lies") in the closed loop, compared with runs without a lie.

    python test/control/battery.py [--robots FILE,...] [--kinds NAME,...] [--rates HZ,...]

runs each kind of lie in each mode at each speed, and prints the worst cases. With `--docs` it only
writes the worst cases into the guide.
"""

import argparse
import dataclasses
import functools
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script

import numpy as np
from closed_loop import FILES, SEVEN, ClosedLoop, model
from support.lies import LIES, LOOP, NONE, lie_of

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm, mounted_gravity
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.laws.joint_laws import GravityCompensation
from rbdyn_ros.control.motion.paths import Path as JointPath
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.errors import RbdynError

GUIDE = Path(__file__).parents[2] / "docs/guides/arm_faults.md"
WORST_TABLE = "| states | distance [rad] | speed [%] | worst in |\n|---|---|---|---|\n"
MODES = ("gravity", "hold", "computed_torque", "impedance")
SPEEDS = (0.0, 0.2, 1.0)
#: A run is judged for this time after the onset of a lie; the loop runs for a time before it [s].
JUDGED, BEFORE = 1.3, 0.02
#: Start speeds as shares of the velocity limits: coasting joints can accelerate each other.
SPARE, SPARE_OF = 0.9, dict.fromkeys((SEVEN, "panda.urdf", "kinova.urdf"), 0.75)
#: Centre of mass [m] and inertia of payloads, and the arm_tolerance [N m] with which arming
#: notices a load.
COMPACT = (0.0, 0.0, 0.05), (0.0,) * 6
TOLERANCE = {"payload": 3.0, "gravity": 5.0}
#: Time without a controller during its restart [s].
DOWN = 0.4
#: Bounds on the effect of a lie: distance [rad or m], and largest speed as a share of the limit.
FARTHEST, FASTEST = 0.3, 1.2
#: The docs list the worst cases that exceed one of these bounds.
LISTED_EXCESS, LISTED_SPEED = 0.05, 1.005


@dataclasses.dataclass(frozen=True)
class Case:
    """A lie (false states), and the arm, mode, start speed and friction with which it is tried."""

    lie: str
    mode: str
    speed: float
    file: str = FILES[0]
    friction: bool = False
    period: float = 0.001  # interval of the states [s]


@dataclasses.dataclass
class Verdict:
    """The effects of a lie: fault code, distances beyond the references, speed, and end."""

    code: str
    excess: float
    strict: float
    speed: float
    end: str
    detected: float

    @property
    def well(self):
        return self.excess <= FARTHEST and self.speed <= FASTEST


def rubbed(m):
    """Return a copy of a Model with the file's friction, or typical friction if it has none."""
    plant = m
    if not m.dof_frictionloss.any():
        effort = Limits.of(m).effort
        plant = m.replaced(dof_damping=0.02 * effort, dof_frictionloss=0.02 * effort)
    plant = plant.replaced()
    plant.opt.passive = True
    return plant


def motion(loop, share):
    """Return velocities towards the middle of the joints' ranges; joints without room rest."""
    limits = loop.gate.limits
    q = loop.d.qpos[limits.dofs]
    low, high = np.maximum(limits.lower, -6.0), np.minimum(limits.upper, 6.0)
    up = high - q > q - low
    way = np.where(up, high - q, q - low)
    spare = SPARE_OF.get(f"{loop.plant.name}.urdf", SPARE)
    fastest = np.where(way > 0.7 * limits.velocity, spare * limits.velocity, 0.0)
    fastest[np.arange(len(q)) % 3 > 0] *= 0.2  # faster coasting joints would exceed their limits
    v = np.zeros(len(loop.d.qvel))
    v[limits.dofs] = share * np.where(up, 1.0, -1.0) * fastest
    return v


def moving(case, kind=ClosedLoop, **keywords):
    """Return an armed loop of the class `kind`, at the onset of the lie; its arm may move."""
    m = model(case.file)
    more = {}
    if case.friction:
        plant = rubbed(m)
        more = {"plant": plant, "arm": {"friction": Friction.of_model(plant).scaled(0.9)}}
    settings = {"gravity_damping": 5.0, "arm_tolerance": TOLERANCE.get(case.lie, 0.0)}
    loop = kind(m, gate={"blend_time": 0.02}, **settings, **more, **keywords)
    loop.h = case.period
    loop.arm()
    loop.run(0.05)
    v = motion(loop, case.speed)
    loop.kick(v)
    c = loop.controller
    loop.run(max(0.005, case.period))
    if case.mode != "gravity":
        c.set_mode("hold" if case.mode == "hold" else case.mode)
        if case.mode != "hold" and case.speed > 0.0:
            follow(loop)
        elif case.mode == "computed_torque":  # a path that begins at rest
            k = loop.dofs
            q = loop.d.qpos[k]
            goal = q + 0.5 * np.sign(motion(loop, 1.0))[k]
            c.follow_path(JointPath([0.0, 1.0], np.stack([q, goal]), *both(q), 5))
    loop.run(BEFORE)
    return loop


def both(q):
    zero = np.zeros((2, len(q)))
    return zero, zero


def follow(loop):
    """Follow a path that continues at the present velocity and then stops."""
    k = loop.dofs
    q, v = loop.d.qpos[k].copy(), loop.d.qvel[k].copy()
    v = np.clip(v, -loop.gate.limits.velocity, loop.gate.limits.velocity)
    times = [0.0, 0.2, 0.7]
    places = np.stack([q, q + 0.2 * v, q + 0.45 * v])
    zero = np.zeros_like(v)
    loop.controller.follow_path(
        JointPath(times, places, np.stack([v, v, zero]), np.stack([zero] * 3), 5)
    )


def tell_payload(loop, time):
    """Report a payload that the arm does not carry; the armed controller must refuse it."""
    if time == 0.0:
        try:
            loop.controller.set_payload(last_link(loop.plant), 1.0, *COMPACT)
        except RbdynError:
            return
        raise RuntimeError("a payload that does not exist was accepted")


def hang_payload(loop, time):
    """Hang a payload on the arm without telling the controller."""
    if time == 0.0:
        loop.plant = rb.with_payload(loop.plant, last_link(loop.plant), 1.8, *COMPACT)
        d, loop.d = loop.d, rb.make_data(loop.plant)
        loop.d.qpos, loop.d.qvel = d.qpos, d.qvel


def lighten_tool(loop, time):
    """Let the controller's model have a tool that is 0.7 kg heavier than the real tool."""
    if time == 0.0:
        given = {last_link(loop.plant): (0.7, *COMPACT)}
        known = loop.controller.arm
        arm = Arm(known.m, known.m.opt.gravity, friction=known.friction, payloads=given)
        loop.controller.arm = arm
        for part in ("_modes", "_effort_check", "_blind"):
            getattr(loop.controller, part).use(arm)


def tilt_gravity(loop, time):
    """Tilt the base by 5 degrees at the start."""
    if time == 0.0:
        loop.plant.opt.gravity = mounted_gravity((np.radians(5.0), 0.0, 0.0))


def saturate(loop, time):
    """Limit the drives to 60 % of the effort limit."""
    if time == 0.0:
        most = np.full(len(loop.applied), np.inf)
        most[loop.dofs] = 0.6 * loop.gate.limits.effort
        step = rb.step

        def limited(m, d, count):
            d.qfrc_applied[:] = np.clip(d.qfrc_applied, -most, most)
            step(m, d, count)

        loop.step = limited


def tilt_base(loop, time):
    """Disarm the arm and tilt its base; arming must then be refused."""
    if time == 0.0:
        loop.controller.disarm()
        tilted = mounted_gravity((np.radians(20.0), 0.0, 0.0), (0.0, 0.0, -9.81))
        loop.plant.opt.gravity = tilted
        loop.watchdog = GravityCompensation(Arm(loop.plant, tilted), 20.0)
    elif time >= JUDGED:
        try:
            loop.controller.try_arm(loop.now)
        except RbdynError as error:
            if "measures" in str(error):
                return
        raise RuntimeError("an arm on another base was armed")


def restart_controller(loop, time):
    """End the controller, and start another after the time DOWN; it must stay disarmed."""
    if time == 0.0:
        loop.publish, loop.watched = False, np.inf
    elif not loop.publish and time >= DOWN:
        old = loop.controller
        gate = SafetyGate(old.arm.m, old.gate.limits, old.gate.settings)
        loop.gate, loop.controller = gate, Controller(old.arm, gate, old.settings)
        loop.controller.set_mode(old.mode)
        loop.publish, loop.watched = True, loop.now
    elif time >= JUDGED and loop.controller.armed:
        raise RuntimeError("a restarted controller is armed")


#: For lies that change more than the states: functions of the loop and the time since onset [s].
HARNESS = {
    "payload": tell_payload,
    "unknown_payload": hang_payload,
    "gravity": tilt_base,
    "controller_restart": restart_controller,
    "tool_mass": lighten_tool,
    "tilted_gravity": tilt_gravity,
    "saturating": saturate,
}


#: Lies whose load differs from the controller's model.
LOADS = ("unknown_payload", "tool_mass", "tilted_gravity")


def last_link(m):
    """Return the link that carries loads: the last link, but not a finger, whose motor is weak."""
    return "panda_hand" if m.name == "panda" else m.body_names[-1]


def possible(case):
    """Return whether the lie of a case can be tried in its mode and at its speed."""
    if case.lie == "gravity":  # arming needs an arm at rest
        return case.speed == 0.0
    # in mode gravity a wrong load moves the arm, and no fault is expected
    return case.lie not in LOADS or case.mode != "gravity"


def lied(loop, lie):
    """Run a loop with a lie; return positions, velocities, and time of the fault [s] (or NaN)."""
    change = lie.start() if lie.liar else None
    special = HARNESS.get(lie.name, lambda _loop, _time: None)
    onset, rows, found = loop.now, [], np.nan
    for _ in range(round(JUDGED / loop.h)):
        rows.append((loop.d.qpos.copy(), loop.d.qvel.copy()))
        time = (loop.now - onset) * 1e-9
        special(loop, time)
        loop.send = lambda time=time: deliver(loop, change, time)
        loop.tick()
        if np.isnan(found) and loop.controller.fault is not None:
            found = time
    special(loop, JUDGED)
    del loop.send
    return *(np.array(column) for column in zip(*rows, strict=True)), found


def deliver(loop, change, time):
    """Send the state, falsified by `change` unless it is None; return the last answer or None."""
    state = loop.state()
    arrival = state.pop("arrival")
    answer = None
    for row in change(state, time) if change else [state]:
        arrays = {k: np.asarray(row[k], float) for k in ("position", "velocity", "effort")}
        given = loop.controller.on_state(
            row["names"], stamp=row["stamp"], arrival=arrival, **arrays
        )
        answer = answer if given is None else given
    return answer


@functools.cache
def references(case):
    """Return positions of two runs without a lie: one with a fault at the onset, one without."""
    truth = next(lie for lie in LIES if lie.name == "constant_offset")
    braked = moving(case)
    braked.controller._trip(Fault("target", "a trusted fault"))
    free = moving(case)
    stopped, _, _ = lied(braked, truth)
    going, _, found = lied(free, truth)
    assert np.isnan(found), free.controller.status()
    return stopped, going


def judged(case, kind=ClosedLoop):
    """Run a case in a loop of the class `kind`; return its Verdict."""
    lie = lie_of(case.lie)
    stopped, going = references(dataclasses.replace(case, lie=""))
    loop = moving(case, kind)
    k = loop.dofs
    q, v, found = lied(loop, lie)
    both = np.concatenate([stopped, going])[:, k]
    excess = beyond(q[:, k], both)
    strict = beyond(q[:, k], stopped[:, k])
    speed = float((np.abs(v[:, k]) / loop.gate.limits.velocity).max())
    code = loop.controller.fault.code if loop.controller.fault else NONE
    end = loop.controller.ending[0] if loop.controller.fault else ""
    return Verdict(code, excess, strict, speed, end, found)


def beyond(q, reference):
    """Return the largest distance of positions outside the range of the reference positions."""
    low, high = reference.min(axis=0), reference.max(axis=0)
    return float(np.maximum(np.maximum(low - q, q - high), 0.0).max())


def cases(
    kinds=(), robots=(FILES[0],), frictions=(False,), modes=MODES, speeds=SPEEDS, periods=(0.001,)
):
    """Return the possible cases of these lies, robots, frictions, modes, speeds and periods."""
    names = [lie.name for lie in LIES if LOOP in lie.where]
    chosen = [name for name in names if not kinds or name in kinds]
    rows = itertools.product(robots, frictions, periods, modes, speeds, chosen)
    found = [Case(name, mode, speed, file, dry, h) for file, dry, h, mode, speed, name in rows]
    return [case for case in found if possible(case)]


def allowed(case, verdict):
    """Return whether the case's lie allows the verdict's code; a lie without codes allows all."""
    lie = lie_of(case.lie)
    codes = set(lie.codes) | set(lie.still)
    return not codes or verdict.code in codes


def worst_rows():
    """Return the rows of the table of worst cases in the docs: a UR5 at 1 kHz without friction."""
    rows = []
    for lie in LIES:
        found = [
            (max(verdict.excess / FARTHEST, verdict.speed / FASTEST), case, verdict)
            for case in cases((lie.name,))
            for verdict in (judged(case),)
        ]
        if not found:
            continue
        _, case, verdict = max(found, key=lambda row: row[0])
        if verdict.excess < LISTED_EXCESS and verdict.speed < LISTED_SPEED:
            continue
        how = {0.0: "at rest", 0.2: "slow", 1.0: "fast"}[case.speed]
        rows.append(
            f"| {lie.what} | {verdict.excess:.2f} | {100.0 * verdict.speed:.0f} | "
            f"{case.mode}, {how} |"
        )
    return rows


def write_worst(page=GUIDE):
    """Write the table of worst cases into the guide."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(WORST_TABLE)
    rest = after[after.index("\n\n") :]
    page.write_text(before + WORST_TABLE + "\n".join(worst_rows()) + rest, encoding="utf-8")


def main(judged=judged, allowed=allowed, possible=lambda _: True):
    """Run possible cases by `judged`, check their codes by `allowed`, and print the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the table of worst cases")
    parser.add_argument("--robots", default=f"{FILES[0]},{SEVEN}")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--speeds", default="0,0.2,1")
    parser.add_argument("--friction", default="0,1")
    parser.add_argument("--rates", default="1000,250,100", help="of the states [Hz]")
    given = parser.parse_args()
    if given.docs:
        write_worst()
        return
    kinds = tuple(filter(None, given.kinds.split(",")))
    worst, skipped = {}, {}
    count = failed = 0
    speeds = [float(x) for x in given.speeds.split(",")]
    frictions = [x == "1" for x in given.friction.split(",")]
    periods = [1.0 / float(x) for x in given.rates.split(",")]
    robots, modes = given.robots.split(","), given.modes.split(",")
    for case in filter(possible, cases(kinds, robots, frictions, modes, speeds, periods)):
        try:
            verdict = judged(case)
        except (RbdynError, AssertionError) as error:
            skipped[dataclasses.replace(case, lie="")] = str(error)[:150]
            continue
        count += 1
        good = verdict.well and allowed(case, verdict)
        failed += not good
        if not good:
            print("BAD", *dataclasses.astuple(case), *dataclasses.astuple(verdict), flush=True)
        before = worst.get(case.lie)
        if before is None or verdict.excess > before[1].excess:
            worst[case.lie] = (case, verdict)
    for name, (case, verdict) in worst.items():
        print(
            f"{name:20} {verdict.excess:.3f} rad ({verdict.strict:.3f}) "
            f"{100 * verdict.speed:.0f} % "
            f"{verdict.code:9} {verdict.end:8} {verdict.detected:.3f} s  {case.mode} "
            f"{case.speed} {case.file[:6]} {1.0 / case.period:.0f} Hz "
            f"{'friction' if case.friction else ''}"
        )
    print("not run:", skipped)
    print(f"{count} cases, {failed} outside the bounds")


if __name__ == "__main__":
    main()
