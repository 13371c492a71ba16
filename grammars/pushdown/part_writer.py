"""Terminals of the parts of a structure: literals, patterns, choices and free text."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from grammars.automata import codepoint_dfa
from grammars.automata.dfa import NO_LABEL
from grammars.errors import InvalidGrammarError
from grammars.pushdown.free_text import Watched, free_text_dfa
from grammars.spec import Choice, Embed, FreeText, Literal, Regex

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.dfa import Dfa
    from grammars.automata.lexer import LexerBuilder
    from grammars.spec import Part
    from grammars.vocabulary import Vocabulary


def write_part(
    part: Part,
    builder: LexerBuilder,
    vocabulary: Vocabulary,
    max_states: int,
    item: Callable[..., int],
) -> None:
    """Write the terminals of an atomic part from the builder's start.

    Args:
        part: a literal, pattern, choice or free text; its empty text is somebody else's business.
        builder: the lexer being written.
        vocabulary: which spellings are control tokens.
        max_states: budget of each automaton.
        item: item(*parts) makes the lexer item "this part is read, then come `parts`".
    """
    match part:
        case Literal(text):
            builder.accept(_literal(builder, vocabulary.split_controls(text)), item())
        case Embed(Regex(pattern)):
            dfa = non_empty_matches(pattern, max_states)
            builder.accept(builder.embed(builder.start, dfa), item())
        case Embed(Choice(options)):
            number = item()
            for option in options:
                if option:
                    builder.accept(builder.literal(builder.start, option.encode()), number)
        case FreeText():
            _write_free_text(part, builder, vocabulary, item)
        case _:
            raise AssertionError(f"not an atomic part: {part}")


def is_nullable(part: Part, max_states: int) -> bool:
    """Whether an atomic part may be the empty text."""
    match part:
        case Literal(text):
            return not text
        case Embed(Regex(pattern)):
            return full_match(pattern, max_states).accepts("")
        case Embed(Choice(options)):
            return "" in options
        case FreeText(end=end):
            return end is None
        case _:
            return False


@lru_cache(maxsize=256)
def full_match(pattern: str, max_states: int) -> codepoint_dfa.CodePointDfa:
    """The texts that match `pattern` as a whole."""
    return codepoint_dfa.fullmatch(pattern, max_states=max_states)


@lru_cache(maxsize=256)
def non_empty_matches(pattern: str, max_states: int) -> Dfa:
    """The non-empty texts that match `pattern` as a whole, over UTF-8 bytes."""
    texts = full_match(pattern, max_states)
    if texts.accepts(""):
        texts = texts.difference(codepoint_dfa.strings([""]))
    return texts.to_bytes(max_states=max_states)


def _literal(builder: LexerBuilder, pieces: list[bytes | int]) -> int:
    state = builder.start
    for piece in pieces:
        match piece:
            case bytes():
                state = builder.literal(state, piece)
            case int():
                state = builder.symbol(state, piece)
    return state


def _write_free_text(
    part: FreeText, builder: LexerBuilder, vocabulary: Vocabulary, item: Callable[..., int]
) -> None:
    items: dict[int, int] = {}
    watched: list[Watched] = []
    end_label = NO_LABEL
    if part.end is None:
        end_label = 1
        items[end_label] = item()
    else:
        watched += _watch(part.end, len(items) + 1, vocabulary)
        items[len(items) + 1] = item()
    exhausted = part.max_tags == 0
    rest = part if part.max_tags is None else replace(part, max_tags=part.max_tags - 1)
    for tag in part.tags:
        label = NO_LABEL if exhausted else len(items) + 1
        watched += _watch(tag.begin, label, vocabulary)
        if not exhausted:
            items[label] = item(tag.body, rest)
    builder.embed_labelled(builder.start, free_text_dfa(tuple(watched), end_label), items)


def _watch(text: str, label: int, vocabulary: Vocabulary) -> list[Watched]:
    """The spellings by which a tag ends free text: its bytes, and its control token if any."""
    if not text:
        raise InvalidGrammarError("a tag in free text must not be empty", keyword="FreeText")
    spellings = [Watched(text.encode(), None, label)]
    match vocabulary.split_controls(text):
        case [int(symbol)]:
            spellings.append(Watched(b"", symbol, label))
        case [bytes()]:
            pass
        case _:
            raise InvalidGrammarError(
                f"the tag {text!r} mixes a control token with text; put the text into the body",
                keyword="FreeText",
            )
    return spellings
