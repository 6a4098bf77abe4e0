// The loop of the arm: from a state to efforts, through a control law and the safety gate.
//
// Its kernels are those of arm_controller. It knows nothing of ROS. `start` and `update` allocate
// nothing, lock nothing and throw nothing. It is not a safety function: the arm's own safety
// controller and emergency stop stay in charge.

#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "laws.hpp"
#include "mailbox.hpp"
#include "robot.hpp"
#include "tables.hpp"
#include "target.hpp"

namespace @{namespace}
{

/// As in endings, and the start-up test.
enum class Phase : int { running, braking, holding, blind, silent, testing };
static_assert(static_cast<int>(Phase::running) == endings::RUNNING);
static_assert(static_cast<int>(Phase::silent) == endings::SILENT);

enum class Mode : int { gravity, pd_gravity, computed_torque, impedance };

/// Settings of the arm, in the records of the kernels; the defaults are those of arm_controller.
struct ArmSettings
{
  LoopState loop;
  BlindState blind;   // its gains are those of computed_torque, too
  StartUp trial;
  Actuation actuation;
  GainRows soft;      // of impedance and pd_gravity; 0: from the inertia
  double gravity_damping = settings::GRAVITY_DAMPING;        // [1/s]
  double tracking_tolerance = settings::TRACKING_TOLERANCE;  // [rad or m]; 0: none
  double start_tolerance = settings::START_TOLERANCE;        // [rad or m]
  double target_timeout = settings::TARGET_TIMEOUT;          // [s]; 0: none
  Joints arm_tolerance{};                                    // [N m or N]; 0: a share of the limits
  bool arm_without_effort = false;
  bool effort_includes_gravity = true;
  bool start_up_test = true;
  bool simulated = false;  // the clock may run at any speed

  ArmSettings()
  {
    loop.limits = Rows(LOWER, UPPER, VELOCITY, EFFORT, POWER, GAIN);
    loop.bounds = Table<3, DOFS>(BOUNDS_LOWER, BOUNDS_UPPER, BOUNDS_VELOCITY);
    loop.dofs = blind.dofs = trial.dofs = PLACE;
    loop.acceleration = limits::ACCELERATION;
    loop.latency = limits::LATENCY;
    loop.state_timeout = gate::STATE_TIMEOUT;
    loop.effort_rate = gate::EFFORT_RATE;
    loop.blend_time = gate::BLEND_TIME;
    loop.period = 0.001;
    loop.since_start = INFINITE;
    blind.blind_time = settings::BLIND_TIME;
    blind.velocity_scale = 1.0;
    for (const Index k : PLACE) {
      blind.controlled[static_cast<std::size_t>(k)] = 1;
    }
    blind.dry = trial.dry = COULOMB;
    trial.tolerance = settings::START_UP_TOLERANCE;
  }
};

/// A fault, the joint and the numbers that show it.
struct Verdict
{
  Fault fault = Fault::none;
  bool blind = false;  // the state is not believed
  std::size_t joint = 0;
  double value = 0.0;
  double bound = 0.0;
};

/// The fault that a kernel has written.
inline Verdict verdict_of(const std::array<double, faults::FOUND> & row)
{
  return {
    FAULT_OF[static_cast<std::size_t>(row[faults::KIND])], row[faults::BLIND] > 0.0,
    static_cast<std::size_t>(row[faults::JOINT]), row[faults::VALUE], row[faults::ALLOWED]};
}

/// Why the arm does not start, or an event while it runs.
enum class Refusal : int {
  none, latched, state, position, velocity, moving, no_effort, effort, too_heavy, shakes, reference,
  room, start_up, stopped
};

/// A refusal, the joint and the numbers that show it.
struct Reason
{
  Refusal refusal = Refusal::none;
  std::size_t joint = 0;
  double value = 0.0;
  double bound = 0.0;
  std::size_t found = 0;  // by the start-up test
  Verdict fault;          // that stopped it
};

/// What an update reads.
struct Input
{
  State state;
  Joints effort{};              // measured; NaN where it is not [N m or N]
  bool readable = true;         // whether the state could be read
  Reference reference;
  double period = 0.0;          // time since the last update, by the clock of the updates [s]
  std::int64_t steady = 0;      // steady clock [ns]
};

/// What became of an update: new efforts, the last ones go on, or no more efforts.
enum class Answer : int { efforts, keep, silent };

/// A time [s] in nanoseconds.
inline std::int64_t nanoseconds(double time)
{
  return static_cast<std::int64_t>(time * static_cast<double>(clock::NANOSECONDS));
}

class Arm
{
public:
  explicit Arm(const ArmSettings & settings)
  : settings_(settings), s_(settings.loop), b_(settings.blind), a_(settings.actuation),
    trial_(settings.trial)
  {
    b_.limits = s_.limits;
    floating_ = GainRows(Dofs{}, every(settings.gravity_damping));
    std::copy_n(s_.limits.row(limits::VELOCITY).begin(), CONTROLLED, trial_.velocity.begin());
    std::copy_n(s_.limits.row(limits::EFFORT).begin(), CONTROLLED, trial_.effort.begin());
    trial_.period = s_.period;
    trial_.latency = s_.latency;
    trial_.measures = s_.measures = settings.arm_without_effort ? 0 : 1;
  }

