// The model as a witness: does the arm move as the efforts sent should move it?
//
// The arithmetic is that of rbdyn_ros.control.blind.witness, which explains it.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "@{prefix}_dynamics.h"
#include "gate.hpp"
#include "laws.hpp"
#include "robot.hpp"
#include "tables.hpp"

namespace @{namespace}
{

/// A state with what the witness compares it with.
struct Testimony
{
  Dofs applied{};        // efforts of the rigid body dynamics since the state before [N m or N]
  Dofs told{};           // the commands that caused them
  Dofs felt{};           // measured efforts, NaN where there are none
  double dt = 0.0;       // time since the state before [s]
  double contact = 0.0;  // effort that a contact may withstand, as a share of the effort limits
  double blocked = 0.0;  // the same where the numbers of a joint do not repeat to the last bit
};

class Witness
{
public:
  /// Acceleration that the model does not explain [rad/s^2 or m/s^2].
  Dofs push{};
  /// Velocity that the efforts sent should have given so far [rad/s or m/s].
  Dofs due{};

  /// Start with the next state: nothing is unexplained yet.
  void begin()
  {
    memory_ = {};
    push = due = Dofs{};
    count_ = 0;
    pause();
  }

  /// Continue with the next state, which says nothing about the efforts sent before it.
  void pause()
  {
    for (Memory & memory : memory_) {
      memory.speed = std::numeric_limits<double>::quiet_NaN();
    }
  }

  /// Compare a state with the prediction; return the controlled joint that has frozen, or CONTROLLED.
  std::size_t look(const State & state, const Testimony & given, const Limits & limits)
  {
    if (!(given.dt <= state_kernels::LONGEST)) {
      pause();
    }
    if (count_ == 0) {
      weigh(state.q, limits);
    }
    count_ = (count_ + 1) % static_cast<int>(witness::INERTIA_EVERY);
    Dofs a{};
    forward_dynamics(state, given.applied, a);
    compare_all(state, a, given);
    std::size_t worst = 0;
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      worst = memory_[PLACE[i]].frost > memory_[PLACE[worst]].frost ? i : worst;
    }
    return memory_[PLACE[worst]].frost > 1.0 ? worst : CONTROLLED;
  }

  /// Whether a measured effort does not follow the commands: then the states are old.
  bool hears_nothing() const
  {
    return std::any_of(memory_.begin(), memory_.end(), [](const Memory & memory) {
      return memory.deaf > witness::UNHEARD;
    });
  }

private:
  /// A standstill: its numbers, the velocity that the joint should have gained, its two ways, the
  /// push before, its duration, and whether it moved as its velocity says.
  struct Stand
  {
    double where = 0.0, with = 0.0, gained = 0.0, way = 0.0, course = 0.0, learnt = 0.0, lasts = 0.0;
    bool moving = false;
  };

  struct Memory
  {
    double expected = 0.0, steady = 0.0, place = 0.0, speed = 0.0;
    double lag = 0.0, behind = 0.0, peak = 0.0, frost = 0.0;
    Stand exactly, nearly;
    double told = 0.0, felt = 0.0, deaf = 0.0, begun = 0.0, measured = 0.0;
    double odd = 0.0, noise = 0.0, last = 0.0, grip = 0.0, most = 0.0;
  };

  double inertia(std::size_t k, std::size_t j) const { return dense_[k * DOFS + j]; }

  /// Turn dry friction and the largest efforts into accelerations, at a position.
  void weigh(const Dofs & q, const Limits & limits)
  {
    @{prefix}_mass_matrix(q.data(), dense_.data());
    Dofs most{};
    for (std::size_t i = 0; i < CONTROLLED; ++i) {
      most[PLACE[i]] = limits.effort[i];
    }
    for (std::size_t k = 0; k < DOFS; ++k) {
      memory_[k].grip = COULOMB[k] / inertia(k, k);
      memory_[k].most = most[k] / inertia(k, k);
    }
  }

