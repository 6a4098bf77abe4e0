// Dead reckoning: where the arm is while its states are not believed.
//
// As rbdyn_ros.control.reckoning, which explains it.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "clock.hpp"
#include "gate.hpp"
#include "history.hpp"
#include "laws.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

class Reckoning
{
public:
  History history;
  std::array<bool, DOFS> frozen{};  // joints whose numbers may be frozen; they correct nothing
  State state;                      // the estimate
  Dofs push{};                      // unexplained acceleration that lasted before

  /// Estimate the present state from the history.
  ///
  /// now: steady clock [ns]; effort: commands sent last; lying: the newest state lies.
  void begin(std::int64_t now, const Dofs & effort, bool lying, const Actuation & actuation)
  {
    now += history.shift;
    int first = onset();
    expect_push(history.before(first, reckoning::PUSHED));
    timely_ = false;
    if (lying) {
      judge(first);
      const bool all = std::count(frozen.begin(), frozen.end(), true) > 1;  // by one driver
      for (std::size_t k = 0; k < DOFS; ++k) {
        true_q_[k] = true_q_[k] && !frozen[k] && !all;
        true_v_[k] = true_v_[k] && !frozen[k] && !all;
      }
    } else {
      first = history.last;
      true_q_.fill(false);
      true_v_.fill(false);
    }
    state = history[first].state;
    time_ = std::max(measured(first), now - nanoseconds(reckoning::LONGEST_RECKONING));
    corrected_ = time_;
    told_ = state;
    acting_ = history.arrived_before(first, time_);
    for (int k = first + 1; k <= history.last; ++k) {
      replay(measured(k), effort, actuation);
      correct(history[k].state, 0.0);
    }
    replay(now, effort, actuation);
  }

  /// Correct the estimate by the true numbers of a state; late: time since its measurement [s].
  void correct(const State & seen, double late)
  {
    const double time = std::min(seconds(corrected_, time_), state_kernels::LONGEST);
    if (!(time > 0.0)) {
      return;
    }
    corrected_ = time_;
    late = timely_ ? 0.0 : late;
    disbelieve(seen, late);
    const double rate = late * reckoning::FOLLOWING < reckoning::FOLLOWING_LATE
                          ? reckoning::FOLLOWING
                          : reckoning::FOLLOWING_LATE / late;
    const double kept = std::exp(-rate * time), lost = 1.0 - kept;
    for (std::size_t k = 0; k < DOFS; ++k) {
      const bool place = true_q_[k] && seen.q[k] != told_.q[k];
      const bool speed = true_v_[k] && seen.v[k] != told_.v[k];
      const double off = place ? seen.q[k] + late * state.v[k] - state.q[k] : 0.0;
      if (speed) {
        const double slip = seen.v[k] - state.v[k];
        state.q[k] += off;
        state.v[k] = seen.v[k];
        push[k] += lost * lost / time * slip;
      } else {
        state.q[k] += (1.0 - kept * kept * kept) * off;
        state.v[k] += 1.5 * lost * lost * (1.0 + kept) / time * off;
        push[k] += lost * lost * lost / (time * time) * off;
      }
    }
    told_ = seen;
  }

  /// Return the controlled joint of a state that is farthest from the estimate, and by how much
  /// it differs as a part of what is allowed.
  std::pair<std::size_t, double> difference(const State & seen) const
  {
    std::pair<std::size_t, double> worst{0, 0.0};
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::size_t k = PLACE[i];
      const double off = std::max(
        std::abs(seen.q[k] - state.q[k]) / reckoning::NEAR,
        std::abs(seen.v[k] - state.v[k]) / reckoning::ALIKE);
      worst = off > worst.second ? std::make_pair(i, off) : worst;
    }
    return worst;
  }

  /// Predict the state at a later time of the steady clock [ns], under commands.
  void advance(std::int64_t now, const Dofs & effort, const Actuation & actuation)
  {
    advance_to(now + history.shift, effort, actuation);
  }

  /// Remember the estimate as a state; nothing is known about the velocity that is due.
  void remember()
  {
    Remembered row;
    row.state = state;
    row.push = push;
    row.due.fill(std::numeric_limits<double>::quiet_NaN());
    row.time = row.arrival = time_;
    history.add(row, 0.0, false);
  }

