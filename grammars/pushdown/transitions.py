"""Transitions: the terminals that a config reads, each with what reading it leads to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.automata import codepoint_dfa
from grammars.pushdown.configs import (
    ArrayElement,
    Done,
    GrammarThen,
    ObjectMember,
    PartThen,
    ValueThen,
)
from grammars.pushdown.layouts import Closing, spell
from grammars.pushdown.parts import part_terminals
from grammars.pushdown.terminals import Key, Numbers, OtherKey, Scanned, Strings, Word
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from grammars.pushdown.configs import Config, ConfigId, ConfigTable
    from grammars.pushdown.layouts import JsonContext, MemberKey
    from grammars.pushdown.terminals import Terminal
    from grammars.schema.value import Value
    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Continue:
    """The item becomes `then`."""

    then: ConfigId


@dataclass(frozen=True, slots=True)
class Enter:
    """An opening bracket is read: `inner` (one of them) in a new frame, then `then` in this one."""

    inner: tuple[ConfigId, ...]
    then: ConfigId


@dataclass(frozen=True, slots=True)
class Leave:
    """The closing bracket is read: the frame ends."""


Effect: TypeAlias = Continue | Enter | Leave


class Transitions:
    """Finds the transitions of configs.

    Args:
        configs: the table that continuations are numbered in.
        vocabulary: which literals are control tokens.
        max_states: budget of each automaton.
    """

    def __init__(self, configs: ConfigTable, vocabulary: Vocabulary, max_states: int) -> None:
        self._configs = configs
        self._vocabulary = vocabulary
        self._max_states = max_states

    def of(
        self, config: Config, counted: Strings | None = None
    ) -> Iterator[tuple[Terminal, Effect]]:
        """The transitions of one config.

        Args:
            config: not a composite part; `Done` has none.
            counted: the strings whose lengths the state's counter checks, if any.
        """
        match config:
            case Done():
                pass
            case ValueThen():
                yield from self._value(config, counted)
            case ObjectMember():
                yield from self._member(config)
            case ArrayElement():
                yield from self._element(config, counted)
            case GrammarThen(grammar, place, then):
                ways = grammar.ways(place)
                if ways.lexer is not None:
                    for label in range(1, len(ways.lexer.labels) + 1):
                        after = grammar.after(ways, label)
                        if not grammar.is_dead(after):
                            following = self._configs.intern(GrammarThen(grammar, after, then))
                            yield Scanned(ways.lexer, label), Continue(following)
            case PartThen(part, then):
                for terminal, parts in part_terminals(part, self._vocabulary, self._max_states):
                    yield terminal, Continue(self._configs.sequence(parts, then))
            case _:
                assert_never(config)

    def strings_of(self, config: Config) -> Iterator[Strings]:
        """The strings that may come next as a value, not counted."""
        for value in self._values(config):
            strings = value.context.graph.value(value.node).strings
            if strings is not None:
                yield _strings(value, strings)

    def _values(self, config: Config) -> Iterator[ValueThen]:
        """The values that a config begins with."""
        if isinstance(config, ValueThen):
            yield config
        elif isinstance(config, ArrayElement) and config.is_first:
            yield from self._element_values(config)

    def _value(
        self, config: ValueThen, counted: Strings | None
    ) -> Iterator[tuple[Terminal, Effect]]:
        graph = config.context.graph
        value = graph.value(config.node)
        then = Continue(config.then)
        words = [b"null"] if value.has_null else []
        words += [b"true" if flag else b"false" for flag in sorted(value.booleans, reverse=True)]
        for word in words:
            yield Word((word,)), then
        if value.numbers is not None:
            yield Numbers(config.context.numbers(value.numbers)), then
        if value.strings is not None:
            terminal = _strings(config, value.strings)
            if terminal == counted:
                terminal = replace(
                    terminal, strings=StringSet(value.strings.content), is_counted=True
                )
            yield terminal, then
        yield from self._brackets(config, value)

    def _brackets(self, config: ValueThen, value: Value) -> Iterator[tuple[Terminal, Effect]]:
        context, intern = config.context, self._configs.intern
        if value.objects:
            objects = [context.object_layout(shape) for shape in value.objects]
            members = (ObjectMember(context, o, o.start, is_first=True) for o in objects)
            yield Word((b"{",)), Enter(tuple(map(intern, members)), config.then)
        if value.arrays:
            arrays = [context.array_layout(shape) for shape in value.arrays]
            elements = (ArrayElement(context, a, a.start) for a in arrays)
            yield Word((b"[",)), Enter(tuple(map(intern, elements)), config.then)

    def _member(self, config: ObjectMember) -> Iterator[tuple[Terminal, Effect]]:
        for key, effect in self.member_effects(config):
            yield member_terminal(key, config.context, follows=not config.is_first), effect

    def member_effects(
        self, config: ObjectMember, wanted: Container[MemberKey] | None = None
    ) -> Iterator[tuple[MemberKey, Effect]]:
        """What the keys of an object lead to, those of `wanted` or all of them."""
        context, layout = config.context, config.layout
        for step in layout.steps(config.place):
            assert step.key is not None
            if wanted is None or step.key in wanted:
                after = ObjectMember(context, layout, step.place, is_first=False)
                value = ValueThen(context, step.node, self._configs.intern(after))
                yield step.key, Continue(self._configs.intern(value))
        is_wanted = wanted is None or Closing.BRACKET in wanted
        if is_wanted and layout.may_close(config.place):
            yield Closing.BRACKET, Leave()

    def _element(
        self, config: ArrayElement, counted: Strings | None
    ) -> Iterator[tuple[Terminal, Effect]]:
        for value in self._element_values(config):
            if config.is_first:
                yield from self._value(value, counted)
            else:
                yield Word((b",",), config.context.gap), Continue(self._configs.intern(value))
        if config.layout.may_close(config.place):
            yield Word((b"]",)), Leave()

    def _element_values(self, config: ArrayElement) -> Iterator[ValueThen]:
        context = config.context
        inner = context.canonical if config.layout.has_distinct_texts else context
        for step in config.layout.steps(config.place):
            after = ArrayElement(context, config.layout, step.place)
            yield ValueThen(inner, step.node, self._configs.intern(after))


def _strings(value: ValueThen, strings: StringSet) -> Strings:
    """The strings of a value, not counted; restricted ones are canonical anyway."""
    is_restricted = strings.content not in (None, codepoint_dfa.any_string())
    is_canonical = value.context.is_canonical and not is_restricted
    return Strings(strings, is_counted=False, is_canonical=is_canonical)


def member_terminal(key: MemberKey, context: JsonContext, *, follows: bool) -> Terminal:
    """How a key of an object is written, after another member or as the first."""
    match key:
        case Closing():
            return Word((b"}",))
        case str():
            return Key(spell(key), follows, context.gap)
        case _:
            return OtherKey(key, follows, context.gap, context.has_distinct_keys)
