// The safety gate: it judges every state before the control law and limits every effort after it.
//
// The arithmetic is that of arm_controller (rbdyn_ros.control: state_kernels, gate_kernels, gate).
// It allocates nothing, locks nothing and throws nothing. It is not a safety function: the arm's
// own safety controller and emergency stop stay in charge.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// Positions and velocities of all degrees of freedom [rad or m; per s].
struct State
{
  Dofs q{};
  Dofs v{};
};

/// Limits of the controlled joints, and of every measured acceleration [rad/s^2 or m/s^2].
struct Limits
{
  Joints lower = LOWER;
  Joints upper = UPPER;
  Joints velocity = VELOCITY;
  Joints effort = EFFORT;
  Joints power = POWER;
  Joints gain = GAIN;
  double acceleration = limits::ACCELERATION;
  double contact = 0.0;  // effort of a contact in the soft modes, as a share of the effort limits
};

struct GateSettings
{
  double state_timeout = gate::STATE_TIMEOUT;  // [s]
  double effort_rate = gate::EFFORT_RATE;      // [N m/s or N/s]
  double blend_time = gate::BLEND_TIME;        // [s]
  double latency_limit = limits::LATENCY;      // largest lag of updates that may last [s]
  bool simulated = false;                      // the clock may run at any speed
};

/// A fault, the joint and the numbers that show it.
struct Verdict
{
  Fault fault = Fault::none;
  bool blind = false;  // the state is not believed
  bool moved = false;  // it is so far from the last one that it must be dropped
  std::size_t joint = 0;
  double value = 0.0;
  double bound = 0.0;
};

/// Whether a joint moved farther than its limit allows, and not by its measured velocity.
inline bool jumped(double moved, double travelled, double speed, double fastest, double step)
{
  if (std::abs(moved) <= fastest * step + limits::MARGIN) {
    return false;
  }
  const bool explained =
    std::abs(moved - travelled) <= limits::MARGIN + 0.1 * std::abs(travelled);
  return !(explained && std::abs(speed) <= state_kernels::EXPLAINED * fastest);
}

/// Whether all numbers can be measurements.
inline bool is_measurement(const State & state)
{
  const auto fine = [](double x) { return std::abs(x) < measured::LARGEST; };  // NaN fails it too
  return std::all_of(state.q.begin(), state.q.end(), fine) &&
         std::all_of(state.v.begin(), state.v.end(), fine);
}

/// Compares states with the limits, and positions with velocities.
class Inspection
{
public:
  /// Judge a state that follows another one after a step [s]; infinite: it is the first.
  Verdict judge(
    const State & now, const State & before, double step, const Joints & effort,
    const Limits & limits)
  {
    Verdict found;
    check_positions(now, limits, found);
    check_velocities(now, limits, found);
    check_jumps(now, before, step, limits, found);
    if (!found.moved) {
      compare(now, before, step, found);
      judge_change(now, effort, step, limits, found);
    }
    return found;
  }

private:
  struct Memory
  {
    double brief = 0.0, recent = 0.0, drift = 0.0, way = 0.0;  // deviations and way [rad or m]
    double reference = 0.0, age = std::numeric_limits<double>::infinity();
    double jump = 0.0;  // time for which a jump of the velocity is remembered [s]
    double slow = 0.0, since = 0.0;
  };

  static void report(
    Verdict & found, Fault fault, std::size_t joint, double value, double bound)
  {
    found.fault = fault;
    found.joint = joint;
    found.value = value;
    found.bound = bound;
  }

  /// Disagreement of positions and velocities counts more than an overspeed.
  static bool may_replace(const Verdict & found)
  {
    return found.fault == Fault::none || (found.fault == Fault::velocity && !found.blind);
  }

