// SPDX-License-Identifier: Apache-2.0
/* The client of a simulator of rbdyn_ros through shared memory, in C99 or C++ on Linux.
 *
 *   rbdyn_client c;
 *   if (rbdyn_open(&c, "arm", why, sizeof why)) ...          why has the reason
 *   while (rbdyn_wait(&c, 1000000000) == RBDYN_NEW) {         copies the newest state
 *     double q = rbdyn_position(&c)[j];
 *     c.mode[j] = RBDYN_MODE_EFFORT; c.effort[j] = 1.0;       commands stay until changed
 *     rbdyn_send(&c);                                         answers the copied state
 *   }
 *   rbdyn_close(&c);
 *
 * Only rbdyn_open and rbdyn_close allocate, and only rbdyn_wait waits. Use a client in one thread.
 * Files that include this header need _GNU_SOURCE, which C++ on Linux has by default.
 */
#ifndef RBDYN_HARDWARE__CLIENT_H_
#define RBDYN_HARDWARE__CLIENT_H_

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rbdyn_hardware/layout.h"

/* Results of rbdyn_wait. */
enum { RBDYN_NEW = 0, RBDYN_TIMEOUT = 1, RBDYN_ENDED = 2 };

typedef struct {
  int file;
  int64_t * memory;      /* the shared memory as words */
  int64_t size;          /* its length [bytes] */
  int64_t joints;        /* number of joints */
  int64_t values;        /* number of sensor values */
  int64_t names_at, kinds_at;
  int64_t seen;          /* number of the copied state */
  int64_t seen_values;   /* number of the copied sensor values */
  int64_t * state;       /* copy of a state: words, positions, velocities, efforts */
  int64_t * value;       /* copy of the sensor values: their tick, then the values */
  int64_t * command;     /* the next command; the pointers below are inside */
  int64_t * mode;        /* mode of each joint, RBDYN_MODE_... */
  double * position;     /* goal [rad or m] */
  double * velocity;     /* goal or feed-forward [rad/s or m/s] */
  double * effort;       /* effort or feed-forward [N m or N] */
  double * stiffness;    /* [N m/rad or N/m] */
  double * damping;      /* [N m s/rad or N s/m] */
  int64_t states_at, state_stride, state_depth;
  int64_t commands_at, command_stride, command_depth;
  int64_t values_at, value_stride, value_depth;
} rbdyn_client;

static inline int64_t rbdyn_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static inline int64_t rbdyn_load(const rbdyn_client * c, int word)
{
  return __atomic_load_n(c->memory + word, __ATOMIC_ACQUIRE);
}

static inline int rbdyn_lock(int file, int command, short byte, short * kind)
{
  struct flock lock;
  memset(&lock, 0, sizeof lock);
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int done = fcntl(file, command, &lock);
  if (kind) *kind = lock.l_type;
  return done;
}

/* Return whether the process of the simulator runs and serves this memory. */
static inline int rbdyn_is_served(const rbdyn_client * c)
{
  short kind = F_UNLCK;
  if (rbdyn_load(c, RBDYN_HEAD_CLOSED)) return 0;
  return rbdyn_lock(c->file, F_OFD_GETLK, 0, &kind) == 0 && kind != F_UNLCK;
}

