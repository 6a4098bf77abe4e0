"""Refusals: tests assert what is refused, with which code, about which element.

The words of all refusals stand in test/messages.txt, which `make messages` writes: one place to
review them as a user reads them. A refusal whose words are not there fails its test.
"""

import re
from pathlib import Path

import pytest

from rbdyn_ros.errors import RbdynError

CATALOGUE = Path(__file__).parents[1] / "messages.txt"

#: Refusals of this session: (code, message).
SEEN = set()


def normalised(text):
    """Return a message without what differs from run to run: folders, addresses, process ids."""
    text = re.sub(r"(/[\w.+-]+)*/(pytest-of-[\w-]+|tmp\w*)(/[\w.+-]+)*/", "TMP/", text)
    text = text.replace(str(Path(__file__).parents[2]), "REPOSITORY")
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    return text.replace("\n", "\\n")


def catalogue():
    """Return the refusals in test/messages.txt as (code, message)."""
    refusals, code = set(), ""
    for line in CATALOGUE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            refusals.add((code, line[4:]))
        elif line and not line.startswith("#"):
            code = line
    return refusals


def write_catalogue(refusals):
    """Write test/messages.txt: the codes in order, below each its messages."""
    lines = ["# Every refusal that the tests provoke, by code; written by `make messages`.", ""]
    code = None
    for other, message in sorted(refusals):
        if other != code:
            code = other
            lines += ["", code] if len(lines) > 2 else [code]
        lines.append(f"    {message}")
    CATALOGUE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def worded(code, text):
    """Note the words of a refusal; fail if test/messages.txt lacks them."""
    refusal = (code, normalised(str(text)))
    SEEN.add(refusal)
    known = pytest.known_refusals
    if known is not None and refusal not in known:
        pytest.fail(f"not in test/messages.txt (make messages writes it): {code}: {refusal[1]}")


class refused:  # noqa: N801  used as pytest.raises
    """Expect one or more findings: `with refused(ModelError, "unknown-frame", "frame 'x'"):`.

    Args:
        error: the class of the error.
        codes: the code of the finding, or a list with the code of each finding in order.
        element: of the first finding, where given; so are line and found.

    Attributes:
        value: the error, after the block.
    """

    def __init__(self, error, codes, element=None, **fields):
        self.error = error
        self.codes = [codes] if isinstance(codes, str) else list(codes)
        self.fields = fields if element is None else {"element": element, **fields}

    def __enter__(self):
        self._raises = pytest.raises(self.error)
        self._caught = self._raises.__enter__()
        return self

    def __exit__(self, *what):
        done = self._raises.__exit__(*what)
        if done:
            self.value = self._caught.value
            self._judge(self.value)
        return done

    def _judge(self, error):
        assert isinstance(error, RbdynError)
        assert [finding.code for finding in error.findings] == self.codes, str(error)
        for name, value in self.fields.items():
            assert getattr(error, name) == value, f"{name}: {getattr(error, name)!r}"
        for finding in error.findings:
            worded(finding.code, finding.message)
