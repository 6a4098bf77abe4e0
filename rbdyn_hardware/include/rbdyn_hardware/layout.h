// SPDX-License-Identifier: Apache-2.0
/* The layout of the memory that a simulator of rbdyn_ros shares with another process.
 * Written by `python -m rbdyn_ros.runtime.port_layout`, whose docstring describes it;
 * do not edit. */
#ifndef RBDYN_HARDWARE__LAYOUT_H_
#define RBDYN_HARDWARE__LAYOUT_H_

#define RBDYN_MAGIC 0x4d48534e59444252LL
#define RBDYN_VERSION 2
#define RBDYN_NAME 128
#define RBDYN_HEAD_WORDS 64
#define RBDYN_STATE_WORDS 7
#define RBDYN_COMMAND_WORDS 2

enum {
  RBDYN_HEAD_MAGIC = 0,  /* MAGIC, written last */
  RBDYN_HEAD_VERSION = 1,  /* VERSION */
  RBDYN_HEAD_SIZE = 2,  /* size of the memory [bytes] */
  RBDYN_HEAD_JOINTS = 3,  /* number of joints */
  RBDYN_HEAD_VALUES = 4,  /* number of sensor values */
  RBDYN_HEAD_PERIOD = 5,  /* length of a tick [ns] */
  RBDYN_HEAD_TIME_MODE = 6,  /* 0 real time, 1 lock-step, 2 as fast as possible */
  RBDYN_HEAD_TIMEOUT = 7,  /* age at which a command expires [ns] */
  RBDYN_HEAD_SERVER = 8,  /* process that made the memory */
  RBDYN_HEAD_CLIENT = 9,  /* process that uses it; 0: none */
  RBDYN_HEAD_CLOSED = 10,  /* 1: the server has ended */
  RBDYN_HEAD_REFUSED = 11,  /* number of refused commands */
  RBDYN_HEAD_REFUSED_JOINT = 12,  /* joint of the last refused command, or -1 */
  RBDYN_HEAD_REFUSED_REASON = 13,  /* reason of this refusal: 1 mode, 2 joint without commands, 3 number, 4 age */
  RBDYN_HEAD_NAMES_AT = 14,  /* offset of the names of joints, then of sensor values [bytes] */
  RBDYN_HEAD_KINDS_AT = 15,  /* offset of the joints' kinds: 1 accepts commands, 0 state only */
  RBDYN_HEAD_STATES_AT = 16,  /* offset of the slots of states */
  RBDYN_HEAD_STATE_STRIDE = 17,  /* length of a slot [numbers] */
  RBDYN_HEAD_STATE_DEPTH = 18,  /* number of slots */
  RBDYN_HEAD_COMMANDS_AT = 19,  /* offset of the slots of commands */
  RBDYN_HEAD_COMMAND_STRIDE = 20,  /* length of a slot [numbers] */
  RBDYN_HEAD_COMMAND_DEPTH = 21,  /* number of slots */
  RBDYN_HEAD_VALUES_AT = 22,  /* offset of the slots of sensor values */
  RBDYN_HEAD_VALUE_STRIDE = 23,  /* length of a slot [numbers]: the tick, then the values */
  RBDYN_HEAD_VALUE_DEPTH = 24,  /* number of slots */
  RBDYN_HEAD_STATE_VERSION = 40,  /* number of the newest state; it is in slot version % depth */
  RBDYN_HEAD_COMMAND_VERSION = 48,  /* number of the newest command */
  RBDYN_HEAD_VALUE_VERSION = 56,  /* number of the newest sensor values */
};

enum {
  RBDYN_STATE_TICK = 0,  /* tick of the measurement */
  RBDYN_STATE_EPOCH = 1,  /* number of resets of time and of loaded states */
  RBDYN_STATE_PAUSED = 2,  /* 1: time is paused */
  RBDYN_STATE_FAULT = 3,  /* joint of the Model that diverged, or -1 */
  RBDYN_STATE_STALE = 4,  /* number of dofs without a command in force */
  RBDYN_STATE_WALL = 5,  /* time of writing, CLOCK_MONOTONIC [ns] */
  RBDYN_STATE_TIME = 6,  /* simulated time [s], a floating-point number */
};

enum {
  RBDYN_COMMAND_TICK = 0,  /* tick of the state that the command answers; counts in lock-step */
  RBDYN_COMMAND_WALL = 1,  /* time of writing, CLOCK_MONOTONIC [ns] */
};

enum {
  RBDYN_MODE_NONE = -1,
  RBDYN_MODE_EFFORT = 0,
  RBDYN_MODE_POSITION = 1,
  RBDYN_MODE_VELOCITY = 2,
  RBDYN_MODE_IMPEDANCE = 3,
};

#endif  /* RBDYN_HARDWARE__LAYOUT_H_ */
