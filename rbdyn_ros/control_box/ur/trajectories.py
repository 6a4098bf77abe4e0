# SPDX-License-Identifier: Apache-2.0
"""The thread of external_control.urscript that follows a trajectory, point by point."""

import math
from collections.abc import Generator

from rbdyn_ros.control_box.ur.external_script import ExternalScript
from rbdyn_ros.control_box.ur.moves import Move, SpeedJoints
from rbdyn_ros.control_box.ur.points import KINDS, TrajectoryPoint, spline
from rbdyn_ros.control_box.ur.reverse import IntegerSession
from rbdyn_ros.control_box.ur.robot import STEP, UrRobot
from rbdyn_ros.control_box.ur.splines import SplineMove
from rbdyn_ros.control_box.ur.statements import stop

#: Deceleration by the program [rad/s^2], and the longest wait until the arm rests [s].
STOP_A, LONGEST_STOP = 4.0, 2.0
#: Acceleration while a spline waits for its next point [rad/s^2].
COAST_A = 40.0
#: Longest wait for a point while the arm rests [s].
POINT_PATIENCE = 0.5
#: Results of a trajectory.
SUCCESS, CANCELED, FAILURE = range(3)
#: Number of remaining points of a trajectory whose end the client has not sent yet.
ENDLESS = 2**31 - 1
#: A thread: each `yield` is a tick.
Flow = Generator[None, None, None]


def halting(r: UrRobot, a: float = STOP_A, of_tool: bool = False) -> Flow:
    """Brake the tool or the joints with deceleration `a` until they rest; force mode may go on."""
    if r.motion is None:
        return
    motion, until = stop(a, of_tool), r.clock + LONGEST_STOP
    r.begin(motion)
    while r.motion is motion and r.clock < until:
        yield
    r.begin(None)


class TrajectoryThread:
    """Follows the points of a client.

    Args:
        script: version of the program.
        session: session that receives points and sends results.
        name: name of the program, in messages.

    Attributes:
        waits: whether the thread waits for a point.
    """

    def __init__(self, script: ExternalScript, session: IntegerSession, name: str) -> None:
        self._script, self._session, self._name = script, session, name
        self._thread: Flow | None = None
        self._left = 0  # points of the trajectory
        self._endless = False
        # True while the thread waits for a point, and the time at which it stops waiting
        self.waits, self._until = False, math.inf

    def kill(self) -> None:
        """End the thread; the points are kept."""
        self._thread, self.waits = None, False

    def step(self) -> None:
        """Run the thread for a tick."""
        if self._thread is not None:
            next(self._thread)

    def has_work(self, r: UrRobot) -> bool:
        """Return whether the thread has work before the client sends a point."""
        if self.waits:
            return bool(self._session.rows) or r.clock >= self._until
        return self._thread is not None

    def awaits(self, r: UrRobot) -> bool:
        """Return whether the arm moves on, so that the client has to send a point now."""
        coasts = self.waits and isinstance(r.motion, SpeedJoints)
        return coasts and self._session.open and not self._session.rows

    def leave(self, r: UrRobot) -> Flow:
        """End the trajectory because of another mode."""
        left = self._left > 0
        self.kill()
        yield from halting(r)
        yield from self.clear(r)
        if left:
            self._session.tell(CANCELED)

    def forward(self, r: UrRobot, action: int, count: int) -> Flow:
        """Execute a message that controls the trajectory: its action, and its number of points."""
        name = self._script.name("TRAJECTORY_MODE_", action)
        if name in ("RECEIVE", "STREAM_START"):
            self.kill()
            yield from halting(r)
            yield from self.clear(r)
            self._endless = name == "STREAM_START"
            self._left = ENDLESS if self._endless else max(count, 0)
            self._thread = self._follow(r, self._endless)
        elif name == "STREAM_END" and self._endless:
            self._end_stream(count)
        elif name == "CANCEL":
            if self._endless:
                self._end_stream(count)
            yield from self._cancel(r)

    def _end_stream(self, count: int) -> None:
        """End a trajectory of unknown length after `count` points in all."""
        self._left = count - (ENDLESS - self._left)
        self._endless = False

    def _cancel(self, r: UrRobot) -> Flow:
        self.kill()
        yield from halting(r)
        yield from self.clear(r)
        self._session.tell(CANCELED)

    def clear(self, r: UrRobot) -> Flow:
        """Drop the points of a trajectory until all have arrived, or no more arrive."""
        self.waits = False
        while self._left > 0:
            yield from self._until_point(r, POINT_PATIENCE)
            if not self._session.rows:
                break
            self._session.rows.popleft()
            self._left -= 1
        self._left, self._endless = 0, False

    def _until_point(self, r: UrRobot, timeout: float) -> Flow:
        self.waits, self._until = True, r.clock + timeout
        while not self._session.rows and self._session.open and r.clock < self._until:
            yield
        self.waits = False

    def _follow(self, r: UrRobot, endless: bool) -> Flow:
        """Follow a trajectory point by point, then send its result.

        If `endless`, its number of points is not known yet.
        """
        result, first = SUCCESS, True
        before: SplineMove | None = None  # the spline at whose final speed the arm goes on
        while result == SUCCESS and self._left > 0:
            if not self._session.rows:
                if before is not None:
                    self._coast(r, before)
                yield from self._until_point(r, POINT_PATIENCE if before is None else 2 * STEP)
                if before is not None:
                    before.move_on(r.joints.x)
            self._left -= 1
            if not self._session.rows:
                over = endless and not self._endless and self._left < 0
                result = SUCCESS if over else self._fail(r, "a point has not come in time")
                break
            point = TrajectoryPoint.of(self._session.rows.popleft(), self._script)
            result, motion = self._motion_to(r, point, before, first)
            first, before = False, None
            if motion is not None:
                r.begin(motion)
                while r.motion is motion:
                    yield
            if isinstance(motion, SplineMove) and self._left > 0:
                before = motion
        yield from halting(r)
        self._session.tell(result)
        # otherwise the next trajectory or mode drops the remaining points
        if result == SUCCESS:
            self._left, self._endless = 0, False
        self._thread = None
        yield

    def _coast(self, r: UrRobot, before: SplineMove) -> None:
        """Continue at the final speed of the spline `before` until the next point comes."""
        motion = SpeedJoints()
        motion.take(before.end[1], COAST_A, 0.0)
        r.begin(motion)

    def _fail(self, r: UrRobot, reason: str) -> int:
        r.say(f"a trajectory of program {self._name} fails: {reason}")
        return FAILURE

    def _motion_to(
        self, r: UrRobot, p: TrajectoryPoint, before: SplineMove | None, first: bool
    ) -> tuple[int, Move | None]:
        """Return the result so far, and the motion to a point or, after a failure, None.

        `before` is the spline from which the arm still moves, and `first` means the first point.
        """
        if p.kind in KINDS:
            return SUCCESS, KINDS[p.kind][1](r, p)
        if p.kind != "SPLINE":
            return self._fail(r, f"there is no point of kind {p.kind or p.number}"), None
        try:
            return SUCCESS, spline(r, p, before, first, last=self._left == 0)
        except LookupError as error:
            return self._fail(r, str(error.args[0])), None
        except ValueError as error:
            r.say(f"a trajectory of program {self._name} is cancelled: {error}")
            return CANCELED, None
