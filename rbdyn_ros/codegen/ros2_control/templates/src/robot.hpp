// The robot: its joints and their limits, in the order of the generated dynamics.

#pragma once

#include <array>
#include <cstddef>

#include "views.hpp"

namespace @{namespace}
{

/// Degrees of freedom of the robot, and those that the controller commands.
constexpr std::size_t DOFS = @{dofs};
constexpr Index NV = DOFS;
constexpr std::size_t CONTROLLED = @{controlled};

using Dofs = std::array<double, DOFS>;
using Joints = std::array<double, CONTROLLED>;
using Rows = Table<6, CONTROLLED>;   // of limits
using Motion = Table<3, DOFS>;       // positions, velocities, accelerations
using GainRows = Table<2, DOFS>;     // stiffness and damping

/// Names of the joints of all degrees of freedom.
constexpr std::array<const char *, DOFS> NAMES{@{joint_names}};

/// The degree of freedom of each controlled joint, and the other degrees of freedom.
constexpr std::array<Index, CONTROLLED> PLACE{@{places}};
constexpr std::array<Index, CONTROLLED> SLIDES{@{slides}};  // 1: it slides
constexpr std::array<Index, DOFS - CONTROLLED> OTHERS{@{other_places}};
constexpr std::array<Index, DOFS> EVERY{@{every_place}};

/// Limits of the controlled joints: positions [rad or m], velocities [per s], efforts [N m or N],
/// power [W], gain of speed [rad/s^2 or m/s^2].
constexpr Joints LOWER{@{lower}};
constexpr Joints UPPER{@{upper}};
constexpr Joints VELOCITY{@{velocity}};
constexpr Joints EFFORT{@{effort}};
constexpr Joints POWER{@{power}};
constexpr Joints GAIN{@{gain}};

/// Limits that measurements of the other degrees of freedom are clipped to.
constexpr Dofs BOUNDS_LOWER{@{bounds_lower}};
constexpr Dofs BOUNDS_UPPER{@{bounds_upper}};
constexpr Dofs BOUNDS_VELOCITY{@{bounds_velocity}};

/// Friction in the robot's description: viscous [N m s/rad or N s/m] and dry [N m or N].
constexpr Dofs VISCOUS{@{viscous}};
constexpr Dofs COULOMB{@{coulomb}};

}  // namespace @{namespace}
