// SPDX-License-Identifier: Apache-2.0
// The joints of a <ros2_control> tag: their interfaces, and which of them controllers use.
#ifndef RBDYN_HARDWARE__JOINTS_HPP_
#define RBDYN_HARDWARE__JOINTS_HPP_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hardware_interface/hardware_info.hpp"
#include "rbdyn_hardware/client.h"

namespace rbdyn_hardware
{
/// Quantities of a command, in the order of the memory.
inline constexpr std::array<const char *, 5> COMMANDS{
  "position", "velocity", "effort", "stiffness", "damping"};
/// Quantities of a state, in the order of the memory.
inline constexpr std::array<const char *, 3> STATES{"position", "velocity", "effort"};

struct Joint
{
  std::string name;
  std::int64_t number{-1};             ///< number of the joint in the memory
  std::array<bool, 5> offered{};       ///< command interfaces in the tag, in the order of COMMANDS
  std::array<bool, 5> claimed{};       ///< command interfaces that active controllers use
  std::array<bool, 3> states{};        ///< state interfaces in the tag, in the order of STATES
};

/// Return the joints of a tag; throw std::invalid_argument if a joint is wrong.
std::vector<Joint> joints_of(const hardware_interface::HardwareInfo & info);

/// Find the joints in the memory; throw std::invalid_argument if the simulator lacks a joint, or if
/// a joint with command interfaces accepts no commands.
void find_joints(std::vector<Joint> & joints, const rbdyn_client & client);

/// Return the joints after controllers stopped and started using interfaces such as "elbow/effort",
/// of which some may belong to other hardware; throw std::invalid_argument for a wrong combination.
std::vector<Joint> switched(
  std::vector<Joint> joints, const std::vector<std::string> & started,
  const std::vector<std::string> & stopped);

/// Write the command of a joint into a record of the memory. A number is NaN until a controller has
/// written it. A joint whose main number is NaN gets no command; any other NaN counts as 0.
void fill_command(const Joint & joint, const std::array<double, 5> & numbers, rbdyn_client & client);

}  // namespace rbdyn_hardware

#endif  // RBDYN_HARDWARE__JOINTS_HPP_
