# SPDX-License-Identifier: Apache-2.0
"""For each state the controller of a generated package agrees with arm_controller."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.arm_kernels import Stopping
from support.c_compilers import run
from support.control_package import (
    EFFORTS,
    KEEP,
    SILENT,
    ArmCode,
    CppArm,
    CppEnding,
    CppGate,
    needs_gxx,
    package_of,
    settings_of,
)
from support.lies import LIES

import rbdyn_ros as rb
from rbdyn_ros.codegen.ros2_control.package import write
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.limits import LATENCY, Limits
from rbdyn_ros.control.base.state_kernels import LONGEST
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.states.gate import GateSettings, SafetyGate
from rbdyn_ros.control.states.gate_kernels import HASTE
from rbdyn_ros.dynamics.toolbox.terms import gravity_term
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.arm.parameters import PARAMETERS
from rbdyn_ros.share import bundled_robot

pytestmark = needs_gxx

BENT = np.array([0.3, 0.6, 0.4, -0.7, 0.5, 0.4, 0.2])
H = 0.001
RACE = Path(__file__).parents[1] / "support/fault_text.cpp"
#: Allowed difference relative to the largest effort, because both controllers add a thousand
#: terms, perhaps in different orders.
ROUNDING = 1e-11


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.fixture(scope="module")
def code(m, tmp_path_factory):
    return ArmCode(package_of(m), tmp_path_factory.mktemp("seven") / "my_arm")


@pytest.fixture(scope="module")
def partial(m, tmp_path_factory):
    """Return code for an arm with acceleration limits, whose third joint is not controlled."""
    effort = m.jnt_effort.copy()
    effort[m.dof_jntid[2]] = 0.0
    gains = np.where(m.jnt_dofnum == 1, 40.0, m.jnt_acceleration)
    other = m.replaced(jnt_effort=effort, jnt_acceleration=gains)
    folder = tmp_path_factory.mktemp("partial") / "part_arm"
    return ArmCode(package_of(other, "part_arm"), folder)


def corrupted(rng, q, v, limits):
    """Return a copy of q and v: unchanged, with a joint near a limit, or with a false number."""
    q, v, k = q.copy(), v.copy(), int(rng.integers(len(limits.names)))
    dof = limits.dofs[k]
    kind = rng.integers(12)
    if kind == 0:
        q[dof] = (limits.upper if rng.random() < 0.5 else limits.lower)[k] + rng.normal(0.0, 0.01)
    elif kind == 1:
        v[dof] = rng.choice([-1.0, 1.0]) * limits.velocity[k] * rng.uniform(0.95, 1.05)
    elif kind == 2:
        q[dof] += rng.choice([0.005, 0.02, 0.4])
    elif kind == 3:
        v[dof] += rng.choice([0.2, 0.8, 1.5])
    elif kind == 4:
        v[dof] = -v[dof]
    return q, v


def sequence(rng, limits, nv):
    """Yield (q, v, time since the last state [s]) of a random motion; some states are false."""
    q, v = 0.5 * rng.uniform(-1.0, 1.0, nv), rng.uniform(-1.0, 1.0, nv)
    for _ in range(60):
        step = float(rng.choice([1e-3, 4e-3, 1e-2, 0.05], p=[0.7, 0.15, 0.1, 0.05]))
        v = v + rng.normal(0.0, 0.02, nv)
        q = q + step * v
        yield *corrupted(rng, q, v, limits), step


@pytest.mark.parametrize("which", ["code", "partial"])
def test_the_gate_checks_states_like_arm_controller(which, request):
    code = request.getfixturevalue(which)
    m, rng, found = code.package.code.m, np.random.default_rng(3), []
    limits = code.package.limits.tightened(1.0, 1.0, 0.0, power_limit=30.0)
    names = [m.jnt_names[j] for j in m.dof_jntid]
    for _ in range(40):
        gate, native = SafetyGate(m, limits, GateSettings()), CppGate(code, limits)
        stamp = 10 * NANOSECONDS
        efforts = rng.uniform(-1.0, 1.0, len(limits.names)) * limits.effort
        gate.begin(efforts)
        native.begin(efforts)
        for q, v, step in sequence(rng, limits, m.nv):
            stamp += round(step * NANOSECONDS)
            _, wrong = gate.admit(names, q, v, np.zeros(m.nv), stamp, stamp)
            verdict = native.judge(q, v, stamp)
            expected = ("", False) if wrong is None else (wrong.code, wrong.blind)
            assert verdict[:2] == expected, wrong
            assert verdict[3] == gate.s.dropped
            if wrong is not None:
                assert limits.names[verdict[2]] in wrong.text
            found.append(verdict[:2])
    blind = {("velocity", True)}
    seen = {(kind, False) for kind in ("", "position", "velocity", "acceleration", "power")}
    assert blind | seen <= set(found)


@pytest.mark.parametrize("which", ["code", "partial"])
def test_the_gate_limits_efforts_like_arm_controller(which, request):
    code = request.getfixturevalue(which)
    m, limits, rng = code.package.code.m, code.package.limits, np.random.default_rng(4)
    settings, n = GateSettings(blend_time=0.05), len(limits.names)
    for _ in range(100):
        gate, native = SafetyGate(m, limits, settings), CppGate(code, limits, 0.05)
        first = 1.2 * rng.uniform(-1.0, 1.0, n) * limits.effort
        gate.begin(first)
        native.begin(first)
        for count in range(30):
            q = rng.uniform(-1.1, 1.1, m.nv)
            q[limits.dofs] *= limits.upper
            wanted, holding = rng.uniform(-150.0, 150.0, (2, m.nv))
            if rng.random() < 0.1:
                wanted[rng.integers(m.nv)] = np.nan
            dt = float(rng.choice([1e-3, 0.03]))
            last = count == 29
            gate.measured.qpos[:] = q
            expected = gate.release(wanted, holding, dt, last)
            found, unfit = native.release(wanted, holding, q, dt, last)
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-12)
            assert unfit == gate.unfit


class Pair:
    """A Controller and a generated controller, armed at rest, which get the same states."""

    def __init__(self, code, mode, compensates=False, friction=0.0, **settings):
        m = self.m = code.package.code.m
        rubbing = Friction.of_model(m).scaled(friction)
        arm = Arm(m, friction=rubbing, robot_compensates_gravity=compensates)
        given, self.limits = settings_of(**settings), code.package.limits
        gate = SafetyGate(m, self.limits, GateSettings())
        self.controller = Controller(arm, gate, given)
        self.native = CppArm(code, given, gate.settings, compensates, friction)
        self.names, self.now = list(arm.names), 10 * NANOSECONDS
        held = arm.twin().gravity_effort(BENT, np.empty(m.nv))
        self.controller.set_mode(mode)
        self.python(BENT, np.zeros(m.nv), held)
        self.controller.try_arm(self.now)
        assert self.native.start(BENT, np.zeros(m.nv), held[self.limits.dofs], mode) == 0

    def python(self, q, v, effort=None):
        effort = np.full(self.m.nv, np.nan) if effort is None else effort
        return self.controller.on_state(self.names, q, v, effort, self.now, self.now)

    def __call__(self, q, v, reference=None):
        """Send a state to both controllers; assert equal answers; return the efforts or None."""
        self.now += round(H * NANOSECONDS)
        return self.compared(self.python(q, v), self.native.update(q, v, H, reference))

    def without_state(self, q):
        """Let a period pass without a state; assert equal answers; return the efforts or None."""
        self.now += round(H * NANOSECONDS)
        expected = self.controller.on_watch(self.now)
        return self.compared(expected, self.native.update(q, 0.0 * q, H, readable=False))

    def compared(self, expected, answer):
        """Assert that both answers are equal; return the efforts, or None without efforts."""
        if expected is None:
            assert answer != EFFORTS
            return None
        assert answer == EFFORTS
        largest = max(np.abs(expected).max(), 1.0)
        np.testing.assert_allclose(self.native.effort, expected, rtol=0, atol=ROUNDING * largest)
        fault = self.controller.fault
        assert self.native.fault == (("", False) if fault is None else (fault.code, fault.blind))
        return self.native.effort


def plant(m, d, effort, limits, push=0.0):
    """Step the arm with efforts for controlled joints, and a push on the first of them."""
    full = gravity_term(m, d)
    full[limits.dofs] = effort
    full[limits.dofs[0]] += push
    d.qfrc_applied[:] = full
    rb.step(m, d)


def rough_plant(m):
    """Return the Model with friction, of which the controllers compensate half."""
    rough = m.replaced()
    # with smooth friction no two states of an arm at rest are equal, so no state seems frozen
    rough.opt.passive, rough.opt.exact_stops = True, False
    return rough


@pytest.mark.parametrize("which", ["code", "partial"])
@pytest.mark.parametrize("mode", ["gravity", "computed_torque", "impedance"])
def test_the_generated_loop_sends_the_efforts_of_arm_controller(which, mode, request):
    """A push moves the arm, the mode changes twice, and a harder push is a fault."""
    code = request.getfixturevalue(which)
    pair = Pair(code, mode, friction=0.5, tracking_tolerance=0.5)
    rough = rough_plant(pair.m)
    d = rb.make_data(rough)
    d.qpos[:] = BENT
    for k in range(100):
        effort = pair(d.qpos.copy(), d.qvel.copy())
        plant(rough, d, effort, pair.limits, 6.0 * (k < 60))
    other = "computed_torque" if mode == "gravity" else "gravity"
    for name in (other, mode):
        pair.controller.set_mode(name)
        pair.native.set_mode(name)
        for _ in range(60):
            plant(rough, d, pair(d.qpos.copy(), d.qvel.copy()), pair.limits)
    assert pair.native.phase == "running"
    phases, pushed = set(), 60.0
    for _ in range(1000):
        effort = pair(d.qpos.copy(), d.qvel.copy())
        phases.add(pair.native.phase)
        pushed = pushed if pair.native.phase == "running" else 0.0
        plant(rough, d, effort, pair.limits, pushed)
    assert phases == {"running", "braking", "holding"}
    assert not pair.native.fault[1]


@pytest.mark.parametrize("lie", ["velocity_sign", "frozen", "swapped", "position_drift"])
def test_an_arm_with_false_states_brakes_as_under_arm_controller(code, lie):
    """Both controllers brake with the same efforts until both end their efforts."""
    pair, d = Pair(code, "gravity"), rb.make_data(code.package.code.m)
    d.qpos[:] = BENT
    for _ in range(150):
        plant(pair.m, d, pair(d.qpos.copy(), d.qvel.copy()), pair.limits, 1.0)
    assert pair.native.phase == "running"
    change = next(row for row in LIES if row.name == lie).start()
    phases = set()
    for k in range(1500):
        state = {"position": d.qpos.copy(), "velocity": d.qvel.copy(), "effort": np.zeros(7)}
        (seen,) = change(state, k * H)
        effort = pair(*(np.asarray(seen[row], float) for row in ("position", "velocity")))
        phases.add(pair.native.phase)
        if effort is None:
            break
        plant(pair.m, d, effort, pair.limits)
    assert pair.native.fault[1]
    assert phases >= {"blind", "silent"}


@pytest.mark.parametrize("missing", [40, 60, 300])
@pytest.mark.parametrize("mode", ["gravity", "computed_torque"])
def test_an_arm_without_states_coasts_as_under_arm_controller(code, mode, missing):
    """States are missing for 40 ms, for 60 ms, or until the end (300)."""
    pair = Pair(code, mode, friction=0.5, tracking_tolerance=0.5)
    rough = rough_plant(pair.m)
    d = rb.make_data(rough)
    d.qpos[:] = BENT
    for _ in range(100):
        effort = pair(d.qpos.copy(), d.qvel.copy()).copy()
        plant(rough, d, effort, pair.limits, 6.0)
    answers = []
    for _ in range(missing):
        answers.append(pair.without_state(d.qpos.copy()))
        effort = effort if answers[-1] is None else answers[-1].copy()
        plant(rough, d, effort, pair.limits)
    assert all(answer is None for answer in answers[:19])
    if missing == 300:
        assert pair.native.fault == ("age", True)
        assert pair.native.phase == "silent"
        return
    assert all(answer is not None for answer in answers[20:])
    for _ in range(100):
        plant(rough, d, pair(d.qpos.copy(), d.qvel.copy()), pair.limits)
    assert pair.native.phase == "running"


@pytest.mark.parametrize("period", [np.nan, -1.0, -0.001, 1e7])
def test_an_invalid_period_of_simulated_time_does_not_delay_the_end_of_efforts(code, period):
    """A wrong period would change how fast efforts change, and when the controller ends them."""
    limits, settings = code.package.limits, settings_of(blind_time=0.2)
    arm = CppArm(code, settings, GateSettings(simulated=True))
    m = code.package.code.m
    still, d = np.zeros(m.nv), rb.make_data(m)
    d.qpos[:] = BENT
    held = gravity_term(m, d)
    assert arm.start(BENT, still, held[limits.dofs], "gravity") == 0
    for _ in range(20):
        assert arm.update(BENT, np.full(m.nv, 0.5), H) == EFFORTS
    answers, before = [], arm.effort.copy()
    for _ in range(60):
        answers.append(arm.update(np.full(m.nv, np.nan), still, period, waited=H))
        if answers[-1] == EFFORTS:
            assert (np.abs(arm.effort) <= limits.effort).all()
            last = answers[-1] == EFFORTS and len(answers) > 10
            most = HASTE * GateSettings().effort_rate * LONGEST
            assert last or (np.abs(arm.effort - before) <= most * (1 + 1e-9)).all()
        before = arm.effort.copy()
    assert arm.fault[1]
    assert answers[-1] == SILENT


def test_a_robot_that_compensates_its_gravity_gets_efforts_without_gravity(code):
    pair = Pair(code, "computed_torque", compensates=True)
    for _ in range(20):
        efforts = pair(BENT + 1e-3, np.zeros(pair.m.nv))
    assert 0.0 < np.abs(efforts).max() < 1.0  # gravity alone needs more than 10 N m


def test_pd_gravity_is_impedance_without_feedforward(code):
    """pd_gravity is a mode of the package only."""
    pair = Pair(code, "impedance", feedforward=False)
    pair.native.set_mode("pd_gravity")
    pair.controller._blend()
    for k in range(20):
        pair(BENT + 1e-4 * k, np.full(pair.m.nv, 0.1))


def growing(k):
    """After 0.1 s a push increases the speed, which stays below the limits."""
    return BENT, np.full(7, 1.4 if k <= 100 else 1.8)


def faster(k):
    """The arm soon moves 1.2 times as fast as the limits."""
    return BENT, np.full(7, 2.1 if k == 0 else 2.7)


def not_resting(k):
    return BENT + 0.2e-3 * k, np.full(7, 0.2)


def moved_away(k):
    """The arm rests for 0.15 s and is then slowly moved away."""
    return BENT + 1e-3 * max(0, k - 150), np.full(7, 0.0 if k < 150 else 1.0)


def struck(k):
    return BENT, np.full(7, 0.0 if k < 150 else 2.3)


@pytest.mark.parametrize("motion", [growing, faster, not_resting, moved_away, struck])
def test_efforts_end_after_failed_braking_as_in_arm_controller(code, motion):
    """The last efforts hold the arm, and then both controllers end their efforts."""
    m, settings = code.package.code.m, settings_of()
    ending = Stopping(Arm(m), settings, code.package.limits)
    native = CppEnding(code, settings)
    for k in range(1200):
        q, v = motion(k)
        expected, found = ending.see(0, q, v, H), native.see(q, v, H)
        if expected is None:
            break
        np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-9)
        assert found[1] == ending.phase
    assert found is None
    assert ending.phase == "silent"


def started(code, mode="gravity", simulated=False, **settings):
    native = CppArm(code, settings_of(**settings), GateSettings(simulated=simulated))
    m, limits = code.package.code.m, code.package.limits
    held = Arm(m).gravity_effort(BENT, np.empty(m.nv))[limits.dofs]
    assert native.start(BENT, np.zeros(m.nv), held, mode) == 0
    native.update(BENT, np.zeros(m.nv), H)
    return native


def test_the_efforts_end_after_blind_time_of_invalid_states(code):
    """Without valid states the arm brakes for blind_time; then no efforts are sent."""
    still = np.zeros(7)
    for wrong in (np.nan, np.inf, 1e9):
        native = started(code)
        answers = [native.update(np.r_[BENT[:6], wrong], still, H) for _ in range(210)]
        assert native.fault == ("finite", True)
        assert answers[:200] == [EFFORTS] * 200
        assert answers[-1] == SILENT
        assert np.isfinite(native.effort).all()


def test_unreadable_states_are_a_fault_only_after_state_timeout(code):
    native, still = started(code), np.zeros(7)
    timeout = round(GateSettings().state_timeout / H) - 1
    answers = [native.update(BENT, still, H, readable=False) for _ in range(timeout)]
    late = round(LATENCY / H)
    assert set(answers[:late]) == {KEEP}
    assert set(answers[late:]) == {EFFORTS}  # efforts for a predicted state
    assert native.fault == ("", False)
    assert native.update(BENT, still, 2 * H, readable=False) == EFFORTS
    assert native.fault == ("age", True)
    assert native.phase == "blind"
    assert native.update(BENT, still, H) == EFFORTS
    assert native.phase == "braking"  # a valid state is accepted again


def test_a_long_pause_between_updates_is_a_fault(code):
    native, still = started(code), np.zeros(7)
    assert native.update(BENT, still, 0.079) == EFFORTS
    assert native.fault == ("", False)
    assert native.update(BENT, still, 0.081) == EFFORTS
    assert native.fault == ("age", True)
    assert native.phase == "braking"


def test_an_arm_without_states_gets_no_efforts_after_a_pause(code):
    """The arm may have moved during the pause, so not even the last efforts are sent."""
    native, still = started(code, blind_time=0.5), np.zeros(7)
    for _ in range(100):
        assert native.update(BENT * np.nan, still, H) == EFFORTS
    assert native.phase == "blind"
    assert native.update(BENT, still, 0.65) == SILENT
    assert native.phase == "silent"


@pytest.mark.parametrize("readable", [False, True])
def test_a_pause_of_the_updates_ends_the_start_up_test(code, readable):
    """The controller reports the reason and sends no efforts; it may be started again."""
    native, still = started(code, start_up_test=True), np.zeros(7)
    held = Arm(code.package.code.m).gravity_effort(BENT, np.empty(7))
    assert native.update(BENT, still, H, effort=held) == EFFORTS
    assert native.phase == "testing"
    before = native.effort.copy()
    assert native.update(BENT, still, 0.081, readable=readable, effort=held) == SILENT
    assert native.event() == (13 if readable else 12)
    assert ("fault age" if readable else "ms apart") in native.sentence
    assert native.update(BENT, still, H, effort=held) == SILENT
    np.testing.assert_array_equal(native.effort, before)
    assert (native.phase, native.fault) == ("silent", ("", False))
    assert native.start(BENT, still, held, "gravity") == 0
    assert native.update(BENT, still, H, effort=held) == EFFORTS
    assert native.phase == "testing"


def test_a_false_state_that_repeats_stays_rejected(code):
    """The false position stays rejected even when the joints have had time to reach it."""
    for lies, phase in ((150, "blind"), (1, "braking")):
        native, still = started(code), np.zeros(7)
        for _ in range(lies):
            native.update(BENT + 0.2, still, H)
            assert native.fault == ("velocity", True)
            assert native.phase == "blind"
        native.update(BENT, still, H)
        assert native.phase == phase


@pytest.mark.parametrize(
    ("period", "waited"), [(-0.5, H), (np.nan, H), (np.inf, H), (0.5, H), (2.0 * H, H)]
)
def test_a_clock_that_jumps_or_runs_too_fast_is_a_fault(code, period, waited):
    native, still = started(code), np.zeros(7)
    for _ in range(100):
        native.update(BENT, still, period, waited=waited)
    assert native.fault == ("clock", False)


def test_updates_that_fall_behind_are_a_fault(code):
    native, still = started(code), np.zeros(7)
    for _ in range(200):
        native.update(BENT, still, 0.5 * H, waited=H)
    assert native.fault == ("latency", True)


def test_simulated_time_may_run_at_any_pace(code):
    still = np.zeros(7)
    for waited in (0.1 * H, 10.0 * H):
        native = started(code, simulated=True)
        for _ in range(200):
            native.update(BENT, still, H, waited=waited)
        assert native.fault == ("", False)


def test_invalid_states_end_the_efforts_after_blind_time_in_simulated_time(code):
    native = started(code, simulated=True)
    wrong = np.full(7, np.nan)
    answers = [native.update(wrong, wrong, H, waited=1e-6) for _ in range(210)]
    assert answers[:200] == [EFFORTS] * 200
    assert answers[-1] == SILENT


def test_measured_efforts_that_are_not_finite_are_a_fault(code):
    native = started(code)
    native.update(BENT, np.zeros(7), H, effort=np.r_[np.inf, np.zeros(6)])
    assert native.fault == ("finite", True)


def test_a_predicted_state_brakes_an_arm_whose_states_are_invalid(code):
    """The moving arm comes nearly to rest within blind_time."""
    m, limits = code.package.code.m, code.package.limits
    native, d = started(code, gravity_damping=0.0), rb.make_data(m)
    d.qpos[:], d.qvel[:] = BENT, 0.0
    for k in range(300):
        native.update(d.qpos.copy(), d.qvel.copy(), H)
        plant(m, d, native.effort, limits, 2.0 * (k < 100))
    fast = np.abs(d.qvel).max()
    assert fast > 0.2
    while native.update(d.qpos * np.nan, d.qvel.copy(), H) == EFFORTS:
        plant(m, d, native.effort, limits)
    assert np.abs(d.qvel).max() < 0.25 * fast


def test_the_arm_follows_references_and_a_tracking_error_is_a_fault(code):
    native = started(code, "computed_torque", tracking_tolerance=0.05)
    reference = np.stack([BENT, np.zeros(7), np.zeros(7)])
    for k in range(100):
        reference[0] = BENT + 1e-3 * k
        native.update(reference[0].copy(), np.full(7, 1.0), H, reference)
    assert native.fault == ("", False)
    assert native.event() == 0
    for k in range(60):  # the reference moves away from the arm
        reference[0] += 2e-3
        native.update(BENT + 0.1 + 1e-3 * k, np.full(7, 1.0), H, reference)
    assert native.fault == ("tracking", False)


@pytest.mark.parametrize("mode", ["computed_torque", "impedance"])
@pytest.mark.parametrize(
    ("jump", "updates", "moved"),
    [(0.05, 1, 0.05), (0.06, 1, 0.0), (-1.5, 1, 0.0), (0.06, 10, 0.06), (0.5, 20, 0.05)],
)
def test_the_arm_does_not_follow_a_reference_that_jumps(code, mode, jump, updates, moved):
    """A reference may jump by 0.05 rad, and must not be faster than the joint's 2.175 rad/s."""
    native, d = started(code, mode), rb.make_data(code.package.code.m)
    d.qpos[:] = BENT
    reference = np.stack([BENT, np.zeros(7), np.zeros(7)])
    for k in range(400):
        reference[0, 3] = BENT[3] + jump * min(max(k - 49, 0) / updates, 1.0)
        native.update(d.qpos.copy(), d.qvel.copy(), H, reference)
        plant(code.package.code.m, d, native.effort, code.package.limits)
    assert (native.phase, native.fault) == ("running", ("", False))
    assert (native.event() == 0) == (moved == jump)
    assert d.qpos[3] - BENT[3] == pytest.approx(moved, abs=5e-3)


