"""Sharing robots among threads: each step once and in order, progress bars and errors."""

import threading

import pytest

from rbdyn_ros.report import progress
from rbdyn_ros.rollouts import sharing
from rbdyn_ros.rollouts.sharing import Sharing


class Bar:
    """Stands for a bar of tqdm."""

    def __init__(self, total):
        self.total, self.n, self.closed = total, 0, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def update(self, n):
        assert n >= 0
        self.n += n


@pytest.fixture
def bar(monkeypatch):
    made = []

    def make(total, **settings):
        made.append(Bar(total))
        return made[-1]

    monkeypatch.setattr(progress, "bar", make)
    return made


class Recorded:
    """What threads were asked to do: by robot the pieces of steps, and who did them."""

    def __init__(self):
        self.pieces, self.lock = {}, threading.Lock()

    def __call__(self):
        def advance(first, last, begin, end):
            with self.lock:
                for robot in range(first, last):
                    who = threading.get_ident()
                    self.pieces.setdefault(robot, []).append((begin, end, who))

        return advance


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize(
    ("nbatch", "nstep", "piece"), [(1, 1, 10), (1, 1000, 10), (37, 5, 10**4), (37, 100, 7 * 40)]
)
def test_every_step_of_every_robot_is_done_once_and_in_order(
    nbatch, nstep, piece, width, threads, bar, monkeypatch
):
    monkeypatch.setattr(sharing, "PIECE_WORK", piece)
    done = Recorded()
    Sharing(nbatch, nstep, width, 7).run(done, threads, True)
    assert sorted(done.pieces) == list(range(nbatch))
    for pieces in done.pieces.values():
        begins, ends, who = zip(*pieces, strict=True)
        assert begins == (0, *ends[:-1])
        assert ends[-1] == nstep
        assert len(set(who)) == 1  # its state is in the memory of that thread
        longest = max(1, piece // (7 * width))
        assert all(end - begin <= longest for begin, end, _ in pieces)
    (shown,) = bar
    assert (shown.total, shown.n, shown.closed) == (nbatch * nstep, nbatch * nstep, True)


def test_no_progress_bar_without_progress(bar):
    Sharing(3, 3, 1, 1).run(Recorded(), 1, False)
    assert bar == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_in_a_thread_stops_the_others_and_closes_the_bar(error, bar):
    """Otherwise the other thread would never end."""
    met = threading.Barrier(2)
    steps = [0]

    def make():
        mine = met.wait()

        def advance(first, last, begin, end):
            if mine == 0:
                raise error("for a test")
            steps[0] += 1

        return advance

    with pytest.raises(error, match="for a test"):
        Sharing(2, 2**62, 1, 1).run(make, 2, True)
    assert bar[0].closed
    assert not [t for t in threading.enumerate() if t.name.startswith("rollout")]