  void compare_all(const State & state, const Dofs & a, const Testimony & given)
  {
    moves_ = std::any_of(PLACE.begin(), PLACE.end(), [&](std::size_t k) {
      return state.q[k] != memory_[k].place;  // the encoders of an arm freeze together
    });
    for (std::size_t k = 0; k < DOFS; ++k) {
      Memory & memory = memory_[k];
      memory.odd = a[k] + memory.steady - (state.v[k] - memory.speed) / given.dt;
    }
    for (std::size_t k = 0; k < DOFS; ++k) {  // M (v' - a - steady push), by its own inertia
      double odd = 0.0, load = 0.0, resisted = 0.0;
      for (std::size_t j = 0; j < DOFS; ++j) {
        odd += inertia(k, j) * memory_[j].odd;
        load += inertia(k, j) * a[j];
        resisted += inertia(k, j) * push[j];
      }
      compare(
        state, a[k], odd / inertia(k, k), std::abs(load / inertia(k, k)),
        std::abs(resisted / inertia(k, k)), given, k);
    }
  }

  /// Compare the motion of one degree of freedom; `resisted` is what withstands the efforts on it.
  void compare(
    const State & state, double a, double odd, double load, double resisted,
    const Testimony & given, std::size_t k)
  {
    Memory & memory = memory_[k];
    const double q = state.q[k], v = state.v[k];
    const double moved = (q - memory.place) / given.dt;
    const bool first = std::isnan(memory.speed);
    memory.place = q;
    memory.speed = v;
    if (first) {
      memory.expected = memory.peak = v;
      memory.frost = memory.lag = memory.behind = 0.0;
      memory.exactly.where = memory.nearly.where = std::numeric_limits<double>::infinity();
      return;
    }
    const double held = given.contact * memory.most, withstood = given.blocked * memory.most;
    // where contact is expected, an impact may stop a joint with any effort
    const double stopped = given.contact > 0.0 ? witness::ANYTHING * memory.most : withstood;
    const double noise = learn_noise(given.dt * odd, given.dt, memory);
    learn(a, v, odd, given.dt, stopped + witness::NOISES * noise / given.dt, k);
    double pushes = load > held ? a : 0.0;
    if (memory.grip > 0.0) {  // the friction of other joints slows this one as well
      pushes = std::copysign(std::min(std::abs(pushes), resisted), pushes);
    }
    if (follows(given.told[k], given.felt[k], memory) && moves_) {
      learn_friction(pushes, withstood, memory);
    }
    const double exact =
      stand(memory.exactly, 0.0, 0.0, pushes, held, moved, given.dt, std::abs(push[k]), true, memory);
    const double near = stand(
      memory.nearly, witness::STILL, witness::STILL_SPEED, pushes, withstood, moved, given.dt,
      std::abs(memory.steady), false, memory);
    const double deaf = listen(given.told[k], given.felt[k], inertia(k, k), given, memory);
    memory.frost = std::max({exact, near, deaf, stop(memory)});
  }

  /// Learn the push from a velocity, and how far the motion is behind the efforts.
  void learn(double a, double v, double odd, double dt, double withstood, std::size_t k)
  {
    Memory & memory = memory_[k];  // v' = a + push
    const double follow = 1.0 - std::exp(-witness::RATE * dt);
    due[k] += dt * a;
    memory.expected += dt * (a + push[k]);
    const double off = v - memory.expected;
    memory.expected += 2.0 * follow * off;
    push[k] += witness::RATE * follow * off;
    // what the steady push does not explain, beyond friction and contact
    const double beyond = std::max(std::abs(odd) - memory.grip - withstood, 0.0);
    memory.steady += (1.0 - std::exp(-witness::STEADY_RATE * dt)) * (push[k] - memory.steady);
    const double kept = std::exp(-dt / witness::RECENT);
    memory.lag = kept * memory.lag + dt * std::copysign(beyond, odd);
    memory.behind = kept * memory.behind + dt * memory.lag;
    memory.peak *= kept;
    if (std::abs(v) > std::abs(memory.peak)) {  // what was before has nothing to do with a stop
      memory.peak = v;
      memory.lag = memory.behind = 0.0;
    }
  }

