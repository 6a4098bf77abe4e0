// The robot: its joints and their limits, in the order of the generated dynamics.

#pragma once

#include <array>
#include <cstddef>

#include "views.hpp"

namespace @{namespace}
{

/// Degrees of freedom of the robot, and the degrees of freedom that are commanded.
constexpr std::size_t DOFS = @{dofs};
constexpr Index NV = DOFS;
constexpr std::size_t CONTROLLED = @{controlled};

using Dofs = std::array<double, DOFS>;
using Joints = std::array<double, CONTROLLED>;
using Rows = Table<6, CONTROLLED>;   // of limits
using Motion = Table<3, DOFS>;       // positions, velocities, accelerations
using GainRows = Table<2, DOFS>;     // stiffness and damping

/// The same number for all degrees of freedom.
inline Dofs every(double value)
{
  Dofs found{};
  found.fill(value);
  return found;
}

/// Names of the joints of all degrees of freedom.
constexpr std::array<const char *, DOFS> NAMES{@{joint_names}};

@{robot_rows}

}  // namespace @{namespace}
