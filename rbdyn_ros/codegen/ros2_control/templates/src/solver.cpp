// The solver of inverse_dynamics_solver for this robot; vectors are in the order of NAMES.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>

#include "@{prefix}_dynamics.h"
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"
#include "pluginlib/class_list_macros.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

class Solver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  // The robot is compiled in, so there is nothing to read.
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string &,
    const std::string &) override
  {
  }

  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & positions) const override
  {
    check(positions);
    Eigen::MatrixXd found(N, N);
    @{prefix}_mass_matrix(positions.data(), found.data());  // symmetric: rows are columns
    return found;
  }

  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & positions, const Eigen::VectorXd & velocities) const override
  {
    check(velocities);
    Eigen::VectorXd found(N);
    const Eigen::VectorXd gravity = getGravityVector(positions);
    @{prefix}_bias(positions.data(), velocities.data(), found.data());
    return found - gravity;
  }

  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & positions) const override
  {
    check(positions);
    Eigen::VectorXd found(N);
    @{prefix}_gravity(positions.data(), found.data());
    return found;
  }

  /// Viscous and dry friction in the robot's description, smooth at standstill.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & velocities) const override
  {
    check(velocities);
    Eigen::VectorXd found(N);
    for (Eigen::Index k = 0; k < N; ++k) {
      const auto i = static_cast<std::size_t>(k);
      found[k] = VISCOUS[i] * velocities[k] + COULOMB[i] * std::tanh(velocities[k] / friction::SMOOTHING);
    }
    return found;
  }

  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & positions, const Eigen::VectorXd & velocities,
    const Eigen::VectorXd & accelerations) const override
  {
    check(positions);
    check(velocities);
    check(accelerations);
    Eigen::VectorXd found(N);
    @{prefix}_inverse(positions.data(), velocities.data(), accelerations.data(), found.data());
    return found;
  }

private:
  static constexpr Eigen::Index N = DOFS;

  static void check(const Eigen::VectorXd & values)
  {
    if (values.size() != N) {
      throw std::invalid_argument(
        "a vector has " + std::to_string(values.size()) + " numbers; the robot has " +
        std::to_string(N) + " degrees of freedom");
    }
  }
};

}  // namespace @{namespace}

PLUGINLIB_EXPORT_CLASS(@{namespace}::Solver, inverse_dynamics_solver::InverseDynamicsSolver)
