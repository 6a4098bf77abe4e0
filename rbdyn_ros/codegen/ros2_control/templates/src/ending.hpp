// The end of an arm after a fault: it is braked and held, or braked blindly, and then left alone.
//
// As rbdyn_ros.control.endings, without the estimate of pushes. Without valid states the arm is
// braked on a prediction from the last valid state, for blind_time.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "gate.hpp"
#include "laws.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

enum class Phase : int { running, braking, holding, blind, silent };

struct EndingSettings
{
  double blind_time = settings::BLIND_TIME;  // [s]
  Gains hold;                                // of computed torque
  double velocity_scale = 1.0;               // of the limits, as a share of the robot's
};

class Ending
{
public:
  Phase phase() const { return phase_; }

  /// Velocities of the last efforts' friction.
  const Dofs & rubbing() const { return rubbing_; }

  /// Start after a fault.
  void begin()
  {
    blind_for_ = 0.0;
    start_braking();
  }

  /// No fault any more.
  void clear() { phase_ = Phase::running; }

  /// Write the efforts for a valid state, `dt` after the last one [s]; return false to stay silent.
  /// When braking does not work, efforts that only hold the arm are the last.
  bool seeing(
    const State & state, double dt, const EndingSettings & settings, const Limits & limits,
    Dofs & effort)
  {
    if (phase_ == Phase::silent) {
      return false;
    }
    if (phase_ == Phase::blind) {
      start_braking();
    }
    if (phase_ == Phase::braking) {
      brake(state, effort);
      judge_braking(state, dt, settings, limits);
    } else {
      hold(state, settings, effort);
      judge_holding(state, limits);
    }
    if (phase_ == Phase::silent) {
      rubbing_ = Dofs{};
      gravity(state.q, effort);  // nothing depends on velocities: the hardware may repeat it
    }
    return true;
  }

  /// Write the efforts without a valid state; return false to stay silent.
  ///
  /// known: the last valid state; since: the time since then, or since the last call [s]; acting:
  /// the efforts that act on the arm, with those that it adds itself.
  bool blindly(
    const State & known, double since, const Dofs & acting, const EndingSettings & settings,
    const Limits & limits, Dofs & effort)
  {
    if (phase_ == Phase::silent) {
      return false;
    }
    if (phase_ == Phase::blind) {
      blind_for_ += since;
    } else {
      phase_ = Phase::blind;
      predicted_ = known;
    }
    if (blind_for_ > settings.blind_time) {
      phase_ = Phase::silent;
      return false;
    }
    predict(acting, since);
    brake(predicted_, effort);
    judge_speed(predicted_, blind_for_, settings, limits);
    if (phase_ == Phase::silent) {
      rubbing_ = Dofs{};
      gravity(predicted_.q, effort);
    }
    return true;
  }

private:
  void start_braking()
  {
    phase_ = Phase::braking;
    braking_ = resting_ = energy_ = most_ = 0.0;
  }

  /// M (-rate v) + g: all motion decays.
  void brake(const State & state, Dofs & effort)
  {
    Dofs g{};
    gravity(state.q, g);
    damped_gravity(state, endings::BRAKING, effort);
    rubbing_ = state.v;
    double power = 0.0;
    for (std::size_t k = 0; k < DOFS; ++k) {
      power += (effort[k] - g[k]) * state.v[k];
    }
    motion_ = -0.5 / endings::BRAKING * power;  // kinetic energy [J]
  }

  /// Computed torque around the position where the arm came to rest.
  void hold(const State & state, const EndingSettings & settings, Dofs & effort)
  {
    for (const std::size_t k : OTHERS) {
      held_.q[k] = state.q[k];
      held_.v[k] = state.v[k];
    }
    computed_torque(state, held_, settings.hold, effort);
    rubbing_ = held_.v;
  }

  void judge_braking(
    const State & state, double dt, const EndingSettings & settings, const Limits & limits)
  {
    const double before = braking_;
    braking_ += dt;
    judge_speed(state, before, settings, limits);
    const double mark = endings::LONGEST_BRAKING - endings::CALM;
    if (before < mark && mark <= braking_) {
      marked_ = state.q;
    }
    double fastest = 0.0, strayed = 0.0;
    for (const std::size_t k : PLACE) {
      fastest = std::max(fastest, std::abs(state.v[k]));
      strayed = std::max(strayed, std::abs(state.q[k] - marked_[k]));
    }
    resting_ = fastest < endings::REST ? resting_ + dt : 0.0;
    const bool late = braking_ > endings::LONGEST_BRAKING;
    if (late && !(strayed < endings::CALM * endings::CALM_SPEED)) {
      phase_ = Phase::silent;
    }
    if (phase_ == Phase::braking && (resting_ > endings::RESTING || late)) {
      phase_ = Phase::holding;
      held_ = Desired{};
      held_.q = state.q;
    }
  }

  /// Give up braking that accelerates the arm; since: time of braking before this state [s].
  void judge_speed(
    const State & state, double since, const EndingSettings & settings, const Limits & limits)
  {
    double share = 0.0;
    bool fast = false;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const double robots = limits.velocity[i] / settings.velocity_scale;  // never tightened
      const double speed = std::abs(state.v[PLACE[i]]);
      share = std::max(share, speed / robots);
      fast = fast || speed > std::min(endings::FAST_SHARE * robots, endings::FAST);
    }
    if (since == 0.0) {
      most_ = endings::EXCEEDED * std::max(share, 1.0);
    }
    if (since < endings::LEARNING) {
      energy_ = std::max(energy_, motion_);
    }
    const bool too_fast = share > (since < endings::GRACE ? most_ : 1.0);
    if (too_fast || (fast && motion_ > endings::GROWTH * energy_)) {
      phase_ = Phase::silent;
    }
  }

  /// Give up holding an arm that moves away.
  void judge_holding(const State & state, const Limits & limits)
  {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      if (
        std::abs(state.v[k]) > limits.velocity[i] ||
        std::abs(state.q[k] - held_.q[k]) > endings::HELD)
      {
        phase_ = Phase::silent;
      }
    }
  }

  /// Predict the state after a time under efforts, by semi-implicit steps.
  void predict(const Dofs & acting, double time)
  {
    time = std::min(time, reckoning::LONGEST_RECKONING);
    const double count = std::max(std::ceil(time / reckoning::STEP), 1.0);
    const double h = time / count;
    Dofs a{};
    for (double step = 0.0; step < count; step += 1.0) {
      forward_dynamics(predicted_, acting, a);
      for (std::size_t k = 0; k < DOFS; ++k) {
        predicted_.v[k] += h * a[k];
        predicted_.q[k] += h * predicted_.v[k];
      }
    }
  }

  Phase phase_ = Phase::running;
  State predicted_;
  Desired held_;
  Dofs marked_{}, rubbing_{};
  double blind_for_ = 0.0, braking_ = 0.0, resting_ = 0.0;
  double energy_ = 0.0, most_ = 0.0, motion_ = 0.0;
};

}  // namespace @{namespace}
