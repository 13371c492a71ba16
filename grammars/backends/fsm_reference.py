"""The by-the-book backend: spec -> one regex -> FSM over characters -> (state, token) -> state.

Willard and Louf, "Efficient Guided Generation for Large Language Models" (arXiv:2307.09702),
section 3, in plain Python over interegular's FSM. Slow on purpose: every state walks every token of
the vocabulary, once. It is what the other backends are compared with.
"""

from __future__ import annotations

import codecs
import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from grammars.backends.base import check_property_order, import_library
from grammars.backends.patterns import choice_regex, plain_regex
from grammars.backends.peer_matcher import PeerMatcher
from grammars.backends.schema_regex import schema_regex
from grammars.errors import LimitExceededError, UnsatisfiableError, UnsupportedError
from grammars.spec import Cfg, Choice, JsonObject, JsonSchema, LimitedBlock, Regex, Structure

if TYPE_CHECKING:
    from typing import TypeAlias

    from grammars.protocol import Bitmask
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary

    State: TypeAlias = tuple[int, bytes]
    """An FSM state, and the bytes of a character that is not whole yet."""


_MAX_ALPHABET: Final = 5_000
"""Characters named one by one, at most; an FSM of `\\p{L}` would take a minute."""


class FsmReferenceBackend:
    """Compiles with interegular. A recursive schema is no regular language and is refused."""

    name = "fsm-reference"

    def __init__(self) -> None:
        self._library: Any = import_library("interegular", "interegular")

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> FsmGrammar:
        check_property_order(spec, self.name)
        parsed = self._library.parse_pattern(_regex(spec))
        if len(parsed.get_alphabet(self._library.patterns.REFlags(0))) > _MAX_ALPHABET:
            raise LimitExceededError("max_alphabet", _MAX_ALPHABET, "the FSM's table of characters")
        fsm = parsed.to_fsm().reduce()
        if not fsm.islive(fsm.initial):
            raise UnsatisfiableError("no text matches")
        return FsmGrammar(Automaton(fsm, self._library.fsm.anything_else), vocabulary)


def _regex(spec: GrammarSpec) -> str:
    match spec:
        case JsonSchema(text=text, whitespace=whitespace):
            return schema_regex(text, whitespace)
        case Regex(pattern=pattern):
            return plain_regex(pattern)
        case Choice(options=options):
            return choice_regex(options)
        case JsonObject():
            what = "JSON objects of any depth are"
        case Cfg():
            what = "grammars are"
        case Structure() | LimitedBlock():
            what = "structures are"
    raise UnsupportedError(
        f"{what} not enforced by the fsm-reference backend; use the tightrope backend"
    )


class Automaton:
    """An FSM over characters, read byte by byte; only states that can reach a final one count.

    Args:
        fsm: interegular's FSM.
        anything_else: its symbol for every character that the alphabet does not name.
    """

    def __init__(self, fsm: Any, anything_else: object) -> None:  # noqa: ANN401 - interegular's FSM
        self.start: State = (fsm.initial, b"")
        self._finals = fsm.finals
        self._alphabet = fsm.alphabet
        self._named = sorted(ord(c) for c in fsm.alphabet if c is not anything_else)
        self._other = fsm.alphabet[anything_else]
        live = {state for state in fsm.states if fsm.islive(state)}
        self._next = {
            state: {symbol: to for symbol, to in fsm.map.get(state, {}).items() if to in live}
            for state in live
        }

    def run(self, state: State, data: bytes) -> State | None:
        """The state after `data`; None where no text of the language goes on so."""
        fsm_state, pending = state
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(pending + data)
        except UnicodeDecodeError:
            return None
        for char in text:
            following = self._next[fsm_state].get(self._alphabet[char])
            if following is None:
                return None
            fsm_state = following
        rest = decoder.getstate()[0]
        return (fsm_state, rest) if not rest or self._can_complete(fsm_state, rest) else None

    def is_complete(self, state: State) -> bool:
        return state[0] in self._finals and not state[1]

    def can_extend(self, state: State) -> bool:
        return bool(self._next[state[0]])

    def forced_text(self, state: State) -> bytes:
        """The text that must follow while only one character can."""
        fsm_state, pending = state
        text = ""
        while not pending and fsm_state not in self._finals:
            choices = [
                char
                for symbol in self._next[fsm_state]
                for char in self._alphabet.by_transition[symbol]
            ]
            if len(choices) != 1 or not isinstance(choices[0], str):
                break
            text += choices[0]
            fsm_state = self._next[fsm_state][self._alphabet[choices[0]]]
        return text.encode()

    def _can_complete(self, fsm_state: int, pending: bytes) -> bool:
        """Whether some character that begins with these bytes may follow."""
        characters = _characters_of(pending)
        named = [char for char in self._named if char in characters]
        if self._other in self._next[fsm_state] and len(named) < len(characters):
            return True
        return any(self._alphabet[chr(char)] in self._next[fsm_state] for char in named)


def _characters_of(pending: bytes) -> range:
    """The code points whose UTF-8 begins with these bytes (RFC 3629, section 4)."""
    length = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    value = pending[0] & (0xFF >> (length + 1))
    for byte in pending[1:]:
        value = value << 6 | byte & 0x3F
    shift = 6 * (length - len(pending))
    first = max(value << shift, (0x80, 0x800, 0x10000)[length - 2])
    end = min((value + 1) << shift, sys.maxunicode + 1)
    if pending[0] == 0xED:  # goes on to the surrogates, which are no characters
        end = min(end, 0xD800)
    return range(first, end)


class FsmGrammar:
    """The table of an automaton and a vocabulary; a row is made when its state is first reached."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self._rows: dict[State, tuple[dict[int, State], Bitmask]] = {}

    def matcher(self) -> PeerMatcher:
        return PeerMatcher(_State(self), self.vocabulary)

    @property
    def memory_bytes(self) -> int:
        return sum(
            sys.getsizeof(following) + mask.nbytes for following, mask in self._rows.values()
        ) + sys.getsizeof(self._rows)

    def row(self, state: State) -> tuple[dict[int, State], Bitmask]:
        """Token id -> the state after it, and the same as a bitmask with the end ids."""
        if state not in self._rows:
            following = {
                token_id: after
                for token_id, data in self.vocabulary.token_bytes.items()
                if (after := self.automaton.run(state, data)) is not None
            }
            ends = self.vocabulary.end_token_ids if self.automaton.is_complete(state) else ()
            allowed = np.zeros(32 * self.vocabulary.num_words, np.bool_)
            allowed[[*following, *ends]] = True
            mask = np.packbits(allowed, bitorder="little").view(np.int32)
            self._rows[state] = (following, mask)
        return self._rows[state]


class _State:
    def __init__(self, grammar: FsmGrammar) -> None:
        self._grammar = grammar
        self._states = [grammar.automaton.start]

    def fill(self, row: Bitmask) -> None:
        row[:] = self._grammar.row(self._states[-1])[1]

    def advance(self, token_id: int) -> bool:
        following = self._grammar.row(self._states[-1])[0].get(token_id)
        if following is None:
            return False
        self._states.append(following)
        return True

    def rollback(self, num_tokens: int) -> None:
        del self._states[len(self._states) - num_tokens :]

    def forced_bytes(self) -> bytes:
        return self._grammar.automaton.forced_text(self._states[-1])

    @property
    def is_complete(self) -> bool:
        return self._grammar.automaton.is_complete(self._states[-1])

    @property
    def can_extend(self) -> bool:
        return self._grammar.automaton.can_extend(self._states[-1])
