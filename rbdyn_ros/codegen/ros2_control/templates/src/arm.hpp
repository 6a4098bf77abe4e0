// The arm: its kernels, their memory, and what other threads read and write.
//
// The kernels come from rbdyn_ros. The arm does not need ROS. `start` and `update` allocate
// nothing, lock nothing and throw nothing. It is not a safety function: the arm's own safety
// controller and emergency stop stay in charge.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "mailbox.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// Phases of the arm: the phases in endings, the start-up test, and an arm without commands.
enum class Phase : int { running, braking, holding, blind, silent, testing, disarmed };
static_assert(static_cast<int>(Phase::running) == endings::RUNNING);
static_assert(static_cast<int>(Phase::silent) == endings::SILENT);

enum class Mode : int { gravity, pd_gravity, computed_torque, impedance };
static_assert(static_cast<int>(Mode::impedance) == arm_kernels::IMPEDANCE);

/// Outcome of an update: new efforts, the last efforts again, or no more efforts.
enum class Answer : int { efforts, keep, silent };
static_assert(static_cast<int>(Answer::silent) == arm_kernels::SILENT);

/// Reason why the arm does not start, or event while it runs: a number of arm_kernels.
enum class Refusal : int {
  none, latched = arm_kernels::LATCHED, too_heavy = arm_kernels::TOO_HEAVY,
  found = arm_kernels::FOUND, stopped = arm_kernels::STOPPED
};

/// Settings of the arm, in the records of the kernels; the defaults are as in arm_controller.
struct ArmSettings
{
  ArmLoopState loop;
  BlindState blind;  // computed_torque has the same gains
  StartUp trial;
  Actuation actuation;
  ArmState arm;
  bool simulated = false;  // the clock may run at any speed
};

/// A fault, the joint and the numbers that show it.
struct Verdict
{
  Fault fault = Fault::none;
  bool blind = false;  // whether the state may be wrong
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

/// A refusal, the joint and the numbers that show it.
struct Reason
{
  Refusal refusal = Refusal::none;
  std::size_t joint = 0;
  double value = 0.0;
  double bound = 0.0;
  std::size_t found = 0;  // finding of the start-up test
  Verdict fault;          // fault that stopped the arm
};

/// Positions and velocities of all degrees of freedom [rad or m; per s].
struct State
{
  Dofs q{};
  Dofs v{};
};

/// Desired motion of the controlled joints, as another controller or a topic gives it.
struct Reference
{
  bool given = false;
  Joints q{};
  Joints v{};
  Joints a{};
};

/// The inputs of an update.
struct Input
{
  State state;
  Joints effort{};              // measured effort, or NaN [N m or N]
  bool readable = true;         // whether the state could be read
  Reference reference;
  double period = 0.0;          // time since the last update, by the clock of the updates [s]
  std::int64_t steady = 0;      // steady clock [ns]
};

class Arm
{
public:
  explicit Arm(const ArmSettings & settings)
  : s_(settings.loop), b_(settings.blind), c_(settings.arm), a_(settings.actuation),
    trial_(settings.trial)
  {
    c_.simulated = settings.simulated ? 1 : 0;
    b_.limits = s_.limits;
    std::copy_n(s_.limits.row(limits::VELOCITY).begin(), CONTROLLED, trial_.velocity.begin());
    std::copy_n(s_.limits.row(limits::EFFORT).begin(), CONTROLLED, trial_.effort.begin());
    trial_.period = s_.period;
    trial_.latency = s_.latency;
    trial_.measures = s_.measures;
  }

  // Any thread may call these.
  Mode mode() const { return mode_.load(std::memory_order_acquire); }
  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  bool is_faulty() const { return faulty_.load(std::memory_order_acquire); }

  /// The newest refusal that was not read yet; only one thread may call this.
  Reason event()
  {
    Reason found;
    (void)events_.read(found);
    return found;
  }

  /// A copy of the latched fault, or Fault::none; only one thread may call this.
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
    s_.faulty = c_.ended = 0;
    publish();
  }

