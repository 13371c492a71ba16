"""`tightrope eval`: hands over to an evaluation, which is imported only then."""

from __future__ import annotations

import argparse
from importlib import import_module
from types import MappingProxyType
from typing import Final

_EVALUATIONS: Final = MappingProxyType({"bfcl": "benchmarks.bfcl"})


def main(arguments: list[str]) -> int:
    """Run one evaluation with its own options."""
    parser = argparse.ArgumentParser(prog="tightrope eval", description="Run an evaluation.")
    parser.add_argument(
        "evaluation",
        choices=_EVALUATIONS,
        help="bfcl: tool calls, by the rules of the Berkeley Function Calling Leaderboard",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its options")
    parsed = parser.parse_args(arguments)
    status: int = import_module(_EVALUATIONS[parsed.evaluation]).main(parsed.arguments)
    return status
