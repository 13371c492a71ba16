"""Forced tokens: the text that must follow, in the tokens that the model would write."""

from __future__ import annotations

from typing import Any

import pytest

from grammars.compile import compile_grammar
from grammars.spec import Choice, JsonSchema, Literal, Regex, Structure
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary


def forced_pieces(spec, vocabulary, before: bytes = b"") -> list[Any]:
    """The forced tokens after some text: bytes of text tokens, spelling of control tokens."""
    matcher = compile_grammar(spec, vocabulary).matcher()
    for token_id in vocabulary.encode(before):
        assert matcher.accept_token(token_id)
    token_ids = matcher.forced_tokens()
    assert token_ids == matcher.forced_tokens()  # asking does not advance
    for token_id in token_ids:
        assert token_id in matcher.allowed_token_ids()
        assert matcher.accept_token(token_id)
    controls = {control.token_id: control.text for control in vocabulary.controls}
    return [vocabulary.token_bytes.get(x) or controls[x] for x in token_ids]


@pytest.mark.parametrize(
    ("spec", "before", "pieces"),
    [
        # The whole text is forced.
        (Choice(("true",)), b"", [b"true"]),
        (Regex("abcab"), b"", [b"abc", b"ab"]),
        # A choice stops it, and takes back the token that could still become longer.
        (Choice(("[1,1a", "[1,ab")), b"", [b"[1"]),
        (Choice(("[1,ab", "[1,bc")), b"", [b"[1", b","]),
        (Choice(("zabx", "zaby")), b"", [b"z", b"ab"]),
        (Choice(("xab", "xb")), b"", [b"x"]),
        # A character cut in half is not forced; both halves of one are.
        (Choice(("xé", "xè")), b"", [b"x"]),
        (Choice(("xé",)), b"", [b"x", "é".encode()]),
        # Nothing is forced where the text may end, or may go on in two ways.
        (Regex("1*"), b"", []),
        (Regex("a(bc)?"), b"a", []),
        (Regex("[ab]c"), b"", []),
        (Regex("[ab]cc"), b"a", [b"cc"]),
        # After the end there is nothing.
        (Choice(("true",)), b"true", []),
        # Control tokens are one token each, and end the text run before them.
        (Structure(Literal("ab<call>true</call>")), b"", [b"ab", "<call>", b"true", "</call>"]),
        (Structure(Literal("é")), b"", ["é".encode()]),
    ],
)
def test_what_is_forced(spec, before, pieces):
    assert forced_pieces(spec, tiny_vocabulary(), before) == pieces


def test_a_long_forced_text_comes_in_parts():
    vocabulary = tiny_vocabulary()
    text = b"abc1" * 500
    matcher = compile_grammar(Choice((text.decode(),)), vocabulary).matcher()
    written = b""
    while not matcher.is_terminated:
        token_ids = matcher.forced_tokens()
        assert token_ids
        for token_id in token_ids:
            assert matcher.accept_token(token_id)
            written += vocabulary.token_bytes[token_id]
    assert written == text


@pytest.mark.parametrize("name", ["qwen3", "smollm2", "mistral-v3"])
def test_forced_keys_are_the_tokenizers_own_tokens(name):
    vocabulary = real_vocabulary(name)
    schema = {
        "type": "object",
        "properties": {"temperature_unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["temperature_unit"],
        "additionalProperties": False,
    }
    spec = JsonSchema.from_value(schema, whitespace="compact")
    pieces = forced_pieces(spec, vocabulary)
    document = b'{"temperature_unit":"celsius"}'
    canonical = [vocabulary.token_bytes[x] for x in vocabulary.encode(document)]
    assert pieces == canonical[: len(pieces)]
    assert b"".join(pieces).startswith(b'{"temperature_unit')
    assert forced_pieces(spec, vocabulary, b'{"temperature_unit":"celsius')[-1].endswith(b"}")
