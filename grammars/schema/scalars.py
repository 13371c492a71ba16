"""ScalarAlgebra: `and`, `or` and `not` of sets of numbers and of strings."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grammars.automata import codepoint_dfa, pattern_dfa, string_list
from grammars.automata.lengths import can_be_counted
from grammars.automata.speakable import speakable_texts
from grammars.automata.string_list import StringList
from grammars.byte_lru import ByteLru
from grammars.errors import UnsupportedError
from grammars.schema.formats import (
    LONG_TEXT,
    NARROWER_FORMATS,
    PLAIN_FORMATS,
    format_dfa,
    plain_format_dfa,
    widest_format_dfa,
)
from grammars.schema.number_algebra import NumberAlgebra
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.codepoint_dfa import CodePointDfa

_ENTRY_BYTES: Final = 1024

_FEW_STATES: Final = 256
"""As many states at most make a bound of the length part of a content: their texts are counted
exactly (`TextCounts`), and slices of so few states are shared by all automata (`SliceSources`)."""

_automata: Final[ByteLru[object, CodePointDfa]] = ByteLru(64 * 1024 * 1024)


@lru_cache(maxsize=8)
def scalar_algebra(max_states: int, missing_bytes: frozenset[int]) -> ScalarAlgebra:
    """The algebra of these arguments, one for all schemas: it remembers nothing of any."""
    return ScalarAlgebra(max_states, missing_bytes)


class ScalarAlgebra:
    """Operations on scalar sets; an empty set is None.

    Args:
        max_states: budget of each automaton.
        missing_bytes: bytes that the vocabulary cannot spell; strings that need one are in no set.

    Attributes:
        numbers: operations on sets of numbers.
        no_strings: the automaton of no string.
    """

    def __init__(self, max_states: int, missing_bytes: frozenset[int] = frozenset()) -> None:
        self.max_states = max_states
        self._missing_bytes = missing_bytes
        self.no_strings = codepoint_dfa.no_string()
        self.numbers = NumberAlgebra(max_states)

    def strings_matching(self, pattern: str) -> StringSet | None:
        """The strings in which `pattern` is found (Validation 2020-12, section 6.3.3)."""
        repeated = pattern_dfa.repeated_class(pattern)
        if repeated is not None:
            members = repeated.members
            texts = self._remembered(("class", members), lambda: pattern_dfa.texts_of(members))
            bounds = StringSet(None, repeated.minimum, repeated.maximum)
            return self.intersect_strings(texts, bounds)
        return self._remembered(
            ("pattern", pattern),
            lambda: pattern_dfa.search(pattern, max_states=self.max_states),
        )

    def strings_of_format(self, name: str, most: int | None = None) -> StringSet | None:
        """The strings of an enforced format.

        Args:
            name: of the format.
            most: characters at most that the strings will be bounded to, if they will. Where they
                are many, a format may have a plainer form whose length can be counted.
        """
        if most is not None and most >= LONG_TEXT and name in PLAIN_FORMATS:
            plain = self._remembered(("plain", name), lambda: plain_format_dfa(name))
            exact = widest_format_dfa if name in NARROWER_FORMATS else format_dfa
            widest = self._kept(("widest", name), lambda: exact(name))
            return None if plain is None else replace(plain, widest=widest)
        strings = self._remembered(("format", name), lambda: format_dfa(name))
        if strings is None or name not in NARROWER_FORMATS:
            return strings
        return replace(
            strings, widest=self._kept(("widest", name), lambda: widest_format_dfa(name))
        )

    def strings_among(self, texts: tuple[str, ...]) -> StringSet | None:
        """Exactly these strings, but for those that cannot be spelled."""
        return self._remembered(
            ("among", texts), lambda: string_list.strings(texts, max_states=self.max_states)
        )

    def can_spell(self, text: str) -> bool:
        """Whether the text can be written: no lone surrogate, no character without a token."""
        if text.isascii() and not self._missing_bytes:
            return True
        try:
            spelling = json.dumps(text, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return False
        return self._missing_bytes.isdisjoint(spelling)

    def intersect_strings(self, a: StringSet | None, b: StringSet | None) -> StringSet | None:
        """The strings in both sets.

        Raises:
            UnsupportedError: none of them is in the narrower form in which a format is generated.
        """
        if a is None or b is None:
            return None
        both = self._meet(a, b)
        if a.widest is None and b.widest is None:
            return both
        x, y = _outside(a), _outside(b)
        return _within(both, self._both(x, y) if x and y else x or y)

    def _meet(self, a: StringSet, b: StringSet) -> StringSet | None:
        """The intersection of the sets as they are generated."""
        low = max(a.min_length, b.min_length)
        highs = [high for high in (a.max_length, b.max_length) if high is not None]
        high = min(highs) if highs else None
        if high is not None and low > high:
            return None
        if a.content is None or b.content is None:
            content = b.content if a.content is None else a.content
        else:
            content = self._both(a.content, b.content)
        return self._bounded(content, low, high)

    def _both(self, a: CodePointDfa, b: CodePointDfa) -> CodePointDfa:
        if isinstance(b, StringList):
            a, b = b, a  # it looks its strings up in the other
        return self._kept(("and", a, b), lambda: a.intersect(b, max_states=self.max_states))

    def _bounded(
        self, content: CodePointDfa | None, low: int, high: int | None
    ) -> StringSet | None:
        """The strings of a content within bounds, multiplied into it if that is small."""
        if content is None or content is codepoint_dfa.any_string():
            return StringSet(None, low, high)
        if content.is_empty:
            return None
        if isinstance(content, StringList):
            return _non_empty(content.with_length(low, high, max_states=self.max_states))
        if content.has_lengths(low, high):
            return StringSet(content)
        if content.num_states * (low if high is None else high) > _FEW_STATES:
            if can_be_counted(content, low, high):
                return StringSet(content, low, high)
            if low > 0:
                return self._bounded(content.with_length(low, max_states=self.max_states), 0, high)
        return _non_empty(content.with_length(low, high, max_states=self.max_states))

    def unite_strings(self, a: StringSet | None, b: StringSet | None) -> StringSet | None:
        """The strings in either set."""
        either = self._join(a, b)
        if a is None or b is None or either is None or (a.widest is None and b.widest is None):
            return either
        x, y = a.widest or self.content(a), b.widest or self.content(b)
        widest = self._kept(("or", x, y), lambda: x.union(y, max_states=self.max_states))
        return either if either.is_any else replace(either, widest=widest)

    def _join(self, a: StringSet | None, b: StringSet | None) -> StringSet | None:
        if a is None or b is None or a == b:
            return a if b is None else b
        if a.is_any or b.is_any:
            return StringSet()
        if a.content is None and b.content is None and _lengths_touch(a, b):
            unbounded = a.max_length is None or b.max_length is None
            high = None if unbounded else max(a.max_length or 0, b.max_length or 0)
            return StringSet(None, min(a.min_length, b.min_length), high)
        x, y = self.content(a), self.content(b)
        return StringSet(self._kept(("or", x, y), lambda: x.union(y, max_states=self.max_states)))

    def complement_strings(self, strings: StringSet | None) -> StringSet | None:
        """The strings that are not in the set; raises as `intersect_strings` does."""
        if strings is None:
            return StringSet()
        if strings.widest is not None:
            content = self.content(replace(strings, widest=None))
            others = self.complement_strings(StringSet(strings.widest))
            return _within(others, self._kept(("widest not", content), content.complement))
        if strings.content is None:
            shorter = StringSet(None, 0, strings.min_length - 1) if strings.min_length else None
            longer = None if strings.max_length is None else StringSet(None, strings.max_length + 1)
            return self.unite_strings(shorter, longer)
        content = self.content(strings)
        return _non_empty(
            self._kept(("not", content), lambda: self._speakable(content.complement()))
        )

    def content(self, strings: StringSet) -> CodePointDfa:
        """The set as one automaton, counted lengths multiplied out."""
        content = codepoint_dfa.any_string() if strings.content is None else strings.content
        return content.with_length(
            strings.min_length, strings.max_length, max_states=self.max_states
        )

    def _remembered(self, key: object, make: Callable[[], CodePointDfa]) -> StringSet | None:
        """The spellable strings of an automaton; the same object for equal arguments.

        So equal patterns of different schemas have equal terminals, and share lexers and masks.
        """
        return _non_empty(self._kept(key, lambda: self._speakable(make())))

    def _kept(self, key: object, make: Callable[[], CodePointDfa]) -> CodePointDfa:
        """The automaton of a key, made once; `oneOf` asks for the same combinations many times."""
        key = (key, self.max_states, self._missing_bytes)
        content = _automata.get(key)
        if content is None:
            content = make()
            _automata.put(key, content, content.num_bytes + _ENTRY_BYTES)
        return content

    def _speakable(self, content: CodePointDfa) -> CodePointDfa:
        """The strings of an automaton that the vocabulary can spell."""
        alphabet = speakable_texts(self._missing_bytes, is_json=True)
        if alphabet is None:
            return content
        return content.intersect(alphabet, max_states=self.max_states)


def _outside(strings: StringSet) -> CodePointDfa | None:
    """What the strings surely lie in; None where that is not said without counting."""
    return strings.widest or strings.content


def _within(strings: StringSet | None, widest: CodePointDfa | None) -> StringSet | None:
    """The strings that are generated of a set that is meant to go as far as `widest`."""
    if strings is not None:
        return replace(strings, widest=widest)
    if widest is None or widest.is_empty:
        return None
    raise UnsupportedError(
        "no string of this combination is in the form in which a format is generated, which is "
        "narrower than its RFC; remove 'format' or see docs/decisions/0004",
        keyword="format",
    )


def _non_empty(content: CodePointDfa) -> StringSet | None:
    return None if content.is_empty else StringSet(content)


def _lengths_touch(a: StringSet, b: StringSet) -> bool:
    first, second = (a, b) if a.min_length <= b.min_length else (b, a)
    return first.max_length is None or second.min_length <= first.max_length + 1
