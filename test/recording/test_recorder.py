# SPDX-License-Identifier: Apache-2.0
"""rb.Recorder records simulated states to the last bit."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from support import robots

pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

from rosbags.highlevel import AnyReader
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.dynamics.instant import contact_points
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.recording.recorder import Recorder

TWO = """<robot name="two"><link name="base"/>
<link name="upper"><inertial><mass value="2"/><origin xyz="0 0 -0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><mass value="1"/><origin xyz="0 0 -0.4"/>
<inertia ixx="0.05" iyy="0.05" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 -1"/><axis xyz="0 1 0"/></joint></robot>"""


def moved(m, steps, path, urdf="", seed=0):
    """Record `steps` steps under random efforts; return their qpos, qvel, efforts and times."""
    rng, d = np.random.default_rng(seed), rb.make_data(m)
    rows = []
    with Recorder(m, path, urdf=urdf) as recorder:
        for _ in range(steps):
            d.qfrc_applied[:] = rng.normal(size=m.nv)
            rb.step(m, d)
            recorder.write(d)
            rows.append((d.qpos.copy(), d.qvel.copy(), d.qfrc_applied.copy(), d.time))
    return [np.array(part) for part in zip(*rows, strict=True)]


def test_states_are_read_back_to_the_last_bit(tmp_path):
    m = rb.load_urdf(TWO)
    qpos, qvel, effort, time = moved(m, 500, tmp_path / "run.mcap", TWO)
    run = read_run(tmp_path / "run.mcap")
    assert run.exact
    assert not run.truncated
    assert run.notes == ()
    for mine, theirs in ((qpos, run.qpos), (qvel, run.qvel), (effort, run.effort)):
        assert mine.tobytes() == theirs.tobytes()
    assert run.clock.tobytes() == time.tobytes()
    assert run.m.sha256() == m.sha256()
    assert run.name == "two"
    assert run.urdf == TWO


def test_a_simulation_continues_from_a_recorded_state(tmp_path):
    """Steps from a recorded state with the recorded efforts give the same bits."""
    m = rb.load_urdf(TWO)
    moved(m, 300, tmp_path / "run.mcap")
    run = read_run(tmp_path / "run.mcap")
    d = rb.make_data(run.m)
    d.qpos, d.qvel, d.time = run.qpos[99], run.qvel[99], float(run.clock[99])
    for k in range(100, 300):
        d.qfrc_applied[:] = run.effort[k]
        rb.step(run.m, d)
        assert d.qpos.tobytes() == run.qpos[k].tobytes()
        assert d.qvel.tobytes() == run.qvel[k].tobytes()


@robots.needs_robots
def test_a_robot_on_the_floor_continues_from_a_recorded_state(tmp_path):
    """A state includes the memory of contact friction, without which the bits would differ."""
    m = rb.load_urdf(robots.find("go2.urdf"), floating_base=True, strict=False, contact=True)
    d = rb.make_data(m)
    d.qpos[2] = 0.4
    with Recorder(m, tmp_path / "run.mcap") as recorder:
        for _ in range(700):
            rb.step(m, d)
            recorder.write(d)
    run = read_run(tmp_path / "run.mcap")
    d = rb.make_data(run.m)
    run.restore(d, 599)
    assert d.nstick > 1
    forgetful = d.copy()
    forgetful.nstick = 0
    for k in range(600, 700):
        rb.step(run.m, forgetful)
        rb.step(run.m, d)
        assert d.qpos.tobytes() == run.qpos[k].tobytes()
        assert d.qvel.tobytes() == run.qvel[k].tobytes()
    assert forgetful.qvel.tobytes() != d.qvel.tobytes()


