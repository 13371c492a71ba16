import subprocess
import sys

# In a process of its own: other tests would have loaded the kernels already.
SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
from grammars.automata.warmup import warm_up

def loaded():
    return {
        (name, kernel, str(signature))
        for name, module in list(sys.modules.items())
        if name.startswith("grammars.automata")
        for kernel, value in vars(module).items()
        if isinstance(value, Dispatcher)
        for signature in value.signatures
    }

warm_up()
before = loaded()
from grammars.automata import json_number, json_string, lexer, number_list, operations, pattern_dfa
from grammars.automata.string_list import strings

assert any(kernel == "_determinise" for _, kernel, _ in before)
pattern_dfa.fullmatch("[]").complement()
content = pattern_dfa.search(r"^(a|\\p{Lu}$|b^)+").with_length(1, 9).union(strings(["x", ""]))
builder = lexer.LexerBuilder(10_000)
builder.accept(builder.embed(builder.start, json_string.json_string(content, "any")), 0)
operations.minimise(builder.determinise().dfa)
builder = lexer.LexerBuilder(100)
builder.accept(builder.byte_class(builder.start, b"ab"), 0)
builder.determinise()
json_number.number_dfa(minimum=-17, maximum=38, multiple_of=3, spelling="every")
number_list.numbers([1, 2])
print(sorted(loaded() - before))
"""


def test_nothing_is_compiled_or_loaded_after_the_warm_up():
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
