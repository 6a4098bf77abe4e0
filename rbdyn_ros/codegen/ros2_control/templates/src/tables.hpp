// Faults and constants: a copy of the tables of arm_controller (rbdyn_ros.control).

#pragma once

#include <array>

#include "views.hpp"

namespace @{namespace}
{

enum class Fault : int { none, @{fault_names} };

/// A fault in words.
struct FaultKind
{
  const char * code;
  const char * found;
  const char * cause;
  const char * remedy;
};

/// The words of each fault, for valid states and for wrong states.
inline constexpr FaultKind FAULTS[][2]{
@{fault_rows}
};

/// The fault of each kind that the kernels distinguish.
inline constexpr std::array FAULT_OF{Fault::none, @{fault_kinds}};

/// Reasons why the arm does not start, or why it refused an input, by their numbers.
inline constexpr std::array REFUSALS{
@{refusals}
};

/// Findings of the start-up test, by their numbers.
inline constexpr std::array START_UP_TEXTS{
@{start_up_texts}
};

@{constants}

}  // namespace @{namespace}
