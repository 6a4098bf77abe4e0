# SPDX-License-Identifier: Apache-2.0
"""Pictures of connectivity graphs are complete and free of overlaps, and bad calls are refused."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from support import robots, trees
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.model.tree.graph import Graph
from rbdyn_ros.view.pictures import connectivity
from rbdyn_ros.view.pictures.connectivity import chord_curve, draw_connectivity, free_spot
from rbdyn_ros.view.pictures.layout import lay_out, tree_rows

pytest.importorskip("matplotlib")
from matplotlib.image import imread

BRICK = trees.random_inertial(np.random.default_rng(1))
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def linkage(loop="J4", names=("ground", "crank", "rod", "slider")):
    ground, crank, rod, slider = names
    joints = (
        Joint("J1", "revolute", ground, crank),
        Joint("J2", "revolute", rod, crank),
        Joint("J3", "revolute", rod, slider),
        Joint("J4", "prismatic", slider, ground),
    )
    joints = tuple(
        Joint(j.name, j.type, j.parent, j.child, closes_loop=j.name == loop) for j in joints
    )
    links = (Link(ground), *(Link(name, BRICK) for name in names[1:]))
    return rb.build(Description("linkage", links, joints, base=ground))


@pytest.mark.parametrize("suffix", [*STARTS, ".PNG"])
def test_draw_connectivity_writes_each_picture_format(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    draw_connectivity(linkage(), path)
    assert path.read_bytes().startswith(STARTS[suffix.lower()])
    assert list(tmp_path.iterdir()) == [path]


def texts(m):
    """Return the picture of a Model's graph, and its texts with their rectangles [inch]."""
    picture = connectivity._Picture(m)
    picture.draw_tree()
    picture.draw_bodies()
    picture.draw_chords()
    renderer = picture.figure.canvas.get_renderer()
    back = picture.axes.transData.inverted()
    written = [text for text in picture.axes.texts if text.get_text()]
    boxes = [back.transform_bbox(text.get_window_extent(renderer)) for text in written]
    return picture, [(text.get_text(), box) for text, box in zip(written, boxes, strict=True)]


def test_a_graph_has_labels_for_links_and_joints_and_a_title_with_its_size():
    _, written = texts(linkage())
    told = [text for text, _ in written]
    assert told[0] == "linkage:  N_B = 3, N_J = 4, N_L = 1"
    for word in ("ground", "crank", "rod", "slider", "0", "1", "2", "3", "J1", "J2", "J3"):
        assert told.count(word) == 1
    assert told.count("revolute") == 2
    assert told.count("revolute, reversed") == 1
    assert told.count("J4  prismatic") == 1


SMALL = {
    "chain with a chord": linkage,
    "branches with a chord": lambda: linkage(loop=""),
    "library": lambda: trees.build(trees.auto_tree(14, 1.7, kinds=trees.LIBRARY, reversals=0.5)),
    "arm": lambda: trees.build(trees.auto_tree(7, kinds=trees.HINGES)),
}


@pytest.mark.parametrize("name", SMALL)
def test_no_two_texts_of_a_graph_overlap(name):
    picture, written = texts(SMALL[name]())
    for (a, one), (b, other) in itertools.combinations(written, 2):
        assert not one.overlaps(other), (a, b)
    low, high = picture.axes.get_xlim(), picture.axes.get_ylim()
    for text, box in written:
        assert low[0] <= box.x0 < box.x1 <= low[1], text
        assert high[0] <= box.y0 < box.y1 <= high[1], text


@robots.needs_robots
def test_no_two_texts_of_a_humanoids_graph_overlap():
    m = robots.load(robots.find("talos_reduced.urdf"), floating_base=True)
    _, written = texts(m)
    for (a, one), (b, other) in itertools.combinations(written, 2):
        assert not one.overlaps(other), (a, b)


def test_lines_of_tree_joints_are_solid_and_lines_of_chords_are_dashed():
    picture, _ = texts(linkage())
    (chord,) = [line for line in picture.axes.lines if len(line.get_xdata()) > 1]
    assert chord.is_dashed()
    (tree,) = [c for c in picture.axes.collections if hasattr(c, "get_segments")]
    assert tree.get_linestyle() == [(0, None)]
    assert len(tree.get_segments()) == 3


def test_arrows_run_from_predecessor_to_successor():
    picture, _ = texts(linkage())
    arrows = [line.get_marker() for line in picture.axes.lines if len(line.get_xdata()) == 1]
    angles = [marker[2] + 90.0 for marker in arrows]
    assert angles[:3] == [0.0, 180.0, 0.0]  # J2 is reversed
    assert 90.0 < abs(angles[3]) <= 180.0  # J4 leads back to the ground
    picture, _ = texts(linkage(loop="J3"))
    arrows = [line.get_marker() for line in picture.axes.lines if len(line.get_xdata()) == 1]
    reversed_ = picture.m.jnt_reversed.tolist()
    assert [marker[2] + 90.0 for marker in arrows[:3]] == [180.0 * flag for flag in reversed_]