  /// Learn the noise of a velocity from how its unexplained changes alternate; return it.
  static double learn_noise(double odd, double dt, Memory & memory)
  {
    const double jump = odd - memory.last;
    memory.last = odd;
    const double sudden = witness::SUDDEN * witness::SUDDEN * memory.noise;
    const double counts = std::min(jump * jump, std::max(sudden, witness::LEAST * witness::LEAST));
    memory.noise += (1.0 - std::exp(-dt / witness::NOISY)) * (counts - memory.noise);
    return std::sqrt(memory.noise);
  }

  /// Whether a measured effort has followed the command since the numbers repeat exactly.
  static bool follows(double told, double felt, Memory & memory)
  {
    if (memory.exactly.lasts == 0.0) {
      memory.begun = told;
      memory.measured = felt;
    }
    const double change = std::abs(told - memory.begun);
    return std::abs(felt - memory.measured) > witness::FOLLOWED * change;
  }

  /// Learn which efforts do not move a joint whose numbers are new although they repeat.
  static void learn_friction(double a, double withstood, Memory & memory)
  {
    const double held = std::abs(a) - memory.grip;
    if (held <= withstood) {
      memory.exactly.learnt = std::max(memory.exactly.learnt, held);
      memory.exactly.gained = memory.exactly.way = 0.0;
    }
  }

  /// Return the suspicion that the measured effort of a standing joint is an old one.
  static double listen(
    double told, double felt, double inertia, const Testimony & given, Memory & memory)
  {
    const bool unknown = std::isnan(felt) || felt == 0.0;  // drivers without a sensor often say 0
    if (memory.nearly.lasts == 0.0 || unknown || given.blocked >= witness::ANYTHING) {
      memory.told = told;
      memory.felt = felt;
      memory.deaf = 0.0;
      return 0.0;
    }
    const double change = std::abs(told - memory.told), followed = std::abs(felt - memory.felt);
    const bool waits = change > witness::HEARD * memory.most * inertia &&
                       followed < witness::FOLLOWED * change;
    memory.deaf = waits ? memory.deaf + given.dt : 0.0;
    return memory.deaf / witness::DELAY;
  }

  /// Return the suspicion that a joint has not stopped, although its numbers say so.
  static double stop(const Memory & memory)
  {
    if (
      std::abs(memory.peak) < witness::MOVED ||
      std::abs(memory.speed) > witness::STOPPED * std::abs(memory.peak))
    {
      return 0.0;
    }
    return std::max(memory.behind * sign(memory.peak), 0.0) / witness::FROZEN;
  }

  /// Return the suspicion that a joint does not stand still, although its numbers repeat.
  static double stand(
    Stand & stand, double near, double slow, double a, double withstood, double moved, double dt,
    double learnt, bool exact, const Memory & memory)
  {
    const double q = memory.place, v = memory.speed;
    if (std::abs(q - stand.where) > near || std::abs(v - stand.with) > slow) {
      stand = Stand{};
      stand.where = q;
      stand.with = v;
      // a velocity that was wrong before the joint stood still says nothing about its positions
      stand.moving = std::abs(moved - v) < witness::AGREES * std::abs(v);
      stand.learnt = learnt;
      return 0.0;
    }
    const double beyond = std::abs(a) - memory.grip - stand.learnt - withstood;
    if (beyond > 0.0) {
      stand.gained += dt * std::copysign(beyond, a);
    }
    stand.lasts += dt;
    stand.way += dt * stand.gained;
    stand.course += stand.moving || exact ? dt * v : 0.0;
    return std::max(
      std::abs(stand.way) / witness::FROZEN, std::abs(stand.course) / witness::PASSED);
  }

  static double sign(double x) { return static_cast<double>((x > 0.0) - (x < 0.0)); }

  std::array<Memory, DOFS> memory_{};
  std::array<double, DOFS * DOFS> dense_{};
  int count_ = 0;
  bool moves_ = false;  // whether a controlled joint has another position than in the state before
};

}  // namespace @{namespace}
