"""`tightrope bench`: hands over to a benchmark, which is imported only then."""

from __future__ import annotations

import argparse
from importlib import import_module
from types import MappingProxyType
from typing import Final

_BENCHMARKS: Final = MappingProxyType(  # name -> module with main(arguments)
    {
        "masks": "benchmarks.masks",
        "grammars": "benchmarks.grammars",
        "engine": "benchmarks.engine",
        "device": "benchmarks.device",
        "serve": "benchmarks.serve",
    }
)


def main(arguments: list[str]) -> int:
    """Run one benchmark with its own options."""
    parser = argparse.ArgumentParser(prog="tightrope bench", description="Run a benchmark.")
    parser.add_argument(
        "benchmark",
        choices=_BENCHMARKS,
        help="masks: cost of the token masks; grammars: coverage and speed of the compilers; "
        "engine: generation, free and constrained; device: steps on a GPU; "
        "serve: a server end to end",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its options")
    parsed = parser.parse_args(arguments)
    status: int | None = import_module(_BENCHMARKS[parsed.benchmark]).main(parsed.arguments)
    return status or 0
