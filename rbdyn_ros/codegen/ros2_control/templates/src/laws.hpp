// The control laws, from the generated dynamics of the robot.
//
// They write all efforts [N m or N].

#pragma once

#include <algorithm>
#include <cstddef>

#include "dynamics.hpp"
#include "kernels.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// Positions and velocities of all degrees of freedom [rad or m; per s].
struct State
{
  Dofs q{};
  Dofs v{};
};

/// Limits of the controlled joints, the desired motion, and gains of its position and velocity.
using Rows = Table<6, CONTROLLED>;
using Motion = Table<3, DOFS>;
using GainRows = Table<2, DOFS>;

/// The same number for all degrees of freedom.
constexpr Dofs every(double value)
{
  Dofs found{};
  for (double & each : found) {
    each = value;
  }
  return found;
}

/// g(q): the efforts that hold the robot.
inline Dofs gravity(const Vector<const double> & q)
{
  Dofs effort{};
  @{prefix}_gravity(q.data(), effort.data());
  return effort;
}

/// What lies between the efforts of the rigid body dynamics and the commands of the robot.
///
/// share: of the friction in the robot's description that is compensated.
inline Actuation actuation_of(double share, bool own_gravity)
{
  Actuation found;
  found.rubs = share > 0.0 ? 1 : 0;
  found.own_gravity = own_gravity ? 1 : 0;
  for (std::size_t k = 0; k < DOFS; ++k) {
    found.viscous[k] = share * VISCOUS[k];
    found.coulomb[k] = share * COULOMB[k];
  }
  found.stribeck_velocity.fill(friction::STRIBECK_VELOCITY);
  found.smoothing.fill(friction::SMOOTHING);
  return found;
}

/// The inertia at each motor with all other joints free: 1 / (M^-1)_kk.
inline Dofs reflected_inertia(const Vector<const double> & q)
{
  Data d;
  Dofs inertia{};
  std::copy_n(q.begin(), DOFS, d.qpos.begin());
  gravity_term(d, d.qfrc_applied);
  for (std::size_t k = 0; k < DOFS; ++k) {
    const double held = d.qfrc_applied[k];
    d.qfrc_applied[k] += 1.0;
    forward_dynamics(d);
    inertia[k] = 1.0 / d.qacc[k];
    d.qfrc_applied[k] = held;
  }
  return inertia;
}

}  // namespace @{namespace}