@pytest.mark.parametrize("row", [(0, 0.1), (0, np.nan), (1, 9.0), (2, np.inf)])
def test_the_arm_does_not_follow_impossible_references(code, row):
    native = started(code, "computed_torque")
    reference = np.stack([BENT, np.zeros(7), np.zeros(7)])
    reference[row[0], 3] += row[1]
    before = native.effort.copy()
    native.update(BENT, np.zeros(7), H, reference)
    assert native.event() == 10
    np.testing.assert_allclose(native.effort, before, atol=1e-9)


def test_the_controller_does_not_start_in_states_in_which_arm_controller_does_not_arm(code):
    m, limits = code.package.code.m, code.package.limits
    still = np.zeros(7)
    held = Arm(m).gravity_effort(BENT, np.empty(7))
    native = CppArm(code, settings_of(), GateSettings())
    joint = np.eye(7)[1]
    cases = {
        "state": (BENT * np.nan, still, held),
        "position": (BENT + 3.0 * joint, still, held),
        "velocity": (BENT, 5.0 * joint, held),
        "moving": (BENT, 0.06 * joint, held),
        "no_effort": (BENT, still, held * np.nan),
        "effort": (BENT, still, held + 0.11 * limits.effort * joint),
    }
    numbers = {name: native.start(*case, "gravity") for name, case in cases.items()}
    assert numbers == dict(zip(cases, (2, 3, 4, 5, 6, 7), strict=True))
    stiff = CppArm(code, settings_of(stiffness=1e6), GateSettings())
    assert stiff.start(BENT, still, held, "computed_torque") == 9
    assert stiff.start(BENT, still, held, "gravity") == 0
    stiff.update(BENT, still, H)
    # the refused mode must not become active later
    assert stiff.set_mode("computed_torque") == "gravity"
    assert stiff.event() == 9
    assert native.phase == "disarmed"
    native.start(BENT, still, held, "gravity")
    native.update(BENT, 5.0 * joint, H)
    assert native.set_mode("impedance") == "impedance"  # this is the mode after the next start
    assert native.phase == "braking"
    native.stop()
    assert (native.phase, native.fault) == ("disarmed", ("velocity", False))
    assert native.start(BENT, still, held, "gravity") == 1
    native.clear()
    assert native.start(BENT, still, held, "gravity") == 0
    assert native.phase == "running"


