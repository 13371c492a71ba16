"""The pool gives equal rows one place, copies only what is new, and forgets the oldest."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.device.mask_pool import ALL_TOKENS, MaskPool

WIDTH = 7


def row(number):
    return np.full(WIDTH, number, np.int32)


def make_pool(num_rows, min_rows=1):
    return MaskPool(
        WIDTH, max_bytes=num_rows * 4 * WIDTH, min_rows=min_rows, device=torch.device("cpu")
    )


def test_the_first_row_allows_everything():
    assert make_pool(4).rows[ALL_TOKENS].tolist() == [-1] * WIDTH


def test_equal_rows_are_copied_once():
    pool = make_pool(10)
    first = pool.row_ids(np.stack([row(1), row(2), row(1)]))
    assert first[0] == first[2] != first[1]
    assert pool.row_ids(np.stack([row(2)])) == [first[1]]
    assert (pool.num_copies, pool.num_hits) == (2, 2)


def test_the_pool_grows_up_to_its_bytes_and_keeps_its_rows():
    pool = make_pool(300)
    capacity = len(pool.rows)
    numbers = [pool.row_ids(row(n)[None])[0] for n in range(250)]
    assert capacity < len(pool.rows) <= 300
    assert all(pool.rows[number, 0] == n for n, number in enumerate(numbers))


def test_the_row_that_was_not_used_for_longest_makes_room():
    pool = make_pool(4)  # one is that of all tokens
    pool.row_ids(np.stack([row(1)]))
    pool.row_ids(np.stack([row(2)]))
    pool.row_ids(np.stack([row(3)]))
    pool.row_ids(np.stack([row(1)]))
    pool.row_ids(np.stack([row(4)]))  # takes the place of 2
    copies = pool.num_copies
    pool.row_ids(np.stack([row(1)]))
    assert pool.num_copies == copies
    pool.row_ids(np.stack([row(2)]))
    assert pool.num_copies == copies + 1


@pytest.mark.parametrize("num_rows", [1, 5])
def test_a_step_has_room_however_few_bytes_there_are(num_rows):
    pool = make_pool(1, min_rows=num_rows)
    numbers = pool.row_ids(np.stack([row(n) for n in range(num_rows)]))
    assert [int(pool.rows[number, 0]) for number in numbers] == list(range(num_rows))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), max_size=40))
def test_numbers_always_stand_for_the_rows_asked_for(steps):
    pool = make_pool(6, min_rows=4)
    for step in steps:
        numbers = pool.row_ids(np.stack([row(n) for n in step]))
        assert [int(pool.rows[number, 0]) for number in numbers] == step
        assert pool.rows[ALL_TOKENS, 0] == -1
        assert len(pool) < len(pool.rows) <= 6
