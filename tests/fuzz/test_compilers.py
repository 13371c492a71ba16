"""Whatever is compiled is refused by name, or walks without a dead end; nothing crashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.spec import Cfg, JsonSchema, Regex
from tests.fuzz.budget import examples
from tests.fuzz.strategies import gbnf_texts, lark_texts, patterns, schemas
from tests.fuzz.walks import check
from tests.support.random_grammars import grammars, written


@pytest.mark.parametrize("property_order", ["schema", "any"])
@examples(40)
@given(text=schemas())
def test_schemas(property_order, text):
    check(JsonSchema(text, property_order=property_order))


@examples(150)
@given(patterns())
def test_patterns(pattern):
    check(Regex(pattern))


@examples(100)
@given(gbnf_texts())
def test_gbnf(text):
    check(Cfg("gbnf", text))


@examples(100)
@given(lark_texts())
def test_lark(text):
    check(Cfg("lark", text))


@examples(25)
@given(grammars(), st.sampled_from(["gbnf", "lark"]))
def test_well_formed_grammars(grammar, syntax):
    check(written(grammar, syntax))
