// Settings of the arm from the parameters of the controller.

#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "@{package}/@{package}_parameters.hpp"
#include "arm.hpp"

namespace @{namespace}
{

/// Fill an array with one number, or with one for each joint.
template <typename Array>
void fill(const std::string & name, const std::vector<double> & given, Array & to)
{
  if (given.size() != 1 && given.size() != to.size()) {
    throw std::invalid_argument(
      name + " has " + std::to_string(given.size()) + " numbers; it needs 1 or " +
      std::to_string(to.size()));
  }
  for (std::size_t k = 0; k < to.size(); ++k) {
    to[k] = given[given.size() == 1 ? 0 : k];
  }
}

/// Limits that are tighter than those of the robot.
inline Limits tightened(const Params & given)
{
  Limits limits;
  limits.acceleration = given.acceleration_limit;
  limits.contact = given.contact_effort;
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    limits.effort[i] *= given.effort_scale;
    limits.velocity[i] *= given.velocity_scale;
    limits.lower[i] += given.position_inset;
    limits.upper[i] -= given.position_inset;
    const double most = limits.effort[i] * limits.velocity[i];
    limits.power[i] = given.power_limit > 0.0 ? std::min(most, given.power_limit) : most;
    if (!(limits.lower[i] < limits.upper[i])) {
      throw std::invalid_argument(
        "position_inset leaves joint '" + std::string(NAMES[PLACE[i]]) + "' no range");
    }
  }
  return limits;
}

/// Throw std::invalid_argument if numbers do not fit the robot.
inline ArmSettings settings_of(const Params & given, unsigned update_rate)
{
  ArmSettings settings;
  settings.limits = tightened(given);
  settings.gate = {
    given.state_timeout, given.effort_rate, given.blend_time, given.latency_limit, false};
  settings.gravity_damping = given.gravity_damping;
  fill("computed_torque.stiffness", given.computed_torque.stiffness, settings.tracking.stiffness);
  fill("computed_torque.damping", given.computed_torque.damping, settings.tracking.damping);
  fill("impedance.stiffness", given.impedance.stiffness, settings.soft.stiffness);
  fill("impedance.damping", given.impedance.damping, settings.soft.damping);
  fill("arm_tolerance", given.arm_tolerance, settings.arm_tolerance);
  settings.blind_time = given.blind_time;
  settings.velocity_scale = given.velocity_scale;
  settings.friction = given.friction_compensation;
  settings.own_gravity = given.robot_compensates_gravity;
  settings.tracking_tolerance = given.tracking_tolerance;
  settings.start_tolerance = given.start_tolerance;
  settings.target_timeout = given.target_timeout;
  settings.arm_without_effort = given.arm_without_effort;
  settings.effort_includes_gravity = given.effort_includes_gravity;
  settings.start_up_test = given.start_up_test;
  settings.start_up_tolerance = given.start_up_tolerance;
  settings.period = 1.0 / static_cast<double>(update_rate);
  return settings;
}

}  // namespace @{namespace}