  static void check_positions(const State & now, const Limits & limits, Verdict & found)
  {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double q = now.q[PLACE[i]];
      const double low = limits.lower[i], high = limits.upper[i];
      if (found.fault == Fault::none && !(low - limits::MARGIN <= q && q <= high + limits::MARGIN)) {
        report(found, Fault::position, i, q, q < low ? low : high);
      }
    }
  }

  static void check_velocities(const State & now, const Limits & limits, Verdict & found)
  {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double v = now.v[PLACE[i]];
      if (found.fault == Fault::none && !(std::abs(v) <= limits.velocity[i])) {
        report(found, Fault::velocity, i, v, limits.velocity[i]);
      }
    }
  }

  static void check_jumps(
    const State & now, const State & before, double step, const Limits & limits, Verdict & found)
  {
    if (!(step < std::numeric_limits<double>::infinity())) {
      return;
    }
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      const double travelled = 0.5 * step * (now.v[k] + before.v[k]);
      const double moved = now.q[k] - before.q[k];
      if (jumped(moved, travelled, now.v[k], limits.velocity[i], step)) {
        if (may_replace(found)) {
          report(found, Fault::velocity, i, moved, limits.velocity[i] * step);
        }
        found.moved = found.blind = true;
      }
    }
  }

  /// Compare displacements with velocities over three times; a pause restarts the short two.
  void compare(const State & now, const State & before, double step, Verdict & found)
  {
    namespace c = state_kernels;
    const bool steady = step <= c::LONGEST;
    const double brief = std::exp(-step / c::BRIEF);
    const double recent = std::exp(-step / c::RECENT);
    const double kept = std::exp(-step / c::LONG);
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      Memory & memory = memory_[i];
      const double travelled = 0.5 * step * (now.v[k] + before.v[k]);
      const double off = now.q[k] - before.q[k] - travelled;
      memory.brief = steady ? brief * memory.brief + off : 0.0;
      memory.recent = steady ? recent * memory.recent + off : 0.0;
      if (steady) {
        memory.drift = kept * memory.drift + off;
        memory.way = kept * memory.way + std::abs(travelled);
      }
      const bool jolted = std::abs(now.v[k] - before.v[k]) > c::JOLT;
      memory.jump = jolted ? c::BRIEF : memory.jump - step;
      const double odd = memory.jump > 0.0 ? c::JOLTED : c::ODD;
      const double quick =
        std::max(std::abs(memory.brief) / odd, std::abs(memory.recent) / c::STRANGE);
      const double slow = std::abs(memory.drift) / (c::DRIFTED + c::SHARE * memory.way);
      if (!(std::max(quick, slow) <= 1.0)) {
        if (may_replace(found)) {
          report(found, Fault::velocity, i, now.v[k], std::max(quick, slow));
        }
        found.blind = true;
      }
    }
  }

  /// Check accelerations, and the power of the efforts that acted last.
  void judge_change(
    const State & now, const Joints & effort, double step, const Limits & limits, Verdict & found)
  {
    namespace c = state_kernels;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double v = now.v[PLACE[i]];
      Memory & memory = memory_[i];
      memory.age += step;
      if (!(memory.age <= c::LONGEST)) {  // the first state, or a pause
        memory.reference = v;
        memory.age = 0.0;
      } else if (memory.age >= c::MEASURING) {
        const double change = std::abs(v - memory.reference);
        if (change > limits.acceleration * memory.age && found.fault == Fault::none) {
          report(found, Fault::acceleration, i, change / memory.age, limits.acceleration);
        }
        memory.reference = v;
        memory.age = 0.0;
      }
      if (limits.gain[i] < std::numeric_limits<double>::infinity()) {
        judge_gain(v, i, limits.gain[i], step, found);
      }
      if (found.fault == Fault::none && std::abs(effort[i] * v) > limits.power[i]) {
        report(found, Fault::power, i, std::abs(effort[i] * v), limits.power[i]);
      }
    }
  }

  /// Check that a joint does not gain speed too fast; it may lose speed faster.
  void judge_gain(double v, std::size_t i, double most, double step, Verdict & found)
  {
    namespace c = state_kernels;
    Memory & memory = memory_[i];
    memory.since += step;
    if (!(step <= c::LONGEST)) {  // the first state, or a pause
      memory.slow = v;
      memory.since = 0.0;
    } else if (memory.since >= std::max(c::MEASURING, c::GAINED / most)) {
      const double gained = std::abs(v) - std::abs(memory.slow);
      if (found.fault == Fault::none && gained > most * memory.since) {
        report(found, Fault::acceleration, i, gained / memory.since, most);
      }
      memory.slow = v;
      memory.since = 0.0;
    }
  }

  std::array<Memory, CONTROLLED> memory_{};
};

