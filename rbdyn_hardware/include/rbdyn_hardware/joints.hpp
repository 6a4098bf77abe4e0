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
  std::int64_t number{-1};             ///< in the memory
  std::array<bool, 5> offered{};       ///< command interfaces in the tag, as COMMANDS
  std::array<bool, 5> claimed{};       ///< command interfaces that active controllers use
  std::array<bool, 3> states{};        ///< state interfaces in the tag, as STATES
};

/// Return the joints of a tag; throw std::invalid_argument with a sentence about a wrong joint.
std::vector<Joint> joints_of(const hardware_interface::HardwareInfo & info);

/// Find the joints in the memory; throw std::invalid_argument with a sentence.
void find_joints(std::vector<Joint> & joints, const rbdyn_client & client);

/// Return the joints after controllers stopped and started using interfaces such as "elbow/effort",
/// of which some may belong to other hardware; throw std::invalid_argument for a wrong combination.
std::vector<Joint> switched(
  std::vector<Joint> joints, const std::vector<std::string> & started,
  const std::vector<std::string> & stopped);

/// Write the command of a joint into the memory's record. A number is NaN until a controller wrote
/// it: a joint whose main number is NaN gets no command, another NaN is 0.
void fill_command(const Joint & joint, const std::array<double, 5> & numbers, rbdyn_client & client);

}  // namespace rbdyn_hardware

#endif  // RBDYN_HARDWARE__JOINTS_HPP_
