# SPDX-License-Identifier: Apache-2.0
"""The start-up test of an arm that takes positions: it tests each joint before arming.

First the test sends the arm its reported positions, and the arm must stay. Then it sends each
joint in turn a few mrad away, holds it there and sends it back. Sign, ratio and delay of the
reported positions must fit the positions sent, and reported velocities must fit the reported
positions. No reply changes the positions sent. After a refusal nothing is sent, and the arm's own
controller keeps it where it is: by the reported positions the driven joint is then within FAR of
its rest position, and every other joint within AWAY.

Wrong units show only once the arm moves. If the arm takes commands in other units, or with other
zeros, than it reports, the first position moves it at the speed of its own controller; the message
says so.
"""

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arming import start_up_reply as replies
from rbdyn_ros.control.arming.start_up_kernels import FAR, MOVED, STILL, UNLIKE
from rbdyn_ros.control.arming.start_up_reply import LONGEST_DELAY, ROWS, Reply
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.errors import RbdynError, apart, refusal

#: Time before the first joint is moved [s].
QUIET = 0.2
#: Shortest time to move a joint away or back [s]; largest speed as a share of its limit.
GOING, SPEED = 0.15, 0.3
#: Displacements of the attempts, as shares of test_ways, and times to stay there [s].
ATTEMPTS, STAYING = (0.4, 0.8, 1.0), (0.2, 0.5, 0.5)
#: Largest distance of a joint from its rest position while other joints are moved [rad or m].
AWAY = 0.008
#: The ratio uses the mean position in this time before the joint is sent back [s].
SETTLED = 0.05
#: Delay within which the arm must answer a position [s].
SLOWEST = 0.1
#: Bounds of the ratios of reported to sent positions, and of reported to true velocities.
TRUE_PLACE, TRUE_SPEED = (0.8, 1.25), (0.5, 2.0)
#: Largest speed of a quintic with the distance 1 and the duration 1.
PEAK = 1.875

_remember, _fit, _within = map(Entry, (replies.remember, replies.fit, replies.within))