  /// Check whether the arm may start, and start it without a jump of the efforts.
  ///
  /// effort: measured efforts of the controlled joints; NaN if a joint measures none.
  Reason start(const State & measured, const Joints & effort, Mode mode)
  {
    take(measured, effort);
    c_.mode = static_cast<Index>(mode);
    if (!arm_kernels::start(d_, own_, a_, b_, s_, c_, trial_)) {
      return refused();
    }
    publish();
    return {};
  }

  /// Change the mode; the joints stay where they are, and the gains must not shake the arm.
  ///
  /// Return the mode that is now requested: the former mode after a refusal, because a refused
  /// mode must not begin by itself in another posture. An arm with a fault starts in the new mode.
  Mode set_mode(Mode mode)
  {
    if (mode == this->mode() || is_faulty()) {
      return mode;
    }
    arm_kernels::set_mode(d_, b_, s_, c_, static_cast<Index>(mode));
    publish();
    return this->mode();
  }

  /// Answer a state.
  ///
  /// effort: the efforts to send, changed only if the answer is Answer::efforts.
  Answer update(const Input & input, Joints & effort)
  {
    take(input.state, input.effort);
    const Reference & reference = input.reference;
    c_.reference = Table<3, CONTROLLED>(reference.q, reference.v, reference.a);
    c_.refers = reference.given ? 1 : 0;
    const Index found = arm_kernels::update(
      d_, own_, a_, b_, s_, c_, trial_, reply_, input.period, input.steady, input.readable);
    if (found == arm_kernels::EFFORTS) {
      std::copy_n(s_.out.row(loop_state::RELEASED).begin(), CONTROLLED, effort.begin());
    }
    publish();
    return static_cast<Answer>(found);
  }

  /// Stop commanding the arm.
  void stop()
  {
    s_.armed = s_.testing = c_.ended = 0;
    publish();
  }

  /// Efforts that hold the arm at its newest measured position.
  Joints holding()
  {
    arm_kernels::hold_here(d_, own_, a_, s_, c_);
    return c_.first;
  }

private:
  /// Pass a state to the kernels.
  void take(const State & state, const Joints & effort)
  {
    c_.given = Table<3, DOFS>(state.q, state.v, every(NOTHING));
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      c_.given(2, PLACE[i]) = effort[i];
    }
  }

  /// The newest refusal of the kernels, which is returned once.
  Reason refused()
  {
    const auto refusal = static_cast<Refusal>(c_.refusal);
    c_.refusal = 0;
    return {
      refusal, static_cast<std::size_t>(c_.joint), c_.value, c_.bound,
      static_cast<std::size_t>(c_.found), verdict_of(s_.latched)};
  }

  /// Show other threads the outcome of a call of the kernels.
  void publish()
  {
    if (c_.refusal > 0) {
      events_.write(refused());
    }
    if (s_.faulty > 0 && !is_faulty()) {
      faults_.write(verdict_of(s_.latched));
    }
    const Phase phase = c_.ended > 0 ? Phase::silent
      : s_.testing > 0 ? Phase::testing
      : s_.armed == 0 ? Phase::disarmed
      : s_.faulty > 0 ? static_cast<Phase>(b_.phase) : Phase::running;
    mode_.store(static_cast<Mode>(c_.mode), std::memory_order_release);
    phase_.store(phase, std::memory_order_release);
    faulty_.store(s_.faulty > 0, std::memory_order_release);
  }

  ArmLoopState s_;
  BlindState b_;
  ArmState c_;
  Actuation a_;
  StartUp trial_;
  Reply reply_;
  Data d_, own_;
  Verdict fault_;  // the latched fault, for the thread that reads it
  Mailbox<Verdict> faults_;
  Mailbox<Reason> events_;
  std::atomic<Mode> mode_{Mode::gravity};
  std::atomic<Phase> phase_{Phase::disarmed};
  std::atomic<bool> faulty_{false};
};

}  // namespace @{namespace}
