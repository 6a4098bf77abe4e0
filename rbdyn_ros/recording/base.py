# SPDX-License-Identifier: Apache-2.0
"""Compute the pose of the root link from /tf, for recordings without states and odom."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.collect import BACK
from rbdyn_ros.recording.mcap_file import Message, Topic
from rbdyn_ros.recording.schemas import Schemas
from rbdyn_ros.recording.series import Budget

_TOPICS = ("tf", "tf_static")
#: Largest number of frames in the chain from the world to the robot.
MOST_FRAMES = 16
#: A transform with a larger coordinate is not a pose [m].
FAR = 1e9
#: Memory of a stored transform, as a count of numbers for the budget.
ROW = 64
#: A base that moves less than this counts as fixed [m, rad].
STANDS = 1e-6


class Chain:
    """The chain of /tf frames from the world to a link.

    Args:
        root: the link at the end of the chain.
        carried: frames of the robot itself, which are not in the chain.
    """

    def __init__(self, root: str, carried: Collection[str]) -> None:
        self._root, self._carried = root, set(carried) - {root}
        self._parents: dict[str, str] = {}
        self._rows: dict[str, list[tuple[int, list[float]]]] = {}
        self._budget, self._schemas = Budget(), Schemas()

    def take(self, message: Message) -> None:
        """Add the transforms of a TF message.

        Raises:
            Exception: rosbags raises it for a malformed message.
            TooLargeError: the recording exceeds the budget.
        """
        decoded: Any = self._schemas.deserialize(message.raw, topics.TRANSFORMS)
        for one in decoded.transforms:
            self._add(one, message.time_ns, message.topic.name.endswith("_static"))

    def _add(self, one: Any, received: int, is_static: bool) -> None:
        child = one.child_frame_id.lstrip("/")
        if child in self._carried:
            return
        stamp = 0 if is_static else nanoseconds(one.header.stamp) or received
        at, turn = one.transform.translation, one.transform.rotation
        row = [at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w]
        length = math.hypot(*row[3:])
        if not (max(map(abs, row[:3])) < FAR and 0.5 < length < 2.0):
            return  # the transform is not a pose; for example, it has NaN
        rows = self._rows.setdefault(child, [])
        if rows and stamp < rows[-1][0] - BACK:
            rows.clear()
        self._budget.take(ROW)
        rows.append((stamp, row))
        self._parents[child] = one.header.frame_id.lstrip("/")

    def poses(self) -> list[tuple[int, Array]]:
        """Return pairs of a stamp [ns] and a row (13,) as from odom, with NaN as velocities."""
        from scipy.spatial.transform import Rotation  # this import is slow

        chain: list[str] = []
        frame = self._root
        while frame in self._rows and len(chain) < MOST_FRAMES and frame not in chain:
            chain.append(frame)
            frame = self._parents[frame]
        if not chain:
            return []
        stamps = np.unique(np.concatenate([self._stamps(name) for name in chain]))
        place, turn = np.zeros((len(stamps), 3)), Rotation.identity(len(stamps))
        for name in chain:  # from the robot to the world
            k = np.searchsorted(self._stamps(name), stamps, side="right") - 1
            rows = np.array([row for _, row in self._rows[name]])[np.maximum(k, 0)]
            step = Rotation.from_quat(rows[:, 3:])
            place, turn = rows[:, :3] + step.apply(place), step * turn
        found = np.full((len(stamps), 13), np.nan)
        found[:, :3], found[:, 3:7] = place, np.roll(turn.as_quat(), 1, axis=1)
        return list(zip(stamps.tolist(), found, strict=True))

    def _stamps(self, name: str) -> Ints:
        stamps = np.array([stamp for stamp, _ in self._rows[name]], np.int64)
        return np.maximum.accumulate(stamps)


def moves(poses: list[tuple[int, Array]]) -> bool:
    """Return whether a link moves, from its poses with stamps [ns]."""
    from scipy.spatial.transform import Rotation  # this import is slow

    rows = np.array([row for _, row in poses])
    away = (Rotation.from_quat(rows[0, 3:7]).inv() * Rotation.from_quat(rows[:, 3:7])).magnitude()
    return bool(np.ptp(rows[:, :3], axis=0).max() > STANDS or away.max() > STANDS)


def is_tf(topic: Topic) -> bool:
    """Return whether a topic has transforms."""
    return topic.typename == topics.TRANSFORMS and topic.name.rsplit("/", 1)[-1] in _TOPICS
