# SPDX-License-Identifier: Apache-2.0
"""Convert a recording to an episode: frames at a constant rate with states, actions, pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.commanded import commanded_joints
from rbdyn_ros.errors import ParameterError, listing, quote
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.recording.bags import recording_error
from rbdyn_ros.recording.collect import BACK
from rbdyn_ros.recording.lerobot.cameras import ENCODINGS, Camera, Cameras
from rbdyn_ros.recording.run import RecordedRun

#: Smallest number of frames of an episode.
FEWEST = 2
#: Times that differ by this rounding error count as equal [s].
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """An episode: the frames of a recording.

    Attributes:
        joints: names of the joints (k).
        state, action: positions (n, k) [rad or m].
        cameras: the cameras, which read the pictures.
        shown: by the topic of a camera, the number of frames that show each of its pictures.
        notes: notes for the user.
    """

    joints: tuple[str, ...]
    state: Array
    action: Array
    cameras: Cameras
    shown: dict[str, NDArray[np.int64]]
    notes: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Number of frames of the episode."""
        return len(self.state)


def episode(run: RecordedRun, cameras: Cameras, fps: int) -> Episode:
    """Return the episode of a run.

    A frame has the last measured positions, and the last picture of each camera, up to its time.
    The first frame is at the first time for which all of these exist. The action of a joint is its
    last commanded position. If no position of the joint is commanded, the action is the measured
    position in the next frame.

    Args:
        run: the motion.
        cameras: the cameras of the same recording.
        fps: frames per second.

    Raises:
        ParameterError: the run is too short for two frames, the robot has no joint with one
            coordinate, a joint has no position, or a camera has no picture after a reset of time.
    """
    joints = tuple(run.m.jnt_names[k] for k in commanded_joints(run.m))
    if not joints:
        raise _error(run, "no-joints", f"{quote(run.m.name)} has no joint that can be commanded")
    seen = {topic: _times(run, camera) for topic, camera in cameras.found.items()}
    measured, positions = _measured(run, joints)
    times = _frame_times(run, [measured, *seen.values()], fps)
    chosen = _last(measured, times)
    state = positions[chosen]
    action = positions[_last(measured, times + 1.0 / fps)]
    missing = _command(run, joints, times, action)
    notes = []
    if missing:
        without = f"no position command was recorded for {listing(missing)}"
        notes.append(f"{without}; the action is the next measured position")
    notes += _repeated("the robot", "state", chosen)
    allowed = listing(ENCODINGS)
    notes += [
        f"{quote(topic)} is left out: its encoding is {quote(encoding)}; allowed are {allowed}"
        for topic, encoding in cameras.ignored.items()
    ]
    shown = {}
    for topic, stamps in seen.items():
        chosen = _last(stamps, times)
        counts = np.bincount(chosen, minlength=len(stamps)).astype(np.int64)
        before = len(cameras.found[topic].stamps) - len(stamps)
        shown[topic] = np.concatenate([np.zeros(before, np.int64), counts])
        notes += _repeated(quote(topic), "picture", chosen)
    return Episode(joints, state, action, cameras, shown, tuple(notes))


def _repeated(source: str, what: str, chosen: NDArray[np.int64]) -> list[str]:
    """Return a note in a list if frames repeat the data of the frame before, else [].

    `chosen`: for each frame the index of its data from `source`.
    """
    count = int((np.diff(chosen) == 0).sum())
    return [f"{source} has no new {what} in {count} of {len(chosen)} frames"] if count else []


def _times(run: RecordedRun, camera: Camera) -> Array:
    """Return the times [s] of the pictures after the last reset of time, as in RecordedRun."""
    stamps = np.array(camera.stamps[camera.before :], np.int64)
    if not len(stamps):
        text = f"{quote(camera.topic)} has no picture after time was reset"
        raise _error(run, "no-picture", text)
    resets = np.flatnonzero(np.diff(stamps) < -BACK)
    stamps = np.maximum.accumulate(stamps[resets[-1] + 1 :] if len(resets) else stamps)
    return np.asarray(run.time[0] + (stamps - run.stamps[0]) / NANOSECONDS, np.float64)


def _measured(run: RecordedRun, joints: Sequence[str]) -> tuple[Array, Array]:
    """Return times (n,) and positions (n, k) of joints: as measured, or else as simulated."""
    series = run.measured
    if series is None or not set(joints) <= set(series.names):
        where = run.m.jnt_qposadr[[run.m.jnt_names.index(name) for name in joints]]
        return run.time, run.qpos[:, where]
    rows = series.position[:, [series.names.index(name) for name in joints]]
    # a message may have only some joints; all others keep their last positions
    finite = np.isfinite(rows)
    unknown = [joints[int(k)] for k in np.flatnonzero(~finite.any(axis=0))]
    if unknown:
        text = f"{quote(series.topic)} has no position of {listing(unknown)}"
        raise _error(run, "no-position", text)
    last = np.maximum.accumulate(np.where(finite, np.arange(len(rows))[:, None], -1), axis=0)
    known = (last >= 0).all(axis=1)
    return series.time[known], np.take_along_axis(rows, last, axis=0)[known]


def _frame_times(run: RecordedRun, sources: Sequence[Array], fps: int) -> Array:
    """Return the times [s] of the frames, for which all sources have data; refuse too few."""
    first, last = max(x[0] for x in sources), min(x[-1] for x in sources)
    count = int(np.floor((last - first + ROUNDING) * fps)) + 1
    if count < FEWEST:
        text = f"states and pictures overlap for only {max(last - first, 0.0):.3g} s, which is "
        raise _error(run, "too-short", f"{text}shorter than two frames at {fps} Hz")
    return np.asarray(first + np.arange(count) / fps, np.float64)


def _last(times: Array, wanted: Array) -> NDArray[np.int64]:
    """Return for each wanted time the index of the last time that is not later, at least 0."""
    found = np.searchsorted(times, wanted + ROUNDING, side="right") - 1
    return np.maximum(found, 0).astype(np.int64)


def _command(run: RecordedRun, joints: Sequence[str], times: Array, action: Array) -> list[str]:
    """Write the last commanded positions into `action`; return the joints without commands."""
    missing = []
    for k, name in enumerate(joints):
        rows = [
            (series.time, series.position[:, series.names.index(name)])
            for series in run.commanded.values()
            if name in series.names
        ]
        when = np.concatenate([row[0] for row in rows]) if rows else np.empty(0)
        where = np.concatenate([row[1] for row in rows]) if rows else np.empty(0)
        order = np.argsort(when, kind="stable")
        order = order[np.isfinite(where[order])]
        if not len(order):
            missing.append(name)
            continue
        begun = times + ROUNDING >= when[order[0]]
        action[begun, k] = where[order][_last(when[order], times[begun])]
    return missing


def _error(run: RecordedRun, code: str, text: str) -> ParameterError:
    return recording_error(code, text, run.source)
