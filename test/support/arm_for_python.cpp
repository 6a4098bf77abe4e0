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

const double * take(Gains & to, const double * from)
{
  return take(to.damping, take(to.stiffness, from));
}

void write(const Verdict & verdict, double * out)
{
  const double values[] = {
    double(int(verdict.fault)), double(verdict.blind), double(verdict.moved),
    double(verdict.joint), verdict.value, verdict.bound};
  std::memcpy(out, values, sizeof(values));
}

struct GateParts
{
  explicit GateParts(const Limits & limits) : inspection(limits), efforts(limits) {}
  Inspection inspection;
  EffortGate efforts;
};

/// Opens private members of a class: templates that are instantiated explicitly may name them.
template <auto Member, auto & Place>
struct Opened
{
  static inline const bool done = ((Place = Member), true);
};

State Arm::* place_of_state;
Inspection Arm::* place_of_inspection;
BlindState Arm::* place_of_blind;

template struct Opened<&Arm::state_, place_of_state>;
template struct Opened<&Arm::inspection_, place_of_inspection>;
template struct Opened<&Arm::blind_, place_of_blind>;

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
  take(settings.tracking, gains);
  auto * parts = new EndingParts;
  parts->blind = memory_of(settings);
  endings::begin(parts->blind);
  return parts;
}

/// Return the phase, or -1 for silence.
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

void * gate_new(double acceleration, const double * rows)
{
  Limits limits;
  limits.acceleration = acceleration;
  for (Joints * row : {&limits.lower, &limits.upper, &limits.velocity, &limits.effort,
                       &limits.power, &limits.gain}) {
    rows = take(*row, rows);
  }
  return new GateParts(limits);
}

void gate_judge(
  GateParts * gate, const double * q, const double * v, const double * q0, const double * v0,
  double step, double * out)
{
  write(
    gate->inspection.judge(
      state_of(q, v), state_of(q0, v0), step, gate->efforts.released()),
    out);
}

void gate_begin(GateParts * gate, const double * effort)
{
  Joints first{};
  take(first, effort);
  gate->efforts.begin(first);
}

int gate_release(
  GateParts * gate, const double * wanted, const double * holding, const double * q, double rate,
  double dt, double blend_time, double * out)
{
  Dofs law{}, hold{}, place{};
  take(law, wanted);
  take(hold, holding);
  take(place, q);
  const Index unfit = gate->efforts.release(law, hold, place, rate, dt, blend_time);
  std::memcpy(out, gate->efforts.released().data(), sizeof(Joints));
  return int(unfit);
}

void gate_delete(GateParts * gate) { delete gate; }

Arm * arm_new(const double * s)
{
  ArmSettings settings;
  settings.gate = {s[0], s[1], s[2]};
  settings.gate.latency_limit = s[9];
  settings.gate.simulated = s[10] != 0.0;
  settings.blind_time = s[3];
  settings.gravity_damping = s[4];
  settings.tracking_tolerance = s[5];
  settings.target_timeout = s[6];
  settings.own_gravity = s[7] != 0.0;
  settings.friction = s[8];
  settings.period = s[11];
  settings.limits.contact = s[12];
  settings.arm_tolerance.fill(s[13]);
  settings.start_up_test = s[14] != 0.0;
  settings.start_up_tolerance = s[15];
  s = take(settings.tracking, s + 16);
  take(settings.soft, s);
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

/// steady: steady clock [s]; felt: measured efforts; effort: in and out.
int arm_update(
  Arm * arm, const double * q, const double * v, const double * felt, int readable,
  const double * reference, double period, double steady, double * effort)
{
  Input input;
  input.state = state_of(q, v);
  take(input.effort, felt);
  input.readable = readable != 0;
  input.period = period;
  input.steady = nanoseconds(steady);
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

void arm_set_mode(Arm * arm, int mode) { arm->set_mode(Mode(mode)); }

int arm_fault(Arm * arm, double * out)
{
  write(arm->fault(), out);
  return int(arm->phase());
}

/// Return the number of the newest refusal; write its sentence, of less than 1000 characters.
int arm_event(Arm * arm, char * out)
{
  const Reason reason = arm->event();
  out[sentence(reason).copy(out, 999)] = 0;
  return int(reason.refusal);
}

/// Let the arm believe that it has moved to this state, by no effort.
void arm_kick(Arm * arm, const double * q, const double * v)
{
  arm->*place_of_state = state_of(q, v);
  arm->*place_of_inspection = Inspection(Limits());
  witness::pause(arm->*place_of_blind);
  velocity_vote::forget(arm->*place_of_blind);
}

void arm_clear(Arm * arm) { arm->clear_fault(); }

void arm_delete(Arm * arm) { delete arm; }
}