def test_joints_that_stopped_continue_from_a_recorded_state(tmp_path):
    """A state includes the forces of friction and limits, with which the next step begins."""
    rod = rb.SystemBuilder("rod").body("rod", rb.shapes.box((0.5, 0.02, 0.02), mass=1.0))
    rod.joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0), friction=3.0, limit=(-1.0, 0.2))
    m = rb.build(rod)
    m.opt.exact_stops = True
    d = rb.make_data(m)
    with Recorder(m, tmp_path / "run.mcap") as recorder:
        for k in range(600):
            d.qfrc_applied = 2.0 if k < 100 else 9.0
            rb.step(m, d)
            recorder.write(d)
    run = read_run(tmp_path / "run.mcap")
    assert run.stick_qfrc[50] == pytest.approx(-2.0)
    assert run.stick_qfrc[-1] == pytest.approx(-9.0)
    # at 50 friction holds the joint, and at 550 the joint presses on its limit
    for start in (50, 550):
        d = rb.make_data(run.m)
        run.restore(d, start)
        forgetful = d.copy()
        forgetful.stick_qfrc = 0.0
        forgetful.qfrc_applied = run.effort[start + 1]
        rb.step(run.m, forgetful)
        assert forgetful.stick_qfrc.tobytes() != run.stick_qfrc[start + 1].tobytes()
        for k in range(start + 1, start + 20):
            d.qfrc_applied = run.effort[k]
            rb.step(run.m, d)
            for name in ("qpos", "qvel", "stick_qfrc"):
                assert getattr(d, name).tobytes() == getattr(run, name)[k].tobytes()


