"""Compile or load every kernel of the automata, so that the first request does not wait for it."""

from __future__ import annotations

from grammars.automata.content_bytes import BETWEEN, ContentPlace, content_bytes
from grammars.automata.joining import join
from grammars.automata.json_string import any_json_string, json_string
from grammars.automata.lexer import LexerBuilder
from grammars.automata.operations import intersect
from grammars.automata.owed import characters_owed
from grammars.automata.pattern_dfa import search
from grammars.automata.reach import first_ways, label_spans, reachable_labels
from grammars.automata.string_list import strings
from grammars.automata.string_rest import StringRest, string_piece


def warm_up() -> None:
    """Run each kernel once on a tiny input: seconds the first time ever, milliseconds later."""
    any_json_string()  # made here once, before threads could make two of it
    names = json_string(search("a").difference(strings(["ab"])).with_length(2, 9))
    builder = LexerBuilder(max_states=1000)
    builder.accept(builder.embed(builder.literal(builder.start, b"{"), names), 0)
    lexer = builder.determinise().dfa
    intersect(lexer, names)
    join((lexer, names))
    reachable_labels(lexer.next_state, lexer.label)
    label_spans(lexer.next_state, lexer.label, 1)
    first_ways(lexer.next_state, lexer.symbol_class, lexer.start)
    characters_owed(json_string(search("a")))
    rest = StringRest(search("a"), search("a").start)
    string_piece(rest, 2, is_open=True, max_states=1000)
    content_bytes(rest.content).after(ContentPlace(rest.state, BETWEEN), b"a")
