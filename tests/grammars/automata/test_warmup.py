from numba.core import event

from grammars.automata import json_number, json_string, lexer, operations, pattern_dfa
from grammars.automata.codepoint_dfa import strings
from grammars.automata.warmup import warm_up


class _Compiled(event.Listener):
    def __init__(self):
        self.names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


def test_nothing_is_compiled_after_the_warm_up():
    warm_up()
    with event.install_listener("numba:compile", _Compiled()) as compiled:
        content = pattern_dfa.search(r"^(a|\p{Lu}$|b^)+").with_length(1, 9).union(strings(["x"]))
        builder = lexer.LexerBuilder(10_000)
        builder.accept(builder.embed(builder.start, json_string.json_string(content, "any")), 0)
        operations.minimise(builder.determinise().dfa)
        json_number.number_dfa(minimum=-17, maximum=38, multiple_of=3)
    assert compiled.names == []
