// The control laws, from the generated dynamics of the robot.
//
// The laws are those of arm_controller (rbdyn_ros.dynamics.laws). They write all efforts [N m or N].

#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "@{prefix}_dynamics.h"
#include "gate.hpp"
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

/// g - rate M v: the arm floats, and all motion decays at this rate [1/s].
inline void damped_gravity(const State & state, double rate, Dofs & effort)
{
  const Dofs rest{};
  Dofs a{};
  for (std::size_t k = 0; k < DOFS; ++k) {
    a[k] = -rate * state.v[k];
  }
  inverse_dynamics(state.q, rest, a, effort);
}

/// K e + D de/dt.
inline void pd(const State & state, const Desired & desired, const Gains & gains, Dofs & effort)
{
  for (std::size_t k = 0; k < DOFS; ++k) {
    effort[k] = gains.stiffness[k] * (desired.q[k] - state.q[k]) +
                gains.damping[k] * (desired.v[k] - state.v[k]);
  }
}

/// K e + D de/dt + g (Takegaki, Arimoto 1981).
inline void pd_gravity(
  const State & state, const Desired & desired, const Gains & gains, Dofs & effort)
{
  Dofs spring{};
  pd(state, desired, gains, spring);
  gravity(state.q, effort);
  for (std::size_t k = 0; k < DOFS; ++k) {
    effort[k] += spring[k];
  }
}

/// M a_d + C v + g + K e + D de/dt (Hogan 1985, without inertia shaping).
inline void joint_impedance(
  const State & state, const Desired & desired, const Gains & gains, Dofs & effort)
{
  Dofs spring{};
  pd(state, desired, gains, spring);
  inverse_dynamics(state.q, state.v, desired.a, effort);
  for (std::size_t k = 0; k < DOFS; ++k) {
    effort[k] += spring[k];
  }
}

/// M (a_d + Kd de/dt + Kp e) + C v + g (Luh, Walker, Paul 1980).
inline void computed_torque(
  const State & state, const Desired & desired, const Gains & gains, Dofs & effort)
{
  Dofs a{};
  pd(state, desired, gains, a);
  for (std::size_t k = 0; k < DOFS; ++k) {
    a[k] = desired.a[k] + a[k];
  }
  inverse_dynamics(state.q, state.v, a, effort);
}

/// What lies between the efforts of the rigid body dynamics and the commands of the robot.
struct Actuation
{
  double share = 0.0;        // of the friction in the robot's description that is compensated
  bool own_gravity = false;  // the robot adds its gravity to every command

  /// Turn efforts into commands, in place: with friction at some velocities, without own gravity.
  void command(const Dofs & rubbing, const Dofs & q, Dofs & effort) const
  {
    for (std::size_t k = 0; k < DOFS; ++k) {
      effort[k] += rubs(k, rubbing[k]);
    }
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
    for (std::size_t k = 0; k < DOFS; ++k) {
      effort[k] -= rubs(k, state.v[k]);
    }
    add_own(state.q, 1.0, effort);
    return effort;
  }

private:
  double rubs(std::size_t k, double v) const
  {
    return share * (VISCOUS[k] * v + COULOMB[k] * std::tanh(v / friction::SMOOTHING));
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
