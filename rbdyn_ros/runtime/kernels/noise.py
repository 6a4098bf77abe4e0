# SPDX-License-Identifier: Apache-2.0
"""Random numbers as a function of seed, tick and purpose, not of the numbers drawn before.

So the faults of the channel and of the encoders are independent, and a repeated run gets the same
numbers. Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014
(SplitMix64), used as a hash.
"""

from __future__ import annotations

import math

from rbdyn_ros.runtime.compiled import kernel

#: Purposes of random numbers.
COMMAND_JITTER, COMMAND_DROP, STATE_JITTER, STATE_DROP, ENCODER, SPEED, EFFORT, WIRE = range(8)

# the constants of SplitMix64 as signed numbers; int64 wraps round
_STEP = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_TOP34, _TOP37, _TOP33, _TOP53 = 2**34 - 1, 2**37 - 1, 2**33 - 1, 2**53 - 1


@kernel
def scramble(word: int) -> int:
    """Return a hash of a word: every bit depends on every bit of the argument."""
    z = word + _STEP
    # >> copies the sign of a signed number; & removes the copies
    z = (z ^ ((z >> 30) & _TOP34)) * _FIRST
    z = (z ^ ((z >> 27) & _TOP37)) * _SECOND
    return z ^ ((z >> 31) & _TOP33)


@kernel
def uniform(seed: int, tick: int, purpose: int, k: int) -> float:
    """Return a number in [0, 1), which depends only on the arguments."""
    word = scramble(scramble(scramble(seed) ^ tick) ^ (purpose * 2**40 + k))
    return float((word >> 11) & _TOP53) * 2.0**-53


@kernel
def normal(seed: int, tick: int, purpose: int, k: int) -> float:
    """Return a number from the standard normal distribution, by the Box-Muller transform.

    k is below 2^39.
    """
    # 1 - u avoids the logarithm of 0
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, tick, purpose, 2 * k)))
    return radius * math.cos(2.0 * math.pi * uniform(seed, tick, purpose, 2 * k + 1))
