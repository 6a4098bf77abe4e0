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

/// What the start-up test found.
inline std::string start_up_text(const Reason & reason)
{
  std::string text = START_UP_TEXTS[reason.found];
  std::array<char, 32> value{}, bound{};
  (void)std::snprintf(value.data(), value.size(), "%.3g", reason.value);
  (void)std::snprintf(bound.data(), bound.size(), "%.3g", reason.bound);
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
  return "the start-up test found: " + text;
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
      text << "a position, velocity or effort is not a finite number";
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
    case Refusal::room:
      text << joint << "is at " << reason.value << "; the start-up test needs " << reason.bound
           << " of room to a limit on one side";
      break;
    case Refusal::start_up:
      text << start_up_text(reason);
      break;
    case Refusal::stopped:
      text << "the start-up test was stopped: " << sentence(reason.fault, false);
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
