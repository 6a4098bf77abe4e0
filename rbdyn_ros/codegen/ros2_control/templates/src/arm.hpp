// The loop of the arm: from a state to efforts, through a control law and the safety gate.
//
// It knows nothing of ROS. `start` and `update` allocate nothing, lock nothing and throw nothing.

#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "clock.hpp"
#include "gate.hpp"
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

/// Settings of the arm; the defaults are those of arm_controller.
struct ArmSettings
{
  Limits limits;
  GateSettings gate;
  double blind_time = settings::BLIND_TIME;  // [s]
  double velocity_scale = 1.0;               // velocity limits as a share of the robot's
  double friction = 0.0;                     // share of the friction that is compensated
  bool own_gravity = false;                  // the robot adds its gravity to every command
  double gravity_damping = settings::GRAVITY_DAMPING;  // [1/s]
  Gains tracking;                                      // [1/s^2], [1/s]
  Gains soft;                                          // 0: from the inertia
  double tracking_tolerance = settings::TRACKING_TOLERANCE;  // [rad or m]; 0: none
  double start_tolerance = settings::START_TOLERANCE;        // [rad or m]
  double target_timeout = settings::TARGET_TIMEOUT;          // [s]; 0: none
  Joints arm_tolerance{};                                    // [N m or N]; 0: a share of the limits
  bool arm_without_effort = false;
  bool effort_includes_gravity = true;
  bool start_up_test = true;
  double start_up_tolerance = settings::START_UP_TOLERANCE;
  double period = 0.001;  // of the updates [s]
};

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

/// The memory of an arm whose states may be wrong, before it starts.
inline BlindState memory_of(const ArmSettings & settings)
{
  BlindState found;
  found.dofs = PLACE;
  found.limits = rows_of(settings.limits);
  found.velocity_scale = settings.velocity_scale;
  for (const Index k : PLACE) {
    found.controlled[static_cast<std::size_t>(k)] = 1;
  }
  found.dry = COULOMB;
  found.gains = rows_of(settings.tracking);
  found.blind_time = settings.blind_time;
  return found;
}

class Arm
{
public:
  explicit Arm(const ArmSettings & settings)
  : settings_(settings), inspection_(settings.limits), efforts_(settings.limits),
    actuation_(actuation_of(settings.friction, settings.own_gravity)), blind_(memory_of(settings))
  {
    tracking_ = rows_of(settings.tracking);
    floating_ = GainRows(Dofs{}, every(settings.gravity_damping));
    const double pause = settings.gate.state_timeout;
    longest_held_ = std::max(state_kernels::LONGEST, -std::expm1(-pause / gate::HELD) * pause);
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
    blind_.phase = endings::RUNNING;
    phase_.store(Phase::running, std::memory_order_release);
    faulty_.store(false, std::memory_order_release);
  }

  /// Check whether the arm may start, and start it without a jump of the efforts.
  ///
  /// effort: measured efforts of the controlled joints; NaN where they are not measured.
  Reason start(const State & measured, const Joints & effort, Mode mode)
  {
    const State state = clipped(measured);
    Dofs inertia{};
    Joints first{};
    Reason why;
    const bool known = is_measurement(measured);
    if (known) {
      actuation::hold(d_, own_, actuation_, state.q, holding_);
      reflected_inertia(state.q, inertia);
    }
    if (is_faulty()) {
      why.refusal = Refusal::latched;
    } else if (!known) {
      why.refusal = Refusal::state;
    } else if (!(is_inside(state, why) && agrees(state, effort, holding_, first, why) &&
                 is_calm(mode, inertia, why) && is_holdable(state, why) && has_room(state, why))) {
      return why;
    }
    if (why.refusal != Refusal::none) {
      return why;
    }
    state_ = state;
    inspection_ = Inspection(settings_.limits);
    (void)inspection_.judge(state, state, INFINITE, first);
    step_ = state_kernels::SHORTEST;
    begun_ = lost_ = false;
    clock_.forget();
    mode_.store(mode, std::memory_order_release);
    run(first);
    if (settings_.start_up_test) {
      start_up_kernels::begin(d_, trial_, state.q, holding_);
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
    Dofs inertia{};
    Reason why;
    reflected_inertia(state_.q, inertia);
    if (!is_calm(mode, inertia, why)) {
      events_.write(why);
      return;
    }
    mode_.store(mode, std::memory_order_release);
    if (is_testing()) {
      return;
    }
    target_.stop_from(state_, settings_.limits);
    set_soft_gains(inertia);
    efforts_.begin(efforts_.released());
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
      begin(input.steady, period);
    }
    time_ += nanoseconds(period);
    now_ = settings_.gate.simulated ? now_ + nanoseconds(valid ? period : state_kernels::LONGEST)
                                    : input.steady;
    const Answer answer = this->answer(input);
    if (answer == Answer::efforts) {
      const auto sent = efforts_.released();
      std::copy(sent.begin(), sent.end(), effort.begin());
    }
    if (is_faulty()) {
      phase_.store(static_cast<Phase>(blind_.phase), std::memory_order_release);
    }
    return answer;
  }

