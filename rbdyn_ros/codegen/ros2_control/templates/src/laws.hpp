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

/// Desired positions, velocities and accelerations of all degrees of freedom.
struct Desired
{
  Dofs q{};
  Dofs v{};
  Dofs a{};
};

/// Gains of the position and the velocity error.
struct Gains
{
  Dofs stiffness{};
  Dofs damping{};
};

/// The desired motion and the gains as the kernels take them.
using Motion = Table<3, DOFS>;
using GainRows = Table<2, DOFS>;

inline Motion rows_of(const Desired & desired) { return Motion(desired.q, desired.v, desired.a); }
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

/// g(q): the efforts that hold the robot.
inline void gravity(const Dofs & q, Dofs & effort)
{
  @{prefix}_gravity(q.data(), effort.data());
}

/// M(q) a + C(q, v) v + g(q).
inline void inverse_dynamics(const Dofs & q, const Dofs & v, const Dofs & a, Dofs & effort)
{
  @{prefix}_inverse(q.data(), v.data(), a.data(), effort.data());
}

/// The accelerations that efforts cause.
inline void forward_dynamics(const State & state, const Dofs & effort, Dofs & acceleration)
{
  @{prefix}_forward(state.q.data(), state.v.data(), effort.data(), acceleration.data());
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

/// What lies between the efforts of the rigid body dynamics and the commands of the robot.
struct Actuation
{
  double share = 0.0;        // of the friction in the robot's description that is compensated
  bool own_gravity = false;  // the robot adds its gravity to every command

  /// Turn efforts into commands, in place: with friction at some velocities, without own gravity.
  void command(Vector<const double> rubbing, const Dofs & q, Dofs & effort) const
  {
    add_friction(rubbing, 1.0, effort);
    add_own(q, -1.0, effort);
  }

  /// Write the commands that hold the arm.
  void hold(const Dofs & q, Dofs & holding) const
  {
    gravity(q, holding);
    add_own(q, -1.0, holding);
  }

  /// Return the efforts under a command, the inverse of `command`.
  Dofs applied(const Dofs & command, const State & state) const
  {
    Dofs effort = command;
    add_friction(state.v, -1.0, effort);
    add_own(state.q, 1.0, effort);
    return effort;
  }

private:
  void add_friction(Vector<const double> v, double sign, Dofs & effort) const
  {
    if (share > 0.0) {
      static constexpr Dofs STRIBECK{}, SPEED = every(friction::STRIBECK_VELOCITY);
      static constexpr Dofs SMOOTHING = every(friction::SMOOTHING);
      Dofs rubbing;
      friction::write_effort(v, VISCOUS, COULOMB, STRIBECK, SPEED, SMOOTHING, rubbing);
      for (std::size_t k = 0; k < DOFS; ++k) {
        effort[k] += sign * share * rubbing[k];
      }
    }
  }

  void add_own(const Dofs & q, double sign, Dofs & effort) const
  {
    if (own_gravity) {
      Dofs g{};
      gravity(q, g);
      for (std::size_t k = 0; k < DOFS; ++k) {
        effort[k] += sign * g[k];
      }
    }
  }
};

/// Write the inertia at each motor with all other joints free: 1 / (M^-1)_kk.
inline void reflected_inertia(const Dofs & q, Dofs & inertia)
{
  State rest;
  rest.q = q;
  Dofs effort{}, a{};
  gravity(q, effort);
  for (std::size_t k = 0; k < DOFS; ++k) {
    const double held = effort[k];
    effort[k] += 1.0;
    forward_dynamics(rest, effort, a);
    inertia[k] = 1.0 / a[k];
    effort[k] = held;
  }
}

}  // namespace @{namespace}
