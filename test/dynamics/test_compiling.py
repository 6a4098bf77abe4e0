# SPDX-License-Identifier: Apache-2.0
"""If the compilation of kernels takes long, a notice appears on stderr."""

import time

import pytest

from rbdyn_ros.dynamics.compiling import TEXT, CompilingNotice


def compiled(notice, seconds, depth=1):
    for _ in range(depth):
        notice.on_start(None)
    time.sleep(seconds)
    for _ in range(depth):
        notice.on_end(None)


def wait_for_the_timer(notice):
    notice._timer.join(60.0)


def test_the_notice_about_compilation_is_printed_once(capsys):
    notice = CompilingNotice(patience=0.0)
    notice.on_start(None)
    notice.on_start(None)  # a kernel that the first kernel calls
    wait_for_the_timer(notice)
    notice.on_end(None)
    notice.on_end(None)
    compiled(notice, 0.0)
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", f"{TEXT}\n")


def test_short_compilations_print_nothing(capsys):
    notice = CompilingNotice(patience=3600.0)
    compiled(notice, 0.05)
    assert not notice._timer.is_alive() or notice._timer.finished.is_set()
    assert notice._left == pytest.approx(3600.0, abs=60.0)
    assert notice._left <= 3600.0 - 0.05
    assert capsys.readouterr().err == ""


def test_a_command_with_a_progress_bar_suppresses_the_notice(capsys):
    notice = CompilingNotice(patience=0.0)
    notice.is_due = False
    compiled(notice, 0.0)
    assert (notice._timer, capsys.readouterr().err) == (None, "")
