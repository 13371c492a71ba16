"""Transitions: the terminals that a config reads, each with what reading it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.pushdown.configs import ArrayElement, Done, ObjectMember, PartThen, ValueThen
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

    def strings_of(self, config: Config) -> StringSet | None:
        """The strings that may come next as a value."""
        if isinstance(config, ArrayElement):
            if config.count > 0 or not config.layout.may_continue(0):
                return None
            config = self._element_value(config)
        if isinstance(config, ValueThen):
            return config.context.graph.value(config.node).strings
        return None

    def _value(
        self, config: ValueThen, counted: StringSet | None
    ) -> Iterator[tuple[Terminal, Effect]]:
        value = config.context.graph.value(config.node)
        then = Continue(config.then)
        words = [b"null"] if value.has_null else []
        words += [b"true" if flag else b"false" for flag in sorted(value.booleans, reverse=True)]
        for word in words:
            yield Word((word,)), then
        if value.numbers is not None:
            yield Numbers(value.numbers), then
        if value.strings is not None:
            is_counted = value.strings == counted
            yield Strings(StringSet() if is_counted else value.strings, is_counted), then
        yield from self._brackets(config, value)

    def _brackets(self, config: ValueThen, value: Value) -> Iterator[tuple[Terminal, Effect]]:
        context, intern = config.context, self._configs.intern
        if value.objects:
            layouts = [context.object_layout(shape) for shape in value.objects]
            members = (ObjectMember(context, layout, 0, is_first=True) for layout in layouts)
            yield Word((b"{",)), Enter(tuple(map(intern, members)), config.then)
        if value.arrays:
            elements = (
                ArrayElement(context, context.array_layout(shape), 0) for shape in value.arrays
            )
            yield Word((b"[",)), Enter(tuple(map(intern, elements)), config.then)

    def _member(self, config: ObjectMember) -> Iterator[tuple[Terminal, Effect]]:
        layout, index, context = config.layout, config.index, config.context
        follows, gap = not config.is_first, context.gap
        for number in range(index, layout.reach[index]):
            key = layout.keys[number]
            after = ObjectMember(context, layout, number + 1, is_first=False)
            value = ValueThen(context, key.node, self._configs.intern(after))
            yield Key(key.spelling, follows, gap), Continue(self._configs.intern(value))
        if not layout.may_close(index):
            return
        if layout.additional is not None:
            after = ObjectMember(context, layout, len(layout.keys), is_first=False)
            value = ValueThen(context, layout.additional, self._configs.intern(after))
            other = OtherKey(layout.declared, follows, gap)
            yield other, Continue(self._configs.intern(value))
        yield Word((b"}",)), Leave()

    def _element(
        self, config: ArrayElement, counted: StringSet | None
    ) -> Iterator[tuple[Terminal, Effect]]:
        if config.layout.may_continue(config.count):
            value = self._element_value(config)
            if config.count == 0:
                yield from self._value(value, counted)
            else:
                yield Word((b",",), config.context.gap), Continue(self._configs.intern(value))
        if config.layout.may_close(config.count):
            yield Word((b"]",)), Leave()

    def _element_value(self, config: ArrayElement) -> ValueThen:
        context, layout, count = config.context, config.layout, config.count
        following = ArrayElement(context, layout, layout.settled(count + 1))
        return ValueThen(context, layout.shape.element(count), self._configs.intern(following))
