// The end of an arm after a fault: it is braked and held, or braked blindly, and then left alone.
//
// As rbdyn_ros.control.endings. Without valid states the arm is braked on an estimate, for
// blind_time.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "clock.hpp"
#include "gate.hpp"
#include "laws.hpp"
#include "reckoning.hpp"
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
  Actuation actuation;
};

/// A state that is not believed; some of its numbers may be true. late: since its measurement [s].
struct Told
{
  bool given = false;
  State state;
  double late = 0.0;
};

class Ending
{
public:
  Reckoning reckoning;  // estimates the state of an arm whose states are not believed

  Phase phase() const { return phase_; }

  /// Start after a fault.
  void begin()
  {
    blind_for_ = 0.0;
    since_ = 0;
    lied_ = false;
    start_braking();
  }

  /// No fault any more.
  void clear() { phase_ = Phase::running; }

  /// Take notice of a fault that the newest state shows; after these, states are believed again
  /// only if they agree with the estimate.
  void doubt(const Verdict & wrong) { lied_ = lied_ || (wrong.blind && is_lie(wrong.fault)); }

  static bool is_lie(Fault fault)
  {
    return std::find(LIES.begin(), LIES.end(), fault) != LIES.end();
  }

  /// Whether a state that follows a lie differs from the estimate.
  bool disbelieves(
    std::int64_t now, const State & state, const Dofs & sent, const EndingSettings & settings)
  {
    if (phase_ != Phase::blind || !lied_) {
      return false;
    }
    reckoning.advance(now, sent, settings.actuation);
    return !(reckoning.difference(state).second < 1.0);
  }

  /// Write the efforts for a valid state, `dt` after the last one [s]; return false to stay silent.
  /// When braking does not work, efforts that only hold the arm are the last.
  ///
  /// push: acceleration that the model does not explain, see Witness.
  bool seeing(
    const State & state, const Dofs & push, double dt, const EndingSettings & settings,
    const Limits & limits, Dofs & effort)
  {
    if (phase_ == Phase::silent) {
      return false;
    }
    if (phase_ == Phase::blind) {
      start_braking();
    }
    if (phase_ == Phase::braking) {
      brake(state, push, settings, limits, effort);
      judge_braking(state, dt, settings, limits);
    } else {
      hold(state, settings, effort);
      judge_holding(state, limits);
    }
    if (phase_ == Phase::silent) {
      last(state.q, settings, effort);
    }
    return true;
  }

  /// The time since the last effort without states [s], or 1 ms before the first.
  double since(std::int64_t now) const
  {
    return phase_ == Phase::blind ? seconds(since_, now) : 1e-3;
  }

  /// Write the efforts without a valid state; return false to stay silent.
  ///
  /// now: steady clock [ns]; sent: commands sent last.
  bool blindly(
    std::int64_t now, const Dofs & sent, const Told & told, const EndingSettings & settings,
    const Limits & limits, Dofs & effort)
  {
    if (phase_ == Phase::silent) {
      return false;
    }
    if (phase_ == Phase::blind) {
      blind_for_ += seconds(since_, now);
      reckoning.advance(now, sent, settings.actuation);
    } else {
      phase_ = Phase::blind;
      reckoning.begin(now, sent, told.given, settings.actuation);
    }
    since_ = now;
    if (blind_for_ > settings.blind_time) {
      phase_ = Phase::silent;
      return false;
    }
    if (told.given) {
      reckoning.correct(told.state, told.late);
    }
    reckoning.remember();
    brake(reckoning.state, reckoning.push, settings, limits, effort);
    judge_speed(reckoning.state, blind_for_, settings, limits);
    if (phase_ == Phase::silent) {
      last(reckoning.state.q, settings, effort);
    }
    return true;
  }

private:
  void start_braking()
  {
    phase_ = Phase::braking;
    braking_ = resting_ = energy_ = most_ = 0.0;
  }

  /// M (-rate v - push) + g: all motion decays. The push is replaced up to a share of the effort
  /// limits only: an arm that is stuck is not pulled free.
  void brake(
    const State & state, const Dofs & push, const EndingSettings & settings, const Limits & limits,
    Dofs & effort)
  {
    const Dofs rest{};
    Dofs g{}, a{};
    gravity(state.q, g);
    damped_gravity(state, endings::BRAKING, effort);
    double power = 0.0;
    for (std::size_t k = 0; k < DOFS; ++k) {
      power += (effort[k] - g[k]) * state.v[k];
      a[k] = -push[k];
    }
    motion_ = -0.5 / endings::BRAKING * power;  // kinetic energy [J]
    Dofs replaced{};
    inverse_dynamics(state.q, rest, a, replaced);
    carried_ = Dofs{};
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      const double most = endings::CARRIED * limits.effort[i];
      carried_[k] = std::min(std::max(replaced[k] - g[k], -most), most);
      effort[k] += carried_[k];
    }
    settings.actuation.command(state.v, state.q, effort);
  }

  /// Computed torque around the position where the arm came to rest.
  void hold(const State & state, const EndingSettings & settings, Dofs & effort)
  {
    for (const std::size_t k : OTHERS) {
      held_.q[k] = state.q[k];
      held_.v[k] = state.v[k];
    }
    computed_torque(state, held_, settings.hold, effort);
    settings.actuation.command(held_.v, state.q, effort);
    for (std::size_t k = 0; k < DOFS; ++k) {
      effort[k] += carried_[k];
    }
  }

  /// Write the last efforts before silence: the hardware may repeat them, so nothing in them depends
  /// on velocities.
  void last(const Dofs & q, const EndingSettings & settings, Dofs & effort) const
  {
    settings.actuation.hold(q, effort);
    for (std::size_t k = 0; k < DOFS; ++k) {
      effort[k] += carried_[k];
    }
  }

  /// Give up; what the feedback carried may be an effect of wrong states.
  void diverge()
  {
    carried_ = Dofs{};
    phase_ = Phase::silent;
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
      diverge();
    }
  }

  /// Give up holding an arm that moves away.
  void judge_holding(const State & state, const Limits & limits)
  {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      if (std::abs(state.v[k]) > limits.velocity[i]) {
        diverge();
      } else if (std::abs(state.q[k] - held_.q[k]) > endings::HELD) {
        phase_ = Phase::silent;
      }
    }
  }

  Phase phase_ = Phase::running;
  Desired held_;
  Dofs marked_{}, carried_{};  // carried_: efforts that replace the push
  std::int64_t since_ = 0;     // of the last effort without states [ns]
  bool lied_ = false;
  double blind_for_ = 0.0, braking_ = 0.0, resting_ = 0.0;
  double energy_ = 0.0, most_ = 0.0, motion_ = 0.0;
};

}  // namespace @{namespace}
