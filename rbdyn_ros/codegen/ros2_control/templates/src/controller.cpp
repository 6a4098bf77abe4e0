#include "controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>

#include "pluginlib/class_list_macros.hpp"
#include "settings.hpp"
#include "status.hpp"

namespace @{namespace}
{

namespace
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

constexpr std::array<const char *, 3> KINDS{"position", "velocity", "acceleration"};

template <typename T>
double number_of(const T & interface)
{
  return interface.get_optional().value_or(NOTHING);
}

Mode mode_of(const std::string & name)
{
  const auto * found = std::find(MODES.begin(), MODES.end(), name);
  return static_cast<Mode>(found - MODES.begin());
}

}  // namespace

CallbackReturn Controller::on_init()
{
  try {
    listener_ = std::make_shared<ParamListener>(get_node());
    parameters_ = listener_->get_params();
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "the parameters are refused: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration Controller::command_interface_configuration() const
{
  InterfaceConfiguration found{interface_configuration_type::INDIVIDUAL, {}};
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    found.names.push_back(std::string(name_of(i)) + "/effort");
  }
  return found;
}

// Positions of all degrees of freedom, then velocities, then efforts of the controlled joints.
InterfaceConfiguration Controller::state_interface_configuration() const
{
  InterfaceConfiguration found{interface_configuration_type::INDIVIDUAL, {}};
  for (const char * kind : {"/position", "/velocity"}) {
    for (const char * name : NAMES) {
      found.names.push_back(std::string(name) + kind);
    }
  }
  for (std::size_t i = 0; i < CONTROLLED && !parameters_.arm_without_effort; ++i) {
    found.names.push_back(std::string(name_of(i)) + "/effort");
  }
  return found;
}

CallbackReturn Controller::on_configure(const rclcpp_lifecycle::State &)
{
  try {
    parameters_ = listener_->get_params();
    ArmSettings settings = settings_of(parameters_, std::max(get_update_rate(), 1U));
    (void)get_node()->get_parameter("use_sim_time", settings.simulated);
    const std::lock_guard<std::mutex> lock(mutex_);  // timer and services of a former call still run
    arm_ = std::make_unique<Arm>(settings);
    make_interfaces();
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  wanted_mode_ = static_cast<int>(mode_of(parameters_.mode));
  return CallbackReturn::SUCCESS;
}

void Controller::make_interfaces()
{
  auto node = get_node();
  services_.clear();
  for (std::size_t k = 0; k < MODES.size(); ++k) {
    const auto change = [this, k](Trigger::Request::ConstSharedPtr, Trigger::Response::SharedPtr out) {
      wanted_mode_ = static_cast<int>(k);
      out->success = true;
      out->message = std::string("the mode will be ") + MODES[k] + "; see status";
    };
    services_.push_back(node->create_service<Trigger>(std::string("~/") + MODES[k], change));
  }
  const auto clear = [this](Trigger::Request::ConstSharedPtr, Trigger::Response::SharedPtr out) {
    clear_fault(*out);
  };
  services_.push_back(node->create_service<Trigger>("~/clear_fault", clear));
  publisher_ = node->create_publisher<std_msgs::msg::String>(
    "~/status", rclcpp::QoS(1).transient_local());
  subscription_ = node->create_subscription<Point>(
    "~/reference", rclcpp::SensorDataQoS().keep_last(1),
    [this](const Point & point) { take_point(point); });
  timer_ = node->create_wall_timer(std::chrono::milliseconds(100), [this]() { report(); });
}

void Controller::take_point(const Point & point)
{
  const auto fits = [](const std::vector<double> & row, bool needed) {
    return std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); }) &&
           (row.size() == CONTROLLED || (row.empty() && !needed));
  };
  if (!(fits(point.positions, true) && fits(point.velocities, false) &&
        fits(point.accelerations, false))) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), 1000,
      "a reference is refused: it needs %zu positions, and as many velocities and accelerations "
      "or none, all of them finite", CONTROLLED);
    return;
  }
  Reference reference;
  reference.given = true;
  std::copy(point.positions.begin(), point.positions.end(), reference.q.begin());
  std::copy(point.velocities.begin(), point.velocities.end(), reference.v.begin());
  std::copy(point.accelerations.begin(), point.accelerations.end(), reference.a.begin());
  points_.write(reference);
}

void Controller::clear_fault(Trigger::Response & response)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  response.success = get_lifecycle_state().id() != lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE;
  if (response.success) {
    arm_->clear_fault();
    response.message = "no fault; activate the controller again";
  } else {
    response.message = "the controller is active; deactivate it first";
  }
}

