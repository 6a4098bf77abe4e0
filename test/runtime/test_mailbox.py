# SPDX-License-Identifier: Apache-2.0
"""Threads read consistent records of a mailbox in the order in which another thread posts them."""

import threading
import time

import numpy as np
import pytest

from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.compiled import kernel, load_acquire
from rbdyn_ros.runtime.mailbox import Mailbox, fetch, post

N = 400  # numbers of a record; the scheduler can interrupt a thread within a record


@kernel
def write_many(version, slots, float_slots, words, floats, control):
    """Post records until control[0] is set; all numbers of record k are k."""
    value = 0
    while load_acquire(control, 0) == 0:
        value += 1
        words[:] = value
        floats[:] = value
        post(version, slots, float_slots, words, floats)


@kernel
def read_many(version, slots, float_slots, words, floats, rounds, checked):
    """Return the numbers of wrong records, of the last record, and of failed reads."""
    wrong, last, lost = 0, 0, 0
    for _ in range(rounds):
        found = fetch(version, slots, float_slots, 0, words, floats)
        if found < 0:
            lost += 1
            continue
        if found == 0:
            continue
        torn = found < last
        for k in range(len(words)):
            torn = torn or (checked and words[k] != found)
        for k in range(len(floats)):
            torn = torn or (checked and floats[k] != found)
        wrong += torn
        last = found
    return wrong, last, lost


@kernel
def read_carelessly(slots, rounds):
    """Return the number of mixed records that a reader without versions gets."""
    torn = 0
    for _ in range(rounds):
        first = slots[0, 0]
        for k in range(slots.shape[1]):
            if slots[0, k] != first:
                torn += 1
                break
    return torn


def writing(box):
    control = np.zeros(1, np.int64)
    work = np.zeros(N, np.int64), np.zeros(N)
    thread = threading.Thread(target=write_many, args=(*box.arrays, *work, control))
    thread.start()
    return thread, control


@pytest.mark.parametrize("depth", [2, 64])
def test_a_reader_gets_no_record_that_mixes_two_records(depth):
    box = Mailbox.make(N, N, depth)
    thread, control = writing(box)
    try:
        work = np.zeros(N, np.int64), np.zeros(N)
        wrong = last = lost = rounds = careless = 0
        give_up = time.monotonic() + 300.0  # time limit
        while rounds < 100_000 or last <= 10_000 or careless == 0:
            assert time.monotonic() < give_up, f"{last} records, {careless} mixed without versions"
            bad, last, missed = read_many(*box.arrays, *work, 1000, True)
            wrong, lost, rounds = wrong + bad, lost + missed, rounds + 1000
            careless += read_carelessly(box.words, 1000)
    finally:
        control[0] = 1
        thread.join()
    assert wrong == 0
    assert lost < rounds


def test_fetch_returns_records_in_order_or_the_newest_record():
    box = Mailbox.make(1, 1, 8)
    words, floats = np.zeros(1, np.int64), np.zeros(1)
    assert fetch(*box.arrays, 0, words, floats) == 0
    for value in range(1, 6):
        post(*box.arrays, np.array([value]), np.array([value / 2]))
    for wanted in range(1, 6):
        assert fetch(*box.arrays, wanted, words, floats) == wanted
        assert (words[0], floats[0]) == (wanted, wanted / 2)
    assert fetch(*box.arrays, 6, words, floats) == 0
    assert fetch(*box.arrays, 0, words, floats) == 5
    for value in range(6, 20):
        post(*box.arrays, np.array([value]), np.array([0.0]))
    assert fetch(*box.arrays, 6, words, floats) == 19  # record 6 is overwritten
