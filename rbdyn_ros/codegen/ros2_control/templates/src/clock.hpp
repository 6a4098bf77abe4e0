// The clock of the updates, judged by the steady clock of this computer.
//
// As rbdyn_ros.control.states.clock, with the time of an update for the stamp of a state: the interfaces of
// a state have no stamps, so their delay is not seen here.

#pragma once

#include <algorithm>
#include <cstdint>

#include "gate.hpp"
#include "tables.hpp"

namespace @{namespace}
{

constexpr double NANOSECONDS = 1e9;

/// Seconds between two times [ns].
inline double seconds(std::int64_t from, std::int64_t to)
{
  return static_cast<double>(to - from) / NANOSECONDS;
}

/// A time [s] in nanoseconds.
inline std::int64_t nanoseconds(double time)
{
  return static_cast<std::int64_t>(time * NANOSECONDS);
}

class UpdateClock
{
public:
  /// Delay of the newest update relative to the fastest one [s].
  double lag() const { return lag_; }

  /// Whether the newest update came with more than the largest delay.
  bool late() const { return late_; }

  /// Take the next update as one without delay.
  void forget() { begun_ = false; }

  /// Judge an update; Fault::none, clock or latency, with the numbers that show it.
  ///
  /// stamp: time of the update; arrival: on the steady clock [ns].
  Verdict judge(std::int64_t stamp, std::int64_t arrival, const GateSettings & settings)
  {
    const double step = seconds(stamp_, stamp), waited = seconds(arrival_, arrival);
    stamp_ = stamp;
    arrival_ = arrival;
    if (!begun_) {
      begun_ = true;
      restart(stamp, arrival);
      return {};
    }
    const double passed = settings.simulated ? step : waited;
    if (!(step >= 0.0 && step - passed <= settings.state_timeout)) {
      restart(stamp, arrival);
      return {Fault::clock, false, false, 0, step, waited + settings.state_timeout};
    }
    if (settings.simulated) {
      return {};
    }
    compare(static_cast<double>(arrival - stamp), waited);
    if (!(ahead_ <= settings.state_timeout)) {
      const Verdict found{Fault::clock, false, false, 0, ahead_, settings.state_timeout};
      ahead_ = 0.0;
      return found;
    }
    if (lag_ <= std::min(settings.latency_limit, settings.state_timeout)) {
      timely_ = arrival;
      late_ = false;
      return {};
    }
    return lags(arrival, settings);
  }

private:
  /// Take an update as one without delay.
  void restart(std::int64_t stamp, std::int64_t arrival)
  {
    base_ = static_cast<double>(arrival - stamp);
    timely_ = arrival;
    ahead_ = lag_ = 0.0;
    late_ = false;
  }

  /// Update base and lag, and how far stamps ran ahead beyond the allowed rate.
  void compare(double offset, double waited)
  {
    base_ += clock::SLEW * waited * NANOSECONDS;
    if (offset < base_) {
      ahead_ += (base_ - offset) / NANOSECONDS;
      base_ = offset;
    }
    lag_ = (offset - base_) / NANOSECONDS;
    ahead_ = std::max(0.0, ahead_ - (clock::FASTER - 1.0) * waited);
  }

  Verdict lags(std::int64_t arrival, const GateSettings & settings)
  {
    if (!late_) {
      late_ = true;
      late_since_ = arrival;
    }
    const bool lasts = seconds(timely_, arrival) > settings.state_timeout &&
                       seconds(late_since_, arrival) > clock::LASTING;
    if (!lasts && lag_ <= settings.state_timeout) {
      return {};
    }
    return {Fault::latency, true, false, 0, lag_, settings.latency_limit};
  }

  bool begun_ = false, late_ = false;
  std::int64_t stamp_ = 0, arrival_ = 0, timely_ = 0, late_since_ = 0;  // [ns]
  double base_ = 0.0;                                                   // [ns]
  double ahead_ = 0.0, lag_ = 0.0;                                      // [s]
};

}  // namespace @{namespace}
