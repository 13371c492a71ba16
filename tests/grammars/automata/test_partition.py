"""The classes of code points that sets do not tell apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammars.automata.charset import ALL_CHARACTERS, NUM_CODE_POINTS, CharSet
from grammars.automata.partition import large_partition, partition_of, small_partition

points = st.sampled_from([0, 1, 2, 97, 98, 0xD7FF, 0xD800, 0xDFFF, 0xE000, NUM_CODE_POINTS - 1])
spans = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))
charsets = st.one_of(st.just(ALL_CHARACTERS), st.lists(spans, max_size=3).map(CharSet.from_ranges))


@given(st.lists(charsets, max_size=40))
def test_few_sets_are_divided_as_many_are(sets):
    small, large = small_partition(sets), large_partition(sets)
    assert small.range_start.tolist() == large.range_start.tolist()
    assert small.range_class.tolist() == large.range_class.tolist()
    assert small.num_classes == large.num_classes
    assert small.class_runs == large.class_runs


def test_many_sets_are_divided_one_by_one():
    sets = [CharSet.of(chr(point)) for point in range(97, 97 + 200)]
    found = partition_of(sets)
    assert found.num_classes == len(sets) + 1
    assert len({runs[0] for runs in found.class_runs}) == len(sets)
