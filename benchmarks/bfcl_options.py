"""The options of `tightrope eval bfcl`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from benchmarks.bfcl_answer import Mode
from benchmarks.flags import add_count, add_output_flag, add_seed, one_of, positive
from server.config import ToolFormatName

_DESCRIPTION = (
    "Tool calls of models, constrained and not, by the rules of the Berkeley Function Calling "
    "Leaderboard."
)


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tightrope eval bfcl", description=_DESCRIPTION)
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder of *.jsonl files, one per category",
    )
    parser.add_argument(
        "--model",
        nargs="+",
        default=["smollm2-135m"],
        metavar="NAME[@FORMAT]",
        help="names or folders; FORMAT as `--tool-format` of `serve` (default: smollm2-135m)",
    )
    parser.add_argument(
        "--modes",
        nargs="+",
        type=one_of(Mode),
        metavar=f"{{{','.join(Mode)}}}",
        default=list(Mode),
        help="free: no grammar; auto, required: that tool_choice, with the grammar (default: all)",
    )
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="cases to draw per category (default: all)"
    )
    add_seed(parser, "draw")
    add_count(parser, "--batch", 16, "cases at once")
    add_count(parser, "--threads", 1, "threads of torch")
    add_count(parser, "--max-tokens", 256, "tokens per answer")
    add_count(
        parser,
        "--max-text-tokens",
        96,
        "an answer that has not begun a call by then counts as text",
    )
    parser.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="file that keeps the answers; those in it are not generated again",
    )
    add_output_flag(parser, "bfcl.json", "bfcl.md", "bfcl.svg")
    return parser


def name_and_format(model: str) -> tuple[str, ToolFormatName]:
    """The name of `NAME[@FORMAT]`, and how the model writes calls."""
    name, _, tool_format = model.rpartition("@")
    for known in get_args(ToolFormatName):
        if name and tool_format == known:
            return name, known
    return model, "auto"
