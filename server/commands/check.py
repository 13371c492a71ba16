"""`tightrope check`: whether a JSON Schema is enforced, at what cost, or why it is refused."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.pushdown.drawing import draw
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from server.commands.schema_file import read_schema
from server.commands.vocabulary import load_vocabulary
from server.models.catalog import DEFAULT_MODEL
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model

if TYPE_CHECKING:
    from grammars.vocabulary import Vocabulary


def main(arguments: list[str]) -> int:
    """Compile a schema and report.

    Raises:
        GrammarError: the schema is refused; says which keyword and where.
        ServerError: the tokenizer's model is refused.
    """
    parsed = _parser().parse_args(arguments)
    spec = JsonSchema(read_schema(parsed.schema))
    folder = resolve_model(parsed.tokenizer, progress=TerminalProgress()).path
    vocabulary = load_vocabulary(folder)
    for line in _report(spec, vocabulary):
        Console(highlight=False, markup=False, soft_wrap=True).print(line)
    if parsed.dot is not None:
        Path(parsed.dot).write_text(draw_schema(spec, vocabulary), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tightrope check",
        description="Say whether a JSON Schema is enforced whole, or which keyword is refused.",
        allow_abbrev=False,
    )
    parser.add_argument("schema", metavar="SCHEMA.json", help="the schema; - is standard input")
    parser.add_argument(
        "--tokenizer",
        default=DEFAULT_MODEL,
        metavar="MODEL",
        help="model whose tokens are used: built-in name, hub id, folder or .gguf file "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--dot", metavar="FILE", help="write the automaton there, in Graphviz's language"
    )
    return parser


def _report(spec: JsonSchema, vocabulary: Vocabulary) -> list[str]:
    """Compile twice, since the first time also prepares what all grammars of a vocabulary share."""
    prepare_ms, _ = _compile_ms(spec, vocabulary)
    compile_ms, num_allowed = _compile_ms(spec, vocabulary)
    num_tokens = len(vocabulary.token_bytes)
    return [
        "This schema is enforced whole: no output can break it.",
        f"compile and first mask: {compile_ms:.1f} ms ({prepare_ms:.0f} ms with what is done once)",
        f"first token: {num_allowed} of {num_tokens} tokens are allowed",
    ]


def _compile_ms(spec: JsonSchema, vocabulary: Vocabulary) -> tuple[float, int]:
    """Milliseconds from spec to first mask, and the tokens that the mask allows."""
    row = np.zeros(vocabulary.num_words, np.int32)
    start = time.perf_counter()
    compile_grammar(spec, vocabulary).matcher().fill_bitmask(row)
    elapsed_ms = (time.perf_counter() - start) * 1000
    return elapsed_ms, int(np.bitwise_count(row.view(np.uint32)).sum())


def draw_schema(spec: JsonSchema, vocabulary: Vocabulary) -> str:
    """The automaton in Graphviz's language."""
    limits = CompileLimits()
    tables = AutomatonTables(max_bytes=limits.max_table_bytes)
    return draw(StructuralStates(Embed(spec), tables, vocabulary, limits), tables)