  // These may be read by any thread.
  Mode mode() const { return mode_.load(std::memory_order_acquire); }
  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  bool is_testing() const { return phase() == Phase::testing; }

  /// The newest refusal that was not read yet; one thread only.
  Reason event()
  {
    Reason found;
    (void)events_.read(found);
    return found;
  }

  bool is_faulty() const { return faulty_.load(std::memory_order_acquire); }

  /// A copy of the latched fault, or Fault::none; one thread only.
  Verdict fault()
  {
    if (!is_faulty()) {
      return {};
    }
    (void)faults_.read(fault_);
    return fault_;
  }

  /// Clear the fault of an arm that is not updated now.
  void clear_fault()
  {
    b_.phase = endings::RUNNING;
    s_.faulty = 0;
    phase_.store(Phase::running, std::memory_order_release);
    faulty_.store(false, std::memory_order_release);
  }

  /// Check whether the arm may start, and start it without a jump of the efforts.
  ///
  /// effort: measured efforts of the controlled joints; NaN where they are not measured.
  Reason start(const State & measured, const Joints & effort, Mode mode)
  {
    Reason why;
    if (is_faulty()) {
      why.refusal = Refusal::latched;
      return why;
    }
    if (!(store(measured, effort) && store(measured, effort))) {  // it is the state before, too
      why.refusal = Refusal::state;
      return why;
    }
    actuation::hold(d_, own_, a_, position(), s_.holding);
    const Dofs inertia = reflected_inertia(position());
    Joints first{};
    if (!(is_inside(why) && agrees(first, why) && is_calm(mode, inertia, why) &&
          is_holdable(why) && has_room(why))) {
      return why;
    }
    s_.memory = {};
    s_.memory.fill(state_kernels::AGE, INFINITE);
    s_.times = {};
    s_.known = s_.lost = 0;
    begun_ = false;
    mode_.store(mode, std::memory_order_release);
    run(first);
    if (settings_.start_up_test) {
      start_up_kernels::begin(d_, trial_, position(), s_.holding);
      s_.testing = 1;
      s_.armed = s_.acts = 0;
      phase_.store(Phase::testing, std::memory_order_release);
    }
    return why;
  }

  /// Change the mode; the joints stay where they are. Its gains must not shake the arm.
  void set_mode(Mode mode)
  {
    if (mode == this->mode() || is_faulty()) {
      return;
    }
    const Dofs inertia = reflected_inertia(position());
    Reason why;
    if (!is_calm(mode, inertia, why)) {
      events_.write(why);
      return;
    }
    mode_.store(mode, std::memory_order_release);
    if (is_testing()) {
      return;
    }
    target_.stop_from(position(), velocity(), s_.limits);
    soft_ = soft_gains(inertia);
    begin_efforts(s_.out.row(loop_state::RELEASED));
  }

  /// Answer a state.
  ///
  /// effort: the efforts to send, changed only if the answer is Answer::efforts.
  Answer update(const Input & input, Joints & effort)
  {
    // a period that is no number counts as a clock that went back, and as the longest one
    const bool valid = 0.0 <= input.period && input.period < LONGEST_PERIOD;
    const double period = valid ? input.period : -1.0;
    if (!begun_) {
      begin(input.steady - nanoseconds(period));
    }
    time_ += nanoseconds(period);
    now_ = settings_.simulated ? now_ + nanoseconds(valid ? period : state_kernels::LONGEST)
                               : input.steady;
    const Answer found = is_refused() ? Answer::silent : answer(input);
    if (found == Answer::efforts) {
      std::copy_n(s_.out.row(loop_state::RELEASED).begin(), CONTROLLED, effort.begin());
    }
    if (s_.faulty > 0) {
      if (!is_faulty()) {
        faults_.write(verdict_of(s_.latched));
        faulty_.store(true, std::memory_order_release);
      }
      phase_.store(static_cast<Phase>(b_.phase), std::memory_order_release);
    }
    return found;
  }

