# SPDX-License-Identifier: Apache-2.0
"""Write the files of a dataset of LeRobot, version 3.0.

    meta/info.json                      the features, and the paths of the files
    meta/stats.json                     statistics of all frames
    meta/tasks.parquet                  what the robot does, in words
    meta/episodes/chunk-000/            a row for each episode: its frames, files and statistics
    data/chunk-000/                     a row for each frame
    videos/NAME/chunk-000/              the pictures of a camera, a file for each episode

Source: lerobot.datasets.utils and lerobot.datasets.lerobot_dataset of LeRobot 0.4.
"""

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError, listing
from rbdyn_ros.recording.lerobot.cameras import Camera, VideoFile, video_info
from rbdyn_ros.recording.lerobot.episode import Episode
from rbdyn_ros.recording.lerobot.statistics import PictureStatistics, statistics

VERSION = "v3.0"
STATE, ACTION, IMAGES = "observation.state", "action", "observation.images."
#: Suffix of the names of positions in datasets of LeRobot's own robots.
POSITION = ".pos"
PLACE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA, VIDEO = f"data/{PLACE}.parquet", f"videos/{{video_key}}/{PLACE}.mp4"
#: Largest number of files in a folder; sizes [MB] after which LeRobot would begin another file.
CHUNK, DATA_SIZE, VIDEO_SIZE = 1000, 100, 200
#: Columns of each frame, with their types.
COLUMNS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}


def write_dataset(
    folder: Path, episodes: Sequence[Episode], fps: int, task: str, robot: str
) -> None:
    """Write episodes to an existing folder.

    Args:
        folder: folder of the dataset.
        episodes: episodes with the same joints and cameras.
        fps: frames per second.
        task: what the robot does, in words.
        robot: kind of the robot.

    Raises:
        ParameterError: as from check_episodes.
    """
    check_episodes(episodes)
    seen = [_videos(folder, k, one, fps) for k, one in enumerate(episodes)]
    frames = [_frames(k, one, fps, episodes) for k, one in enumerate(episodes)]
    _write_frames(folder, frames)
    _write_episodes(folder, frames, seen, fps, task)
    _write_tasks(folder, task)
    whole = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
    merged = {key: seen[0][key].merge([one[key] for one in seen[1:]]) for key in seen[0]}
    _write_json(folder / "meta" / "stats.json", _statistics(whole, merged))
    _write_json(folder / "meta" / "info.json", _info(episodes, fps, robot))


def check_episodes(episodes: Sequence[Episode]) -> None:
    """Raise ParameterError if the episodes differ, or a package to write them is missing."""
    for package in ("pyarrow", "av"):
        if importlib.util.find_spec(package) is None:
            text = f"a dataset needs {package}, which is not installed: pip install "
            text += '"rbdyn_ros[lerobot]"'
            raise ParameterError(Finding("no-lerobot-extra", text, "error", "", None, "", package))
    _check_alike(episodes)


def _check_alike(episodes: Sequence[Episode]) -> None:
    """Raise ParameterError if episodes have different joints or cameras."""
    first = episodes[0]
    for k, other in enumerate(episodes[1:], 2):
        for what, mine, its in (
            ("joints", first.joints, other.joints),
            ("cameras", _sizes(first), _sizes(other)),
        ):
            if mine != its:
                text = (
                    f"recording {k} has the {what} {listing(its)}, but recording 1 has "
                    f"{listing(mine)}; all recordings of a dataset must be of one robot"
                )
                raise ParameterError(Finding("other-episode", text, "error", what))


def _sizes(one: Episode) -> list[str]:
    return [f"{x.name} of {x.width} x {x.height}" for x in one.cameras.found.values()]


def _key(camera: Camera) -> str:
    return IMAGES + camera.name


