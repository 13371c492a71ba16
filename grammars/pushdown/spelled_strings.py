"""Sets of strings as they are written in JSON: the automata that lexers put together."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from grammars.automata import codepoint_dfa, json_string
from grammars.automata.dfa import NO_LABEL
from grammars.pushdown.layouts import spell

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.automata.string_rest import StringRest
    from grammars.schema.value import StringSet


@lru_cache(maxsize=1024)
def spelled_strings(strings: StringSet, max_states: int, *, is_canonical: bool = False) -> Dfa:
    """The strings of a set with their quotes.

    All strings take every spelling of RFC 8259; a restricted set takes the canonical one: UTF-8,
    with escapes only where they must be. All strings take that too where `is_canonical` says so.
    """
    every = codepoint_dfa.any_string()
    content = every if strings.content is None else strings.content
    if strings.is_counted:
        content = content.with_length(strings.min_length, strings.max_length, max_states=max_states)
    if content is every:
        return json_string.any_json_string("canonical" if is_canonical else "any")
    return json_string.json_string(content, max_states=max_states)


def is_spelled_as_any(text: str) -> bool:
    """Whether a text, spelled as a word, is spelled as it is among all strings."""
    every = json_string.any_json_string("canonical")
    return bool(every.label[every.run(spell(text))] != NO_LABEL)


@lru_cache(maxsize=64)
def spelled_tail(rest: StringRest, max_states: int, *, is_counted: bool) -> Dfa:
    """What is left of a string, canonical; its bounds are multiplied in unless they are counted."""
    texts = rest.texts
    if not is_counted:
        texts = texts.with_length(rest.fewest, rest.most, max_states=max_states)
    return json_string.json_string_tail(texts, max_states=max_states)
