// SPDX-License-Identifier: Apache-2.0
// One thread updates an arm until it has a fault, repeatedly; another thread reads the fault's text.

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "arm.hpp"
#include "status.hpp"

using namespace ARM_NAMESPACE;

namespace
{

ArmSettings settings_of_test()
{
  ArmSettings settings;
  settings.blind.gains.fill(0, settings::STIFFNESS);
  settings.blind.gains.fill(1, settings::DAMPING);
  settings.loop.measures = 0;
  settings.arm.tests = 0;
  return settings;
}

State middle()
{
  State state;
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    state.q[PLACE[i]] = 0.5 * (std::max(LOWER[i], -1.0) + std::min(UPPER[i], 1.0));
  }
  return state;
}

/// Start the arm, update it until it has a fault, and clear the fault. Return whether a fault
/// occurred.
bool fails(Arm & arm, std::size_t joint)
{
  Input input;
  input.effort.fill(NOTHING);
  input.state = middle();
  input.period = 0.001;
  if (arm.start(input.state, input.effort, Mode::gravity).refusal != Refusal::none) {
    return false;
  }
  Joints effort{};
  for (int n = 0; n < 20 && !arm.is_faulty(); ++n) {
    input.steady += 1000000;
    input.state.v[PLACE[joint]] = n < 3 ? 0.0 : 10.0 * VELOCITY[joint];
    (void)arm.update(input, effort);
  }
  const bool found = arm.is_faulty();
  arm.clear_fault();
  return found;
}

}  // namespace

/// Print the number of faults, and the number of texts that the reader saw with a fault but without
/// the joint of the fault.
int main()
{
  Arm arm(settings_of_test());
  std::atomic<bool> done{false};
  int torn = 0, faults = 0;
  std::thread reader([&arm, &done, &torn]() {
    while (!done) {
      const std::string text = status_of(arm);
      const bool faulty = text.find("fault") != std::string::npos;
      torn += faulty && text.find("joint '") == std::string::npos ? 1 : 0;
    }
  });
  for (std::size_t k = 0; k < 2000; ++k) {
    faults += fails(arm, k % CONTROLLED) ? 1 : 0;
  }
  done = true;
  reader.join();
  std::printf("%d of %d\n", torn, faults);
  return 0;
}
