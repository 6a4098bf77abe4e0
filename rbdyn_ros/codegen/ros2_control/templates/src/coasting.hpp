// An armed arm coasts while its newest state is late.
//
// As rbdyn_ros.control.blind.coasting, which explains it.

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

class Coasting
{
public:
  /// Whether the arm coasts.
  bool active() const { return active_; }

  /// Start to coast; now: steady clock [ns], expected: the state of the arm then.
  void begin(std::int64_t now, const State & expected)
  {
    active_ = true;
    begun_ = answered_ = now;
    expected_ = expected;
  }

  /// Stop coasting: a state came in time, or the arm is braked.
  void end() { active_ = false; }

  /// Return the time since the last call [s]; now: steady clock [ns].
  double since(std::int64_t now)
  {
    const double passed = std::max(seconds(answered_, now), 0.0);
    answered_ = now;
    return passed;
  }

  /// Where the arm should be by now.
  State foreseen(std::int64_t now) const
  {
    const double left = std::exp(-coasting::DAMPING * std::max(seconds(begun_, now), 0.0));
    State found;
    for (std::size_t k = 0; k < DOFS; ++k) {
      found.q[k] = expected_.q[k] + (1.0 - left) / coasting::DAMPING * expected_.v[k];
      found.v[k] = left * expected_.v[k];
    }
    return found;
  }

  /// Write the efforts of the coasting arm; they overcome no friction.
  void effort(std::int64_t now, const Actuation & actuation, Dofs & effort) const
  {
    const State expected = foreseen(now);
    Dofs a{};
    for (std::size_t k = 0; k < DOFS; ++k) {
      a[k] = -coasting::DAMPING * expected.v[k];
    }
    inverse_dynamics(expected.q, expected.v, a, effort);
    actuation.command(Dofs{}, expected.q, effort);
  }

private:
  bool active_ = false;
  State expected_;
  std::int64_t begun_ = 0, answered_ = 0;  // [ns]
};

}  // namespace @{namespace}
