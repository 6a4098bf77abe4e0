// Messages about the arm, for threads that need not be on time.

#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <string>

#include "arm.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

constexpr std::array<const char *, 4> MODES{"gravity", "pd_gravity", "computed_torque", "impedance"};
constexpr std::array<const char *, 6> PHASES{
  "armed", "braking", "holding", "blind", "silent", "testing"};

inline const char * name_of(std::size_t joint) { return NAMES[PLACE[joint]]; }

/// The row of a fault in the table of faults.
inline const FaultKind & kind_of(const Verdict & fault)
{
  const FaultKind * found = nullptr;
  for (const FaultKind & kind : FAULTS) {
    if (kind.fault == fault.fault && (found == nullptr || kind.blind == fault.blind)) {
      found = &kind;
    }
  }
  return *found;
}

/// Code, joint, numbers, cause and remedy of a fault; one that is not latched needs no clear_fault.
inline std::string sentence(const Verdict & fault, bool latched = true)
{
  const FaultKind & kind = kind_of(fault);
  std::ostringstream text;
  text << "fault " << kind.code << ": ";
  if (
    fault.fault == Fault::age || fault.fault == Fault::target || fault.fault == Fault::latency ||
    fault.fault == Fault::clock)
  {
    text << fault.value << " s, allowed are " << fault.bound << " s";
  } else if (fault.fault == Fault::finite) {
    text << "a state is refused";
  } else if (fault.fault == Fault::frozen) {
    text << "joint '" << name_of(fault.joint) << "' is at " << fault.value << " with velocity "
         << fault.bound;
  } else {
    text << "joint '" << name_of(fault.joint) << "': " << fault.value << ", allowed is "
         << fault.bound;
  }
  text << " (" << kind.cause << "). " << kind.remedy << (latched ? ", then clear_fault" : "");
  return text.str();
}

/// A text whose places have a joint and numbers of a refusal, with some digits.
inline std::string filled(std::string text, const Reason & reason, int digits)
{
  std::array<char, 32> value{}, bound{};
  (void)std::snprintf(value.data(), value.size(), "%.*g", digits, reason.value);
  (void)std::snprintf(bound.data(), bound.size(), "%.*g", digits, reason.bound);
  const bool swapped = reason.found == static_cast<std::size_t>(start_up_kernels::OTHER);
  const std::size_t driven = swapped ? static_cast<std::size_t>(reason.bound) : 0;
  const std::array<std::array<std::string, 2>, 4> places{
    {{"{joint}", name_of(reason.joint)}, {"{value}", value.data()}, {"{bound}", bound.data()},
     {"{driven}", name_of(driven)}}};
  for (const auto & [place, with] : places) {
    if (const std::size_t at = text.find(place); at != std::string::npos) {
      text.replace(at, place.size(), with);
    }
  }
  return text;
}

/// Why the arm does not start, or what it did not take.
inline std::string sentence(const Reason & reason)
{
  const std::string text = filled(REFUSALS[static_cast<std::size_t>(reason.refusal)], reason, 6);
  switch (reason.refusal) {
    case Refusal::found:
      return text + filled(START_UP_TEXTS[reason.found], reason, 3);
    case Refusal::stopped:
      return text + sentence(reason.fault, false);
    default:
      return text;
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
