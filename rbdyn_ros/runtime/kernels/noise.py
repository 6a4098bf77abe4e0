# SPDX-License-Identifier: Apache-2.0
"""Random numbers that depend on seed, tick and purpose, but not on the numbers drawn before.

So the faults of the channel and of the encoders are independent, and a repeated run gets the same
numbers. Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014
(SplitMix64), used as a hash.
"""

from __future__ import annotations

import math

from rbdyn_ros.runtime.compiled import kernel

#: Purposes of random numbers.
COMMAND_JITTER, COMMAND_DROP, STATE_JITTER, STATE_DROP, ENCODER, SPEED, EFFORT, WIRE = range(8)

# constants of SplitMix64 as signed numbers, because int64 wraps around
_STEP = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_TOP34, _TOP37, _TOP33, _TOP53 = 2**34 - 1, 2**37 - 1, 2**33 - 1, 2**53 - 1


@kernel
def scramble(word: int) -> int:
    """Return a hash of a word: each bit of the hash depends on all bits of the word."""
    z = word + _STEP
    # >> fills in copies of the sign bit; & removes these copies
    z = (z ^ ((z >> 30) & _TOP34)) * _FIRST
    z = (z ^ ((z >> 27) & _TOP37)) * _SECOND
    return z ^ ((z >> 31) & _TOP33)


@kernel
def uniform(seed: int, tick: int, purpose: int, k: int) -> float:
    """Return a uniform random number in [0, 1) that depends only on the arguments."""
    word = scramble(scramble(scramble(seed) ^ tick) ^ (purpose * 2**40 + k))
    return float((word >> 11) & _TOP53) * 2.0**-53


@kernel
def normal(seed: int, tick: int, purpose: int, k: int) -> float:
    """Return a standard normal random number that depends only on the arguments (Box-Muller).

    k must be below 2^39.
    """
    # 1 - u avoids the logarithm of 0
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, tick, purpose, 2 * k)))
    return radius * math.cos(2.0 * math.pi * uniform(seed, tick, purpose, 2 * k + 1))
