// SPDX-License-Identifier: Apache-2.0
#include "rbdyn_hardware/joints.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rbdyn_hardware
{
namespace
{
enum Quantity { POSITION, VELOCITY, EFFORT, STIFFNESS, DAMPING };

template <std::size_t N>
std::string listed(const std::array<const char *, N> & names)
{
  std::string text;
  for (const char * name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

template <std::size_t N>
void mark(
  const std::array<const char *, N> & names, const std::string & name, const std::string & joint,
  const char * kind, std::array<bool, N> & marks)
{
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
  {
    throw std::invalid_argument(
      "joint '" + joint + "' has the " + kind + " interface '" + name + "'; allowed are " +
      listed(names));
  }
  marks[static_cast<std::size_t>(found - names.begin())] = true;
}

bool is_impedance(const Joint & joint)
{
  return joint.claimed[STIFFNESS] || joint.claimed[DAMPING];
}

/// Return the quantity that chooses the mode of a joint, or -1 if controllers use none.
int main_quantity(const Joint & joint)
{
  for (int k : {POSITION, VELOCITY, EFFORT})
  {
    if (joint.claimed[static_cast<std::size_t>(k)]) return k;
  }
  return -1;
}

void set_claims(
  std::vector<Joint> & joints, const std::vector<std::string> & interfaces, bool claimed)
{
  for (auto & joint : joints)
  {
    for (std::size_t k = 0; k < COMMANDS.size(); ++k)
    {
      const std::string own = joint.name + "/" + COMMANDS[k];
      if (std::find(interfaces.begin(), interfaces.end(), own) != interfaces.end())
      {
        joint.claimed[k] = claimed;
      }
    }
  }
}
}  // namespace

std::vector<Joint> joints_of(const hardware_interface::HardwareInfo & info)
{
  std::vector<Joint> joints;
  for (const auto & given : info.joints)
  {
    Joint joint;
    joint.name = given.name;
    for (const auto & one : given.command_interfaces)
    {
      mark(COMMANDS, one.name, given.name, "command", joint.offered);
    }
    for (const auto & one : given.state_interfaces)
    {
      mark(STATES, one.name, given.name, "state", joint.states);
    }
    joints.push_back(joint);
  }
  return joints;
}

void find_joints(std::vector<Joint> & joints, const rbdyn_client & client)
{
  for (auto & joint : joints)
  {
    joint.number = rbdyn_joint(&client, joint.name.c_str());
    if (joint.number < 0)
    {
      std::string known;
      for (std::int64_t j = 0; j < client.joints; ++j)
      {
        known += (j ? ", " : "") + std::string(rbdyn_name(&client, j));
      }
      throw std::invalid_argument(
        "the simulator has no joint '" + joint.name + "'; its joints are " + known);
    }
    const bool commanded = std::find(joint.offered.begin(), joint.offered.end(), true) !=
                           joint.offered.end();
    if (commanded && !rbdyn_accepts(&client, joint.number))
    {
      throw std::invalid_argument(
        "joint '" + joint.name +
        "' accepts no commands in the simulator, since it has no actuator or mimics another "
        "joint; give it state interfaces only");
    }
  }
}

std::vector<Joint> switched(
  std::vector<Joint> joints, const std::vector<std::string> & started,
  const std::vector<std::string> & stopped)
{
  set_claims(joints, stopped, false);
  set_claims(joints, started, true);
  for (const auto & joint : joints)
  {
    if (is_impedance(joint) && !joint.claimed[POSITION])
    {
      throw std::invalid_argument(
        "controllers use stiffness or damping of joint '" + joint.name +
        "', but not its position; impedance needs the position of the spring");
    }
  }
  return joints;
}

void fill_command(const Joint & joint, const std::array<double, 5> & numbers, rbdyn_client & client)
{
  static constexpr std::int64_t MODES[] = {
    RBDYN_MODE_POSITION, RBDYN_MODE_VELOCITY, RBDYN_MODE_EFFORT};
  double * const rows[] = {
    client.position, client.velocity, client.effort, client.stiffness, client.damping};
  const int chosen = main_quantity(joint);
  if (chosen < 0 || std::isnan(numbers[static_cast<std::size_t>(chosen)]))
  {
    client.mode[joint.number] = RBDYN_MODE_NONE;
    return;
  }
  client.mode[joint.number] = MODES[chosen];
  if (is_impedance(joint)) client.mode[joint.number] = RBDYN_MODE_IMPEDANCE;
  for (std::size_t k = 0; k < numbers.size(); ++k)
  {
    const bool counts = joint.claimed[k] && !std::isnan(numbers[k]);
    rows[k][joint.number] = counts ? numbers[k] : 0.0;
  }
}

}  // namespace rbdyn_hardware
