// SPDX-License-Identifier: Apache-2.0
// Runs the controller of a generated package, loaded by pluginlib, on a simulated arm in this
// process, and prints a report: the memory that `update` allocates or frees, its times [us], the
// speed of the arm and its errors.
//
//     controller_alone PACKAGE MODE [chained [jump]]      jump: after 2 s an encoder is 0.3 rad off

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "arm.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

using namespace ARM_NAMESPACE;
using Base = controller_interface::ChainableControllerInterface;

namespace
{

thread_local bool watching = false;
long allocations = 0;

constexpr double PI = 3.141592653589793;

}  // namespace

extern "C" {
void * __libc_malloc(std::size_t size);
void __libc_free(void * memory);

void * malloc(std::size_t size)
{
  allocations += watching;
  return __libc_malloc(size);
}

void free(void * memory)
{
  allocations += watching;
  __libc_free(memory);
}
}

template <typename T>
std::vector<std::shared_ptr<T>> made(const std::vector<std::string> & names)
{
  std::vector<std::shared_ptr<T>> found;
  for (const std::string & name : names) {
    const auto slash = name.rfind('/');
    hardware_interface::InterfaceInfo info;
    info.name = name.substr(slash + 1);
    info.data_type = "double";
    const hardware_interface::InterfaceDescription about(name.substr(0, slash), info);
    found.push_back(std::make_shared<T>(about));
  }
  return found;
}

/// Return the position, velocity and acceleration of a wave that begins smoothly.
std::array<double, 3> wave(double start, double rate, double time)
{
  const double s = std::min(time, 1.0), w = 2.0 * PI;
  const double A = 0.15 * (s - std::sin(w * s) / w);
  const double dA = time < 1.0 ? 0.15 * (1.0 - std::cos(w * s)) : 0.0;
  const double ddA = time < 1.0 ? 0.15 * w * std::sin(w * s) : 0.0;
  const double sine = std::sin(rate * time), cosine = std::cos(rate * time);
  return {
    start + A * sine, dA * sine + A * rate * cosine,
    ddA * sine + 2.0 * dA * rate * cosine - A * rate * rate * sine};
}

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const std::string package = argv[1];
  const bool chained = argc > 3, jumps = argc > 4;
  double off = 0.0;  // error of an encoder [rad]
  pluginlib::ClassLoader<Base> loader(
    "controller_interface", "controller_interface::ChainableControllerInterface");
  auto controller = loader.createSharedInstance(package + "/Controller");
  controller_interface::ControllerInterfaceParams given;
  given.controller_name = package;
  given.update_rate = 1000;
  given.node_options.parameter_overrides(
    {{"mode", argv[2]}, {"blend_time", 0.02}, {"start_up_test", false}, {"use_sim_time", true}});  // the test runs faster than real time
  if (controller->init(given) != controller_interface::return_type::OK) {
    return 1;
  }
  controller->configure();
  const auto references = controller->export_reference_interfaces();
  auto states = made<hardware_interface::StateInterface>(
    controller->state_interface_configuration().names);
  auto commands = made<hardware_interface::CommandInterface>(
    controller->command_interface_configuration().names);
  std::vector<hardware_interface::LoanedStateInterface> loaned_states;
  std::vector<hardware_interface::LoanedCommandInterface> loaned_commands;
  for (auto & state : states) {
    loaned_states.emplace_back(std::shared_ptr<const hardware_interface::StateInterface>(state));
  }
  for (auto & command : commands) {
    loaned_commands.emplace_back(command, nullptr);
  }
  const Dofs start{0.3, 0.6, 0.4, -0.7, 0.5, 0.4, 0.2};
  State arm;
  arm.q = start;
  Dofs effort{};
  Data plant;
  plant.qpos = arm.q;
  gravity_term(plant, effort);
  const auto measure = [&]() {
    for (std::size_t k = 0; k < DOFS; ++k) {
      (void)states[k]->set_value(arm.q[k] + (k == 1 ? off : 0.0));
      (void)states[DOFS + k]->set_value(arm.v[k]);
      (void)states[2 * DOFS + k]->set_value(effort[k]);
    }
  };
  measure();
  controller->assign_interfaces(std::move(loaned_commands), std::move(loaned_states));
  controller->set_chained_mode(chained);
  const bool active = controller->get_node()->activate().label() == "active";
  int errors = 0;
  double worst = 0.0, fastest = 0.0;
  std::vector<double> times;  // durations of the updates [us]
  const rclcpp::Duration period(0, 1000000);
  for (int n = 0; active && n < 5000; ++n) {
    off = jumps && n > 2000 ? 0.3 : 0.0;
    measure();
    for (std::size_t k = 0; chained && k < DOFS; ++k) {
      const auto row = wave(start[k], 1.0 + 0.1 * double(k), 1e-3 * n);
      for (std::size_t kind = 0; kind < 3; ++kind) {
        (void)references[kind * DOFS + k]->set_value(row[kind]);
      }
      worst = std::max(worst, std::abs(row[0] - arm.q[k]));
    }
    const auto begin = std::chrono::steady_clock::now();
    watching = true;
    const auto answer = controller->update(rclcpp::Time(0), period);
    watching = false;
    times.push_back(1e-3 * double((std::chrono::steady_clock::now() - begin).count()));
    errors += answer != controller_interface::return_type::OK;
    for (std::size_t k = 0; k < DOFS; ++k) {
      effort[k] = commands[k]->get_optional().value();
    }
    Dofs acting = effort;
    acting[0] += !chained && n > 1000 && n < 1100 ? 3.0 : 0.0;  // the push of a hand [N m]
    for (int step = 0; step < 4; ++step) {
      plant.qpos = arm.q;
      plant.qvel = arm.v;
      plant.qfrc_applied = acting;
      forward_dynamics(plant);
      for (std::size_t k = 0; k < DOFS; ++k) {
        arm.v[k] += 2.5e-4 * plant.qacc[k];
        arm.q[k] += 2.5e-4 * arm.v[k];
      }
    }
    fastest = std::max(fastest, std::abs(arm.v[0]));
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double share) {
    return times.empty() ? 0.0 : times[std::size_t(share * double(times.size() - 1))];
  };
  std::printf(
    "{\"median\": %g, \"p99\": %g, \"active\": %d, \"errors\": %d, \"allocations\": %ld, "
    "\"worst\": %g, \"fastest\": %g, \"speed\": %g, \"moved\": %g}\n",
    quantile(0.5), quantile(0.99), active, errors, allocations, worst, fastest,
    std::abs(arm.v[0]), arm.q[0] - start[0]);
  controller->get_node()->deactivate();
  controller->release_interfaces();
  controller.reset();
  rclcpp::shutdown();
  return 0;
}
