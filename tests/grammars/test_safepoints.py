"""Safepoints: loops give the same items, and call whoever waits for Python's collector."""

from __future__ import annotations

import gc
from contextlib import contextmanager

import pytest

from grammars.safepoints import growing, popped, popped_keys, with_safepoints

NUM_ITEMS = 5_000


@contextmanager
def counted_collections():
    phases = []

    def on_collection(phase, _info):
        phases.append(phase)

    gc.collect()
    gc.disable()  # what is counted was asked for
    gc.callbacks.append(on_collection)
    try:
        yield phases
    finally:
        gc.callbacks.remove(on_collection)
        gc.enable()


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (with_safepoints, range(NUM_ITEMS)),
        (growing, range(NUM_ITEMS)),
        (popped, reversed(range(NUM_ITEMS))),
        (lambda items: popped_keys(dict.fromkeys(items)), reversed(range(NUM_ITEMS))),
    ],
)
def test_a_loop_has_all_its_items_and_safepoints_between_them(loop, expected):
    with counted_collections() as phases:
        found = list(loop(list(range(NUM_ITEMS))))
    assert found == list(expected)
    assert 5 <= phases.count("stop") <= 50


def test_what_is_added_in_the_loop_is_part_of_it():
    items = [0]
    for item in growing(items):
        if item < NUM_ITEMS:
            items += [item + 1]
    assert items == list(range(NUM_ITEMS + 1))
    stack, seen = [3], []
    for item in popped(stack):
        seen.append(item)
        stack += [item - 1] * (item > 0)
    assert seen == [3, 2, 1, 0]
    keys = {3: None}
    seen = []
    for item in popped_keys(keys):
        seen.append(item)
        keys.update({item - 1: None} if item > 0 else {})
    assert seen == [3, 2, 1, 0]
