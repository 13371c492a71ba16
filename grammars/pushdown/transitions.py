"""Transitions: the terminals that a config reads, each with what reading it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.pushdown.configs import ArrayElement, Done, ObjectMember, PartThen, ValueThen
from grammars.pushdown.layouts import spell
from grammars.pushdown.parts import part_terminals
from grammars.pushdown.terminals import Key, Numbers, OtherKey, Strings, Word
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.pushdown.configs import Config, ConfigId, ConfigTable
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
        self, config: Config, counted: StringSet | None = None
    ) -> Iterator[tuple[Terminal, Effect]]:
        """The transitions of one config.

        Args:
            config: not a composite part; `Done` has none.
            counted: the string set whose lengths the state's counter checks, if any.
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
            case PartThen(part, then):
                for terminal, parts in part_terminals(part, self._vocabulary, self._max_states):
                    yield terminal, Continue(self._configs.sequence(parts, then))
            case _:
                assert_never(config)

    def strings_of(self, config: Config) -> Iterator[StringSet]:
        """The sets of strings that may come next as a value."""
        for value in self._values(config):
            strings = value.context.graph.value(value.node).strings
            if strings is not None:
                yield strings

    def _values(self, config: Config) -> Iterator[ValueThen]:
        """The values that a config begins with."""
        if isinstance(config, ValueThen):
            yield config
        elif isinstance(config, ArrayElement) and config.is_first:
            yield from self._element_values(config)

    def _value(
        self, config: ValueThen, counted: StringSet | None
    ) -> Iterator[tuple[Terminal, Effect]]:
        graph = config.context.graph
        value = graph.value(config.node)
        then = Continue(config.then)
        words = [b"null"] if value.has_null else []
        words += [b"true" if flag else b"false" for flag in sorted(value.booleans, reverse=True)]
        for word in words:
            yield Word((word,)), then
        if value.numbers is not None:
            yield Numbers(graph.canonical_numbers(value.numbers)), then
        if value.strings is not None:
            is_counted = value.strings == counted
            strings = StringSet(value.strings.content) if is_counted else value.strings
            yield Strings(strings, is_counted), then
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
        context, follows = config.context, not config.is_first
        for step in config.layout.steps(config.place):
            after = ObjectMember(context, config.layout, step.place, is_first=False)
            value = ValueThen(context, step.node, self._configs.intern(after))
            assert step.key is not None
            key = (
                Key(spell(step.key), follows, context.gap)
                if isinstance(step.key, str)
                else OtherKey(step.key, follows, context.gap)
            )
            yield key, Continue(self._configs.intern(value))
        if config.layout.may_close(config.place):
            yield Word((b"}",)), Leave()

    def _element(
        self, config: ArrayElement, counted: StringSet | None
    ) -> Iterator[tuple[Terminal, Effect]]:
        for value in self._element_values(config):
            if config.is_first:
                yield from self._value(value, counted)
            else:
                yield Word((b",",), config.context.gap), Continue(self._configs.intern(value))
        if config.layout.may_close(config.place):
            yield Word((b"]",)), Leave()

    def _element_values(self, config: ArrayElement) -> Iterator[ValueThen]:
        for step in config.layout.steps(config.place):
            after = ArrayElement(config.context, config.layout, step.place)
            yield ValueThen(config.context, step.node, self._configs.intern(after))
