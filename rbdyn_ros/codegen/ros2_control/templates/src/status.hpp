// Messages about the arm, for threads that have no deadline.

#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "arm.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

constexpr std::array<const char *, 4> MODES{"gravity", "pd_gravity", "computed_torque", "impedance"};
constexpr std::array<const char *, 7> PHASES{
  "armed", "braking", "holding", "blind", "silent", "testing", "disarmed"};

inline const char * name_of(std::size_t joint) { return NAMES[PLACE[joint]]; }

/// Fill the placeholders of a text with a joint, and with numbers of some digits.
inline std::string filled(
  std::string text, std::size_t joint, double value, double bound, int digits)
{
  std::array<char, 32> found{}, most{};
  (void)std::snprintf(found.data(), found.size(), "%.*g", digits, value);
  (void)std::snprintf(most.data(), most.size(), "%.*g", digits, bound);
  const bool drives = text.find("{driven}") != std::string::npos;  // this joint, by its number
  const std::array<std::array<std::string, 2>, 4> places{
    {{"{joint}", name_of(joint)}, {"{value}", found.data()}, {"{bound}", most.data()},
     {"{driven}", name_of(drives ? static_cast<std::size_t>(bound) : 0)}}};
  for (const auto & [place, with] : places) {
    if (const std::size_t at = text.find(place); at != std::string::npos) {
      text.replace(at, place.size(), with);
    }
  }
  return text;
}

/// Code, joint, numbers, cause and remedy of a fault; only a latched fault needs clear_fault.
inline std::string sentence(const Verdict & fault, bool latched = true)
{
  const FaultKind & kind = FAULTS[static_cast<std::size_t>(fault.fault)][fault.blind ? 1 : 0];
  return "fault " + std::string(kind.code) + ": " +
         filled(kind.found, fault.joint, fault.value, fault.bound, 6) + " (" + kind.cause + "). " +
         kind.remedy + (latched ? ", then clear_fault" : "");
}

/// Reason why the arm does not start, or why it refused an input.
inline std::string sentence(const Reason & reason)
{
  const auto text = [&reason](const char * given, int digits) {
    return filled(given, reason.joint, reason.value, reason.bound, digits);
  };
  const std::string found = text(REFUSALS[static_cast<std::size_t>(reason.refusal)], 6);
  switch (reason.refusal) {
    case Refusal::found:
      return found + text(START_UP_TEXTS[reason.found], 3);
    case Refusal::stopped:
      return found + sentence(reason.fault, false);
    default:
      return found;
  }
}

/// Mode, phase and fault in one line.
inline std::string status_of(Arm & arm)
{
  const Verdict fault = arm.fault();
  std::string text = MODES[static_cast<std::size_t>(arm.mode())];
  text += std::string("; ") + PHASES[static_cast<std::size_t>(arm.phase())];
  return fault.fault == Fault::none ? text : text + "; " + sentence(fault);
}

}  // namespace @{namespace}
