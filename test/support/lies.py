# SPDX-License-Identifier: Apache-2.0
"""A table of false joint states, for tests of the closed loop, tests of processes and the docs.

Each row is a lie: from the onset of the lie on, it changes the states of an arm. The table does
not need ROS: a state is a dict with names (list), position, velocity, effort (arrays or lists) and
stamp [ns].
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

MS = 1_000_000
#: The code of a lie that can go undetected.
NONE = "none"
LOOP, PROCESSES = "loop", "processes"


@dataclasses.dataclass(frozen=True)
class Lie:
    """One kind of false joint states.

    Attributes:
        name: unique name, which test parameters use.
        kind: values, time, freezes, publishers, loads or restarts.
        what: text of the lie in the table of docs/guides/arm_faults.md.
        codes: faults that can follow while the arm moves; "none" if the lie can go undetected.
        liar: makes a function of a true state and the time since the onset [s], whose results are
            the states that arrive; None if the harness makes the lie.
        where: the harnesses to which the lie applies.
        still: faults that can follow if the arm is at rest; empty: those of `codes`, and also no
            fault.
        felt: whether the start-up test refuses an arm with this lie.
        bounded: whether the bound of docs/guides/arm_faults.md holds if the lie begins later.
    """

    name: str
    kind: str
    what: str
    codes: tuple[str, ...]
    liar: Callable | None = None
    where: tuple[str, ...] = (LOOP, PROCESSES)
    still: tuple[str, ...] = ()
    felt: bool = False
    bounded: bool = True

    def start(self):
        """Begin a lie: return a new function, which has no memory of earlier states."""
        return self.liar()


def liar(lie):
    """Return a function that makes values for Lie.liar from the arguments of `lie`.

    `lie` takes a memory, which is empty at each onset, a state, the time since the onset [s] and
    these arguments. `lie` returns the states that arrive instead of the state.
    """

    @functools.wraps(lie)
    def make(*arguments, **more):
        def start():
            memory = {}
            return lambda state, time: lie(memory, state, time, *arguments, **more)

        return start

    return make


@liar
def values(_memory, state, time, **rows):
    """Replace rows: name=function(row, time) returns the new row."""
    changed = {
        name: np.asarray(function(np.array(state[name], float), time), float)
        for name, function in rows.items()
    }
    return [state | changed]


def one(value, k=1):
    """Return a function that replaces entry k of a row."""

    def change(row, _time):
        row[k] = value
        return row

    return change


def swapped(row, _time):
    """Return a row in which the numbers of the second and third joint are exchanged."""
    row[[1, 2]] = row[[2, 1]]
    return row


@liar
def stamps(memory, state, _time, function):
    """Replace the stamp by function(stamp, first stamp, number of earlier states) [ns]."""
    seen = memory.setdefault("seen", [])
    seen.append(state["stamp"])
    return [state | {"stamp": int(function(state["stamp"], seen[0], len(seen) - 1))}]


@liar
def late(memory, state, time, lag):
    """Delay each state by lag(time) [s], where `time` is the time of the state's measurement."""
    waiting = memory.setdefault("waiting", [])
    waiting.append((time + lag(time), state))
    due = [taken for when, taken in waiting if when <= time + 1e-9]
    waiting[:] = [pair for pair in waiting if pair[0] > time + 1e-9]
    return due


@liar
def stalls(_memory, state, time, length, period=np.inf):
    """Drop all states in the first `length` [s] of each `period` [s]."""
    return [] if time % period < length else [state]


@liar
def frozen(memory, state, _time, *rows, joints=None):
    """Repeat the numbers of the first state for some joints, with fresh stamps."""
    chosen = slice(None) if joints is None else joints
    changed = {row: np.array(state[row], float) for row in rows}
    for row, now in changed.items():
        now[chosen] = memory.setdefault(row, now.copy())[chosen]
    return [state | changed]


@liar
def noisy(memory, state, time, amplitude):
    """Repeat the numbers of the first state with noise and fresh stamps."""
    if not memory:
        memory.update(repeat=frozen(*EVERYTHING)(), random=np.random.default_rng(0))
    (kept,) = memory["repeat"](state, time)
    random = memory["random"]
    noise = {row: amplitude * random.standard_normal(len(kept[row])) for row in EVERYTHING}
    return [kept | {row: kept[row] + noise[row] for row in EVERYTHING}]


