# SPDX-License-Identifier: Apache-2.0
"""Random numbers of the loop come from SplitMix64, are uniform or normal, and independent."""

import math

import numpy as np
import pytest

from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.kernels import noise
from rbdyn_ros.runtime.kernels.noise import normal, scramble, uniform

MASK = 2**64 - 1
N = 20_000


def splitmix(word):
    """Return the output of SplitMix64 for a word, computed with exact integers."""
    z = (word + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


@pytest.mark.parametrize("word", [0, 1, -1, 2**63 - 1, -(2**63), 1234567, -987654321])
def test_scramble_equals_splitmix64(word):
    assert int(scramble(word)) & MASK == splitmix(word & MASK)


def test_scramble_returns_the_published_outputs_of_splitmix64():
    # first outputs of a generator that starts at 1234567 (Steele et al.)
    words, state = [], 1234567
    for _ in range(3):
        words.append(int(scramble(state)) & MASK)
        state = (state + 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def drawn(draw, **fixed):
    what = {"seed": 1, "tick": 0, "purpose": noise.ENCODER, "k": 0} | fixed
    running = next(name for name, value in what.items() if value is None)
    return np.array([draw(*{**what, running: i}.values()) for i in range(N)])


@pytest.mark.parametrize("running", ["seed", "tick", "k"])
def test_numbers_of_uniform_are_uniform_and_uncorrelated(running):
    numbers = drawn(uniform, **{running: None})
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, 20, (0.0, 1.0))[0]
    chi2 = ((counts - N / 20) ** 2 / (N / 20)).sum()
    assert chi2 < 43.8  # 19 degrees of freedom: one in a thousand samples exceeds it
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4.0 / math.sqrt(N)


def test_numbers_of_normal_have_a_standard_normal_distribution():
    numbers = drawn(normal, tick=None)
    assert abs(numbers.mean()) < 4.0 / math.sqrt(N)
    assert abs(numbers.std() - 1.0) < 4.0 / math.sqrt(2 * N)
    share = (np.abs(numbers) < 1.0).mean()
    assert abs(share - math.erf(math.sqrt(0.5))) < 4.0 * math.sqrt(0.22 / N)


def test_numbers_for_other_purposes_dofs_and_seeds_are_uncorrelated():
    first = drawn(normal, tick=None)
    for other in ({"purpose": noise.SPEED}, {"k": 1}, {"seed": 2}):
        second = drawn(normal, tick=None, **other)
        assert abs(np.corrcoef(first, second)[0, 1]) < 4.0 / math.sqrt(N)
