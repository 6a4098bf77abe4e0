# SPDX-License-Identifier: Apache-2.0
"""Refusals: tests assert the class of an error, its code and its element, not its text.

The words are in test/messages.txt; a run ends with the number of messages that the file lacks.
They fail no test, for some of them quote Python or a library and differ between releases.
"""

from contextlib import contextmanager

import pytest

from rbdyn_ros.errors import RbdynError
from support.messages import Messages

#: Messages of the refusals of this session.
SEEN = Messages()


def worded(code, text):
    """Record the text of a refusal."""
    SEEN.add(code, str(text))


@contextmanager
def refused(error, codes, element=None, **fields):
    """Expect one or more findings: `with refused(ModelError, "unknown-frame", "frame 'x'"):`.

    Args:
        error: class of the error.
        codes: code of the finding, or a list with the code of each finding in order.
        element: element of the first finding; None: any.
        fields: further attributes of the first finding: line, found.

    Yields:
        what pytest.raises yields; its attribute value is the error.
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
