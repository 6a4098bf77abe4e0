// The end of an arm after a fault: it is braked and held, or braked blindly, and then left alone.
//
// As rbdyn_ros.control.blind.endings, which explains it.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "clock.hpp"
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
  Actuation actuation;
};

class Ending
{
public:
  Phase phase() const { return phase_; }

  /// Start after a fault.
  void begin()
  {
    blind_for_ = 0.0;
    since_ = 0;
    lied_ = lasts_ = false;
    start_braking();
  }

  /// No fault any more.
  void clear() { phase_ = Phase::running; }

  /// Take notice of a fault that the newest state shows.
  void doubt(const Verdict & wrong)
  {
    if (wrong.blind && std::find(LIES.begin(), LIES.end(), wrong.fault) != LIES.end()) {
      lie_ = lied_ ? lie_ : wrong;
      lied_ = true;
      lasts_ = lasts_ || !wrong.moved;
    }
  }

  /// The first fault of a state whose numbers lie.
  const Verdict & lie() const { return lie_; }

  /// Whether a state that follows a lie is not believed.
  bool disbelieves(std::int64_t now, const State & state) const
  {
    if (phase_ != Phase::blind || !lied_) {
      return false;
    }
    const State expected = foreseen(now);
    bool near = true;
    for (const std::size_t k : PLACE) {
      near = near && std::abs(state.q[k] - expected.q[k]) < endings::NEAR &&
             std::abs(state.v[k] - expected.v[k]) < endings::ALIKE;
    }
    return lasts_ || !near;
  }

  /// Write the efforts for a valid state, `dt` after the last one [s]; return false to stay silent.
  /// When braking does not work, efforts that only hold the arm are the last.
  ///
  /// voted: velocity by which an arm is braked, see VelocityVote; push: acceleration that the model
  /// does not explain, see Witness.
  bool seeing(
    const State & state, const Dofs & voted, const Dofs & push, double dt, const EndingSettings & settings,
    const Limits & limits, Dofs & effort)
  {
    if (phase_ == Phase::silent) {
      return false;
    }
    if (phase_ == Phase::blind) {
      start_braking();
    }
    if (phase_ == Phase::braking) {
      brake({state.q, voted}, push, settings, limits, effort);
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
  /// now: steady clock [ns]; trusted: the last state, which counts when the arm becomes blind.
  bool blindly(
    std::int64_t now, const State & trusted, const EndingSettings & settings, Dofs & effort)
  {
    if (phase_ == Phase::silent) {
      return false;
    }
    if (phase_ == Phase::blind) {
      blind_for_ += std::max(seconds(since_, now), 0.0);
    } else {
      phase_ = Phase::blind;
      blind_ = trusted;
      lost_ = now;
    }
    since_ = now;
    const State expected = foreseen(now);
    if (blind_for_ > settings.blind_time) {
      diverge();
      last(expected.q, settings, effort);
      return true;
    }
    Dofs a{};
    for (std::size_t k = 0; k < DOFS; ++k) {
      a[k] = -endings::BRAKING * expected.v[k];
    }
    inverse_dynamics(expected.q, expected.v, a, effort);
    settings.actuation.command(Dofs{}, expected.q, effort);
    return true;
  }

private:
  /// Where a blind arm should be by now.
  State foreseen(std::int64_t now) const
  {
    const double left = std::exp(-endings::BRAKING * std::max(seconds(lost_, now), 0.0));
    State found;
    for (std::size_t k = 0; k < DOFS; ++k) {
      found.q[k] = blind_.q[k] + (1.0 - left) / endings::BRAKING * blind_.v[k];
      found.v[k] = left * blind_.v[k];
    }
    return found;
  }

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
    compute(
      laws::damped_gravity, state, {}, GainRows(Dofs{}, every(endings::BRAKING)), effort);
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
    compute(laws::computed_torque, state, rows_of(held_), rows_of(settings.hold), effort);
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
  State blind_;                // where the arm was when it became blind
  std::int64_t since_ = 0, lost_ = 0;  // of the last effort without states, of the first one [ns]
  Verdict lie_;
  bool lied_ = false, lasts_ = false;
  double blind_for_ = 0.0, braking_ = 0.0, resting_ = 0.0;
  double energy_ = 0.0, most_ = 0.0, motion_ = 0.0;
};

}  // namespace @{namespace}
