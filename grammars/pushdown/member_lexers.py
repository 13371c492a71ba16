"""MemberLexers: one lexer for all places inside objects, which each place sees through a window.

After key k of n an object reads keys k + 1 to n, another one, or the closing bracket: n lexers that
differ in what is left out. Instead all places share the lexer of all keys, and a place has a
window: the labels that it reads. A byte is read only if a label of the window can still be reached
(`StateColumn.WINDOW`, `LexerColumn.REACH`). The place before the first member is one of them, with
a start of its own. The texts are the same, the automata are made once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grammars.automata.reach import reachable_labels
from grammars.pushdown.layout import MAX_WINDOW_LABELS
from grammars.pushdown.layouts import Closing
from grammars.pushdown.transitions import member_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammars.automata.lexer import Lexer
    from grammars.pushdown.configs import ObjectMember
    from grammars.pushdown.layouts import MemberKey
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.terminals import Terminal

MIN_KEYS: Final = 1
"""Objects of fewer keys share nothing."""


@dataclass(frozen=True, slots=True)
class MemberLexer:
    """The lexer of all keys of some objects.

    Args:
        lexer: item i reads key i; its last state is where the first member begins.
        keys: in order of items.
        labels: bits of the labels that read a key.
    """

    lexer: Lexer
    keys: tuple[MemberKey, ...]
    labels: dict[MemberKey, int]

    @property
    def first(self) -> int:
        """The state of the automaton in which the first member begins."""
        return self.lexer.dfa.num_states - 1

    def keys_of(self, label: int) -> frozenset[MemberKey]:
        """The keys that end with a label."""
        return frozenset(self.keys[item] for item in self.lexer.items[label - 1])


class MemberLexers:
    """The member lexers of one grammar.

    Args:
        tables: where their automata are added.
        make_lexer: makes a lexer of members, with a second start, see `lexer_of`.
    """

    def __init__(
        self, tables: AutomatonTables, make_lexer: Callable[[tuple[Terminal, ...]], Lexer]
    ) -> None:
        self._tables = tables
        self._make_lexer = make_lexer
        self._known: dict[tuple[object, ...], MemberLexer | None] = {}

    def find(self, members: Sequence[ObjectMember]) -> MemberLexer | None:
        """The lexer of the objects that a state is in; None where it would be of no use.

        Args:
            members: of one context.
        """
        layouts = tuple(dict.fromkeys(member.layout for member in members))
        key = (members[0].context, *layouts)
        if key not in self._known:
            keys = tuple(dict.fromkeys(key for layout in layouts for key in layout.keys))
            is_useful = MIN_KEYS <= len(keys) < MAX_WINDOW_LABELS
            self._known[key] = (
                self._make((*keys, Closing.BRACKET), members[0]) if is_useful else None
            )
        return self._known[key]

    def _make(self, keys: tuple[MemberKey, ...], member: ObjectMember) -> MemberLexer | None:
        terminals = (member_terminal(key, member.context, follows=True) for key in keys)
        lexer = self._make_lexer(tuple(terminals))
        if len(lexer.items) > MAX_WINDOW_LABELS:
            return None
        labels = dict.fromkeys(keys, 0)
        for label, items in enumerate(lexer.items):
            for item in items:
                labels[keys[item]] |= 1 << label
        base = self._tables.add_dfa(lexer.dfa)
        self._tables.set_reach(base, reachable_labels(lexer.dfa.next_state, lexer.dfa.label))
        return MemberLexer(lexer, keys, labels)


def keys_at(member: ObjectMember) -> list[MemberKey]:
    """The keys that an object reads at its place, each perhaps more than once."""
    keys: list[MemberKey] = []
    for step in member.layout.steps(member.place):
        assert step.key is not None
        keys.append(step.key)
    if member.layout.may_close(member.place):
        keys.append(Closing.BRACKET)
    return keys
