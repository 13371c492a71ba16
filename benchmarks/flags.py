"""The flags that several benchmarks have, and the types of their values."""

from __future__ import annotations

import argparse
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

Member = TypeVar("Member", bound=StrEnum)


def add_count(
    parser: argparse.ArgumentParser, flag: str, default: int, meaning: str, *, metavar: str = "N"
) -> None:
    """Add a flag for a number of at least 1."""
    parser.add_argument(
        flag,
        type=positive,
        default=default,
        metavar=metavar,
        help=f"{meaning} (default: %(default)s)",
    )


def add_seed(parser: argparse.ArgumentParser, of: str) -> None:
    """Add `--seed`, of what is drawn."""
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help=f"of the {of} (default: %(default)s)"
    )


def add_tokenizer_flags(
    parser: argparse.ArgumentParser, default: str, *, has_padded_size: bool = True
) -> None:
    """Add what `model_tokenizer.read_tokenizer` reads; `--padded-size` where there is one size."""
    parser.add_argument(
        "--tokenizer",
        metavar="MODEL",
        default=default,
        help="a model's name or folder, or a tokenizer.json or .json.gz (default: %(default)s)",
    )
    if has_padded_size:
        parser.add_argument(
            "--padded-size",
            type=positive,
            metavar="N",
            help="with a tokenizer.json: rows of the model's output (default: its largest id + 1)",
        )
    parser.add_argument(
        "--end-token",
        metavar="TEXT",
        help="with a tokenizer.json: its end token (default: as its tokenizer_config.json says)",
    )


def add_output_flag(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add `--output`, the folder in which a benchmark writes the files of these names."""
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help=f"folder to write {', '.join(names)} to"
    )


def add_clock_flag(parser: argparse.ArgumentParser) -> None:
    """Add `--clock`."""
    parser.add_argument(
        "--clock",
        type=one_of(Clock),
        metavar="{wall,cpu}",
        default=Clock.WALL,
        help="clock of the times; cpu: CPU time of the process, for a busy machine "
        "(default: %(default)s)",
    )


def one_of(kind: type[Member]) -> Callable[[str], Member]:
    """Reads a member of an enumeration by its value, for `type=`."""

    def read(text: str) -> Member:
        try:
            return kind(text)
        except ValueError:
            values = ", ".join(kind)
            raise argparse.ArgumentTypeError(f"{text!r} is none of {values}") from None

    return read


def positive(text: str) -> int:
    """An integer of at least 1, for `type=`."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value
