// The controller of ros2_control: a thin layer between its interfaces and the Arm.

#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "@{package}/@{package}_parameters.hpp"
#include "arm.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "mailbox.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/state.hpp"
#include "std_msgs/msg/string.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace @{namespace}
{

class Controller : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;

  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  controller_interface::CallbackReturn on_configure(
    const rclcpp_lifecycle::State & previous_state) override;

  controller_interface::CallbackReturn on_activate(
    const rclcpp_lifecycle::State & previous_state) override;

  controller_interface::CallbackReturn on_deactivate(
    const rclcpp_lifecycle::State & previous_state) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;

  bool on_set_chained_mode(bool chained_mode) override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Point = trajectory_msgs::msg::JointTrajectoryPoint;
  using Trigger = std_srvs::srv::Trigger;

  void make_interfaces();
  void take_point(const Point & point);
  void clear_fault(Trigger::Response & response);
  void report();
  bool read_state();
  void read_reference();
  void forget_reference();
  bool send(const Joints & effort);

  std::shared_ptr<ParamListener> listener_;
  Params parameters_;
  std::unique_ptr<Arm> arm_;

  // used by the update
  Input input_;
  Joints effort_{};
  Reference point_;
  double point_age_ = 0.0;  // [s]
  Mailbox<Reference> points_;
  std::atomic<int> wanted_mode_{0};

  // used by other threads
  std::mutex mutex_;  // guards the arm and the rest against another configuration
  std::string status_;
  rclcpp::Publisher<std_msgs::msg::String>::SharedPtr publisher_;
  rclcpp::Subscription<Point>::SharedPtr subscription_;
  std::vector<rclcpp::Service<Trigger>::SharedPtr> services_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace @{namespace}