def test_contact_of_a_floating_robot_is_recorded(tmp_path):
    path = robots.find("go2.urdf")
    m = rb.load_urdf(path, floating_base=True, strict=False, contact=True)
    d = rb.make_data(m)
    d.qpos[2] = 0.4
    felt, points = [], []
    with Recorder(m, tmp_path / "run.mcap", urdf=path.read_text()) as recorder:
        for k in range(400):
            d.xfrc_applied[1, 0] = 20.0 * (100 <= k < 200)
            rb.step(m, d)
            recorder.write(d)
            felt.append(d.cfrc_contact[:, 3:].copy())
            points.append(contact_points(d))
    run = read_run(tmp_path / "run.mcap")
    assert run.qpos.shape == (400, m.nq)
    assert run.contact.shape == (400, m.nbody, 6)
    assert np.abs(felt).max() > 10.0
    assert np.array_equal(run.contact[:, 1:, :3], np.array(felt)[:, 1:])
    assert np.array_equal(run.xfrc[:, 1, 0], np.where(np.arange(400) // 100 == 1, 20.0, 0.0))
    # contact points are not recorded; a step from the previous sample computes them again
    assert run.instant(0).points is None
    assert all(np.array_equal(run.instant(k).points, points[k]) for k in range(1, 400, 7))
    assert len(points[150]) > 2
    other = replace(run, qpos=run.qpos + 1e-6 * (np.arange(400)[:, None] % 2))
    sparse = replace(run, clock=np.arange(0.0, 0.8, 0.002))
    assert [one.instant(150).points for one in (other, sparse)] == [None, None]


def test_ros_tools_read_the_topics(tmp_path):
    """The topic joint_states has mimic joints, and tf has the poses of frames in the world."""
    m = rb.load_urdf(robots.find("panda.urdf"), strict=False)
    d = rb.make_data(m)
    d.qpos[:] = m.qpos0 + 0.1
    with Recorder(m, tmp_path / "run.mcap") as recorder:
        recorder.write(d)
    rb.kinematics(m, d)
    with AnyReader([tmp_path / "run.mcap"]) as bag:
        found = {c.topic: bag.deserialize(raw, c.msgtype) for c, _, raw in bag.messages()}
    names = list(found["/joint_states"].name)
    assert set(names) == {n for n, k in zip(m.jnt_names, m.jnt_dofnum, strict=True) if k == 1}
    follower = names.index("panda_finger_joint2")
    leader = names.index("panda_finger_joint1")
    position = found["/joint_states"].position
    assert position[follower] == position[leader] != 0.0
    transforms = {t.child_frame_id: t for t in found["/tf"].transforms}
    assert {t.header.frame_id for t in transforms.values()} == {"world"}
    for name in ("panda_link3", "panda_hand", "panda_leftfinger"):
        p, R = rb.frame_pose(m, d, name)
        q = transforms[name].transform.rotation
        at = transforms[name].transform.translation
        assert np.allclose([at.x, at.y, at.z], p, atol=1e-15)
        x, y, z, w = q.x, q.y, q.z, q.w
        first = [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)]
        assert np.allclose(first, np.reshape(R, (3, 3))[:, 0], atol=1e-14)


def test_only_the_part_after_a_reset_is_read(tmp_path):
    m = rb.load_urdf(TWO)
    d = rb.make_data(m)
    with Recorder(m, tmp_path / "run.mcap") as recorder:
        for _ in range(2):
            rb.reset_data(m, d)
            d.qvel[:] = 1.0
            for _ in range(100):
                rb.step(m, d)
                recorder.write(d)
    run = read_run(tmp_path / "run.mcap")
    assert len(run.time) == 100
    assert (np.diff(run.time) > 0.0).all()
    (note,) = run.notes
    assert "reset" in note


def test_states_at_equal_times_are_kept(tmp_path):
    """States set by assignment to qpos, or with timesteps below 1 ns, have equal times."""
    m = rb.load_urdf(TWO)
    d = rb.make_data(m)
    with Recorder(m, tmp_path / "path.mcap") as recorder:
        for k in range(5):
            d.qpos[0] = 0.1 * k
            recorder.write(d)
            recorder.write(d)  # an equal state is not recorded again
        d.qvel[1] = 1.0
        recorder.write(d)
    run = read_run(tmp_path / "path.mcap")
    assert run.qpos[:, 0].tolist() == [0.1 * k for k in range(5)] + [0.1 * 4]
    assert run.qvel[:, 1].tolist() == [0.0] * 5 + [1.0]
    assert run.time.tolist() == [0.0] * 6
    assert run.at(0.0) == 5
    assert len(run.notes) == 1
    m.opt.timestep = 1e-10
    d = rb.make_data(m)
    with Recorder(m, tmp_path / "short.mcap") as recorder:
        for _ in range(20):  # the timestep is too short to change positions
            rb.step(m, d)
            recorder.write(d)
    run = read_run(tmp_path / "short.mcap")
    assert len(run.time) == 20
    assert (np.diff(run.time) >= 0.0).all()
    assert (np.diff(run.clock) > 0.0).all()


def test_an_existing_file_needs_overwrite(tmp_path):
    m = rb.load_urdf(TWO)
    path = tmp_path / "run.mcap"
    moved(m, 5, path)
    before = path.read_bytes()
    with refused(ParameterError, "occupied-file", "path"):
        Recorder(m, path)
    assert path.read_bytes() == before
    with Recorder(m, path, overwrite=True) as recorder:
        recorder.write(rb.make_data(m))
    assert len(read_run(path).time) == 1
    with refused(ModelError, "closed-recorder", "two"):
        recorder.write(rb.make_data(m))
    assert len(read_run(path).time) == 1


def test_an_incomplete_file_is_an_error_at_the_end(tmp_path):
    m = rb.load_urdf(TWO)
    recorder = Recorder(m, tmp_path / "run.mcap")
    recorder.write(rb.make_data(m))
    (tmp_path / "run.mcap").unlink()
    with refused(ParameterError, "incomplete-recording"):
        recorder.close()
    recorder.close()  # the recorder is already closed
    with pytest.raises(KeyError) as first, Recorder(m, tmp_path / "two.mcap"):
        raise KeyError((tmp_path / "two.mcap").unlink())
    assert first.value.__cause__ is None


def test_bad_arguments_are_refused(tmp_path):
    m = rb.load_urdf(TWO)
    with refused(ModelError, "not-a-model"):
        Recorder(3, tmp_path / "run.mcap")
    with refused(ParameterError, "bad-urdf", "urdf"):
        Recorder(m, tmp_path / "run.mcap", urdf=tmp_path)
    for rate in (0.0, -1.0, np.nan, np.inf, "fast"):
        with refused(ParameterError, "bad-rate", "rate", found=repr(rate)):
            Recorder(m, tmp_path / "run.mcap", rate=rate)
    with refused(ParameterError, "unknown-suffix", "path"):
        Recorder(m, tmp_path / "run.bag")
    with Recorder(m, tmp_path / "run.mcap") as recorder:
        d = rb.make_data(m)
        d.qpos[0] = np.nan
        with refused(ModelError, "not-finite", "two"):
            recorder.write(d)
        with pytest.raises(ModelError):
            recorder.write(rb.make_data(rb.load_urdf(TWO.replace("elbow", "knee"))))
        recorder.close()
        recorder.close()


def test_missing_libraries_are_reported(tmp_path):
    for package in ("rosbags", "mcap"):
        code = (
            f"import sys; sys.modules[{package!r}] = None\n"
            "import rbdyn_ros as rb\n"
            "from rbdyn_ros.recording.recorder import Recorder\n"
            f"Recorder(rb.load_urdf({TWO!r}), {str(tmp_path / 'run.mcap')!r})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert f"recordings need {package}, which is not installed" in done.stderr
        assert 'pip install "rbdyn_ros[record]"' in done.stderr


def test_the_recorder_imports_neither_ros_nor_the_view(tmp_path):
    code = (
        "import sys\n"
        "import rbdyn_ros as rb\n"
        "from rbdyn_ros.recording.recorder import Recorder\n"
        f"m = rb.load_urdf({TWO!r})\n"
        f"with Recorder(m, {str(tmp_path / 'run.mcap')!r}) as r: r.write(rb.make_data(m))\n"
        "assert not {'rclpy', 'sensor_msgs', 'viser', 'matplotlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_states_of_actuators_are_recorded_exactly(tmp_path):
    motor = rb.ActuatorSpec(
        "elbow", gear=10.0, armature=1e-4, motorconst=(0.05, 0.05), resistance=0.5,
        inductance=0.01, stiffness=500.0, lugre=(5.0, 0.0, 0.01, 0.02, 1.0), delay=0.002,
    )  # fmt: skip
    m = rb.with_actuators(rb.load_urdf(TWO), [motor])
    moved(m, 200, tmp_path / "run.mcap")
    run = read_run(tmp_path / "run.mcap")
    assert run.m.sha256() == m.sha256()
    assert run.act.shape == (200, m.na)
    d = rb.make_data(run.m)
    run.restore(d, 99)
    for k in range(100, 200):
        d.qfrc_applied = run.effort[k]
        rb.step(run.m, d)
        assert d.qpos.tobytes() == run.qpos[k].tobytes()
        assert d.act.tobytes() == run.act[k].tobytes()


def test_joint_states_have_the_torques_of_the_drives(tmp_path):
    """The drive delays a command of 5 N m, and limits it to 10 times 0.05 N m."""
    drive = rb.ActuatorSpec("elbow", gear=10.0, delay=0.03, torque_speed=((0.0, 0.05),))
    m = rb.with_actuators(rb.load_urdf(TWO), [drive])
    d = rb.make_data(m)
    with Recorder(m, tmp_path / "run.mcap", rate=1000.0) as recorder:
        for _ in range(60):
            d.qfrc_applied = [0.1, 5.0]  # shoulder and elbow
            rb.step(m, d)
            recorder.write(d)
    run = read_run(tmp_path / "run.mcap")
    # these are the commands, with which the run can be repeated
    assert np.array_equal(run.effort, np.tile([0.1, 5.0], (60, 1)))
    effort = run.measured.effort
    assert run.measured.names == ("shoulder", "elbow")
    assert np.array_equal(effort[:, 0], np.full(60, 0.1))
    assert np.allclose(effort[:, 1], np.where(np.arange(60) < 30, 0.0, 0.5), rtol=0, atol=1e-12)
