// SPDX-License-Identifier: Apache-2.0
#include "rbdyn_hardware/simulated_system.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

namespace rbdyn_hardware
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

namespace
{
constexpr std::int64_t LOCKSTEP = 1;
constexpr double SECOND = 1e9;
constexpr const char * MODES_OF_TIME[] = {"real time", "lock-step", "as fast as possible"};
}  // namespace

SimulatedSystem::~SimulatedSystem()
{
  if (connected_) rbdyn_close(&client_);
}

std::int64_t SimulatedSystem::nanoseconds(const std::string & parameter, double standard) const
{
  const auto found = info_.hardware_parameters.find(parameter);
  if (found == info_.hardware_parameters.end())
  {
    return static_cast<std::int64_t>(standard * SECOND);
  }
  std::size_t end = 0;
  double seconds = std::numeric_limits<double>::quiet_NaN();
  try
  {
    seconds = std::stod(found->second, &end);
  }
  catch (const std::exception &)
  {
  }
  if (end != found->second.size() || !(seconds >= 0.0 && seconds <= 1e6))
  {
    throw std::invalid_argument(
      "parameter '" + parameter + "' is '" + found->second + "'; allowed are 0 to 1e6 s");
  }
  return static_cast<std::int64_t>(seconds * SECOND);
}

