// Settings of the arm from the parameters of the controller.

#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "@{package}/@{package}_parameters.hpp"
#include "arm.hpp"
#include "status.hpp"

namespace @{namespace}
{

/// Fill numbers with one number, or with one for each joint.
inline void fill(
  const std::string & name, const std::vector<double> & given, const Vector<double> & to)
{
  const auto size = static_cast<std::size_t>(to.size());
  if (given.size() != 1 && given.size() != size) {
    throw std::invalid_argument(
      name + " has " + std::to_string(given.size()) + " numbers; it needs 1 or " +
      std::to_string(size));
  }
  for (std::size_t k = 0; k < size; ++k) {
    to.data()[k] = given[given.size() == 1 ? 0 : k];
  }
}

/// Tighten the limits of the robot.
inline void tighten(const Params & given, Rows & rows)
{
  for (Index i = 0; i < Rows::columns(); ++i) {
    double & lower = rows(limits::LOWER, i);
    double & upper = rows(limits::UPPER, i);
    rows(limits::EFFORT, i) *= given.effort_scale;
    rows(limits::VELOCITY, i) *= given.velocity_scale;
    lower += given.position_inset;
    upper -= given.position_inset;
    const double most = rows(limits::EFFORT, i) * rows(limits::VELOCITY, i);
    rows(limits::POWER, i) = given.power_limit > 0.0 ? std::min(most, given.power_limit) : most;
    if (!(lower < upper)) {
      throw std::invalid_argument(
        "position_inset leaves joint '" + std::string(name_of(static_cast<std::size_t>(i))) +
        "' no range");
    }
  }
}

/// Throw std::invalid_argument if numbers do not fit the robot.
inline ArmSettings settings_of(const Params & given, unsigned update_rate)
{
  ArmSettings settings;
  LoopState & loop = settings.loop;
  tighten(given, loop.limits);
  loop.acceleration = given.acceleration_limit;
  loop.contact = given.contact_effort;
  loop.state_timeout = given.state_timeout;
  loop.effort_rate = given.effort_rate;
  loop.blend_time = given.blend_time;
  loop.latency = given.latency_limit;
  loop.measures = given.arm_without_effort ? 0 : 1;
  loop.period = 1.0 / static_cast<double>(update_rate);
  GainRows & stiff = settings.blind.gains;
  fill("computed_torque.stiffness", given.computed_torque.stiffness, stiff.row(0));
  fill("computed_torque.damping", given.computed_torque.damping, stiff.row(1));
  fill("impedance.stiffness", given.impedance.stiffness, settings.arm.springs.row(0));
  fill("impedance.damping", given.impedance.damping, settings.arm.springs.row(1));
  fill("arm_tolerance", given.arm_tolerance, settings.arm.arm_tolerance);
  settings.blind.blind_time = given.blind_time;
  settings.blind.velocity_scale = given.velocity_scale;
  settings.trial.tolerance = given.start_up_tolerance;
  settings.actuation = actuation_of(given.friction_compensation, given.robot_compensates_gravity);
  settings.arm.floating.fill(1, given.gravity_damping);
  settings.arm.tracking_tolerance = given.tracking_tolerance;
  settings.arm.start_tolerance = given.start_tolerance;
  settings.arm.target_timeout = given.target_timeout;
  settings.arm.includes_gravity = given.effort_includes_gravity ? 1 : 0;
  settings.arm.tests = given.start_up_test ? 1 : 0;
  return settings;
}

}  // namespace @{namespace}
