"""lm-format-enforcer: a parser of characters and a prefix tree of the tokens, in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from lmformatenforcer.tokenlist import TokenList

    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource


def make_engine(tokenizer: TokenizerSource, mode: str) -> LMFormatEnforcerEngine:  # noqa: ARG001
    """The library with its defaults.

    Its tables of a tokenizer are filled here, as its integration with transformers 4 does it:
    that does not import beside transformers 5.
    """
    plain = Tokenizer.from_str(tokenizer.tokenizer_json.decode())

    def decode(token_ids: list[int]) -> str:
        return str(plain.decode(token_ids, skip_special_tokens=False))

    (digit,) = plain.encode("0", add_special_tokens=False).ids
    words = []
    for token_id in tokenizer.vocabulary().token_bytes:
        text = decode([digit, token_id])[1:]  # after another token, a space at its start is kept
        words.append((token_id, text, len(text) > len(decode([token_id]))))
    return LMFormatEnforcerEngine(
        TokenEnforcerTokenizerData(
            words,
            lambda token_ids: decode(token_ids).rstrip("\ufffd"),
            tokenizer.end_token_ids[0],
            use_bitmask=False,
            vocab_size=tokenizer.padded_size,
        )
    )


class LMFormatEnforcerEngine:
    """`JsonSchemaParser`; its prefix tree is made before the clock starts."""

    def __init__(self, tokenizer_data: TokenEnforcerTokenizerData) -> None:
        self._tokenizer_data = tokenizer_data

    def compile(self, schema: Json) -> LMFormatEnforcerGrammar:
        return LMFormatEnforcerGrammar(self._tokenizer_data, JsonSchemaParser(schema))


class LMFormatEnforcerGrammar:
    """A parser at the start of the text."""

    def __init__(self, data: TokenEnforcerTokenizerData, parser: JsonSchemaParser) -> None:
        self._data = data
        self._parser = parser

    def matcher(self) -> LMFormatEnforcerMatcher:
        return LMFormatEnforcerMatcher(TokenEnforcer(self._data, self._parser), self._data)


class LMFormatEnforcerMatcher:
    """The library's list of allowed tokens decides; it is asked with all tokens so far."""

    def __init__(self, enforcer: TokenEnforcer, data: TokenEnforcerTokenizerData) -> None:
        self._enforcer = enforcer
        self._end_token_id = data.eos_token_id
        self._token_ids: list[int] = []
        self._allowed: TokenList

    def compute_mask(self) -> None:
        self._allowed = self._enforcer.get_allowed_tokens(self._token_ids)

    def commit_token(self, token_id: int) -> bool:
        self._token_ids.append(token_id)
        return bool(self._allowed.is_token_allowed(token_id))

    def can_end(self) -> bool:
        self.compute_mask()
        return bool(self._allowed.is_token_allowed(self._end_token_id))
