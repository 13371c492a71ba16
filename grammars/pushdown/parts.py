"""Parts of structures: which are composite, which may be empty, and what the others read."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from grammars.automata import codepoint_dfa, pattern_dfa, string_list
from grammars.automata.dfa import NO_LABEL
from grammars.automata.utf8_text import utf8_dfa
from grammars.errors import InvalidGrammarError
from grammars.pushdown.free_text import Watched
from grammars.pushdown.refusals import no_match
from grammars.pushdown.terminals import Match, TextUntil, Word
from grammars.spec import Choice, Embed, FreeText, Literal, Regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.automata.dfa import Dfa
    from grammars.pushdown.terminals import Terminal
    from grammars.spec import Part
    from grammars.vocabulary import Vocabulary


def part_terminals(
    part: Part, vocabulary: Vocabulary, max_states: int
) -> Iterator[tuple[Terminal, tuple[Part, ...]]]:
    """The terminals of an atomic part, each with the parts that it leads into.

    The empty text is never among them: see `is_nullable`.

    Args:
        part: a literal, pattern, choice or free text.
        vocabulary: which spellings are control tokens.
        max_states: budget of each automaton.

    Raises:
        GrammarError: the part is refused.
        UnsatisfiableError: no text is one.
    """
    match part:
        case Literal(text):
            if text:
                yield Word(tuple(vocabulary.split_controls(text))), ()
        case Embed(Regex(pattern)):
            texts = non_empty_matches(pattern, max_states)
            if not texts.is_empty:
                yield Match(texts, pattern), ()
            elif not is_nullable(part, max_states):
                raise no_match()
        case Embed(Choice(options)):
            if not options:
                raise InvalidGrammarError("a choice needs at least one option", keyword="Choice")
            for option in dict.fromkeys(options):
                if option:
                    yield Word((option.encode(),)), ()
        case FreeText():
            yield from _text_terminals(part, vocabulary)
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
    return pattern_dfa.fullmatch(pattern, max_states=max_states)


@lru_cache(maxsize=256)
def non_empty_matches(pattern: str, max_states: int) -> Dfa:
    """The non-empty texts that match `pattern` as a whole, over UTF-8 bytes."""
    texts = full_match(pattern, max_states)
    if texts.accepts(""):
        texts = texts.difference(string_list.strings([""]))
    return utf8_dfa(texts, max_states=max_states)


def _text_terminals(
    part: FreeText, vocabulary: Vocabulary
) -> Iterator[tuple[Terminal, tuple[Part, ...]]]:
    is_exhausted = part.max_tags == 0
    rest = part if part.max_tags is None else replace(part, max_tags=part.max_tags - 1)
    watched: list[Watched] = []
    endings: dict[int, tuple[Part, ...]] = {1: ()}  # label 1: the text is over
    if part.end is not None:
        watched += _watch(part.end, 1, vocabulary)
    for tag in part.tags:
        label = NO_LABEL if is_exhausted else len(endings) + 1
        watched += _watch(tag.begin, label, vocabulary)
        if not is_exhausted:
            endings[label] = (tag.body, rest)
    end_label = 1 if part.end is None else NO_LABEL
    for label, parts in endings.items():
        yield TextUntil(tuple(watched), end_label, label), parts


def _watch(text: str, label: int, vocabulary: Vocabulary) -> list[Watched]:
    """What a tag is in free text: its control token, which text then cannot spell, or its bytes."""
    if not text:
        raise InvalidGrammarError("a tag in free text must not be empty", keyword="FreeText")
    match vocabulary.split_controls(text):
        case [int(symbol)]:
            return [Watched(text.encode(), None, NO_LABEL), Watched(b"", symbol, label)]
        case [bytes()]:
            return [Watched(text.encode(), None, label)]
        case _:
            raise InvalidGrammarError(
                f"the tag {text!r} mixes a control token with text; put the text into the body",
                keyword="FreeText",
            )
