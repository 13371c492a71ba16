from grammars.automata.dot import dfa_to_dot, symbols_text
from grammars.automata.lexer import LexerBuilder


def test_a_small_automaton_is_drawn_with_readable_ranges():
    builder = LexerBuilder(max_states=10)
    state = builder.byte_class(builder.literal(builder.start, b'"'), b"abcx")
    builder.accept(builder.symbol(state, 256 + 4), 0)
    dot = dfa_to_dot(builder.determinise().dfa, name="key", label_names={1: "the end"})
    assert dot.splitlines() == [
        'digraph "key" {',
        "  rankdir=LR;",
        "  node [shape=circle];",
        "  start [shape=point];",
        "  start -> 1;",
        '  1 [label="1"];',
        '  1 -> 2 [label="\\""];',
        '  2 [label="2"];',
        '  2 -> 3 [label="a-c x"];',
        '  3 [label="3"];',
        '  3 -> 4 [label="<4>"];',
        '  4 [label="4\\nthe end" shape=doublecircle];',
        "}",
    ]


def test_the_empty_language_has_no_states():
    empty = LexerBuilder(max_states=10).determinise().dfa
    assert dfa_to_dot(empty) == 'digraph "dfa" {\n  rankdir=LR;\n  node [shape=circle];\n}\n'


def test_symbols_are_named_so_that_they_can_be_read():
    symbols = [0x09, 0x20, *range(0x30, 0x3A), 0x5C, *range(0x80, 0xC0), 255, 256, 257]
    assert symbols_text(symbols) == "\\t ␣ 0-9 \\ 0x80-0xbf 0xff <0>-<1>"
