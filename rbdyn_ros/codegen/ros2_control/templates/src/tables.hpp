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

/// Each fault whose state is believed, and whose state is not.
inline constexpr FaultKind FAULTS[][2]{
@{fault_rows}
};

/// The fault of each kind that the kernels tell apart.
inline constexpr std::array FAULT_OF{Fault::none, @{fault_kinds}};

/// Why the arm does not start, or what it did not take, by its number.
inline constexpr std::array REFUSALS{
@{refusals}
};

/// What the start-up test finds, by its number.
inline constexpr std::array START_UP_TEXTS{
@{start_up_texts}
};

@{constants}

}  // namespace @{namespace}
