# SPDX-License-Identifier: Apache-2.0
"""The content of test/messages.txt does not depend on processor, machine and run."""

import tempfile

import pytest
from support import refusals
from support.messages import Messages, missing, normalized, read, update, write
from support.refusals import refused, worded

from rbdyn_ros.errors import Finding, ModelError


@pytest.fixture
def seen(monkeypatch):
    """Replace the messages of this session by empty Messages, and return these."""
    monkeypatch.setattr(refusals, "SEEN", Messages())
    return refusals.SEEN


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f"{tempfile.gettempdir()}/pytest-of-me/pytest-12/test_x0/a/r.urdf:3: bad",
            "TMP/a/r.urdf:3: bad",
        ),
        (
            f"'{tempfile.gettempdir()}/pytest-of-me/pytest-1/popen-gw0/x1': bad a/b",
            "'TMP': bad a/b",
        ),
        (f"{tempfile.gettempdir()}/tmpab_1/r.urdf: bad", "TMP/r.urdf: bad"),
        (f"'{tempfile.gettempdir()}/nowhere' is missing", "'TMP' is missing"),
        ("<object at 0x7f0012345678>", "<object at 0xADDRESS>"),
        ("process 4711 ended", "process NUMBER ended"),
        (f"sha256 {'0a' * 32}", "sha256 SHA256"),
        ("two\nlines", "two\\nlines"),
        (f"'/a/{'r' * 40}...' is too long", "'/a/rrr...' is too long"),
        ("mass -1 is below 0", "mass -1 is below 0"),
    ],
)
def test_normalized_replaces_parts_that_differ_between_runs(message, expected):
    assert normalized(message) == expected


def test_messages_that_differ_only_in_numbers_count_as_one_message():
    messages = Messages()
    for text in ("residual 2.5e-05 m", "residual 1.e+3 m", "residual -7 m", "residual nan m"):
        messages.add("loop", text)
    messages.add("other", "residual 3 m")
    assert messages.refusals() == [
        ["loop", "residual -7 m"],
        ["loop", "residual nan m"],
        ["other", "residual 3 m"],
    ]


def test_reading_a_written_file_returns_the_same_messages(tmp_path):
    messages = Messages()
    for code, text in (("b", "two"), ("a", "one"), ("a", "0 bodies")):
        messages.add(code, text)
    write(messages, tmp_path / "messages.txt")
    text = (tmp_path / "messages.txt").read_text()
    assert text.split("\n")[1:] == ["a: 0 bodies", "a: one", "b: two", ""]
    assert read(tmp_path / "messages.txt") == messages


def test_a_run_of_some_tests_only_adds_messages_to_the_file(tmp_path):
    path = tmp_path / "messages.txt"
    before, seen = Messages(), Messages()
    before.add("a", "5 links")
    before.add("a", "a loop")
    seen.add("a", "4 links")
    seen.add("b", "new")
    update(before, whole=False, path=path)
    update(seen, whole=False, path=path)
    assert read(path).refusals() == [["a", "5 links"], ["a", "a loop"], ["b", "new"]]
    update(seen, whole=True, path=path)
    assert read(path) == seen


def test_missing_returns_the_messages_that_the_file_lacks(seen, tmp_path):
    path = tmp_path / "messages.txt"
    worded("a", "4 links")
    assert missing(seen, path) == [["a", "4 links"]]
    write(seen, path)
    worded("a", "3 links")
    worded("a", "four links")
    assert missing(seen, path) == [["a", "four links"]]


def test_refused_compares_the_class_the_codes_and_the_fields_of_an_error(seen):
    error = ModelError([Finding("x", "bad", element="link 'a'", line=3), Finding("y", "worse")])

    def provoke(*expected, **fields):
        with refused(*expected, **fields) as caught:
            raise error
        assert caught.value is error

    provoke(ModelError, ["x", "y"], "link 'a'", line=3)
    for expected in (("x",), (["y", "x"],), (["x", "y"], "link 'b'")):
        with pytest.raises(AssertionError):
            provoke(ModelError, *expected)
    with pytest.raises(AssertionError):
        provoke(ModelError, ["x", "y"], line=4)
    with pytest.raises(ModelError):
        provoke(KeyError, ["x", "y"])
    with pytest.raises(pytest.fail.Exception), refused(ModelError, "x"):
        pass
    assert seen.refusals() == [["x", "bad"], ["y", "worse"]]
