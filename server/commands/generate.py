"""`tightrope generate`: one answer to one prompt, written to the terminal as it comes."""

from __future__ import annotations

import argparse
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Console

from engine.config import EngineConfig
from engine.load import load_engine
from engine.output import FinishReason
from engine.request import Request, SamplingParams
from grammars.backends.base import BACKEND_NAMES, get_backend
from grammars.spec import Cfg, Choice, JsonObject, JsonSchema, Regex
from server.chat.loading import load_prompts
from server.chat.metered.budget import RenderLimits
from server.commands.flags import add_flags, read_flags
from server.commands.schema_file import read_schema
from server.commands.vocabulary import load_vocabulary
from server.config import ServerConfig
from server.models.catalog import DEFAULT_MODEL
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model
from server.quiet import quiet_transformers
from server.reply.detokenizer import Detokenizer, TextPiece
from server.tokenizer import load_tokenizer
from server.wire.policy import parse_chat_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedTokenizerFast

    from engine.engine import Engine
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary
    from server.reply.detokenizer import Piece


def main(arguments: list[str]) -> int:
    """Generate; the answer goes to standard output, all else to standard error.

    Returns:
        0, or 1 where the answer is not whole: cut by --max-tokens, or failed.

    Raises:
        GrammarError: the constraint is refused.
        EngineError: the model or an option is refused.
        ServerError: the model cannot be had, or the prompt does not fit.
    """
    parser = _parser()
    parsed = parser.parse_args(arguments)
    try:
        engine_config = read_flags(EngineConfig, parsed)
    except ValueError as refusal:
        parser.error(str(refusal))
    spec = _spec(parsed)
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    folder = resolve_model(parsed.model, progress=TerminalProgress()).path
    quiet_transformers()
    tokenizer, vocabulary = load_tokenizer(folder), load_vocabulary(folder)
    grammar = None if spec is None else get_backend(parsed.backend).compile(spec, vocabulary)
    engine = load_engine(
        folder, engine_config, lambda stage: console.print(f"Loading the engine: {stage}")
    )
    request = Request(
        request_id="generate",
        prompt_token_ids=_prompt_token_ids(parsed.prompt, folder.name, tokenizer, engine),
        sampling=SamplingParams(
            max_tokens=parsed.max_tokens, temperature=parsed.temperature, seed=parsed.seed
        ),
        constraint=None if grammar is None else grammar.matcher(),
    )
    try:
        reason, error = _write_answer(engine, request, vocabulary)
    finally:
        engine.close()
    if reason is FinishReason.LENGTH:
        console.print(f"cut after {request.sampling.max_tokens} tokens (--max-tokens): incomplete")
    if error is not None:
        console.print(error)
    return 0 if reason is FinishReason.STOP else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tightrope generate",
        usage="%(prog)s PROMPT [OPTIONS]",
        description="Write one answer to the terminal, under a constraint if one is given.",
        allow_abbrev=False,
    )
    parser.add_argument("prompt", metavar="PROMPT", help="the user message")
    parser.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        help="built-in name, hub id, folder or .gguf file (default: %(default)s)",
    )
    kinds = parser.add_argument_group("constraint").add_mutually_exclusive_group()
    kinds.add_argument(
        "--schema", metavar="FILE", help="JSON Schema of the answer; - reads it from standard input"
    )
    kinds.add_argument("--json", action="store_true", help="any JSON object")
    kinds.add_argument(
        "--regex", metavar="PATTERN", help="ECMA-262 pattern that the whole answer matches"
    )
    kinds.add_argument(
        "--grammar", type=_grammar_file, metavar="FILE", help="a .gbnf or .lark grammar"
    )
    kinds.add_argument("--choice", nargs="+", metavar="TEXT", help="the allowed answers")
    parser.add_argument(
        "--backend", choices=BACKEND_NAMES, default=BACKEND_NAMES[0], help="default: %(default)s"
    )
    parser.add_argument(
        "--max-tokens", type=_token_count, default=256, metavar="N", help="default: 256"
    )
    parser.add_argument(
        "--temperature", type=_temperature, default=0.0, metavar="X", help="0 to 2 (default: 0)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="of the sampling (default: none)")
    add_flags(parser, EngineConfig, "engine")
    return parser


def _grammar_file(name: str) -> str:
    if PurePath(name).suffix not in {".gbnf", ".lark"}:
        raise argparse.ArgumentTypeError(f"{name} is neither a .gbnf nor a .lark file")
    return name


def _token_count(text: str) -> int:
    """Checked here, since the engine could only tell once the model is loaded."""
    if (count := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{count} is not at least 1")
    return count


def _temperature(text: str) -> float:
    if not 0 <= (temperature := float(text)) <= 2:
        raise argparse.ArgumentTypeError(f"{temperature:g} is not in 0..2")
    return temperature


def _spec(parsed: argparse.Namespace) -> GrammarSpec | None:
    if parsed.schema is not None:
        return JsonSchema(read_schema(parsed.schema))
    if parsed.json:
        return JsonObject()
    if parsed.regex is not None:
        return Regex(parsed.regex)
    if parsed.grammar is not None:
        is_lark = PurePath(parsed.grammar).suffix == ".lark"
        return Cfg("lark" if is_lark else "gbnf", read_schema(parsed.grammar))
    if parsed.choice is not None:
        return Choice(tuple(parsed.choice))
    return None


def _prompt_token_ids(
    prompt: str, model_name: str, tokenizer: PreTrainedTokenizerFast, engine: Engine
) -> tuple[int, ...]:
    """The prompt as one user message, in the model's own chat template."""
    prompts = load_prompts(
        model_name,
        tokenizer,
        RenderLimits.of(ServerConfig()),
        max_model_len=engine.config.max_model_len,
    )
    message = {"role": "user", "content": prompt}
    chat = parse_chat_request({"model": model_name, "messages": [message]})
    return prompts.build(chat.request).token_ids


def _write_answer(
    engine: Engine, request: Request, vocabulary: Vocabulary
) -> tuple[FinishReason | None, str | None]:
    """Run the engine for this one request; how it ended, and the error if it failed."""
    detokenizer = Detokenizer(vocabulary, tags=())
    engine.add_request(request)
    reason, error = None, None
    while engine.has_unfinished:
        for output in engine.step():
            _write(detokenizer.feed(output.token_ids))
            reason, error = output.finish_reason, output.error
    _write(detokenizer.finish())
    sys.stdout.write("\n")
    return reason, error


def _write(pieces: Iterator[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, TextPiece):
            sys.stdout.write(piece.text)
    sys.stdout.flush()
