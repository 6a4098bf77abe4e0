# SPDX-License-Identifier: Apache-2.0
"""Read and write test/messages.txt, which lists the texts of all refusals by code for reviews.

Messages that differ only in their numbers count as one message, because floating-point numbers
differ between processors. The file has the first of these messages in alphabetical order.
"""

import re
import tempfile
from pathlib import Path

FILE = Path(__file__).parents[1] / "messages.txt"
HEADER = "# Every refusal that the tests provoke, by code. `make messages` writes this file."

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
TEMPORARY = re.escape(tempfile.gettempdir())
#: Parts of a message that differ from run to run, and their replacements.
VARIABLE = [
    (rf"{TEMPORARY}/(pytest-of-\w+/pytest-\w+/(popen-gw\d+/)?)?[^/\s'\"]+", "TMP"),
    (re.escape(str(Path(__file__).parents[2])), "REPOSITORY"),
    (r"0x[0-9a-f]{6,}", "0xADDRESS"),
    (r"\b[0-9a-f]{64}\b", "SHA256"),
    (r"(process|pid|port) \d+", r"\1 NUMBER"),
    # a long path is cut to a fixed length, so the number of its letters depends on the folder
    (r"([a-z])\1{19,}(?=\.\.\.)", r"\1\1\1"),
    (r"\n", r"\\n"),
]


def normalized(message):
    """Return a message in one line; replace folders, addresses, hashes, process ids and ports."""
    for pattern, replacement in VARIABLE:
        message = re.sub(pattern, replacement, message)
    return message


class Messages(dict):
    """Messages by code and pattern; a pattern is a message with `#` for each number."""

    def add(self, code, message):
        """Add a message and return its key; store the alphabetically first message of each key."""
        message = normalized(message)
        key = (code, NUMBER.sub("#", message))
        self[key] = min(message, self.get(key, message))
        return key

    def refusals(self):
        """Return [code, message] of each message, sorted."""
        return sorted([code, message] for (code, _), message in self.items())


def read(path=FILE):
    """Return the Messages in a file."""
    messages = Messages()
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        code, _, message = line.partition(": ")
        messages.add(code, message)
    return messages


def write(messages, path=FILE):
    """Write messages to a file, sorted, each in one line with its code.

    As each message has one line, git can merge two branches as a union of lines (.gitattributes).
    """
    lines = [f"{code}: {message}" for code, message in messages.refusals()]
    path.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")


def missing(seen, path=FILE):
    """Return [code, message] of each message in `seen` that a file lacks."""
    known = read(path) if path.exists() else {}
    return Messages({key: seen[key] for key in seen if key not in known}).refusals()


def update(seen, whole, path=FILE):
    """Write the messages of a whole run to the file, or add messages of a run of some tests."""
    if not whole and path.exists():
        seen = Messages({**seen, **read(path)})
    write(seen, path)
