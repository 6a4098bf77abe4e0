# SPDX-License-Identifier: Apache-2.0
"""Convert stamps of messages to text and to ticks of the control loop."""

from dataclasses import dataclass
from typing import Any

from rbdyn_ros.errors import apart, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds


def seconds(stamp_ns: int) -> str:
    """Return a time [ns] as text in seconds with nine decimals."""
    whole, rest = divmod(abs(stamp_ns), NANOSECONDS)
    return f"{'-' if stamp_ns < 0 else ''}{whole}.{rest:09d}"


def check_age(header: Any, now_ns: int, timeout_ns: int, limit: str) -> None:
    """Raise RbdynError if a message is older than a timeout; a stamp of 0 means now.

    A stamp later than now is accepted: it comes from another clock, or from before a reset.

    Args:
        header: header of the message.
        now_ns: present time of the node that received the message [ns].
        timeout_ns: largest allowed age [ns].
        limit: name of the parameter with this timeout, for the message of the error.
    """
    stamp = nanoseconds(header.stamp)
    age = now_ns - stamp
    if stamp != 0 and age > timeout_ns:
        found, most = apart(age / NANOSECONDS, timeout_ns / NANOSECONDS)
        text = f"the stamp of the message is {found} s old; {limit} is {most} s"
        raise refusal(f"{text} (sender and node need the same clock)", "late")


@dataclass(frozen=True, slots=True)
class TickStamps:
    """The stamps of the ticks of a loop.

    Attributes:
        time_base: stamp of tick 0 [ns].
        period_ns: length of a tick [ns].
    """

    time_base: int
    period_ns: int

    def of(self, tick: int) -> int:
        """Return the stamp of a tick [ns]."""
        return self.time_base + tick * self.period_ns

    def tick_of(self, stamp_ns: int) -> int | None:
        """Return the tick of a stamp [ns], or None if it is not the stamp of a tick."""
        tick, rest = divmod(stamp_ns - self.time_base, self.period_ns)
        return tick if rest == 0 and tick >= 0 else None

    def check(self, stamp_ns: int, tick: int) -> None:
        """Raise RbdynError if a command in lock-step is not for this tick.

        Args:
            stamp_ns: stamp of the command [ns]; 0: not stamped.
            tick: the tick that the simulation waits for.
        """
        stamped = self.tick_of(stamp_ns)
        if stamped == tick:
            return
        if stamp_ns == 0 and stamped is None:
            raise refusal(
                "the command has no stamp; in lock-step it needs the stamp of the joint_states it "
                "answers"
            )
        found = (
            f"for tick {stamped}"
            if stamped is not None
            else f"{seconds(stamp_ns)}, which is not the time of a tick"
        )
        if stamp_ns == 0:  # time began at 0, so a late answer to tick 0 looks unstamped
            found += ", or not at all"
        wanted = seconds(self.of(tick))
        raise refusal(
            f"the command is stamped {found}; the simulation waits for tick {tick} "
            f"(stamp {wanted})"
        )
