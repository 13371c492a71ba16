"""KeyLanguages: combinations of sets of keys, each made once, within a counted budget."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from grammars.automata import codepoint_dfa, string_list
from grammars.automata.speakable import speakable_texts
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.limits import CompileLimits


class KeyLanguages:
    """Set operations on languages of keys; the same object for the same arguments.

    Overlapping patterns can cut the keys into exponentially many classes, so what is made is
    counted over the whole schema.

    Args:
        limits: `max_states` of each automaton, `max_key_operations` of them.
        missing_bytes: bytes that the vocabulary cannot spell; keys that need one are no keys.
    """

    def __init__(self, limits: CompileLimits, missing_bytes: frozenset[int] = frozenset()) -> None:
        self._limits = limits
        self._missing_bytes = missing_bytes
        self._known: dict[object, CodePointDfa] = {}

    @cached_property
    def everything(self) -> CodePointDfa:
        """All keys."""
        speakable = speakable_texts(self._missing_bytes, is_json=True)
        return codepoint_dfa.any_string() if speakable is None else speakable

    def both(self, a: CodePointDfa, b: CodePointDfa) -> CodePointDfa:
        """The keys in both languages.

        Raises:
            LimitExceededError: it has too many states, or too many languages were made.
        """
        if a is b:
            return a
        max_states = self._limits.max_states
        return self._remembered(
            ("both", frozenset((a, b))), lambda: a.intersect(b, max_states=max_states)
        )

    def but(self, a: CodePointDfa, b: CodePointDfa) -> CodePointDfa:
        """The keys of `a` that are not in `b`; raises as `both` does."""
        if self.both(a, b).is_empty:
            return a
        max_states = self._limits.max_states
        return self._remembered(("but", a, b), lambda: a.difference(b, max_states=max_states))

    def named(self, names: frozenset[str]) -> CodePointDfa:
        """Exactly these keys; raises as `both` does."""
        return self._remembered(
            ("named", names),
            lambda: string_list.strings(names, max_states=self._limits.max_states),
        )

    def _remembered(self, key: object, make: Callable[[], CodePointDfa]) -> CodePointDfa:
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._limits.max_key_operations:
                raise LimitExceededError(
                    "max_key_operations", self._limits.max_key_operations, "patterns of keys"
                )
            known = make()
            self._known[key] = known
        return known
