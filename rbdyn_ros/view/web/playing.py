"""Where a recording that is played stands."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

SPEEDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(slots=True)
class Player:
    """Time of a recording that is played; from any thread.

    Attributes:
        duration: of the recording [s].
        frame: what one step is [s].
        time: where it stands [s], from 0 to duration.
        playing: whether time goes on.
        speed: recorded seconds in one.
        loop: begin again at the end, else stop there.
        moved: is set when anything changed.
    """

    duration: float
    frame: float
    time: float = 0.0
    playing: bool = False
    speed: float = 1.0
    loop: bool = True
    moved: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, playing: bool) -> None:
        """Let time go on, or stand; at the end it begins again."""
        with self._lock:
            self.playing = playing
            if playing and self.time >= self.duration:
                self.time = 0.0
        self.moved.set()

    def seek(self, time: float) -> None:
        """Go to a time [s]; what is outside goes to the end that is next."""
        with self._lock:
            self.time = min(max(time, 0.0), self.duration)
        self.moved.set()

    def step(self, frames: int) -> None:
        """Stand, and go some frames forward, or back."""
        with self._lock:
            self.playing = False
            self.time = min(max(self.time + frames * self.frame, 0.0), self.duration)
        self.moved.set()

    def advance(self, elapsed: float) -> bool:
        """Go on by a time on the wall [s]; return whether time has moved."""
        with self._lock:
            if not self.playing or self.duration <= 0.0:
                return False
            time = self.time + elapsed * self.speed
            if time > self.duration:
                if self.loop:
                    time %= self.duration
                else:
                    time, self.playing = self.duration, False
            self.time = time
            return True