void Controller::report()
{
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Reason event = arm_->event(); event.refusal != Refusal::none) {
    RCLCPP_WARN(get_node()->get_logger(), "%s", sentence(event).c_str());
  }
  std::string status = status_of(*arm_);
  if (status == status_) {
    return;
  }
  if (arm_->is_faulty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", status.c_str());
  } else {
    RCLCPP_INFO(get_node()->get_logger(), "%s", status.c_str());
  }
  status_ = status;
  std_msgs::msg::String message;
  message.data = status;
  publisher_->publish(message);
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
Controller::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> found;
  for (const char * kind : KINDS) {
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      const std::string owner = std::string(get_node()->get_name()) + "/" + name_of(i);
      found.push_back(std::make_shared<hardware_interface::CommandInterface>(owner, kind));
      (void)found.back()->set_value(NOTHING);
    }
  }
  return found;
}

bool Controller::on_set_chained_mode(bool)
{
  forget_reference();
  return true;
}

CallbackReturn Controller::on_activate(const rclcpp_lifecycle::State &)
{
  forget_reference();
  if (!read_state()) {
    RCLCPP_ERROR(get_node()->get_logger(), "the arm is not started: a state cannot be read");
    return CallbackReturn::FAILURE;
  }
  const Reason why = arm_->start(input_.state, input_.effort, static_cast<Mode>(wanted_mode_.load()));
  if (why.refusal != Refusal::none) {
    RCLCPP_ERROR(
      get_node()->get_logger(), "the arm is not started: %s", sentence(why).c_str());
    return CallbackReturn::FAILURE;
  }
  return CallbackReturn::SUCCESS;
}

// The last efforts in the command interfaces hold the arm: the hardware may repeat them.
CallbackReturn Controller::on_deactivate(const rclcpp_lifecycle::State &)
{
  (void)send(arm_->holding());
  arm_->stop();
  forget_reference();
  return CallbackReturn::SUCCESS;
}

return_type Controller::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  point_age_ += period.seconds();
  if (points_.read(point_)) {
    point_age_ = 0.0;
  }
  const bool valid = point_.given && point_age_ <= parameters_.reference_timeout;
  const std::array<const Joints *, 3> rows{&point_.q, &point_.v, &point_.a};
  for (std::size_t k = 0; k < rows.size() * CONTROLLED; ++k) {
    const double value = valid ? (*rows[k / CONTROLLED])[k % CONTROLLED] : NOTHING;
    (void)ordered_exported_reference_interfaces_[k]->set_value(value);
  }
  return return_type::OK;
}

return_type Controller::update_and_write_commands(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  input_.readable = read_state();
  read_reference();
  input_.period = period.seconds();
  input_.steady = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  int wanted = wanted_mode_.load(std::memory_order_relaxed);
  (void)wanted_mode_.compare_exchange_strong(
    wanted, static_cast<int>(arm_->set_mode(static_cast<Mode>(wanted))));
  const Answer answer = arm_->update(input_, effort_);
  if (answer == Answer::efforts) {
    (void)send(effort_);
  }
  // an error deactivates the controller and activates its fallback_controllers
  return arm_->phase() == Phase::silent ? return_type::ERROR : return_type::OK;
}

/// Read positions, velocities and efforts; return whether all could be read.
bool Controller::read_state()
{
  bool readable = true;
  for (std::size_t k = 0; k < DOFS; ++k) {
    const auto q = state_interfaces_[k].get_optional();
    const auto v = state_interfaces_[DOFS + k].get_optional();
    readable = readable && q.has_value() && v.has_value();
    if (readable) {
      input_.state.q[k] = *q;
      input_.state.v[k] = *v;
    }
  }
  const bool measures = state_interfaces_.size() > 2 * DOFS;
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    input_.effort[i] = measures ? number_of(state_interfaces_[2 * DOFS + i]) : NOTHING;
  }
  return readable;
}

/// Read the reference; there is none if a position is NaN. NaN velocities and accelerations are 0.
void Controller::read_reference()
{
  Reference & found = input_.reference;
  found.given = true;
  const auto value = [this](std::size_t row, std::size_t i) {
    return number_of(*ordered_exported_reference_interfaces_[row * CONTROLLED + i]);
  };
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    found.q[i] = value(0, i);
    const double v = value(1, i), a = value(2, i);
    found.v[i] = std::isnan(v) ? 0.0 : v;
    found.a[i] = std::isnan(a) ? 0.0 : a;
    found.given = found.given && !std::isnan(found.q[i]);
  }
}

void Controller::forget_reference()
{
  point_.given = false;
  (void)points_.read(point_);
  point_.given = false;
  for (auto & interface : ordered_exported_reference_interfaces_) {
    (void)interface->set_value(NOTHING);
  }
}

bool Controller::send(const Joints & effort)
{
  bool sent = true;
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    sent = command_interfaces_[i].set_value(effort[i]) && sent;
  }
  return sent;
}

}  // namespace @{namespace}

PLUGINLIB_EXPORT_CLASS(
  @{namespace}::Controller, controller_interface::ChainableControllerInterface)