def test_a_refused_mode_does_not_change_the_gains_of_the_present_mode(code):
    """The gains still belong to the inertia at the start of the present mode."""
    held, efforts = Arm(code.package.code.m).gravity_effort(BENT, np.empty(7)), []
    for asked in (False, True):
        native = CppArm(code, settings_of(gravity_damping=1e4), GateSettings())
        assert native.start(BENT, np.zeros(7), held, "impedance") == 0
        place = BENT
        for k in range(300):
            speed = min(1e-3 * k, 0.2) * np.eye(7)[3]
            place = place + H * speed
            native.update(place, speed, H, effort=held)
        if asked:
            native.set_mode("gravity")
            assert native.event() == 9
        native.update(place + H * speed, speed, H, effort=held)
        assert native.fault == ("", False)
        efforts.append(native.effort.copy())
    np.testing.assert_array_equal(*efforts)


def test_efforts_change_faster_after_a_fault(code):
    native = started(code)
    native.update(BENT, np.r_[2.3, np.zeros(6)], H)
    before = native.effort.copy()
    native.update(BENT + np.r_[2.3e-3, np.zeros(6)], np.r_[2.3, np.zeros(6)], H)
    rate = np.abs(native.effort - before).max() / H
    assert GateSettings().effort_rate < rate <= HASTE * GateSettings().effort_rate * (1 + 1e-9)


