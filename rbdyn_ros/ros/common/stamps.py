"""Stamps of messages: in nanoseconds, as text, and as ticks of the control loop."""

from __future__ import annotations

from typing import Any

from rbdyn_ros.errors import refusal
from rbdyn_ros.runtime.compiled import NANOSECONDS


def nanoseconds(time: Any) -> int:
    """Return a Time or a Duration [ns]."""
    return int(time.sec) * NANOSECONDS + int(time.nanosec)


def seconds(stamp_ns: int) -> str:
    """Return a time in seconds, with all nine decimals."""
    whole, rest = divmod(abs(stamp_ns), NANOSECONDS)
    return f"{'-' if stamp_ns < 0 else ''}{whole}.{rest:09d}"


def tick_of(stamp_ns: int, time_base: int, period_ns: int) -> int | None:
    """Return the control tick of a stamp, or None if it is not the stamp of a tick.

    Args:
        stamp_ns: of a message [ns].
        time_base: stamp of tick 0 [ns].
        period_ns: length of a tick [ns].
    """
    tick, rest = divmod(stamp_ns - time_base, period_ns)
    return tick if rest == 0 and tick >= 0 else None


def check_stamp(stamp_ns: int, tick: int, time_base: int, period_ns: int) -> None:
    """Raise RbdynError if a command in lock-step is not for this tick.

    Args:
        stamp_ns: of the command [ns]; 0: not stamped.
        tick: that the simulation waits for.
        time_base: stamp of tick 0 [ns].
        period_ns: length of a tick [ns].
    """
    stamped = tick_of(stamp_ns, time_base, period_ns)
    if stamped == tick:
        return
    if stamp_ns == 0:
        raise refusal(
            "the command has no stamp; in lock-step it needs the stamp of the joint_states it "
            "answers"
        )
    found = (
        f"for tick {stamped}" if stamped is not None else f"{seconds(stamp_ns)}, which is no tick"
    )
    wanted = seconds(time_base + tick * period_ns)
    raise refusal(
        f"the command is stamped {found}; the simulation waits for tick {tick} (stamp {wanted})"
    )
