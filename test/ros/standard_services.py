# SPDX-License-Identifier: Apache-2.0
"""Answers of the standard services of a simulator: accepted, or refused with a text; for tests."""

from support.refusals import worded


def done(answer):
    """Return an answer that must be a success."""
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    return answer


def refused(answer, code, words):
    """Check that an answer is a refusal with this code, and that its message has these words."""
    assert answer.result.result == code, answer.result
    assert words in answer.result.error_message
    worded("request", answer.result.error_message)


def hash_of(peer):
    """Return the hash of the state of the simulator."""
    return peer.trigger("simulator/state_hash")
