"""A sketch bounds what its schema allows, from below and from above."""

from __future__ import annotations

import json
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammars.schema.document import SchemaDocument
from grammars.schema.place_sketch import PlaceSketches
from grammars.schema.sketch import Bound, Listed, sketch_of_constants

VALUES = [None, True, False, 0, 1, 2.5, "", "a", "b", [], [1], {}, {"a": 1}]

leaves = st.one_of(
    st.booleans(),
    st.builds(lambda value: {"const": value}, st.sampled_from(VALUES)),
    st.builds(lambda values: {"enum": values}, st.lists(st.sampled_from(VALUES), max_size=4)),
    st.builds(
        lambda kind: {"type": kind},
        st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]),
    ),
    st.sampled_from([{"minLength": 1}, {"maximum": 1}, {"required": ["a"]}, {"maxItems": 0}, {}]),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda keyword, branches: {keyword: branches},
            st.sampled_from(["allOf", "anyOf", "oneOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda schema: {"not": schema}, inner),
        st.builds(lambda a, b: {"if": a, "then": b}, inner, inner),
    ),
    max_leaves=6,
)


def holds(bound: Bound, value: object) -> bool:
    constant = sketch_of_constants([json.loads(json.dumps(value), parse_float=Decimal)])
    return not bound.excludes(constant.upper)


@settings(max_examples=150, deadline=None)
@given(schema=schemas)
def test_a_sketch_holds_what_is_valid_and_no_less_than_it_says(schema):
    document = SchemaDocument(json.dumps(schema))
    sketch = PlaceSketches(document).of(document.root)
    for value in VALUES:
        if Draft202012Validator(schema).is_valid(value):
            assert holds(sketch.upper, value)
        else:
            assert not holds(sketch.lower, value)


@settings(max_examples=150, deadline=None)
@given(first=schemas, second=schemas)
def test_what_excludes_or_contains_another_does_so_for_every_value(first, second):
    sketches = []
    for schema in (first, second):
        document = SchemaDocument(json.dumps(schema))
        sketches.append(PlaceSketches(document).of(document.root))
    one, other = sketches
    for value in VALUES:
        in_one, in_other = (
            Draft202012Validator(schema).is_valid(value) for schema in (first, second)
        )
        assert not (one.excludes(other) and in_one and in_other)
        assert not (one.is_inside(other) and in_one and not in_other)


LISTED = st.builds(Listed, st.frozensets(st.sampled_from("abc")), st.booleans())


@given(LISTED, LISTED)
def test_lists_and_their_complements_are_compared_as_sets(a, b):
    """Of four texts one is listed by nobody: it stands for all others."""

    def members(listed: Listed[str]) -> set[str]:
        return {text for text in "abcd" if (text in listed.items) != listed.is_complement}

    assert a.excludes(b) == members(a).isdisjoint(members(b))
    assert a.is_inside(b) == (members(a) <= members(b))
    assert members(a & b) == members(a) & members(b)
    assert members(~a) == set("abcd") - members(a)
