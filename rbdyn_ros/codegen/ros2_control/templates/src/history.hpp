// The last states of an arm, with the efforts that answered them.
//
// As rbdyn_ros.control.history. States are numbered from 0 on.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "clock.hpp"
#include "gate.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// A state: push and due velocity as in Witness, and the commands since then.
struct Remembered
{
  State state;
  Dofs push{}, due{}, effort{};
  std::int64_t time = 0, arrival = 0;  // [ns]
  double suspicion = 0.0;
};

class History
{
public:
  std::int64_t shift = 0;             // of its clock from the steady clock, at the newest state [ns]
  int last = -1;                      // number of the newest state
  int trusted = 0;                    // of the last one whose positions and velocities agree well
  int thawed = 0;                     // of the last one whose joints are hardly suspected to freeze

  /// Forget all states.
  void forget()
  {
    last = -1;
    trusted = thawed = 0;
    newest_ = 0;
  }

  /// Remember a state; after a jump of the clock it is the first one.
  void add(const Remembered & given, double frost, bool measured)
  {
    if (measured) {
      const double pause = static_cast<double>(given.time - newest_);
      if (last >= 0 && !(0.0 <= pause && pause <= history::LONGEST_PAUSE)) {
        forget();
      }
      newest_ = given.time;
    }
    last += 1;
    ring_[place(last)] = given;
    if (given.suspicion < history::TRUSTED || last - trusted >= SIZE) {
      trusted = last;
    }
    if (frost < history::THAWED || last - thawed >= SIZE) {
      thawed = last;
    }
  }

  /// Remember the commands that answered the newest state.
  void sent(const Dofs & effort) { ring_[place(last)].effort = effort; }

  const Remembered & operator[](int number) const { return ring_[place(number)]; }

  /// Return a state that is older by an age [s], or the oldest one.
  int before(int number, double age) const
  {
    const std::int64_t latest = (*this)[number].time - nanoseconds(age);
    while (number > oldest() && (*this)[number].time > latest) {
      number -= 1;
    }
    return number;
  }

  /// Return the last state up to a number that arrived before a time [ns].
  int arrived_before(int number, std::int64_t time) const
  {
    while (number > oldest() && (*this)[number].arrival > time) {
      number -= 1;
    }
    return number;
  }

  /// Return the least suspicious state from first to newest; of equal ones, the latest.
  int least_suspicious(int first, int newest) const
  {
    double least = (*this)[newest].suspicion;
    for (int k = first; k < newest; ++k) {
      least = std::min(least, (*this)[k].suspicion);
    }
    while (!((*this)[newest].suspicion < least + history::EQUAL)) {
      newest -= 1;
    }
    return newest;
  }

  /// Return when a joint froze whose numbers repeat since a state, or an earlier one.
  int repeated_since(int number) const
  {
    int found = -1;
    for (std::size_t k = 0; k < DOFS; ++k) {
      int since = last;
      while (since > oldest() && repeats(since - 1, k)) {
        since -= 1;
      }
      found = since <= number ? std::max(found, since) : found;
    }
    return found < 0 ? number : found;
  }

private:
  static constexpr int SIZE = static_cast<int>(history::REMEMBERED);

  static std::size_t place(int number) { return static_cast<std::size_t>(number % SIZE); }

  int oldest() const { return std::max(0, last + 1 - SIZE); }

  bool repeats(int number, std::size_t k) const
  {
    const State & then = (*this)[number].state;
    const State & now = (*this)[last].state;
    return then.q[k] == now.q[k] && then.v[k] == now.v[k];
  }

  std::array<Remembered, static_cast<std::size_t>(SIZE)> ring_{};
  std::int64_t newest_ = 0;  // time of the newest measured state [ns]
};

}  // namespace @{namespace}
