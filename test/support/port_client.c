// SPDX-License-Identifier: Apache-2.0
/* A process that controls the simulator through shared memory, for tests and benchmarks.
 *
 *   port_client NAME COUNT [FLAW]   answer COUNT states; print the tick of each state, its age [ns],
 *                                   its numbers, the sensor values and the tick of the sensors
 *
 * The efforts are -2 q - v / 2 + 0.25 j for joint j. With the FLAW nan, mode or joint the process
 * first sends one bad command. With die it ends without a message, and with slow it waits 50 ms
 * before each answer.
 */
#include "rbdyn_hardware/client.h"

static void control(rbdyn_client * c)
{
  const double * q = rbdyn_position(c);
  const double * v = rbdyn_velocity(c);
  for (int64_t j = 0; j < c->joints; ++j) {
    c->mode[j] = rbdyn_accepts(c, j) ? RBDYN_MODE_EFFORT : RBDYN_MODE_NONE;
    c->effort[j] = -2.0 * q[j] - 0.5 * v[j] + 0.25 * (double)j;
  }
}

static void spoil(rbdyn_client * c, const char * flaw)
{
  control(c);
  if (!strcmp(flaw, "nan")) c->effort[1] = 0.0 / 0.0;
  if (!strcmp(flaw, "mode")) c->mode[1] = 7;
  if (!strcmp(flaw, "joint"))
    for (int64_t j = 0; j < c->joints; ++j)
      if (!rbdyn_accepts(c, j)) c->mode[j] = RBDYN_MODE_EFFORT;
  rbdyn_send(c);
}

int main(int count, char ** words)
{
  char why[400];
  rbdyn_client c;
  const char * flaw = count > 3 ? words[3] : "";
  if (rbdyn_open(&c, words[1], why, sizeof why)) {
    printf("refused: %s\n", why);
    return 1;
  }
  for (long left = atol(words[2]); left > 0; --left) {
    int found = rbdyn_wait(&c, 60 * (int64_t)1000000000);
    if (found != RBDYN_NEW) {
      printf("%s\n", found == RBDYN_ENDED ? "ended" : "timeout");
      return 1;
    }
    printf("%lld %lld", (long long)c.state[RBDYN_STATE_TICK],
      (long long)(rbdyn_now() - c.state[RBDYN_STATE_WALL]));
    for (int64_t k = 0; k < 3 * c.joints; ++k) printf(" %a", rbdyn_position(&c)[k]);
    while (c.values && c.value[0] < c.state[RBDYN_STATE_TICK])
      if (rbdyn_wait_values(&c, 60 * (int64_t)1000000000) != RBDYN_NEW) {
        printf("\nended\n");
        return 1;
      }
    if (c.values) printf(" %a", (double)c.value[0]);
    for (int64_t k = 0; k < c.values; ++k) printf(" %a", rbdyn_values(&c)[k]);
    printf("\n");
    fflush(stdout);
    if (*flaw && strcmp(flaw, "slow") && strcmp(flaw, "die")) {
      spoil(&c, flaw);
      flaw = "";
      struct timespec pause = {0, 50000000};
      nanosleep(&pause, NULL);
    }
    if (!strcmp(flaw, "slow")) {
      struct timespec pause = {0, 50000000};
      nanosleep(&pause, NULL);
    }
    control(&c);
    rbdyn_send(&c);
  }
  if (!strcmp(flaw, "die")) _exit(0);
  rbdyn_close(&c);
  return 0;
}
