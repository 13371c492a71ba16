"""The options of `tightrope eval bfcl`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from benchmarks.bfcl_answer import Mode
from benchmarks.options import positive
from server.config import ToolFormatName

_DESCRIPTION = "Tool calls of models, constrained and not, by the leaderboard's rules."


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tightrope eval bfcl", description=_DESCRIPTION)
    parser.add_argument("--data", type=Path, required=True, help="folder of category.jsonl files")
    parser.add_argument(
        "--model",
        nargs="+",
        default=["smollm2-135m"],
        metavar="NAME[@FORMAT]",
        help="names or folders, with the --tool-format of `serve` (%(default)s)",
    )
    parser.add_argument(
        "--modes",
        nargs="+",
        type=Mode,
        choices=list(Mode),
        default=list(Mode),
        help="free: no grammar; auto, required: tool_choice, with the grammar (all)",
    )
    parser.add_argument("--limit", type=positive, help="cases a category, drawn (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (%(default)s)")
    parser.add_argument("--batch", type=positive, default=16, help="at once (%(default)s)")
    parser.add_argument("--threads", type=positive, default=1, help="of torch (%(default)s)")
    parser.add_argument("--max-tokens", type=positive, default=256, help="an answer (%(default)s)")
    parser.add_argument(
        "--max-text-tokens",
        type=positive,
        default=96,
        help="an answer that has begun no call by then counts as text (%(default)s)",
    )
    parser.add_argument(
        "--answers", type=Path, help="file that keeps answers; those in it are not made again"
    )
    parser.add_argument("--output", type=Path, help="folder for bfcl.json, bfcl.md and bfcl.svg")
    return parser


def name_and_format(model: str) -> tuple[str, ToolFormatName]:
    """The name of `NAME[@FORMAT]`, and how the model writes calls."""
    name, _, tool_format = model.rpartition("@")
    for known in get_args(ToolFormatName):
        if name and tool_format == known:
            return name, known
    return model, "auto"
