"""What the benchmarks' command lines have in common."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.model_tokenizer import from_model
from benchmarks.tokenizer_source import from_file

if TYPE_CHECKING:
    from benchmarks.tokenizer_source import TokenizerSource

_TABLE_WIDTH: Final = 150


def add_tokenizer_flags(parser: argparse.ArgumentParser, default: str) -> None:
    """Add what `read_tokenizer` reads."""
    parser.add_argument(
        "--tokenizer",
        default=default,
        help="a model (its name or folder), or a tokenizer.json or .json.gz (%(default)s)",
    )
    parser.add_argument("--padded-size", type=int, help="of a tokenizer.json: rows of the model")
    parser.add_argument("--end-token", help="of a tokenizer.json: spelling of the end token")


def read_tokenizer(options: argparse.Namespace) -> TokenizerSource:
    """The tokenizer that the flags name.

    Raises:
        ModelError: the model cannot be found or fetched.
        TokenizerSourceError: the tokenizer has no known end token.
    """
    path = Path(options.tokenizer)
    if path.suffix in (".json", ".gz"):
        return from_file(path, padded_size=options.padded_size, end_token=options.end_token)
    return from_model(options.tokenizer)


def positive(text: str) -> int:
    """An integer of at least 1, for `type=`."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


def make_console() -> Console:
    """The terminal; a file or a pipe has no width of its own, and the tables need this much."""
    return Console() if sys.stdout.isatty() else Console(width=_TABLE_WIDTH)


def make_progress(console: Console) -> Progress:
    """A bar with what is being done, how much of it, and for how long."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console)
