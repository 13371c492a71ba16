"""warm_up: compile the kernels and build what belongs to a vocabulary before the first request."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata import warmup as automata
from grammars.automata.codepoint_dfa import any_string
from grammars.automata.compiling import kernels_announced
from grammars.automata.content_bytes import BETWEEN, ContentPlace, content_bytes
from grammars.automata.content_ends import content_ends, ends_beside
from grammars.automata.dfa import DEAD, Dfa
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.content_tokens import read_content
from grammars.masks.crossing_tokens import crossing_tokens
from grammars.masks.key_tokens import KeyTokens
from grammars.masks.label_ways import LabelWays
from grammars.masks.slice_cache import SliceCache
from grammars.masks.string_costs import tokens_to_end
from grammars.masks.string_places import StringPlace
from grammars.masks.token_symbols import build_token_symbols
from grammars.masks.trie_children import TrieChildren
from grammars.pushdown.actions import Goto
from grammars.pushdown.layout import UNBOUNDED
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.spelled_strings import spelled_strings
from grammars.pushdown.string_reading import rest_of
from grammars.pushdown.tables import AutomatonTables
from grammars.pushdown.terminals import OtherKey, Strings
from grammars.schema.formats import ENFORCED_FORMATS, LONG_TEXT, PLAIN_FORMATS
from grammars.schema.plans import AllBut
from grammars.schema.scalars import ScalarAlgebra
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from grammars.pushdown.terminals import Terminal
    from grammars.vocabulary import Vocabulary


def warm_up(vocabulary: Vocabulary, announce: Callable[[str], None] | None = None) -> None:
    """Compile every kernel of the masks, and build the trie and the encoder of the vocabulary.

    The first time on a machine takes many seconds; the compiled code is kept on disk, so that later
    starts take about one. The automata of formats are built too.

    Args:
        vocabulary: the tokens.
        announce: told the name of each kernel that has to be compiled, when that begins.
    """
    with nullcontext() if announce is None else kernels_announced(announce):
        automata.warm_up()
        vocabulary.encode(b"")
        tables = AutomatonTables()
        matcher = AutomatonGrammar(tables, _Sentence(tables), 1, vocabulary).matcher()
        matcher.forced_tokens()
        row = np.zeros(vocabulary.num_words, np.int32)
        for byte in b'"a"':
            matcher.fill_bitmask(row)
            matcher.fill_closing_bitmask(row, tokens_left=0)
            matcher.accept_token(vocabulary.encode(bytes([byte]))[0])
        _make_slices(vocabulary)
        _read_content(vocabulary, row.view(np.uint32))
        _make_formats(vocabulary)
        for build in (KeyTokens, TrieChildren, crossing_tokens):  # for texts that must differ
            vocabulary.derive(build)


def _make_formats(vocabulary: Vocabulary) -> None:
    """The strings of all formats: some take as long as a hundred schemas."""
    max_states = CompileLimits().max_states
    scalars = ScalarAlgebra(max_states, vocabulary.missing_bytes)
    for name in sorted(ENFORCED_FORMATS):
        for most in (None, LONG_TEXT) if name in PLAIN_FORMATS else (None,):
            strings = scalars.strings_of_format(name, most)
            if strings is not None:
                spelled_strings(strings, max_states)


def _make_slices(vocabulary: Vocabulary) -> None:
    """The slices of open strings and keys, which nearly every schema needs."""
    slices = vocabulary.derive(SliceCache)
    for terminal in _open_terminals():
        dfa = lexer_of((terminal,), CompileLimits().max_states, vocabulary.missing_bytes).dfa
        source = slices.find_source(dfa, dfa.run(b'"'))
        found = slices.find(dfa, source)
        if found is not None:
            found[0].inner_row(UNBOUNDED)


def _read_content(vocabulary: Vocabulary, row: NDArray[np.uint32]) -> None:
    """The kernels of strings that are read without their pieces, and of the ends of long lists."""
    trie, content = vocabulary.derive(build_token_symbols).trie, any_string()
    read, place = content_bytes(content), ContentPlace(content.start, BETWEEN)
    read_content(trie, 0, [StringPlace(rest_of(StringSet(content)), read, place)], row)
    places, ends, before = np.array([place], np.int32), content_ends(content), np.zeros(0, np.uint8)
    fewest = np.zeros(len(ends.byte), np.int32)
    tokens_to_end(before, places, read[:], ends[:], fewest, trie.nodes, trie.children)
    ends_beside(places, read[:], ends[:], places, read[:])
    dfa = _quoted_letters()
    list(LabelWays(dfa, trie).find(dfa.start))


def _open_terminals() -> Iterator[Terminal]:
    for is_counted in (False, True):
        yield Strings(StringSet(None), is_counted)
    for gap in (b" ", b""):
        for declared in (frozenset[str](), frozenset("a")):
            yield OtherKey(AllBut(declared), follows=False, gap=gap)


class _Sentence:
    """The expander of a grammar of quoted letters: state 1 reads them, state 2 is final."""

    def __init__(self, tables: AutomatonTables) -> None:
        self._tables = tables
        start = tables.lexers.add_dfa(_quoted_letters()) + 1
        tables.add_state(lexer_start=start, num_labels=1, is_final=False, count_max=9)
        tables.add_state(lexer_start=DEAD, num_labels=0, is_final=True)

    def expand_action(self, state: int, label: int) -> None:
        self._tables.set_action(state, label, Goto(2))

    def expand_resume(self, state: int, outcome: int) -> None:  # noqa: ARG002 - a protocol's
        raise AssertionError("nothing is ever pushed")

    def least_rest(self, state: int) -> int:  # noqa: ARG002 - a protocol's
        """0: that takes a search."""
        return 0

    def cut_strings(self, state: int) -> None:
        """None: strings are read whole."""

    def after_strings(self, state: int, ended: object) -> Goto:  # noqa: ARG002 - a protocol's
        raise AssertionError("no string is read in pieces")


def _quoted_letters() -> Dfa:
    """`"[a-z]*"`: state 1 is the start, 2 is inside, 3 is the end."""
    next_state = np.zeros((4, 3), np.int32)
    next_state[1, 1] = 2
    next_state[2, 1] = 3
    next_state[2, 2] = 2
    symbol_class = np.zeros(256, np.uint16)
    symbol_class[ord('"')] = 1
    symbol_class[ord("a") : ord("z") + 1] = 2
    return Dfa(
        symbol_class,
        next_state,
        np.array([0, 0, 0, 1], np.int32),
        1,
        np.array([False, False, True, False]),
    )
