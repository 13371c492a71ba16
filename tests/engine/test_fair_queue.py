"""FairQueue: callers take turns, whatever each of them has sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fair_queue import FairQueue


def queue_of(*texts: str) -> FairQueue[str]:
    """Items are named for their callers: the first letter is whose they are."""
    queue: FairQueue[str] = FairQueue()
    for text in texts:
        queue.add(text, text[:1].encode())
    return queue


def drain(queue: FairQueue[str]) -> list[str]:
    taken = []
    while queue:
        assert queue.peek() == queue.peek()
        taken.append(queue.peek())
        assert queue.take() == taken[-1]
    return taken


@pytest.mark.parametrize(
    ("sent", "served"),
    [
        ("", ""),
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 b1", "a1 b1 a2 a3"),
        ("a1 a2 a3 b1 b2 c1", "a1 b1 c1 a2 b2 a3"),
    ],
)
def test_callers_take_turns(sent, served):
    assert drain(queue_of(*sent.split())) == served.split()


def test_a_caller_that_had_its_turn_waits_for_the_others():
    queue = queue_of("a1", "a2", "b1")
    assert queue.take() == "a1"
    queue.add("c1", b"c")
    assert drain(queue) == ["b1", "a2", "c1"]


def test_what_is_put_back_goes_first_the_last_one_before_the_others():
    queue = queue_of("a1", "a2", "b1")
    first, second = queue.take(), queue.take()
    queue.put_back(second)
    queue.put_back(first)
    assert len(queue) == 3
    assert sorted(queue) == ["a1", "a2", "b1"]
    assert drain(queue) == ["a1", "b1", "a2"]


def test_what_is_removed_is_gone_from_wherever_it_stands():
    queue = queue_of("a1", "a2", "b1", "b2")
    queue.put_back(queue.take())
    for item in ("a1", "b1", "b2"):
        queue.remove(item, item[:1].encode())
    assert drain(queue) == ["a2"]
    with pytest.raises(ValueError, match="not in"):
        queue.remove("a2", b"a")
    for ask in (queue.peek, queue.take):
        with pytest.raises(IndexError, match="empty"):
            ask()


@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers(0, 12))
def test_who_comes_waits_for_at_most_one_item_of_each_other_caller(callers, num_taken):
    queue = queue_of(*(f"{caller}{number}" for number, caller in enumerate(callers)))
    for _ in range(min(num_taken, len(callers))):
        queue.take()
    queue.add("new", b"n")
    served = drain(queue)
    ahead = [item[0] for item in served[: served.index("new")]]
    assert len(set(ahead)) == len(ahead)


def test_a_queue_of_nothing_but_what_was_put_back_is_not_empty():
    queue = queue_of("a1")
    queue.put_back(queue.take())
    assert drain(queue) == ["a1"]
