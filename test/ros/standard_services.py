# SPDX-License-Identifier: Apache-2.0
"""Check the responses of a simulator's standard services."""

from support.refusals import worded


def done(answer):
    """Return a response, after asserting that it reports success."""
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    return answer


def refused(answer, code, words):
    """Assert that a response is a refusal with this code and these words in its message."""
    assert answer.result.result == code, answer.result
    assert words in answer.result.error_message
    worded("request", answer.result.error_message)


def hash_of(peer):
    """Return the hash of the simulator's state."""
    return peer.trigger("simulator/state_hash")
