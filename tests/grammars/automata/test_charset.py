"""Sets of code points are sets."""

from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.charset import ALL_CHARACTERS, NO_CHARACTERS, NUM_CODE_POINTS, CharSet

code_points = st.integers(0, NUM_CODE_POINTS - 1) | st.sampled_from(
    [0, 0xD7FF, 0xD800, 0xDFFF, 0xE000, NUM_CODE_POINTS - 1]
)
char_sets = st.lists(st.tuples(code_points, code_points).map(sorted), max_size=4).map(
    lambda ranges: CharSet.from_ranges([(low, high) for low, high in ranges])
)


@given(char_sets, char_sets, code_points)
@settings(deadline=None)
def test_set_operations_are_those_of_membership(a, b, code_point):
    in_a, in_b = code_point in a, code_point in b
    assert (code_point in a.union(b)) == (in_a or in_b)
    assert (code_point in a.intersect(b)) == (in_a and in_b)
    assert (code_point in a.difference(b)) == (in_a and not in_b)
    is_surrogate = 0xD800 <= code_point <= 0xDFFF
    assert (code_point in a.complement()) == (not in_a and not is_surrogate)
    assert not (is_surrogate and in_a)


@given(char_sets)
@settings(deadline=None)
def test_equal_sets_have_equal_bounds(a):
    assert a.complement().complement() == a
    assert CharSet.from_ranges(a.ranges) == a
    assert len(a) + len(a.complement()) == len(ALL_CHARACTERS)


def test_touching_ranges_become_one():
    assert CharSet.from_ranges([(5, 9), (0, 2), (3, 4)]).ranges == [(0, 9)]
    assert CharSet.from_ranges([]) == NO_CHARACTERS
    assert NO_CHARACTERS.is_empty
