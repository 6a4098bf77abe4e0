"""Which control tick a stamp is of, for commands in lock-step."""

from __future__ import annotations

from rbdyn_ros.runtime.compiled import NANOSECONDS


def tick_of(stamp_ns: int, time_base: int, period_ns: int) -> int | None:
    """Return the control tick a stamp is of, or None if it is of none. All times in ns.

    Args:
        stamp_ns: of a message.
        time_base: the stamp of tick 0.
        period_ns: from one tick to the next.
    """
    tick, rest = divmod(stamp_ns - time_base, period_ns)
    return tick if rest == 0 and tick >= 0 else None


def judge_stamp(stamp_ns: int, tick: int, time_base: int, period_ns: int) -> str:
    """Return why a command is not one for this tick in lock-step, or nothing.

    Args:
        stamp_ns: of the command; 0: none.
        tick: that the simulation waits for.
        time_base: as for tick_of.
        period_ns: as for tick_of.
    """
    stamped = tick_of(stamp_ns, time_base, period_ns)
    if stamped == tick:
        return ""
    if stamp_ns == 0:
        return "not stamped; in lock-step a command needs the stamp of the joint_states it answers"
    found = (
        f"for tick {stamped}" if stamped is not None else f"{seconds(stamp_ns)}, which is no tick"
    )
    wanted = seconds(time_base + tick * period_ns)
    return f"stamped {found}; the simulation waits for tick {tick} (stamp {wanted})"


def seconds(nanoseconds: int) -> str:
    """Return a stamp in words, to the nanosecond."""
    whole, rest = divmod(abs(nanoseconds), NANOSECONDS)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:09d}"
