// Laws and judgements of arm_controller, generated from the kernels of rbdyn_ros.
//
// Their source is Python; the name of a namespace is the name of its module. The structs are the
// records of these kernels.

#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>

#include "dynamics.hpp"
#include "tables.hpp"
#include "views.hpp"

namespace @{namespace}
{

@{structs}

@{kernels}

}  // namespace @{namespace}
