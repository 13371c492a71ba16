"""Pacer: threads that work on grammars have a share of the time while others generate."""

from __future__ import annotations

import gc
import threading

import pytest

from engine.pacing import CREDIT_S, MOST_S, SHARE, SLICE_S, Pacer

UNIT_S = 0.0005


class Time:
    """A clock that goes on by work, on one of the processors, and by sleep."""

    def __init__(self):
        self.now = 100.0
        self.worked = 0.0
        self.naps = []
        self.is_busy = True
        self.pacer = Pacer(
            lambda: self.is_busy,
            clock=lambda: self.now,
            thread_clock=lambda: self.worked,
            sleep=self._sleep,
        )

    def work(self, seconds=UNIT_S):
        self.now += seconds
        self.worked += seconds
        self.pacer.pause()

    def _sleep(self, seconds):
        self.naps.append(seconds)
        self.now += seconds


@pytest.fixture
def time():
    time = Time()
    time.pacer.pause()
    return time


def test_long_work_has_its_share_of_the_time(time):
    began = time.now
    for _ in range(10_000):
        time.work()
    share = time.worked / (time.now - began)
    assert share == pytest.approx(SHARE, rel=0.02)


def test_work_comes_in_slices(time):
    for _ in range(1_000):
        time.work()
    assert all(nap >= SLICE_S / SHARE - SLICE_S for nap in time.naps)
    assert max(time.naps) <= (SLICE_S + UNIT_S) / SHARE


def test_little_work_at_once_is_not_paused(time):
    time.now += 1.0
    while time.worked < CREDIT_S:
        time.work()
    assert time.naps == []
    while time.worked < 2 * CREDIT_S:
        time.work()
    assert time.naps != []


def test_nothing_is_paused_or_charged_while_nobody_generates(time):
    time.is_busy = False
    for _ in range(1_000):
        time.work()
    assert time.naps == []
    time.is_busy = True
    time.work()
    assert time.naps == []


def test_what_took_very_long_is_charged_for_a_part(time):
    time.now += 1.0
    time.work(10.0)
    time.work(10.0)
    assert sum(time.naps) <= 2 * MOST_S / SHARE


def test_threads_share_their_share():
    works = threading.local()
    naps: list[float] = []

    def worked():
        return getattr(works, "seconds", 0.0)

    pacer = Pacer(lambda: True, clock=lambda: 0.0, thread_clock=worked, sleep=naps.append)

    def work():
        pacer.pause()
        works.seconds = MOST_S
        pacer.pause()

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert max(naps) == naps[-1] == pytest.approx(3 * MOST_S / SHARE)


def test_whatever_makes_objects_comes_by_a_pause_and_only_inside():
    num_asked = 0

    def is_busy():
        nonlocal num_asked
        num_asked += 1
        return False

    pacer = Pacer(is_busy)
    before = list(gc.callbacks)
    with pacer.paced():
        kept = [[number] for number in range(100_000)]
    assert num_asked >= len(kept) // 2 // gc.get_threshold()[0]
    assert gc.callbacks == before
    num_inside = num_asked
    kept += [[number] for number in range(100_000)]
    assert num_asked == num_inside


def test_others_are_not_paused():
    pausing = threading.Event()

    def is_busy():
        pausing.set()
        return False

    thread = threading.Thread(target=lambda: [[number] for number in range(50_000)])
    with Pacer(is_busy).paced():
        pausing.clear()
        thread.start()
        thread.join()
    assert not pausing.is_set()
