"""Work: a step of a text has a budget, which is its own."""

from __future__ import annotations

import pytest

from grammars.errors import LimitExceededError
from grammars.work import Work


def spend_all(work: Work) -> None:
    with pytest.raises(LimitExceededError) as caught:
        work.spend(1)
    assert caught.value.limit == "max_step_work"


def test_a_step_is_bounded_and_the_next_one_has_as_much():
    work = Work(10)
    for _ in range(2):
        with work:
            work.spend(10)
            spend_all(work)


def test_a_step_within_a_step_is_the_same_one():
    work = Work(10)
    with work:
        work.spend(8)
        with work:
            work.spend(2)
        spend_all(work)


def test_outside_of_steps_nothing_is_bounded():
    work = Work(10)
    work.spend(1_000)
    with pytest.raises(ValueError, match="a step fails"), work:
        raise ValueError("a step fails")
    work.spend(1_000)
