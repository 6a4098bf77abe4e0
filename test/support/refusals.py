# SPDX-License-Identifier: Apache-2.0
"""Check refusals by the error's class, code and element, but not by its text.

The texts are in test/messages.txt. A run prints at its end how many messages the file lacks.
Missing messages fail no test, because some quote Python or a library and differ by release.
"""

from contextlib import contextmanager

import pytest

from rbdyn_ros.errors import RbdynError
from support.messages import Messages

#: Messages of the refusals of this session.
SEEN = Messages()


def worded(code, text):
    """Record the text of a refusal with its code."""
    SEEN.add(code, str(text))


@contextmanager
def refused(error, codes, element=None, **fields):
    """Expect a refusal with findings: `with refused(ModelError, "unknown-frame", "frame 'x'"):`.

    Args:
        error: class of the error.
        codes: code of the only finding, or the codes of all findings in order.
        element: element of the first finding; None allows any.
        fields: further attributes of the first finding: line, found.

    Yields:
        The object of pytest.raises, whose attribute `value` is the error.
    """
    with pytest.raises(error) as caught:
        yield caught
    refusal = caught.value
    assert isinstance(refusal, RbdynError)
    expected = [codes] if isinstance(codes, str) else list(codes)
    assert [finding.code for finding in refusal.findings] == expected, str(refusal)
    if element is not None:
        fields["element"] = element
    for name, value in fields.items():
        assert getattr(refusal, name) == value, f"{name}: {getattr(refusal, name)!r}"
    for finding in refusal.findings:
        worded(finding.code, finding.message)
