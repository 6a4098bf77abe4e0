// SPDX-License-Identifier: Apache-2.0
// The simulator of rbdyn_ros as hardware of ros2_control, through shared memory.
#ifndef RBDYN_HARDWARE__SIMULATED_SYSTEM_HPP_
#define RBDYN_HARDWARE__SIMULATED_SYSTEM_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_component_interface_params.hpp"
#include "hardware_interface/types/hardware_interface_return_values.hpp"
#include "rbdyn_hardware/client.h"
#include "rbdyn_hardware/joints.hpp"
#include "rclcpp_lifecycle/state.hpp"

namespace rbdyn_hardware
{
/// Reads the states of the simulator and sends it the commands of controllers.
///
/// `read` waits for the next state, so a cycle of the controller manager is a tick. In lock-step
/// the simulator waits for `write` in turn. Parameters of <hardware>:
///   shared_memory    name of the memory, the simulator's parameter of the same name
///   connect_timeout  time to wait for the simulator when configured [s], default 10
///   timeout          time to wait for a state in `read` [s], default 0.1
class SimulatedSystem : public hardware_interface::SystemInterface
{
public:
  ~SimulatedSystem() override;

  hardware_interface::CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override;
  hardware_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & before) override;
  hardware_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State & before) override;
  hardware_interface::CallbackReturn on_shutdown(const rclcpp_lifecycle::State & before) override;
  hardware_interface::CallbackReturn on_error(const rclcpp_lifecycle::State & before) override;
  hardware_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & before) override;

  hardware_interface::return_type prepare_command_mode_switch(
    const std::vector<std::string> & started, const std::vector<std::string> & stopped) override;
  hardware_interface::return_type perform_command_mode_switch(
    const std::vector<std::string> & started, const std::vector<std::string> & stopped) override;

  hardware_interface::return_type read(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  hardware_interface::return_type write(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  struct Interface
  {
    std::string name;
    std::int64_t number;  ///< index among the numbers of a record
  };

  std::int64_t nanoseconds(const std::string & parameter, double standard) const;
  void connect();
  void find_interfaces();
  int wait();
  void wait_for_values();

  rbdyn_client client_{};
  bool connected_{false};
  std::string memory_;
  std::int64_t connect_timeout_{0}, timeout_{0};
  std::vector<Joint> joints_;
  std::vector<Interface> states_, values_;
  std::vector<std::array<std::string, 5>> commands_;  ///< names; empty: not in the tag
};

}  // namespace rbdyn_hardware

#endif  // RBDYN_HARDWARE__SIMULATED_SYSTEM_HPP_
