// States, targets, and the efforts of arm_controller's laws in them.

#pragma once

#include <array>

#include "laws.hpp"

namespace @{namespace}
{

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
