"""The automaton's semantics in plain Python, token by token: what every kernel must agree with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.pushdown.actions import Dead, Goto, Pop, Push
from grammars.pushdown.layout import UNBOUNDED, LexerColumn, StateColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.pushdown.actions import Action, Expander
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PlainConfiguration:
    """Where the automaton is.

    Args:
        state: the structural state on top.
        lexer: the global lexer state.
        counted: characters counted so far.
        is_fresh: whether the lexer has read nothing yet.
        below: the structural states below the top, the nearest first.
    """

    state: int
    lexer: int
    counted: int
    is_fresh: bool
    below: tuple[int, ...]


class ReferenceWalk:
    """Reads symbols and tokens as ARCHITECTURE.md, "The automaton", says; expands as it goes.

    Args:
        tables: the automaton.
        expander: writes what the tables lack.
        vocabulary: the tokens.
    """

    def __init__(self, tables: AutomatonTables, expander: Expander, vocabulary: Vocabulary) -> None:
        self._tables = tables
        self._expander = expander
        self._vocabulary = vocabulary
        self._next_lexers: dict[tuple[int, int], int] = {}
        self._lexer_rows: dict[int, tuple[int, ...]] = {}
        self._state_rows: dict[int, tuple[int, ...]] = {}
        self._symbol_of_control = {
            control.token_id: NUM_BYTES + index for index, control in enumerate(vocabulary.controls)
        }

    def start(self, root: int) -> PlainConfiguration:
        """The configuration at the beginning of the text."""
        return self.fresh(root, ())

    def token_symbols(self, token_id: int) -> tuple[int, ...] | None:
        """The symbols of a token; None for end tokens and ids without a token."""
        if token_id in self._vocabulary.end_token_ids:
            return None
        if token_id in self._symbol_of_control:
            return (self._symbol_of_control[token_id],)
        data = self._vocabulary.token_bytes.get(token_id)
        return None if data is None else tuple(data)

    def allowed_token_ids(self, configuration: PlainConfiguration) -> list[int]:
        """Every token that may come next, ascending: a scan of the whole vocabulary."""
        allowed = []
        for token_id in range(self._vocabulary.padded_size):
            symbols = self.token_symbols(token_id)
            if symbols is not None and self.read(configuration, symbols) is not None:
                allowed.append(token_id)
        if self.is_complete(configuration):
            allowed += self._vocabulary.end_token_ids
        return sorted(allowed)

    def read(
        self, configuration: PlainConfiguration, symbols: Iterable[int]
    ) -> PlainConfiguration | None:
        """The configuration after some symbols, None where one of them is refused."""
        current: PlainConfiguration | None = configuration
        for symbol in symbols:
            if current is None:
                return None
            current = self._read_symbol(current, symbol)
        return current

    def is_complete(self, configuration: PlainConfiguration) -> bool:
        """Whether firing labels on no input reaches a final state."""
        current: PlainConfiguration | None = configuration
        while current is not None and not current.is_fresh:
            current = self.fire(current)
        return current is not None and bool(self._column(current.state, StateColumn.IS_FINAL))

    def reads(self, configuration: PlainConfiguration, symbol: int) -> bool:
        """Whether the lexer itself reads a symbol; else its label has to fire first."""
        following = self._next_lexer(configuration.lexer, symbol)
        return following != DEAD and self._is_seen(following, configuration.state)

    def shift(self, configuration: PlainConfiguration, symbol: int) -> PlainConfiguration | None:
        """The configuration in which the lexer has read a symbol; None where a count forbids it."""
        following = self._next_lexer(configuration.lexer, symbol)
        is_closed = bool(self._lexer_row(following)[LexerColumn.IS_CLOSED])
        counted = configuration.counted
        if self._lexer_row(configuration.lexer)[LexerColumn.IS_BOUNDARY]:
            if is_closed and counted < self._column(configuration.state, StateColumn.COUNT_MIN):
                return None
            counted += not is_closed
        owed = self._lexer_row(following)[LexerColumn.OWED]
        if counted + owed > self._column(configuration.state, StateColumn.COUNT_MAX):
            return None
        return PlainConfiguration(
            configuration.state, following, counted, False, configuration.below
        )

    def shift_all(
        self, configuration: PlainConfiguration, symbols: Iterable[int]
    ) -> PlainConfiguration | None:
        """The configuration after symbols that the lexer itself reads; None where it does not.

        Only where no characters are counted; faster than symbol by symbol.
        """
        state, lexer = configuration.state, configuration.lexer
        for symbol in symbols:
            lexer = self._next_lexer(lexer, symbol)
            if lexer == DEAD:
                return None
        if not self._is_seen(lexer, state):
            return None
        return PlainConfiguration(state, lexer, configuration.counted, False, configuration.below)

    def counts_characters(self, configuration: PlainConfiguration) -> bool:
        """Whether a count may forbid something."""
        row = self._state_row(configuration.state)
        return row[StateColumn.COUNT_MIN] > 0 or row[StateColumn.COUNT_MAX] != UNBOUNDED

    def is_closed(self, configuration: PlainConfiguration) -> bool:
        """Whether the label of the lexer fires at once."""
        return bool(self._lexer_row(configuration.lexer)[LexerColumn.IS_CLOSED])

    def fire(self, configuration: PlainConfiguration) -> PlainConfiguration | None:
        """The configuration after the label of the lexer, None where it leads nowhere."""
        label = self._label(configuration.lexer)
        if not 0 < label <= self._column(configuration.state, StateColumn.NUM_LABELS):
            return None
        below = configuration.below
        match self._action(configuration.state, label):
            case Goto(target):
                return self.fresh(target, below)
            case Push(resume, inner):
                return self.fresh(inner, (resume, *below))
            case Pop(outcome):
                return self.fresh(self._resume(below[0], outcome), below[1:])
            case Dead():
                return None

    def fresh(self, state: int, below: tuple[int, ...]) -> PlainConfiguration:
        """A structural state of which nothing has been read, on a stack."""
        lexer = self._column(state, StateColumn.LEXER_START)
        return PlainConfiguration(state, lexer, 0, True, below)

    def _read_symbol(
        self, configuration: PlainConfiguration, symbol: int
    ) -> PlainConfiguration | None:
        if not self.reads(configuration, symbol):
            fired = self.fire(configuration)
            return None if fired is None else self._read_symbol(fired, symbol)
        shifted = self.shift(configuration, symbol)
        return self.fire(shifted) if shifted is not None and self.is_closed(shifted) else shifted

    def _next_lexer(self, lexer: int, symbol: int) -> int:
        if lexer == DEAD:
            return DEAD
        key = (lexer, symbol)
        if key not in self._next_lexers:
            dfa, local = self._tables.lexers.locate(lexer)
            following = dfa.step(local, symbol)
            self._next_lexers[key] = DEAD if following == DEAD else following + lexer - local
        return self._next_lexers[key]

    def _lexer_row(self, lexer: int) -> tuple[int, ...]:
        if lexer not in self._lexer_rows:
            self._lexer_rows[lexer] = self._tables.lexers.row(lexer)
        return self._lexer_rows[lexer]

    def _is_seen(self, lexer: int, state: int) -> bool:
        """Whether a label that the state reads can be reached."""
        window = self._column(state, StateColumn.WINDOW)
        return self._lexer_row(lexer)[LexerColumn.REACH] & window != 0 or any(
            self._tables.reads(state, label) for label in self._tables.lexers.far_labels(lexer)
        )

    def _label(self, lexer: int) -> int:
        return NO_LABEL if lexer == DEAD else self._lexer_row(lexer)[LexerColumn.LABEL]

    def _column(self, state: int, column: StateColumn) -> int:
        """A column that does not change once the state is made."""
        return self._state_row(state)[column]

    def _state_row(self, state: int) -> tuple[int, ...]:
        if state not in self._state_rows:
            self._state_rows[state] = self._tables.state_row(state)
        return self._state_rows[state]

    def _action(self, state: int, label: int) -> Action:
        if self._tables.action(state, label) is None:
            self._expander.expand_action(state, label)
        action = self._tables.action(state, label)
        assert action is not None
        return action

    def _resume(self, state: int, outcome: int) -> int:
        if self._tables.resume(state, outcome) is None:
            self._expander.expand_resume(state, outcome)
        target = self._tables.resume(state, outcome)
        assert target is not None
        return target
