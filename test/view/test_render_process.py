# SPDX-License-Identifier: Apache-2.0
"""Errors of a drawing process that fails at its start, does not answer, or ends too early."""

import threading
import time

import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.sensors import ColorSpec
from rbdyn_ros.view.render import process
from rbdyn_ros.view.render.process import RenderProcess

EYE = ColorSpec("eye", "base", rate=10.0, near=0.1, far=9.0, width=8, height=6, field_of_view=1.0)

SILENT = """
import sys, time
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[1]))
"""
READY = SILENT + "pipe.recv(), pipe.recv(), pipe.send_bytes(b'[\"\"]')\n"
FOREVER = "time.sleep(600)\n"


@pytest.fixture
def start(monkeypatch):
    """Return a function that starts a drawing process with another program."""
    m = rb.load_urdf(SLIDE)

    def start(program):
        monkeypatch.setattr(process, "CHILD", program)
        return RenderProcess(m, Appearance(), [])

    return start


SLIDE = """<robot name="slide">
  <link name="base"/>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="box"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <link name="box"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
</robot>"""


@pytest.mark.parametrize("program", ["raise SystemExit(3)", SILENT, SILENT + "pipe.close()"])
def test_a_drawing_process_that_ends_at_its_start_causes_a_refusal(start, program):
    with refused(rb.ParameterError, "no-renderer", "renderer"):
        start(program)


def test_a_drawing_process_that_does_not_answer_at_its_start_causes_a_refusal(start, monkeypatch):
    monkeypatch.setattr(process, "LONGEST", 0.2)
    with refused(rb.ParameterError, "no-renderer", "renderer"):
        start(SILENT + FOREVER)


def test_a_picture_that_takes_too_long_raises_an_error_and_ends_the_process(start, monkeypatch):
    drawing = start(READY + FOREVER)
    monkeypatch.setattr(process, "LONGEST", 0.2)
    with pytest.raises(RbdynError, match="has not answered for"):
        drawing.draw(0.0, [0.0], EYE)
    monkeypatch.undo()
    with pytest.raises(RbdynError, match="has ended"):
        drawing.draw(0.0, [0.0], EYE)
    drawing.close()


def test_draw_raises_an_error_if_another_thread_closes_the_process(start):
    drawing, errors = start(READY + FOREVER), []

    def draw():
        try:
            drawing.draw(0.0, [0.0], EYE)
        except RbdynError as error:
            errors.append(str(error))

    waiting = threading.Thread(target=draw, daemon=True)
    waiting.start()
    time.sleep(0.2)
    drawing.close()
    waiting.join(60.0)
    assert errors == ["the process that draws the pictures of cameras has ended"]
    with pytest.raises(RbdynError, match="has ended"):
        drawing.draw(0.0, [0.0], EYE)
    drawing.close()