def test_only_the_base_has_a_white_circle():
    picture, _ = texts(linkage())
    (bodies,) = [c for c in picture.axes.collections if not hasattr(c, "get_segments")]
    white = [tuple(color[:3]) == (1.0, 1.0, 1.0) for color in bodies.get_facecolor()]
    assert white == [True, False, False, False]


def test_large_graphs_have_fewer_texts(tmp_path):
    medium = trees.build(trees.auto_tree(200, 1.7))
    _, written = texts(medium)
    told = [text for text, _ in written]
    assert "link200" in told
    assert "joint7" not in told
    _, written = texts(trees.build(trees.auto_tree(1000, 1.7)))
    assert len(written) == 1
    for number, branching in ((3000, 1.0), (3000, 50.0)):
        path = tmp_path / "large.png"
        draw_connectivity(trees.build(trees.auto_tree(number, branching)), path)
        assert max(imread(path).shape) <= connectivity.MOST_PIXELS


@pytest.mark.parametrize(
    "name", ["$\\frac$", "a_b^c$", "with space", "\u00fcber", "tab\there", "x" * 200]
)
def test_a_graph_can_have_names_with_special_characters(tmp_path, name):
    draw_connectivity(linkage(names=("ground", name, "rod", "slider")), tmp_path / "graph.svg")


def test_robots_without_joints_and_floating_robots_have_a_graph(tmp_path):
    stone = '<robot name="stone"><link name="stone"/></robot>'
    draw_connectivity(rb.load_urdf(stone), tmp_path / "stone.svg")
    _, written = texts(trees.build(trees.auto_tree(2), floating_base=True))
    assert {"world", "base", "root_joint", "floating"} <= {text for text, _ in written}


def test_each_body_of_a_graph_has_a_row_and_a_column():
    rows, depth = tree_rows(Graph((0, 1, 1, 3, 0), (1, 2, 3, 4, 5)))
    assert depth.tolist() == [0, 1, 2, 2, 3, 1]
    assert rows.tolist() == [1.25, 0.5, 0.0, 1.0, 1.0, 2.0]
    layout = lay_out(Graph((0, 1), (1, 2)), [1.0, 1.0, 1.0], [0.5, 2.0])
    assert np.diff(layout.x)[1] > 2.0
    assert (layout.bend > layout.x).all()


def test_chords_pass_bodies_and_each_other_at_a_distance():
    p, s = np.array([0.0, 0.0]), np.array([0.0, -3.0])
    between = np.array([p, s, [0.75, -1.5]])
    free = chord_curve(p, s, 0.13, 0, between[:2])
    assert np.linalg.norm(free - between[2], axis=1).min() < 0.2
    aside = chord_curve(p, s, 0.13, 0, between)
    assert np.linalg.norm(aside - between[2], axis=1).min() > 0.19
    level = [chord_curve(p, np.array([4.0, 0.0]), 0.13, k, between[:1]) for k in range(3)]
    heights = [curve[:, 1].max() for curve in level]
    assert np.diff(heights).min() > 0.14


def test_a_label_is_placed_in_free_space():
    curve = np.column_stack([np.linspace(0.0, 6.0, 61), np.zeros(61)])
    size = np.array([0.5, 0.2])
    assert free_spot(curve, size, []) == 30
    spot = free_spot(curve, size, [np.array([2.0, -1.0, 3.6, 1.0])])
    assert curve[spot, 0] > 3.8 or curve[spot, 0] < 1.8


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("graph.gif", "unknown-suffix"),
        ("graph", "unknown-suffix"),
        (3, "not-a-path"),
        ("/no/such/folder/graph.svg", "unwritable-file"),
    ],
)
def test_paths_that_are_not_writable_are_refused(path, code):
    with refused(rb.ParameterError, code, "path"):
        draw_connectivity(linkage(), path)


def test_a_graph_of_an_object_that_is_not_a_model_is_refused(tmp_path):
    with refused(rb.ModelError, "not-a-model"):
        draw_connectivity(3, tmp_path / "graph.svg")


WITHOUT_PLOT = """
import sys
for name in ("matplotlib", "networkx", "PIL"):
    sys.modules[name] = None  # the import of it fails
import rbdyn_ros as rb
from rbdyn_ros.view.pictures.animation import animate
from rbdyn_ros.view.pictures.connectivity import draw_connectivity
m = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
for call in (lambda: draw_connectivity(m, "x.svg"), lambda: animate(m, [[]], "x.gif")):
    try:
        call()
    except rb.ParameterError as error:
        print(error)
"""


def test_a_missing_plot_extra_is_reported():
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT_PLOT],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    line = 'pictures need {}, which is not installed: pip install "rbdyn_ros[{}]"'
    wanted = [line.format("matplotlib", "plot"), line.format("Pillow", "camera")]
    assert told.stdout.splitlines() == wanted


def test_drawing_a_graph_does_not_import_pyplot():
    code = (
        "import sys\n"
        "import rbdyn_ros.view.pictures.animation, rbdyn_ros.view.pictures.connectivity\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from rbdyn_ros.view.pictures.canvas import new_figure; new_figure(1.0, 1.0, 10.0)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)
