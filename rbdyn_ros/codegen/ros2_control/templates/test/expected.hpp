// States, targets, and the efforts of arm_controller's laws in them.

#pragma once

#include <array>

#include "arm.hpp"

namespace @{namespace}
{

/// Desired positions, velocities and accelerations of all degrees of freedom.
struct Desired
{
  Dofs q{};
  Dofs v{};
  Dofs a{};
};

inline Motion rows_of(const Desired & desired) { return Motion(desired.q, desired.v, desired.a); }

struct Expected
{
  State state;
  Desired desired;
  Dofs gravity, pd_gravity, computed_torque, impedance;  // [N m or N]
  double weight;  // of the robot [N]
};

inline const std::array EXPECTED{
@{expected}
};

}  // namespace @{namespace}
