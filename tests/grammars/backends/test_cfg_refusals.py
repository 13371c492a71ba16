"""Context-free grammars are ours alone: the other backends refuse them by name."""

from __future__ import annotations

import pytest

from grammars.backends.base import get_backend
from grammars.errors import UnsupportedError
from grammars.spec import Cfg


@pytest.mark.parametrize("backend", ["xgrammar", "outlines", "llguidance", "fsm-reference"])
@pytest.mark.parametrize("syntax", ["gbnf", "lark"])
def test_a_grammar_is_refused_by_the_other_backends(backend, syntax, vocabulary):
    with pytest.raises(UnsupportedError) as caught:
        get_backend(backend).compile(Cfg(syntax, 'root ::= "a"'), vocabulary)
    assert str(caught.value) == (
        f"(root): grammars are not enforced by the {backend} backend; use the tightrope backend"
    )


def test_the_default_backend_compiles_a_grammar(vocabulary, accepts):
    compiled = get_backend().compile(Cfg("lark", 'start: "a" start "b" | "c"'), vocabulary)
    assert accepts(compiled, "aacbb")
    assert not accepts(compiled, "aacb")
