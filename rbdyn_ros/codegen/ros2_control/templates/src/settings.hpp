// Settings of the arm from the parameters of the controller.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "@{package}/@{package}_parameters.hpp"
#include "arm.hpp"
#include "status.hpp"

namespace @{namespace}
{

/// Fill numbers with one number for all joints, or with a number for each joint.
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

/// Throw std::invalid_argument if numbers do not fit the robot.
inline ArmSettings settings_of(const Params & given, unsigned update_rate)
{
  ArmSettings settings;
  ArmLoopState & loop = settings.loop;
  const Index narrow = arm_kernels::tighten(
    loop, given.effort_scale, given.velocity_scale, given.position_inset, given.power_limit);
  if (narrow >= 0) {
    const std::string joint = name_of(static_cast<std::size_t>(narrow));
    throw std::invalid_argument("position_inset leaves joint '" + joint + "' no range");
  }
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
  settings.actuation.own_gravity = given.robot_compensates_gravity ? 1 : 0;
  arm_kernels::compensate(settings.actuation, given.friction_compensation);
  settings.arm.floating.fill(1, given.gravity_damping);
  settings.arm.tracking_tolerance = given.tracking_tolerance;
  settings.arm.start_tolerance = given.start_tolerance;
  settings.arm.target_timeout = given.target_timeout;
  settings.arm.includes_gravity = given.effort_includes_gravity ? 1 : 0;
  settings.arm.tests = given.start_up_test ? 1 : 0;
  return settings;
}

}  // namespace @{namespace}
