// SPDX-License-Identifier: Apache-2.0
// The generated controller without ROS, as functions that ctypes can call.

#include <cstring>
#include <limits>

#include "arm.hpp"
#include "status.hpp"

using namespace ARM_NAMESPACE;

namespace
{

template <typename T>
const double * take(T & to, const double * from)
{
  std::memcpy(to.data(), from, sizeof(double) * to.size());
  return from + to.size();
}

State state_of(const double * q, const double * v)
{
  State state;
  take(state.q, q);
  take(state.v, v);
  return state;
}

const double * take(GainRows & to, const double * from)
{
  std::memcpy(to.data(), from, sizeof(to));
  return from + sizeof(to) / sizeof(double);
}

void write(const Verdict & verdict, double * out)
{
  const double values[] = {
    double(int(verdict.fault)), double(verdict.blind), double(verdict.joint), verdict.value,
    verdict.bound};
  std::memcpy(out, values, sizeof(values));
}

/// Opens private members of a class: templates that are instantiated explicitly may name them.
template <auto Member, auto & Place>
struct Opened
{
  static inline const bool done = ((Place = Member), true);
};

ArmLoopState Arm::* place_of_loop;
BlindState Arm::* place_of_blind;

template struct Opened<&Arm::s_, place_of_loop>;
template struct Opened<&Arm::b_, place_of_blind>;

struct EndingParts
{
  BlindState blind;
  Actuation actuation;
  Data d, own;
};

}  // namespace

extern "C" {

void * ending_new(const double * gains)
{
  ArmSettings settings;
  take(settings.blind.gains, gains);
  settings.blind.limits = settings.loop.limits;
  auto * parts = new EndingParts;
  parts->blind = settings.blind;
  endings::begin(parts->blind);
  return parts;
}

/// Write the efforts to `out`; return the phase, or -1 if no effort is commanded.
int ending_see(EndingParts * parts, const double * q, const double * v, double dt, double * out)
{
  Dofs effort{};
  const State state = state_of(q, v);
  if (!endings::see(
        parts->d, parts->own, parts->actuation, parts->blind, 0, state.q, state.v, dt, effort))
  {
    return -1;
  }
  std::memcpy(out, effort.data(), sizeof(Dofs));
  return int(parts->blind.phase);
}

void ending_delete(EndingParts * parts) { delete parts; }

void * gate_new(double acceleration, double blend_time, const double * rows)
{
  auto * gate = new ArmLoopState(ArmSettings().loop);
  std::memcpy(gate->limits.data(), rows, sizeof(gate->limits));
  gate->acceleration = acceleration;
  gate->blend_time = blend_time;
  gate->memory.fill(state_kernels::AGE, INFINITE);
  return gate;
}

/// Judge a state at a time [ns] of both clocks; return whether the state was dropped.
int gate_judge(ArmLoopState * gate, const double * q, const double * v, double time, double * out)
{
  const State state = state_of(q, v);
  const bool stored =
    measured::store(*gate, Table<3, DOFS>(state.q, state.v, Dofs{}), ALL_DOFS, ALL_DOFS);
  (void)gate_kernels::admit(*gate, Index(time), Index(time), stored);
  write(verdict_of(gate->wrong), out);
  return int(gate->dropped);
}

void gate_begin(ArmLoopState * gate, const double * effort)
{
  Joints first{};
  take(first, effort);
  gate_kernels::begin(*gate, first);
}

int gate_release(
  ArmLoopState * gate, const double * wanted, const double * holding, const double * q, double dt,
  int last, double * out)
{
  Dofs law{}, hold{};
  take(law, wanted);
  take(hold, holding);
  std::memcpy(gate->state.row(0).data(), q, sizeof(Dofs));
  const Index unfit = gate_kernels::release(*gate, law, hold, dt, last != 0);
  std::memcpy(out, gate->out.row(loop_state::RELEASED).data(), sizeof(Joints));
  return int(unfit);
}

void gate_delete(ArmLoopState * gate) { delete gate; }

Arm * arm_new(const double * s)
{
  ArmSettings settings;
  settings.loop.state_timeout = s[0];
  settings.loop.effort_rate = s[1];
  settings.loop.blend_time = s[2];
  settings.loop.latency = s[9];
  settings.simulated = s[10] != 0.0;
  settings.blind.blind_time = s[3];
  settings.arm.floating.fill(1, s[4]);
  settings.arm.tracking_tolerance = s[5];
  settings.arm.target_timeout = s[6];
  settings.actuation.own_gravity = s[7] != 0.0 ? 1 : 0;
  arm_kernels::compensate(settings.actuation, s[8]);
  settings.loop.period = s[11];
  settings.loop.contact = s[12];
  settings.arm.arm_tolerance.fill(s[13]);
  settings.arm.tests = s[14] != 0.0 ? 1 : 0;
  settings.trial.tolerance = s[15];
  s = take(settings.blind.gains, s + 16);
  take(settings.arm.springs, s);
  return new Arm(settings);
}

int arm_start(
  Arm * arm, const double * q, const double * v, const double * effort, int mode, char * out)
{
  Joints measured{};
  take(measured, effort);
  const Reason reason = arm->start(state_of(q, v), measured, Mode(mode));
  out[sentence(reason).copy(out, 999)] = 0;
  return int(reason.refusal);
}

/// Update the arm. `steady` is the steady clock [s], `felt` has the measured efforts, and `effort`
/// has the last efforts before the call and the new efforts after it.
int arm_update(
  Arm * arm, const double * q, const double * v, const double * felt, int readable,
  const double * reference, double period, double steady, double * effort)
{
  Input input;
  input.state = state_of(q, v);
  take(input.effort, felt);
  input.readable = readable != 0;
  input.period = period;
  input.steady = Index(1e9 * steady);
  input.reference.given = reference != nullptr;
  if (input.reference.given) {
    take(input.reference.a, take(input.reference.v, take(input.reference.q, reference)));
  }
  Joints efforts{};
  take(efforts, effort);
  const Answer answer = arm->update(input, efforts);
  std::memcpy(effort, efforts.data(), sizeof(Joints));
  return int(answer);
}

int arm_set_mode(Arm * arm, int mode) { return int(arm->set_mode(Mode(mode))); }

void arm_stop(Arm * arm) { arm->stop(); }

int arm_fault(Arm * arm, double * out)
{
  write(arm->fault(), out);
  return int(arm->phase());
}

/// Return the number of the newest refusal, and write its sentence of less than 1000 characters.
int arm_event(Arm * arm, char * out)
{
  const Reason reason = arm->event();
  out[sentence(reason).copy(out, 999)] = 0;
  return int(reason.refusal);
}

/// Move the arm to positions q with velocities v, and record no effort for this change.
void arm_kick(Arm * arm, const double * q, const double * v)
{
  ArmLoopState & loop = arm->*place_of_loop;
  std::memcpy(loop.state.row(0).data(), q, sizeof(Dofs));
  std::memcpy(loop.state.row(1).data(), v, sizeof(Dofs));
  loop.memory = {};
  loop.memory.fill(state_kernels::AGE, INFINITE);
  witness::pause(arm->*place_of_blind);
  velocity_vote::forget(arm->*place_of_blind);
}

void arm_clear(Arm * arm) { arm->clear_fault(); }

void arm_delete(Arm * arm) { delete arm; }
}