  /// Efforts that hold the arm where it was seen last.
  Joints holding()
  {
    Dofs effort{};
    actuation::hold(d_, own_, a_, position(), effort);
    Joints found{};
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double most = limit(limits::EFFORT, i);
      found[i] = std::min(std::max(effort[PLACE[i]], -most), most);
    }
    return found;
  }

private:
  static constexpr double LONGEST_PERIOD = 1e6;  // [s]

  Vector<const double> position() const { return s_.state.row(0); }
  Vector<const double> velocity() const { return s_.state.row(1); }
  double limit(Index row, std::size_t i) const { return s_.limits(row, static_cast<Index>(i)); }

  /// Command the arm from now on, with efforts that hold it by the model.
  void run(const Joints & first)
  {
    soft_ = soft_gains(reflected_inertia(position()));
    target_.rest_at(position());
    idle_ = INFINITE;
    s_.held = 0.0;
    s_.testing = 0;
    s_.armed = s_.acts = 1;
    begin_efforts(first);
    witness::begin(b_);
    velocity_vote::forget(b_);
    b_.coasts = 0;
    phase_.store(Phase::running, std::memory_order_release);
  }

  /// Start bumpless with these efforts, in the mode.
  void begin_efforts(const Vector<const double> & effort)
  {
    s_.floats = mode() == Mode::gravity ? 1 : 0;
    s_.soft = mode() == Mode::impedance || mode() == Mode::pd_gravity ? 1 : 0;
    gate_kernels::begin(s_, effort);
  }

  // before the start

  /// Prepare the start-up test: each joint needs room for it.
  bool has_room(Reason & why)
  {
    const Index tight = start_up_kernels::choose_ways(
      s_.limits.row(limits::LOWER), s_.limits.row(limits::UPPER), SLIDES, PLACE, position(),
      trial_.ways);
    if (tight >= 0 && settings_.start_up_test) {
      const auto joint = static_cast<std::size_t>(tight);
      const double needed = std::abs(trial_.ways[joint]) + start_up_kernels::CLEAR;
      why = {Refusal::room, joint, position()[PLACE[joint]], needed, 0, {}};
    }
    return why.refusal == Refusal::none;
  }

