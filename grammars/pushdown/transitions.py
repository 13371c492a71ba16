"""Transitions: the terminals that a config reads, each with what reading it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.automata import codepoint_dfa
from grammars.automata.few_texts import few_texts
from grammars.automata.string_rest import ENDED, StringRest
from grammars.pushdown.configs import (
    ArrayElement,
    Done,
    GrammarThen,
    GrammarWaits,
    InString,
    ObjectMember,
    PartThen,
    ValueThen,
    opened_arrays,
    opened_objects,
)
from grammars.pushdown.layouts import Closing, spell
from grammars.pushdown.parts import part_terminals
from grammars.pushdown.string_reading import rest_of
from grammars.pushdown.terminals import (
    Key,
    Numbers,
    OtherKey,
    Scanned,
    StringPiece,
    Strings,
    StringTail,
    Word,
)
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from grammars.cfg.steps import CfgSteps, Ways
    from grammars.pushdown.configs import Config, ConfigId, ConfigTable
    from grammars.pushdown.layouts import JsonContext, MemberKey
    from grammars.pushdown.string_reading import StringReading
    from grammars.pushdown.terminals import Terminal
    from grammars.schema.value import NodeId, Value
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


@dataclass(frozen=True, slots=True)
class Scan:
    """A grammar has read `label` of its lexer at `ways`: it says itself what comes, then `then`."""

    grammar: CfgSteps
    ways: Ways
    label: int
    then: ConfigId


Effect: TypeAlias = Continue | Enter | Leave | Scan


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
        self._opened_of: dict[
            tuple[JsonContext, NodeId], tuple[tuple[ConfigId, ...], tuple[ConfigId, ...]]
        ] = {}

    def of(self, config: Config, reading: StringReading) -> Iterator[tuple[Terminal, Effect]]:
        """The transitions of one config.

        Args:
            config: not a composite part; `Done` has none, nor has one that only waits.
            reading: how its strings are read.
        """
        match config:
            case Done() | GrammarWaits():
                pass
            case ValueThen():
                yield from self._value(config, reading)
            case ObjectMember():
                yield from self._member(config)
            case ArrayElement():
                yield from self._element(config, reading)
            case InString(rest):
                yield from self._in_string(rest, reading)
            case GrammarThen(grammar, place, then):
                ways = grammar.ways(place)
                if ways.lexer is not None:
                    for label in range(1, len(ways.lexer.labels) + 1):
                        yield Scanned(ways.lexer, label), Scan(grammar, ways, label, then)
            case PartThen(part, then):
                for terminal, parts in part_terminals(part, self._vocabulary, self._max_states):
                    yield terminal, Continue(self._configs.sequence(parts, then))
            case _:
                assert_never(config)

    def strings_of(self, config: Config) -> Iterator[StringRest]:
        """The strings that may come next as a value, or are being read."""
        if isinstance(config, InString):
            yield config.rest
        for value in self._values(config):
            strings = value.context.graph.value(value.node).strings
            if strings is not None:
                yield rest_of(strings)

    def _values(self, config: Config) -> Iterator[ValueThen]:
        """The values that a config begins with."""
        if isinstance(config, ValueThen):
            yield config
        elif isinstance(config, ArrayElement) and config.is_first:
            yield from self.element_values(config)

    def _value(
        self, config: ValueThen, reading: StringReading
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
            yield from self._strings(config, value.strings, reading)
        yield from self._brackets(config, value)

    def _strings(
        self, config: ValueThen, strings: StringSet, reading: StringReading
    ) -> Iterator[tuple[Terminal, Effect]]:
        then = config.then
        if reading.are_words:
            assert strings.content is not None, "any string is not a few texts"
            for text in few_texts(strings.content) or ():
                yield Word((spell(text),)), Continue(then)
            return
        if reading.length is None:
            yield _whole_strings(config, strings, reading), Continue(then)
            return
        rest = rest_of(strings)
        for piece, left in _pieces(rest, reading.length, is_open=False):
            if left is None:
                yield piece, Continue(then)
            else:
                yield piece, Enter((self._configs.intern(InString(left)),), then)

    def _in_string(
        self, rest: StringRest, reading: StringReading
    ) -> Iterator[tuple[Terminal, Effect]]:
        if reading.length is None:
            is_counted = rest == reading.counted
            bounds = (0, None) if is_counted else (rest.fewest, rest.most)
            yield StringTail(StringRest(rest.content, rest.state, *bounds), is_counted), Leave()
            return
        for piece, left in _pieces(rest, reading.length, is_open=True):
            if left is None:
                yield piece, Leave()
            else:
                yield piece, Continue(self._configs.intern(InString(left)))

    def _brackets(self, config: ValueThen, value: Value) -> Iterator[tuple[Terminal, Effect]]:
        if value.objects or value.arrays:
            objects, arrays = self._opened(config.context, config.node, value)
            if objects:
                yield Word((b"{",)), Enter(objects, config.then)
            if arrays:
                yield Word((b"[",)), Enter(arrays, config.then)

    def _opened(
        self, context: JsonContext, node: NodeId, value: Value
    ) -> tuple[tuple[ConfigId, ...], tuple[ConfigId, ...]]:
        """The objects and the arrays of a value after their opening brackets, found once."""
        known = self._opened_of.get((context, node))
        if known is None:
            intern = self._configs.intern
            objects = tuple(map(intern, opened_objects(context, value)))
            known = objects, tuple(map(intern, opened_arrays(context, value)))
            self._opened_of[context, node] = known
        return known

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
        self, config: ArrayElement, reading: StringReading
    ) -> Iterator[tuple[Terminal, Effect]]:
        for value in self.element_values(config):
            if config.is_first:
                yield from self._value(value, reading)
            else:
                yield Word((b",",), config.context.gap), Continue(self._configs.intern(value))
        if config.layout.may_close(config.place):
            yield Word((b"]",)), Leave()

    def element_values(self, config: ArrayElement) -> Iterator[ValueThen]:
        """The elements that may come next, each with what follows it."""
        context = config.context
        inner = context.canonical if config.layout.has_distinct_texts else context
        for step in config.layout.steps(config.place):
            after = ArrayElement(context, config.layout, step.place)
            yield ValueThen(inner, step.node, self._configs.intern(after))


def _whole_strings(value: ValueThen, strings: StringSet, reading: StringReading) -> Strings:
    """The strings of a value, whole; restricted ones are canonical anyway."""
    is_restricted = strings.content not in (None, codepoint_dfa.any_string())
    is_canonical = value.context.is_canonical and not is_restricted
    if reading.counted is not None and rest_of(strings) == reading.counted:
        unbounded = StringSet(strings.content)
        return Strings(unbounded, is_counted=True, is_canonical=is_canonical)
    return Strings(strings, is_counted=False, is_canonical=is_canonical)


def _pieces(
    rest: StringRest, length: int, *, is_open: bool
) -> Iterator[tuple[StringPiece, StringRest | None]]:
    """The labels of the next piece of a string, each with what is left; None where it has ended."""
    near = rest.near(length)
    yield StringPiece(near, length, is_open, ENDED), None
    for label, left in enumerate(rest.after(length), ENDED + 1):
        yield StringPiece(near, length, is_open, label), left


def member_terminal(key: MemberKey, context: JsonContext, *, follows: bool) -> Terminal:
    """How a key of an object is written, after another member or as the first."""
    match key:
        case Closing():
            return Word((b"}",))
        case str():
            return Key(spell(key), follows, context.gap)
        case _:
            return OtherKey(key, follows, context.gap, context.has_distinct_keys)
