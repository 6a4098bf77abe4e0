// The generated dynamics, the laws and the gate, against numbers of the engine.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "arm.hpp"
#include "expected.hpp"
#include "status.hpp"

extern "C" int self_test(void);  // test_@{prefix}.c: the main function of another file

namespace @{namespace}
{

namespace
{

constexpr double PERIOD = 0.001;

void expect_near(const Dofs & found, const Dofs & expected, double weight)
{
  double largest = 0.01 * weight;  // forces may cancel
  for (const double x : expected) {
    largest = std::max(largest, std::abs(x));
  }
  for (std::size_t k = 0; k < DOFS; ++k) {
    EXPECT_NEAR(found[k], expected[k], 1e-11 * largest) << NAMES[k];
  }
}

GainRows gains_of(double stiffness, double damping)
{
  return GainRows(every(stiffness), every(damping));
}

/// The efforts of a law.
Dofs effort_of(
  void (*law)(Data &, Matrix<const double>, Matrix<const double>, Vector<double>),
  const Expected & row, const GainRows & gains)
{
  Data d;
  Dofs effort{};
  d.qpos = row.state.q;
  d.qvel = row.state.v;
  law(d, rows_of(row.desired), gains, effort);
  return effort;
}

ArmSettings settings_for_test()
{
  ArmSettings settings;
  settings.blind.gains = gains_of(settings::STIFFNESS, settings::DAMPING);
  settings.loop.measures = 0;
  settings.loop.period = 1e-6;  // so short that no gains shake the arm
  settings.arm.tests = 0;  // nothing moves here
  return settings;
}

/// A state at rest, in the middle of the limits.
State middle()
{
  State state;
  for (std::size_t i = 0; i < CONTROLLED; ++i) {
    const bool limited = std::isfinite(LOWER[i]) && std::isfinite(UPPER[i]);
    state.q[PLACE[i]] = limited ? 0.5 * (LOWER[i] + UPPER[i]) : 0.0;
  }
  return state;
}

Joints unmeasured()
{
  Joints effort{};
  effort.fill(std::numeric_limits<double>::quiet_NaN());
  return effort;
}

/// The input of the update number k, from 1 on.
Input input_of(const State & state, int k)
{
  Input input;
  input.state = state;
  input.effort = unmeasured();
  input.period = PERIOD;
  input.steady = 1000000000 + 1000000 * static_cast<std::int64_t>(k);
  return input;
}

}  // namespace

TEST(Dynamics, agree_with_the_engine) { EXPECT_EQ(self_test(), EXIT_SUCCESS); }

TEST(Laws, agree_with_the_laws_of_arm_controller)
{
  const GainRows soft = gains_of(50.0, 5.0);
  const GainRows stiff = gains_of(settings::STIFFNESS, settings::DAMPING);
  const GainRows floating = gains_of(0.0, settings::GRAVITY_DAMPING);
  for (const Expected & row : EXPECTED) {
    expect_near(effort_of(laws::damped_gravity, row, floating), row.gravity, row.weight);
    expect_near(effort_of(laws::pd_gravity, row, soft), row.pd_gravity, row.weight);
    expect_near(effort_of(laws::computed_torque, row, stiff), row.computed_torque, row.weight);
    expect_near(effort_of(laws::joint_impedance, row, soft), row.impedance, row.weight);
  }
}

TEST(Arm, holds_itself_in_every_mode)
{
  for (std::size_t k = 0; k < MODES.size(); ++k) {
    Arm arm(settings_for_test());
    const State state = middle();
    const Reason why = arm.start(state, unmeasured(), static_cast<Mode>(k));
    if (why.refusal == Refusal::too_heavy) {
      GTEST_SKIP() << sentence(why);
    }
    ASSERT_EQ(why.refusal, Refusal::none) << sentence(why);
    Joints effort{};
    Dofs g{};
    @{prefix}_gravity(state.q.data(), g.data());
    EXPECT_EQ(arm.update(input_of(state, 1), effort), Answer::efforts);
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      EXPECT_NEAR(effort[i], g[PLACE[i]], 1e-9 * (1.0 + std::abs(g[PLACE[i]]))) << name_of(i);
    }
  }
}

TEST(Arm, brakes_without_states_and_then_is_silent)
{
  Arm arm(settings_for_test());
  State state = middle();
  const Reason why = arm.start(state, unmeasured(), Mode::gravity);
  if (why.refusal == Refusal::too_heavy) {
    GTEST_SKIP() << sentence(why);
  }
  Joints effort{};
  state.q[PLACE[0]] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(arm.update(input_of(state, 1), effort), Answer::efforts);
  EXPECT_EQ(arm.fault().fault, Fault::finite);
  EXPECT_EQ(arm.phase(), Phase::blind);
  for (int k = 0; k < 500 && arm.phase() != Phase::silent; ++k) {
    (void)arm.update(input_of(state, k + 2), effort);
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      EXPECT_LE(std::abs(effort[i]), EFFORT[i]);
    }
  }
  EXPECT_EQ(arm.phase(), Phase::silent);
  EXPECT_EQ(arm.start(middle(), unmeasured(), Mode::gravity).refusal, Refusal::latched);
}

}  // namespace @{namespace}