class PositionTest:
    """Moves each joint by some mrad and compares its reports with the positions sent.

    Args:
        limits: limits of the controlled joints (n).
        place: (n,) positions where the joints rest.
        ways: (n,) largest displacements, see test_ways.

    Attributes:
        done: whether every joint has passed.
        held: joints that were not tested; this test leaves out none.
    """

    def __init__(self, limits: Limits, place: Array, ways: Array) -> None:
        self._names, self._rest, self._ways = limits.names, place.copy(), ways
        self._going = np.maximum(GOING, PEAK * np.abs(ways) / (SPEED * limits.velocity))
        self._k, self._attempt, self._time = -1, 0, 0.0  # k < 0: no joint is moved yet
        self._start, self._most = place.copy(), np.zeros(len(place))
        self._reply = Reply()
        self.done, self.held = False, list[str]()

    @property
    def what(self) -> str:
        """Description of the present part of the test."""
        if self._k < 0:
            return f"testing whether the arm stays (0 of {len(self._names)})"
        return f"testing joint '{self._names[self._k]}' ({self._k + 1} of {len(self._names)})"

    def advance(self, place: Array, speed: Array, step: float) -> Array:
        """Process a state; return the positions (n,) to send.

        Args:
            place: (n,) reported positions [rad or m].
            speed: (n,) reported velocities [rad/s or m/s].
            step: time since the previous state [s].

        Raises:
            RbdynError: the test fails; the message names the joint and the error.
        """
        self._time += step
        np.maximum(self._most, np.abs(place - self._start), out=self._most)
        if self._k < 0:
            self._check_still(place, STILL)
            if self._time >= QUIET:
                self._begin(0, 0, place)
        else:
            self._check_near(place)
            self._check_still(place, AWAY)
            moved = place[self._k] - self._start[self._k]
            spacing = (self._moving() + LONGEST_DELAY) / (ROWS - 10)
            row = self._time, float(moved), 0.0, float(speed[self._k]), self._sent(), float(moved)
            _remember.call(self._reply.handle, spacing, *row)
            self._judge_when_due(place)
        wanted: Array = self._rest.copy()
        wanted[self._k] += self._sent() if self._k >= 0 else 0.0
        return wanted

    def check_age(self, _age: float) -> None:
        """Accept every age of the newest state [s]: without states the arm stays where it is."""

    def _way(self) -> float:
        return ATTEMPTS[self._attempt] * float(self._ways[self._k])

    def _moving(self) -> float:
        """Return the time in which the driven joint moves away, stays and moves back [s]."""
        return 2.0 * float(self._going[self._k]) + STAYING[self._attempt]

    def _sent(self) -> float:
        """Return the displacement of the driven joint at the present time."""
        going, staying = float(self._going[self._k]), STAYING[self._attempt]
        there = min(self._time / going, 1.0)
        back = min(max((self._time - going - staying) / going, 0.0), 1.0)
        return self._way() * (_quintic(there) - _quintic(back))

    def _begin(self, k: int, attempt: int, place: Array) -> None:
        self._k, self._attempt, self._time = k, attempt, 0.0
        self._start[:], self._most[:] = place, 0.0
        self._reply.count = 0

    def _check_still(self, place: Array, most: float) -> None:
        """Raise RbdynError if a joint that is not driven is farther than `most` from its rest."""
        off = np.abs(place - self._rest) * (np.arange(len(place)) != self._k)
        if not (off <= most).all():
            k = int((~(off <= most)).argmax())
            text = (
                f"joint '{self._names[k]}' moves by {off[k]:.3g} when it is sent the position "
                "that it reports"
            )
            cause = "Check units, zeros and order of the positions, and other senders"
            raise _refused(f"{text}. {cause}", self._names[k])

    def _check_near(self, place: Array) -> None:
        """Raise RbdynError if the driven joint is too far away, or another joint moves with it."""
        k, name = self._k, self._names[self._k]
        off = abs(float(place[k] - self._rest[k]))
        if not off <= FAR:
            far = f"{off:.3g} when it was sent {self._way():.2g} away"
            raise _refused(f"joint '{name}' moved by {far}. Check its gear ratio and units", name)
        others = self._most / np.abs(self._ways) * (np.arange(len(self._most)) != k)
        other = int(others.argmax())
        if others[other] <= 0.5 * ATTEMPTS[self._attempt] + STILL / abs(self._ways[other]):
            return
        text = f"joint '{self._names[other]}' moves by {self._most[other]:.3g} although "
        text += f"only '{name}' is sent to another position"
        raise _refused(f"{text}. Check the order of the joints", self._names[other])

    def _judge_when_due(self, place: Array) -> None:
        """Judge a reply once it is complete; go on to the next joint, or to a larger displacement.

        Raise RbdynError if the last attempt fails.
        """
        if self._time < self._moving() + LONGEST_DELAY:
            return
        last = self._attempt + 1 == len(ATTEMPTS)
        try:
            self._judge()
        except RbdynError:
            if last:
                raise
            # noise, friction or a slow motion may have spoilt this attempt: try a larger one
            self._begin(self._k, self._attempt + 1, place)
        else:
            self.done = self._k + 1 == len(self._names)
            self._begin(self._k + (not self.done), 0, place)

    def _judge(self) -> None:
        """Raise RbdynError unless the reply fits the positions sent."""
        name, way = self._names[self._k], self._way()
        moved = float(self._most[self._k])
        if moved < MOVED * abs(way):
            text = f"joint '{name}' moved by {moved:.2g} when it was sent {way:.2g} away"
            raise _refused(f"{text}. Check brakes, encoder and gear ratio", name)
        fit = self._fitted(replies.MEASURED)
        if fit.share < 0.0:
            text = f"joint '{name}' is reported to move against the position sent"
            raise _refused(f"{text}. Check the sign of its encoder", name)
        if fit.unlike > UNLIKE:
            text = f"joint '{name}' moved, but its motion does not match the positions sent"
            raise _refused(f"{text}. Check its encoder, and what else moves the arm", name)
        if fit.delay > SLOWEST:
            delay, most = apart(1e3 * fit.delay, 1e3 * SLOWEST, digits=3)
            text = f"joint '{name}' answered {delay} ms after its position; {most} ms are allowed"
            raise _refused(f"{text}. Check the delay of the driver and its filters", name)
        low, high = TRUE_PLACE
        ratio = self._ratio()
        if not low <= ratio <= high:
            share, least, most = apart(ratio, low, high, digits=3)
            text = f"joint '{name}' moved by {share} of the way that it was sent"
            text += f"; {least} to {most} are allowed"
            raise _refused(f"{text}. Check its gear ratio and units", name)
        fit = self._fitted(replies.VELOCITY)
        if not _within.call(fit.handle, *TRUE_SPEED):
            text = f"joint '{name}' reported {fit.share:.2g} of its velocity"
            raise _refused(f"{text}. Check the sign, unit and filter of velocities", name)
        if fit.delay > SLOWEST:
            delay, most = apart(1e3 * fit.delay, 1e3 * SLOWEST, digits=3)
            text = f"joint '{name}' reported its velocity {delay} ms late; {most} ms are allowed"
            raise _refused(f"{text}. Check the filter of velocities", name)

    def _ratio(self) -> float:
        """Return the mean displacement at the end of the stay, divided by the displacement sent.

        A servo that lags has nearly arrived by then. A fit over the whole motion would count a
        part of the lag as a smaller ratio.
        """
        reply, end = self._reply, float(self._going[self._k]) + STAYING[self._attempt]
        moments = np.linspace(end - SETTLED, end, 11)
        places = np.interp(moments, reply.time[: reply.count], reply.place[: reply.count])
        return float(places.mean()) / self._way()

    def _fitted(self, kind: int) -> Reply:
        """Fit the signals of the comparison `kind`, such as VELOCITY, and return the reply."""
        _fit.call(self._reply.handle, kind)
        return self._reply


def rehearse() -> None:
    """Call the compiled functions of the test once, with a made-up reply."""
    reply = Reply()
    for k in range(3):
        x = 0.01 * k
        _remember.call(reply.handle, 0.0, x, x, 0.0, 1.0, x, x)
    _fit.call(reply.handle, replies.VELOCITY)
    _within.call(reply.handle, *TRUE_SPEED)


def _quintic(s: float) -> float:
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def _refused(text: str, name: str) -> RbdynError:
    return refusal(f"the start-up test found: {text}", "start-up", name)
