"""StructuralStates: interned sets of items, expanded into the automaton tables on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.errors import LimitExceededError, UnsupportedError
from grammars.pushdown.actions import Goto, Pop, Push
from grammars.pushdown.configs import DONE, ConfigTable, PartThen, ValueThen
from grammars.pushdown.layouts import JsonContext
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.parts import is_nullable
from grammars.pushdown.transitions import Continue, Enter, Leave, Transitions
from grammars.schema.graph import ValueGraph
from grammars.schema.value import StringSet
from grammars.spec import Either, Embed, JsonObject, JsonSchema, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.automata.lexer import Lexer
    from grammars.limits import CompileLimits
    from grammars.pushdown.actions import Action
    from grammars.pushdown.configs import ConfigId
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.terminals import Terminal
    from grammars.pushdown.transitions import Effect
    from grammars.spec import Part
    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Item:
    """One way in which a frame may go on.

    Args:
        tag: the item of the frame below that this frame's end belongs to.
        config: what is expected here.
    """

    tag: int
    config: ConfigId


Items: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """What the Python side knows of a structural state.

    Args:
        items: as they were interned; outcomes and inner tags count them.
        terminals: item i of the lexer is terminal i.
        effects: of each terminal, the tag of the item that reads it, and what follows.
        lexer: None where the state has no terminals.
    """

    items: Items
    terminals: tuple[Terminal, ...]
    effects: tuple[tuple[int, Effect], ...]
    lexer: Lexer | None


class StructuralStates:
    """The structural layer of one grammar; implements `Expander`.

    Args:
        root: the whole text.
        tables: where states and actions are written.
        vocabulary: which literals are control tokens.
        limits: compile budgets.

    Raises:
        GrammarError: the spec is refused.
    """

    def __init__(
        self, root: Part, tables: AutomatonTables, vocabulary: Vocabulary, limits: CompileLimits
    ) -> None:
        self._tables = tables
        self._vocabulary = vocabulary
        self._limits = limits
        self._configs = ConfigTable()
        self._transitions = Transitions(self._configs, vocabulary, limits.max_states)
        self._contexts: dict[JsonSchema | JsonObject, JsonContext] = {}
        self._states: dict[int, _State] = {}
        self._ids: dict[Items, int] = {}
        self.root: int = self._state((Item(0, self._configs.intern(PartThen(root, DONE))),))
        self._expand_outer_frame()

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) into the tables.

        Raises:
            LimitExceededError: a budget is used up.
            UnsupportedError: the label means different things to a structure's alternatives.
        """
        self._tables.set_action(state, label, self._action(state, label))

    def expand_resume(self, state: int, outcome: int) -> None:
        """Write what `state` becomes when only the items of `outcome` go on."""
        items = self._states[state].items
        going_on = tuple(item for i, item in enumerate(items) if outcome >> i & 1)
        self._tables.set_resume(state, outcome, self._state(going_on))

    def _expand_outer_frame(self) -> None:
        """Visit all states of the outermost frame, so that whatever is refused is refused now.

        Every embedded schema and pattern is read on the way, and every place where two parts meet
        is checked; the frames inside JSON documents stay unexpanded.
        """
        pending, seen = [self.root], {self.root}
        while pending:
            state = pending.pop()
            for label in range(1, self.num_labels(state) + 1):
                self.expand_action(state, label)
                match self._tables.action(state, label):
                    case Goto(target) | Push(target, _):
                        if target not in seen:
                            seen.add(target)
                            pending.append(target)
                    case _:
                        pass

    def num_labels(self, state: int) -> int:
        """How many labels the lexer of a state has."""
        lexer = self._states[state].lexer
        return 0 if lexer is None else len(lexer.items)

    def label_name(self, state: int, label: int) -> str:
        """What a label of a state reads, for drawings."""
        known = self._states[state]
        assert known.lexer is not None
        names = (known.terminals[item].name for item in sorted(known.lexer.items[label - 1]))
        return " | ".join(dict.fromkeys(names))

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        items = self._states[state].items
        return any(DONE in self._atoms(item.config) for item in items)

    def _action(self, state: int, label: int) -> Action:
        known = self._states[state]
        assert known.lexer is not None
        effects = [known.effects[number] for number in sorted(known.lexer.items[label - 1])]
        match effects[0][1]:
            case Continue():
                target = self._state(_distinct(self._continued(effects)))
                self._check_longest_match(known.lexer, label, target)
                return Goto(target)
            case Enter():
                return self._push(effects)
            case Leave():
                return Pop(_outcome(effects))

    def _continued(self, effects: list[tuple[int, Effect]]) -> Iterator[Item]:
        for tag, effect in effects:
            if not isinstance(effect, Continue):
                raise _ambiguous()
            yield Item(tag, effect.then)

    def _push(self, effects: list[tuple[int, Effect]]) -> Push:
        entered = [(tag, effect) for tag, effect in effects if isinstance(effect, Enter)]
        if len(entered) != len(effects):
            raise _ambiguous()
        below = _distinct(Item(tag, effect.then) for tag, effect in entered)
        inner = _distinct(
            Item(below.index(Item(tag, effect.then)), config)
            for tag, effect in entered
            for config in effect.inner
        )
        return Push(self._state(below), self._state(inner))

    def _state(self, items: Items) -> int:
        known = self._ids.get(items)
        if known is None:
            if len(self._states) >= self._limits.max_structural_states:
                raise LimitExceededError(
                    "max_structural_states", self._limits.max_structural_states, "the grammar"
                )
            known = self._new_state(items)
            self._ids[items] = known
        return known

    def _new_state(self, items: Items) -> int:
        atoms = _distinct(
            Item(item.tag, atom) for item in items for atom in self._atoms(item.config)
        )
        counted = self._counted(atoms)
        terminals: list[Terminal] = []
        effects: list[tuple[int, Effect]] = []
        for atom in atoms:
            for terminal, effect in self._transitions.of(self._configs[atom.config], counted):
                terminals.append(terminal)
                effects.append((atom.tag, effect))
        lexer = self._lexer(tuple(terminals)) if terminals else None
        state = self._tables.add_state(
            lexer_start=DEAD
            if lexer is None
            else self._tables.add_dfa(lexer.dfa) + lexer.dfa.start,
            num_labels=0 if lexer is None else len(lexer.items),
            is_final=any(atom.config == DONE for atom in atoms),
            full_outcome=(1 << len(items)) - 1,
            count_min=0 if counted is None else counted.min_length,
            count_max=None if counted is None else counted.max_length,
        )
        self._states[state] = _State(items, tuple(terminals), tuple(effects), lexer)
        return state

    def _lexer(self, terminals: tuple[Terminal, ...]) -> Lexer:
        return lexer_of(terminals, self._limits.max_states, self._vocabulary.missing_bytes)

    def _counted(self, atoms: Items) -> StringSet | None:
        """The bounded string that the character counter serves: it must be the only string here."""
        found = {
            strings
            for atom in atoms
            for strings in self._transitions.strings_of(self._configs[atom.config])
        }
        only = found.pop() if len(found) == 1 else StringSet()
        return only if only.is_counted else None

    def _atoms(self, config: ConfigId) -> Iterator[ConfigId]:
        """What `config` begins with: configs that have terminals of their own (or `DONE`)."""
        pending, seen = [config], {config}
        while pending:
            current = pending.pop()
            match self._configs[current]:
                case PartThen(part, then):
                    steps = self._steps(part, then)
                case _:
                    yield current
                    continue
            if steps is None:
                yield current
                steps = [then] if is_nullable(part, self._limits.max_states) else []
            new = [step for step in dict.fromkeys(steps) if step not in seen]
            seen.update(new)
            pending.extend(reversed(new))

    def _steps(self, part: Part, then: ConfigId) -> list[ConfigId] | None:
        """The configs that a composite part stands for; None for an atomic part."""
        sequence = self._configs.sequence
        match part:
            case Sequence(parts):
                return [sequence(parts, then)]
            case Either(options):
                return [sequence((option,), then) for option in options]
            case Repeat(_, _, 0):
                return [then]
            case Repeat(repeated, minimum, maximum):
                rest = Repeat(
                    repeated, max(minimum - 1, 0), None if maximum is None else maximum - 1
                )
                once = sequence((repeated, rest), then)
                return [once] if minimum > 0 else [once, then]
            case Embed(JsonSchema() | JsonObject() as spec):
                context = self._context(spec)
                return [self._configs.intern(ValueThen(context, context.graph.root, then))]
            case _:
                return None

    def _context(self, spec: JsonSchema | JsonObject) -> JsonContext:
        known = self._contexts.get(spec)
        if known is None:
            text = spec.text if isinstance(spec, JsonSchema) else '{"type": "object"}'
            graph = ValueGraph(text, self._limits, self._vocabulary.missing_bytes)
            known = JsonContext(graph, spec.whitespace)
            self._contexts[spec] = known
        return known

    def _check_longest_match(self, lexer: Lexer, label: int, target: int) -> None:
        """Refuse a terminal that may go on with a symbol that could also begin what follows it.

        The automaton always takes the longest match, which would lose the other reading. JSON has
        no such place (a number is never followed by a digit); a composition of parts might.
        """
        if not any(
            isinstance(self._configs[i.config], PartThen) for i in self._states[target].items
        ):
            return
        dfa, follower = lexer.dfa, self._states[target].lexer
        if follower is None:
            return
        goes_on = np.any(dfa.next_state[dfa.label == label] != DEAD, axis=0)[dfa.symbol_class]
        begins = (follower.dfa.next_state[follower.dfa.start] != DEAD)[follower.dfa.symbol_class]
        shared = min(len(goes_on), len(begins))
        if np.any(goes_on[:shared] & begins[:shared]):
            raise _ambiguous()


def _distinct(items: Iterable[Item]) -> Items:
    return tuple(dict.fromkeys(items))


def _outcome(effects: list[tuple[int, Effect]]) -> int:
    outcome = 0
    for tag, effect in effects:
        if not isinstance(effect, Leave):
            raise _ambiguous()
        outcome |= 1 << tag
    return outcome


def _ambiguous() -> UnsupportedError:
    return UnsupportedError(
        "parts of the structure cannot be told apart as they are written; put a tag between them",
        keyword="Structure",
    )
