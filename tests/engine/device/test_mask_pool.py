"""The pool copies a shared row once, knows it by identity, and forgets the oldest."""

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


def make_pool(num_rows, device, max_step_rows=1):
    return MaskPool(
        WIDTH, max_bytes=num_rows * 4 * WIDTH, max_step_rows=max_step_rows, device=device
    )


def take(pool, shared, own=()):
    """One step: the first word of each row that it names."""
    pool.begin_step()
    numbers = [pool.shared_row_id(words) for words in shared]
    for value in own:
        number, words = pool.take_own_row()
        words[:] = value
        numbers.append(number)
    pool.end_step()
    return pool.rows[numbers, 0].tolist()


def test_the_first_row_allows_everything(device):
    assert make_pool(4, device).rows[ALL_TOKENS].tolist() == [-1] * WIDTH


def test_a_shared_row_is_copied_once(device):
    pool = make_pool(10, device, max_step_rows=3)
    first, second = row(1), row(2)
    assert take(pool, [first, second, first]) == [1, 2, 1]
    assert take(pool, [second]) == [2]
    assert (pool.num_copies, pool.num_hits) == (2, 2)


def test_a_row_is_known_by_its_identity_and_kept_alive(device):
    """Were the array freed, another might be made at its place and be taken for it."""
    pool = make_pool(100, device)
    assert [take(pool, [row(n)]) for n in range(1, 41)] == [[n] for n in range(1, 41)]
    assert pool.num_hits == 0


def test_own_rows_are_written_anew_in_each_step(device):
    pool = make_pool(4, device, max_step_rows=2)
    shared = row(9)
    assert take(pool, [shared], [5]) == [9, 5]
    assert take(pool, [], [6, 7]) == [6, 7]
    assert take(pool, [shared], [8]) == [9, 8]


def test_the_pool_grows_up_to_its_bytes_and_keeps_its_rows(device):
    pool = make_pool(300, device)
    capacity = len(pool.rows)
    shared = [row(n) for n in range(1, 251)]
    for words in shared:
        take(pool, [words])
    assert capacity < len(pool.rows) <= 300
    assert [take(pool, [words])[0] for words in shared] == list(range(1, 251))
    assert pool.num_copies == 250


def test_the_row_that_was_not_used_for_longest_makes_room(device):
    pool = make_pool(5, device)  # one of all tokens, one of the step's own, three that are shared
    first, second, third, fourth = map(row, (1, 2, 3, 4))
    for words in (first, second, third, first, fourth):  # the fourth takes the place of the second
        take(pool, [words])
    copies = pool.num_copies
    assert take(pool, [first]) == [1]
    assert pool.num_copies == copies
    assert take(pool, [second]) == [2]
    assert pool.num_copies == copies + 1


@pytest.mark.parametrize("num_rows", [1, 5])
def test_a_step_has_room_however_few_bytes_there_are(num_rows, device):
    pool = make_pool(1, device, max_step_rows=num_rows)
    assert take(pool, [row(7 + n) for n in range(num_rows)]) == list(range(7, 7 + num_rows))
    assert take(pool, [], range(num_rows)) == list(range(num_rows))


@pytest.mark.parametrize(
    "wrong", [np.zeros(WIDTH + 1, np.int32), np.zeros(1, np.int32), np.zeros(WIDTH, np.int64)]
)
def test_a_row_that_is_no_mask_of_the_vocabulary_is_refused(wrong, device):
    with pytest.raises(ValueError, match="where rows are"):
        make_pool(4, device).shared_row_id(wrong)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 12), max_size=4), st.lists(st.integers(20, 30), max_size=4)
        ),
        max_size=40,
    )
)
def test_numbers_always_stand_for_the_rows_asked_for(steps):
    pool = make_pool(6, torch.device("cpu"), max_step_rows=8)
    known = [row(n) for n in range(1, 14)]
    for shared, own in steps:
        assert take(pool, [known[n] for n in shared], own) == [*(1 + n for n in shared), *own]
        assert pool.rows[ALL_TOKENS, 0] == -1
        assert pool.num_shared < len(pool.rows)


@pytest.mark.gpu
def test_rows_go_to_the_device_from_page_locked_memory(device):
    pool = make_pool(9, device, max_step_rows=2)
    staged = pool._staged
    assert staged is not None
    assert staged._rows.is_pinned()
    pool.begin_step()
    _, words = pool.take_own_row()
    assert words.__array_interface__["data"][0] == staged._rows.data_ptr()


@pytest.mark.gpu
def test_staged_rows_are_not_rewritten_while_a_copy_reads_them(device):
    """The device is kept busy, so copies are still queued when the next step begins."""
    pool = make_pool(9, device, max_step_rows=1)
    busy = torch.randn((4096, 4096), device=device)
    seen = []
    for value in range(20):
        busy = busy @ busy / 64
        pool.begin_step()
        number, words = pool.take_own_row()
        words[:] = value
        pool.end_step()
        seen.append(pool.rows[number, 0].clone())
    assert torch.stack(seen).tolist() == list(range(20))


class FakeEvent:
    """Stands in for a CUDA event: notes what it was asked."""

    def __init__(self, log):
        self._log = log

    def record(self, _stream):
        self._log.append("record")

    def synchronize(self):
        self._log.append("synchronize")


def test_without_a_device_the_order_of_staging_is_seen(monkeypatch):
    """Page-locked memory is asked for, own rows are written in place, and a step waits first."""
    log = []
    zeros = torch.zeros

    def noted_zeros(*arguments, pin_memory=False, **options):
        if pin_memory:
            log.append("pinned")
        return zeros(*arguments, **options)

    monkeypatch.setattr("engine.device.mask_pool.torch.zeros", noted_zeros)
    monkeypatch.setattr("engine.device.mask_pool.torch.cuda.Event", lambda: FakeEvent(log))
    monkeypatch.setattr("engine.device.mask_pool.torch.cuda.current_stream", lambda _: "stream")
    pool = make_pool(9, torch.device("meta"), max_step_rows=2)
    assert log == ["pinned"]
    pool.rows = zeros(pool.rows.shape, dtype=torch.int32)  # the device's memory
    shared = row(3)
    assert take(pool, [shared], [8, 9]) == [3, 8, 9]
    assert take(pool, [shared], [4]) == [3, 4]
    assert log == ["pinned", "synchronize", "record", "synchronize", "record"]
    assert pool.num_copies == 4
    staged = pool._staged
    assert staged is not None
    _, words = pool.take_own_row()
    assert np.shares_memory(words, staged._rows.numpy())
    assert not np.shares_memory(words, pool.rows.numpy())