@liar
def filtered(memory, state, time, time_constant):
    """Freeze the encoders behind a filter of the driver, so that the shown motion dies out."""
    memory.update({} if memory else {row: np.array(state[row], float) for row in MOTION})
    kept = np.exp(-time / time_constant)
    place, speed = memory["position"], memory["velocity"]
    rest = place + speed * time_constant * (1.0 - kept)
    return [state | {"position": rest, "velocity": kept * speed}]


@liar
def geared(memory, state, _time, ratio, joint=1):
    """Scale the motion of a joint since the onset by a ratio."""
    q, v = (np.array(state[row], float) for row in MOTION)
    first = memory.setdefault("first", q[joint])
    q[joint] = first + ratio * (q[joint] - first)
    v[joint] *= ratio
    return [state | {"position": q, "velocity": v}]


@liar
def outdated(memory, state, time, lag):
    """Send numbers that are `lag` [s] old with correct stamps."""
    seen = memory.setdefault("seen", [])
    seen.append((time, {row: np.array(state[row], float) for row in EVERYTHING}))
    old = [rows for taken, rows in seen if taken <= time - lag + 1e-9]
    return [state | (old[-1] if old else seen[0][1])]


@liar
def smoothed(memory, state, time, time_constant):
    """Filter the velocities by a low pass."""
    v = np.array(state["velocity"], float)
    before, shown = memory.get("kept", (time, v))
    share = -np.expm1(-(time - before) / time_constant)
    memory["kept"] = time, shown + share * (v - shown)
    return [state | {"velocity": memory["kept"][1]}]


@liar
def wave(_memory, state, time, shape, amplitude, frequency, moves=False):
    """Add a wave to the second joint's position, and with `moves` to its velocity."""
    phase = (frequency * time) % 1.0
    added, rate = shape(phase)
    q, v = (np.array(state[row], float) for row in MOTION)
    q[1] += amplitude * added
    v[1] += amplitude * frequency * rate * moves
    return [state | {"position": q, "velocity": v}]


def sine(phase):
    angle = 2.0 * np.pi * phase
    return np.sin(angle), 2.0 * np.pi * np.cos(angle)


def saw(phase):
    return phase, 1.0


def square(phase):
    return float(phase >= 0.5), 0.0


def paused(begin, end):
    """Return a function for `stamps`: the clock stops from `begin` to `end` [ns after onset]."""
    return lambda now, first, _n: first + begin if begin <= now - first < end else now


def both_lies(one, other):
    """Return a lie that combines two lies; the second changes the states of the first."""

    def start():
        first, second = one.start(), other.start()
        return lambda state, time: [
            found for given in first(state, time) for found in second(given, time)
        ]

    return Lie(f"{one.name}+{other.name}", "pairs", f"{one.what}; {other.what}", (), start)


def less(state, _time=0.0):
    """Return the state without the second joint."""
    rows = {k: np.delete(state[k], 1) for k in ("position", "velocity", "effort")}
    return [state | rows | {"names": [*state["names"][:1], *state["names"][2:]]}]


def more(state, _time=0.0):
    """Return the state with a further joint that the robot does not have."""
    rows = {k: np.append(state[k], 7.0) for k in ("position", "velocity", "effort")}
    return [state | rows | {"names": [*state["names"], "a_stranger"]}]


def twice(state, _time=0.0):
    """Return the state twice."""
    return [state, dict(state)]


def reordered():
    """Return a function that exchanges the states of each successive pair."""
    held = []

    def change(state, _time):
        if not held:
            held.append(state)
            return []
        return [state, held.pop()]

    return change


def drift(rate):
    return lambda row, time: row + rate * time * (np.arange(len(row)) == 1)


def offset(value):
    return lambda row, _time: row + value * (np.arange(len(row)) == 1)


def scaled_joint(factor):
    return lambda row, _time: np.where(np.arange(len(row)) == 1, factor * row, row)


def always(function):
    return lambda: function


