"""The clock of an arm's states, judged by the steady clock of this computer.

    offset  arrival - stamp
    base    the smallest offset so far: a state without delay; it may rise as a clock is slewed
    lag     offset - base

So a constant offset between the clocks of two machines is no lag, and a late message is lag, never
lead.
"""

from __future__ import annotations

from rbdyn_ros.nanoseconds import NANOSECONDS

#: Fastest rate at which NTP slews a clock.
SLEW = 5e-4
#: After a pause, states must be late for this time at least before the lag lasts [s].
LASTING = 0.02
#: Largest rate of the states' clock relative to the steady clock. Effort rates and paths depend on
#: the states' clock, so it may not run faster for long.
FASTER = 1.1


class StateClock:
    """Judges the stamps of states.

    Args:
        timeout: largest jump of the clock, and how long all states may be late [s].
        simulated: the stamps are of a simulator, whose clock may run at any speed.

    Attributes:
        lag: delay of the newest state relative to the fastest one [s].
        code: clock or latency if the newest stamp is wrong, else empty.
    """

    def __init__(self, timeout: float, simulated: bool) -> None:
        self._timeout, self._simulated = timeout, simulated
        self.lag, self.code = 0.0, ""
        self._begun = False
        self._stamp = self._arrival = 0
        self._restart(0, 0)

    @property
    def late(self) -> bool:
        """Whether the newest state came with more than the largest lag."""
        return self._late_since > 0

    def forget(self) -> None:
        """Take the next state as one without delay: a clock that stood still stays behind."""
        self._begun = False

    def _restart(self, stamp: int, arrival: int) -> None:
        """Take a state as one without delay."""
        self._base, self._ahead = float(arrival - stamp), 0.0  # base [ns], ahead [s]
        self._timely, self._late_since = arrival, 0  # [ns]
        self.lag = 0.0

    def judge(self, stamp: int, arrival: int, latency: float) -> str:
        """Judge a new state; return the reason of `code`, or an empty string.

        Args:
            stamp: time of measurement [ns].
            arrival: time of arrival on the steady clock [ns].
            latency: largest lag that may last [s]; the timeout counts if it is shorter.
        """
        step = (stamp - self._stamp) / NANOSECONDS
        waited = (arrival - self._arrival) / NANOSECONDS
        self._stamp, self._arrival = stamp, arrival
        self.code = ""
        if not self._begun:
            self._begun = True
            self._restart(stamp, arrival)
            return ""
        passed = 0.0 if self._simulated else waited
        if not (step >= 0.0 and step - passed <= self._timeout):
            self._restart(stamp, arrival)
            return self._jumped(step, passed)
        if self._simulated:
            return ""
        self._compare(float(arrival - stamp), waited)
        if not self._ahead <= self._timeout:
            return self._runs_ahead()
        if self.lag <= min(latency, self._timeout):
            self._timely, self._late_since = arrival, 0
            return ""
        return self._lags(arrival, latency)

    def _jumped(self, step: float, waited: float) -> str:
        self.code = "clock"
        return (
            f"the clock of the states jumped: it advanced by {step:.6f} s while "
            f"{waited:.6f} s passed; at most {self._timeout:g} s more is allowed"
        )

    def _compare(self, offset: float, waited: float) -> None:
        """Update base and lag, and how far stamps ran ahead beyond the allowed rate."""
        base, ahead = self._base + SLEW * waited * NANOSECONDS, self._ahead
        if offset < base:
            ahead += (base - offset) / NANOSECONDS
            base = offset
        self._base, self.lag = base, (offset - base) / NANOSECONDS
        self._ahead = max(0.0, ahead - (FASTER - 1.0) * waited)

    def _runs_ahead(self) -> str:
        self.code, self._ahead = "clock", 0.0
        return f"the clock of the states runs more than {FASTER:g} times as fast as real time"

    def _lags(self, arrival: int, latency: float) -> str:
        self._late_since = self._late_since or arrival
        late = (arrival - self._timely) / NANOSECONDS
        lasts = (arrival - self._late_since) / NANOSECONDS > LASTING
        if not (late > self._timeout and lasts) and self.lag <= self._timeout:
            return ""
        self.code = "latency"
        return (
            f"for {late:.3f} s every state was late, the newest by {1e3 * self.lag:.1f} ms; "
            f"latency_limit is {1e3 * latency:g} ms"
        )
