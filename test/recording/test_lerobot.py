# SPDX-License-Identifier: Apache-2.0
"""`rbdyn dataset` exports recordings with known positions and pictures, which are read back."""

import json

import numpy as np
import pytest
from support.commands import run

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("av", reason="av is not installed")

import av
from mcap_ros2.writer import Writer
from pyarrow import parquet

from rbdyn_ros.recording.lerobot.statistics import PictureStatistics, statistics
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.recording.schemas import Schemas

BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
)
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>'
    '<limit lower="-9" upper="9" effort="10" velocity="9"/></joint>'
)
ROBOT = (
    '<robot name="two"><link name="base">{0}</link><link name="one">{0}</link>'
    '<link name="tip">{0}</link>{1}{2}</robot>'
).format(BODY, JOINT.format("a", "base", "one"), JOINT.format("b", "one", "tip"))
START, MS = 1_700_000_000_000_000_000, 1_000_000
HEIGHT, WIDTH = 24, 32
#: H.264 changes grey levels by up to this much at this quality.
LEVELS = 3.0
FPS, TASK = 20, "push the box"


def position(t):
    """Return the recorded positions of the two joints at a time [s]."""
    return np.array([0.1 * t, np.sin(3.0 * t)])


def level(k):
    """Return the grey level of picture k."""
    return 20 + (7 * k) % 200