  /// Efforts that hold the arm where it was seen last.
  Joints holding()
  {
    Dofs effort{};
    actuation::hold(d_, own_, actuation_, state_.q, effort);
    Joints found{};
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double most = settings_.limits.effort[i];
      found[i] = std::min(std::max(effort[PLACE[i]], -most), most);
    }
    return found;
  }

private:
  static constexpr double LONGEST_PERIOD = 1e6;  // [s]

  /// Command the arm from now on, with efforts that hold it by the model.
  void run(const Joints & first)
  {
    Dofs inertia{};
    reflected_inertia(state_.q, inertia);
    set_soft_gains(inertia);
    target_.rest_at(state_.q);
    idle_ = INFINITE;
    held_ = 0.0;
    efforts_.begin(first);
    witness::begin(blind_);
    velocity_vote::forget(blind_);
    blind_.coasts = 0;
    phase_.store(Phase::running, std::memory_order_release);
  }

  // before the start

  /// Prepare the start-up test: each joint needs room for it.
  bool has_room(const State & state, Reason & why)
  {
    const Limits & limits = settings_.limits;
    trial_.dofs = PLACE;
    trial_.velocity = limits.velocity;
    trial_.effort = limits.effort;
    trial_.dry = COULOMB;
    trial_.period = settings_.period;
    trial_.tolerance = settings_.start_up_tolerance;
    trial_.latency = settings_.gate.latency_limit;
    trial_.measures = settings_.arm_without_effort ? 0 : 1;
    const Index tight = start_up_kernels::choose_ways(
      limits.lower, limits.upper, SLIDES, PLACE, state.q, trial_.ways);
    if (tight >= 0 && settings_.start_up_test) {
      const auto joint = static_cast<std::size_t>(tight);
      const double needed = std::abs(trial_.ways[joint]) + start_up_kernels::CLEAR;
      why = {Refusal::room, joint, state.q[PLACE[joint]], needed, 0, {}};
    }
    return why.refusal == Refusal::none;
  }

  bool is_inside(const State & state, Reason & why) const
  {
    const Limits & limits = settings_.limits;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double q = state.q[PLACE[i]], v = std::abs(state.v[PLACE[i]]);
      if (q < limits.lower[i] - limits::MARGIN || q > limits.upper[i] + limits::MARGIN) {
        const double bound = q < limits.lower[i] ? limits.lower[i] : limits.upper[i];
        why = {Refusal::position, i, q, bound, 0, {}};
      } else if (v > limits.velocity[i]) {
        why = {Refusal::velocity, i, v, limits.velocity[i], 0, {}};
      } else if (v > effort_check::FASTEST) {
        why = {Refusal::moving, i, v, effort_check::FASTEST, 0, {}};
      }
    }
    return why.refusal == Refusal::none;
  }

  /// Compare measured efforts with gravity; write the first efforts, those of the model.
  bool agrees(
    const State & state, const Joints & effort, const Dofs & holding, Joints & first,
    Reason & why) const
  {
    const Dofs g = gravity(state.q);
    const bool own = settings_.own_gravity && settings_.effort_includes_gravity;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      const double given = settings_.arm_tolerance[i];
      const double most = given > 0.0 ? given : effort_check::TOLERATED * settings_.limits.effort[i];
      double off = effort[i] - (own ? g[k] : 0.0) - holding[k];
      if (!(std::abs(off) < measured::LARGEST)) {
        off = 0.0;
        if (!settings_.arm_without_effort) {
          why = {Refusal::no_effort, i, effort[i], 0.0, 0, {}};
        }
      } else if (std::abs(off) > most && !settings_.arm_without_effort) {
        why = {Refusal::effort, i, off, most, 0, {}};
      }
      first[i] = holding[k];  // a measured effort may be wrong by as much as the tolerance
    }
    return why.refusal == Refusal::none;
  }

  /// Whether efforts within the limits can hold the arm; gravity that the robot carries counts too.
  bool is_holdable(const State & state, Reason & why) const
  {
    const Dofs g = gravity(state.q);
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      if (!(std::abs(g[PLACE[i]]) <= settings_.limits.effort[i])) {
        why = {Refusal::too_heavy, i, g[PLACE[i]], settings_.limits.effort[i], 0, {}};
      }
    }
    return why.refusal == Refusal::none;
  }

  /// Whether the gains of a mode are low enough for the rate of the updates, see `sampled`.
  bool is_calm(Mode mode, const Dofs & inertia, Reason & why) const
  {
    const Gains soft = soft_gains(inertia);
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      double stiffness = 0.0, damping = settings_.gravity_damping;
      if (mode == Mode::computed_torque) {
        stiffness = settings_.tracking.stiffness[k];
        damping = settings_.tracking.damping[k];
      } else if (mode != Mode::gravity) {
        stiffness = soft.stiffness[k] / inertia[k];
        damping = soft.damping[k] / inertia[k];
      }
      const double rate = std::max(damping, std::sqrt(stiffness)) * settings_.period;
      if (!(rate <= sampled::LARGEST)) {
        const double most = rate / settings_.period / sampled::LARGEST;
        why = {Refusal::shakes, i, 1.0 / settings_.period, most, 0, {}};
      }
    }
    return why.refusal == Refusal::none;
  }

  Gains soft_gains(const Dofs & inertia) const
  {
    Gains gains;
    for (std::size_t k = 0; k < DOFS; ++k) {
      const double stiffness = settings_.soft.stiffness[k], damping = settings_.soft.damping[k];
      gains.stiffness[k] =
        stiffness > 0.0 ? stiffness : settings_.tracking.stiffness[k] * inertia[k];
      gains.damping[k] =
        damping > 0.0 ? damping : 2.0 * std::sqrt(gains.stiffness[k] * inertia[k]);
    }
    return gains;
  }

  void set_soft_gains(const Dofs & inertia) { soft_ = rows_of(soft_gains(inertia)); }

  // states

  /// Joints that are not controlled are not judged, so what is measured there is clipped.
  static State clipped(State state)
  {
    for (std::size_t i = 0; i < UNCONTROLLED; ++i) {
      double & q = state.q[OTHERS[i]];
      double & v = state.v[OTHERS[i]];
      q = std::min(std::max(q, OTHERS_LOWER[i]), OTHERS_UPPER[i]);
      v = std::min(std::max(v, -OTHERS_VELOCITY[i]), OTHERS_VELOCITY[i]);
    }
    return state;
  }

  /// Begin with the first update: the arm has rested until now.
  void begin(std::int64_t steady, double period)
  {
    begun_ = true;
    seen_ = now_ = accepted_ = time_ = steady - nanoseconds(period);
    (void)clock_.judge(time_, time_, settings_.gate);
  }

  Answer answer(const Input & input)
  {
    if (is_refused()) {
      return Answer::silent;
    }
    const double age = seconds(seen_, now_);
    const bool late = age > settings_.gate.state_timeout;
    const Verdict old{Fault::age, true, false, 0, age, settings_.gate.state_timeout};
    if (age - settings_.gate.state_timeout > settings_.blind_time + endings::PAUSE) {
      trip(old);  // the updates paused: the arm may be somewhere else, so no state is answered
      lost_ = true;
      return answer_blindly();
    }
    if (!input.readable || time_ == accepted_) {  // there is no new state
      if (is_testing() && age > start_up_kernels::LATE + 2.0 * settings_.period) {
        const auto apart = static_cast<std::size_t>(start_up_kernels::APART);
        refuse({Refusal::start_up, 0, 1e3 * age, 0.0, apart, {}});
        return Answer::silent;
      }
      if (late) {
        trip(old);
        lost_ = true;
      }
      if (lost_) {
        return answer_blindly();
      }
      return !is_faulty() && !is_testing() && is_late(age) ? bridge(age) : Answer::keep;
    }
    Verdict wrong = admit(input);
    if (step_admitted_ > 0.0 && !is_testing()) {
      const Verdict seen = look(input);
      wrong = seen.fault != Fault::none ? seen : wrong;
    } else {
      witness::pause(blind_);
    }
    if (wrong.fault == Fault::none && late) {  // the updates paused
      wrong = old;
      wrong.blind = false;
    }
    lost_ = wrong.blind;
    if (wrong.fault != Fault::none) {
      trip(wrong);
      doubt(wrong);
    }
    if (wrong.blind) {
      return answer_blindly();
    }
    if (is_testing()) {
      return answer_testing(input);
    }
    if (is_refused()) {
      return Answer::silent;
    }
    if (clock_.late()) {
      move_target(input.reference);
      return bridge(step_admitted_);
    }
    blind_.coasts = 0;
    return answer_seeing(input.reference);
  }

  /// Accept or reject a state, and return its fault; step_admitted_ is the time since the last one
  /// [s], or 0 if there is no new state.
  Verdict admit(const Input & input)
  {
    const State state = clipped(input.state);
    const double step = seconds(accepted_, time_);
    step_admitted_ = 0.0;
    Verdict wrong;
    if (!is_measurement(input.state) || !are_efforts(input.effort)) {
      wrong.fault = Fault::finite;
      wrong.blind = true;
      return wrong;
    }
    Verdict clock = clock_.judge(time_, now_, settings_.gate);
    const bool jumped = clock.fault == Fault::clock;
    const double passed = jumped ? std::max(seconds(seen_, now_), 0.0) : step;
    wrong = inspection_.judge(state, state_, passed, efforts_.released());
    if (jumped && wrong.blind) {
      clock.blind = true;
      clock.moved = wrong.moved;
      wrong = clock;
    }
    if (wrong.moved) {
      return wrong;
    }
    const double acted = std::max(seconds(seen_, now_), 0.0);  // time of the last effort
    const bool paused = acted > settings_.gate.state_timeout;  // a fault by itself
    held_ = paused ? 0.0 : held_ - std::expm1(-acted / gate::HELD) * (acted - held_);
    state_ = state;
    seen_ = now_;
    accepted_ = time_;
    if (jumped && !wrong.blind) {
      step_admitted_ = state_kernels::SHORTEST;
      return clock;
    }
    if (clock.fault == Fault::latency || wrong.blind) {
      return clock.fault == Fault::latency ? clock : wrong;
    }
    step_ = std::max(step, state_kernels::SHORTEST);
    step_admitted_ = std::min(step_, state_kernels::LONGEST);
    return wrong;
  }

  /// Whether measured efforts are finite, or not measured.
  static bool are_efforts(const Joints & effort)
  {
    return std::all_of(effort.begin(), effort.end(), [](double x) {
      return std::isnan(x) || std::abs(x) < measured::LARGEST;
    });
  }

  /// Compare the motion with the efforts sent, and remember it.
  Verdict look(const Input & input)
  {
    if (endings::disbelieves(blind_, now_, state_.q, state_.v)) {
      return lie_;
    }
    if (!(held_ <= longest_held_)) {
      return {Fault::age, true, false, 0, held_, longest_held_};
    }
    if (clock_.late()) {  // no evidence about the efforts sent since then
      witness::pause(blind_);
      return {};
    }
    const bool soft = mode() == Mode::impedance || mode() == Mode::pd_gravity;
    const double contact = soft ? settings_.limits.contact : 0.0;
    double blocked = mode() == Mode::gravity ? witness::BY_HAND : std::max(witness::CONTACT, contact);
    if (is_faulty()) {
      blocked = witness::ANYTHING;
    }
    const Index frozen = witness::look(
      d_, own_, actuation_, blind_, state_.q, state_.v, commands(), measured(input), step_, contact,
      blocked);
    if (frozen >= 0) {
      const auto joint = static_cast<std::size_t>(frozen);
      return {Fault::frozen, true, false, joint, state_.q[PLACE[joint]], state_.v[PLACE[joint]]};
    }
    velocity_vote::remember(blind_, accepted_, state_.q, state_.v);
    return {};
  }

  /// The measured efforts; NaN where there are none.
  Dofs measured(const Input & input) const
  {
    Dofs found = every(NOTHING);
    for (std::size_t i = 0; i < CONTROLLED && !settings_.arm_without_effort; ++i) {
      found[PLACE[i]] = input.effort[i];
    }
    return found;
  }

  /// Take notice of a fault that the newest state shows.
  void doubt(const Verdict & wrong)
  {
    if (wrong.blind && std::find(LIES.begin(), LIES.end(), wrong.fault) != LIES.end()) {
      lie_ = blind_.lied > 0 ? lie_ : wrong;
      endings::doubt(blind_, wrong.moved);
    }
  }

  /// The commands sent last; joints that are not controlled are held.
  Dofs commands() const
  {
    Dofs found = holding_;
    const auto sent = efforts_.released();
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      found[PLACE[i]] = sent[static_cast<Index>(i)];
    }
    return found;
  }

  /// Latch a fault, unless there is one; in the start-up test it ends the test.
  void trip(const Verdict & wrong)
  {
    if (is_testing()) {
      refuse({Refusal::stopped, wrong.joint, wrong.value, wrong.bound, 0, wrong});
    } else if (!is_faulty() && !is_refused()) {
      faults_.write(wrong);
      faulty_.store(true, std::memory_order_release);
      endings::begin(blind_);
      efforts_.end_start();
    }
  }

  /// End the start-up test without arming: nothing is sent any more.
  void refuse(const Reason & reason)
  {
    events_.write(reason);
    phase_.store(Phase::silent, std::memory_order_release);
  }

  /// Whether the start-up test was ended so.
  bool is_refused() const { return phase() == Phase::silent && !is_faulty(); }

  // efforts

  /// Answer a valid state in the start-up test.
  Answer answer_testing(const Input & input)
  {
    Dofs wanted{};
    actuation::hold(d_, own_, actuation_, state_.q, holding_);
    const Index found = start_up_kernels::advance(
      trial_, reply_, actuation_, state_.q, state_.v, measured(input), holding_,
      efforts_.released(), step_, wanted);
    if (found > 0) {
      const auto joint = static_cast<std::size_t>(trial_.joint);
      refuse({
        Refusal::start_up, joint, trial_.value, trial_.bound, static_cast<std::size_t>(found), {}});
      return Answer::silent;
    }
    if (trial_.done > 0) {
      run(holding());
      return answer_seeing(input.reference);
    }
    release(wanted, holding_, step_admitted_, false);
    return Answer::efforts;
  }

  /// Answer a valid state.
  Answer answer_seeing(const Reference & reference)
  {
    Dofs wanted{};
    actuation::hold(d_, own_, actuation_, state_.q, holding_);
    if (is_faulty()) {
      const bool sends = endings::see(
        d_, own_, actuation_, blind_, accepted_, state_.q, state_.v, step_admitted_, wanted);
      if (!sends) {
        return Answer::silent;
      }
      release(wanted, holding_, step_admitted_, blind_.phase == endings::SILENT);
      return Answer::efforts;
    }
    move_target(reference);
    check_target();
    compute_mode(wanted);
    const Vector<const double> desired = target_.desired().row(1);
    actuation::to_command(
      own_, actuation_, state_.q, state_.v, mode() == Mode::gravity ? state_.v : desired, wanted);
    const Index unfit = release(wanted, holding_, step_admitted_, false);
    if (unfit >= 0) {
      const auto joint = static_cast<std::size_t>(unfit);
      trip({Fault::effort, false, false, joint, wanted[PLACE[joint]], 0.0});
    }
    return Answer::efforts;
  }

  /// Whether the newest state is too old to be answered; age: since it arrived [s].
  bool is_late(double age) const
  {
    const double most = std::min(settings_.gate.latency_limit, settings_.gate.state_timeout);
    return clock_.late() || age > std::max(most, gate::MISSED * settings_.period);
  }

  /// Answer a state that is late; dt: time since the last effort of the law [s].
  Answer bridge(double dt)
  {
    if (is_faulty()) {
      return answer_blindly();
    }
    Dofs wanted{};
    const double late = clock_.lag() + seconds(seen_, now_);
    dt = coasting::coast(
      d_, own_, actuation_, blind_, now_, late, dt, state_.q, state_.v, commands(), wanted);
    release(wanted, wanted, dt, false);
    return Answer::efforts;
  }

  Answer answer_blindly()
  {
    if (is_refused()) {
      return Answer::silent;
    }
    const double dt = endings::since(blind_, now_);
    const double overdue = std::max(seconds(seen_, now_) - settings_.gate.state_timeout, 0.0);
    Dofs wanted{};
    if (!endings::stop_blindly(
          d_, own_, actuation_, blind_, now_, overdue, accepted_, state_.q, state_.v, wanted))
    {
      return Answer::silent;
    }
    release(wanted, wanted, dt, blind_.phase == endings::SILENT);
    return Answer::efforts;
  }

  void move_target(const Reference & reference)
  {
    const double dt = std::min(step_, settings_.gate.state_timeout);
    if (mode() == Mode::gravity) {
      target_.rest_at(state_.q);
    } else if (reference.given && is_possible(reference) &&
               target_.follow(reference, settings_.start_tolerance)) {
      idle_ = 0.0;
    } else {
      if (reference.given) {
        events_.write({Refusal::reference, 0, 0.0, 0.0, 0, {}});
      }
      target_.advance(dt, settings_.limits);
      idle_ += dt;
    }
    target_.let_go(state_);
  }

  /// Whether a reference is finite and within the limits.
  bool is_possible(const Reference & reference) const
  {
    const Limits & limits = settings_.limits;
    bool fine = true;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      fine = fine && limits.lower[i] <= reference.q[i] && reference.q[i] <= limits.upper[i];
      fine = fine && std::abs(reference.v[i]) <= limits.velocity[i] * tracking::ROUNDING;
      fine = fine && std::abs(reference.q[i]) < measured::LARGEST;
      fine = fine && std::abs(reference.a[i]) < measured::LARGEST;
    }
    return fine;
  }

  /// Trip if the arm is too far from its target, or has had no target for too long.
  void check_target()
  {
    const double tolerance = settings_.tracking_tolerance;
    if (mode() == Mode::computed_torque && tolerance > 0.0) {
      const auto aim = target_.desired().row(0);
      const Index worst = tracking::straying(aim, state_.q, PLACE, tolerance);
      if (worst >= 0) {
        const auto i = static_cast<std::size_t>(worst);
        const double off = std::abs(aim[PLACE[i]] - state_.q[PLACE[i]]);
        trip({Fault::tracking, false, false, i, off, tolerance});
      }
    }
    const double most = settings_.target_timeout;
    if (most > 0.0 && most < idle_ && idle_ < INFINITE) {
      trip({Fault::target, false, false, 0, idle_, most});
    }
  }

  /// Write the efforts of the mode, without those that the robot adds itself.
  void compute_mode(Dofs & wanted)
  {
    const Motion & desired = target_.desired();
    switch (mode()) {
      case Mode::gravity:
        compute(laws::damped_gravity, state_, desired, floating_, wanted);
        break;
      case Mode::pd_gravity:
        compute(laws::pd_gravity, state_, desired, soft_, wanted);
        break;
      case Mode::computed_torque:
        compute(laws::computed_torque, state_, desired, tracking_, wanted);
        break;
      case Mode::impedance:
        compute(laws::joint_impedance, state_, desired, soft_, wanted);
        break;
    }
  }

  /// Pass efforts through the gate; last: at once, as no other will follow.
  Index release(const Dofs & wanted, const Dofs & holding, double dt, bool last)
  {
    const double haste = is_faulty() ? gate::HASTE : 1.0;
    const double rate = last ? INFINITE : haste * settings_.gate.effort_rate;
    return efforts_.release(wanted, holding, state_.q, rate, dt, settings_.gate.blend_time);
  }

  const ArmSettings settings_;
  Inspection inspection_;
  EffortGate efforts_;
  Target target_;
  Actuation actuation_;
  BlindState blind_;
  Data d_, own_;
  GainRows tracking_, soft_, floating_;
  UpdateClock clock_;
  State state_;       // the last one accepted
  Dofs holding_{};    // commands that held the arm there
  Verdict lie_;       // the first fault of a state whose numbers lie
  Verdict fault_;     // the latched one, of the thread that asks for it
  Mailbox<Verdict> faults_;
  Mailbox<Reason> events_;
  StartUp trial_;
  Reply reply_;
  std::int64_t now_ = 0, seen_ = 0;        // steady clock: now, and at the last accepted state [ns]
  std::int64_t time_ = 0, accepted_ = 0;   // clock of the updates, likewise [ns]
  double step_ = 0.0, step_admitted_ = 0.0;  // [s]
  double held_ = 0.0;  // mean time for which an effort acted [s]
  double longest_held_;
  double idle_ = INFINITE;
  bool begun_ = false, lost_ = false;  // lost_: the newest state is not believed
  std::atomic<Mode> mode_{Mode::gravity};
  std::atomic<Phase> phase_{Phase::running};
  std::atomic<bool> faulty_{false};
};

}  // namespace @{namespace}
