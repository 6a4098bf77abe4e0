// SPDX-License-Identifier: Apache-2.0
// One thread updates an arm until it has a fault, and another one reads its text meanwhile.

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
  settings.tracking.stiffness.fill(settings::STIFFNESS);
  settings.tracking.damping.fill(settings::DAMPING);
  settings.arm_without_effort = true;
  settings.start_up_test = false;
  return settings;
}

/// Let one thread update while another one reads; return whether the text lacks the joint.
bool is_torn(int k)
{
  Arm arm(settings_of_test());
  Input input;
  input.effort.fill(NOTHING);
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    input.state.q[PLACE[i]] = 0.5 * (std::max(LOWER[i], -1.0) + std::min(UPPER[i], 1.0));
  }
  if (arm.start(input.state, input.effort, Mode::gravity).refusal != Refusal::none) {
    return true;
  }
  std::string text;
  std::thread reader([&arm, &text]() {
    while (text.find("fault") == std::string::npos) {
      text = status_of(arm);
    }
  });
  Joints effort{};
  input.period = 0.001;
  for (int n = 0; n < 200; ++n) {
    input.steady += 1000000;
    const auto joint = static_cast<std::size_t>(k) % CONTROLLED;
    input.state.v[PLACE[joint]] = n < 20 ? 0.0 : 10.0 * VELOCITY[joint];
    (void)arm.update(input, effort);
  }
  reader.join();
  return text.find("joint '") == std::string::npos;
}

}  // namespace

int main()
{
  int torn = 0;
  for (int k = 0; k < 200; ++k) {
    torn += is_torn(k) ? 1 : 0;
  }
  std::printf("%d\n", torn);
  return torn;
}
