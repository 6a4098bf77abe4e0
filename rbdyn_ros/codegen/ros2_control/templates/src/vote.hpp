// The velocity by which an arm is braked after a fault: the median of three.
//
// As rbdyn_ros.control.blind.velocity_vote, which explains it.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "clock.hpp"
#include "gate.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

class VelocityVote
{
public:
  /// Forget all states: until the next ones, the measured velocity counts alone.
  void forget()
  {
    count_ = 0;
    newest_ = 0;
  }

  /// Remember a state, unless it is close to the one before; a pause begins anew.
  ///
  /// time: of the update [ns]; due: velocity that the efforts sent should have given so far.
  void add(std::int64_t time, const State & state, const Dofs & due)
  {
    const double step = seconds(newest_, time);
    if (!(0.0 <= step && step <= state_kernels::LONGEST)) {
      forget();
    }
    newest_ = time;
    if (count_ > 0 && seconds(row(count_ - 1).time, time) < velocity_vote::SPACING) {
      return;
    }
    ring_[static_cast<std::size_t>(count_ % SIZE)] = {state, due, time};
    count_ += 1;
  }

  /// The median for a state, which need not be remembered; arguments as add. Without `told` the state
  /// is certainly an old one, and the model decides alone.
  Dofs velocity(std::int64_t time, const State & state, const Dofs & due, bool told) const
  {
    if (count_ == 0) {
      return state.v;
    }
    const Row & near = before(time, velocity_vote::WINDOW);
    const Row & far = before(time, velocity_vote::REACH);
    const double passed = seconds(near.time, time);
    Dofs found{};
    for (std::size_t k = 0; k < DOFS; ++k) {
      const double measured = state.v[k];
      const double moved = passed > 0.0 ? (state.q[k] - near.state.q[k]) / passed : measured;
      const double expected = far.state.v[k] + due[k] - far.due[k];
      const double median =
        std::max(std::min(measured, moved), std::min(std::max(measured, moved), expected));
      found[k] = told ? median : expected;
    }
    return found;
  }

private:
  struct Row
  {
    State state;
    Dofs due{};
    std::int64_t time = 0;  // [ns]
  };

  const Row & row(std::int64_t number) const
  {
    return ring_[static_cast<std::size_t>(number % SIZE)];
  }

  /// The last state that is older by an age [s], or the oldest.
  const Row & before(std::int64_t time, double age) const
  {
    const std::int64_t oldest = std::max<std::int64_t>(0, count_ - SIZE);
    std::int64_t number = count_ - 1;
    while (number > oldest && row(number).time > time - nanoseconds(age)) {
      number -= 1;
    }
    return row(number);
  }

  static constexpr std::int64_t SIZE = static_cast<std::int64_t>(velocity_vote::REMEMBERED);

  std::array<Row, static_cast<std::size_t>(SIZE)> ring_{};
  std::int64_t count_ = 0, newest_ = 0;  // newest_: time of the newest state [ns]
};

}  // namespace @{namespace}
