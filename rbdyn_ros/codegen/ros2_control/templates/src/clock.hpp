// The clock of the updates, judged by the steady clock of this computer.
//
// The time of an update stands for the stamp of a state: the interfaces of a state have no stamps,
// so their delay is not seen here.

#pragma once

#include <array>
#include <cstdint>

#include "gate.hpp"
#include "kernels.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// Seconds between two times [ns].
inline double seconds(std::int64_t from, std::int64_t to) { return clock::seconds(from, to); }

/// A time [s] in nanoseconds.
inline std::int64_t nanoseconds(double time)
{
  return static_cast<std::int64_t>(time * static_cast<double>(clock::NANOSECONDS));
}

class UpdateClock
{
public:
  /// Delay of the newest update relative to the fastest one [s].
  double lag() const { return numbers_[clock::LAG]; }

  /// Whether the newest update came with more than the largest delay.
  bool late() const { return times_[clock::LATE_SINCE] > 0; }

  /// Take the next update as one without delay.
  void forget() { times_[clock::BEGUN] = 0; }

  /// Judge an update; Fault::none, clock or latency, with the numbers that show it.
  ///
  /// stamp: time of the update; arrival: on the steady clock, or in simulated time [ns].
  Verdict judge(std::int64_t stamp, std::int64_t arrival, const GateSettings & settings)
  {
    const Index found = clock::judge(
      stamp, arrival, settings.latency_limit, settings.state_timeout, false, times_, numbers_);
    if (found == clock::RIGHT) {
      return {};
    }
    const Fault fault = found == clock::LATE ? Fault::latency : Fault::clock;
    return {
      fault, found == clock::LATE, false, 0, numbers_[clock::VALUE], numbers_[clock::ALLOWED]};
  }

private:
  std::array<Index, clock::TIMES> times_{};
  std::array<double, clock::NUMBERS> numbers_{};
};

}  // namespace @{namespace}