private:
  struct Velocities
  {
    Dofs moved{}, told{}, due{};  // by positions and a clock, as measured, and due
  };

  std::int64_t measured(int number) const
  {
    return timely_ ? history[number].arrival : history[number].time;
  }

  /// Return the number of a state before the lie.
  int onset() const
  {
    const int last = history.last;
    int first = last;
    if (history.trusted < last) {
      first = history.least_suspicious(history.before(last, reckoning::LURKING), last);
    }
    if (history.thawed < last) {
      first = std::min(first, history.repeated_since(history.thawed));
    }
    return history.before(first, reckoning::BACK);
  }

  /// Set the push to the part that lasted up to a state: its smallest value.
  void expect_push(int last)
  {
    const int first = history.before(last, reckoning::LASTED);
    for (std::size_t k = 0; k < DOFS; ++k) {
      double least = history[last].push[k], most = least;
      for (int number = first; number < last; ++number) {
        least = std::min(least, history[number].push[k]);
        most = std::max(most, history[number].push[k]);
      }
      push[k] = std::max(least, 0.0) + std::min(most, 0.0);
    }
  }

  /// Judge which numbers are true: the efforts explain how they changed since a state.
  void judge(int first)
  {
    const Velocities now = velocities(history.last, false), then = velocities(first, false);
    const Velocities steady = velocities(history.last, true);
    double off = 0.0, off_steady = 0.0, votes = 0.0;
    bool doubtful = false;
    for (std::size_t k = 0; k < DOFS; ++k) {
      const double here = std::abs(now.moved[k] - now.told[k]);
      if (here > reckoning::SAME) {  // a joint whose model is wrong votes with less weight
        doubtful = true;
        off += here;
        off_steady += std::abs(steady.moved[k] - now.told[k]);
        const double gained = now.due[k] - then.due[k];
        const double odd = std::abs(now.moved[k] - then.moved[k] - gained);
        const double strange = std::abs(now.told[k] - then.told[k] - gained);
        votes += (strange - odd) / (strange + odd);
      }
    }
    timely_ = off_steady < reckoning::BY_STEADY_CLOCK * off;
    if (timely_ || !doubtful) {
      true_q_.fill(true);
      true_v_.fill(true);
    } else if (!std::isnan(votes)) {  // else the history has estimates: the last verdict stays
      const bool places = changed(&State::q), speeds = changed(&State::v);
      const bool believed = places && (votes >= 0.0 || !speeds);
      true_q_.fill(believed);
      true_v_.fill(speeds && !believed);
    }
  }

  /// Whether numbers of the newest states differ; true ones of a moving arm do.
  bool changed(Dofs State::* row) const
  {
    const int last = history.last;
    bool found = false;
    for (int k = history.before(last, reckoning::BACK); k < last; ++k) {
      found = found || history[k].state.*row != history[last].state.*row;
    }
    return found;
  }

  Velocities velocities(int last, bool by_arrival) const
  {
    const int first = std::max(std::min(history.before(last, reckoning::BACK), last - 1), 0);
    const Remembered & begin = history[first];
    const Remembered & end = history[last];
    const double time =
      by_arrival ? seconds(begin.arrival, end.arrival) : seconds(begin.time, end.time);
    Velocities found;
    for (std::size_t k = 0; k < DOFS; ++k) {
      for (int number = first; number <= last; ++number) {
        found.told[k] += history[number].state.v[k];
        found.due[k] += history[number].due[k];
      }
      found.told[k] /= last - first + 1;
      found.due[k] /= last - first + 1;
      const double way = end.state.q[k] - begin.state.q[k];
      found.moved[k] = time > 0.0 ? way / time : found.told[k];
    }
    return found;
  }

  /// Numbers that changed and are far off are not true, from then on.
  void disbelieve(const State & seen, double late)
  {
    for (std::size_t k = 0; k < DOFS; ++k) {
      const double off = std::abs(seen.q[k] + late * state.v[k] - state.q[k]);
      if (seen.q[k] != told_.q[k] && off > reckoning::NEAR) {
        true_q_.fill(false);
      }
      if (seen.v[k] != told_.v[k] && std::abs(seen.v[k] - state.v[k]) > reckoning::ALIKE) {
        true_v_.fill(false);
      }
    }
  }

  /// Predict up to a time of the history [ns]; effort: commands sent last.
  void replay(std::int64_t until, const Dofs & effort, const Actuation & actuation)
  {
    while (acting_ < history.last && history[acting_ + 1].arrival <= until) {
      advance_to(history[acting_ + 1].arrival, history[acting_].effort, actuation);
      acting_ += 1;
    }
    advance_to(until, acting_ == history.last ? effort : history[acting_].effort, actuation);
  }

  /// Predict by semi-implicit steps.
  void advance_to(std::int64_t until, const Dofs & effort, const Actuation & actuation)
  {
    const double time = seconds(time_, until);
    if (!(time > 0.0)) {
      return;
    }
    time_ = until;
    const double count = std::ceil(time / reckoning::STEP);
    const double h = time / count;
    Dofs a{};
    for (double step = 0.0; step < count; step += 1.0) {
      forward_dynamics(state, actuation.applied(effort, state), a);
      for (std::size_t k = 0; k < DOFS; ++k) {
        state.v[k] += h * (a[k] + push[k]);
        state.q[k] += h * state.v[k];
      }
    }
  }

  State told_;                                // numbers that corrected it last
  std::array<bool, DOFS> true_q_{}, true_v_{};  // whether positions and velocities are true
  bool timely_ = false;  // the clock lies, so states count as measured when they arrive
  std::int64_t time_ = 0, corrected_ = 0;  // [ns]
  int acting_ = 0;
};

}  // namespace @{namespace}