static inline void rbdyn_close(rbdyn_client * c)
{
  if (c->memory) {
    int64_t self = getpid();
    __atomic_compare_exchange_n(
      c->memory + RBDYN_HEAD_CLIENT, &self, (int64_t)0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    munmap(c->memory, (size_t)c->size);
  }
  if (c->file >= 0) close(c->file);
  free(c->state);
  free(c->value);
  free(c->command);
  memset(c, 0, sizeof *c);
  c->file = -1;
}

/* Return whether `count` parts of `bytes` each lie inside the memory, behind its head. Sums and
 * products of numbers in the memory could overflow, so none are computed. */
static inline int rbdyn_holds(const rbdyn_client * c, int64_t at, int64_t count, int64_t bytes)
{
  return at >= 8 * RBDYN_HEAD_WORDS && at % 8 == 0 && at <= c->size && count >= 0 && bytes > 0 &&
         count <= (c->size - at) / bytes;
}

/* Return whether slots of `length` numbers or more lie inside the memory. */
static inline int rbdyn_fits(
  const rbdyn_client * c, int64_t at, int64_t stride, int64_t depth, int64_t length)
{
  return stride >= length && stride <= c->size / 8 && depth >= 2 &&
         rbdyn_holds(c, at, depth, 8 * stride);
}

/* Return whether all names lie inside the memory and end with a zero. */
static inline int rbdyn_has_names(const rbdyn_client * c)
{
  if (!rbdyn_holds(c, c->names_at, c->joints + c->values, RBDYN_NAME)) return 0;
  const char * name = (const char *)c->memory + c->names_at;
  for (int64_t k = 0; k < c->joints + c->values; ++k, name += RBDYN_NAME)
    if (!memchr(name, 0, RBDYN_NAME)) return 0;
  return 1;
}

static inline int rbdyn_read_head(rbdyn_client * c)
{
  const int64_t * m = c->memory;
  c->names_at = m[RBDYN_HEAD_NAMES_AT];
  c->kinds_at = m[RBDYN_HEAD_KINDS_AT];
  c->joints = m[RBDYN_HEAD_JOINTS];
  c->values = m[RBDYN_HEAD_VALUES];
  c->states_at = m[RBDYN_HEAD_STATES_AT];
  c->state_stride = m[RBDYN_HEAD_STATE_STRIDE];
  c->state_depth = m[RBDYN_HEAD_STATE_DEPTH];
  c->commands_at = m[RBDYN_HEAD_COMMANDS_AT];
  c->command_stride = m[RBDYN_HEAD_COMMAND_STRIDE];
  c->command_depth = m[RBDYN_HEAD_COMMAND_DEPTH];
  c->values_at = m[RBDYN_HEAD_VALUES_AT];
  c->value_stride = m[RBDYN_HEAD_VALUE_STRIDE];
  c->value_depth = m[RBDYN_HEAD_VALUE_DEPTH];
  int64_t n = c->joints, most = c->size / RBDYN_NAME;
  return m[RBDYN_HEAD_SIZE] == c->size && n >= 0 && n <= most && c->values >= 0 &&
         c->values <= most && rbdyn_has_names(c) && rbdyn_holds(c, c->kinds_at, n, 8) &&
         rbdyn_fits(c, c->states_at, c->state_stride, c->state_depth, RBDYN_STATE_WORDS + 3 * n) &&
         rbdyn_fits(
           c, c->commands_at, c->command_stride, c->command_depth, RBDYN_COMMAND_WORDS + 6 * n) &&
         rbdyn_fits(c, c->values_at, c->value_stride, c->value_depth, 1 + c->values);
}

static inline int rbdyn_allocate(rbdyn_client * c)
{
  c->state = (int64_t *)calloc((size_t)c->state_stride, 8);
  c->value = (int64_t *)calloc((size_t)c->value_stride, 8);
  c->command = (int64_t *)calloc((size_t)c->command_stride, 8);
  if (!c->state || !c->value || !c->command) return -1;
  c->mode = c->command + RBDYN_COMMAND_WORDS;
  c->position = (double *)(c->mode + c->joints);
  c->velocity = c->position + c->joints;
  c->effort = c->velocity + c->joints;
  c->stiffness = c->effort + c->joints;
  c->damping = c->stiffness + c->joints;
  for (int64_t j = 0; j < c->joints; ++j) c->mode[j] = RBDYN_MODE_NONE;
  return 0;
}

/* Write the reason why the memory cannot be used into `why`; return -1. */
static inline int rbdyn_refuse(rbdyn_client * c, char * why, size_t size, const char * text,
  const char * name, long long number)
{
  if (why && size) {
    int n = snprintf(why, size, "the shared memory '%s' ", name);
    if (n >= 0 && (size_t)n < size) snprintf(why + n, size - (size_t)n, text, number);
  }
  rbdyn_close(c);
  return -1;
}

/* Connect to the simulator that serves a memory; return 0, or -1 with the reason in `why`. */
static inline int rbdyn_open(rbdyn_client * c, const char * name, char * why, size_t size)
{
  char path[160];
  struct stat status;
  memset(c, 0, sizeof *c);
  c->file = -1;
  if (strchr(name, '/') || strlen(name) > 100)
    return rbdyn_refuse(c, why, size, "has no valid name", name, 0);
  snprintf(path, sizeof path, "/dev/shm/rbdyn.%s", name);
  c->file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (c->file < 0 && errno == ENOENT)
    return rbdyn_refuse(c, why, size,
      "does not exist: start the simulator first, with its parameter shared_memory", name, 0);
  if (c->file < 0 || fstat(c->file, &status))
    return rbdyn_refuse(c, why, size, "cannot be opened (errno %lld)", name, errno);
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return rbdyn_refuse(c, why, size,
      "belongs to user %lld: simulator and client must run as one user", name,
      (long long)status.st_uid);
  c->size = (int64_t)status.st_size;
  if (c->size < 8 * RBDYN_HEAD_WORDS)
    return rbdyn_refuse(c, why, size, "is not a memory of rbdyn_ros, or is still being made", name, 0);
  void * memory = mmap(NULL, (size_t)c->size, PROT_READ | PROT_WRITE, MAP_SHARED, c->file, 0);
  if (memory == MAP_FAILED)
    return rbdyn_refuse(c, why, size, "cannot be mapped (errno %lld)", name, errno);
  c->memory = (int64_t *)memory;
  if (rbdyn_load(c, RBDYN_HEAD_MAGIC) != RBDYN_MAGIC)
    return rbdyn_refuse(c, why, size, "is not a memory of rbdyn_ros, or is still being made", name, 0);
  int64_t version = c->memory[RBDYN_HEAD_VERSION];
  if (version != RBDYN_VERSION)
    return rbdyn_refuse(c, why, size,
      "has version %lld of the layout; this client needs another one: build both sides from one "
      "release of rbdyn_ros", name, (long long)version);
  if (!rbdyn_read_head(c)) return rbdyn_refuse(c, why, size, "is damaged", name, 0);
  if (!rbdyn_is_served(c))
    return rbdyn_refuse(c, why, size,
      "is left over from process %lld, which has ended: start the simulator again", name,
      (long long)c->memory[RBDYN_HEAD_SERVER]);
  if (rbdyn_lock(c->file, F_OFD_SETLK, 1, NULL))
    return rbdyn_refuse(c, why, size, "is used by process %lld already: end it first", name,
      (long long)c->memory[RBDYN_HEAD_CLIENT]);
  if (rbdyn_allocate(c)) return rbdyn_refuse(c, why, size, "takes too much memory", name, 0);
  __atomic_store_n(c->memory + RBDYN_HEAD_CLIENT, (int64_t)getpid(), __ATOMIC_SEQ_CST);
  return 0;
}

/* Return the name of joint k; from k = joints on, return the names of sensor values. */
static inline const char * rbdyn_name(const rbdyn_client * c, int64_t k)
{
  return (const char *)c->memory + c->names_at + RBDYN_NAME * k;
}

/* Return the number of a joint, or -1 if there is no such joint. */
static inline int64_t rbdyn_joint(const rbdyn_client * c, const char * name)
{
  for (int64_t j = 0; j < c->joints; ++j)
    if (!strncmp(rbdyn_name(c, j), name, RBDYN_NAME)) return j;
  return -1;
}

/* Return the number of a sensor value such as "imu/orientation.x", or -1 if it does not exist. */
static inline int64_t rbdyn_sensor_value(const rbdyn_client * c, const char * name)
{
  for (int64_t k = 0; k < c->values; ++k)
    if (!strncmp(rbdyn_name(c, c->joints + k), name, RBDYN_NAME)) return k;
  return -1;
}

/* Return whether a joint accepts commands. */
static inline int rbdyn_accepts(const rbdyn_client * c, int64_t joint)
{
  return c->memory[c->kinds_at / 8 + joint] == 1;
}

static inline double * rbdyn_position(rbdyn_client * c)
{
  return (double *)(c->state + RBDYN_STATE_WORDS);
}

static inline double * rbdyn_velocity(rbdyn_client * c) { return rbdyn_position(c) + c->joints; }

static inline double * rbdyn_effort(rbdyn_client * c) { return rbdyn_velocity(c) + c->joints; }

static inline double * rbdyn_values(rbdyn_client * c) { return (double *)(c->value + 1); }

/* Copy the newest record of a mailbox; return its number, or 0 if there is none. */
static inline int64_t rbdyn_copy(
  const rbdyn_client * c, int version, int64_t at, int64_t stride, int64_t depth, int64_t * to)
{
  for (;;) {
    int64_t newest = rbdyn_load(c, version);
    if (newest <= 0) return 0;
    memcpy(to, c->memory + at / 8 + stride * (newest % depth), (size_t)(8 * stride));
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (rbdyn_load(c, version) - newest < depth - 1) return newest;
  }
}

/* Wait until the version of a mailbox differs from `seen`, or until the timeout. */
static inline int rbdyn_wait_version(
  const rbdyn_client * c, int version, int64_t seen, int64_t timeout_ns)
{
  int64_t end = rbdyn_now() + timeout_ns;
  while (rbdyn_load(c, version) == seen) {
    int64_t left = end - rbdyn_now();
    if (rbdyn_load(c, RBDYN_HEAD_CLOSED)) return RBDYN_ENDED;
    if (left <= 0) return rbdyn_is_served(c) ? RBDYN_TIMEOUT : RBDYN_ENDED;
    if (left > 100000000) left = 100000000;
    struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    long woken = syscall(SYS_futex, c->memory + version, FUTEX_WAIT, (uint32_t)seen, &t, NULL, 0);
    if (woken && errno == ETIMEDOUT && !rbdyn_is_served(c)) return RBDYN_ENDED;
  }
  return RBDYN_NEW;
}

/* Wait for a newer state than the copied state, and copy the newest; timeout 0: do not wait. */
static inline int rbdyn_wait(rbdyn_client * c, int64_t timeout_ns)
{
  int found = rbdyn_wait_version(c, RBDYN_HEAD_STATE_VERSION, c->seen, timeout_ns);
  if (found == RBDYN_NEW)
    c->seen = rbdyn_copy(
      c, RBDYN_HEAD_STATE_VERSION, c->states_at, c->state_stride, c->state_depth, c->state);
  return found;
}

/* Wait for newer sensor values than the copied values, and copy the newest; 0: do not wait. */
static inline int rbdyn_wait_values(rbdyn_client * c, int64_t timeout_ns)
{
  int found = rbdyn_wait_version(c, RBDYN_HEAD_VALUE_VERSION, c->seen_values, timeout_ns);
  if (found == RBDYN_NEW)
    c->seen_values = rbdyn_copy(
      c, RBDYN_HEAD_VALUE_VERSION, c->values_at, c->value_stride, c->value_depth, c->value);
  return found;
}

/* Send the commands as the answer to the copied state. */
static inline void rbdyn_send(rbdyn_client * c)
{
  uint64_t next = (uint64_t)rbdyn_load(c, RBDYN_HEAD_COMMAND_VERSION) + 1;
  int64_t number = (int64_t)(next % (uint64_t)c->command_depth);
  int64_t * slot = c->memory + c->commands_at / 8 + c->command_stride * number;
  c->command[RBDYN_COMMAND_TICK] = c->state[RBDYN_STATE_TICK];
  c->command[RBDYN_COMMAND_WALL] = rbdyn_now();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  memcpy(slot, c->command, (size_t)(8 * c->command_stride));
  __atomic_store_n(c->memory + RBDYN_HEAD_COMMAND_VERSION, (int64_t)next, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, c->memory + RBDYN_HEAD_COMMAND_VERSION, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif  /* RBDYN_HARDWARE__CLIENT_H_ */
