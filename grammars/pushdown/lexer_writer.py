"""LexerWriter: writes the terminals of the items of one structural state into one lexer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.automata import codepoint_dfa, json_string
from grammars.automata.dfa import Dfa
from grammars.automata.lexer import LexerBuilder
from grammars.pushdown.configs import ArrayElement, Done, ObjectMember, PartThen, ValueThen
from grammars.pushdown.part_writer import write_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.automata.lexer import Lexer
    from grammars.limits import CompileLimits
    from grammars.pushdown.configs import Config, ConfigId, ConfigTable
    from grammars.schema.value import NodeId, StringSet, Value
    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Continue:
    """The terminal is read: the item becomes `then`."""

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


@dataclass(frozen=True, slots=True)
class WrittenLexer:
    """The lexer of a state and what its item numbers mean.

    Args:
        lexer: None where the state has no terminals at all.
        effects: of each lexer item, the atom (by its index) that it belongs to and its effect.
        count_min: characters that the counted string has at least.
        count_max: and at most; None: no string is counted.
    """

    lexer: Lexer | None
    effects: tuple[tuple[int, Effect], ...]
    count_min: int
    count_max: int | None


class LexerWriter:
    """Writes one lexer, then is done.

    Args:
        configs: the table that continuations are numbered in.
        vocabulary: which literals are control tokens.
        limits: compile budgets.
    """

    def __init__(self, configs: ConfigTable, vocabulary: Vocabulary, limits: CompileLimits) -> None:
        self._configs = configs
        self._vocabulary = vocabulary
        self._max_states = limits.max_states
        self._builder = LexerBuilder(limits.max_states)
        self._effects: list[tuple[int, Effect]] = []
        self._atom = 0
        self._counted: StringSet | None = None
        self._scalar_ends: dict[object, int] = {}  # a number or string set -> the state after it

    def write(self, atoms: Iterable[Config]) -> WrittenLexer:
        """Write all terminals of `atoms`, which are followed side by side.

        Raises:
            GrammarError: the lexer is over budget.
        """
        atoms = tuple(atoms)
        self._counted = self._string_to_count(atoms)
        for self._atom, config in enumerate(atoms):
            self._write_config(config)
        lexer = self._builder.determinise() if self._effects else None
        counted = self._counted
        return WrittenLexer(
            lexer,
            tuple(self._effects),
            0 if counted is None else counted.min_length,
            None if counted is None else counted.max_length,
        )

    def _item(self, effect: Effect) -> int:
        self._effects.append((self._atom, effect))
        return len(self._effects) - 1

    def _accept(self, state: int, effect: Effect) -> None:
        self._builder.accept(state, self._item(effect))

    def _write_config(self, config: Config) -> None:
        match config:
            case Done():
                pass
            case ValueThen():
                self._write_value(config)
            case ObjectMember():
                self._write_member(config)
            case ArrayElement():
                self._write_element(config)
            case PartThen(part, then):
                write_part(
                    part,
                    self._builder,
                    self._vocabulary,
                    self._max_states,
                    lambda *tail: self._item(Continue(self._configs.sequence(tail, then))),
                )
            case _:
                assert_never(config)

    def _write_member(self, config: ObjectMember) -> None:
        layout, index, context = config.layout, config.index, config.context
        closes = layout.may_close(index)
        if closes:
            self._accept(self._builder.literal(LexerBuilder.start, b"}"), Leave())
        keys = range(index, layout.reach[index])
        has_additional = closes and layout.additional is not None
        if not keys and not has_additional:
            return
        state = LexerBuilder.start
        if not config.is_first:
            state = self._builder.optional(self._builder.literal(state, b","), context.gap)
        for number in keys:
            key = layout.keys[number]
            member = ObjectMember(context, layout, number + 1, is_first=False)
            self._write_key(self._builder.literal(state, key.spelling), key.node, member)
        if has_additional and layout.additional is not None:
            member = ObjectMember(context, layout, len(layout.keys), is_first=False)
            key_end = self._builder.embed(state, additional_key(layout.declared), counted=False)
            self._write_key(key_end, layout.additional, member)

    def _write_key(self, key_end: int, node: NodeId, member: ObjectMember) -> None:
        value = ValueThen(member.context, node, self._configs.intern(member))
        colon = self._builder.literal(key_end, b":")
        end = self._builder.optional(colon, member.context.gap)
        self._accept(end, Continue(self._configs.intern(value)))

    def _write_element(self, config: ArrayElement) -> None:
        layout, count, context = config.layout, config.count, config.context
        if layout.may_close(count):
            self._accept(self._builder.literal(LexerBuilder.start, b"]"), Leave())
        if not layout.may_continue(count):
            return
        value = element_value(config, self._configs)
        if count == 0:
            self._write_value(value)
        else:
            comma = self._builder.literal(LexerBuilder.start, b",")
            end = self._builder.optional(comma, context.gap)
            self._accept(end, Continue(self._configs.intern(value)))

    def _write_value(self, config: ValueThen) -> None:
        value = config.context.graph.value(config.node)
        then = Continue(config.then)
        literals = [b"null"] if value.has_null else []
        literals += [b"true" if flag else b"false" for flag in sorted(value.booleans, reverse=True)]
        for literal in literals:
            self._accept(self._builder.literal(LexerBuilder.start, literal), then)
        for scalars in (value.numbers, value.strings):
            if scalars is not None:
                self._accept(self._scalar_end(scalars), then)
        self._write_brackets(config, value)

    def _write_brackets(self, config: ValueThen, value: Value) -> None:
        context, intern = config.context, self._configs.intern
        objects = tuple(
            intern(ObjectMember(context, context.object_layout(shape), 0, is_first=True))
            for shape in value.objects
        )
        arrays = tuple(
            intern(ArrayElement(context, context.array_layout(shape), 0)) for shape in value.arrays
        )
        for bracket, inner in ((b"{", objects), (b"[", arrays)):
            if inner:
                end = self._builder.literal(LexerBuilder.start, bracket)
                self._accept(end, Enter(inner, config.then))

    def _scalar_end(self, scalars: Dfa | StringSet) -> int:
        """The state after a number or a string; the items of a state share one copy of each set."""
        known = self._scalar_ends.get(scalars)
        if known is None:
            is_counted = scalars == self._counted
            dfa = scalars if isinstance(scalars, Dfa) else self._string(scalars)
            known = self._builder.embed(LexerBuilder.start, dfa, counted=is_counted)
            self._scalar_ends[scalars] = known
        return known

    def _string(self, strings: StringSet) -> Dfa:
        if strings.is_any or strings == self._counted:
            return json_string.any_json_string()
        return spelled_string(strings, self._max_states)

    def _string_to_count(self, atoms: tuple[Config, ...]) -> StringSet | None:
        """The one bounded string among the values, which the character counter can serve."""
        sets = {
            strings
            for config in atoms
            if (strings := _strings_of(config, self._configs)) is not None
        }
        if len(sets) != 1:
            return None
        only = sets.pop()
        return only if only.content is None and not only.is_any else None


def element_value(config: ArrayElement, configs: ConfigTable) -> ValueThen:
    """The value of the next element and what follows it."""
    following = ArrayElement(config.context, config.layout, config.layout.settled(config.count + 1))
    node = config.layout.shape.element(config.count)
    return ValueThen(config.context, node, configs.intern(following))


def _strings_of(config: Config, configs: ConfigTable) -> StringSet | None:
    if isinstance(config, ArrayElement) and config.count == 0:
        if not config.layout.may_continue(0):
            return None
        config = element_value(config, configs)
    if isinstance(config, ValueThen):
        return config.context.graph.value(config.node).strings
    return None


@lru_cache(maxsize=4096)
def spelled_string(strings: StringSet, max_states: int) -> Dfa:
    """Strings of a set in canonical spelling, with quotes, lengths multiplied out."""
    content = strings.content
    if content is None:
        content = codepoint_dfa.any_string().with_length(
            strings.min_length, strings.max_length, max_states=max_states
        )
    return json_string.json_string(content)


@lru_cache(maxsize=1024)
def additional_key(declared: frozenset[str]) -> Dfa:
    """Keys that are none of the declared ones; in canonical spelling if there are any declared."""
    if not declared:
        return json_string.any_json_string()
    names = codepoint_dfa.strings(sorted(declared))
    return json_string.json_string(codepoint_dfa.any_string().difference(names))