CallbackReturn SimulatedSystem::on_init(
  const hardware_interface::HardwareComponentInterfaceParams & params)
{
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
  try
  {
    const auto found = info_.hardware_parameters.find("shared_memory");
    if (found == info_.hardware_parameters.end() || found->second.empty())
    {
      throw std::invalid_argument(
        "<hardware> has no <param name=\"shared_memory\">; it must be the simulator's parameter "
        "shared_memory");
    }
    memory_ = found->second;
    connect_timeout_ = nanoseconds("connect_timeout", 10.0);
    timeout_ = nanoseconds("timeout", 0.1);
    joints_ = joints_of(info_);
  }
  catch (const std::invalid_argument & error)
  {
    RCLCPP_ERROR(get_logger(), "%s.", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

void SimulatedSystem::connect()
{
  char why[400] = "";
  const std::int64_t end = rbdyn_now() + connect_timeout_;
  while (rbdyn_open(&client_, memory_.c_str(), why, sizeof why) != 0)
  {
    if (rbdyn_now() >= end) throw std::invalid_argument(why);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  connected_ = true;
  find_joints(joints_, client_);
  find_interfaces();
}

/// Find the memory of all interfaces, so that `read` and `write` need no look-up.
void SimulatedSystem::find_interfaces()
{
  states_.clear();
  values_.clear();
  commands_.clear();
  for (const auto & joint : joints_)
  {
    for (std::size_t k = 0; k < STATES.size(); ++k)
    {
      const auto row = static_cast<std::int64_t>(k) * client_.joints;
      if (joint.states[k]) states_.push_back({joint.name + "/" + STATES[k], row + joint.number});
    }
    auto & names = commands_.emplace_back();
    for (std::size_t k = 0; k < COMMANDS.size(); ++k)
    {
      if (joint.offered[k]) names[k] = joint.name + "/" + COMMANDS[k];
    }
  }
  for (const auto & sensor : info_.sensors)
  {
    for (const auto & one : sensor.state_interfaces)
    {
      const std::string name = sensor.name + "/" + one.name;
      const std::int64_t number = rbdyn_sensor_value(&client_, name.c_str());
      if (number < 0)
      {
        throw std::invalid_argument(
          "the simulator has no sensor value '" + name +
          "'; it offers values of IMUs and force/torque sensors in its parameter sensors, such as "
          "imu/orientation.x or wrist/force.z");
      }
      values_.push_back({name, number});
    }
  }
}

CallbackReturn SimulatedSystem::on_configure(const rclcpp_lifecycle::State &)
{
  try
  {
    connect();
  }
  catch (const std::invalid_argument & error)
  {
    if (connected_) rbdyn_close(&client_);
    connected_ = false;
    RCLCPP_ERROR(get_logger(), "%s.", error.what());
    return CallbackReturn::ERROR;
  }
  for (auto & joint : joints_) joint.claimed.fill(false);
  const auto mode = client_.memory[RBDYN_HEAD_TIME_MODE];
  RCLCPP_INFO(
    get_logger(), "connected to the simulator, process %lld, by shared memory '%s': %s, %g ms a tick",
    static_cast<long long>(client_.memory[RBDYN_HEAD_SERVER]), memory_.c_str(),
    mode >= 0 && mode <= 2 ? MODES_OF_TIME[mode] : "?",
    static_cast<double>(client_.memory[RBDYN_HEAD_PERIOD]) / 1e6);
  return CallbackReturn::SUCCESS;
}

CallbackReturn SimulatedSystem::on_cleanup(const rclcpp_lifecycle::State &)
{
  if (connected_) rbdyn_close(&client_);
  connected_ = false;
  return CallbackReturn::SUCCESS;
}

CallbackReturn SimulatedSystem::on_shutdown(const rclcpp_lifecycle::State & before)
{
  return on_cleanup(before);
}

CallbackReturn SimulatedSystem::on_error(const rclcpp_lifecycle::State & before)
{
  return on_cleanup(before);
}

/// Stop commanding; the last commands expire after the simulator's command_timeout.
CallbackReturn SimulatedSystem::on_deactivate(const rclcpp_lifecycle::State &)
{
  for (const auto & joint : joints_) client_.mode[joint.number] = RBDYN_MODE_NONE;
  rbdyn_send(&client_);
  return CallbackReturn::SUCCESS;
}

return_type SimulatedSystem::prepare_command_mode_switch(
  const std::vector<std::string> & started, const std::vector<std::string> & stopped)
{
  try
  {
    switched(joints_, started, stopped);
  }
  catch (const std::invalid_argument & error)
  {
    RCLCPP_ERROR(get_logger(), "%s.", error.what());
    return return_type::ERROR;
  }
  return return_type::OK;
}

return_type SimulatedSystem::perform_command_mode_switch(
  const std::vector<std::string> & started, const std::vector<std::string> & stopped)
{
  joints_ = switched(joints_, started, stopped);  // already checked when prepared
  return return_type::OK;
}

/// Wait for a state, but not while the simulation is paused.
int SimulatedSystem::wait()
{
  const bool paused = client_.seen > 0 && client_.state[RBDYN_STATE_PAUSED] == 1;
  return rbdyn_wait(&client_, paused ? 0 : timeout_);
}

/// Copy the newest sensor values; in lock-step wait for the values of this state.
void SimulatedSystem::wait_for_values()
{
  const bool locked = client_.memory[RBDYN_HEAD_TIME_MODE] == LOCKSTEP;
  const std::int64_t end = rbdyn_now() + timeout_;
  do
  {
    rbdyn_wait_values(&client_, locked ? end - rbdyn_now() : 0);
  } while (locked && client_.value[0] < client_.state[RBDYN_STATE_TICK] && rbdyn_now() < end);
}

return_type SimulatedSystem::read(const rclcpp::Time &, const rclcpp::Duration &)
{
  const int found = wait();
  if (found == RBDYN_ENDED)
  {
    RCLCPP_ERROR(
      get_logger(), "the simulator that served shared memory '%s' has ended.", memory_.c_str());
    return return_type::ERROR;
  }
  if (found == RBDYN_TIMEOUT) return return_type::OK;  // paused, or slower than real time
  const double * numbers = rbdyn_position(&client_);
  for (const auto & one : states_) set_state(one.name, numbers[one.number]);
  if (!values_.empty())
  {
    wait_for_values();
    const double * values = rbdyn_values(&client_);
    for (const auto & one : values_) set_state(one.name, values[one.number]);
  }
  return return_type::OK;
}

return_type SimulatedSystem::write(const rclcpp::Time &, const rclcpp::Duration &)
{
  for (std::size_t j = 0; j < joints_.size(); ++j)
  {
    std::array<double, 5> numbers;
    for (std::size_t k = 0; k < numbers.size(); ++k)
    {
      const std::string & name = commands_[j][k];
      numbers[k] = name.empty() ? std::numeric_limits<double>::quiet_NaN() : get_command<double>(name);
    }
    fill_command(joints_[j], numbers, client_);
  }
  rbdyn_send(&client_);
  return return_type::OK;
}

}  // namespace rbdyn_hardware

PLUGINLIB_EXPORT_CLASS(rbdyn_hardware::SimulatedSystem, hardware_interface::SystemInterface)