  bool is_inside(Reason & why) const
  {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double q = position()[PLACE[i]], v = std::abs(velocity()[PLACE[i]]);
      const double lower = limit(limits::LOWER, i), upper = limit(limits::UPPER, i);
      if (q < lower - limits::MARGIN || q > upper + limits::MARGIN) {
        why = {Refusal::position, i, q, q < lower ? lower : upper, 0, {}};
      } else if (v > limit(limits::VELOCITY, i)) {
        why = {Refusal::velocity, i, v, limit(limits::VELOCITY, i), 0, {}};
      } else if (v > effort_check::FASTEST) {
        why = {Refusal::moving, i, v, effort_check::FASTEST, 0, {}};
      }
    }
    return why.refusal == Refusal::none;
  }

  /// Compare measured efforts with gravity; write the first efforts, those of the model.
  bool agrees(Joints & first, Reason & why) const
  {
    const Dofs g = gravity(position());
    const bool own = a_.own_gravity > 0 && settings_.effort_includes_gravity;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const auto k = static_cast<std::size_t>(PLACE[i]);
      const double given = settings_.arm_tolerance[i];
      const double most = given > 0.0 ? given : effort_check::TOLERATED * limit(limits::EFFORT, i);
      const double effort = s_.state(2, PLACE[i]);
      const double off = effort - (own ? g[k] : 0.0) - s_.holding[k];
      if (std::isnan(off) && !settings_.arm_without_effort) {
        why = {Refusal::no_effort, i, effort, 0.0, 0, {}};
      } else if (std::abs(off) > most && !settings_.arm_without_effort) {
        why = {Refusal::effort, i, off, most, 0, {}};
      }
      first[i] = s_.holding[k];  // a measured effort may be wrong by as much as the tolerance
    }
    return why.refusal == Refusal::none;
  }

  /// Whether efforts within the limits can hold the arm; gravity that the robot carries counts too.
  bool is_holdable(Reason & why) const
  {
    const Dofs g = gravity(position());
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      if (!(std::abs(g[PLACE[i]]) <= limit(limits::EFFORT, i))) {
        why = {Refusal::too_heavy, i, g[PLACE[i]], limit(limits::EFFORT, i), 0, {}};
      }
    }
    return why.refusal == Refusal::none;
  }

  /// Whether the gains of a mode are low enough for the rate of the updates, see `sampled`.
  bool is_calm(Mode mode, const Dofs & inertia, Reason & why) const
  {
    const GainRows soft = soft_gains(inertia);
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const Index k = PLACE[i];
      double stiffness = 0.0, damping = settings_.gravity_damping;
      if (mode == Mode::computed_torque) {
        stiffness = b_.gains(0, k);
        damping = b_.gains(1, k);
      } else if (mode != Mode::gravity) {
        stiffness = soft(0, k) / inertia[k];
        damping = soft(1, k) / inertia[k];
      }
      const double rate = std::max(damping, std::sqrt(stiffness)) * s_.period;
      if (!(rate <= sampled::LARGEST)) {
        const double most = rate / s_.period / sampled::LARGEST;
        why = {Refusal::shakes, i, 1.0 / s_.period, most, 0, {}};
      }
    }
    return why.refusal == Refusal::none;
  }

  GainRows soft_gains(const Dofs & inertia) const
  {
    GainRows gains = settings_.soft;
    for (Index k = 0; k < NV; ++k) {
      double & stiffness = gains(0, k);
      double & damping = gains(1, k);
      stiffness = stiffness > 0.0 ? stiffness : b_.gains(0, k) * inertia[k];
      damping = damping > 0.0 ? damping : 2.0 * std::sqrt(stiffness * inertia[k]);
    }
    return gains;
  }

  // states

  /// Begin with the first update at a time [ns]: the arm has rested until now.
  void begin(std::int64_t time)
  {
    begun_ = true;
    now_ = time_ = time;
    (void)gate_kernels::admit(s_, time, time, true);
  }

  /// Store a state for the kernels; return false if something in it is no measurement.
  bool store(const State & state, const Joints & effort)
  {
    Table<3, DOFS> given(state.q, state.v, every(NOTHING));
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      given(2, PLACE[i]) = effort[i];
    }
    return measured::store(s_, given, EVERY, EVERY);
  }

  Answer answer(const Input & input)
  {
    const bool tested = is_testing(), came = input.readable && time_ != s_.time;
    (void)loop_kernels::notice_pause(b_, s_, now_);
    const double age = gate_kernels::age(s_, now_);
    if (tested && !came && age > start_up_kernels::LATE + 2.0 * s_.period) {
      const auto apart = static_cast<std::size_t>(start_up_kernels::APART);
      return refuse({Refusal::start_up, 0, 1e3 * age, 0.0, apart, {}});
    }
    const Index next = came ? loop_kernels::see(
      d_, own_, a_, b_, s_, time_, now_, store(input.state, input.effort))
                            : loop_kernels::watch(b_, s_, now_);
    if (tested && s_.testing == 0) {
      const Verdict wrong = verdict_of(s_.latched);
      return refuse({Refusal::stopped, wrong.joint, wrong.value, wrong.bound, 0, wrong});
    }
    bool sends = next != loop_kernels::WAIT;
    switch (next) {
      case loop_kernels::STOP_BLINDLY:
        sends = loop_kernels::answer_blindly(d_, own_, a_, b_, s_, now_);
        break;
      case loop_kernels::COAST:
        if (came) {
          move_target(input.reference);
        }
        sends = loop_kernels::coast(d_, own_, a_, b_, s_, now_);
        break;
      case loop_kernels::TEST:
        return answer_testing(input.reference);
      case loop_kernels::BRAKE:
        sends = loop_kernels::brake(d_, own_, a_, b_, s_);
        break;
      case loop_kernels::FOLLOW:
        follow(input.reference);
        break;
      default:
        return Answer::keep;
    }
    return sends ? Answer::efforts : Answer::silent;
  }

  /// End the start-up test without arming: nothing is sent any more.
  Answer refuse(const Reason & reason)
  {
    events_.write(reason);
    s_.testing = 0;
    phase_.store(Phase::silent, std::memory_order_release);
    return Answer::silent;
  }

  /// Whether the start-up test was ended so.
  bool is_refused() const { return phase() == Phase::silent && !is_faulty(); }

  // efforts

  /// Answer a valid state in the start-up test.
  Answer answer_testing(const Reference & reference)
  {
    Dofs wanted{};
    actuation::hold(d_, own_, a_, position(), s_.holding);
    const Index found = start_up_kernels::advance(
      trial_, reply_, a_, position(), velocity(), s_.state.row(2), s_.holding,
      s_.out.row(loop_state::RELEASED), s_.step, wanted);
    if (found > 0) {
      const auto joint = static_cast<std::size_t>(trial_.joint);
      return refuse({
        Refusal::start_up, joint, trial_.value, trial_.bound, static_cast<std::size_t>(found), {}});
    }
    if (trial_.done > 0) {
      run(holding());
      follow(reference);
    } else {
      (void)gate_kernels::release(s_, wanted, s_.holding, s_.dt, false);
    }
    return Answer::efforts;
  }

  /// Answer a valid state by the law of the mode.
  void follow(const Reference & reference)
  {
    actuation::hold(d_, own_, a_, position(), s_.holding);
    move_target(reference);
    const bool near = mode() == Mode::computed_torque;
    (void)loop_kernels::judge_target(
      b_, s_, target_.desired().row(0), near ? settings_.tracking_tolerance : 0.0, idle_,
      settings_.target_timeout);
    Dofs wanted{};
    compute_mode(wanted);
    const auto rubbing = mode() == Mode::gravity ? velocity() : target_.desired().row(1);
    actuation::to_command(own_, a_, position(), velocity(), rubbing, wanted);
    (void)loop_kernels::follow(b_, s_, wanted);
  }

  void move_target(const Reference & reference)
  {
    const double dt = std::min(s_.step, s_.state_timeout);
    if (mode() == Mode::gravity) {
      target_.rest_at(position());
    } else if (reference.given && is_possible(reference) &&
               target_.follow(reference, settings_.start_tolerance)) {
      idle_ = 0.0;
    } else {
      if (reference.given) {
        events_.write({Refusal::reference, 0, 0.0, 0.0, 0, {}});
      }
      target_.advance(dt, s_.limits);
      idle_ += dt;
    }
    target_.let_go(position(), velocity());
  }

  /// Whether a reference is finite and within the limits.
  bool is_possible(const Reference & reference) const
  {
    bool fine = true;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double q = reference.q[i], fastest = limit(limits::VELOCITY, i) * tracking::ROUNDING;
      fine = fine && limit(limits::LOWER, i) <= q && q <= limit(limits::UPPER, i);
      fine = fine && std::abs(reference.v[i]) <= fastest && std::abs(q) < measured::LARGEST;
      fine = fine && std::abs(reference.a[i]) < measured::LARGEST;
    }
    return fine;
  }

  /// Write the efforts of the mode, without those that the robot adds itself.
  void compute_mode(Dofs & wanted)
  {
    const Motion & desired = target_.desired();
    std::copy_n(position().begin(), DOFS, d_.qpos.begin());
    std::copy_n(velocity().begin(), DOFS, d_.qvel.begin());
    switch (mode()) {
      case Mode::gravity:
        laws::damped_gravity(d_, desired, floating_, wanted);
        break;
      case Mode::pd_gravity:
        laws::pd_gravity(d_, desired, soft_, wanted);
        break;
      case Mode::computed_torque:
        laws::computed_torque(d_, desired, b_.gains, wanted);
        break;
      case Mode::impedance:
        laws::joint_impedance(d_, desired, soft_, wanted);
        break;
    }
  }

  const ArmSettings settings_;
  LoopState s_;
  BlindState b_;
  Actuation a_;
  StartUp trial_;
  Reply reply_;
  Data d_, own_;
  Target target_;
  GainRows soft_, floating_;
  Verdict fault_;  // the latched one, of the thread that asks for it
  Mailbox<Verdict> faults_;
  Mailbox<Reason> events_;
  std::int64_t now_ = 0;   // steady clock [ns]
  std::int64_t time_ = 0;  // clock of the updates [ns]
  double idle_ = INFINITE;
  bool begun_ = false;
  std::atomic<Mode> mode_{Mode::gravity};
  std::atomic<Phase> phase_{Phase::running};
  std::atomic<bool> faulty_{false};
};

}  // namespace @{namespace}
