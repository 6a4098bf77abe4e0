// Messages about the arm, for threads that need not be on time.

#pragma once

#include <array>
#include <cstddef>
#include <sstream>
#include <string>

#include "arm.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

constexpr std::array<const char *, 4> MODES{"gravity", "pd_gravity", "computed_torque", "impedance"};
constexpr std::array<const char *, 5> PHASES{"armed", "braking", "holding", "blind", "silent"};

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

/// Code, joint, numbers, cause and remedy of a fault.
inline std::string sentence(const Verdict & fault)
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
  text << " (" << kind.cause << "). " << kind.remedy << ", then clear_fault";
  return text.str();
}

/// Why the arm does not start, or what it did not take.
inline std::string sentence(const Reason & reason)
{
  const std::string joint = std::string("joint '") + name_of(reason.joint) + "' ";
  std::ostringstream text;
  switch (reason.refusal) {
    case Refusal::none:
      break;
    case Refusal::latched:
      text << "a fault is latched; call clear_fault first";
      break;
    case Refusal::state:
      text << "a position or velocity is not a finite number";
      break;
    case Refusal::position:
      text << joint << "is at " << reason.value << ", beyond its limit " << reason.bound;
      break;
    case Refusal::velocity:
      text << joint << "moves at " << reason.value << "; its limit is " << reason.bound;
      break;
    case Refusal::moving:
      text << joint << "moves at " << reason.value << "; the arm must rest (below " << reason.bound
           << ") so that its efforts can be compared with the model";
      break;
    case Refusal::no_effort:
      text << joint << "measures no effort; set arm_without_effort to start without this check";
      break;
    case Refusal::effort:
      text << joint << "measures an effort that differs by " << reason.value
           << " from what the model needs to hold the arm; allowed is " << reason.bound
           << ". Check the model, the mounting and the payload";
      break;
    case Refusal::too_heavy:
      text << joint << "would need " << reason.value << " to hold the arm; its effort limit is "
           << reason.bound;
      break;
    case Refusal::shakes:
      text << "the gains of the mode would shake " << joint << "at " << reason.value
           << " updates a second; they need " << reason.bound;
      break;
    case Refusal::reference:
      text << "a reference is not followed: it is not finite, beyond the limits, or begins farther "
              "than start_tolerance from the target";
      break;
  }
  return text.str();
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