POSITION = ("position",)
MOTION = ("position", "velocity")
EVERYTHING = ("position", "velocity", "effort")
LIE, BLIND = ("velocity", "frozen"), ("velocity", "acceleration")

LIES = (
    # lies about values
    Lie("nan", "values", "NaN", ("finite",), values(position=one(np.nan))),
    Lie("infinity", "values", "infinity", ("finite",), values(velocity=one(np.inf))),
    Lie("huge", "values", "a number of 1e300", ("finite",), values(velocity=one(1e300))),
    Lie(
        "infinite_effort",
        "values",
        "an infinite measured effort",
        ("finite",),
        values(effort=one(np.inf)),
    ),
    Lie(
        "position_sign",
        "values",
        "positions of the wrong sign",
        ("velocity", "position"),
        values(position=lambda row, _t: -row),
    ),
    Lie(
        "velocity_sign",
        "values",
        "velocities of the wrong sign",
        BLIND,
        values(velocity=lambda row, _t: -row),
        still=(NONE,),
        felt=True,
    ),
    Lie(
        "effort_sign",
        "values",
        "measured efforts of the wrong sign",
        (NONE,),
        values(effort=lambda row, _t: -row),
        felt=True,
    ),
    Lie(
        "position_offset",
        "values",
        "a position that is suddenly 0.3 rad off (encoder jump)",
        ("velocity", "position"),
        values(position=offset(0.3)),
    ),
    Lie(
        "small_offset",
        "values",
        "a position that is suddenly 0.008 rad off",
        (NONE,),
        values(position=offset(0.008)),
    ),
    Lie(
        "position_scale",
        "values",
        "positions in degrees",
        ("velocity", "position"),
        values(position=lambda row, _t: row * 57.29578),
    ),
    Lie(
        "velocity_scale",
        "values",
        "velocities of half their size",
        BLIND,
        values(velocity=lambda row, _t: 0.5 * row),
        still=(NONE,),
        felt=True,
    ),
    Lie(
        "velocity_degrees",
        "values",
        "velocities in degrees",
        BLIND,
        values(velocity=lambda row, _t: row * 57.29578),
        still=(NONE,),
        felt=True,
    ),
    Lie(
        "velocity_zero",
        "values",
        "velocities that are always 0",
        BLIND,
        values(velocity=lambda row, _t: 0.0 * row),
        still=(NONE,),
        felt=True,
    ),
    Lie(
        "velocity_offset",
        "values",
        "a velocity that is 0.1 rad/s off",
        BLIND,
        values(velocity=offset(0.1)),
    ),
    Lie(
        "position_drift",
        "values",
        "a position that drifts by 0.1 rad/s",
        BLIND,
        values(position=drift(0.1)),
        felt=True,
    ),
    Lie(
        "swapped",
        "values",
        "two joints exchanged",
        ("velocity", "position"),
        values(**dict.fromkeys(EVERYTHING, swapped)),
    ),
    *(
        Lie(
            f"ratio_{ratio:g}",
            "values",
            f"the motion of one joint times {ratio:g} (gear ratio, sign)",
            (NONE, "velocity", "frozen", "tracking"),
            geared(ratio),
            felt=True,
            bounded=ratio == 2.0,
        )
        for ratio in (-1.0, 0.1, 0.5, 2.0, 5.0)
    ),
    Lie(
        "wrapped",
        "values",
        "a position that is suddenly a turn off",
        ("velocity", "position"),
        values(position=offset(-2.0 * np.pi)),
    ),
    Lie(
        "joint_degrees",
        "values",
        "one joint in degrees",
        ("velocity", "position"),
        values(position=scaled_joint(57.29578), velocity=scaled_joint(57.29578)),
        felt=True,
    ),
    Lie(
        "sine",
        "values",
        "a sine of 0.02 rad and 2 Hz added to a position and its velocity",
        (NONE,),
        wave(sine, 0.02, 2.0, moves=True),
        felt=True,
    ),
    Lie(
        "saw",
        "values",
        "a sawtooth of 0.05 rad and 2 Hz added to a position",
        ("velocity",),
        wave(saw, 0.05, 2.0),
        felt=True,
    ),
    Lie(
        "square",
        "values",
        "a square wave of 0.05 rad and 2 Hz added to a position",
        ("velocity",),
        wave(square, 0.05, 2.0),
        felt=True,
    ),
    Lie(
        "joint_drift",
        "values",
        "one joint that drifts by 0.05 rad/s, with its velocity",
        (NONE,),
        values(position=drift(0.05), velocity=offset(0.05)),
        felt=True,
    ),
    Lie(
        "filtered_20_ms",
        "values",
        "velocities filtered by 20 ms",
        (NONE,),
        smoothed(0.02),
    ),
    Lie(
        "filtered_100_ms",
        "values",
        "velocities filtered by 100 ms",
        (NONE, "velocity"),
        smoothed(0.1),
        felt=True,
    ),
    Lie("missing", "values", "a missing joint", ("names",), always(less)),
    Lie("extra", "values", "a joint that the robot does not have", (NONE,), always(more)),
    # lies about time
    Lie("lag_5_ms", "time", "states 5 ms late", (NONE,), late(lambda _t: 0.005)),
    # 15 ms make the velocity feedback of a light joint unstable, which ends in an overspeed
    Lie("lag_15_ms", "time", "states 15 ms late", (NONE, "velocity"), late(lambda _t: 0.015)),
    *(
        Lie(
            f"lag_{ms}_ms",
            "time",
            f"states {ms} ms late",
            ("latency",),
            late(lambda _t, ms=ms: 1e-3 * ms),
        )
        for ms in (30, 50, 75)
    ),
    *(
        Lie(
            f"lag_{ms}_ms",
            "time",
            f"states {ms} ms late",
            ("age", "latency"),
            late(lambda _t, ms=ms: 1e-3 * ms),
        )
        for ms in (100, 200)
    ),
    *(
        Lie(
            f"hidden_lag_{ms}_ms",
            "time",
            f"numbers {ms} ms late with correct stamps",
            (NONE, "velocity", "frozen"),
            outdated(1e-3 * ms),
            felt=True,
            bounded=ms < 100,
        )
        for ms in (20, 50, 100)
    ),
    Lie(
        "clock_stops",
        "time",
        "a clock that stands still for 0.3 s",
        ("age",),
        stamps(paused(100 * MS, 400 * MS)),
    ),
    Lie(
        "growing_lag",
        "time",
        "states that come 0.2 s later every second",
        ("latency", "age"),
        late(lambda time: 0.2 * time),
    ),
    Lie(
        "clock_jump",
        "time",
        "stamps that jump by 5 s",
        ("clock",),
        stamps(lambda now, _first, _n: now + 5_000 * MS),
    ),
    Lie(
        "clock_back",
        "time",
        "stamps that jump back by 5 s",
        ("clock",),
        stamps(lambda now, _first, _n: now - 5_000 * MS),
    ),
    Lie(
        "half_pace",
        "time",
        "stamps at half pace",
        ("latency", "velocity"),
        stamps(lambda now, first, _n: first + (now - first) // 2),
        still=("latency",),
    ),
    Lie(
        "double_pace",
        "time",
        "stamps at double pace",
        ("clock", "velocity"),
        stamps(lambda now, first, _n: first + 2 * (now - first)),
        still=("clock",),
    ),
    Lie("stall", "time", "no states for 60 ms, three times a second", (NONE,), stalls(0.06, 0.33)),
    Lie("loss", "time", "no states any more", ("age",), stalls(np.inf)),
    Lie("duplicates", "time", "every state twice", (NONE,), always(twice)),
    Lie("reordered", "time", "states in the wrong order", ("clock",), reordered),
    Lie(
        "same_stamp", "time", "a stamp that stays", ("age",), stamps(lambda _now, first, _n: first)
    ),
    Lie(
        "zero_stamps",
        "time",
        "stamps of 0: the time of arrival is used",
        (NONE, "clock"),
        stamps(lambda _now, _first, _n: 0),
    ),
    Lie(
        "other_clock",
        "time",
        "stamps of a clock that began at the start of the robot",
        ("clock",),
        stamps(lambda now, first, _n: now - first + MS),
    ),
    Lie(
        "ntp_step",
        "time",
        "a clock set by 0.5 s",
        ("clock",),
        stamps(lambda now, _first, _n: now + 500 * MS),
    ),
    Lie(
        "ntp_slew",
        "time",
        "a clock slewed by 0.05 %",
        (NONE,),
        stamps(lambda now, first, _n: now - (now - first) // 2000),
    ),
    Lie(
        "constant_offset",
        "time",
        "a constant offset between two clocks, from the start",
        (NONE,),
        None,
    ),
    # states that freeze
    Lie(
        "frozen",
        "freezes",
        "all numbers repeated with fresh stamps",
        LIE,
        frozen(*EVERYTHING),
        still=(NONE,),
        felt=True,
    ),
    Lie(
        "frozen_joint",
        "freezes",
        "the numbers of one joint repeated",
        LIE,
        frozen(*EVERYTHING, joints=[1]),
        still=(NONE,),
        felt=True,
    ),
    Lie(
        "frozen_noisy",
        "freezes",
        "all numbers repeated with noise of 1e-5",
        LIE,
        noisy(1e-5),
        still=(NONE,),
    ),
    Lie(
        "frozen_velocities",
        "freezes",
        "velocities repeated",
        BLIND,
        frozen("velocity"),
        still=(NONE,),
    ),
    Lie(
        "frozen_positions",
        "freezes",
        "positions repeated",
        (*BLIND, "frozen"),
        frozen("position"),
        still=(NONE,),
    ),
    # without fresh efforts, a joint that friction holds looks like a joint with an old state
    Lie(
        "frozen_efforts",
        "freezes",
        "measured efforts repeated",
        (NONE, "frozen"),
        frozen("effort"),
    ),
    # lies by a second publisher, which only tests of processes have
    Lie(
        "second_states",
        "publishers",
        "a second publisher of joint_states",
        ("rivals",),
        None,
        (PROCESSES,),
    ),
    Lie(
        "second_efforts",
        "publishers",
        "a second publisher of efforts",
        ("rivals",),
        None,
        (PROCESSES,),
    ),
    Lie(
        "twin",
        "publishers",
        "a second controller of the same name",
        ("rivals",),
        None,
        (PROCESSES,),
    ),
    # wrong loads and restarts, which the test program itself makes
    Lie("payload", "loads", "a payload set while armed that is not there: refused", (NONE,), None),
    Lie(
        "unknown_payload",
        "loads",
        "a payload of 1.8 kg that was not set",
        (NONE, "tracking"),
        None,
        felt=True,
    ),
    Lie(
        "gravity",
        "loads",
        "a base that is tilted by 20 degrees: arming is refused, with `arm_tolerance` 5 N m",
        (NONE,),
        None,
    ),
    Lie(
        "tool_mass",
        "loads",
        "a tool that is 0.7 kg lighter than the model's",
        (NONE,),
        None,
        (LOOP,),
        felt=True,
    ),
    Lie(
        "tilted_gravity",
        "loads",
        "a base that tilts by 5 degrees while armed",
        (NONE,),
        None,
        (LOOP,),
        felt=True,
    ),
    Lie(
        "saturating",
        "loads",
        "drives that give 60 % of the effort limit at most",
        (NONE,),
        None,
        (LOOP,),
    ),
    Lie(
        "driver_restart",
        "restarts",
        "a driver that restarts: no states for 1 s",
        ("age",),
        stalls(1.0),
    ),
    Lie(
        "controller_restart",
        "restarts",
        "a controller that restarts: it begins disarmed",
        (NONE,),
        None,
    ),
)


def lie_of(name):
    """Return the lie of a name, or two combined lies if a plus sign joins two names."""
    rows = {lie.name: lie for lie in LIES}
    one, _, other = name.partition("+")
    return both_lies(rows[one], rows[other]) if other else rows[one]


def pairs():
    """Return the names of all pairs of bounded lies that one driver can combine."""
    names = [lie.name for lie in LIES if lie.liar and LOOP in lie.where and lie.bounded]
    return [f"{one}+{other}" for k, one in enumerate(names) for other in names[k + 1 :]]