def test_only_controllable_joints_are_commanded(partial):
    assert partial.package.limits.names == Limits.of(partial.package.code.m).names
    assert len(partial.package.limits.names) == 6


def rows(tree, path=""):
    """Yield full name and description of each parameter in generate_parameter_library's file."""
    for name, row in tree.items():
        if "type" in row:
            yield path + name, row
        else:
            yield from rows(row, f"{path}{name}.")


def test_reading_a_fault_during_updates_causes_no_data_race(code, tmp_path):
    """The thread sanitizer ends the program with an error if it detects a race."""
    folder = tmp_path / "my_arm"
    write(code.package, folder)
    made, program = tmp_path / "code.o", tmp_path / "race"
    run("gcc", "-c", folder / "src" / code.package.code.files.source, "-o", made)
    words = "-std=c++17", "-O1", "-g", "-DARM_NAMESPACE=rbdyn_my_arm", "-I", folder / "src"
    sanitized = [*words, "-fsanitize=thread", RACE, made, "-o", program]
    if subprocess.run(["g++", *sanitized], capture_output=True, check=False).returncode:
        pytest.skip("g++ has no thread sanitizer")
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer does not run on this kernel")
    assert (done.returncode, done.stdout) == (0, "0 of 2000\n"), done.stderr[-2000:]


def test_parameters_match_arm_controller(m):
    (tree,) = yaml.safe_load(package_of(m).files()["src/parameters.yaml"]).values()
    known, own = {p.name: p for p in PARAMETERS}, {"mode", "reference_timeout"}
    found = dict(rows(tree))
    assert own | {"effort_rate", "impedance.stiffness"} <= set(found)
    assert set(found) - own <= set(known)
    for name in set(found) - own:
        row, parameter = found[name], known[name]
        default = row["default_value"]
        assert parameter.default in (default, *(default if isinstance(default, list) else ())), (
            name
        )
        bounds = row.get("validation", {}).get("bounds<>")
        if bounds is not None:
            assert bounds[1] == parameter.high, name
            assert bounds[0] == pytest.approx(parameter.low, abs=1e-6), name