def _place(k: int) -> dict[str, int]:
    """Return the chunk number and the file number of episode k, by column name."""
    return {"chunk_index": k // CHUNK, "file_index": k % CHUNK}


def _videos(folder: Path, k: int, one: Episode, fps: int) -> dict[str, PictureStatistics]:
    """Write the videos of episode k; return the statistics of each video, by camera."""
    found = {_key(camera): PictureStatistics() for camera in one.cameras.found.values()}
    writers = {}
    for topic, camera in one.cameras.found.items():
        path = folder / VIDEO.format(video_key=_key(camera), **_place(k))
        path.parent.mkdir(parents=True, exist_ok=True)
        writers[topic] = VideoFile(path, camera, fps)
    counters = {topic: iter(counts) for topic, counts in one.shown.items()}
    for topic, picture in one.cameras.pictures():
        for _ in range(times := int(next(counters[topic]))):
            writers[topic].add(picture)
        found[_key(one.cameras.found[topic])].add(picture, times)
    for writer in writers.values():
        writer.close()
    return found


def _frames(
    k: int, one: Episode, fps: int, episodes: Sequence[Episode]
) -> dict[str, np.ndarray[Any, Any]]:
    n, before = one.length, sum(other.length for other in episodes[:k])
    count = np.arange(n)
    columns = {
        "timestamp": count / fps,
        "frame_index": count,
        "episode_index": np.full(n, k),
        "index": before + count,
        "task_index": np.zeros(n),
    }
    rows = {STATE: one.state, ACTION: one.action}
    return {
        **{name: values.astype(np.float32) for name, values in rows.items()},
        **{name: columns[name].astype(kind) for name, kind in COLUMNS.items()},
    }


def _write_frames(folder: Path, frames: Sequence[Mapping[str, np.ndarray[Any, Any]]]) -> None:
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name in frames[0]:
        values = np.concatenate([frame[name] for frame in frames])
        if values.ndim == 1:
            columns[name] = pa.array(values)
        else:
            kind = pa.list_(pa.float32(), values.shape[1])
            columns[name] = pa.array(list(values), kind)
    _write_table(folder / DATA.format(**_place(0)), pa.table(columns))


def _write_episodes(
    folder: Path,
    frames: Sequence[Mapping[str, np.ndarray[Any, Any]]],
    seen: Sequence[Mapping[str, PictureStatistics]],
    fps: int,
    task: str,
) -> None:
    import pyarrow as pa

    rows = [dict(_episode_row(k, frame, seen[k], fps, task)) for k, frame in enumerate(frames)]
    path = folder / f"meta/episodes/{PLACE}.parquet".format(**_place(0))
    _write_table(path, pa.Table.from_pylist(rows))


def _episode_row(
    k: int,
    frame: Mapping[str, np.ndarray[Any, Any]],
    seen: Mapping[str, PictureStatistics],
    fps: int,
    task: str,
) -> Iterator[tuple[str, Any]]:
    n, first = len(frame["index"]), int(frame["index"][0])
    yield from {"episode_index": k, "tasks": [task], "length": n}.items()
    yield from {"dataset_from_index": first, "dataset_to_index": first + n}.items()
    for what in ("data", "meta/episodes"):
        yield from ((f"{what}/{name}", index) for name, index in _place(0).items())
    for key in seen:
        yield from ((f"videos/{key}/{name}", index) for name, index in _place(k).items())
        yield f"videos/{key}/from_timestamp", 0.0
        yield f"videos/{key}/to_timestamp", n / fps
    for name, values in _statistics(frame, seen).items():
        yield from ((f"stats/{name}/{kind}", number) for kind, number in values.items())


def _statistics(
    frames: Mapping[str, np.ndarray[Any, Any]], seen: Mapping[str, PictureStatistics]
) -> dict[str, Any]:
    numbers = {
        name: statistics(values.reshape(len(values), -1)) for name, values in frames.items()
    }
    return {**numbers, **{key: pictures.values() for key, pictures in seen.items()}}


def _write_tasks(folder: Path, task: str) -> None:
    """Write the table of tasks, whose index is the task; metadata for pandas name the index."""
    import pyarrow as pa

    index = "__index_level_0__"
    text, number = ("unicode", "object"), ("int64", "int64")
    rows = [("task_index", "task_index", number), (None, index, text)]
    pandas = {
        "index_columns": [index],
        "column_indexes": [_pandas_column(None, None, text, {"encoding": "UTF-8"})],
        "columns": [_pandas_column(*row) for row in rows],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.0.0",
    }
    table = pa.table({"task_index": pa.array([0], pa.int64()), index: pa.array([task])})
    table = table.replace_schema_metadata({"pandas": json.dumps(pandas)})
    _write_table(folder / "meta" / "tasks.parquet", table)


def _pandas_column(
    name: str | None, field: str | None, types: tuple[str, str], metadata: object = None
) -> dict[str, Any]:
    kinds = dict(zip(("pandas_type", "numpy_type"), types, strict=True))
    return {"name": name, "field_name": field, **kinds, "metadata": metadata}


def _info(episodes: Sequence[Episode], fps: int, robot: str) -> dict[str, Any]:
    first = episodes[0]
    names = [f"{joint}{POSITION}" for joint in first.joints]
    positions = {"dtype": "float32", "shape": [len(names)], "names": names}
    pictures = {
        _key(camera): {
            "dtype": "video",
            "shape": [camera.height, camera.width, 3],
            "names": ["height", "width", "channels"],
            "info": video_info(camera, fps),
        }
        for camera in first.cameras.found.values()
    }
    columns = {
        name: {"dtype": kind, "shape": [1], "names": None} for name, kind in COLUMNS.items()
    }
    return {
        "codebase_version": VERSION,
        "robot_type": robot,
        "total_episodes": len(episodes),
        "total_frames": sum(one.length for one in episodes),
        "total_tasks": 1,
        "chunks_size": CHUNK,
        "data_files_size_in_mb": DATA_SIZE,
        "video_files_size_in_mb": VIDEO_SIZE,
        "fps": fps,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": DATA,
        "video_path": VIDEO if pictures else None,
        "features": {ACTION: positions, STATE: positions, **pictures, **columns},
    }


def _write_table(path: Path, table: Any) -> None:
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path)


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=4), encoding="utf-8")
