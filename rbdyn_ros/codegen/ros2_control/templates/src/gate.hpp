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

#include "kernels.hpp"
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

/// Whether all numbers can be measurements.
inline bool is_measurement(const State & state)
{
  const auto fine = [](double x) { return std::abs(x) < measured::LARGEST; };  // NaN fails it too
  return std::all_of(state.q.begin(), state.q.end(), fine) &&
         std::all_of(state.v.begin(), state.v.end(), fine);
}

/// The limits of the joints as the kernels take them.
using Rows = Table<6, CONTROLLED>;

inline Rows rows_of(const Limits & limits)
{
  return Rows(
    limits.lower, limits.upper, limits.velocity, limits.effort, limits.power, limits.gain);
}

/// Compares states with the limits, and positions with velocities.
class Inspection
{
public:
  explicit Inspection(const Limits & limits)
  : rows_(rows_of(limits)), acceleration_(limits.acceleration)
  {
    memory_.fill(state_kernels::AGE, INFINITE);
  }

  /// Judge a state that follows another one after a step [s]; infinite: it is the first.
  Verdict judge(
    const State & now, const State & before, double step, Vector<const double> effort)
  {
    namespace c = state_kernels;
    std::array<double, c::FOUND> found{};
    if (c::inspect(
          now.q, now.v, before.q, before.v, PLACE, rows_, acceleration_, effort, step, memory_,
          found))
    {
      return {};
    }
    return {
      FAULT_OF[static_cast<std::size_t>(found[c::KIND])],
      found[c::BLIND] > 0.0,
      found[c::BLIND] == static_cast<double>(c::MOVED),
      static_cast<std::size_t>(found[c::JOINT]),
      found[c::VALUE],
      found[c::ALLOWED]};
  }

private:
  /// The fault of each kind that the kernels tell apart.
  static constexpr std::array FAULT_OF{
    Fault::none, Fault::position, Fault::velocity, Fault::velocity, Fault::velocity,
    Fault::acceleration, Fault::power, Fault::acceleration};

  Rows rows_;
  double acceleration_;
  Table<state_kernels::ROWS, CONTROLLED> memory_;
};

/// Limits efforts: their size, their push into a joint limit, their rate, their start.
class EffortGate
{
public:
  explicit EffortGate(const Limits & limits) : rows_(rows_of(limits)) {}

  /// The efforts that were released last [N m or N].
  Vector<const double> released() const { return out_.row(gate_kernels::RELEASED); }

  /// Start bumpless: the next efforts are these; their difference to the law decays.
  void begin(Vector<const double> effort)
  {
    for (Index i = 0; i < rows_.columns(); ++i) {
      const double cap = rows_(3, i);
      const double tau = std::min(std::max(effort[i], -cap), cap);
      out_(gate_kernels::START, i) = out_(gate_kernels::RELEASED, i) = tau;
    }
    since_start_ = 0.0;
  }

  /// End a bumpless start, which would delay braking.
  void end_start() { since_start_ = INFINITE; }

  /// Release efforts; return the first controlled joint whose law is no number, or -1.
  ///
  /// wanted: efforts of the law; holding: efforts that hold the arm; rate: [N m/s or N/s], and
  /// infinite for last efforts, which the hardware may repeat.
  Index release(
    const Dofs & wanted, const Dofs & holding, const Dofs & q, double rate, double dt,
    double blend_time)
  {
    const Index unfit = gate_kernels::release(
      wanted, holding, q, PLACE, rows_, rate, dt, since_start_, blend_time, out_);
    since_start_ += std::min(dt, state_kernels::LONGEST);
    return unfit;
  }

private:
  Rows rows_;
  Table<gate_kernels::OUT, CONTROLLED> out_;
  double since_start_ = INFINITE;
};

}  // namespace @{namespace}
