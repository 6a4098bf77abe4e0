// The generated dynamics as the kernels call them.

#pragma once

#include "@{prefix}_dynamics.h"
#include "robot.hpp"
#include "views.hpp"

namespace @{namespace}
{

/// A state of the robot, with its accelerations and efforts.
struct Data
{
  Dofs qpos{};
  Dofs qvel{};
  Dofs qacc{};
  Dofs qfrc_applied{};
  Dofs qfrc_inverse{};
};

/// g(q): the efforts that hold the robot.
inline void gravity_term(const Data & d, Vector<double> effort)
{
  @{prefix}_gravity(d.qpos.data(), effort.data());
}

/// C(q, v) v: the Coriolis and centrifugal efforts.
inline void coriolis_term(const Data & d, Vector<double> effort)
{
  Dofs gravity{};
  gravity_term(d, gravity);
  @{prefix}_bias(d.qpos.data(), d.qvel.data(), effort.data());
  for (std::size_t k = 0; k < DOFS; ++k) {
    effort[static_cast<Index>(k)] -= gravity[k];
  }
}

/// The accelerations that efforts cause.
inline void forward_dynamics(Data & d)
{
  @{prefix}_forward(d.qpos.data(), d.qvel.data(), d.qfrc_applied.data(), d.qacc.data());
}

/// The inertia at each motor with all other joints free: 1 / (M^-1)_kk.
inline void reflected_inertia(const Data & state, Vector<double> inertia)
{
  Data d;
  d.qpos = state.qpos;
  gravity_term(d, d.qfrc_applied);
  for (std::size_t k = 0; k < DOFS; ++k) {
    const double held = d.qfrc_applied[k];
    d.qfrc_applied[k] += 1.0;
    forward_dynamics(d);
    inertia[static_cast<Index>(k)] = 1.0 / d.qacc[k];
    d.qfrc_applied[k] = held;
  }
}

/// M(q): the inertia matrix.
inline void mass_matrix(const Data & d, Matrix<double> mass)
{
  @{prefix}_mass_matrix(d.qpos.data(), mass.data());
}

/// M(q) a + C(q, v) v + g(q): the efforts that cause accelerations.
inline void inverse(Data & d)
{
  @{prefix}_inverse(d.qpos.data(), d.qvel.data(), d.qacc.data(), d.qfrc_inverse.data());
}

/// The velocity that leads from one position to another in a time [s].
inline void differentiate_pos(
  Vector<double> velocity, double time, Vector<const double> from, Vector<const double> to)
{
  for (Index k = 0; k < velocity.size(); ++k) {
    velocity[k] = (to[k] - from[k]) / time;
  }
}

}  // namespace @{namespace}
