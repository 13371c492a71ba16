"""StructuralStates: interned sets of items, expanded into the automaton tables on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.cfg.steps import CfgSteps
from grammars.errors import LimitExceededError, UnsupportedError
from grammars.pushdown.actions import Goto, Pop, Push
from grammars.pushdown.configs import (
    DONE,
    ConfigTable,
    GrammarThen,
    ObjectMember,
    PartThen,
    ValueThen,
)
from grammars.pushdown.cut_words import cut_points, rest_of, symbols_of, word_of
from grammars.pushdown.distinct import Distinct, distinct_texts, forbids_repeat
from grammars.pushdown.layouts import Closing, JsonContext
from grammars.pushdown.lexers import lexer_of, spelled_strings
from grammars.pushdown.meetings import check_meetings
from grammars.pushdown.member_lexers import MIN_KEYS, MemberLexers, keys_at
from grammars.pushdown.parts import is_nullable
from grammars.pushdown.terminals import Scanned, Word
from grammars.pushdown.transitions import Continue, Enter, Leave, Transitions
from grammars.schema.graph import ValueGraph
from grammars.schema.value import StringSet
from grammars.spec import Cfg, Either, Embed, JsonObject, JsonSchema, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from grammars.automata.lexer import Lexer
    from grammars.limits import CompileLimits
    from grammars.pushdown.actions import Action
    from grammars.pushdown.configs import ConfigId
    from grammars.pushdown.cut_words import Symbols
    from grammars.pushdown.member_lexers import MemberLexer
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.terminals import Strings, Terminal
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


_STATES_OF_CHARACTER: Final = 64

Items: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """A terminal that an item reads, and what follows."""

    atom: Item
    terminal: Terminal
    effect: Effect


@dataclass(frozen=True, slots=True)
class _State:
    """What the Python side knows of a structural state.

    Args:
        items: as they were interned; outcomes and inner tags count them.
        atoms: what they begin with.
        lexer: None where the state has no terminals.
        terminals: item i of the lexer is terminal i.
        effects: of each terminal, the tag of the item that reads it, and what follows.
        members: the lexer's keys if it is shared; then effects are found when they are needed.
        of_grammars: the terminals that context-free grammars read.
    """

    items: Items
    atoms: Items
    lexer: Lexer | None
    terminals: tuple[Terminal, ...] = ()
    effects: tuple[tuple[int, Effect], ...] = ()
    members: MemberLexer | None = None
    of_grammars: frozenset[int] = frozenset()


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
        self._member_lexers = MemberLexers(tables, partial(self._lexer, has_first=True))
        self._contexts: dict[JsonSchema | JsonObject, JsonContext] = {}
        self._grammars: dict[Cfg, CfgSteps] = {}
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
        is checked; the frames inside JSON documents and the insides of grammars stay unexpanded.
        """
        pending, seen = [self.root], {self.root}
        while pending:
            state = pending.pop()
            for target in self._after_grammars(state):
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
            for label in range(1, self.num_labels(state) + 1):
                if self._is_in_grammar(state, label):
                    continue
                self.expand_action(state, label)
                match self._tables.action(state, label):
                    case Goto(target) | Push(target, _):
                        if target not in seen:
                            seen.add(target)
                            pending.append(target)
                    case _:
                        pass

    def _is_in_grammar(self, state: int, label: int) -> bool:
        """Whether a label is one of an embedded grammar."""
        known = self._states[state]
        assert known.lexer is not None
        return known.members is None and any(
            isinstance(known.terminals[item], Scanned) for item in known.lexer.items[label - 1]
        )

    def _after_grammars(self, state: int) -> Iterator[int]:
        """The states that begin where a grammar of this state will have ended."""
        for item in self._states[state].atoms:
            config = self._configs[item.config]
            if isinstance(config, GrammarThen):
                after = self._state((Item(item.tag, config.then),))
                for atom in self._states[after].atoms:
                    if not config.grammar.lead_bytes.isdisjoint(self._first_symbols(atom.config)):
                        raise _unclear_end()
                yield after

    def num_labels(self, state: int) -> int:
        """How many labels the lexer of a state has."""
        lexer = self._states[state].lexer
        return 0 if lexer is None else len(lexer.items)

    def label_name(self, state: int, label: int) -> str:
        """What a label of a state reads, for drawings."""
        known = self._states[state]
        assert known.lexer is not None
        if known.members is not None:
            keys = known.members.keys_of(label)
            return " | ".join(key if isinstance(key, str) else "other key" for key in keys)
        names = (known.terminals[item].name for item in sorted(known.lexer.items[label - 1]))
        return " | ".join(dict.fromkeys(names))

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        items = self._states[state].items
        return any(DONE in self._atoms(item.config) for item in items)

    @property
    def has_distinct_texts(self) -> bool:
        """Whether there are elements or keys that must differ, see `distinct`."""
        return any(context.has_distinct_texts for context in self._contexts.values())

    def distinct_texts(self, state: int) -> Distinct:
        """What must differ in the frame that a state opens."""
        kinds = (distinct_texts(self._configs[i.config]) for i in self._states[state].items)
        return next((kind for kind in kinds if kind is not Distinct.NOTHING), Distinct.NOTHING)

    def after_repeat(self, state: int) -> int:
        """What a state becomes if the text before it is not the first of its kind; 0 for nothing.

        Raises:
            LimitExceededError: a budget is used up.
        """
        items = self._states[state].items
        kept = [i for i in items if not forbids_repeat(self._configs[i.config], self._configs)]
        return self._state(tuple(kept)) if kept else 0

    def _action(self, state: int, label: int) -> Action:
        known = self._states[state]
        assert known.lexer is not None
        effects = self._effects(known, label)
        match effects[0][1]:
            case Continue():
                target = self._state(_distinct(self._continued(effects)))
                self._check_longest_match(known, label, target)
                return Goto(target)
            case Enter():
                pushed = self._push(effects)
                self._check_longest_match(known, label, pushed.inner)
                return pushed
            case Leave():
                return Pop(_outcome(effects))

    def _effects(self, known: _State, label: int) -> list[tuple[int, Effect]]:
        """What follows a label, with the tags of the items that read it."""
        assert known.lexer is not None
        if known.members is None:
            return [known.effects[number] for number in sorted(known.lexer.items[label - 1])]
        wanted = known.members.keys_of(label)
        return [
            (atom.tag, effect)
            for atom, member in zip(known.atoms, self._members(known.atoms), strict=True)
            for _, effect in self._transitions.member_effects(member, wanted)
        ]

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
        state = self._new_member_state(items, atoms)
        return self._new_plain_state(items, atoms) if state is None else state

    def _new_plain_state(self, items: Items, atoms: Items) -> int:
        self._check_beginnings(atoms)
        counted = self._counted(atoms)
        reads = self._cut_words(self._reads(atoms, counted))
        terminals = tuple(read.terminal for read in reads)
        lexer = self._lexer(terminals) if terminals else None
        if lexer is not None and lexer.count_conflict:
            counted = None  # the counter would count other texts too
            reads = self._cut_words(self._reads(atoms, counted))
            terminals = tuple(read.terminal for read in reads)
            lexer = self._lexer(terminals)
        state = self._tables.add_state(
            lexer_start=DEAD
            if lexer is None
            else self._tables.add_dfa(lexer.dfa) + lexer.dfa.start,
            num_labels=0 if lexer is None else len(lexer.items),
            is_final=any(atom.config == DONE for atom in atoms),
            full_outcome=(1 << len(items)) - 1,
            count_min=0 if counted is None else counted.strings.min_length,
            count_max=None if counted is None else counted.strings.max_length,
        )
        effects = tuple((read.atom.tag, read.effect) for read in reads)
        of_grammars = frozenset(
            number
            for number, read in enumerate(reads)
            if isinstance(self._configs[read.atom.config], GrammarThen)
        )
        self._states[state] = _State(
            items, atoms, lexer, terminals, effects, of_grammars=of_grammars
        )
        return state

    def _reads(self, atoms: Items, counted: Strings | None) -> list[_Read]:
        return [
            _Read(atom, terminal, effect)
            for atom in atoms
            for terminal, effect in self._transitions.of(self._configs[atom.config], counted)
        ]

    def _cut_words(self, reads: list[_Read]) -> list[_Read]:
        """Let words end where another reading parts from them, see `cut_words`."""
        words: dict[Symbols, list[_Read]] = {}
        others: list[_Read] = []
        for read in reads:
            word = self._word_of(read)
            if word is None:
                others.append(read)
            else:
                words.setdefault(word, []).append(read)
        if not words or len(reads) == 1:
            return reads
        cuts = cut_points(
            {word: partial(self._followers, same) for word, same in words.items()},
            self._lexer(tuple(read.terminal for read in others)) if others else None,
            lambda item: self._followers([others[item]]),
        )
        return [self._cut(read, cuts) for read in reads] if cuts else reads

    def _word_of(self, read: _Read) -> Symbols | None:
        """The symbols of a word that may be cut."""
        is_part = isinstance(self._configs[read.atom.config], PartThen)
        return symbols_of(read.terminal) if is_part and isinstance(read.terminal, Word) else None

    def _cut(self, read: _Read, cuts: Mapping[Symbols, int]) -> _Read:
        word, config = self._word_of(read), self._configs[read.atom.config]
        size = None if word is None else cuts.get(word)
        if word is None or size is None:
            return read
        assert isinstance(config, PartThen)
        rest = rest_of(config.part, word, size, self._vocabulary)
        then = self._configs.sequence((rest,), config.then)
        return _Read(read.atom, word_of(word[:size]), Continue(then))

    def _followers(self, reads: Iterable[_Read]) -> set[int]:
        """The symbols that may come after what was read, in the same frame."""
        found: set[int] = set()
        for read in reads:
            if isinstance(read.effect, Continue):
                for atom in self._atoms(read.effect.then):
                    found |= self._first_symbols(atom)
        return found

    def _new_member_state(self, items: Items, atoms: Items) -> int | None:
        """A state inside of objects, with a window on a shared lexer; None where it has its own."""
        members = self._members(atoms)
        if len(members) < len(atoms):
            return None
        if len({(member.context, member.is_first) for member in members}) != 1:
            return None
        keys = {key for member in members for key in keys_at(member)}
        if len(keys - {Closing.BRACKET}) < MIN_KEYS:
            return None
        shared = self._member_lexers.find(members)
        if shared is None:
            return None
        window = 0
        for key in keys:
            window |= shared.labels[key]
        dfa = shared.lexer.dfa
        state = self._tables.add_state(
            lexer_start=self._tables.add_dfa(dfa)
            + (shared.first if members[0].is_first else dfa.start),
            num_labels=len(shared.lexer.items),
            is_final=False,
            full_outcome=(1 << len(items)) - 1,
            window=window,
        )
        self._states[state] = _State(items, atoms, shared.lexer, members=shared)
        return state

    def _members(self, atoms: Items) -> list[ObjectMember]:
        """The objects that a state is in."""
        configs = (self._configs[atom.config] for atom in atoms)
        return [config for config in configs if isinstance(config, ObjectMember)]

    def _lexer(self, terminals: tuple[Terminal, ...], *, has_first: bool = False) -> Lexer:
        limits, vocabulary = self._limits, self._vocabulary
        return lexer_of(terminals, limits.max_states, vocabulary.missing_bytes, has_first=has_first)

    def _counted(self, atoms: Items) -> Strings | None:
        """The bounded string that the character counter serves: it must be the only string here."""
        found = {
            strings
            for atom in atoms
            for strings in self._transitions.strings_of(self._configs[atom.config])
        }
        only = found.pop() if len(found) == 1 else None
        return only if only is not None and only.strings.is_counted else None

    def _atoms(self, config: ConfigId) -> Iterator[ConfigId]:
        """What `config` begins with: configs that have terminals of their own (or `DONE`)."""
        pending, seen = [config], {config}
        while pending:
            current = pending.pop()
            match self._configs[current]:
                case PartThen(part, then):
                    steps = self._steps(part, then)
                    if steps is None:
                        yield current
                        steps = [then] if is_nullable(part, self._limits.max_states) else []
                case GrammarThen(_, place, then):
                    yield current
                    steps = [then] if place.is_final else []
                case _:
                    yield current
                    continue
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
            case Embed(Cfg() as spec):
                grammar = self._grammar(spec)
                return [self._configs.intern(GrammarThen(grammar, grammar.start, then))]
            case _:
                return None

    def _grammar(self, spec: Cfg) -> CfgSteps:
        known = self._grammars.get(spec)
        if known is None:
            known = CfgSteps(spec, self._limits, self._vocabulary.missing_bytes)
            self._grammars[spec] = known
        return known

    def _first_symbols(self, atom: ConfigId) -> set[int]:
        """The symbols that the texts of a config, which is not composite, may begin with."""
        terminals = tuple(terminal for terminal, _ in self._transitions.of(self._configs[atom]))
        if not terminals:
            return set()
        dfa = self._lexer(terminals).dfa
        return set(np.flatnonzero(dfa.next_state[dfa.start][dfa.symbol_class] != DEAD).tolist())

    def _check_beginnings(self, atoms: Items) -> None:
        """Refuse a state in which a grammar and something else begin alike.

        A grammar is read by a lexer of its own, which knows what follows its terminals; what is
        read beside it must be told apart at once.
        """
        configs = dict.fromkeys(atom.config for atom in atoms)
        taken: set[int] = set()
        if any(isinstance(self._configs[config], GrammarThen) for config in configs):
            for config in configs:
                symbols = self._first_symbols(config)
                if not taken.isdisjoint(symbols):
                    raise _ambiguous()
                taken |= symbols

    def _context(self, spec: JsonSchema | JsonObject) -> JsonContext:
        known = self._contexts.get(spec)
        if known is None:
            text = spec.text if isinstance(spec, JsonSchema) else '{"type": "object"}'
            graph = ValueGraph(text, self._limits, self._vocabulary.missing_bytes)
            self._check_spellings(graph)
            known = JsonContext(graph, spec.whitespace, spec.property_order)
            self._contexts[spec] = known
        return known

    def _check_spellings(self, graph: ValueGraph) -> None:
        """Write large sets of strings as JSON now: what is too large is refused before any text.

        Small sets are written where they are read; the states of a character are at most so many.
        """
        for strings in graph.string_sets():
            content = strings.content
            if content is None:
                continue
            if content.num_states * _STATES_OF_CHARACTER > self._limits.max_states:
                spelled_strings(StringSet(content), self._limits.max_states)
        check_meetings(graph, self._lexer, self._limits.max_states)

    def _check_longest_match(self, known: _State, label: int, target: int) -> None:
        """Refuse a terminal that may go on with a symbol that could also begin what follows it.

        The automaton always takes the longest match, which would lose the other reading. JSON has
        no such place (a number is never followed by a digit); a composition of parts might. A
        grammar's own lexers know what follows, and what is read beside it begins otherwise.
        """
        assert known.lexer is not None
        items = self._states[target].items
        if known.members is not None or not known.lexer.items[label - 1] <= known.of_grammars:
            items = (*known.atoms, *items)
        if self._states[target].lexer is None or not any(
            isinstance(self._configs[item.config], PartThen) for item in items
        ):
            return
        dfa = known.lexer.dfa
        goes_on = np.any(dfa.next_state[dfa.label == label] != DEAD, axis=0)[dfa.symbol_class]
        follower, start = self._tables.locate(self._tables.lexer_start(target))
        begins = (follower.next_state[start] != DEAD)[follower.symbol_class]
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


def _unclear_end() -> UnsupportedError:
    return UnsupportedError(
        "what follows a grammar may begin like a character of it, so its end would not be plain; "
        "put a tag between them that begins with a character the grammar never writes",
        keyword="Structure",
    )


def _ambiguous() -> UnsupportedError:
    return UnsupportedError(
        "parts of the structure cannot be told apart as they are written; put a tag between them",
        keyword="Structure",
    )
