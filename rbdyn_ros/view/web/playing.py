# SPDX-License-Identifier: Apache-2.0
"""The playback of a recording: its position, speed and state."""

import threading
from dataclasses import dataclass, field

SPEEDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(slots=True)
class Player:
    """The playback of a recording; thread-safe.

    Attributes:
        duration: duration of the recording [s].
        frame: duration of a frame [s].
        time: position in the recording, from 0 to duration [s].
        playing: whether it is playing.
        speed: recorded seconds per second.
        loop: whether to restart at the end.
        moved: event that is set at every change.
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
        """Play or pause; if it is played at the end, it restarts."""
        with self._lock:
            self.playing = playing
            if playing and self.time >= self.duration:
                self.time = 0.0
        self.moved.set()

    def seek(self, time: float) -> None:
        """Go to a time [s], clamped to the duration of the recording."""
        with self._lock:
            self.time = min(max(time, 0.0), self.duration)
        self.moved.set()

    def step(self, frames: int) -> None:
        """Pause, then go some frames forward, or back if `frames` is negative."""
        with self._lock:
            self.playing = False
            self.time = min(max(self.time + frames * self.frame, 0.0), self.duration)
        self.moved.set()

    def advance(self, elapsed: float) -> bool:
        """Advance by an elapsed wall time [s]; return whether the position changed."""
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
