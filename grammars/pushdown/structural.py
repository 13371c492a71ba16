"""StructuralStates: interned sets of items, expanded into the automaton tables on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.json_spelling import QUOTE
from grammars.pushdown.actions import Goto, Pop, Push
from grammars.pushdown.beginnings import Beginnings
from grammars.pushdown.configs import DONE, ConfigTable, GrammarThen, GrammarWaits, PartThen
from grammars.pushdown.contexts import Contexts
from grammars.pushdown.distinct import (
    Distinct,
    NextElement,
    distinct_in,
    forbids_repeat,
    next_element,
    num_counted,
)
from grammars.pushdown.grammar_frames import GrammarFrames
from grammars.pushdown.items import Item, merged_items
from grammars.pushdown.joint_effects import continued_items, entered_items, outcome_of
from grammars.pushdown.json_states import JsonStates
from grammars.pushdown.layout import StateColumn
from grammars.pushdown.member_lexers import MemberLexers
from grammars.pushdown.outer_frame import expand_outer_frame
from grammars.pushdown.refusals import ambiguous_parts, no_end
from grammars.pushdown.state_reader import StateReader
from grammars.pushdown.templates import KnownTemplates
from grammars.pushdown.terminals import StringPiece, StringTail
from grammars.pushdown.transitions import Continue, Enter, Leave, Scan, Transitions

if TYPE_CHECKING:
    from collections.abc import Collection

    from grammars.automata.string_rest import StringRest
    from grammars.limits import CompileLimits
    from grammars.pushdown.actions import Action
    from grammars.pushdown.items import Items
    from grammars.pushdown.state_reader import Reading
    from grammars.pushdown.string_reading import CutStrings
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.transitions import Effect
    from grammars.spec import Part
    from grammars.vocabulary import Vocabulary


class StructuralStates:
    """The structural layer of one grammar; implements `Expander`.

    Args:
        root: the whole text.
        tables: where states and actions are written.
        vocabulary: which literals are control tokens.
        limits: compile budgets.
        is_plain: make every state from its items, the plain reference of `JsonStates`.

    Raises:
        GrammarError: the spec is refused.
    """

    def __init__(
        self,
        root: Part,
        tables: AutomatonTables,
        vocabulary: Vocabulary,
        limits: CompileLimits,
        *,
        is_plain: bool = False,
    ) -> None:
        self._tables = tables
        self._limits = limits
        self._is_plain = is_plain
        self._configs = ConfigTable()
        self._contexts = Contexts(limits, vocabulary.missing_bytes, tables.work)
        self._beginnings = Beginnings(self._configs, self._contexts, limits.max_states)
        self._transitions = Transitions(self._configs, vocabulary, limits.max_states)
        self._member_lexers = MemberLexers(tables, limits.max_states, vocabulary.missing_bytes)
        self._reader = StateReader(
            self._configs,
            self._transitions,
            self._beginnings,
            self._member_lexers,
            vocabulary,
            limits,
        )
        self._json_states = JsonStates(
            tables,
            self._configs,
            self._transitions,
            self._reader,
            self._member_lexers,
            KnownTemplates(limits, vocabulary.missing_bytes),
            limits.max_structural_states,
        )
        self._grammar_frames = GrammarFrames(tables, self._configs, limits)
        self._items: dict[int, Items] = {}
        self._readings: dict[int, Reading] = {}
        self._ids: dict[Items, int] = {}
        self.root: int = self.state_of_items((Item(0, self._configs.intern(PartThen(root, DONE))),))
        expand_outer_frame(self, tables, self._configs, self._reader)

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) into the tables.

        Raises:
            LimitExceededError: a budget is used up.
            UnsupportedError: the label means different things to a structure's alternatives.
        """
        if state in self._json_states:
            self._json_states.expand(state, label, self)
        elif state in self._grammar_frames:
            self._grammar_frames.expand_action(state, label)
        else:
            self._tables.set_action(state, label, self._action(state, label))

    def expand_resume(self, state: int, outcome: int) -> None:
        """Write what `state` becomes when only the items of `outcome` go on."""
        if state in self._grammar_frames:
            self._grammar_frames.expand_resume(state, outcome)
            return
        items = self.items_of(state)
        config = self._configs[items[0].config]
        if isinstance(config, GrammarWaits):
            going_on: Items = (self._grammar_frames.resumed(items[0].tags, config, outcome),)
        else:
            going_on = merged_items(item for i, item in enumerate(items) if outcome >> i & 1)
        self._tables.set_resume(state, outcome, self.state_of_items(going_on))

    def least_rest(self, state: int) -> int:
        """See `Expander`; in a grammar to its end, elsewhere 0."""
        configs = [self._configs[item.config] for item in self._items.get(state, ())]
        grammars = [config for config in configs if isinstance(config, GrammarThen)]
        if not grammars or len(grammars) < len(configs):
            return 0
        return min(config.grammar.least_rest(config.place) for config in grammars)

    def cut_strings(self, state: int) -> CutStrings | None:
        """See `Expander`."""
        known = self._readings.get(state)  # a state from a template reads its strings whole
        return None if known is None else known.cut

    def after_strings(self, state: int, ended: Collection[StringRest]) -> Action:
        """See `Expander`."""
        reading = self._readings[state]
        effects = [
            effect
            for terminal, effect in zip(reading.terminals, reading.effects, strict=True)
            if isinstance(terminal, StringPiece | StringTail)
            and terminal.is_ended
            and terminal.rest in ended
        ]
        if isinstance(effects[0][1], Leave):
            return Pop(outcome_of(effects))
        return Goto(self.state_of_items(continued_items(effects)))

    def is_of_json(self, state: int) -> bool:
        """Whether a state is surely within a JSON document, or before one."""
        return state in self._json_states

    def reading(self, state: int) -> Reading:
        """What a state reads."""
        known = self._readings.get(state)
        if known is None:  # it was made from a template
            known = self._reader.read(self.items_of(state))
            self._readings[state] = known
        return known

    def state_of(self, item: Item) -> int:
        """The state of a single item.

        Raises:
            GrammarError: as `expand_action`.
        """
        return self.state_of_items((item,))

    def num_labels(self, state: int) -> int:
        """How many labels the lexer of a state has."""
        return self._tables.state_row(state)[StateColumn.NUM_LABELS]

    def label_name(self, state: int, label: int) -> str:
        """What a label of a state reads, for drawings."""
        reading = self.reading(state)
        assert reading.lexer is not None
        if reading.members is not None:
            keys = reading.members.keys_of(label)
            return " | ".join(key if isinstance(key, str) else "other key" for key in keys)
        items = sorted(reading.lexer.items[label - 1])
        return " | ".join(dict.fromkeys(reading.terminals[item].name for item in items))

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        return bool(self._tables.state_row(state)[StateColumn.IS_FINAL])

    @property
    def has_distinct_texts(self) -> bool:
        """Whether there are elements or keys that must differ, see `distinct`."""
        return self._contexts.has_distinct_texts

    @property
    def may_repeat_keys(self) -> bool:
        """Whether there are undeclared keys that must differ."""
        return self._contexts.may_repeat_keys

    def distinct_texts(self, state: int) -> Distinct:
        """What must differ in the frame that a state opens."""
        if state in self._grammar_frames:
            return Distinct.NOTHING
        return distinct_in([self._configs[item.config] for item in self.items_of(state)])

    def next_element(self, state: int) -> NextElement | None:
        """The element behind a comma that a state reads, where it must differ from others."""
        if state in self._grammar_frames:
            return None
        return next_element([self._configs[i.config] for i in self.items_of(state)], self._configs)

    def num_counted(self, state: int) -> int:
        """How far the array has got in whose frame a state stands, see `num_counted`."""
        if state in self._grammar_frames:
            return 0
        return num_counted([self._configs[i.config] for i in self.items_of(state)], self._configs)

    def after_repeat(self, state: int) -> int:
        """What a state becomes if the text before it is not the first of its kind; 0 for nothing.

        Raises:
            LimitExceededError: a budget is used up.
        """
        items = self.items_of(state)
        kept = [i for i in items if not forbids_repeat(self._configs[i.config], self._configs)]
        return self.state_of_items(tuple(kept)) if kept else 0

    def items_of(self, state: int) -> Items:
        """What a state is a set of; outcomes and inner tags count these items."""
        known = self._items.get(state)
        if known is None:
            known = self._items[state] = self._json_states.items(state, self)
        return known

    def _action(self, state: int, label: int) -> Action:
        reading = self.reading(state)
        effects = self._effects(reading, label)
        match effects[0][1]:
            case Continue():
                items = continued_items(effects)
                target = self.state_of_items(items)
                self._check_longest_match(reading, label, target, items)
                return Goto(target)
            case Enter():
                below, inner = entered_items(effects)
                pushed = Push(self.state_of_items(below), self.state_of_items(inner))
                self._check_longest_match(reading, label, pushed.inner, inner)
                return pushed
            case Leave():
                return Pop(outcome_of(effects))
            case Scan():
                [(tags, scan)] = effects  # what is read beside a grammar begins otherwise
                assert isinstance(scan, Scan)
                return self._grammar_frames.action(tags, scan, self.state_of)

    def _effects(self, reading: Reading, label: int) -> list[tuple[int, Effect]]:
        """What follows a label, with the tags of the items that read it."""
        assert reading.lexer is not None
        if reading.members is None:
            return [reading.effects[number] for number in sorted(reading.lexer.items[label - 1])]
        wanted = reading.members.keys_of(label)
        members = self._reader.members(reading.atoms)
        return [
            (atom.tags, effect)
            for atom, member in zip(reading.atoms, members, strict=True)
            for _, effect in self._transitions.member_effects(member, wanted)
        ]

    def state_of_items(self, items: Items) -> int:
        """The state of some items; raises as `expand_action` does."""
        known = self._ids.get(items)
        if known is None:
            if not self._is_plain and len(items) == 1:
                known = self._json_states.find(items[0], self)
            if known is None:
                known = self._new_state(items)
            self._ids[items] = known
        return known

    def _new_state(self, items: Items) -> int:
        atoms = self._beginnings.atoms(items)
        if len(atoms) == 1 and len(items) == 1 and atoms != items:
            return self.state_of_items(atoms)
        self._tables.check_num_states(self._limits.max_structural_states)
        reading = self._reader.read(atoms)
        lexer, counted, lexers = reading.lexer, reading.counted, self._tables.lexers
        is_final = any(atom.config == DONE for atom in atoms)
        if lexer is None or lexer.dfa.is_empty:
            waits = any(isinstance(self._configs[atom.config], GrammarWaits) for atom in atoms)
            if not is_final and not waits:
                raise no_end()
            lexer = None  # what could still come has a byte that no token spells
        state = self._tables.add_state(
            lexer_start=DEAD if lexer is None else lexers.add_dfa(lexer.dfa) + reading.start,
            num_labels=0 if lexer is None else len(lexer.items),
            is_final=is_final,
            full_outcome=(1 << len(items)) - 1,
            count_min=0 if counted is None else counted.fewest,
            count_max=None if counted is None else counted.most,
            window=reading.window,
        )
        self._items[state] = items
        self._readings[state] = reading
        cut = reading.cut
        if lexer is not None and cut is not None and cut.are_many and not cut.is_open:
            dfa = lexer.dfa
            lexers.set_door(lexers.add_dfa(dfa) + dfa.step(reading.start, QUOTE))
        return state

    def _check_longest_match(self, reading: Reading, label: int, target: int, items: Items) -> None:
        """Refuse a terminal that may go on with a symbol that could also begin what follows it.

        The automaton always takes the longest match, which would lose the other reading. JSON has
        no such place (a number is never followed by a digit); a composition of parts might. A
        grammar's own lexers know what follows, and what is read beside it begins otherwise.
        """
        assert reading.lexer is not None
        is_shared = reading.members is not None
        if is_shared or not reading.lexer.items[label - 1] <= reading.of_grammars:
            items = (*reading.atoms, *items)
        if not any(isinstance(self._configs[item.config], PartThen) for item in items):
            return
        if self._tables.lexer_start(target) == DEAD:
            return
        dfa = reading.lexer.dfa
        goes_on = np.any(dfa.next_state[dfa.label == label] != DEAD, axis=0)[dfa.symbol_class]
        follower, start = self._tables.lexers.locate(self._tables.lexer_start(target))
        begins = (follower.next_state[start] != DEAD)[follower.symbol_class]
        shared = min(len(goes_on), len(begins))
        if np.any(goes_on[:shared] & begins[:shared]):
            raise ambiguous_parts()