/// Limits efforts: their size, their push into a joint limit, their rate, their start.
class EffortGate
{
public:
  /// The efforts that were released last [N m or N].
  const Joints & released() const { return released_; }

  /// Start bumpless: the next efforts are these; their difference to the law decays.
  void begin(const Joints & effort, const Limits & limits)
  {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      released_[i] = std::min(std::max(effort[i], -limits.effort[i]), limits.effort[i]);
    }
    start_ = released_;
    since_start_ = 0.0;
  }

  /// End a bumpless start, which would delay braking.
  void end_start() { since_start_ = std::numeric_limits<double>::infinity(); }

  /// Release efforts; return the first controlled joint whose law is no number, or CONTROLLED.
  ///
  /// wanted: efforts of the law; holding: efforts that hold the arm; rate: [N m/s or N/s], and
  /// infinite for last efforts, which the hardware may repeat.
  std::size_t release(
    const Dofs & wanted, const Dofs & holding, const Dofs & q, double rate, double dt,
    double blend_time, const Limits & limits)
  {
    dt = std::min(dt, state_kernels::LONGEST);
    const bool starts = since_start_ == 0.0;
    const double step = rate * dt;
    const double share = share_left(since_start_ / blend_time);
    std::size_t unfit = CONTROLLED;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double tau = wanted[PLACE[i]], hold = holding[PLACE[i]], place = q[PLACE[i]];
      if (!(std::isnan(tau) || std::isnan(hold))) {
        limit(tau, hold, place, starts ? std::numeric_limits<double>::infinity() : step, i, limits);
      } else if (unfit == CONTROLLED) {
        unfit = i;
      }
      if (starts) {
        difference_[i] = released_[i] - limited_[i];
      }
      blend(hold, place, step, share, i, limits);
    }
    since_start_ += dt;
    return unfit;
  }

private:
  /// Decrease smoothly from 1 to 0 as x increases from 0 to 1.
  static double share_left(double x)
  {
    constexpr double PI = 3.141592653589793;
    return x < 1.0 ? 0.5 + 0.5 * std::cos(PI * x) : 0.0;
  }

  /// Return an effort within its limit; at a stop, at most the effort that holds the joint.
  static double allowed(double tau, double hold, double q, std::size_t i, const Limits & limits)
  {
    tau = std::min(std::max(tau, -limits.effort[i]), limits.effort[i]);
    if (q >= limits.upper[i]) {
      tau = std::min(tau, std::max(hold, 0.0));
    }
    if (q <= limits.lower[i]) {
      tau = std::max(tau, std::min(hold, 0.0));
    }
    return tau;
  }

  void limit(double tau, double hold, double q, double step, std::size_t i, const Limits & limits)
  {
    const double before = limited_[i];
    limited_[i] = std::min(std::max(allowed(tau, hold, q, i, limits), before - step), before + step);
  }

  /// Add the rest of the initial difference; the result is within all limits, too.
  void blend(double hold, double q, double step, double share, std::size_t i, const Limits & limits)
  {
    const double law = limited_[i], start = start_[i], before = released_[i];
    double tau = law + share * difference_[i];
    tau = std::min(std::max(tau, std::min(law, start)), std::max(law, start));
    if (share > 0.0 && !std::isnan(hold)) {
      tau = allowed(tau, hold, q, i, limits);
    }
    released_[i] = std::min(std::max(tau, before - step), before + step);
  }

  Joints limited_{}, start_{}, difference_{}, released_{};
  double since_start_ = std::numeric_limits<double>::infinity();
};

}  // namespace @{namespace}
