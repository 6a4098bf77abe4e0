// The control laws, from the generated dynamics of the robot.
//
// They write all efforts [N m or N].

#pragma once

#include <cstddef>

#include "dynamics.hpp"
#include "gate.hpp"
#include "kernels.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// Gains of the position and the velocity error.
struct Gains
{
  Dofs stiffness{};
  Dofs damping{};
};

/// The desired motion and the gains as the kernels take them.
using Motion = Table<3, DOFS>;
using GainRows = Table<2, DOFS>;

inline GainRows rows_of(const Gains & gains) { return GainRows(gains.stiffness, gains.damping); }

/// A law of the joints, see dynamics/laws.py in rbdyn_ros.
using Law = void (*)(Data &, Matrix<const double>, Matrix<const double>, Vector<double>);

/// Compute the efforts of a law.
inline void compute(
  Law law, const State & state, const Motion & desired, const GainRows & gains, Dofs & effort)
{
  Data d;
  d.qpos = state.q;
  d.qvel = state.v;
  law(d, desired, gains, effort);
}

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
inline Dofs gravity(const Dofs & q)
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

/// Write the inertia at each motor with all other joints free: 1 / (M^-1)_kk.
inline void reflected_inertia(const Dofs & q, Dofs & inertia)
{
  Data d;
  d.qpos = q;
  gravity_term(d, d.qfrc_applied);
  for (std::size_t k = 0; k < DOFS; ++k) {
    const double held = d.qfrc_applied[k];
    d.qfrc_applied[k] += 1.0;
    forward_dynamics(d);
    inertia[k] = 1.0 / d.qacc[k];
    d.qfrc_applied[k] = held;
  }
}

}  // namespace @{namespace}