def picture(k, height=HEIGHT, width=WIDTH):
    """Return picture k: grey, with a red upper left quarter."""
    pixels = np.full((height, width, 3), level(k), np.uint8)
    pixels[: height // 2, : width // 2] = [200, 10, 10]
    return pixels


class Bag:
    """Writes MCAP files as ros2 bag does."""

    def __init__(self, path):
        self.file = path.open("wb")
        self.writer, self.texts, self.known = Writer(self.file), Schemas(), {}

    def put(self, topic, kind, ns, **fields):
        if kind not in self.known:
            self.known[kind] = self.writer.register_msgdef(kind, self.texts.text(kind))
        self.writer.write_message(topic, self.known[kind], fields, ns, ns)

    def close(self):
        self.writer.finish()
        self.file.close()


def header(ns):
    return {"stamp": {"sec": ns // 10**9, "nanosec": ns % 10**9}, "frame_id": ""}


def record(path, seconds=1.0, urdf=ROBOT, times=1, **more):
    """Write a recording of `times` runs, which all begin at the same time; return its path."""
    bag = Bag(path)
    bag.put("/robot_description", "std_msgs/msg/String", START, data=urdf)
    for _ in range(times):
        put_run(bag, seconds, **more)
    bag.close()
    return path


def put_run(bag, seconds, size=(HEIGHT, WIDTH), late=0, names=("a", "b"), lost=0):
    """Write states at 100 Hz, commands of joint a at 50 Hz, pictures at 20 Hz from `late` [ms]."""
    for ms in range(0, round(1000 * seconds) + 1, 10):
        ns = START + ms * MS
        q = position(ms / 1000).tolist()
        state = {"name": list(names), "position": q, "velocity": [], "effort": []}
        bag.put("/joint_states", "sensor_msgs/msg/JointState", ns, header=header(ns), **state)
        if ms % 20 == 0:
            command = {"name": ["a"], "position": [1.0 + ms], "velocity": [], "effort": []}
            kind = "sensor_msgs/msg/JointState"
            bag.put("/joint_commands", kind, ns, header=header(ns), **command)
        if ms % 50 == 0 and ms >= late:
            # the channels of bgr8 are blue, green, red
            data = picture(ms // 50, *size)[:, :, ::-1].tobytes()
            data = data[lost:]
            image = {"height": size[0], "width": size[1], "encoding": "bgr8", "is_bigendian": 0}
            stamp = {"header": header(ns), "step": 3 * size[1], "data": data}
            bag.put("/wrist/image_raw", "sensor_msgs/msg/Image", ns + 3 * MS, **image, **stamp)


def pictured(bag, topic, ns, k=0, encoding="bgr8", channels=3):
    size = {"height": HEIGHT, "width": WIDTH, "step": channels * WIDTH, "is_bigendian": 0}
    data = np.full(HEIGHT * WIDTH * channels, level(k), np.uint8).tobytes()
    kind = "sensor_msgs/msg/Image"
    bag.put(topic, kind, ns, header=header(ns), encoding=encoding, data=data, **size)


def stated(bag, ns, names, positions, topic="/joint_states"):
    state = {"name": names, "position": positions, "velocity": [], "effort": []}
    bag.put(topic, "sensor_msgs/msg/JointState", ns, header=header(ns), **state)


def begun(path):
    bag = Bag(path)
    bag.put("/robot_description", "std_msgs/msg/String", START, data=ROBOT)
    return bag


def export(folder, *recordings, fps=FPS, task=TASK):
    return run("dataset", *recordings, "-o", folder, "--fps", fps, "--task", task)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Return the folder of a dataset with two episodes; in the second the camera starts late."""
    folder = tmp_path_factory.mktemp("lerobot")
    first = record(folder / "first.mcap")
    second = record(folder / "second.mcap", 0.5, late=100)
    done = export(folder / "set", first, second)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {folder / 'set'}: 2 episodes, 30 frames at 20 Hz\n"
    assert "no position command was recorded for 'b'; the action is the" in done.stderr
    return folder / "set"


def rows(folder):
    return parquet.read_table(folder / "data/chunk-000/file-000.parquet").to_pydict()


#: Times of all frames in their recordings [s].
TIMES = np.concatenate([np.arange(21) / FPS, 0.1 + np.arange(9) / FPS])[:30]
EPISODES = [0] * 21 + [1] * 9


def test_states_and_actions_have_the_values_at_the_time_of_their_frame(dataset):
    found = rows(dataset)
    state, action = np.array(found["observation.state"]), np.array(found["action"])
    expected = np.array([position(t) for t in TIMES])
    # positions are stored in single precision
    np.testing.assert_allclose(state, expected, atol=1e-6)
    # commands come every 20 ms; the last command before the frame counts
    held = [1.0 + np.floor(1000 * t / 20 + 1e-6) * 20 for t in TIMES]
    np.testing.assert_allclose(action[:, 0], held, atol=1e-3)
    ends = [1.0] * 21 + [0.5] * 9
    after = [position(min(t + 1 / FPS, end))[1] for t, end in zip(TIMES, ends, strict=True)]
    np.testing.assert_allclose(action[:, 1], after, atol=1e-6)


def test_the_frames_are_numbered(dataset):
    found = rows(dataset)
    inside = [*range(21), *range(9)]
    assert found["frame_index"] == inside
    assert found["episode_index"] == EPISODES
    assert found["index"] == list(range(30))
    assert found["task_index"] == [0] * 30
    np.testing.assert_allclose(found["timestamp"], np.array(inside) / FPS, rtol=1e-6)


def decoded(folder, k):
    path = folder / f"videos/observation.images.wrist/chunk-000/file-{k:03d}.mp4"
    with av.open(str(path)) as file:
        return [(float(x.time), x.to_ndarray(format="rgb24")) for x in file.decode(video=0)]


@pytest.mark.parametrize(("k", "count", "first"), [(0, 21, 0), (1, 9, 2)])
def test_each_picture_has_the_time_of_its_state(dataset, k, count, first):
    frames = decoded(dataset, k)
    assert len(frames) == count
    for n, (time, pixels) in enumerate(frames):
        assert time == pytest.approx(n / FPS, abs=1e-6)
        expected = picture(first + n).astype(float)
        inner = np.s_[HEIGHT // 2 + 4 :, WIDTH // 2 + 4 :]  # a part of the picture away from edges
        np.testing.assert_allclose(pixels[inner], expected[inner], atol=LEVELS)
        assert pixels[4, 4, 0] > pixels[4, 4, 2] + 100  # the corner is red, not blue


def test_the_info_describes_the_features(dataset):
    info = json.loads((dataset / "meta/info.json").read_text())
    assert (info["codebase_version"], info["robot_type"], info["fps"]) == ("v3.0", "two", FPS)
    assert (info["total_episodes"], info["total_frames"]) == (2, 30)
    features = info["features"]
    assert features["action"] == features["observation.state"]
    assert features["action"]["names"] == ["a.pos", "b.pos"]
    assert features["observation.images.wrist"]["shape"] == [HEIGHT, WIDTH, 3]


def test_statistics_match_numpy(dataset):
    stats = json.loads((dataset / "meta/stats.json").read_text())
    state = np.array(rows(dataset)["observation.state"])
    for name in ("min", "max", "mean", "std"):
        ours = stats["observation.state"][name]
        np.testing.assert_allclose(ours, getattr(np, name)(state, axis=0), rtol=1e-6, atol=1e-9)
    pictures = np.stack([picture(k) for k in [*range(21), *range(2, 11)]]) / 255.0
    channels = stats["observation.images.wrist"]
    for name in ("min", "max", "mean", "std"):
        expected = getattr(np, name)(pictures, axis=(0, 1, 2)).reshape(3, 1, 1)
        np.testing.assert_allclose(channels[name], expected, rtol=1e-9)
    assert channels["count"] == [30]


def test_quantiles_of_images_are_scaled_by_1_over_255():
    found = PictureStatistics()
    pixels = np.repeat(np.arange(100, dtype=np.uint8), 3).reshape(10, 10, 3)
    found.add(pixels, 2)
    assert found.values()["q50"][0][0][0] == pytest.approx(49 / 255)
    assert found.values()["count"] == [2]
    assert statistics(np.arange(101.0)[:, None])["q90"] == [90.0]


def test_lerobot_reads_the_dataset(dataset):
    """LeRobot's own reader returns the exported values."""
    pytest.importorskip("lerobot", reason="lerobot is not installed")
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    found = LeRobotDataset("local/two", root=dataset, video_backend="pyav")
    assert (found.num_episodes, found.num_frames, found.fps) == (2, 30, FPS)
    assert found.meta.robot_type == "two"
    for n in (0, 7, 20, 21, 29):
        item = found[n]
        np.testing.assert_allclose(item["observation.state"], position(TIMES[n]), atol=1e-6)
        assert item["task"] == TASK
        assert item["episode_index"] == EPISODES[n]
        pixels = item["observation.images.wrist"].numpy()
        assert pixels.shape == (3, HEIGHT, WIDTH)
        k = round(TIMES[n] * FPS)
        assert 255 * pixels[:, -4, -4].mean() == pytest.approx(level(k), abs=LEVELS)
    window = {"action": [0.0, 1 / FPS]}
    pair = LeRobotDataset("local/two", root=dataset, delta_timestamps=window)[3]["action"]
    np.testing.assert_allclose(pair[:, 0], [1.0 + 140, 1.0 + 200], atol=1e-3)


@pytest.mark.parametrize(
    ("fps", "task", "text"), [(0, TASK, "--fps"), (1001, TASK, "--fps"), (20, " ", "--task")]
)
def test_bad_arguments_are_refused(tmp_path, fps, task, text):
    done = export(tmp_path / "set", tmp_path / "none.mcap", fps=fps, task=task)
    assert done.returncode == 2
    assert text in done.stderr


def test_unsuitable_recordings_are_refused_and_leave_no_files(tmp_path):
    good = record(tmp_path / "good.mcap")
    other = record(tmp_path / "other.mcap", urdf=ROBOT.replace('"a"', '"c"'), names=("c", "b"))
    odd = record(tmp_path / "odd.mcap", size=(HEIGHT, 33))
    large = record(tmp_path / "large.mcap", size=(HEIGHT, 64))
    short = record(tmp_path / "short.mcap", 0.02)
    broken = record(tmp_path / "broken.mcap", lost=1)
    for recordings, text in {
        (good, other): "recording 2 has the joints 'c', 'b', but recording 1 has 'a', 'b'",
        (odd,): "is 33 x 24; both numbers must be even",
        (broken,): "a message of '/wrist/image_raw' is not a valid sensor_msgs/msg/Image",
        (good, large): "recording 2 has the cameras 'wrist of 64 x 24'",
        (short,): "which is shorter than two frames at 20 Hz",
        (good, tmp_path / "missing.mcap"): "there is no such file or folder",
    }.items():
        done = export(tmp_path / "set", *recordings)
        assert done.returncode == 1
        assert text in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".mcap"]


def test_only_the_part_after_a_reset_is_written(tmp_path, dataset):
    path = record(tmp_path / "reset.mcap", times=2)
    done = export(tmp_path / "set", path)
    assert "1 episode, 21 frames" in done.stdout
    assert rows(tmp_path / "set")["observation.state"] == rows(dataset)["observation.state"][:21]
    levels = [pixels.mean() for _, pixels in decoded(tmp_path / "set", 0)]
    np.testing.assert_allclose(levels, [x.mean() for _, x in decoded(dataset, 0)], atol=LEVELS)


def test_pictures_before_a_reset_are_not_part_of_the_episode(tmp_path):
    """Stamps of the pictures alone may keep rising, so the states show the reset of time."""
    bag = begun(tmp_path / "reset.mcap")
    put_run(bag, 0.7)
    put_run(bag, 1.0, late=400)
    bag.close()
    done = export(tmp_path / "set", tmp_path / "reset.mcap")
    assert "1 episode, 13 frames" in done.stdout
    state = np.array(rows(tmp_path / "set")["observation.state"])
    np.testing.assert_allclose(state, [position(0.4 + k / FPS) for k in range(13)], atol=1e-6)
    bag = begun(tmp_path / "blind.mcap")
    put_run(bag, 0.7)
    put_run(bag, 0.5, late=10_000)
    bag.close()
    done = export(tmp_path / "none", tmp_path / "blind.mcap")
    assert done.returncode == 1
    assert "'/wrist/image_raw' has no picture after time was reset" in done.stderr


def test_joints_of_two_publishers_keep_their_last_positions(tmp_path):
    bag = begun(tmp_path / "two.mcap")
    for ms in range(0, 510, 10):
        name, value = ("a", ms) if ms % 20 else ("b", -ms)
        stated(bag, START + ms * MS, [name], [float(value)])
    bag.close()
    assert export(tmp_path / "set", tmp_path / "two.mcap").returncode == 0
    state = np.array(rows(tmp_path / "set")["observation.state"])
    # both joints are known from 10 ms on, so frames are at 10, 60, 110 ... ms
    times = 10 + 50 * np.arange(len(state))
    a = times - (times % 20 == 0) * 10
    b = times - (times % 20 == 10) * 10
    np.testing.assert_array_equal(state, np.stack([a, -b], axis=1))


def test_a_joint_without_positions_is_refused(tmp_path):
    bag = begun(tmp_path / "nan.mcap")
    for ms in range(0, 510, 10):
        stated(bag, START + ms * MS, ["a", "b"], [0.0, float("nan")])
    bag.close()
    done = export(tmp_path / "set", tmp_path / "nan.mcap")
    assert done.returncode == 1
    assert "'/joint_states' has no position of 'b'" in done.stderr


def test_cameras_get_unique_names_and_a_note_names_unsupported_encodings(tmp_path):
    bag = begun(tmp_path / "many.mcap")
    topics = {"/a/b/image_raw": 1, "/a_b/image_raw": 9, "/image_raw": 20}
    for ms in range(0, 510, 10):
        stated(bag, START + ms * MS, ["a", "b"], [0.0, 0.0])
        for topic, k in topics.items():
            pictured(bag, topic, START + ms * MS, k)
        pictured(bag, "/odd/image_raw", START + ms * MS, 0, "rgba8", 4)
    bag.close()
    done = export(tmp_path / "set", tmp_path / "many.mcap")
    assert done.returncode == 0
    text = "'/odd/image_raw' is left out: its encoding is 'rgba8'; allowed are 'rgb8', 'bgr8'"
    assert text in done.stderr
    for name, k in {"a_b": 1, "a_b_": 9, "camera": 20}.items():
        path = tmp_path / f"set/videos/observation.images.{name}/chunk-000/file-000.mp4"
        with av.open(str(path)) as file:
            shown = [x.to_ndarray(format="rgb24").mean() for x in file.decode(video=0)]
        assert len(shown) == 11
        np.testing.assert_allclose(shown, level(k), atol=LEVELS)


def test_an_encoding_that_changes_is_refused(tmp_path):
    bag = begun(tmp_path / "mixed.mcap")
    stated(bag, START, ["a", "b"], [0.0, 0.0])
    pictured(bag, "/eye/image_raw", START)
    pictured(bag, "/eye/image_raw", START, 0, "rgba8", 4)
    bag.close()
    done = export(tmp_path / "set", tmp_path / "mixed.mcap")
    assert done.returncode == 1
    assert "the encoding of the pictures of '/eye/image_raw' changes" in done.stderr


def test_frames_without_a_new_state_are_reported(tmp_path):
    bag = begun(tmp_path / "gap.mcap")
    for ms in (*range(0, 110, 10), *range(400, 510, 10)):
        stated(bag, START + ms * MS, ["a", "b"], [0.0, 0.0])
    bag.close()
    done = export(tmp_path / "set", tmp_path / "gap.mcap")
    # of the frames at 0, 50 ... 500 ms the five from 150 to 350 ms repeat the state of 100 ms
    assert "the robot has no new state in 5 of 11 frames" in done.stderr


def test_goals_of_the_topic_gripper_commands_become_actions(tmp_path):
    bag = begun(tmp_path / "grip.mcap")
    for ms in range(0, 210, 10):
        stated(bag, START + ms * MS, ["a", "b"], [0.0, 0.0])
        goal = {"name": ["b"], "position": [0.5], "velocity": [3.0], "effort": [4.0]}
        ns = START + ms * MS
        kind = "sensor_msgs/msg/JointState"
        bag.put("/gripper_commands", kind, ns, header=header(ns), **goal)
        unnamed = {**goal, "name": []}  # without a name it is the position of the only gripper
        bag.put("/gripper_commands", kind, ns, header=header(ns), **unnamed)
    bag.close()
    assert export(tmp_path / "set", tmp_path / "grip.mcap").returncode == 0
    action = np.array(rows(tmp_path / "set")["action"])
    np.testing.assert_array_equal(action, [[0.0, 0.5]] * len(action))
    series = read_run(tmp_path / "grip.mcap").commanded["/gripper_commands"]
    assert np.isnan(series.velocity).all()
    assert np.isnan(series.effort).all()


def test_a_dataset_can_be_written_into_the_current_folder_or_through_a_symbolic_link(
    tmp_path, monkeypatch
):
    path = record(tmp_path / "good.mcap", 0.2)
    (tmp_path / "here").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    monkeypatch.chdir(tmp_path / "here")
    for folder, place in ((".", "here"), (tmp_path / "link", "empty")):
        done = export(folder, path)
        assert (done.returncode, done.stdout[:5]) == (0, "wrote")
        assert {x.name for x in (tmp_path / place).iterdir()} == {"data", "meta", "videos"}


def test_a_full_disk_ends_with_status_2_and_leaves_no_files(tmp_path, monkeypatch):
    path = record(tmp_path / "good.mcap", 0.2)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rbdyn_ros.recording.lerobot.dataset._write_json", full)
    done = export(tmp_path / "set", path)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert [x.name for x in tmp_path.iterdir()] == ["good.mcap"]


def test_a_recording_without_a_camera_has_no_video(tmp_path):
    path = record(tmp_path / "blind.mcap", late=10_000)
    assert export(tmp_path / "set", path, fps=50).returncode == 0
    info = json.loads((tmp_path / "set/meta/info.json").read_text())
    assert info["video_path"] is None
    assert info["total_frames"] == 51
    assert not (tmp_path / "set/videos").exists()


def test_missing_libraries_are_reported(tmp_path, monkeypatch):
    path = record(tmp_path / "good.mcap", 0.2)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = export(tmp_path / "set", path)
    assert done.returncode == 1
    assert 'pip install "rbdyn_ros[lerobot]"' in done.stderr
    assert not (tmp_path / "set").exists()


def test_an_existing_dataset_is_kept(tmp_path):
    path = record(tmp_path / "good.mcap", 0.2)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").touch()
    assert export(tmp_path / "set", path).returncode == 2
    assert [x.name for x in (tmp_path / "set").iterdir()] == ["mine"]
