"""Intersections and unions of values; members are combined as graph nodes, lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from grammars.automata import codepoint_dfa, json_number, operations, pattern_dfa
from grammars.automata.speakable import speakable_texts
from grammars.byte_lru import ByteLru
from grammars.errors import LimitExceededError
from grammars.schema.formats import format_dfa
from grammars.schema.value import ArrayShape, ObjectShape, StringSet, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.limits import CompileLimits
    from grammars.schema.value import NodeId

_ENTRY_BYTES: Final = 1024
_automata: Final[ByteLru[object, CodePointDfa]] = ByteLru(64 * 1024 * 1024)

_Shape = TypeVar("_Shape", ObjectShape, ArrayShape)


class ValueAlgebra:
    """`and` and `or` of values.

    Args:
        conjoin: makes the node of "both of these nodes".
        limits: budgets of the automata and of the number of shapes.
        missing_bytes: bytes that the vocabulary cannot spell.
    """

    def __init__(
        self,
        conjoin: Callable[[NodeId, NodeId], NodeId],
        limits: CompileLimits,
        missing_bytes: frozenset[int] = frozenset(),
    ) -> None:
        self._conjoin = conjoin
        self._limits = limits
        self._missing_bytes = missing_bytes

    def intersect(self, a: Value, b: Value) -> Value:
        """The values that are in both."""
        return Value(
            has_null=a.has_null and b.has_null,
            booleans=a.booleans & b.booleans,
            numbers=self._intersect_numbers(a.numbers, b.numbers),
            strings=self.intersect_strings(a.strings, b.strings),
            objects=self._bounded(
                self._intersect_objects(x, y) for x in a.objects for y in b.objects
            ),
            arrays=self._bounded(
                shape
                for x in a.arrays
                for y in b.arrays
                if (shape := self._intersect_arrays(x, y)) is not None
            ),
        )

    def union(self, values: Iterable[Value]) -> Value:
        """The values that are in at least one."""
        members = list(values)
        numbers: Dfa | None = None
        strings: StringSet | None = None
        for member in members:
            numbers = self._unite_numbers(numbers, member.numbers)
            strings = self._unite_strings(strings, member.strings)
        return Value(
            has_null=any(member.has_null for member in members),
            booleans=frozenset[bool]().union(*(member.booleans for member in members)),
            numbers=numbers,
            strings=strings,
            objects=self._bounded(shape for member in members for shape in member.objects),
            arrays=self._bounded(shape for member in members for shape in member.arrays),
        )

    @property
    def max_states(self) -> int:
        """Budget of each automaton."""
        return self._limits.max_states

    @staticmethod
    def anything(anything: NodeId) -> Value:
        """All JSON values; `anything` is the node of that same set, for the members."""
        return Value(
            has_null=True,
            booleans=frozenset((True, False)),
            numbers=json_number.number_dfa(),
            strings=StringSet(),
            objects=(ObjectShape((), (), anything),),
            arrays=(ArrayShape((), anything),),
        )

    def strings_matching(self, pattern: str) -> StringSet | None:
        """The strings in which `pattern` is found (Validation 2020-12, section 6.3.3)."""
        return self._remembered(
            ("pattern", pattern),
            lambda: pattern_dfa.search(pattern, max_states=self.max_states),
        )

    def strings_of_format(self, name: str) -> StringSet | None:
        """The strings of an enforced format."""
        return self._remembered(("format", name), lambda: format_dfa(name))

    def strings_among(self, texts: tuple[str, ...]) -> StringSet | None:
        """Exactly these strings, but for those that cannot be spelled."""
        return self._remembered(
            ("among", texts), lambda: codepoint_dfa.strings(texts, max_states=self.max_states)
        )

    def can_spell(self, text: str) -> bool:
        """Whether the text can be written: no lone surrogate, no character without a token."""
        return self.strings_among((text,)) is not None

    def _remembered(self, key: object, make: Callable[[], CodePointDfa]) -> StringSet | None:
        """The spellable strings of an automaton; the same object for equal arguments.

        So equal patterns of different schemas have equal terminals, and share lexers and masks.
        """
        key = (key, self.max_states, self._missing_bytes)
        content = _automata.get(key)
        if content is None:
            content = make()
            alphabet = speakable_texts(self._missing_bytes, is_json=True)
            if alphabet is not None:
                content = content.intersect(alphabet, max_states=self.max_states)
            _automata.put(key, content, content.next_state.nbytes + _ENTRY_BYTES)
        return None if content.is_empty else StringSet(content)

    def _restrict(
        self, content: CodePointDfa, min_length: int, max_length: int | None
    ) -> StringSet | None:
        """The strings of `content` whose length is within the bounds; None if there are none."""
        if min_length > 0 or max_length is not None:
            content = content.with_length(min_length, max_length, max_states=self.max_states)
        return None if content.is_empty else StringSet(content)

    def _content(self, strings: StringSet) -> CodePointDfa:
        """The set as one automaton, counted lengths multiplied out."""
        if strings.content is not None:
            return strings.content
        return codepoint_dfa.any_string().with_length(
            strings.min_length, strings.max_length, max_states=self.max_states
        )

    def _intersect_numbers(self, a: Dfa | None, b: Dfa | None) -> Dfa | None:
        if a is None or b is None or a is b:
            return a if a is b else None
        both = operations.intersect(a, b, max_states=self.max_states)
        return None if both.is_empty else both

    def _unite_numbers(self, a: Dfa | None, b: Dfa | None) -> Dfa | None:
        if a is None or b is None or a is b:
            return a if b is None else b
        return operations.union(a, b, max_states=self.max_states)

    def intersect_strings(self, a: StringSet | None, b: StringSet | None) -> StringSet | None:
        """The strings that are in both; None if there are none."""
        if a is None or b is None:
            return None
        if a.content is not None and b.content is not None:
            both = a.content.intersect(b.content, max_states=self.max_states)
            return None if both.is_empty else StringSet(both)
        if a.content is None and b.content is None:
            low = max(a.min_length, b.min_length)
            highs = [high for high in (a.max_length, b.max_length) if high is not None]
            high = min(highs) if highs else None
            return None if high is not None and low > high else StringSet(None, low, high)
        counted, explicit = (a, b) if a.content is None else (b, a)
        assert explicit.content is not None
        return self._restrict(explicit.content, counted.min_length, counted.max_length)

    def _unite_strings(self, a: StringSet | None, b: StringSet | None) -> StringSet | None:
        if a is None or b is None or a == b:
            return a if b is None else b
        if a.is_any or b.is_any:
            return StringSet()
        if a.content is None and b.content is None and _lengths_touch(a, b):
            unbounded = a.max_length is None or b.max_length is None
            high = None if unbounded else max(a.max_length or 0, b.max_length or 0)
            return StringSet(None, min(a.min_length, b.min_length), high)
        either = self._content(a).union(self._content(b), max_states=self.max_states)
        return StringSet(either)

    def _intersect_objects(self, a: ObjectShape, b: ObjectShape) -> ObjectShape:
        of_a, of_b = dict(a.properties), dict(b.properties)
        names = dict.fromkeys([*of_a, *of_b])
        return ObjectShape(
            properties=tuple(
                (name, self._conjoin(of_a.get(name, a.additional), of_b.get(name, b.additional)))
                for name in names
            ),
            required=tuple(dict.fromkeys([*a.required, *b.required])),
            additional=self._conjoin(a.additional, b.additional),
        )

    def _intersect_arrays(self, a: ArrayShape, b: ArrayShape) -> ArrayShape | None:
        highs = [high for high in (a.max_items, b.max_items) if high is not None]
        low, high = max(a.min_items, b.min_items), min(highs) if highs else None
        if high is not None and low > high:
            return None
        length = max(len(a.prefix), len(b.prefix))
        return ArrayShape(
            prefix=tuple(self._conjoin(a.element(i), b.element(i)) for i in range(length)),
            rest=self._conjoin(a.rest, b.rest),
            min_items=low,
            max_items=high,
        )

    def _bounded(self, shapes: Iterable[_Shape]) -> tuple[_Shape, ...]:
        distinct: dict[_Shape, None] = {}
        for shape in shapes:
            distinct[shape] = None
            if len(distinct) > self._limits.max_alternatives:
                raise LimitExceededError(
                    "max_alternatives",
                    self._limits.max_alternatives,
                    "a union of objects or arrays",
                )
        return tuple(distinct)


def _lengths_touch(a: StringSet, b: StringSet) -> bool:
    first, second = (a, b) if a.min_length <= b.min_length else (b, a)
    return first.max_length is None or second.min_length <= first.max_length + 1
